"""`parse_kernel_name`: what one name says, by the built-in rules or with a user's before them.

`parse_launch_kernel` says it of the up to three spellings that a report has of a launch's kernel.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from nsightlens.kernels.learned import NameReader
from nsightlens.kernels.model import USER_RULE
from nsightlens.kernels.rulebook import built_in_rulebook

if TYPE_CHECKING:
    from nsightlens.kernels.model import KernelName
    from nsightlens.kernels.user_rules import UserRules

__all__ = ["built_in_reader", "parse_kernel_name", "parse_launch_kernel", "reader_of"]


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


def parse_launch_kernel(
    demangled: str | None,
    function_name: str | None,
    mangled: str | None,
    *,
    rules: UserRules | None = None,
) -> KernelName | None:
    """Say what the kernel of one launch is; `columns.parse_launch_kernels` gives the same of many.

    Parameters
    ----------
    demangled, function_name, mangled
        Spellings of the name; None where a report does not have it.
    rules
        Rules to be asked before the built-in ones.

    Returns
    -------
    KernelName or None
        What the most telling spelling says; None where there is none.
    """
    names = [name for name in (demangled, mangled, function_name) if name]
    parsed = [parse_kernel_name(name, rules) for name in names]
    by_user = [one for one in parsed if one.rule.startswith(USER_RULE)]
    telling = [one for one in parsed if one.family != "other"]
    return next(iter(by_user + telling + parsed), None)
