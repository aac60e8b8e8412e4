"""The answer of ``nsightlens compare`` as text: the verdict, what was compared, row by row.

Takes tables and returns a string (`comparison_text`, `comparison_markdown`); the layout is that of
`nsightlens.render.grid`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.render import numbers
from nsightlens.render.columns import family_words, gpu_words
from nsightlens.render.comparison_families import family_lines, left_out_words
from nsightlens.render.comparison_names import ARROW, kernel_column
from nsightlens.render.comparison_notes import comparison_notes, incomparable_notes, signed
from nsightlens.render.grid import GridColumn, arrange, indented
from nsightlens.render.markdown import escaped, markdown_table
from nsightlens.render.style import plain, shorten_middle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow as pa

    from nsightlens.render.facts import ReportFacts
    from nsightlens.render.style import Style

__all__ = ["ComparisonView", "comparison_markdown", "comparison_text"]

_SIDES = ("base", "new")
_STYLES = {"improved": "memory", "regressed": "unknown"}
_PATHS_SHOWN = 3

_LEGEND = {
    "noise %": "largest increase of the duration that noise explains",
    "DRAM B %": "change of the bytes read from and written to DRAM",
    "FLOP %": "change of the operations executed",
    "matched by": "what both sides have in common, where it is not the launch itself",
}


class ComparisonView(NamedTuple):
    """What is shown, besides the style.

    Parameters
    ----------
    rows
        Rows to show, in order.
    every
        All rows, of which `rows` are some.
    matching_count
        How many of them have a verdict that was asked for.
    families
        Sums of each family.
    headline
        The answer in one sentence.
    by
        What a row is.
    sides
        Facts of the reports of base and new.
    full_names
        Show names with their template arguments whole.
    warnings
        What was noticed while reading.
    next_commands
        What a reader may want to run next, as (command, what it does).
    """

    rows: pa.Table
    every: pa.Table
    matching_count: int
    families: pa.Table
    headline: str
    by: str
    sides: Sequence[Sequence[ReportFacts]]
    full_names: bool = False
    warnings: Sequence[str] = ()
    next_commands: Sequence[tuple[str, str]] = ()


def comparison_text(view: ComparisonView, style: Style) -> str:
    """Return the verdict, what was compared, the rows and what to know of them.

    Parameters
    ----------
    view
        What to show.
    style
        What the output can show. No line of the table is wider than ``style.width``.
    """
    parts = [
        [style.paint(line, "head") for line in indented(plain(view.headline), style, 0)],
        list(_side_lines(view, style)),
        _table_lines(view, style),
        family_lines(view.families, style),
        [
            line
            for text in incomparable_notes(view.every)
            for line in indented(plain(text), style, 2)
        ],
        [line for note in _notes(view) for line in indented(plain(note), style, 6, "note: ")],
        _legend_lines(view, style),
        [_next_line(plain(command), purpose, style) for command, purpose in view.next_commands],
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _next_line(command: str, purpose: str, style: Style) -> str:
    # A command is never broken: it is there to be copied.
    line = f"next: {command}  # {purpose}"
    return line if len(line) <= style.width else f"next: {command}"


def comparison_markdown(view: ComparisonView) -> str:
    """Return the verdict, what was compared and the rows as Markdown."""
    lines = [f"**{escaped(view.headline)}**", ""]
    for name, facts in zip(_SIDES, view.sides, strict=True):
        lines.append(f"- {name}: {escaped(_side_words(facts))}")
    table = markdown_table(_columns(view), code_columns=("kernel",))
    said = [*_hidden_words(view), *incomparable_notes(view.every), *_notes(view)]
    notes = [f"- {escaped(note)}" for note in said]
    return "\n".join([*lines, "", table, *notes]).rstrip() + "\n"


def _notes(view: ComparisonView) -> list[str]:
    return [*view.warnings, *comparison_notes(view.every, view.by)]


def _hidden_words(view: ComparisonView) -> list[str]:
    """Say how many rows are not shown, of those that were asked for."""
    if not view.matching_count:
        return ["no row has the verdict that was asked for"] if view.every.num_rows else []
    hidden = view.matching_count - view.rows.num_rows
    more = f"... and {numbers.counted(hidden, 'row')} more (--limit {view.matching_count})"
    return [more] if hidden else []


def _side_lines(view: ComparisonView, style: Style) -> Iterator[str]:
    for name, facts in zip(_SIDES, view.sides, strict=True):
        words = plain(_side_words(facts))
        room = style.width - 6
        yield f"{name:<4}  {shorten_middle(words, room, style.sign('…'))}"


def _side_words(facts: Sequence[ReportFacts]) -> str:
    """Return the reports of a side with their GPUs, version of ncu and clocks."""
    paths = [fact.report for fact in facts]
    said = ", ".join(paths[:_PATHS_SHOWN])
    if len(paths) > _PATHS_SHOWN:
        said += f" and {len(paths) - _PATHS_SHOWN} more"
    gpus = list(dict.fromkeys(gpu_words(name) for fact in facts for name in fact.device_names))
    versions = sorted({fact.ncu_version for fact in facts if fact.ncu_version})
    clocks = sorted({fact.clock_control for fact in facts if fact.clock_control})
    tail = [
        ", ".join(gpus) or "GPU not stated",
        *(f"ncu {version}" for version in versions),
        *(f"clocks {one}" for one in clocks),
    ]
    return f"{said} ({'; '.join(tail)})"


def _columns(view: ComparisonView) -> list[GridColumn]:
    rows = view.rows.to_pydict()
    of_launches = view.by != "family"
    family = [family_words(*pair) for pair in zip(rows["family"], rows["subtype"], strict=True)]
    found = [
        GridColumn("verdict", [one.replace("_", " ") for one in rows["verdict"]], 1000,
                   styles=[_STYLES.get(one) for one in rows["verdict"]]),
    ]  # fmt: skip
    if of_launches:
        found.append(kernel_column(rows, is_whole=view.full_names))
    found.append(
        GridColumn("family", family, 60 if of_launches else 1000, comfortable=11, cut="end")
    )
    noise = [numbers.percent(x) for x in rows["duration_noise_pct"]]
    found += [
        GridColumn("phase", [one or numbers.MISSING for one in rows["phase"]], 30),
        GridColumn("batch", [_whole(one) for one in rows["batch_size"]], 70, "right"),
        GridColumn("launches", _launch_counts(rows), 850, "right"),
        GridColumn("base", [numbers.duration(x) for x in rows["base_duration_ns"]], 900, "right"),
        GridColumn("new", [numbers.duration(x) for x in rows["new_duration_ns"]], 900, "right"),
        GridColumn("change\n%", [signed(x) for x in rows["duration_change_pct"]], 950, "right"),
        GridColumn("noise\n%", noise, 90, "right"),
        GridColumn("DRAM B\n%", [signed(x) for x in rows["dram_bytes_change_pct"]], 55, "right"),
        GridColumn("FLOP\n%", [signed(x) for x in rows["flop_count_change_pct"]], 45, "right"),
        GridColumn("bound", _spans(rows, "bound"), 80),
        GridColumn("regime", _spans(rows, "regime"), 50),
        GridColumn("matched by", [one or numbers.MISSING for one in rows["matched_by"]], 75),
    ]  # fmt: skip
    return [column for column in found if _says_something(column, view.by)]


def _says_something(column: GridColumn, by: str) -> bool:
    cells = set(column.cells)
    if column.header in ("phase", "batch", "DRAM B\n%", "FLOP\n%"):
        return bool(cells - {numbers.MISSING})
    if column.header == "launches":
        return by != "launch"
    if column.header == "matched by":
        return bool(cells - {numbers.MISSING, by})
    return True


def _spans(rows: Mapping[str, Sequence[Any]], name: str) -> list[str]:
    """Return a word of both sides, once where they agree."""
    pairs = zip(rows[f"base_{name}"], rows[f"new_{name}"], strict=True)
    return [ARROW.join(dict.fromkeys(filter(None, pair))) or numbers.MISSING for pair in pairs]


def _launch_counts(rows: Mapping[str, Sequence[Any]]) -> list[str]:
    """Return how many launches each row has, of both sides where they differ."""
    pairs = zip(rows["base_launch_count"], rows["new_launch_count"], strict=True)
    texts = [[f"{one:g}" for one in pair if one is not None] for pair in pairs]
    return [ARROW.join(dict.fromkeys(pair)) for pair in texts]


def _whole(value: int | None) -> str:
    return numbers.MISSING if value is None else str(value)


def _table_lines(view: ComparisonView, style: Style) -> list[str]:
    count = view.rows.num_rows
    lines = []
    if count:
        layout = arrange(_columns(view), style.width)
        lines = [*layout.header(style), *(layout.row(i, style) for i in range(count))]
    return [*lines, *(style.paint(line, "dim") for line in _hidden_words(view))]


def _legend_lines(view: ComparisonView, style: Style) -> list[str]:
    if not view.rows.num_rows:
        return []
    layout = arrange(_columns(view), style.width)
    headers = [" ".join(column.header.split()) for column in layout.columns]
    words = [(header, _LEGEND[header]) for header in headers if header in _LEGEND]
    if layout.left_out:
        words.append(("not shown", left_out_words(layout)))
    indent = max((len(word) for word, _ in words), default=0) + 2
    lines = [line for word, text in words for line in indented(text, style, indent, word)]
    return [style.paint(line, "dim") for line in lines]
