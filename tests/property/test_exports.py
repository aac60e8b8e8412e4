"""Whatever is exported in whatever order, a dataset holds each report once."""

from __future__ import annotations

import tempfile
from pathlib import Path
from unittest import mock

from hypothesis import given, settings
from hypothesis import strategies as st
from support.datasets import GPUS, contents_of, reports_in, values_of

from nsightlens.store import DatasetWriter, merge, open_dataset

RUNS = st.lists(
    st.tuples(st.lists(st.integers(0, 6), max_size=4), st.sampled_from(["add", "force", "fail"])),
    max_size=6,
)


def _run(folder: Path, numbers: list[int], how: str) -> None:
    with DatasetWriter(folder, force=how == "force") as writer:
        for number in numbers:
            writer.add(contents_of(number, gpus=GPUS))
        if how == "fail":
            raise ZeroDivisionError


@settings(max_examples=15)
@given(runs=RUNS, few=st.integers(1, 3))
def test_any_sequence_of_exports_gives_each_report_once(
    runs: list[tuple[list[int], str]], few: int
) -> None:
    """Equal to what was given, also after runs that failed, were repeated, merged or replaced."""
    expected: set[int] = set()
    with tempfile.TemporaryDirectory() as at, mock.patch.object(merge, "_FEW", few):
        folder = Path(at) / "ds"
        for numbers, how in runs:
            try:
                _run(folder, numbers, how)
            except ZeroDivisionError:
                continue
            expected = set(numbers) if how == "force" and numbers else expected | set(numbers)
        if not expected:
            assert not folder.exists()
            return
        assert reports_in(folder) == sorted(expected)
        labels = open_dataset(folder).table("labels")
        keys = [("report_id", "ascending"), ("launch_id", "ascending")]
        found = values_of(labels).sort_by(keys).drop_columns(["report_id"])
        parts = [contents_of(n, gpus=GPUS).contents["labels"] for n in sorted(expected)]
        assert found.to_pylist() == [row for part in parts for row in part.to_pylist()]
