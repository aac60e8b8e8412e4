"""The answer of ``nsightlens explain``: one launch on one screen, as text or Markdown.

Takes an `nsightlens.analysis.Explanation` and returns a string. The facts at its head are those of
`nsightlens.render.launch_facts`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.render import numbers
from nsightlens.render.bars import bar
from nsightlens.render.grid import indented, wrap
from nsightlens.render.launch_facts import identity_facts, measured_facts
from nsightlens.render.markdown import code, escaped
from nsightlens.render.style import cell_width, plain, shorten_middle
from nsightlens.tables import FLOP_COUNT_COLUMNS
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nsightlens.analysis.explanation import Explanation, Stall
    from nsightlens.analysis.lacking import Lack
    from nsightlens.render.style import Style

__all__ = ["ExplanationView", "explanation_markdown", "explanation_text"]

_LABEL_WIDTH = 10
_BAR_WIDTH = 20
_WIDE = 90
"""[character] Below this width, bars are half as long: the arithmetic stands beside them."""
_ROOFS_SHOWN = 6
_STALLS_SHOWN = 3
_STALL_LEAST_PCT = 5.0
"""[%] A smaller share of warp latency explains nothing."""
_LACKS_SHOWN = 3
_NAME_LINES = 2
"""Lines that the full name of a kernel may take: a C++ name may have thousands of characters."""


class ExplanationView(NamedTuple):
    """What is shown, besides the style.

    Parameters
    ----------
    explanation
        The launch.
    full_names
        Show the whole name of the kernel, however long.
    named_device
        The product whose peaks were taken in place of the report's GPU; "" for none.
    """

    explanation: Explanation
    full_names: bool = False
    named_device: str = ""


def explanation_text(view: ExplanationView, style: Style) -> str:
    """Return the page about one launch.

    Parameters
    ----------
    view
        What to show.
    style
        What the output can show. No line is wider than ``style.width``.

    Returns
    -------
    str
        Lines, each with its line end.
    """
    one = view.explanation
    parts = [
        [*_title_lines(view, style), *_fact_lines(_identity(view), style)],
        _verdict_lines(one, style),
        _section("numbers", _fact_lines(measured_facts(one), style), style),
        _roof_lines(one, style),
        _section("step by step", list(_step_lines(one, style)), style),
        _stall_lines(one, style),
        _section("worth trying", list(_advice_lines(one, style)), style),
        _lack_lines(one, style),
        _section("to have peaks", indented(_peaks_wanted(one), style, 2), style),
    ]
    return "\n\n".join("\n".join(lines) for lines in parts if lines) + "\n"


def _section(title: str, lines: Sequence[str], style: Style) -> list[str]:
    return [style.paint(title, "head"), *lines] if lines else []


def _heading(title: str, about: str, style: Style) -> str:
    has_room = len(title) + 2 + len(about) <= style.width
    return style.paint(title, "head") + (f"  {about}" if has_room else "")


def subject(one: Explanation) -> str:
    """Return what was profiled: the kernel, or the kind of the result in brackets."""
    return plain(one.label["kernel"] or f"({one.launch['kind'] or 'kernel'} without a name)")


def _title_lines(view: ExplanationView, style: Style) -> Iterator[str]:
    one = view.explanation
    short = shorten_middle(subject(one), style.width, style.sign("…"))
    yield style.paint(short, "head")
    name = plain(one.launch["kernel_demangled_name"] or "")
    if name in ("", one.label["kernel"]):
        return
    room = style.width - 2
    if not view.full_names:
        name = shorten_middle(name, room * _NAME_LINES - 8, style.sign("…"))
    yield from ("  " + line for line in wrap(name, room, breaks_words=True))


def _fact_lines(pairs: Sequence[tuple[str, str]], style: Style) -> list[str]:
    lines: list[str] = []
    for label, text in pairs:
        head = f"  {label}"
        lines += indented(
            plain(text), style, 2 + _LABEL_WIDTH, head.ljust(2 + _LABEL_WIDTH), breaks_words=True
        )
    return lines


def verdict(one: Explanation) -> str:
    """Return the label in a line."""
    label = one.label
    if label["failed_launch_count"]:
        return "unknown: the collection failed"
    if label["bound"] == "unknown":
        return "unknown"
    regime = {"small_grid": "small grid", "unknown": ""}.get(label["regime"], label["regime"])
    words = [f"{label['bound']}-bound", regime]
    return ", ".join(word for word in words if word)


def _verdict_lines(one: Explanation, style: Style) -> list[str]:
    # The first line is the answer; the reason repeats it with its numbers.
    lines = [style.paint(verdict(one), one.label["bound"])]
    return lines + indented(plain(_reason(one)), style, 2)


def _reason(one: Explanation) -> str:
    """Return the reason without what the first line and the steps say."""
    reason = one.label["reason"] or ""
    if one.label["bound"] == "unknown":
        return reason[:1].upper() + reason[1:]
    head, _, rest = reason.partition(": ")
    said = rest if head.startswith(one.label["bound"]) else reason
    dropped = ("confidence ", "intensity ", "NVIDIA's rule", "at the boost clock")
    kept = [clause for clause in said.split("; ") if not clause.startswith(dropped)]
    return "; ".join(kept)


def _roof_lines(one: Explanation, style: Style) -> list[str]:
    used = [row for row in one.resources if row["fraction_of_peak"]]
    if not used:
        return []
    # The busiest, and those whose work was counted: the classical roofline compares these.
    shown = [row for i, row in enumerate(used) if i < _ROOFS_SHOWN or _is_counted(row)]
    about = "share of the time that each alone needs; > marks the limiter"
    lines = [_heading("roofs", about, style)]
    lines += [_roof_line(row, one.label["limiter"], style) for row in shown]
    hidden = [row for row in used if row not in shown]
    if hidden:
        most = _of_peak(hidden[0]["fraction_of_peak"])
        lines.append(style.paint(f"  and {len(hidden)} more, none above {most}", "dim"))
    return lines


def _roof_line(row: dict[str, Any], limiter: str | None, style: Style) -> str:
    fraction = row["fraction_of_peak"]
    size = _BAR_WIDTH if style.width >= _WIDE else _BAR_WIDTH // 2
    drawn = bar(fraction, size, unicode=style.unicode)
    mark = ">" if row["resource"] == limiter else " "
    name = shorten_middle(row["resource"], 12, "")
    head = f"{mark} {name:<12} {style.paint(drawn, row['side'])} {_of_peak(fraction):>6}"
    room = style.width - (2 + 12 + 1 + size + 1 + 6) - 2
    quotient, time, source = _about_roof(row)
    tellings = (
        f"{quotient}{time} ({source})" if source else f"{quotient}{time}",
        f"{quotient}{time}",
        time,
        "",
    )
    about = next(text for text in tellings if cell_width(text) <= max(room, 0))
    return f"{head}  {about}".rstrip()


def _of_peak(fraction: float | None) -> str:
    if fraction is None:
        return numbers.MISSING
    return f"{numbers.percent(100 * fraction)} %"


def _is_counted(row: dict[str, Any]) -> bool:
    return row["measured_by"] == "counter" and bool(row["work"]) and bool(row["peak_per_s"])


def _about_roof(row: dict[str, Any]) -> tuple[str, str, str]:
    """Return the quotient of work and peak, the time that it gives, and where the peak is from."""
    time = format_quantity(row["roofline_time_ns"], "ns")
    if not _is_counted(row):
        return "", f"active {time}", ""
    unit = row["work_unit"] or ""
    work = format_quantity(row["work"], unit)
    peak = format_quantity(row["peak_per_s"], f"{unit}/s")
    return f"{work} / {peak} = ", time, (row["peak_source"] or "").replace("_", " ")


def _step_lines(one: Explanation, style: Style) -> Iterator[str]:
    # Where a time comes from stands beside its bar.
    for step in (step for step in one.steps if step.name != "time"):
        text = step.text.replace(" -> ", f" {style.sign('→')} ")
        yield from indented(plain(text), style, 4, "  - ")


def _stall_lines(one: Explanation, style: Style) -> list[str]:
    if not one.stalls:
        return []
    lines = [_heading("warps wait for", "share of warp latency", style)]
    for stall in _shown_stalls(one):
        share = numbers.percent(stall.share_pct)
        lines += indented(f"{stall.reason} {share} %: {stall.meaning}", style, 4, "  - ")
    return lines


def _shown_stalls(one: Explanation) -> list[Stall]:
    """Return the largest, without those that are small; the largest of all whatever it is."""
    first = one.stalls[:1]
    others = [stall for stall in one.stalls[1:_STALLS_SHOWN] if stall.share_pct >= _STALL_LEAST_PCT]
    return [*first, *others]


def _advice_lines(one: Explanation, style: Style) -> Iterator[str]:
    for text in _advice(one):
        yield from indented(text, style, 4, "  - ")


def _advice(one: Explanation) -> list[str]:
    """Return each piece of advice, or why there is none where a label would make one expected."""
    if one.advice or one.label["bound"] == "unknown":
        return [_sentence(advice.text) for advice in one.advice]
    return [_no_advice(one)]


def _no_advice(one: Explanation) -> str:
    busiest, occupancy = one.label["limiter_fraction"], one.launch["achieved_occupancy_pct"]
    known = [f"the busiest resource is at {_of_peak(busiest)}"] if busiest is not None else []
    known += [f"occupancy at {numbers.percent(occupancy)} %"] if occupancy is not None else []
    text = "The numbers of this launch point to nothing in particular"
    if known:
        text += f": {' and '.join(known)}"
    return text if one.stalls else f"{text}; what warps wait for was not collected"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _lack_lines(one: Explanation, style: Style) -> list[str]:
    if one.label["failed_launch_count"]:
        text = (
            "Profile again and let ncu run to its end: it replays each launch several times, and "
            "was stopped before it had done so for this one."
        )
        return _section("to have an answer", indented(text, style, 2), style)
    lacks = [lack for lack in one.lacks if lack.is_countable][:_LACKS_SHOWN]
    if not lacks:
        return []
    lines: list[str] = []
    for lack in lacks:
        lines += indented(lack.purpose, style, 2)
        lines += _command_lines(lack, style)
    return _section("to be surer, collect again with", lines, style)


def _identity(view: ExplanationView) -> list[tuple[str, str]]:
    found = identity_facts(view.explanation)
    if not view.named_device:
        return found
    place = [label for label, _ in found].index("GPU") + 1
    return [*found[:place], ("peaks", f"of {view.named_device}, as named"), *found[place:]]


def _peaks_wanted(one: Explanation) -> str:
    """Say how to name the GPU, where work was counted and no peak is known to hold it against."""
    launch = one.launch
    has_work = bool(launch["dram_bytes"] or any(launch[name] for name in FLOP_COUNT_COLUMNS))
    if launch["device_name"] is not None or one.label["peak_source"] is not None or not has_work:
        return ""
    return (
        "The report does not name its GPU, whose peaks are needed: add --device NAME (nsightlens "
        "devices lists them), or --peaks FILE with measured ones."
    )


def _command_lines(lack: Lack, style: Style) -> Iterator[str]:
    """Yield options that can be copied whole: a line that goes on ends in a backslash."""
    options = [f" --section {section}" for section in lack.sections]
    pad = " " * 7
    line = "    ncu"
    for option in options:
        # Where an option does not fit in a line of its own, its value stands in the next.
        is_long = len(pad) + len(option) + 2 > style.width
        for word in option.replace(" ", "\n ").split("\n")[1:] if is_long else [option]:
            if len(line) + len(word) + 2 > style.width and line.strip():
                yield f"{line} \\"
                line = pad if len(pad) + len(word) + 2 <= style.width else ""
            line += word if line else word.lstrip()
    yield line


def explanation_markdown(view: ExplanationView) -> str:
    """Return the page about one launch as Markdown."""
    one = view.explanation
    lines = [f"# {code(subject(one))}", ""]
    name = one.launch["kernel_demangled_name"]
    if name and name != one.label["kernel"]:
        lines += [code(name), ""]
    lines += _markdown_facts([*_identity(view), *measured_facts(one)])
    lines += ["", f"**{escaped(verdict(one))}** {escaped(_reason(one))}", ""]
    if one.resources:
        lines += ["| resource | of peak | work / peak | peak from |", "| --- | ---: | --- | --- |"]
        lines += [_markdown_roof(row, one.label["limiter"]) for row in one.resources]
        lines.append("")
    lines += _markdown_list("Step by step", [step.text for step in one.steps])
    stalls = [
        f"`{stall.reason}` {numbers.percent(stall.share_pct)} %: {escaped(stall.meaning)}"
        for stall in _shown_stalls(one)
    ]
    lines += _markdown_list("Warps wait for", stalls, is_markdown=True)
    lines += _markdown_list("Worth trying", _advice(one))
    lacks = [
        f"{lack.purpose}: `ncu {' '.join(f'--section {name}' for name in lack.sections)}`"
        for lack in one.lacks
        if lack.is_countable
    ]
    lines += _markdown_list("To be surer, collect again", lacks, is_markdown=True)
    wanted = _peaks_wanted(one)
    lines += _markdown_list("To have peaks", [wanted] if wanted else [])
    return "\n".join(lines).rstrip() + "\n"


def _markdown_facts(pairs: Sequence[tuple[str, str]]) -> list[str]:
    rows = [f"| {escaped(label)} | {escaped(text)} |" for label, text in pairs]
    return ["| | |", "| --- | --- |", *rows]


def _markdown_roof(row: dict[str, Any], limiter: str | None) -> str:
    mark = " (limiter)" if row["resource"] == limiter else ""
    quotient, time, source = _about_roof(row)
    cells = (
        f"`{row['resource']}`{mark}",
        _of_peak(row["fraction_of_peak"]),
        quotient + time,
        source,
    )
    return f"| {' | '.join(cells)} |"


def _markdown_list(title: str, items: Sequence[str], *, is_markdown: bool = False) -> list[str]:
    if not items:
        return []
    shown = items if is_markdown else [escaped(item) for item in items]
    return [f"## {title}", "", *(f"- {item}" for item in shown), ""]
