"""Decode steps are correct: against a naive reference, and every variant against the others."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="decode steps need PyTorch")

from support.naive_decoder import naive_logits  # noqa: E402

import kernels_under_test  # noqa: E402
from kernels_under_test.backends import backend_of  # noqa: E402
from kernels_under_test.backends.call import Setting  # noqa: E402
from kernels_under_test.cache import PagedCache, make_cache  # noqa: E402
from kernels_under_test.decoder import Decoder  # noqa: E402
from kernels_under_test.dtypes import sizes_of  # noqa: E402
from kernels_under_test.experts import Routing  # noqa: E402
from kernels_under_test.inputs import step_inputs  # noqa: E402
from kernels_under_test.layers import linear  # noqa: E402
from kernels_under_test.models import OWN_MODELS, facts_of, model_to_run  # noqa: E402
from kernels_under_test.operations import StepShape  # noqa: E402
from kernels_under_test.ranges import NO_RANGES  # noqa: E402
from kernels_under_test.refusals import (  # noqa: E402
    NotAvailableError,
    RoutingChangedError,
)
from kernels_under_test.weights import INPUT_SCALE, random_weights  # noqa: E402
from nsightlens.models import parameter_count  # noqa: E402

if TYPE_CHECKING:
    from kernels_under_test.cache import Cache
    from kernels_under_test.decoder import Predicted

CPU = torch.device("cpu")
TINY = [name for name in OWN_MODELS if name.startswith("tiny")]
MLA = [name for name in TINY if OWN_MODELS[name].latent is not None]


@pytest.fixture(autouse=True)
def _one_thread() -> None:
    """Leave the other processors to the other tests: these products are small."""
    torch.set_num_threads(1)


def _decoder(
    name: str, attention: str = "eager", dtype: str = "float64", **options: bool
) -> Decoder:
    model = model_to_run(name)
    kind = getattr(torch, dtype)
    weights = random_weights(model, device=CPU, dtype=kind, seed=3)
    return Decoder(model, weights, backend_of(attention), sizes_of("float32"), **options)


def _cache(decoder: Decoder, batch: int, context: int, **options: Any) -> Cache:
    return make_cache(
        decoder.model,
        batch_size=batch,
        context_length=context,
        device=CPU,
        dtype=decoder.weights.embedding.dtype,
        **options,
    )


def _run(decoder: Decoder, cache: Cache, shape: StepShape, tokens: Any) -> Predicted:
    inputs = step_inputs(decoder.model, shape, tokens.flatten(), decoder.weights.embedding.dtype)
    decoder.prepare(inputs, cache)
    with torch.no_grad(), decoder.backend.chosen():
        return decoder.step(inputs, cache)


def _tokens(decoder: Decoder, batch: int, count: int) -> Any:
    generator = torch.Generator().manual_seed(7)
    return torch.randint(decoder.model.vocab_size, (batch, count), generator=generator)


def _filled(decoder: Decoder, batch: int, context: int, block: int | None) -> Cache:
    """Return a cache with the same keys and values, whether in one piece or in blocks."""
    whole = _cache(decoder, batch, context, seed=1)
    if block is None:
        return whole
    cache = _cache(decoder, batch, context, seed=1, block_token_count=block)
    for layer, parts in enumerate(whole.parts):
        for part in range(len(parts)):
            cache.write(layer, part, whole.read(layer, part, 0, context).transpose(1, 2), first=0)
    return cache


def _decoded(decoder: Decoder, batch: int, context: int, block: int | None = None) -> Any:
    """Return the logits of a decode step from a cache of random keys and values."""
    cache = _filled(decoder, batch, context, block)
    tokens = _tokens(decoder, batch, 1)
    return _run(decoder, cache, StepShape(batch, context), tokens).logits


MODULES = [
    module.name
    for module in pkgutil.walk_packages(kernels_under_test.__path__, "kernels_under_test.")
    # Loading the kernel needs Triton, loading a __main__ runs it.
    if not module.name.endswith(("triton_kernel", "__main__"))
]


@pytest.mark.parametrize("name", MODULES)
def test_every_docstring_example_runs(name: str) -> None:
    """The examples in docstrings show what really happens."""
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("block", [None, 16])
@pytest.mark.parametrize("name", TINY)
def test_prefill_and_decode_equal_a_naive_forward_pass(name: str, block: int | None) -> None:
    """Prompt, then token by token: logits are those of the whole sequence without a cache."""
    decoder = _decoder(name)
    tokens = _tokens(decoder, 2, 24)
    cache = _cache(decoder, 2, 24, block_token_count=block, seed=5)
    found = [_run(decoder, cache, StepShape(2, 20, 20, "prefill"), tokens[:, :20]).logits]
    for context in range(21, 25):
        shape = StepShape(2, context)
        found.append(_run(decoder, cache, shape, tokens[:, context - 1]).logits)
    facts = facts_of(decoder.model)
    for sequence in range(2):
        wanted = naive_logits(
            decoder.model,
            decoder.weights,
            tokens[sequence].numpy(),
            epsilon=facts.norm_epsilon,
            renormalises=facts.renormalises_experts,
        )
        logits = np.stack([one[sequence].numpy() for one in found])
        np.testing.assert_allclose(logits, wanted[19:], rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", ["tiny-opt", "tiny-mistral", "tiny-mla"])
def test_several_query_tokens_equal_as_many_steps(name: str) -> None:
    """A step of three tokens of each sequence, as in speculative decoding, masks what is later."""
    decoder = _decoder(name)
    tokens = _tokens(decoder, 2, 3)
    cache = _filled(decoder, 2, 22, None)
    several = _run(decoder, cache, StepShape(2, 22, 3), tokens).logits.view(2, 3, -1)
    again = _filled(decoder, 2, 22, None)
    for place in range(3):
        one = _run(decoder, again, StepShape(2, 20 + place), tokens[:, place]).logits
        torch.testing.assert_close(several[:, place], one, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("attention", ["eager", "sdpa", "sdpa-math", "sdpa-flash"])
@pytest.mark.parametrize("name", TINY)
def test_backends_and_caches_equal_eager_attention(name: str, attention: str) -> None:
    """In one piece and in shuffled blocks, of which the last is not full."""
    if name in MLA and attention == "sdpa-flash":
        # Values of latent attention are narrower than its keys.
        with pytest.raises(NotAvailableError, match="attention sdpa-flash cannot do this on cpu"):
            backend_of(attention).check(Setting(OWN_MODELS[name], CPU, torch.float32))
        return
    wanted = _decoded(_decoder(name, dtype="float32"), 3, 37)
    for block in (None, 16, 5):
        found = _decoded(_decoder(name, attention, dtype="float32"), 3, 37, block)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", MLA)
def test_absorbed_latent_attention_equals_the_expanded_one(name: str) -> None:
    """Which makes keys and values of all heads, as the paper defines it."""
    wanted = _decoded(_decoder(name, expands_latent=True), 3, 37)
    torch.testing.assert_close(_decoded(_decoder(name), 3, 37), wanted, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("name", [name for name in TINY if OWN_MODELS[name].experts is not None])
def test_grouped_experts_equal_a_loop_over_them(name: str) -> None:
    """One launch for all experts, or one for each."""
    wanted = _decoded(_decoder(name, dtype="float32"), 3, 20)
    found = _decoded(_decoder(name, dtype="float32", groups_experts=True), 3, 20)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("name", ["tiny-opt", "tiny-llama", "tiny-mla"])
def test_halves_are_near_to_floats(name: str, dtype: str) -> None:
    """The same weights, in 16 bit."""
    wide = _decoder(name, dtype=dtype)
    found = _decoded(wide, 2, 20).double()
    narrow = _decoder(name, dtype="float64")
    for one, other in zip(narrow.weights.tensors, wide.weights.tensors, strict=True):
        one.copy_(other)
    cache = _cache(narrow, 2, 20)
    for layer, parts in enumerate(_filled(wide, 2, 20, None).parts):
        for part, values in enumerate(parts):
            cache.parts[layer][part].copy_(values)
    tokens = _tokens(narrow, 2, 1)
    wanted = _run(narrow, cache, StepShape(2, 20), tokens).logits
    error = (found - wanted).abs().max() / wanted.abs().max()
    assert error < (0.01 if dtype == "float16" else 0.06)


@pytest.mark.parametrize("name", ["tiny-opt", "tiny-qwen2"])
def test_products_in_fp8_are_those_of_the_numbers_that_fp8_has(name: str) -> None:
    """Weights and inputs are rounded to E4M3 with their scales; the rest is as in bfloat16."""
    model = model_to_run(name)
    weights = random_weights(model, device=CPU, dtype=torch.bfloat16, seed=3, is_fp8=True)
    decoder = Decoder(model, weights, backend_of("eager"), sizes_of("fp8"))
    layer = weights.layers[0].linear["qkv_proj"]
    rows = torch.randn(3, model.hidden_size, dtype=torch.bfloat16)
    rows[0, 0] = 1000.0  # beyond what E4M3 has, where it would be NaN
    with torch.no_grad():
        found = linear(NO_RANGES, "qkv_proj", rows, layer).double()
    rounded = (rows / INPUT_SCALE).clamp(-448, 448).to(torch.float8_e4m3fn).double() * INPUT_SCALE
    assert layer.scales is not None
    wanted = rounded @ (layer.weight.double() * layer.scales[1].double()).T
    wanted += layer.bias.double()
    torch.testing.assert_close(found, wanted, rtol=0.01, atol=0.01)
    assert torch.isfinite(_decoded(decoder, 2, 20)).all()


@pytest.mark.parametrize("name", TINY)
def test_weights_are_as_many_as_the_sizes_say(name: str) -> None:
    """And the same seed gives the same, on one kind of device."""
    model = OWN_MODELS[name]
    first, second, other = (
        random_weights(model, device=CPU, dtype=torch.float32, seed=seed) for seed in (0, 0, 1)
    )
    assert first.parameter_count == parameter_count(model)
    assert first.bytes == 4 * parameter_count(model)
    assert all(map(torch.equal, first.tensors, second.tensors))
    assert not any(map(torch.equal, first.tensors, other.tensors))


def test_a_step_repeats_itself() -> None:
    """A new token replaces the one of the step before: nothing moves from step to step."""
    decoder = _decoder("tiny-moe", dtype="float32")
    cache = _filled(decoder, 3, 20, 16)
    tokens = _tokens(decoder, 3, 1)
    first = _run(decoder, cache, StepShape(3, 20), tokens).logits
    assert torch.equal(first, _run(decoder, cache, StepShape(3, 20), tokens).logits)


def test_blocks_are_shuffled() -> None:
    """A sequence does not lie in one piece, and no two share a block."""
    cache = _cache(_decoder("tiny-llama"), 4, 64, seed=0, block_token_count=16)
    assert isinstance(cache, PagedCache)
    numbers = cache.table.flatten().tolist()
    assert sorted(numbers) == list(range(16))
    assert numbers != sorted(numbers)


def test_routing_that_changes_is_found() -> None:
    """A step that was computed with other counts than its tokens chose is an error."""
    decoder = _decoder("tiny-moe", dtype="float32")
    cache = _filled(decoder, 3, 20, None)
    inputs = step_inputs(decoder.model, StepShape(3, 20), _tokens(decoder, 3, 1).flatten(),
                         torch.float32)  # fmt: skip
    routing = Routing()
    with torch.no_grad():
        decoder.step(inputs, cache, routing)
        routing.counts = routing.counted(4)
        routing.check(4)
        assert [sum(counts) for counts in routing.counts] == [6, 6]
        routing.counts = tuple(counts[::-1] for counts in routing.counts)
        decoder.step(inputs, cache, routing)
    with pytest.raises(RoutingChangedError, match="other experts"):
        routing.check(4)


# --- Backends that need a package ---


def _naive_attention(query: Any, keys: Any, values: Any, scale: float, window: int) -> Any:
    """Attend with the last tokens: query (queries, heads, d), keys (tokens, kv heads, d)."""
    queries, heads, _ = query.shape
    count = keys.shape[0]
    out = torch.empty(queries, heads, values.shape[2], dtype=query.dtype)
    for place in range(queries):
        last = count - queries + place + 1
        first = 0 if window < 0 else max(0, last - 1 - window)
        for head in range(heads):
            pair = head // (heads // keys.shape[1])
            scores = keys[first:last, pair] @ query[place, head] * scale
            out[place, head] = torch.softmax(scores, 0) @ values[first:last, pair]
    return out


def _pieces(pool: Any, table: Any, sequence: int, count: int) -> Any:
    if table is None:
        return pool[sequence, :count]
    return pool[table[sequence].long()].flatten(0, 1)[:count]


def _fake_flash_attn() -> types.ModuleType:
    """Return what stands for ``flash_attn``: its documented interface, computed naively."""

    def flash_attn_with_kvcache(
        q: Any,
        k_cache: Any,
        v_cache: Any,
        *,
        cache_seqlens: Any,
        block_table: Any,
        softmax_scale: float,
        causal: bool,
        window_size: tuple[int, int],
    ) -> Any:
        assert causal
        assert cache_seqlens.dtype == torch.int32
        assert block_table is None or block_table.dtype == torch.int32
        return torch.stack(
            [
                _naive_attention(
                    q[one],
                    _pieces(k_cache, block_table, one, int(cache_seqlens[one])),
                    _pieces(v_cache, block_table, one, int(cache_seqlens[one])),
                    softmax_scale,
                    window_size[0],
                )
                for one in range(len(q))
            ]
        )

    module = types.ModuleType("flash_attn")
    module.flash_attn_with_kvcache = flash_attn_with_kvcache  # type: ignore[attr-defined]
    return module


class _FakeWrapper:
    """Stands for FlashInfer's decode wrapper."""

    def __init__(self, workspace: Any, layout: str) -> None:
        assert layout == "NHD"
        assert workspace.dtype == torch.uint8

    def plan(self, indptr: Any, indices: Any, last: Any, *sizes: int, **options: Any) -> None:
        """Remember the plan."""
        self._plan = (indptr, indices, last, sizes, options)

    def run(self, query: Any, pools: Any) -> Any:
        """Compute it naively."""
        indptr, indices, last, (heads, kv_heads, width, block), options = self._plan
        assert query.shape[1:] == (heads, width)
        assert pools[0].shape[1:] == (block, kv_heads, width)
        out = []
        for sequence, one in enumerate(query):
            numbers = indices[int(indptr[sequence]) : int(indptr[sequence + 1])]
            count = (len(numbers) - 1) * block + int(last[sequence])
            keys, values = (pool[numbers.long()].flatten(0, 1)[:count] for pool in pools)
            scale, window = options["sm_scale"], options["window_left"]
            out.append(_naive_attention(one[None], keys, values, scale, window)[0])
        return torch.stack(out)


