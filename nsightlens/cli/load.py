"""From what the user typed to one report: find files, read each, keep the good ones, filter.

One bad file among many does not stop the others: it is named on stderr at the end, and its exit
code is that of the command.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.cli.exit_codes import ExitCode, SeveralErrors, code_of
from nsightlens.cli.kernel_rules import rules_of
from nsightlens.cli.talk import say
from nsightlens.cli.terminal import Progress
from nsightlens.errors import FilterError, NsightLensError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from nsightlens.kernels import UserRules
    from nsightlens.report import Report

__all__ = [
    "FILTERS",
    "Found",
    "Loaded",
    "Unread",
    "empty_note",
    "filtered",
    "find",
    "finish",
    "has_filters",
    "load",
    "noticed",
    "passing",
]


class Unread(NamedTuple):
    """A report that could not be read."""

    path: str
    error: NsightLensError


class Found(NamedTuple):
    """The reports behind the arguments and what stands for none, in the order of the arguments.

    Standard input (``-``) and URLs are text.
    """

    entries: tuple[Path | str | Unread, ...]

    @property
    def reports(self) -> tuple[Path | str, ...]:
        """What can be read."""
        return tuple(entry for entry in self.entries if not isinstance(entry, Unread))

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files alone."""
        return tuple(entry for entry in self.entries if isinstance(entry, Path))


class Loaded(NamedTuple):
    """What was read.

    Parameters
    ----------
    report
        All sound reports, joined.
    parts
        Each of them alone, in the same order.
    unread
        Path and error of each that could not be read.
    """

    report: Report
    parts: tuple[Report, ...]
    unread: tuple[Unread, ...]

    def finish(self) -> int:
        """Name the reports that could not be read; return the exit code of the command."""
        return finish(self.unread)


def finish(unread: Sequence[Unread]) -> int:
    """Name the reports that could not be read; return the exit code of the command."""
    for one in unread:
        say("error", str(one.error))
    return code_of(unread[0].error) if unread else ExitCode.OK


def find(args: argparse.Namespace) -> Found:
    """Find the files that the arguments stand for."""
    from nsightlens.readers import find_reports
    from nsightlens.readers.source import place_of

    entries: list[Path | str | Unread] = []
    known = set()
    for given in args.reports:
        met: list[NsightLensError] = []
        found = find_reports([given], on_error=met.append)
        entries += (Unread(given, error) for error in met)
        for path in found:
            # A report that is given under two spellings is still one report.
            place = place_of(path)
            if place not in known:
                known.add(place)
                entries.append(path)
    return Found(tuple(entries))


def load(
    args: argparse.Namespace, found: Found, *, instances: bool | Sequence[str] = False
) -> Loaded:
    """Read the files.

    Parameters
    ----------
    args
        With ``salvage``, ``no_progress``, ``reader``, ``jobs`` and ``verbose``.
    found
        The files.
    instances
        Which instanced values to read; see `nsightlens.open_report`.

    Raises
    ------
    SeveralErrors
        None of the files could be read.
    """
    from nsightlens.report import concat_reports

    reports = []
    unread = []
    with Progress(is_wanted=not args.no_progress) as progress:
        outcomes = _outcomes(args, found, instances, progress)
        for entry in found.entries:
            if isinstance(entry, Unread):
                unread.append(entry)
                continue
            if args.verbose:
                say("reading", str(entry))
            outcome = next(outcomes)
            if isinstance(outcome, NsightLensError):
                unread.append(Unread(str(entry), outcome))
            else:
                reports.append(outcome)
    if not reports:
        raise SeveralErrors([one.error for one in unread])
    report = concat_reports(reports)
    for text in noticed(report):
        say("warning", text)
    return Loaded(report, tuple(reports), tuple(unread))


