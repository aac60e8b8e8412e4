"""``nsightlens info``: what a report holds, how it was collected and what it lacks."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from nsightlens.cli import arguments
from nsightlens.cli.load import find, load
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nsightlens.render.style import Style
    from nsightlens.report import Report

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "say what a report holds and what it lacks"
DESCRIPTION = """\
Says of each report where and how it was collected, what it holds, and which
columns of the table 'launches' it cannot fill, with the --section or --metrics
of ncu that would fill them."""
EPILOG = """\
examples:
  nsightlens info report.ncu-rep
  nsightlens info report.ncu-rep --format json
  nsightlens info --version"""

FORMATS = ("table", "json")


class _ShowVersions(argparse.Action):
    """Print the versions of everything that takes part, and leave."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,  # noqa: ARG002
        values: Any,  # noqa: ARG002
        option_string: str | None = None,  # noqa: ARG002
    ) -> None:
        from nsightlens.cli.output import write_to_stdout

        write_to_stdout(f"{name:<11} {version}\n" for name, version in _versions())
        parser.exit()


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    arguments.add_reports(parser)
    parser.add_argument(
        "--version",
        action=_ShowVersions,
        nargs=0,
        help="print the versions of nsightlens, Python and the libraries, and exit",
    )
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser, names=False)


def _versions() -> list[tuple[str, str]]:
    import platform
    from importlib.metadata import version

    from nsightlens._version import __version__
    from nsightlens.ncurep.scanner import scanner_name

    libraries = [(name, version(name)) for name in ("numpy", "pyarrow")]
    python = f"{platform.python_version()} ({platform.system()} {platform.machine()})"
    scanner = ("scanner", scanner_name())
    return [("nsightlens", __version__), ("python", python), *libraries, scanner]


def run(args: argparse.Namespace) -> int:
    """Describe the reports."""
    found = find(args)
    check_output(args, found.paths)
    loaded = load(args, found)
    rows = [_row(part.sources[0], part) for part in loaded.parts]
    write_result(args, _pieces(args, loaded, rows))
    return loaded.finish()


def _pieces(args: argparse.Namespace, loaded: Any, rows: list[dict[str, Any]]) -> Iterable[str]:
    if chosen_format(args) == "json":
        from nsightlens.cli.source import source_of
        from nsightlens.render.envelope import envelope_pieces

        return envelope_pieces("nsightlens.info", source_of(loaded, {}), rows)
    from nsightlens.render.description import description_text

    style: Style = chosen_style(args)
    return ["\n".join(description_text(row, style) for row in rows)]


def _row(path: str, report: Report) -> dict[str, Any]:
    launches = report.launches
    sessions = report.sessions.to_pylist()
    return {
        "key": path,
        "report": path,
        "size_bytes": _size(path),
        "is_text": any(part.rounding for part in report.store.parts),
        **{name: _first(sessions, name) for name in ("ncu_version", "cuda_version",
           "driver_version", "clock_control", "cache_control", "replay_mode")},
        "created_at": _as_text(_first(sessions, "created_at")),
        **{name: _first(sessions, name) for name in ("command_line", "profiler_command_line")},
        "devices": _devices(launches, sessions),
        "processes": _distinct(sessions, ("process_id", "process_name")),
        "launch_count": len(report),
        "failed_launch_count": _true_count(launches["is_failed_collection"].to_pylist()),
        "duration_ns": _sum(launches["duration_ns"].to_pylist()),
        "launches_by_kind": _counts(launches["kind"].to_pylist()),
        "launches_by_family": _counts(_families(report)),
        "nvtx_domains": _distinct_texts(report.nvtx["domain"]),
        "metric_count": len(report.metric_names),
        "missing_columns": _missing_columns(report),
    }  # fmt: skip


def _size(path: str) -> int | None:
    import os

    try:
        return os.stat(path).st_size  # noqa: PTH116 - pathlib costs time
    except OSError:
        return None


def _first(sessions: Sequence[dict[str, Any]], name: str) -> Any:
    return next((s[name] for s in sessions if s[name] is not None), None)


def _as_text(value: Any) -> str | None:
    return None if value is None else value.isoformat()


def _devices(launches: Any, sessions: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    names = ("device_name", "compute_capability")
    pairs = dict.fromkeys(zip(*(launches[name].to_pylist() for name in names), strict=True))
    pairs.pop((None, None), None)
    if not pairs:
        # No launch says where it ran: the session still lists the GPUs of the machine.
        pairs = dict.fromkeys((name, None) for s in sessions for name in s["device_names"] or ())
    return [dict(zip(names, pair, strict=True)) for pair in pairs]


def _distinct(rows: Sequence[dict[str, Any]], names: Sequence[str]) -> list[dict[str, Any]]:
    found = dict.fromkeys(tuple(row[name] for name in names) for row in rows)
    return [dict(zip(names, values, strict=True)) for values in found]


def _true_count(values: Sequence[bool | None]) -> int:
    return sum(1 for value in values if value)


def _sum(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and value == value]  # noqa: PLR0124
    return sum(known) if known else None


def _counts(values: Sequence[str | None]) -> dict[str, int]:
    from collections import Counter

    return dict(Counter(value for value in values if value is not None).most_common())


def _distinct_texts(column: Any) -> list[str]:
    import pyarrow.compute as pc

    return list(pc.unique(column.drop_null()).to_pylist())


def _families(report: Report) -> list[str | None]:
    from nsightlens.kernels import parse_launch_kernels

    spellings = ("kernel_demangled_name", "kernel_name", "kernel_mangled_name")
    parsed = parse_launch_kernels(*(report.launches[name] for name in spellings))
    return list(parsed["family"].to_pylist())


def _missing_columns(report: Report) -> list[dict[str, Any]]:
    if not len(report):
        return []
    from nsightlens.metrics import coverage

    names = ("column", "unit", "missing_count", "is_countable", "sections", "metrics")
    rows = coverage(report).to_pylist()
    return [{name: row[name] for name in names} for row in rows if row["missing_count"]]
