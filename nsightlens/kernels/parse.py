"""`parse_kernel_name`: what one name says, by the built-in rules or with a user's before them."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from nsightlens.kernels.learned import NameReader
from nsightlens.kernels.rulebook import built_in_rulebook

if TYPE_CHECKING:
    from nsightlens.kernels.model import KernelName
    from nsightlens.kernels.user_rules import UserRules

__all__ = ["built_in_reader", "parse_kernel_name", "reader_of"]


@cache
def built_in_reader() -> NameReader:
    """Return the reader that has learned from all names so far, by the built-in rules."""
    return NameReader(built_in_rulebook())


def reader_of(rules: UserRules | None) -> NameReader:
    """Return what reads names by a user's rules, or by the built-in ones alone."""
    return built_in_reader() if rules is None else rules.reader


def parse_kernel_name(name: str, rules: UserRules | None = None) -> KernelName:
    """Say what a kernel is from its name alone.

    Parameters
    ----------
    name
        The name in any spelling: demangled by any profiler, mangled, Triton, Inductor.
    rules
        Rules to be asked before the built-in ones; see `nsightlens.kernels.read_user_rules`.

    Returns
    -------
    KernelName
        Family ``other`` where the name does not say it, with what is missing in ``note``.

    Examples
    --------
    >>> kernel = parse_kernel_name("nvjet_tst_128x256_64x4_2x1_v_bz_coopA_TNT")
    >>> kernel.family, kernel.dtypes, kernel.tile
    ('gemm', ('bf16',), '128x256x64')
    """
    return reader_of(rules).read(name)
