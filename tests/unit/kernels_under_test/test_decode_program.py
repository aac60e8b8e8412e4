"""The program ``python -m kernels_under_test.decode``: a sweep on a CPU, and what goes wrong."""

from __future__ import annotations

import json
import subprocess
import sys
import types
import weakref
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

torch = pytest.importorskip("torch", reason="decode steps need PyTorch")

from kernels_under_test import decode, measure  # noqa: E402
from kernels_under_test.cache import make_cache  # noqa: E402
from kernels_under_test.dtypes import check_fp8  # noqa: E402
from kernels_under_test.refusals import NotAvailableError  # noqa: E402
from nsightlens import annotate  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

CPU = ["--device", "cpu", "--dtype", "float32"]


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take one thread, and forget whether anybody listens."""
    torch.set_num_threads(1)
    monkeypatch.delenv("NSIGHTLENS_ANNOTATE", raising=False)
    monkeypatch.setattr(annotate, "_is_asked", False)
    monkeypatch.setattr(annotate, "_domain", None)


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what a profiler hears: the names of ranges as they begin, ``end`` as they end."""
    texts: list[str] = []
    domain = types.SimpleNamespace(
        get_event_attributes=lambda message: message,
        push_range=texts.append,
        pop_range=lambda: texts.append("end"),
    )
    module = types.ModuleType("nvtx")
    vars(module).update(enabled=lambda: True, get_domain=lambda _: domain)
    monkeypatch.setitem(sys.modules, "nvtx", module)
    return texts


