"""Data types by the names that a person gives them, and the bytes of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kernels_under_test.refusals import NotAvailableError
from kernels_under_test.work import Sizes

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["ALIASES", "DTYPES", "activation_dtype", "check_fp8", "dtype_name", "sizes_of"]

DTYPES = ("float16", "bfloat16", "float32", "fp8")
"""Of weights and activations; ``fp8``: linear layers multiply in FP8, all else is bfloat16."""
ALIASES: Mapping[str, str] = {
    "fp16": "float16",
    "half": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "float": "float32",
    "float8": "fp8",
    "float8_e4m3fn": "fp8",
}
_LEAST_OF_FP8 = (8, 9)


def dtype_name(text: str) -> str:
    """Return the name in `DTYPES` of what a person wrote.

    Raises
    ------
    ValueError
        It is none.

    Examples
    --------
    >>> dtype_name("BF16")
    'bfloat16'
    """
    name = text.casefold()
    name = ALIASES.get(name, name)
    if name not in DTYPES:
        raise ValueError(f"{text!r} is none of {', '.join((*DTYPES, *ALIASES))}")
    return name


def sizes_of(dtype: str) -> Sizes:
    """Return the bytes per element of a data type.

    Examples
    --------
    >>> sizes_of("fp8")
    Sizes(weight=1, activation=2, cache=2)
    """
    if dtype == "fp8":
        return Sizes(1, 2, 2)
    size = 4 if dtype == "float32" else 2
    return Sizes(size, size, size)


def activation_dtype(torch: Any, dtype: str) -> Any:
    """Return the type of PyTorch that activations have."""
    return getattr(torch, "bfloat16" if dtype == "fp8" else dtype)


def check_fp8(torch: Any, device: Any) -> None:
    """Refuse FP8 where this PyTorch or this device has no product in it.

    Raises
    ------
    NotAvailableError
        With what is missing.
    """
    if not hasattr(torch, "float8_e4m3fn") or not hasattr(torch, "_scaled_mm"):
        raise NotAvailableError(
            f"dtype fp8: PyTorch {torch.__version__} has no products in FP8: "
            "pip install --upgrade torch"
        )
    if device.type == "cuda":
        found = torch.cuda.get_device_capability(device)
        if found < _LEAST_OF_FP8:
            raise NotAvailableError(
                f"dtype fp8: the GPU has compute capability {found[0]}.{found[1]}, and products in "
                "FP8 need 8.9 (Ada) or more: take bfloat16"
            )
    try:
        rows = torch.zeros((16, 16), dtype=torch.float8_e4m3fn, device=device)
        scale = torch.ones((), device=device)
        torch._scaled_mm(rows, rows.t(), scale_a=scale, scale_b=scale, out_dtype=torch.bfloat16)
    except (RuntimeError, ValueError) as error:
        said = str(error).splitlines()[0]
        raise NotAvailableError(
            f"dtype fp8: {device.type} cannot multiply in FP8 ({said}): take bfloat16"
        ) from error
