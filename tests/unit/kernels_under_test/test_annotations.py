"""Annotated FLOPs and bytes are those that PyTorch counts, and every kernel is in its range."""

from __future__ import annotations

import sys
import types
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

torch = pytest.importorskip("torch", reason="decode steps need PyTorch")

from support.tensor_traffic import TensorTraffic  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from kernels_under_test.backends import backend_of  # noqa: E402
from kernels_under_test.backends.call import Setting  # noqa: E402
from kernels_under_test.cache import make_cache  # noqa: E402
from kernels_under_test.decoder import Decoder  # noqa: E402
from kernels_under_test.dtypes import activation_dtype, sizes_of  # noqa: E402
from kernels_under_test.experts import Routing  # noqa: E402
from kernels_under_test.inputs import step_inputs  # noqa: E402
from kernels_under_test.layers import dense_mlp  # noqa: E402
from kernels_under_test.models import OWN_MODELS, model_to_run  # noqa: E402
from kernels_under_test.operations import StepShape  # noqa: E402
from kernels_under_test.weights import random_weights  # noqa: E402
from nsightlens import annotate  # noqa: E402
from nsightlens.models.attention import visible_pair_count  # noqa: E402
from nsightlens.steps import nsightlens_v1  # noqa: E402

if TYPE_CHECKING:
    from kernels_under_test.operations import StepOperations
    from kernels_under_test.work import Work
    from nsightlens.models import ModelConfig

TINY = [name for name in OWN_MODELS if name.startswith("tiny")]
PUBLISHED = [
    "opt-1.3b", "opt-2.7b", "llama-2-7b", "llama-2-13b", "llama-3-8b", "mistral-7b", "qwen2.5-7b",
    "qwen3-8b", "mixtral-8x7b", "deepseek-v2-lite",
]  # fmt: skip
GROUPED = ("experts_gate_up", "experts_down")
PRODUCTS = ("attention", "attention_scores", "attention_values")


class Heard(NamedTuple):
    """An operation, as a profiler hears of it, and what PyTorch did in its range."""

    name: str
    flop: float
    bytes: float
    counted_flop: int
    read_bytes: int
    written_bytes: int