def _lines(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> list[dict[str, Any]]:
    """Run the program and return its JSON, line by line."""
    assert decode.main([*words, *([] if "--device" in words else CPU), "--json"]) == code
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "tiny-opt", "--attention", "eager", "--dtype", "float16"],
        ["--model", "tiny-llama", "--cache", "paged", "--block-size", "8", "--dtype", "bfloat16"],
        ["--model", "tiny-qwen3", "--attention", "sdpa-math", "--steps", "3", "--warmup", "0"],
        ["--model", "tiny-mistral", "--prefill", "--attention", "sdpa-flash"],
        ["--model", "tiny-mla", "--latent", "expanded", "--prefill"],
        ["--model", "tiny-moe", "--experts", "grouped", "--cache", "paged"],
        ["--model", "tiny-qwen2", "--dtype", "fp8", "--layers", "1"],
    ],
)
def test_every_variant_runs_on_a_cpu(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """A sweep in one process: one line per batch size, with all keys, and null for what is not."""
    if "--attention" in words and words[words.index("--attention") + 1] == "sdpa-flash":
        words = [*words, "--context", "12"]  # shorter than the window, which it has no mask for
    dtype = [] if "--dtype" in words else ["--dtype", "float32"]
    lines = _lines(capsys, "--batch-sizes", "1:3", "--context", "20", *words, *dtype,
                   "--device", "cpu")  # fmt: skip
    assert [one["batch_size"] for one in lines] == [1, 2, 3]
    for one in lines:
        assert one["median_step_ns"] > 0
        assert (one["prefill_ns"] is not None) == ("--prefill" in words)
        assert one["peak_memory_bytes"] is None
        assert one["device_name"] == "cpu"
        assert one["problem"] is None
        assert len(one["first_tokens"]) == one["batch_size"]
        assert (one["experts_per_layer"] is None) == ("moe" not in one["model"] and
                                                      one["model"] != "tiny-mla")  # fmt: skip
    assert len({one["weights_bytes"] for one in lines}) == 1
    sizes = [one["kv_cache_bytes"] for one in lines]
    assert sizes == [sizes[0] * count for count in (1, 2, 3)]


@pytest.mark.parametrize(
    ("model", "variants"),
    [
        ("tiny-llama", ["--cache paged", "--attention eager", "--attention sdpa-math"]),
        ("tiny-mla", ["--cache paged", "--latent expanded"]),
        ("tiny-moe", ["--experts grouped --steps 2"]),
    ],
)
def test_a_prompt_is_continued_alike_by_every_variant(
    model: str, variants: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The same seed, the same tokens: whatever the cache, the backend and the rest of the sweep."""
    words = ["--model", model, "--context", "24", "--prefill", "--seed", "5", "--warmup", "0"]
    wanted = _lines(capsys, *words, "--batch-sizes", "4")[0]["first_tokens"]
    for more in variants:
        found = _lines(capsys, *words, "--batch-sizes", "1,4", *more.split())
        assert found[-1]["first_tokens"] == wanted
    assert len(set(wanted)) > 1


def test_only_measured_steps_make_ranges(
    heard: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Two steps at each batch size, the prompt before them, and no warm-up."""
    _lines(capsys, "--model", "tiny-moe", "--batch-sizes", "1,2", "--context", "20", "--prefill",
           "--steps", "2", "--warmup", "3")  # fmt: skip
    steps = [text for text in heard if text.startswith("step")]
    assert steps == [
        f"step v1 phase={phase} batch_size={batch} context={context} query={query}"
        for batch in (1, 2)
        for phase, context, query in (("prefill", 19, 19), ("decode", 20, 1), ("decode", 20, 1))
    ]
    depth = 0
    for text in heard:
        depth += -1 if text == "end" else 1
        # Operations are in steps, and not in one another.
        assert depth == 0 if text == "end" and depth == 0 else depth in (1, 2)
        assert not (text.startswith("op") and depth != 2)
    assert depth == 0


def test_ranges_that_were_switched_off_stay_off(
    heard: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """NSIGHTLENS_ANNOTATE=0 counts in the measured steps, too."""
    monkeypatch.setenv("NSIGHTLENS_ANNOTATE", "0")
    _lines(capsys, "--model", "tiny-opt", "--batch-sizes", "1", "--context", "20")
    assert heard == []


def test_the_profiler_window_is_around_measured_steps(
    heard: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Opened and closed once for each batch size."""
    for name in ("start", "stop"):
        monkeypatch.setattr(torch.cuda.profiler, name, lambda name=name: heard.append(name))
    plan = measure.Plan(20, has_prefill=True, has_window=True, step_count=2)
    _run_plan(plan)
    outer = [text.split(" batch")[0] for text in heard if text.startswith("st")]
    assert outer == ["start", "step v1 phase=prefill", *["step v1 phase=decode"] * 2, "stop"]


def _run_plan(plan: measure.Plan) -> measure.BatchTimes:
    """Run a plan with a small model, without the checks of the command line."""
    from kernels_under_test.backends import backend_of
    from kernels_under_test.decoder import Decoder
    from kernels_under_test.dtypes import sizes_of
    from kernels_under_test.models import model_to_run
    from kernels_under_test.weights import random_weights

    model, cpu = model_to_run("tiny-moe"), torch.device("cpu")
    weights = random_weights(model, device=cpu, dtype=torch.float32)
    decoder = Decoder(model, weights, backend_of("sdpa"), sizes_of("float32"))
    return measure.run_batch(decoder, plan, 2, cpu)


def test_a_cuda_graph_is_recorded_in_a_range_of_its_own_and_replayed_in_steps(
    heard: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Told to a stand-in for torch.cuda: warm-up elsewhere, a recording, replays without ranges."""
    stream = types.SimpleNamespace(wait_stream=lambda _: None)

    @contextmanager
    def within(name: str) -> Iterator[None]:
        heard.append(f"begin {name}")
        yield
        heard.append(f"leave {name}")

    monkeypatch.setattr(torch.cuda, "Stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: stream)
    monkeypatch.setattr(torch.cuda, "stream", lambda _: within("stream"))
    monkeypatch.setattr(torch.cuda, "graph", lambda _: within("graph"))
    monkeypatch.setattr(
        torch.cuda, "CUDAGraph",
        lambda: types.SimpleNamespace(replay=lambda: heard.append("replay")),
    )  # fmt: skip
    wanted = _run_plan(measure.Plan(20, step_count=2)).first_tokens
    heard.clear()
    found = _run_plan(measure.Plan(20, step_count=2, has_cuda_graphs=True))
    assert found.first_tokens == wanted
    first, last = heard.index("begin graph"), heard.index("leave graph")
    assert heard[: first + 1] == [
        "begin stream",
        "leave stream",
        "step v1 phase=capture batch_size=2 context=20 query=1",
        "begin graph",
    ]
    assert all(text == "end" or text.startswith("op v1") for text in heard[first + 1 : last])
    decoded = ["step v1 phase=decode batch_size=2 context=20 query=1", "replay", "end"]
    assert heard[last:] == ["leave graph", "end", *decoded * 2]


def test_memory_that_runs_out_at_one_batch_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """What it had is given back before the next, and the exit code says that one is missing."""
    caches: list[Any] = []
    real = make_cache

    def too_large(*args: Any, batch_size: int, **options: Any) -> Any:
        assert all(one() is None for one in caches)
        cache = real(*args, batch_size=batch_size, **options)
        caches.append(weakref.ref(cache))
        if batch_size == 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB. GPU 0")
        return cache

    monkeypatch.setattr(measure, "make_cache", too_large)
    assert decode.main(["--model", "tiny-moe", "--batch-sizes", "1,2,3", "--context", "20", *CPU,
                        "--json"]) == decode.ExitCode.OUT_OF_MEMORY  # fmt: skip
    out, err = capsys.readouterr()
    lines = [json.loads(line) for line in out.splitlines()]
    assert [one["median_step_ns"] is not None for one in lines] == [True, False, True]
    assert [set(one) == set(lines[0]) for one in lines] == [True] * 3
    assert lines[1]["problem"].startswith("batch 2: out of memory: weights of 757 kB and ")
    assert "and a KV cache of 20.5 kB, beside activations" in lines[1]["problem"]
    assert err.count("\n") == 1
    assert "Tried to allocate 20.00 GiB" in err
    assert len(caches) == 3


def test_memory_of_the_host_that_runs_out_is_told_too(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A context that no machine holds: the allocator's own words."""
    lines = _lines(capsys, "--model", "tiny-opt", "--layers", "1", "--batch-sizes", "1000000",
                   "--context", "2000", code=3)  # fmt: skip
    assert "batch 1000000: out of memory" in lines[0]["problem"]


def test_weights_that_do_not_fit_end_the_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is no batch that would."""

    def too_large(*_: Any, **__: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 512.00 MiB.")

    monkeypatch.setattr("kernels_under_test.sweep.random_weights", too_large)
    words = ["--model", "llama-2-13b", "--batch-sizes", "1", "--context", "20", *CPU]
    assert decode.main([*words, "--dtype", "fp16"]) == decode.ExitCode.OUT_OF_MEMORY
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert "the weights of llama-2-13b take 26 GB" in err


def test_memory_that_runs_out_within_a_recording_is_known_by_what_came_before() -> None:
    """The recording ends with an error of its own."""

    def record() -> None:
        try:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        finally:
            raise RuntimeError("CUDA error: operation failed due to a previous error")

    with pytest.raises(RuntimeError, match="previous error") as raised:
        record()
    assert measure.is_out_of_memory(raised.value)
    assert not measure.is_out_of_memory(RuntimeError("CUDA error: an illegal memory access"))


@pytest.mark.parametrize("status", ["CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED"])
def test_a_library_without_memory_for_its_workspace_is_a_lack_of_memory(status: str) -> None:
    """It has words of its own, and takes memory that PyTorch's allocator does not give."""
    assert measure.is_out_of_memory(RuntimeError(f"CUDA error: {status} when calling `create`"))


def test_another_error_is_no_lack_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is shown as what it is."""

    def broken(*_: Any, **__: Any) -> None:
        raise RuntimeError("shapes cannot be multiplied")

    monkeypatch.setattr(measure, "make_cache", broken)
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        decode.main(["--model", "tiny-opt", "--batch-sizes", "1", "--context", "20", *CPU])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "cpu", "--attention", "sdpa-cudnn"], "attention sdpa-cudnn cannot do this"),
        (["--device", "cpu", "--attention", "sdpa-efficient"], "Take sdpa, sdpa-math or eager."),
        (["--device", "cpu", "--attention", "flash-attn"], "pip install flash-attn"),
        (["--device", "cpu", "--attention", "flashinfer"], "pip install flashinfer-python"),
        (["--device", "cpu", "--cuda-graphs"], "--cuda-graphs needs a GPU: --device cuda."),
        (["--device", "cpu", "--profiler-window"], "--profiler-window needs a GPU"),
        (["--device", "meta"], "device meta is not written here: take cuda or cpu."),
        (["--device", "nonsense"], "device nonsense is none: take cuda or cpu."),
        (["--device", "cpu", "--model", "tiny-mla", "--dtype", "fp8"], "take bfloat16."),
        (["--device", "cpu", "--model", "tiny-moe", "--dtype", "fp8"], "take bfloat16."),
    ],
)
def test_what_is_not_available_here_is_refused_in_one_line(
    words: list[str],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Nothing else is taken in its place."""
    step = ["--model", "tiny-llama", "--batch-sizes", "1", "--context", "20"]
    for module in ("flash_attn", "flashinfer"):
        monkeypatch.setitem(sys.modules, module, None)
    assert decode.main([*step, *words]) == decode.ExitCode.NOT_AVAILABLE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert said in err


def test_without_a_gpu_the_device_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """As what it is: a PyTorch without CUDA, or no GPU, or not so many."""
    step = ["--model", "tiny-llama", "--batch-sizes", "1", "--context", "20"]
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    for version, said in ((None, "built without CUDA"), ("12.8", "finds no GPU")):
        monkeypatch.setattr(torch.version, "cuda", version)
        assert decode.main(step) == decode.ExitCode.NOT_AVAILABLE
        assert f"{said}. For a CPU: --device cpu." in capsys.readouterr().err
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    assert decode.main([*step, "--device", "cuda:2"]) == decode.ExitCode.NOT_AVAILABLE
    assert "device cuda:2: PyTorch finds 2 GPUs" in capsys.readouterr().err


def test_fp8_is_refused_where_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """By an older GPU, by an older PyTorch, and by a device that cannot multiply in it."""
    with monkeypatch.context() as patched:
        patched.setattr(torch.cuda, "get_device_capability", lambda _: (8, 0))
        with pytest.raises(NotAvailableError, match=r"compute capability 8\.0"):
            check_fp8(torch, torch.device("cuda"))
    check_fp8(torch, torch.device("cpu"))

    def refuses(*_: Any, **__: Any) -> None:
        raise RuntimeError("not implemented for Float8_e4m3fn\nsecond line")

    monkeypatch.setattr(torch, "_scaled_mm", refuses)
    with pytest.raises(NotAvailableError, match=r"cpu cannot multiply in FP8 \(not implemented"):
        check_fp8(torch, torch.device("cpu"))
    monkeypatch.delattr(torch, "_scaled_mm")
    with pytest.raises(NotAvailableError, match="has no products in FP8"):
        check_fp8(torch, torch.device("cpu"))


def test_without_json_a_line_is_for_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    """Time of a step, tokens a second and size of the cache."""
    words = ["--model", "tiny-opt", "--batch-sizes", "2", "--context", "20", "--prefill", *CPU]
    assert decode.main(words) == 0
    out, err = capsys.readouterr()
    assert out.startswith("batch 2: ")
    assert all(text in out for text in (" a decode step, prefill ", " tokens/s, KV cache 41 kB"))
    assert err == ""


def test_without_nvtx_a_warning_says_that_there_are_no_ranges(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A profiler that filters by them would find nothing, and not say why."""
    monkeypatch.delitem(sys.modules, "nvtx", raising=False)
    monkeypatch.setattr(decode, "find_spec", lambda _: None)
    decode.main(["--model", "tiny-opt", "--batch-sizes", "1", "--context", "20", *CPU])
    assert capsys.readouterr().err == (
        "kernels_under_test.decode: warning: nvtx is not installed, so that no range is made: "
        "pip install nvtx\n"
    )


def test_the_module_is_a_program() -> None:
    """As the harness starts it, with every warning an error."""
    words = ["--model", "tiny-llama", "--batch-sizes", "2", "--context", "20", *CPU, "--json"]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-m", "kernels_under_test.decode", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["batch_size"] == 2