def _cuda(model: Any, **options: Any) -> Setting:
    return Setting(model, torch.device("cuda"), torch.float16, **options)


@pytest.mark.parametrize("name", ["tiny-llama", "tiny-mistral"])
def test_flash_attn_is_asked_for_what_its_interface_documents(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decode and prefill, in one piece and in blocks, with a window: by a naive stand-in."""
    monkeypatch.setitem(sys.modules, "flash_attn", _fake_flash_attn())
    decoder = _decoder(name, "flash-attn")
    decoder.backend.check(_cuda(decoder.model, is_paged=True, block_token_count=256))
    wanted = _decoder(name)
    for block in (None, 16):
        torch.testing.assert_close(
            _decoded(decoder, 2, 37, block), _decoded(wanted, 2, 37), rtol=1e-9, atol=1e-11
        )
        prompt = StepShape(2, 20, 20, "prefill")
        tokens = _tokens(decoder, 2, 20)
        torch.testing.assert_close(
            _run(decoder, _filled(decoder, 2, 20, block), prompt, tokens).logits,
            _run(wanted, _filled(wanted, 2, 20, None), prompt, tokens).logits,
            rtol=1e-9,
            atol=1e-11,
        )


@pytest.mark.parametrize("name", ["tiny-llama", "tiny-mistral"])
def test_flashinfer_is_asked_for_what_its_interface_documents(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Decode from blocks, with a window: by a naive stand-in."""
    module = types.ModuleType("flashinfer")
    module.BatchDecodeWithPagedKVCacheWrapper = _FakeWrapper  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "flashinfer", module)
    decoder = _decoder(name, "flashinfer")
    decoder.backend.check(_cuda(decoder.model, is_paged=True))
    torch.testing.assert_close(
        _decoded(decoder, 2, 37, 16), _decoded(_decoder(name), 2, 37), rtol=1e-9, atol=1e-11
    )


