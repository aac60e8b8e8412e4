"""Single kernels: attention decode, GEMM, GEMV, norm and copy, each with what its shape needs.

FLOPs and bytes are those of `kernels_under_test.work`, whose formulas the operations of a whole
step have too. Importing this module loads no PyTorch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kernels_under_test.refusals import NotAvailableError
from kernels_under_test.work import (
    AttentionShape,
    Sizes,
    Work,
    attention,
    copy,
    linear,
    rms_norm,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["DTYPES", "SHAPES", "SingleKernel", "make_kernel", "tensor_resource"]

SHAPES: Mapping[str, Mapping[str, int]] = {
    "attention": {"batch": 64, "heads": 32, "kv_heads": 32, "head_dim": 64, "context": 500},
    "gemm": {"m": 512, "n": 8192, "k": 2048},
    "gemv": {"m": 1, "n": 8192, "k": 2048},
    "norm": {"rows": 512, "width": 2048},
    "copy": {"elements": 1 << 28},
}
"""Kernels by name, and the shape that each has where none is given: those of OPT-1.3B."""

_BYTES = {
    "float16": 2, "bfloat16": 2, "float32": 4, "tf32": 4, "float64": 8, "int8": 1, "fp8": 1,
}  # fmt: skip
DTYPES = tuple(_BYTES)
"""Data types; ``tf32`` is float32 whose products go through tensor cores."""
_RESOURCES = {
    "float16": "tensor_fp16", "bfloat16": "tensor_bf16", "float32": "fp32", "tf32": "tensor_tf32",
    "int8": "tensor_int8", "fp8": "tensor_fp8",
}  # fmt: skip


class SingleKernel(NamedTuple):
    """One kernel, ready to be launched again and again.

    Parameters
    ----------
    name
        One of `SHAPES`.
    dtype
        One of `DTYPES`.
    shape
        Sizes by name.
    work
        FLOPs and bytes that the shape needs.
    run
        Launches it once.
    """

    name: str
    dtype: str
    shape: Mapping[str, int]
    work: Work
    run: Callable[[], Any]


def tensor_resource(dtype: str, compute_capability: str | None) -> str:
    """Return the resource whose ceiling a large GEMM of a data type shows.

    FP64 goes through tensor cores where a chip has such (compute capability 8.0, 9.0 and 10.0).

    Examples
    --------
    >>> tensor_resource("bfloat16", "9.0"), tensor_resource("float64", "8.9")
    ('tensor_bf16', 'fp64')
    """
    if dtype == "float64":
        return "tensor_fp64" if compute_capability in {"8.0", "9.0", "10.0"} else "fp64"
    return _RESOURCES[dtype]


def make_kernel(
    torch: Any,
    name: str,
    *,
    dtype: str = "float16",
    shape: Mapping[str, int] | None = None,
    device: Any = "cuda",
    seed: int = 0,
) -> SingleKernel:
    """Make the tensors of a kernel, and what launches it.

    Parameters
    ----------
    torch
        PyTorch.
    name
        One of `SHAPES`.
    dtype
        One of `DTYPES`; ``int8`` and ``fp8`` for GEMM and GEMV alone.
    shape
        Sizes that differ from those of `SHAPES`.
    device
        Where.
    seed
        Of the random values.

    Raises
    ------
    NotAvailableError
        This PyTorch or this device has no such product.
    ValueError
        The kernel, the type or a size is none that there is.
    """
    if name not in SHAPES:
        raise ValueError(f"{name!r} is none of {', '.join(SHAPES)}")
    unknown = set(shape or {}) - set(SHAPES[name])
    if unknown:
        raise ValueError(f"{name} has no size {min(unknown)}, but {', '.join(SHAPES[name])}")
    sizes = {**SHAPES[name], **(shape or {})}
    if min(sizes.values()) < 1:
        raise ValueError(f"a size of {name} is not positive")
    if dtype not in _BYTES:
        raise ValueError(f"{dtype!r} is none of {', '.join(DTYPES)}")
    generator = torch.Generator(device)
    generator.manual_seed(seed)
    made = _MAKERS[name](torch, sizes, dtype, device, generator)
    return SingleKernel(name, dtype, sizes, *made)


def _random(torch: Any, size: tuple[int, ...], dtype: str, device: Any, generator: Any) -> Any:
    of = {"tf32": "float32", "fp8": "bfloat16"}.get(dtype, dtype)
    if dtype == "int8":
        return torch.randint(-8, 8, size, dtype=torch.int8, device=device, generator=generator)
    made = torch.empty(size, dtype=getattr(torch, of), device=device).normal_(generator=generator)
    return made.to(torch.float8_e4m3fn) if dtype == "fp8" else made


def _sizes(dtype: str) -> Sizes:
    size = _BYTES[dtype]
    return Sizes(size, size, size)


def _copy(
    torch: Any, sizes: Mapping[str, int], dtype: str, device: Any, generator: Any
) -> tuple[Work, Callable[[], Any]]:
    # Of values that are not negative, so that their absolute value is a copy: copy_ is a copy of
    # the driver, which is no kernel, and ncu does not see it.
    source = _random(torch, (sizes["elements"],), dtype, device, generator).abs_()
    target = torch.empty_like(source)
    work = copy("copy", sizes["elements"], _sizes(dtype))
    return work, lambda: torch.abs(source, out=target)


def _norm(
    torch: Any, sizes: Mapping[str, int], dtype: str, device: Any, generator: Any
) -> tuple[Work, Callable[[], Any]]:
    rows, width = sizes["rows"], sizes["width"]
    values = _random(torch, (rows, width), dtype, device, generator)
    weight = _random(torch, (width,), dtype, device, generator)
    work = rms_norm("norm", rows, width, _sizes(dtype))
    return work, lambda: torch.nn.functional.rms_norm(values, (width,), weight)


def _gemm(
    torch: Any, sizes: Mapping[str, int], dtype: str, device: Any, generator: Any
) -> tuple[Work, Callable[[], Any]]:
    m, n, k = (sizes[one] for one in "mnk")
    left = _random(torch, (m, k), dtype, device, generator)
    right = _random(torch, (n, k), dtype, device, generator)
    of_result = {"int8": 4, "fp8": 2}.get(dtype, _BYTES[dtype])
    # As a linear layer: x times the transpose of its weights.
    work = Work("gemm", "gemm", 2 * m * n * k, (m + n) * k * _BYTES[dtype], m * n * of_result)
    if dtype == "int8":
        if not hasattr(torch, "_int_mm"):
            raise NotAvailableError(f"PyTorch {torch.__version__} has no product of int8")
        return work, lambda: torch._int_mm(left, right.t())
    if dtype == "fp8":
        return work, _scaled_product(torch, left, right, device)
    work = linear("gemm", m, (k, n), _sizes(dtype))
    if dtype == "tf32":

        def with_tf32() -> Any:
            before = torch.backends.cuda.matmul.allow_tf32
            torch.backends.cuda.matmul.allow_tf32 = True
            try:
                return torch.nn.functional.linear(left, right)
            finally:
                torch.backends.cuda.matmul.allow_tf32 = before

        return work, with_tf32
    return work, lambda: torch.nn.functional.linear(left, right)


def _scaled_product(torch: Any, left: Any, right: Any, device: Any) -> Callable[[], Any]:
    if not hasattr(torch, "_scaled_mm"):
        raise NotAvailableError(f"PyTorch {torch.__version__} has no product in FP8")
    one = torch.ones((), device=device)
    # As engines call it: Hopper and Ada lose rate where every sum is kept in FP32.
    return lambda: torch._scaled_mm(
        left, right.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True
    )


def _attention(
    torch: Any, sizes: Mapping[str, int], dtype: str, device: Any, generator: Any
) -> tuple[Work, Callable[[], Any]]:
    batch, heads, kv_heads = sizes["batch"], sizes["heads"], sizes["kv_heads"]
    context, head_dim = sizes["context"], sizes["head_dim"]
    query = _random(torch, (batch, heads, 1, head_dim), dtype, device, generator)
    cache = (batch, kv_heads, context, head_dim)
    keys, values = (_random(torch, cache, dtype, device, generator) for _ in range(2))
    shape = AttentionShape(batch, 1, context, context, heads, kv_heads, head_dim, head_dim)
    is_grouped = heads != kv_heads
    return attention(
        "attention", shape, _sizes(dtype)
    ), lambda: torch.nn.functional.scaled_dot_product_attention(
        query, keys, values, enable_gqa=is_grouped
    )


_MAKERS: Mapping[
    str,
    Callable[[Any, Mapping[str, int], str, Any, Any], tuple[Work, Callable[[], Any]]],
] = {
    "attention": _attention, "gemm": _gemm, "gemv": _gemm, "norm": _norm, "copy": _copy,
}  # fmt: skip
