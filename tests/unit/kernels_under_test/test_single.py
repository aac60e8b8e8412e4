"""Single kernels compute what they say, and say what they need."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

torch: Any = pytest.importorskip("torch", reason="single kernels need PyTorch")

from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

from kernels_under_test.single.__main__ import main  # noqa: E402
from kernels_under_test.single.kernels import SHAPES, make_kernel, tensor_resource  # noqa: E402
from kernels_under_test.single.timing import time_kernel  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Mapping

SMALL: dict[str, Mapping[str, int]] = {
    "attention": {"batch": 2, "heads": 4, "kv_heads": 2, "head_dim": 8, "context": 50},
    "gemm": {"m": 16, "n": 24, "k": 8},
    "gemv": {"m": 1, "n": 24, "k": 8},
    "norm": {"rows": 3, "width": 16},
    "copy": {"elements": 100},
}


@pytest.mark.parametrize("name", ["attention", "gemm", "gemv"])
def test_flops_are_those_that_pytorch_counts(name: str) -> None:
    """By its own counter."""
    kernel = make_kernel(torch, name, dtype="float32", shape=SMALL[name], device="cpu")
    # Of the fused attention of a CPU it knows nothing.
    plain = torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH)
    with torch.no_grad(), plain, FlopCounterMode(display=False) as counter:
        kernel.run()
    assert counter.get_total_flops() == kernel.work.flop


@pytest.mark.parametrize("name", sorted(SHAPES))
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_bytes_written_are_those_of_the_result(name: str, dtype: str) -> None:
    """Every element once."""
    kernel = make_kernel(torch, name, dtype=dtype, shape=SMALL[name], device="cpu")
    with torch.no_grad():
        assert kernel.run().nbytes == kernel.work.written_bytes


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_a_copy_is_a_kernel_that_copies(dtype: str) -> None:
    """A copy of the driver would be none, and ncu would not see it."""
    kernel = make_kernel(torch, "copy", dtype=dtype, shape=SMALL["copy"], device="cpu")
    seen: list[str] = []

    class Watch(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    source = torch.Generator("cpu")
    source.manual_seed(0)
    expected = torch.empty(100, dtype=getattr(torch, dtype)).normal_(generator=source).abs()
    with Watch():
        copied = kernel.run()
    assert seen == ["aten.abs.out"]
    assert torch.equal(copied, expected)


@pytest.mark.parametrize("dtype", ["int8", "float32", "float64"])
def test_a_gemm_is_the_product_with_the_transpose(dtype: str) -> None:
    """In the type of its result."""
    shape = {"m": 32, "n": 32, "k": 32}
    kernel = make_kernel(torch, "gemm", dtype=dtype, shape=shape, device="cpu")
    assert kernel.work.flop == 2 * 32**3
    assert kernel.run().shape == (32, 32)
    assert kernel.run().nbytes == kernel.work.written_bytes


def test_what_there_is_not_is_refused() -> None:
    """With what there is."""
    with pytest.raises(ValueError, match="none of attention"):
        make_kernel(torch, "softmax", device="cpu")
    with pytest.raises(ValueError, match="has no size depth"):
        make_kernel(torch, "gemm", shape={"depth": 3}, device="cpu")
    with pytest.raises(ValueError, match="not positive"):
        make_kernel(torch, "gemm", shape={"m": 0}, device="cpu")
    with pytest.raises(ValueError, match="none of float16"):
        make_kernel(torch, "gemm", dtype="int3", device="cpu")


def test_fp64_goes_through_tensor_cores_where_there_are_such() -> None:
    """On the chips for data centres."""
    assert tensor_resource("float64", "9.0") == "tensor_fp64"
    assert tensor_resource("float64", "8.9") == "fp64"
    assert tensor_resource("tf32", None) == "tensor_tf32"


def test_a_timing_has_a_median_between_best_and_worst() -> None:
    """And as many measurements as the time allows, five at least."""
    kernel = make_kernel(torch, "norm", dtype="float32", shape=SMALL["norm"], device="cpu")
    timing = time_kernel(torch, kernel.run, "cpu", seconds=0.02)
    assert 0 < timing.best_ns <= timing.median_ns
    assert timing.measurement_count >= 5
    assert timing.launch_count >= 1


def test_the_program_runs_one_and_says_what_it_needs(capsys: pytest.CaptureFixture[str]) -> None:
    """One line of JSON; a mistake is one line and exit code 2."""
    words = ["gemm", "--device", "cpu", "--dtype", "float32", "--shape", "m=4,n=8,k=2", "--json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["flop"], answer["bytes"]) == (128, 4 * (4 * 2 + 8 * 2 + 4 * 8))
    assert main([*words[:5], "--shape", "depth=4"]) == 2
    assert "has no size depth" in capsys.readouterr().err
