r"""How far labels given by hand and what is read from the names agree.

A labelled list is a table of tab-separated columns: ``name``, ``family`` and any of the further
fields. Tabs, newlines and backslashes inside a name are written ``\t``, ``\n`` and ``\\``, and
there are no quotes. Rows marked ``ambiguous`` cannot be settled by the name alone: for them the
families in ``also`` count as right, and so does ``other``.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from nsightlens.errors import ReportFormatError
from nsightlens.kernels.model import FAMILIES, PHASES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from nsightlens.kernels.model import KernelName

__all__ = ["COMPARED", "Labelled", "Measure", "measures", "read_labels", "unescaped"]

COMPARED = ("subtype", "phase", "dtypes", "tile", "head_dim", "library", "arch", "also")
"""Fields that are compared where both the label and the name give them."""

_COLUMNS = ("name", "family", *COMPARED, "ambiguous")
_ALLOWED = {
    "family": FAMILIES,
    "phase": ("", *PHASES),
    "ambiguous": ("", "0", "1", "false", "true"),
}
_ESCAPES = {"t": "\t", "n": "\n", "\\": "\\"}


class Labelled(NamedTuple):
    """A name, its labels and what was read from it.

    Parameters
    ----------
    labels
        Of one row, by column.
    kernel
        What the name says to nsightlens.
    """

    labels: dict[str, str]
    kernel: KernelName

    @property
    def is_ambiguous(self) -> bool:
        """Whether the name alone cannot settle the family."""
        return self.labels.get("ambiguous", "") in {"1", "true"}

    @property
    def is_right(self) -> bool:
        """Whether the family is the label, or one that counts as right."""
        family = self.kernel.family
        if family == self.labels["family"]:
            return True
        return self.is_ambiguous and family in {*self.labels.get("also", "").split(","), "other"}


class Measure(NamedTuple):
    """One figure of an agreement, or one name that is read otherwise than it is labelled.

    Parameters
    ----------
    measure
        ``settled`` and ``ambiguous`` (share of right families), ``precision`` and ``recall`` of a
        family, ``field`` (agreement where both sides give it), ``given`` (labels that have a
        reading), ``confusion`` (a pair of families), ``wrong`` (a name of which the family is read
        otherwise) or ``differs`` (a name of which another field is).
    label
        The family or field; of ``confusion``, ``wrong`` and ``differs`` the label.
    read
        For ``confusion``, ``wrong`` and ``differs``: what was read.
    right_count, total_count
        How many of how many.
    name, rule
        For ``wrong`` and ``differs``: the name and the rule that fired.
    field
        For ``differs``: which field.
    """

    measure: str
    label: str
    read: str | None = None
    right_count: int | None = None
    total_count: int | None = None
    name: str | None = None
    rule: str | None = None
    field: str | None = None

    @property
    def right_pct(self) -> float | None:
        """[%] Share of what is right; null where there is nothing."""
        if self.right_count is None or not self.total_count:
            return None
        return 100.0 * self.right_count / self.total_count


def unescaped(text: str) -> str:
    r"""Put tabs, newlines and backslashes in place of their escapes.

    Examples
    --------
    >>> unescaped(r"a\tb\\n")
    'a\tb\\n'
    """
    if "\\" not in text:
        return text
    return re.sub(r"\\([tn\\])", lambda found: _ESCAPES[found[1]], text)


def read_labels(
    path: str, lines: Iterable[str], warn: Callable[[str], None] = lambda _: None
) -> Iterator[dict[str, str]]:
    """Yield the rows of a labelled list, with the name as the profiler printed it.

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
        A column is missing or is there twice, a row has another number of cells, or a family, a
        phase or the mark of an ambiguous name is none.
    """
    rows = iter(lines)
    header = next(rows, "").split("\t")
    missing = [name for name in ("name", "family") if name not in header]
    if missing:
        raise ReportFormatError(
            path,
            f"has no column {' and no column '.join(missing)}",
            f"A labelled list begins with a line of tab-separated columns: name, family and any "
            f"of {', '.join((*COMPARED, 'ambiguous'))}.",
        )
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        advice = "Keep one of them."
        raise ReportFormatError(path, f"has two columns {twice!r}", advice, where=("line 1",))
    unknown = [name for name in header if name not in _COLUMNS]
    if unknown:
        known = ", ".join(_COLUMNS)
        warn(f"{path}: left aside: column {', '.join(map(repr, unknown))}. Known are {known}.")
    for number, line in enumerate(rows, 2):
        if line:
            yield _row(path, number, header, line.split("\t"))


def _row(path: str, number: int, header: Sequence[str], cells: Sequence[str]) -> dict[str, str]:
    where = (f"line {number}",)
    if len(cells) != len(header):
        raise ReportFormatError(
            path,
            f"has {len(cells)} cells where the heading has {len(header)}",
            r"A tab inside a name is written \t.",
            where=where,
        )
    row = dict(zip(header, cells, strict=True))
    for column, allowed in _ALLOWED.items():
        if row.get(column, allowed[0]) not in allowed:
            raise ReportFormatError(
                path,
                f"{column} is {row[column]!r}, which it cannot be",
                f"Allowed are {', '.join(filter(None, allowed))}.",
                where=where,
            )
    return {**row, "name": unescaped(row["name"])}


def measures(rows: Sequence[Labelled]) -> list[Measure]:
    """Count where labels and readings agree.

    Parameters
    ----------
    rows
        The labelled names.

    Returns
    -------
    list of Measure
        Shares first, then families, fields, the confusion table, every name whose family is wrong,
        and every name that differs in another field.
    """
    settled = [row for row in rows if not row.is_ambiguous]
    ambiguous = [row for row in rows if row.is_ambiguous]
    wrong = [row for row in settled if not row.is_right]
    return [
        Measure("settled", "family", None, len(settled) - len(wrong), len(settled)),
        Measure("ambiguous", "family", None, sum(r.is_right for r in ambiguous), len(ambiguous)),
        *_by_family(settled),
        *_by_field(rows),
        *_confusion(wrong),
        *(
            Measure("wrong", r.labels["family"], r.kernel.family, None, None, r.kernel.name,
                    r.kernel.rule)
            for r in (row for row in rows if not row.is_right)
        ),
        *_differing(rows),
    ]  # fmt: skip


def _by_family(settled: Sequence[Labelled]) -> Iterator[Measure]:
    labels = Counter(row.labels["family"] for row in settled)
    read = Counter(row.kernel.family for row in settled)
    both = Counter(row.labels["family"] for row in settled if row.is_right)
    for family in FAMILIES:
        if labels[family] or read[family]:
            yield Measure("precision", family, None, both[family], read[family])
            yield Measure("recall", family, None, both[family], labels[family])


def _by_field(rows: Sequence[Labelled]) -> Iterator[Measure]:
    for field in COMPARED:
        labels = [row for row in rows if row.labels.get(field, "") not in {"", "n/a"}]
        if not labels:
            continue
        pairs = [(_words(row.labels[field]), _reading(row.kernel, field)) for row in labels]
        both = [(label, read) for label, read in pairs if read - {"", "n/a"}]
        same = sum(label == read for label, read in both)
        yield Measure("field", field, None, same, len(both))
        yield Measure("given", field, None, len(both), len(labels))


def _differing(rows: Sequence[Labelled]) -> Iterator[Measure]:
    for field in COMPARED:
        for row in rows:
            label, read = row.labels.get(field, ""), _reading(row.kernel, field)
            if label not in {"", "n/a"} and read - {"", "n/a"} and _words(label) != read:
                kernel = row.kernel
                text = ",".join(sorted(read))
                yield Measure("differs", label, text, None, None, kernel.name, kernel.rule, field)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(","))


def _reading(kernel: KernelName, field: str) -> frozenset[str]:
    value = getattr(kernel, field)
    return frozenset((value,) if isinstance(value, str) else value)


def _confusion(wrong: Sequence[Labelled]) -> Iterator[Measure]:
    pairs = Counter((row.labels["family"], row.kernel.family) for row in wrong)
    for (label, read), count in pairs.most_common():
        yield Measure("confusion", label, read, None, count)