class Listener:
    """Stands for the module ``nvtx``: a domain that asks two counters at every range."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.flop: list[int] = []
        self.traffic = TensorTraffic()
        self.counter = FlopCounterMode(display=False)
        self._before = 0

    def module(self) -> types.ModuleType:
        """Return what is imported as ``nvtx``."""
        module = types.ModuleType("nvtx")
        vars(module).update(enabled=lambda: True, get_domain=lambda _: self)
        return module

    def get_event_attributes(self, message: str) -> str:
        """Return what stands for the attributes."""
        return message

    def push_range(self, text: str) -> None:
        """Enter a range."""
        self.texts.append(text)
        self._before = self.counter.get_total_flops()
        self.traffic.begin(text)

    def pop_range(self) -> None:
        """Leave it."""
        self.flop.append(self.counter.get_total_flops() - self._before)
        self.traffic.end()

    def heard(self) -> list[Heard]:
        """Return the ranges with their numbers, as our reader of reports reads their names."""
        found = []
        for text, flop, traffic in zip(self.texts, self.flop, self.traffic.ranges, strict=True):
            read = nsightlens_v1.read(nsightlens_v1.DOMAIN, [text])
            assert read is not None
            assert read.operation is not None
            assert read.operation_flop is not None
            assert read.operation_bytes is not None
            found.append(
                Heard(
                    read.operation,
                    read.operation_flop,
                    read.operation_bytes,
                    flop,
                    traffic.read_bytes,
                    traffic.written_bytes,
                )
            )
        return found


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Listener:
    """Return a listener to whom all ranges go."""
    torch.set_num_threads(1)
    found = Listener()
    monkeypatch.setitem(sys.modules, "nvtx", found.module())
    monkeypatch.delenv("NSIGHTLENS_ANNOTATE", raising=False)
    monkeypatch.setattr(annotate, "_is_asked", False)
    monkeypatch.setattr(annotate, "_domain", None)
    return found


def _run(
    listener: Listener,
    model: ModelConfig,
    shape: StepShape,
    *,
    device: str = "cpu",
    dtype: str = "float32",
    attention: str = "eager",
    block: int | None = None,
    counts: tuple[tuple[int, ...], ...] | None = None,
    **options: bool,
) -> StepOperations:
    """Run a step that the listener hears, and return its operations as they should be."""
    kind, place = activation_dtype(torch, dtype), torch.device(device)
    weights = random_weights(model, device=place, dtype=kind, is_fp8=dtype == "fp8")
    decoder = Decoder(model, weights, backend_of(attention), sizes_of(dtype), **options)
    cache = make_cache(
        model,
        batch_size=shape.batch_size,
        context_length=shape.context_length,
        device=place,
        dtype=kind,
        block_token_count=block,
        seed=1,
    )
    tokens = torch.zeros(shape.token_count, dtype=torch.int64, device=place)
    if device == "cpu":
        tokens += torch.arange(shape.token_count) * 7 % model.vocab_size
    inputs = step_inputs(model, shape, tokens, kind)
    decoder.prepare(inputs, cache)
    routing = Routing(counts, is_grouped=decoder.groups_experts)
    with torch.no_grad(), decoder.backend.chosen():
        if model.experts is not None and counts is None:
            decoder.step(inputs, cache, routing)
            routing.counts = routing.counted(model.experts.expert_count)
        operations = decoder.operations(inputs, cache, routing.counts or ())
        ranges = decoder.ranges(inputs, cache, routing.counts or ())
        with listener.counter, listener.traffic:
            predicted = decoder.step(inputs, cache, routing, ranges)
    listener.traffic.finish(predicted.tokens)
    return operations


def _check(listener: Listener, operations: StepOperations, *, masked: float = 1.0) -> None:
    """Compare what was heard with what should be, range by range.

    ``masked`` is by how much PyTorch's counter exceeds the products that are needed: it counts
    pairs of query and key that are masked, too.
    """
    heard = listener.heard()
    assert [one.name for one in heard] == [one.name for one in operations.all]
    assert listener.traffic.outside == []
    for one, wanted in zip(heard, operations.all, strict=True):
        assert (one.flop, one.bytes) == (wanted.flop, wanted.bytes)
        assert (one.name, one.read_bytes, one.written_bytes) == (
            wanted.name,
            wanted.read_bytes,
            wanted.written_bytes,
        )
        assert one.counted_flop == _countable_flop(wanted, masked), one.name


def _countable_flop(work: Work, masked: float) -> float:
    """Return the FLOPs that PyTorch's counter knows of: those of products, and no others."""
    if work.name in PRODUCTS:
        return work.flop * masked
    if work.name in GROUPED:
        return 0  # it has no formula for them: the loop over experts is counted instead
    return work.flop if work.family == "gemm" else 0


@pytest.mark.parametrize("block", [None, 16])
@pytest.mark.parametrize("name", TINY)
def test_a_decode_step_does_what_its_ranges_say(
    name: str, block: int | None, listener: Listener
) -> None:
    """Every range: FLOPs by PyTorch's counter, bytes by the tensors it read and wrote."""
    _check(listener, _run(listener, OWN_MODELS[name], StepShape(3, 37), block=block))


@pytest.mark.parametrize("name", TINY)
def test_a_step_with_attention_in_one_piece_does_what_its_ranges_say(
    name: str, listener: Listener
) -> None:
    """PyTorch's own attention, the form of it whose products its counter sees."""
    _check(listener, _run(listener, OWN_MODELS[name], StepShape(3, 37), attention="sdpa-math"))


@pytest.mark.parametrize("name", ["tiny-opt", "tiny-mistral", "tiny-mla", "tiny-qwen-moe"])
def test_a_prefill_does_what_its_ranges_say(name: str, listener: Listener) -> None:
    """But for the products with masked keys, which are done and not needed."""
    model, shape = OWN_MODELS[name], StepShape(2, 24, 24, "prefill")
    operations = _run(listener, model, shape)
    pairs = visible_pair_count(24, 24, model.window_token_count)
    _check(listener, operations, masked=24 * 24 / pairs)


