"""Resources as a person says them: the words of `reason`, `confidence` and `explain`."""

from __future__ import annotations

from nsightlens.analysis.usage import RESOURCES

__all__ = ["RESOURCE_WORDS", "resource_words"]

_WORDS = {
    "dram": "DRAM",
    "l2": "L2",
    "l1": "L1 with shared memory",
    "issue": "issue slots",
    "fma": "fma pipe",
    "integer": "integer pipe",
    "xu": "special-function pipe",
    "tensor": "tensor pipes",
    "sm": "busiest part of the SM",
    "memory": "busiest part of the memory system",
}


def resource_words(resource: str) -> str:
    """Return a resource as a person says it.

    Examples
    --------
    >>> resource_words("tensor_bf16"), resource_words("dram"), resource_words("fp32")
    ('tensor BF16', 'DRAM', 'FP32')
    """
    if resource in _WORDS:
        return _WORDS[resource]
    kind, _, dtype = resource.rpartition("_")
    return f"{kind} {dtype.upper()}" if kind else dtype.upper()


RESOURCE_WORDS = tuple(resource_words(name) for name in RESOURCES)
"""The words of each of `RESOURCES`, in its order."""
