"""Advice where a cache is the limiter: by its busiest counter, each of which asks for another cure.

L1 at 97 % may be wavefronts of accesses that do not coalesce, instructions that each move little,
or data that are really wanted. `nsightlens.analysis.busiest` tells which.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from nsightlens.analysis.advice_conditions import (
    MUCH_PCT,
    PART_PCT,
    has_bank_conflicts,
    has_excess_sectors,
    has_scattered_loads,
    is_limited_by,
    says,
)
from nsightlens.analysis.advice_rule import Rule

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.analysis.quantities import Quantities

__all__ = ["L1_RULES", "L2_RULES", "l1_cause", "l2_cause"]

SPLIT = 2.0
"""[1] Wavefronts for each cycle of data: from here on, accesses are split more than their bytes
need. A contiguous load has one, whatever its width."""
_WIDE = 4.5
"""[1] A contiguous request of 16 bytes a thread has 4 wavefronts."""
_MOSTLY_PCT = 50.0
_HARDLY_PCT = 20.0
_WHOLE_LINE = 3.5
"""[sector] A line has 4; with as many on average, next to every request is for a whole one."""

# First match counts; "" is what stands for no single cause.
_L1_CAUSES = (
    (r"l1tex__data_pipe_lsu_wavefronts", "wavefronts"),
    (r"sm__inst_executed_pipe_lsu|l1tex__lsuin_requests|sm__mio_(inst_issued|pq_).*", "requests"),
    (r"l1tex__m_xbar2l1tex_read_sectors_mem_dshared", "remote"),
    (r"l1tex__(lsu_writeback_active|data_bank_).*|sm__mio2rf_.*", "bytes"),
    (r"l1tex__t_.*", "tags"),
    (r"idc__.*", "constants"),
    (r".*tex_wavefronts|l1tex__(f_|tex).*|sm__inst_executed_pipe_tex.*", "textures"),
)
_L2_CAUSES = (
    (r"lts__t_tag_requests", "tags"),
    (r"lts__d_atomic.*", "atomics"),
    (r"lts__d_sectors_fill_sysmem", "sysmem"),
    (r"(lts__xbar2lts|l1tex__m_l1tex2xbar).*", "stores"),
    (r"(lts__(t_sectors|d_sectors|lts2xbar)|l1tex__m_xbar2l1tex).*", "bytes"),
)


def l1_cause(q: Quantities) -> str:
    """Return what L1 with shared memory is busy with, "" where no counter says it."""
    cause = _cause(q.busiest_counter("l1"), _L1_CAUSES)
    if cause != "wavefronts":
        return cause
    if q("wavefronts_per_data_cycle") < SPLIT:
        return "bytes"
    # Stores return no data: only more wavefronts than a wide request needs tell that it is split.
    is_split = q("wavefronts_per_data_cycle") >= SPLIT and q("wavefronts_per_request") >= _WIDE
    return _split_where(q) if is_split else ""


def _split_where(q: Quantities) -> str:
    """Say whether accesses to global or to shared memory are split, where that is known."""
    is_unshared = q("shared_memory_static_bytes") + q("shared_memory_dynamic_bytes") == 0
    if is_unshared or q("shared_wavefronts_pct") <= _HARDLY_PCT:
        return "uncoalesced"
    if q("shared_wavefronts_pct") >= _MOSTLY_PCT and not q("bank_conflicts_pct") < PART_PCT:
        return "conflicts"
    return "split"


def l2_cause(q: Quantities) -> str:
    """Return what L2 is busy with, "" where no counter says it."""
    cause = _cause(q.busiest_counter("l2"), _L2_CAUSES)
    # Whole lines need a look-up each: then it is the data.
    is_whole = cause == "tags" and q("sectors_per_l2_request") >= _WHOLE_LINE
    return "bytes" if is_whole else cause


def _cause(counter: str, causes: tuple[tuple[str, str], ...]) -> str:
    return next((cause for pattern, cause in causes if re.fullmatch(pattern, counter)), "")


def _is_said(q: Quantities) -> bool:
    """Say whether counted conflicts or sectors have said it already, and more exactly."""
    return has_bank_conflicts(q) or has_excess_sectors(q) or has_scattered_loads(q)


def _l1(cause: str) -> Callable[[Quantities], bool]:
    return lambda q: is_limited_by(q, "l1") and l1_cause(q) == cause


def _l1_split(cause: str) -> Callable[[Quantities], bool]:
    # Accesses that are split cost time long before L1 is full.
    return lambda q: (
        says(q, "limiter", "l1")
        and q("l1_of_peak_pct") >= MUCH_PCT
        and l1_cause(q) == cause
        and not _is_said(q)
    )


def _l2(cause: str) -> Callable[[Quantities], bool]:
    return lambda q: is_limited_by(q, "l2") and l2_cause(q) == cause


_SPLIT = (
    "L1 is at {lsu_wavefronts_pct} by wavefronts, while requests are at {lsu_requests_pct} and "
    "data return at {lsu_writeback_pct}: {wavefronts_per_data_cycle} wavefronts where one is "
    "enough. "
)

L1_RULES = (
    Rule(
        "l1_uncoalesced",
        _l1_split("uncoalesced"),
        {
            "": _SPLIT + "The threads of a warp access addresses that lie apart. Let neighbouring "
            "threads access neighbouring addresses: exchange the roles of the thread indices, "
            "change the layout, or go through shared memory"
        },
    ),
    Rule(
        "l1_conflicts",
        _l1_split("conflicts"),
        {
            "": _SPLIT + "{shared_wavefronts_pct} of them are in shared memory, and wait for each "
            "other at its banks. Pad or swizzle the layout in shared memory"
        },
    ),
    Rule(
        "l1_split",
        _l1_split("split"),
        {
            "": _SPLIT + "Either threads of a warp access global addresses that lie apart, or "
            "shared memory has bank conflicts. Coalesce the former first (roles of the thread "
            "indices, layout); pad or swizzle against the latter"
        },
    ),
    Rule(
        "l1_requests",
        _l1("requests"),
        {
            "gemm": "load and store instructions leave the SM at {l1_of_peak_pct} of the rate it "
            "can: too many for what they move. Larger tiles in registers use each operand more "
            "often, and wider accesses (ldmatrix, 16 bytes) move more at a time",
            "": "load, store and shuffle instructions leave the SM at {l1_of_peak_pct} of the rate "
            "it can: too many for what they move. Access 16 bytes a thread, and keep values in "
            "registers",
        },
    ),
    Rule(
        "l1_bytes",
        _l1("bytes"),
        {
            "gemm": "L1 with shared memory is at {l1_of_peak_pct} with data that are really moved: "
            "larger tiles in registers use each operand more often; wider accesses move no less",
            "": "L1 with shared memory is at {l1_of_peak_pct} with data that are really moved: "
            "keep values in registers and use each more often once it is loaded, or take narrower "
            "types; wider accesses move no less",
        },
    ),
    Rule(
        "l1_tags",
        _l1("tags"),
        {
            "": "the tags of L1 are at {l1_of_peak_pct}: an access of a warp touches many cache "
            "lines. Let neighbouring threads access neighbouring addresses"
        },
    ),
    Rule(
        "l1_remote",
        _l1("remote"),
        {
            "": "shared memory of other SMs of the cluster is read at {l1_of_peak_pct} of the rate "
            "it can be: copy what is used often into an SM's own"
        },
    ),
    Rule(
        "l1_constants",
        _l1("constants"),
        {
            "": "the cache of indexed constants is at {l1_of_peak_pct}: it answers one address at "
            "a time. Keep a table that threads index differently in shared memory"
        },
    ),
    Rule(
        "l1_textures",
        _l1("textures"),
        {
            "": "the texture path is at {l1_of_peak_pct}: where nothing is filtered or clamped, "
            "plain loads go a wider way"
        },
    ),
    Rule(
        "l1_roof",
        _l1(""),
        {
            "gemm": "L1 with shared memory is at {l1_of_peak_pct} of its peak: larger tiles in "
            "registers use each operand more often. See first whether accesses coalesce and "
            "shared memory has bank conflicts",
            "": "L1 with shared memory is at {l1_of_peak_pct} of its peak: use each value more "
            "often once it is loaded. See first whether accesses coalesce and shared memory has "
            "bank conflicts",
        },
    ),
)
"""What helps a launch that L1 with shared memory limits, one rule for each cause."""

_REUSED = {
    "gemm": "larger tiles in shared memory and registers fetch each operand less often, and blocks "
    "that share operands can load them for each other (clusters, multicast)",
    "elementwise": "data fit L2 and pass it once for each kernel: fuse with the kernel before or "
    "after it, or use narrower types",
    "": "keep more in shared memory and registers, with larger tiles or several elements a thread, "
    "so that less passes L2",
}

L2_RULES = (
    Rule(
        "l2_tags",
        _l2("tags"),
        {
            "": "the tags of L2 are at {l2_of_peak_pct}, and a request has "
            "{sectors_per_l2_request} sectors of the 4 that a line has: neighbouring threads do "
            "not access neighbouring addresses, or accesses are narrow"
        },
    ),
    Rule(
        "l2_tags",
        _l2("tags"),
        {
            "": "the tags of L2 are at {l2_of_peak_pct}: there are many requests for what is "
            "moved. Let neighbouring threads access neighbouring addresses, 16 bytes each"
        },
    ),
    Rule(
        "l2_atomics",
        _l2("atomics"),
        {
            "": "L2 is at {l2_of_peak_pct} with atomics: add up within a warp or block first, and "
            "write once"
        },
    ),
    Rule(
        "l2_sysmem",
        _l2("sysmem"),
        {
            "": "L2 is filled from system memory at {l2_of_peak_pct}: copy what is used more than "
            "once to the GPU first"
        },
    ),
    Rule(
        "l2_stores",
        _l2("stores"),
        {
            "": "requests and stores reach L2 at {l2_of_peak_pct} of the rate it takes them: write "
            "whole lines (16 bytes a thread, contiguous), and keep partial results in shared memory"
        },
    ),
    Rule(
        "l2_roof",
        lambda q: is_limited_by(q, "l2") and l2_cause(q) in ("bytes", ""),
        {kind: "L2 is at {l2_of_peak_pct} of its peak: " + text for kind, text in _REUSED.items()},
    ),
)
"""What helps a launch that L2 limits, one rule for each cause."""