@pytest.mark.parametrize("name", ["tiny-mla", "tiny-mla-query-rank"])
def test_expanded_latent_attention_does_what_its_ranges_say(name: str, listener: Listener) -> None:
    """With keys and values of all heads in a decode step."""
    _check(listener, _run(listener, OWN_MODELS[name], StepShape(3, 37), expands_latent=True))


@pytest.mark.parametrize("name", ["tiny-opt", "tiny-qwen2"])
def test_a_step_in_fp8_does_what_its_ranges_say(name: str, listener: Listener) -> None:
    """Weights and inputs of linear layers have one byte, and two scales are read."""
    _check(listener, _run(listener, OWN_MODELS[name], StepShape(3, 37), dtype="fp8"))


@pytest.mark.parametrize("name", ["tiny-moe", "tiny-qwen-moe"])
def test_grouped_experts_do_what_their_ranges_say(name: str, listener: Listener) -> None:
    """So many tokens that every expert has some: the operation is given the matrices of all."""
    operations = _run(listener, OWN_MODELS[name], StepShape(32, 12), groups_experts=True)
    _check(listener, operations)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_step_of_a_published_model_does_what_its_ranges_say(
    name: str, listener: Listener
) -> None:
    """At its real size, with tensors that have no data."""
    # All layers of one kind are alike: one model whole, and of the others one or two of each kind.
    model = model_to_run(name, None if name == "opt-1.3b" else 2)
    # Beyond the window of Mistral.
    shape = StepShape(8, 5000 if name == "mistral-7b" else 500)
    counts = None
    if model.experts is not None:
        sizes = model.experts
        pairs = shape.token_count * sizes.experts_per_token
        of_each = tuple(
            pairs // sizes.expert_count + (number < pairs % sizes.expert_count)
            for number in range(sizes.expert_count)
        )
        counts = (of_each,) * sizes.layer_count
    _check(listener, _run(listener, model, shape, device="meta", dtype="float16", counts=counts))


@pytest.mark.parametrize("block", [None, 16])
@pytest.mark.parametrize("name", ["tiny-llama", "tiny-mistral"])
def test_flash_attn_launches_nothing_outside_of_its_range(
    name: str, block: int | None, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How many keys there are is known before the step: by a stand-in that attends to nothing."""
    module = types.ModuleType("flash_attn")
    vars(module).update(flash_attn_with_kvcache=lambda query, *_, **__: torch.zeros_like(query))
    monkeypatch.setitem(sys.modules, "flash_attn", module)
    backend = backend_of("flash-attn")
    backend.check(Setting(OWN_MODELS[name], torch.device("cuda"), torch.float16))
    monkeypatch.setattr(f"{__name__}.backend_of", lambda _: backend)
    _run(listener, OWN_MODELS[name], StepShape(3, 37), block=block, attention="flash-attn")
    assert listener.traffic.outside == []


def test_a_range_that_lied_would_be_noticed(listener: Listener) -> None:
    """The check itself fails where one number is off by one, or a range is missing."""
    operations = _run(listener, OWN_MODELS["tiny-llama"], StepShape(3, 37))
    first, *others = operations.layers[0]
    for wrong in (
        first._replace(flop=first.flop + 1),
        first._replace(read_bytes=first.read_bytes + 1),
        first._replace(name="another"),
    ):
        layers = ((wrong, *others), *operations.layers[1:])
        with pytest.raises(AssertionError):
            _check(listener, operations._replace(layers=layers))


def test_an_operation_outside_of_all_ranges_would_be_noticed(
    listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A kernel that no range holds is a hole in what a profiler can tell."""

    def twice(op: Any, layer: Any, rows: Any) -> Any:
        return dense_mlp(op, layer, rows) * 2

    monkeypatch.setattr("kernels_under_test.decoder.dense_mlp", twice)
    operations = _run(listener, OWN_MODELS["tiny-llama"], StepShape(3, 37))
    with pytest.raises(AssertionError):
        _check(listener, operations)
    assert listener.traffic.outside == ["aten::mul"] * 2


def test_an_untied_model_reads_another_matrix_at_the_end(listener: Listener) -> None:
    """Tied or not, the bytes are the same: what is read is counted where it is read."""
    tied = replace(OWN_MODELS["tiny-llama"], has_tied_embeddings=True)
    _check(listener, _run(listener, tied, StepShape(3, 37)))
