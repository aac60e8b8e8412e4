"""Ways to compute attention, by the name that the command line takes.

- `kernels_under_test.backends.call`: what a backend is.
- `kernels_under_test.backends.eager`: two products and a softmax.
- `kernels_under_test.backends.sdpa`: PyTorch's own, with each of its backends.
- `kernels_under_test.backends.flash_attention`, `kernels_under_test.backends.flash_infer`,
  `kernels_under_test.backends.triton_decode`: packages that may be installed.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kernels_under_test.backends.call import Backend

__all__ = ["ATTENTION", "backend_of"]

_SDPA = ("sdpa", "sdpa-math", "sdpa-flash", "sdpa-efficient", "sdpa-cudnn")
_OTHERS: Mapping[str, tuple[str, str]] = {
    "eager": ("eager", "Eager"),
    "flash-attn": ("flash_attention", "FlashAttention"),
    "flashinfer": ("flash_infer", "FlashInfer"),
    "triton": ("triton_decode", "TritonDecode"),
}
ATTENTION = (*_SDPA, *_OTHERS)
"""Names of all of them."""


def backend_of(name: str) -> Backend:
    """Return a backend; that it can run here, its `check` says.

    Parameters
    ----------
    name
        One of `ATTENTION`.

    Examples
    --------
    >>> backend_of("eager").is_eager
    True
    """
    if name in _SDPA:
        module: Any = import_module("kernels_under_test.backends.sdpa")
        found: Backend = module.Sdpa(name)
        return found
    file, kind = _OTHERS[name]
    module = import_module(f"kernels_under_test.backends.{file}")
    backend: Backend = getattr(module, kind)()
    return backend
