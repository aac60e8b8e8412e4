"""Families and fields of real kernel names, against labels given by hand.

The labelled list lies beside the checkout and is no part of the project. Rows marked ambiguous
cannot be settled by the name alone: their further families and ``other`` count as right.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from nsightlens.cli.main import main
from nsightlens.kernels import KernelName, parse_kernel_name

pytestmark = pytest.mark.corpus

NAMES = Path(__file__).resolve().parents[3] / "shared" / "facts" / "kernel_names.tsv"
ESCAPES = {"t": "\t", "n": "\n", "\\": "\\"}


@dataclass(frozen=True, slots=True)
class Labelled:
    """A name, its labels, and what was read from it."""

    labels: dict[str, str]
    kernel: KernelName

    @property
    def is_ambiguous(self) -> bool:
        """Whether the name alone cannot settle the family."""
        return self.labels["ambiguous"] == "1"

    @property
    def accepted(self) -> set[str]:
        """Families that count as right."""
        further = set(self.labels["also"].split(",")) | {"other"} if self.is_ambiguous else set()
        return {self.labels["family"], *further}


@pytest.fixture(scope="session")
def labelled() -> list[Labelled]:
    """Return every labelled name with what is read from it, or skip."""
    if not NAMES.is_file():
        pytest.skip("the labelled kernel names do not lie beside this checkout")
    with NAMES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    assert len(rows) > 1000
    return [Labelled(row, parse_kernel_name(_unescaped(row["name"]))) for row in rows]


def _unescaped(text: str) -> str:
    return re.sub(r"\\([tn\\])", lambda found: ESCAPES[found[1]], text)


def _confusion(rows: list[Labelled]) -> str:
    wrong = [row for row in rows if row.kernel.family not in row.accepted]
    pairs = Counter((row.labels["family"], row.kernel.family) for row in wrong)
    table = [f"{count:4} {label} read as {read}" for (label, read), count in pairs.most_common()]
    names = [f"     {row.kernel.rule or '-'}: {row.labels['name'][:120]}" for row in wrong]
    return "\n".join(["confusion:", *table, *names])


def test_families_are_right_where_the_name_settles_them(labelled: list[Labelled]) -> None:
    """At least 99 of 100 unambiguous names are given their family."""
    settled = [row for row in labelled if not row.is_ambiguous]
    right = sum(row.kernel.family in row.accepted for row in settled)
    assert right / len(settled) >= 0.99, _confusion(settled)


def test_ambiguous_names_get_an_accepted_family(labelled: list[Labelled]) -> None:
    """At least 94 of 100 ambiguous names get one of their possible families, or other."""
    ambiguous = [row for row in labelled if row.is_ambiguous]
    right = sum(row.kernel.family in row.accepted for row in ambiguous)
    assert right / len(ambiguous) >= 0.94, _confusion(ambiguous)


@pytest.mark.parametrize("family", ["attention", "gemm"])
def test_the_families_that_matter_most_are_found_and_not_overclaimed(
    labelled: list[Labelled], family: str
) -> None:
    """Precision and recall of attention and of matrix products are at least 99 percent."""
    settled = [row for row in labelled if not row.is_ambiguous]
    claimed = {id(row) for row in settled if row.kernel.family == family}
    labels = {id(row) for row in settled if row.labels["family"] == family}
    both = len(claimed & labels)
    assert both / len(claimed) >= 0.99, _confusion(settled)
    assert both / len(labels) >= 0.99, _confusion(settled)


@pytest.mark.parametrize("field", ["dtypes", "phase", "tile", "head_dim", "arch", "library"])
def test_fields_are_right_where_both_are_given(labelled: list[Labelled], field: str) -> None:
    """What is read agrees with the label, and most labels have a reading."""
    given = [row for row in labelled if row.labels[field] not in {"", "n/a"}]
    pairs = [(row.labels[field], _text(getattr(row.kernel, field)), row) for row in given]
    both = [(label, read, row) for label, read, row in pairs if read not in {"", "n/a"}]
    wrong = [f"{a} read as {b}: {r.labels['name'][:120]}" for a, b, r in both if not _same(a, b)]
    assert 1 - len(wrong) / len(both) >= 0.97, "\n".join(wrong)
    assert len(both) / len(given) >= (0.6 if field == "library" else 0.95)


def _text(value: str | tuple[str, ...]) -> str:
    return value if isinstance(value, str) else ",".join(value)


def _same(label: str, read: str) -> bool:
    return set(label.split(",")) == set(read.split(","))


def test_short_names_keep_most_kernels_apart(labelled: list[Labelled]) -> None:
    """Short names fit, and merge little more than the many spellings of one kernel."""
    shorts = {row.kernel.short_name for row in labelled}
    assert max(map(len, shorts)) <= 40
    assert len(shorts) / len(labelled) > 0.75


def test_the_command_counts_the_same(
    labelled: list[Labelled], capsys: pytest.CaptureFixture[str]
) -> None:
    """What kernel-name --check prints is what these tests hold, and meets the same bars."""
    assert main(["kernel-name", "--check", str(NAMES), "--format", "json"]) == 0
    rows = {row["key"]: row for row in json.loads(capsys.readouterr().out)["rows"]}
    settled = [row for row in labelled if not row.is_ambiguous]
    right = sum(row.kernel.family in row.accepted for row in settled)
    shares = rows["settled|family"]
    assert (shares["right_count"], shares["total_count"]) == (right, len(settled))
    assert shares["right_pct"] >= 99.0
    for family in ("attention", "gemm"):
        assert rows[f"precision|{family}"]["right_pct"] >= 99.0
        assert rows[f"recall|{family}"]["right_pct"] >= 99.0
    for field in ("dtypes", "phase", "tile", "head_dim"):
        assert rows[f"field|{field}"]["right_pct"] >= 97.0
