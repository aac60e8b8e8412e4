"""What NVIDIA's SpeedOfLight rule says of a launch: recomputed, and as the report stores it.

Nsight Compute's rule ``SOLBottleneck`` sorts a launch by two percentages and its waves. Its verdict
stands beside ours so that a user sees both views; where they name different sides, `parting` says
why.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis import thresholds
from nsightlens.analysis.label import BOUNDS, COMPUTE, MEMORY, UNKNOWN
from nsightlens.analysis.phrase import choose, concat, percent, when
from nsightlens.analysis.usage import INDEX
from nsightlens.arrays import number_array
from nsightlens.devices.columns import number_column, text_column

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.analysis.label import Decision
    from nsightlens.analysis.usage import Usage
    from nsightlens.report import Report

__all__ = ["VERDICTS", "NvidiaVerdict", "no_verdict", "nvidia_verdict", "parting"]

VERDICTS = ("high_throughput", "balanced", "compute", "memory", "latency", "small_grid")
"""What the rule can say."""

# Its identifier, and its display name, which stands in older printed pages.
_RULES = ("SOLBottleneck", "Bottleneck")
# What every wording from 2020.3 to 2025.2 has in common, of kernels and of workloads, and the
# heading that there is from 2021.2 on.
_WORDINGS = (
    ("high_throughput", "is utilizing greater than", "High Throughput"),
    ("balanced", "Compute and Memory are well-balanced", "Balanced Throughput"),
    ("compute", "Compute is more heavily utilized than Memory", "High Compute Throughput"),
    ("memory", "Memory is more heavily utilized than Compute", "High Memory Throughput"),
    ("latency", "exhibits low compute throughput and memory bandwidth", "Latency Issue"),
    ("small_grid", "grid is too small to fill the available resources", "Small Grid"),
)


class NvidiaVerdict(NamedTuple):
    """The rule's view of each launch.

    Parameters
    ----------
    code
        Code into `VERDICTS`, recomputed; -1 where a metric that decides is missing. Shape (n,).
    stored
        The same from the message in the report; -1 where there is none. Shape (n,).
    sm, memory
        [1] The two numbers that the rule compares; NaN where unknown. Shape (n,).
    """

    code: NDArray[np.int8]
    stored: NDArray[np.int8]
    sm: NDArray[np.float64]
    memory: NDArray[np.float64]

    def side(self) -> NDArray[np.int8]:
        """Return the side that the rule names, as a code into `BOUNDS`. Shape (n,).

        Above 80 % its message points to one side as well, to compute if both are equal.
        """
        points = self.code == VERDICTS.index("high_throughput")
        to_compute = (self.code == VERDICTS.index("compute")) | (points & (self.sm >= self.memory))
        to_memory = (self.code == VERDICTS.index("memory")) | (points & (self.sm < self.memory))
        return np.select([to_compute, to_memory], [COMPUTE, MEMORY], UNKNOWN).astype(np.int8)


def nvidia_verdict(report: Report) -> NvidiaVerdict:
    """Apply NVIDIA's rule to every launch, and read what it said when it was collected.

    Notes
    -----
    With S for ``sm__throughput``, M for ``gpu__compute_memory_throughput`` (both
    ``.avg.pct_of_peak_sustained_elapsed``) and W for ``launch__waves_per_multiprocessor``, the
    first that holds:

    1. S or M is 80 or more: ``high_throughput``.
    2. Both are below 60: ``small_grid`` where W is below 1, else ``latency``.
    3. They are 10 or more apart: the larger one, ``compute`` or ``memory``.
    4. ``balanced``.

    The numbers are compared as they are stored, not as they are printed: M of 79.996, which prints
    as 80.0, is below 80. Versions 2020.3 to 2025.2 agree. W counts only in step 2.
    """
    sm = number_column(report.launches, "sm_throughput_pct")
    memory = number_column(report.launches, "memory_throughput_pct")
    waves = number_column(report.launches, "waves_per_multiprocessor")
    code = _recompute(sm, memory, waves)
    return NvidiaVerdict(code, _stored(report), sm / 100.0, memory / 100.0)


def no_verdict(count: int) -> NvidiaVerdict:
    """Return that of rows of which the rule says nothing, such as groups."""
    none, unknown = np.full(count, -1, dtype=np.int8), np.full(count, np.nan)
    return NvidiaVerdict(none, none, unknown, unknown)


def _recompute(
    sm: NDArray[np.float64], memory: NDArray[np.float64], waves: NDArray[np.float64]
) -> NDArray[np.int8]:
    top = np.maximum(sm, memory)
    is_busy = top >= 100.0 * thresholds.BUSY
    apart = np.abs(sm - memory) >= 100.0 * thresholds.BALANCE_MARGIN
    cases = {
        "": np.isnan(top) | (~is_busy & np.isnan(waves)),
        "high_throughput": top >= 100.0 * thresholds.SATURATED,
        "small_grid": ~is_busy & (waves < thresholds.FULL_WAVE),
        "latency": ~is_busy,
        "compute": apart & (sm > memory),
        "memory": apart,
    }
    codes = [VERDICTS.index(name) if name else -1 for name in cases]
    verdict = np.select(list(cases.values()), codes, VERDICTS.index("balanced"))
    return verdict.astype(np.int8)


def _stored(report: Report) -> NDArray[np.int8]:
    """Read the verdict of each launch from the messages; -1 where there is none. Shape (n,)."""
    rules = report.rules
    is_kept = _is_one_of(rules["rule"], _RULES) & ~_is_one_of(rules["severity"], ("error",))
    rules = rules.filter(number_array(is_kept))
    said = _verdict_of(rules)
    key, wanted = _launch_keys(rules, report.launches)
    key, said = key[said >= 0], said[said >= 0]
    # A launch with several messages has the verdict of the first.
    order = np.argsort(key, kind="stable")
    key, said = key[order], said[order]
    place = np.searchsorted(key, wanted)
    found = np.append(key, -1)[place] == wanted
    return np.where(found, np.append(said, -1)[place], -1).astype(np.int8)


def _is_one_of(column: Any, texts: tuple[str, ...]) -> NDArray[np.bool_]:
    """Say where a column of categories is one of some texts. Shape (rows,)."""
    # By its categories: a damaged file may give every row the same text of a megabyte.
    categories = column.unify_dictionaries().combine_chunks()
    is_wanted = pc.is_in(categories.dictionary, value_set=pa.array(texts, pa.string()))
    found = pc.fill_null(is_wanted.take(categories.indices), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _verdict_of(rules: pa.Table) -> NDArray[np.int8]:
    """Recognise the wording of each message. Shape (rows,)."""
    said = np.full(rules.num_rows, -1, dtype=np.int8)
    for verdict, wording, title in _WORDINGS:
        holds = pc.or_(
            pc.fill_null(pc.match_substring(rules["message"], wording), False),
            pc.fill_null(pc.equal(rules["title"], title), False),
        )
        said[(said < 0) & np.asarray(holds.to_numpy(), dtype=bool)] = VERDICTS.index(verdict)
    return said


def _launch_keys(*tables_of_launches: pa.Table) -> tuple[NDArray[np.int64], ...]:
    """Return one number per row of each table that stands for report and launch."""
    number_of: dict[str | None, int] = {}
    keys = []
    for table in tables_of_launches:
        code, texts = text_column(table, "report")
        number = np.array([number_of.setdefault(text, len(number_of)) for text in texts])
        launch_id = table["launch_id"].to_numpy().astype(np.int64)
        keys.append((number[code].astype(np.int64) << 32) | launch_id)
    return tuple(keys)


def parting(verdict: NvidiaVerdict, decision: Decision, usage: Usage) -> Any:
    """Say where NVIDIA's rule names the other side than ``bound``, by which numbers, and why.

    Returns
    -------
    pyarrow.Array
        Text column; null where both name the same side, or one of them none.
    """
    side = verdict.side()
    parts = (side != UNKNOWN) & (decision.bound != UNKNOWN) & (side != decision.bound)
    return when(parts, lambda: _clause(verdict, side, decision, usage))


def _clause(
    verdict: NvidiaVerdict, side: NDArray[np.int8], decision: Decision, usage: Usage
) -> Any:
    rows = np.arange(len(usage))
    points = verdict.code == VERDICTS.index("high_throughput")
    l1 = usage.fraction()[INDEX["l1"]]
    is_way_to_l1 = (side == COMPUTE) & (l1 * (1.0 + thresholds.TIE) >= verdict.sm)
    is_counted = usage.is_counted[decision.limiter, rows]
    why = np.select([is_way_to_l1, is_counted], [0, 1], 2)
    return concat(
        pc.if_else(
            number_array(points),
            "NVIDIA's rule says high throughput and points to ",
            "NVIDIA's rule says ",
        ),
        choose(side, BOUNDS), " (SM ", percent(verdict.sm),
        ", memory ", percent(verdict.memory), ")",
        choose(why, (
            ", for it counts the way from the SM to L1 as compute",
            ", where counted work over its peak says more",
            "",
        )),
    )  # fmt: skip
