"""The answer of ``nsightlens info`` as text: what a report holds and what it lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.render import facts, numbers
from nsightlens.render.grid import indented, wrap
from nsightlens.render.style import plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from nsightlens.render.style import Style

__all__ = ["description_text"]

_LABEL_WIDTH = 12


def description_text(row: Mapping[str, Any], style: Style) -> str:
    """Return what there is to say about one report.

    Parameters
    ----------
    row
        A row of the schema ``nsightlens.info``; see `nsightlens.render.json_schema`.
    style
        What the output can show.
    """
    path = wrap(plain(row["report"]), style.width, breaks_words=True)
    lines = [style.paint(line, "head") for line in path]
    for label, text in _facts(row):
        indent = 2 + _LABEL_WIDTH
        lines += indented(plain(text), style, indent, f"  {label}", breaks_words=True)
    lines += _missing_lines(row, style)
    return "\n".join(lines) + "\n"


def _facts(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if row["size_bytes"] is not None:
        yield "size", numbers.byte_count(row["size_bytes"])
    yield "collected", _collected(row)
    yield "GPU", ", ".join(_device(device) for device in row["devices"]) or "not stated"
    if row["launch_count"] and not all(device["device_name"] for device in row["devices"]):
        yield "peaks", "need the name of the GPU: classify and explain take --device NAME"
    yield "clocks", _clocks(row["clock_control"])
    yield "replay", row["replay_mode"] or "not stated"
    for process in row["processes"]:
        yield "process", _process(process)
    if row["command_line"]:
        yield "program", row["command_line"]
    if row["profiler_command_line"]:
        yield "ncu", row["profiler_command_line"]
    yield "launches", _launches(row)
    if row["launches_by_family"]:
        yield "families", _counts(row["launches_by_family"])
    yield "NVTX", ", ".join(row["nvtx_domains"]) or "no range was open at any launch"
    yield "metrics", numbers.counted(row["metric_count"], "name")


def _collected(row: Mapping[str, Any]) -> str:
    version = facts.short_version(row["ncu_version"])
    parts = [f"by ncu {version}" if version else "by an unstated version of ncu"]
    if row["created_at"]:
        parts.append(f"on {row['created_at'].replace('T', ' ').replace('+00:00', ' UTC')}")
    if row["driver_version"]:
        parts.append(f"driver {row['driver_version']}")
    if row["cuda_version"]:
        parts.append(f"CUDA {row['cuda_version']}")
    return ", ".join(parts)


def _device(device: Mapping[str, Any]) -> str:
    name = device["device_name"] or "unnamed"
    capability = device["compute_capability"]
    return f"{name} (compute capability {capability})" if capability else name


def _clocks(clock_control: str | None) -> str:
    if clock_control is None:
        return "not stated (ncu locks them to base unless told otherwise)"
    if facts.is_locked(clock_control):
        return (
            f"{clock_control}: ncu held the SM clock, by default at its base frequency, so "
            "durations are longer than in production"
        )
    return clock_control


def _process(process: Mapping[str, Any]) -> str:
    name = process["process_name"] or "unnamed"
    return name if process["process_id"] is None else f"{name} (id {process['process_id']})"


def _launches(row: Mapping[str, Any]) -> str:
    if not row["launch_count"]:
        return "none: ncu profiled nothing"
    parts = [_kinds(row["launches_by_kind"])]
    if row["duration_ns"] is not None:
        parts.append(f"{numbers.duration(row['duration_ns'])} in all")
    if row["failed_launch_count"]:
        parts.append(f"{row['failed_launch_count']} failed to be collected")
    return ", ".join(parts)


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(numbers.counted(n, *_KINDS.get(kind, (kind,))) for kind, n in counts.items())


_KINDS = {
    "kernel": ("kernel launch", "kernel launches"),
    "cmdlist": ("command list", "command lists"),
}
"""One and many results of a kind, where it is not the word and its s."""


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in counts.items())


def _missing_lines(row: Mapping[str, Any], style: Style) -> list[str]:
    if not row["launch_count"]:
        return []
    if row["failed_launch_count"] == row["launch_count"]:
        text = (
            "No launch was collected: ncu was stopped before it had replayed the kernel often "
            "enough. Profile again, and let it run to its end."
        )
        return ["", *indented(text, style, 2)]
    missing = [column for column in row["missing_columns"] if column["is_countable"]]
    uncountable = [c["column"] for c in row["missing_columns"] if not c["is_countable"]]
    lines = _fillable_lines(missing, row, style) if missing else []
    if uncountable:
        text = f"This GPU has no counter for {', '.join(uncountable)}."
        lines += ["", *indented(text, style, 2)]
    filled = "Every measured column of the table launches is filled."
    return lines or ["", *indented(filled, style, 2)]


_BY_ITSELF = (
    "no section adds (ncu stores it by itself with every kernel launch, recent versions more than "
    "old ones; ranges, graphs and command lists have none of it)"
)
_NOT_PRINTED = (
    "this text does not print (give the .ncu-rep file itself, or print it again with --page raw "
    "--print-units base)"
)


def _fillable_lines(
    missing: Sequence[Mapping[str, Any]], row: Mapping[str, Any], style: Style
) -> list[str]:
    """Return the columns that could be filled, by the section that fills them."""
    total = row["launch_count"]
    by_section: dict[str, list[str]] = {}
    for column in missing:
        section = column["sections"][0] if column["sections"] else ""
        count = column["missing_count"]
        note = "" if count == total else f" ({count})"
        by_section.setdefault(section, []).append(column["column"] + note)
    is_partial = any(column["missing_count"] < total for column in missing)
    about = f" (in brackets: launches without a value, of {total})" if is_partial else ""
    lines = ["", "  " + style.paint("cannot fill", "head") + about]
    by_itself = by_section.pop("", [])
    for section, names in by_section.items():
        lines.append(f"    ncu --section {section} adds")
        lines += indented(", ".join(names), style, 8)
    if by_itself:
        lines += indented(_NOT_PRINTED if row["is_text"] else _BY_ITSELF, style, 4)
        lines += indented(", ".join(by_itself), style, 8)
    metrics = dict.fromkeys(name for column in missing for name in column["metrics"])
    if metrics:
        lines += ["", *indented("or, with fewer replays of each launch:", style, 2)]
        lines.append(f"    ncu --metrics {','.join(metrics)}")
    return lines
