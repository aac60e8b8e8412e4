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
from nsightlens.kernels.model import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from nsightlens.kernels.model import KernelName

__all__ = ["COMPARED", "Labelled", "Measure", "measures", "read_labels", "unescaped"]

COMPARED = ("subtype", "phase", "dtypes", "tile", "head_dim", "library", "arch", "also")
"""Fields that are compared where both the label and the name give them."""

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
        reading), ``confusion`` (a pair of families) or ``wrong`` (a name).
    label
        The family or field; for a pair, the label.
    read
        For ``confusion`` and ``wrong``: what was read.
    right_count, total_count
        How many of how many.
    name, rule
        For ``wrong``: the name and the rule that fired.
    """

    measure: str
    label: str
    read: str | None = None
    right_count: int | None = None
    total_count: int | None = None
    name: str | None = None
    rule: str | None = None

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


def read_labels(path: str, lines: Iterable[str]) -> Iterator[dict[str, str]]:
    """Yield the rows of a labelled list, with the name as the profiler printed it.

    Parameters
    ----------
    path
        What the list is called in errors.
    lines
        Without their line ends, the heading first.

    Raises
    ------
    ReportFormatError
        A column is missing, a row has another number of cells, or a family is not known.
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
    if row["family"] not in FAMILIES:
        raise ReportFormatError(
            path,
            f"the family {row['family']!r} is not known",
            f"Families are {', '.join(FAMILIES)}.",
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
        Shares first, then families, fields, the confusion table, and every wrong name.
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


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split(","))


def _reading(kernel: KernelName, field: str) -> frozenset[str]:
    value = getattr(kernel, field)
    return frozenset((value,) if isinstance(value, str) else value)


def _confusion(wrong: Sequence[Labelled]) -> Iterator[Measure]:
    pairs = Counter((row.labels["family"], row.kernel.family) for row in wrong)
    for (label, read), count in pairs.most_common():
        yield Measure("confusion", label, read, None, count)
