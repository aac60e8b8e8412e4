"""`part_of`: a report becomes sums by family and batch size, which add up to those of many."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.analysis.aggregate import Groups, group_by
from nsightlens.analysis.analytic import is_alone
from nsightlens.analysis.identity import identify
from nsightlens.analysis.measured import measure
from nsightlens.analysis.nvidia_verdict import nvidia_verdict
from nsightlens.analysis.sums import Adder, Sums, joined_sums
from nsightlens.analysis.tally import Tally, joined, tally_of
from nsightlens.arrays import number_array
from nsightlens.devices import peak_overrides
from nsightlens.devices.columns import number_column, text_column
from nsightlens.devices.peaks import misnamed_devices, unused_ceilings
from nsightlens.kernels.user_rules import as_user_rules
from nsightlens.report import check_report
from nsightlens.steps import StepCounts, step_counts
from nsightlens.sweeps.joined_texts import joined_by_group
from nsightlens.sweeps.mixture import add_ranges
from nsightlens.sweeps.model import DEFAULT_OPTIONS
from nsightlens.sweeps.numbers import quotient
from nsightlens.sweeps.origins import Origins, joined_origins, origins_of
from nsightlens.sweeps.sessions import Sessions, no_sessions, sessions_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from nsightlens.analysis.usage import Usage
    from nsightlens.report import Report
    from nsightlens.sweeps.model import SweepOptions

__all__ = ["KEYS", "SweepPart", "added_parts", "part_of"]

KEYS = ("device_name", "phase", "family", "subtype", "kernel", "batch_size")
"""What makes a row, as columns of text."""

_SALVAGED = re.compile(r": damaged (?:at byte|in) .* salvaged: ")
"""What readers say of a report that they could not read to its end."""

_COMMON = ("context_length", "query_tokens")
_BYTES = ("dram_read_bytes", "dram_write_bytes")
_USEFUL = {"useful_flop_count": "operation_flop", "algorithmic_bytes": "operation_bytes"}


@dataclass(frozen=True, eq=False, repr=False)
class SweepPart:
    """Sums over the launches of some reports, which can be added to those of others.

    It grows with the number of rows and reports, not with that of launches, and can be pickled.

    Parameters
    ----------
    keys
        A text column for each of `KEYS`: what a row is.
    tally
        What the rules of the labels take.
    sums
        What else adds up.
    common
        What all launches of a row share, as text; null where they do not.
    batch_source
        Where batch sizes came from, joined by ``+``.
    sessions
        How the reports were collected.
    origins
        On which GPUs and in which reports the launches are.
    step_counts
        How many launches there are of each kind of step.
    misnamed, unused
        What was noticed of the peaks. The second counts only where no report has a use for them.
    is_salvaged
        Some report was damaged, and only its launches before the damage were read.
    """

    keys: pa.Table
    tally: Tally
    sums: Sums
    common: pa.Table
    batch_source: Any
    sessions: Sessions
    origins: Origins
    step_counts: StepCounts
    misnamed: tuple[str, ...]
    unused: tuple[str, ...]
    is_salvaged: bool = False

    def __len__(self) -> int:
        return int(self.keys.num_rows)

    def grouped(self, names: Sequence[str]) -> SweepPart:
        """Add rows up that share some of their keys; the other keys become null."""
        groups = group_by([self.keys[name] for name in names])
        return self._by(groups, names)

    def taken(self, order: NDArray[np.intp]) -> SweepPart:
        """Return the rows in another order."""
        return self._by(Groups(order, np.arange(len(order))), KEYS)

    def _by(self, groups: Groups, names: Sequence[str]) -> SweepPart:
        first = number_array(groups.first)
        nothing = pa.nulls(len(groups.starts), pa.string())
        keys = {
            name: self.keys[name].combine_chunks().take(first) if name in names else nothing
            for name in KEYS
        }
        return replace(
            self,
            keys=pa.table(keys),
            tally=self.tally.grouped(groups),
            sums=self.sums.grouped(groups),
            common=pa.table({name: groups.common(self.common[name]) for name in _COMMON}),
            batch_source=joined_by_group(self.batch_source, groups),
        )


def part_of(report: Report, options: SweepOptions = DEFAULT_OPTIONS) -> SweepPart:
    """Add the launches of a report up to rows, which can be added to those of other reports.

    Parameters
    ----------
    report
        The report, of one or more files.
    options
        As for `nsightlens.sweep`.

    Returns
    -------
    SweepPart
        For `sweep_of_parts`.

    Raises
    ------
    TypeError
        ``report`` is none, such as the name of a file.
    ValueError
        ``options.by`` is none of the two.
    UnknownDeviceError, SettingsFileError
        As for `nsightlens.classify`.

    Examples
    --------
    >>> from nsightlens import open_report
    >>> from nsightlens.example import path
    >>> len(part_of(open_report(path())))
    53
    """
    check_report(report)
    if options.by not in ("family", "kernel"):
        raise ValueError(f"by must be 'family' or 'kernel', not {options.by!r}")
    overrides = peak_overrides(options.device, options.peaks)
    rules = as_user_rules(options.kernel_rules)
    with np.errstate(all="ignore"):
        identity = identify(report, rules, options.step_rules)
        measured, _ = measure(report, identity, nvidia_verdict(report), overrides)
        keys = _keys(identity, with_kernel=options.by == "kernel")
        groups = group_by([keys[name] for name in KEYS])
        tally = tally_of(measured, groups)
        sums = _sums(report, identity, measured.usage, groups)
    used = tally.busiest.used_names()
    return SweepPart(
        keys=keys.take(number_array(groups.first)),
        # Names of hundreds of counters, of which few are the busiest of anything.
        tally=tally._replace(busiest=tally.busiest.of_names(used)),
        sums=sums,
        common=pa.table({name: groups.common(identity[name]) for name in _COMMON}),
        batch_source=joined_by_group(identity["batch_source"].combine_chunks(), groups),
        sessions=sessions_of(report),
        origins=origins_of(report, keys["device_name"]),
        step_counts=step_counts(report, options.step_rules),
        misnamed=tuple(misnamed_devices(report, overrides)),
        unused=tuple(unused_ceilings(report, overrides)),
        is_salvaged=any(_SALVAGED.search(text) for text in report.warnings),
    )


def added_parts(parts: Sequence[SweepPart]) -> SweepPart:
    """Add parts up to one."""
    first, *others = parts
    if not others:
        return first
    sessions, counts = no_sessions(), StepCounts()
    for part in parts:
        sessions, counts = sessions.added(part.sessions), counts.plus(part.step_counts)
    whole = SweepPart(
        keys=pa.concat_tables([part.keys for part in parts]),
        tally=joined([part.tally for part in parts]),
        sums=joined_sums([part.sums for part in parts]),
        common=pa.concat_tables([part.common for part in parts]),
        batch_source=pa.concat_arrays([part.batch_source for part in parts]),
        sessions=sessions,
        origins=joined_origins(part.origins for part in parts),
        step_counts=counts,
        misnamed=tuple(dict.fromkeys(text for part in parts for text in part.misnamed)),
        unused=_unused(parts),
        is_salvaged=any(part.is_salvaged for part in parts),
    )
    return whole.grouped(KEYS)


def _unused(parts: Sequence[SweepPart]) -> tuple[str, ...]:
    """Return what was said of ceilings where it was said of every report with launches."""
    with_launches = [part.unused for part in parts if len(part)]
    if not all(with_launches):
        return ()
    return tuple(dict.fromkeys(text for texts in with_launches for text in texts))


def _keys(identity: pa.Table, *, with_kernel: bool) -> pa.Table:
    # One driver calls the same GPU A100-PCIE-40GB, a later one NVIDIA A100-PCIE-40GB.
    gpu = pc.replace_substring_regex(identity["device_name"], "^NVIDIA ", "")
    kernel = identity["subject"] if with_kernel else pa.nulls(identity.num_rows, pa.string())
    columns = {"device_name": gpu, "kernel": kernel}
    columns |= {name: identity[name] for name in KEYS if name not in columns}
    return pa.table({name: _text(columns[name]) for name in KEYS})


def _text(column: Any) -> Any:
    text = column.cast(pa.string())
    return text.combine_chunks() if isinstance(text, pa.ChunkedArray) else text


def _sums(report: Report, identity: pa.Table, usage: Usage, groups: Groups) -> Sums:
    """Add up what the labels do not need. NaN of one launch that counts is NaN of its row."""
    counts = ~np.isnan(usage.duration_ns)
    adder = Adder(groups)
    adder.add("counted_launches", counts.astype(np.int64))
    adder.add("reports", _is_first_of_report(report, groups).astype(np.int64))
    for name in _BYTES:
        adder.add(name, np.where(counts, number_column(report.launches, name), 0.0))
    alone = is_alone(report)
    needed = {
        name: np.where(alone, number_column(identity, source), np.nan)
        for name, source in _USEFUL.items()
    }
    for name, values in needed.items():
        adder.add(name, np.where(counts, values, 0.0))
    intensity = quotient(needed["useful_flop_count"], needed["algorithmic_bytes"])
    add_ranges(adder, number_column(identity, "context_length"), intensity)
    return adder.sums


def _is_first_of_report(report: Report, groups: Groups) -> Any:
    """Say of each launch whether it is the first of its report in its group. Shape (n,)."""
    code, texts = text_column(report.launches, "report")
    group = np.empty(len(code), dtype=np.int64)
    lengths = np.diff(np.append(groups.starts, len(code)))
    group[groups.order] = np.repeat(np.arange(len(groups.starts)), lengths)
    _, first = np.unique(group * len(texts) + code, return_index=True)
    is_first = np.zeros(len(code), dtype=bool)
    is_first[first] = True
    return is_first