def _outcomes(
    args: argparse.Namespace,
    found: Found,
    instances: bool | Sequence[str],
    progress: Progress,
) -> Iterator[Report | NsightLensError]:
    from nsightlens.readers import open_each

    return open_each(
        found.reports,
        instances=instances,
        on_error="salvage" if args.salvage else "raise",
        reader=args.reader,
        jobs=args.jobs,
        progress=_told_by(progress, found.reports),
    )


def _told_by(progress: Progress, reports: Sequence[Path | str]) -> Callable[[str, int, int], None]:
    if len(reports) == 1:
        return progress.update
    from nsightlens.readers.source import typed

    position = {typed(report): i for i, report in enumerate(reports, 1)}
    return lambda name, _done, _total: progress.update(name, position[name], len(reports))


def noticed(report: Report) -> list[str]:
    """Return what a reader of the answer must know of the files, one sentence each."""
    with_launches = set(report.launches["report"].unique().to_pylist()) if len(report) else set()
    empty = [empty_note(source) for source in report.sources if source not in with_launches]
    return [*report.warnings, *empty]


def empty_note(source: str) -> str:
    """Say of a report that it holds no launch."""
    return (
        f"{source}: the file is sound and holds no launch: ncu profiled nothing. "
        "Check its filters (-k, --nvtx-include, -c) and that the program ran kernels."
    )


def passing(args: argparse.Namespace, report: Report) -> NDArray[np.bool_]:
    """Say which launches pass the filters of the command line.

    Returns
    -------
    numpy.ndarray
        True for each launch that passes. Shape (len(report),).

    Raises
    ------
    FilterError
        A filter cannot be understood, or there are launches and none passes.
    """
    from nsightlens.analysis import select

    keep = select(
        report,
        kernel=args.kernel,
        families=args.family,
        nvtx=args.nvtx,
        grid=args.grid,
        kernel_rules=rules_of(args),
    )
    if len(report) and not keep.any():
        raise FilterError(_nothing_passes(args, report))
    return keep


def has_filters(args: argparse.Namespace) -> bool:
    """Return whether any filter was given."""
    return any(getattr(args, name) is not None for name in FILTERS)


def filtered(args: argparse.Namespace, report: Report) -> Report:
    """Return the launches that pass the filters of the command line; see `passing`."""
    return report.filter(passing(args, report)) if has_filters(args) else report


FILTERS = ("kernel", "family", "nvtx", "grid")
_SHOWN = 8
_LONGEST = 60
"""[character] Of a value in an error: a C++ name may have thousands."""


def _nothing_passes(args: argparse.Namespace, report: Report) -> str:
    """Say which filters no launch passes, and what they could have found."""
    given = {name: getattr(args, name) for name in FILTERS if getattr(args, name) is not None}
    said = " ".join(
        f"--{name} {_quoted(value)}" for name, values in given.items() for value in values
    )
    there = "; ".join(
        f"{name}: {_listed(_present(report, name, rules_of(args)))}" for name in given
    )
    count = len(report)
    launches = "the only launch does not pass" if count == 1 else f"none of {count} launches passes"
    return f"{launches} {said}. The report has {there}."


def _present(report: Report, name: str, rules: UserRules | None) -> list[str]:
    """Return the values that a filter could have found, the commonest first."""
    from collections import Counter

    from nsightlens.analysis import classify

    column = {"kernel": "kernel", "family": "family", "nvtx": "nvtx_path", "grid": "grid"}[name]
    values = classify(report, kernel_rules=rules).labels[column].to_pylist()
    return [value for value, _ in Counter(v for v in values if v).most_common()]


def _listed(values: Sequence[str]) -> str:
    if not values:
        return "none"
    more = f" and {len(values) - _SHOWN} more" if len(values) > _SHOWN else ""
    return " | ".join(map(_quoted, values[:_SHOWN])) + more


def _quoted(value: str) -> str:
    """Return a value as it would be typed, cut in the middle where it would fill the screen."""
    if len(value) > _LONGEST:
        half = _LONGEST // 2
        value = f"{value[:half]}...{value[-half:]}"
    return shlex.quote(value)
