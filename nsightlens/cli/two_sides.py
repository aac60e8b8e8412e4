"""Reports of two sides, base and new: how they are named on the command line, and read."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.cli import arguments
from nsightlens.cli.kernel_rules import rules_of
from nsightlens.cli.load import find, has_filters, load, noticed, passing
from nsightlens.cli.source import facts_of, source_of
from nsightlens.cli.talk import say
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path
    from typing import Any

    from nsightlens.cli.load import Found, Loaded, Unread
    from nsightlens.render.facts import ReportFacts
    from nsightlens.report import Report

__all__ = ["FoundSides", "Sides", "add_base", "find_sides", "load_sides"]


class FoundSides(NamedTuple):
    """The files of each side; ``base`` is None where there is none."""

    base: Found | None
    new: Found

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files alone."""
        return (*(self.base.paths if self.base else ()), *self.new.paths)


class Sides(NamedTuple):
    """What was read of each side; ``base`` is None where there is none."""

    base: Loaded | None
    new: Loaded

    @property
    def loaded(self) -> list[Loaded]:
        """Base and new, or new alone."""
        return [self.new] if self.base is None else [self.base, self.new]

    @property
    def unread(self) -> list[Unread]:
        """The reports of both sides that could not be read."""
        return [unread for one in self.loaded for unread in one.unread]

    def finish(self) -> int:
        """Name the reports that could not be read; return the exit code, that of the first."""
        codes = [one.finish() for one in self.loaded]
        return next((code for code in codes if code), 0)

    def facts(self) -> list[list[ReportFacts]]:
        """Return the facts of the reports of each side."""
        return [facts_of(one.report) for one in self.loaded]

    def source(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return what the rows were made from; see `nsightlens.cli.source.source_of`."""
        parts = [source_of(one, options) for one in self.loaded]
        joined = {name: [x for part in parts for x in part[name]]
                  for name in ("reports", "unread", "warnings")}  # fmt: skip
        return {**parts[-1], **joined}

    def warnings(self) -> list[str]:
        """Return what a reader must know of the files."""
        return [text for one in self.loaded for text in noticed(one.report)]

    def filtered(self, args: argparse.Namespace) -> list[list[Report]]:
        """Return the reports of each side, with the launches that pass the filters.

        Raises
        ------
        FilterError
            A filter cannot be understood, or no launch of either side passes.
        """
        sides = [list(one.parts) for one in self.loaded]
        if not has_filters(args):
            return sides
        from nsightlens.analysis import select

        given = {"kernel": args.kernel, "families": args.family, "nvtx": args.nvtx,
                 "grid": args.grid, "kernel_rules": rules_of(args)}  # fmt: skip
        kept = [[part.filter(select(part, **given)) for part in side] for side in sides]
        if not any(len(part) for side in kept for part in side):
            passing(args, self.new.report)  # says what it could have found
        return kept


def add_base(parser: argparse.ArgumentParser, about: str) -> None:
    """Add the option for the base."""
    parser.add_argument(
        "--base",
        metavar="REPORT",
        nargs="+",
        type=arguments.name_of_file,
        help=about,
    )


def find_sides(args: argparse.Namespace, *, splits_two: bool) -> FoundSides:
    """Find the files of both sides.

    Parameters
    ----------
    args
        With ``reports`` and ``base``.
    splits_two
        Whether two reports without ``--base`` are base and new.

    Raises
    ------
    FilterError
        It is not clear which is the base.
    """
    if args.base is None and splits_two:
        if len(args.reports) != 2:
            from nsightlens.render.numbers import counted

            count = counted(len(args.reports), "report was", "reports were")
            raise FilterError(
                f"{count} given: give two, BASE and NEW, or several of each side as NEW... --base "
                "BASE..."
            )
        base, new = args.reports[:1], args.reports[1:]
    else:
        base, new = args.base, args.reports
    if base and "-" in base and "-" in new:
        raise FilterError("standard input can be one side only")
    return FoundSides(None if base is None else _found(args, base), _found(args, new))


def _found(args: argparse.Namespace, reports: Sequence[str]) -> Found:
    from nsightlens.readers.source import place_of

    first: dict[str, str] = {}
    for report in reports:
        place = place_of(report)
        if place in first:
            how = "twice" if first[place] == report else f"as {first[place]}, too"
            say("note", f"{report} is given {how}: it is read once, and is no repeat of itself")
        first.setdefault(place, report)
    return find(argparse.Namespace(**{**vars(args), "reports": list(reports)}))


def load_sides(args: argparse.Namespace, found: FoundSides) -> Sides:
    """Read the files of both sides; see `nsightlens.cli.load.load`."""
    base = None if found.base is None else load(args, found.base)
    return Sides(base, load(args, found.new))