@pytest.mark.parametrize("name", ["tiny-opt", "tiny-llama", "tiny-mistral"])
def test_the_triton_kernel_equals_eager_attention(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Triton's interpreter, which needs no GPU."""
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    pytest.importorskip("triton", reason="its kernel needs Triton")
    decoder = _decoder(name, "triton", dtype="float32")
    decoder.backend.check(Setting(decoder.model, CPU, torch.float32))
    wanted = _decoded(_decoder(name, dtype="float32"), 2, 100)
    for block in (None, 16):
        found = _decoded(decoder, 2, 100, block)
        torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-5)


def _stand_in(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = types.ModuleType(name)
    monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.parametrize(
    ("attention", "model", "options", "problem"),
    [
        ("flash-attn", "tiny-mla", {}, "no latent attention"),
        ("flash-attn", "tiny-opt", {"is_paged": True}, "--block-size 256"),
        ("flashinfer", "tiny-mla", {"is_paged": True}, "latent attention"),
        ("flashinfer", "tiny-opt", {}, "--cache paged"),
        ("flashinfer", "tiny-opt", {"is_paged": True, "prompt_token_count": 9}, "prefill"),
        ("flashinfer", "tiny-opt", {"is_paged": True, "has_cuda_graphs": True}, "--cuda-graphs"),
        ("triton", "tiny-mla", {}, "latent attention"),
        ("triton", "tiny-opt", {"prompt_token_count": 9}, "prefill"),
    ],
)
def test_a_backend_refuses_what_it_has_no_kernel_for(
    attention: str,
    model: str,
    options: dict[str, Any],
    problem: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One clause that says what to take in its place; nothing falls back without a word."""
    _stand_in(attention.replace("-", "_"), monkeypatch)
    with pytest.raises(NotAvailableError, match=problem):
        backend_of(attention).check(_cuda(model_to_run(model), **options))


@pytest.mark.parametrize("attention", ["flash-attn", "flashinfer", "triton"])
def test_a_backend_on_a_cpu_says_that_it_needs_a_gpu(
    attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Although its package is there."""
    _stand_in(attention.replace("-", "_"), monkeypatch)
    setting = Setting(model_to_run("tiny-opt"), CPU, torch.float16, is_paged=True)
    with pytest.raises(NotAvailableError, match="needs a GPU: --device cuda"):
        backend_of(attention).check(setting)
