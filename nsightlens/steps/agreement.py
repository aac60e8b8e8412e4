"""How far labels of steps with expected fields and what is read from them agree.

A list of expectations is a table of tab-separated columns: ``label``, ``is_step`` (0 or 1) and any
of ``phase`` (or ``expected_phase``), ``batch_size``, ``query_tokens``, ``kv_tokens``,
``step_index`` and ``engine``. An empty cell says that the label does not say it. An engine agrees
where the expected one begins with the one that was read; it is not counted with the other fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import ReportFormatError
from nsightlens.steps.label import read_spelled_label
from nsightlens.steps.model import STEP_PHASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nsightlens.steps.model import StepLabel

__all__ = ["COMPARED", "NUMBERS", "StepMeasure", "read_expectations", "step_measures"]

NUMBERS = ("batch_size", "query_tokens", "kv_tokens", "step_index")
"""Fields that are numbers: none may be read that is not expected."""

COMPARED = ("is_step", "phase", *NUMBERS)
"""Fields that a label is right in, or not."""

_SPELLED = {"expected_phase": "phase"}
_KNOWN = frozenset(["label", *COMPARED, "engine"])
_REMARKS = frozenset(["note", "version_or_commit"])
_PHASES = frozenset(["", *STEP_PHASES])


class StepMeasure(NamedTuple):
    """One figure of an agreement, or one label that is read otherwise than expected.

    Parameters
    ----------
    measure
        ``labels`` (right in every field), ``field`` (right in one field), ``wrong_number`` (a
        number was read that is not the expected one) or ``differs`` (any other difference).
    field
        The field; None for ``labels``.
    right_count, total_count
        For ``labels`` and ``field``: how many of how many.
    label, expected, read
        For ``wrong_number`` and ``differs``: the label and both values; None where it is empty.
    """

    measure: str
    field: str | None = None
    right_count: int | None = None
    total_count: int | None = None
    label: str | None = None
    expected: str | None = None
    read: str | None = None

    @property
    def right_pct(self) -> float | None:
        """[%] Share of what is right; None where there is nothing."""
        if self.right_count is None or not self.total_count:
            return None
        return 100.0 * self.right_count / self.total_count


def read_expectations(
    path: str, lines: Iterable[str], warn: Callable[[str], None] = lambda _: None
) -> Iterator[dict[str, str]]:
    """Yield the rows of a list of expectations.

    Parameters
    ----------
    path
        What the list is called in errors.
    lines
        Without their line ends, the heading first.
    warn
        Is told of columns that are not known and left aside.

    Raises
    ------
    ReportFormatError
        A column is missing or is there twice, a row has another number of cells, or a cell holds
        what its column cannot.
    """
    rows = iter(lines)
    header = [_SPELLED.get(name, name) for name in next(rows, "").split("\t")]
    _check_header(path, header)
    unknown = [name for name in header if name not in _KNOWN | _REMARKS]
    if unknown:
        warn(f"{path}: left aside: column {', '.join(map(repr, unknown))}.")
    for number, line in enumerate(rows, 2):
        if line:
            yield _row(path, number, header, line.split("\t"))


def _check_header(path: str, header: Sequence[str]) -> None:
    missing = [name for name in ("label", "is_step") if name not in header]
    if missing:
        raise ReportFormatError(
            path,
            f"has no column {' and no column '.join(missing)}",
            "A list of expectations begins with a line of tab-separated columns: label, is_step "
            f"and any of {', '.join([*COMPARED[1:], 'engine'])}.",
        )
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        advice = "Keep one of them."
        raise ReportFormatError(path, f"has two columns {twice!r}", advice, where=("line 1",))


def _row(path: str, number: int, header: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    where = (f"line {number}",)
    if len(cells) != len(header):
        problem = f"has {len(cells)} cells where the heading has {len(header)}"
        raise ReportFormatError(path, problem, "A label holds no tab.", where=where)
    row = dict(zip(header, cells, strict=True))
    for name, cell in row.items():
        if not _is_possible(name, cell):
            advice = f"Allowed are {_allowed(name)}."
            problem = f"{name} is {cell!r}, which it cannot be"
            raise ReportFormatError(path, problem, advice, where=where)
    return row


def _is_possible(name: str, cell: str) -> bool:
    if name in NUMBERS:
        return not cell or (cell.isascii() and cell.isdigit())
    return {"is_step": {"0", "1"}, "phase": _PHASES}.get(name, {cell}).__contains__(cell)


def _allowed(name: str) -> str:
    if name in NUMBERS:
        return "whole numbers and nothing"
    return "0 and 1" if name == "is_step" else ", ".join(filter(None, sorted(_PHASES)))


def step_measures(rows: Sequence[dict[str, str]]) -> list[StepMeasure]:
    """Read the labels of expectations and count where both agree.

    Parameters
    ----------
    rows
        As `read_expectations` gives them.

    Returns
    -------
    list of StepMeasure
        The share of labels that are right in every field, that of each field, every wrong number,
        and every other difference.
    """
    read = [_texts(read_spelled_label(row["label"])) for row in rows]
    fields = [name for name in COMPARED if rows and name in rows[0]]
    pairs = list(zip(rows, read, strict=True))
    right = sum(all(row[name] == found[name] for name in fields) for row, found in pairs)
    counts = [StepMeasure("labels", None, right, len(rows))]
    for name in fields:
        same = sum(row[name] == found[name] for row, found in pairs)
        counts.append(StepMeasure("field", name, same, len(rows)))
    if rows and "engine" in rows[0]:
        named = [(row["engine"], found["engine"]) for row, found in pairs if found["engine"]]
        same = sum(expected.startswith(engine) for expected, engine in named)
        counts.append(StepMeasure("field", "engine", same, len(named)))
    different = [
        StepMeasure(
            "wrong_number" if name in NUMBERS and found[name] else "differs",
            name,
            label=row["label"],
            expected=row[name] or None,
            read=found[name] or None,
        )
        for row, found in pairs
        for name in fields
        if row[name] != found[name]
    ]
    return counts + sorted(different, key=lambda one: one.measure != "wrong_number")


def _texts(label: StepLabel) -> dict[str, str]:
    """Return what was read as a list of expectations writes it."""
    fields = label._asdict()
    texts = {name: "" if value is None else str(value) for name, value in fields.items()}
    return {**texts, "is_step": str(int(label.is_step))}
