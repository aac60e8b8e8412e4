"""The answer of ``nsightlens sweep`` and ``nsightlens predict`` as text: the verdict, then why.

`sweep_text` puts the parts together: attention and GEMMs at each batch size (`sweep_table`), whole
steps (`sweep_steps`), what the batch size does to each family (`sweep_trends`), everything else in
a line per family (`sweep_others`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.render import columns, numbers
from nsightlens.render.grid import indented
from nsightlens.render.style import plain, shorten_middle
from nsightlens.render.sweep_notes import note_lines, notes_of
from nsightlens.render.sweep_others import families_table
from nsightlens.render.sweep_sections import sections_of
from nsightlens.render.sweep_steps import steps_table
from nsightlens.render.sweep_table import Shown, series_table
from nsightlens.render.sweep_trends import trend_sentence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nsightlens.render.facts import ReportFacts
    from nsightlens.render.style import Style
    from nsightlens.render.sweep_sections import Section
    from nsightlens.sweeps import Sweep

__all__ = [
    "EXPLANATIONS",
    "SweepView",
    "heading_parts",
    "large_batch_words",
    "sweep_text",
    "verdict_lines",
]

EXPLANATIONS = {
    "bandwidth_saturated_attention": "attention has used up the DRAM bandwidth",
    "compute_bound_plateau": "a compute-bound plateau",
    "mixed": "attention's bandwidth and the GEMMs' compute together",
    "undecided": "undecided",
}
"""What a word of `nsightlens.sweeps.Verdict.explanation` says of large batch sizes."""

_OTHERS_SHOWN = 16
_PHASES = {
    "decode": "decode",
    "prefill": "prefill",
    "mixed": "mixed prefill and decode",
    "capture": "graph capture",
    "": "phase not known",
}


class SweepView(NamedTuple):
    """What is shown, besides the style.

    Parameters
    ----------
    sweep
        The tables and the verdict.
    facts
        Of each report, in order; none where nothing was measured.
    heading
        What else stands in the heading, such as the name of a model.
    next_commands
        What a reader may want to run next, as (command, what it does).
    """

    sweep: Sweep
    facts: Sequence[ReportFacts] = ()
    heading: Sequence[str] = ()
    next_commands: Sequence[tuple[str, str]] = ()


def sweep_text(view: SweepView, style: Style) -> str:
    """Return the verdict, the tables behind it, and how to read them.

    Parameters
    ----------
    view
        What to show.
    style
        What the output can show. No line of a table is wider than ``style.width``.

    Returns
    -------
    str
        Lines, each with its line end.
    """
    sections = sections_of(view.sweep)
    parts = [list(_heading_lines(view, style)), verdict_lines(view.sweep, style)]
    shown = [_tables(section, style) for section in sections]
    for section, tables in zip(sections, shown, strict=True):
        if len(sections) > 1 or section.phase != "decode":
            parts.append(_section_heading(section, style))
        parts += _section_parts(section, tables, style)
    parts.append(note_lines(notes_of(view.sweep, sections, view.facts), style))
    parts.append(_legend_lines(view.sweep, shown, style))
    parts.append(_next_lines(view, style))
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _heading_lines(view: SweepView, style: Style) -> Iterator[str]:
    name, *rest = [plain(part) for part in heading_parts(view)]
    dot = f" {style.sign('·')} "
    tail = dot.join(rest)
    line = f"{name}{dot}{tail}"
    if len(line) <= style.width:
        yield style.paint(name, "head") + dot + tail
        return
    yield style.paint(shorten_middle(name, style.width, style.sign("…")), "head")
    yield from indented(tail, style, 2)


def heading_parts(view: SweepView) -> list[str]:
    """Return what a sweep is of: reports or a model, GPUs, launches, batch sizes.

    Parameters
    ----------
    view
        What to show.
    """
    rows = view.sweep.rows.select(
        ["origin", "device_name", "launch_count", "duration_ns", "batch_size"]
    ).to_pydict()
    is_analytic = _is_analytic(view.sweep)
    parts = [*_reports(view.facts), *view.heading]
    if is_analytic:
        parts.insert(0, "analytic, nothing was measured")
    gpus = dict.fromkeys(columns.gpu_words(name) for name in rows["device_name"] if name)
    names = ", ".join(gpus) or "GPU not stated"
    parts.append(names if len(gpus) <= 3 else f"{len(gpus)} kinds of GPUs")
    if not is_analytic:
        count = sum(rows["launch_count"])
        parts.append(numbers.counted(count, "launch", "launches") if count else "no launches")
        known = [value for value in rows["duration_ns"] if value is not None]
        parts += [numbers.duration(sum(known))] if known else []
    batches = sorted({batch for batch in rows["batch_size"] if batch is not None})
    return [*parts, *([_batches(batches)] if batches else [])]


def _reports(facts: Sequence[ReportFacts]) -> list[str]:
    if len(facts) > 1:
        return [numbers.counted(len(facts), "report")]
    return [fact.report for fact in facts]


def _batches(batches: Sequence[int]) -> str:
    if len(batches) == 1:
        return f"batch {batches[0]}"
    return f"batch {batches[0]} to {batches[-1]}"


def _is_analytic(sweep: Sweep) -> bool:
    return "analytic" in sweep.rows["origin"].to_pylist()


def verdict_lines(sweep: Sweep, style: Style) -> list[str]:
    """Return what limits decode: a few words, then the paragraph.

    Parameters
    ----------
    sweep
        The sweep.
    style
        What the output can show.
    """
    explanation, paragraph = sweep.verdict
    words = EXPLANATIONS[explanation]
    head = f"{large_batch_words(sweep)}: {words}"
    lines = indented(head, style, 2, "") if explanation != "undecided" else []
    return [
        *(style.paint(line, "head") for line in lines),
        *indented(plain(paragraph), style, 2 if lines else 0),
    ]


def large_batch_words(sweep: Sweep) -> str:
    """Say what the few words of the verdict are of: batch sizes that fit, where two do.

    Parameters
    ----------
    sweep
        The sweep.
    """
    fits = {
        row["batch_size"]: row["fits_in_memory"]
        for row in sweep.steps.to_pylist()
        if row["phase"] == "decode" and row["batch_size"] is not None
    }
    if False not in fits.values() or sum(fit is not False for fit in fits.values()) > 1:
        return "At large batch"
    return f"At batch {max(fits)}, which does not fit in memory"


class _Tables(NamedTuple):
    families: Shown
    steps: Shown
    others: Shown


def _tables(section: Section, style: Style) -> _Tables:
    nothing = Shown([], {}, [])
    return _Tables(
        series_table(section.main, style),
        steps_table(section.steps, style) if section.steps else nothing,
        families_table(
            section.others[:_OTHERS_SHOWN],
            style,
            with_batch=any(one.batches for one in (*section.main, *section.others)),
        )
        if section.others
        else nothing,
    )


def _section_parts(section: Section, tables: _Tables, style: Style) -> list[list[str]]:
    head = style.paint("whole steps", "head")
    return [
        tables.families.lines,
        [head, *tables.steps.lines] if tables.steps.lines else [],
        _trend_lines(section, style),
        _others_lines(section, tables.others, style) if tables.others.lines else [],
    ]


def _section_heading(section: Section, style: Style) -> list[str]:
    words = _PHASES.get(section.phase, section.phase)
    line = f"{words} on {section.device}" if section.device != numbers.MISSING else words
    return [style.paint(plain(line), "head")]


def _trend_lines(section: Section, style: Style) -> list[str]:
    lines = []
    for series, trend in zip(section.main, section.trends, strict=True):
        if trend is not None and len(series.rows) > 1:
            sentence = f"{series.title}: {trend_sentence(trend, series, style)}."
            lines += indented(plain(sentence), style, 2, "- ")
    return [style.paint("along the batch size", "head"), *lines] if lines else []


def _others_lines(section: Section, others: Shown, style: Style) -> list[str]:
    lines = [style.paint("everything else", "head")] if section.main else []
    lines += others.lines
    rest = section.others[_OTHERS_SHOWN:]
    if rest:
        time = numbers.duration(sum(one.duration_ns for one in rest))
        more = f"... and {len(rest)} more in {time}: -f csv has all"
        lines.append(style.paint(more, "dim"))
    return lines


def _legend_lines(sweep: Sweep, shown: Sequence[_Tables], style: Style) -> list[str]:
    legend: dict[str, str] = {}
    for tables in shown:
        for table in tables:
            legend.update(table.legend)
    if "time" in legend and _is_analytic(sweep):
        legend["time"] = "roofline time: what the work takes at the peaks of the GPU"
    regimes = set(sweep.rows["regime"].to_pylist())
    legend |= {name: text for name, text in columns.REGIMES.items() if name in regimes}
    if left_out := _left_out(shown):
        legend["not shown"] = f"{left_out}, for want of width (see --width)"
    # A long word stands on a line of its own where the rest would have too little room.
    indent = min(max(map(len, legend), default=0) + 2, style.width // 2)
    lines: list[str] = []
    for word, text in legend.items():
        fits = len(word) + 2 <= indent
        lines += indented(text, style, indent, word) if fits else [word]
        lines += [] if fits else indented(text, style, indent)
    return [style.paint(line, "dim") for line in lines]


def _left_out(shown: Sequence[_Tables]) -> str:
    """Name the columns that did not fit, by the part in which they are missing."""
    found = []
    for name, words in (("families", ""), ("steps", "of whole steps "), ("others", "of the rest ")):
        headers = dict.fromkeys(h for tables in shown for h in getattr(tables, name).left_out)
        if headers:
            found.append(f"{words}{', '.join(headers)}")
    return "; ".join(found)


def _next_lines(view: SweepView, style: Style) -> list[str]:
    commands = [(plain(command), purpose) for command, purpose in view.next_commands]
    width = max((len(command) for command, _ in commands), default=0)
    lines: list[str] = []
    for command, purpose in commands:
        head = "      " if lines else "next: "
        line = f"{head}{command:<{width}}  # {purpose}"
        # A command is never broken: it is there to be copied.
        lines.append(line if len(line) <= style.width else f"{head}{command}")
    return lines
