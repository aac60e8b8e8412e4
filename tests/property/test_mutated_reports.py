"""Ten thousand damaged reports: each is told as such or read soundly, never anything else.

Damage ends in a `NsightLensError` or in a table that the file's own headers agree with. It never
ends in another exception, in a reader that does not come back, or in a report of zero launches
that had some.
"""

from __future__ import annotations

import faulthandler
import os
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest
from support.contents import contents
from support.mutate import DAMAGES, claimed_result_count, mutants
from support.small_reports import small_reports

import nsightlens
from nsightlens.errors import NsightLensError, SalvageWarning
from nsightlens.ncurep import read_columns, read_ncu_rep
from nsightlens.ncurep.model import ValueKind
from nsightlens.ncurep.scanner import compiled_scanner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from nsightlens.ncurep.model import NcuRepFile
    from nsightlens.ncurep.scanner import ScannerName

MUTANTS = 10_000
PER_KIND = MUTANTS // len(DAMAGES)
# The tables are made from what the reader returned; a tenth of the mutants is enough for them.
LABELLED_PER_KIND = int(os.environ.get("NSIGHTLENS_LABELLED_MUTANTS", MUTANTS // 10)) // len(
    DAMAGES
)
CORPUS_MUTANTS_PER_KIND = 20

OnError = Literal["raise", "salvage"]


class Outcome(NamedTuple):
    """What a reader made of a file that it did not refuse."""

    launch_count: int
    is_damaged: bool


def read_natively(path: Path, on_error: OnError) -> Outcome:
    """Read with `read_ncu_rep`, all instances included, and check that the columns fit together."""
    file = read_ncu_rep(path, instances=True, on_error=on_error)
    check_columns(file)
    return Outcome(len(file.results), file.damage is not None)


def read_to_labels(path: Path, on_error: OnError) -> Outcome:
    """Do the whole job, and check that every table is sound and every launch has a label."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SalvageWarning)
        report = nsightlens.open_report(path, instances=True, on_error=on_error)
    for table in (
        report.launches, report.stalls, report.metrics, report.rules, report.nvtx,
        report.sessions, report.instances,
    ):  # fmt: skip
        table.validate(full=True)
    labels = nsightlens.classify(report).labels
    assert len(labels) == len(report)
    assert labels["bound"].null_count == labels["reason"].null_count == 0
    return Outcome(len(report), bool(report.warnings))


def read_by(scanner: ScannerName) -> Callable[[Path, OnError], Outcome]:
    """Return a reader of columns, instances included, with one of the two scanners."""

    def read(path: Path, on_error: OnError) -> Outcome:
        found = read_columns(path, instances=True, on_error=on_error, scanner=scanner)
        for table in (found.launches, found.rules, found.nvtx, found.instances):
            table.validate(full=True)
        assert found.store.launch_count == found.launches.num_rows
        return Outcome(found.launches.num_rows, found.damage is not None)

    return read


READERS = [
    pytest.param(read_natively, id="read_ncu_rep"),
    pytest.param(read_by("python"), id="python"),
    pytest.param(
        read_by("c"),
        id="c",
        marks=pytest.mark.skipif(
            compiled_scanner() is None, reason="this installation has no compiled scanner"
        ),
    ),
]


def check_columns(file: NcuRepFile) -> None:
    """Check that every index of a read file points at something, and that it could be compared."""
    scalars, instances = file.scalars, file.instances
    count = len(scalars.result)
    columns = (scalars.name, scalars.kind, scalars.value, scalars.integer, scalars.instance_count)
    assert {len(column) for column in columns} == {count}
    assert all(name < len(file.strings) for name in scalars.name)
    assert list(scalars.result) == sorted(scalars.result)
    assert all(result < len(file.results) for result in scalars.result)
    assert all(scalars.kind[i] == ValueKind.TEXT for i in scalars.text)
    assert instances is not None
    assert sum(scalars.instance_count) == len(instances.scalar)
    assert all(scalar < count for scalar in instances.scalar)
    # No value can come from fewer bytes than this, so a file cannot blow up in memory.
    assert (count + len(instances.scalar)) * 4 <= file.size_bytes
    contents(file)


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """End the run with a traceback where a reader does not come back."""
    faulthandler.dump_traceback_later(seconds, exit=True)
    try:
        yield
    finally:
        faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module")
def originals() -> list[bytes]:
    """Return the sound reports that damage is done to."""
    return small_reports()


def outcome_of(
    read: Callable[[Path, OnError], Outcome], path: Path, on_error: OnError
) -> Outcome | NsightLensError:
    """Read a file; whatever is not a `NsightLensError` leaves this function and fails the test."""
    try:
        return read(path, on_error)
    except NsightLensError as error:
        return error


def check_mutant(read: Callable[[Path, OnError], Outcome], path: Path, data: bytes) -> bool:
    """Read a damaged report in both ways; return whether it was refused."""
    path.write_bytes(data)
    found, salvaged = outcome_of(read, path, "raise"), outcome_of(read, path, "salvage")
    for outcome in (found, salvaged):
        # The reader turns its own slips into an error that says so: those are what we hunt.
        assert "the reader failed on it" not in str(outcome)
    if isinstance(found, NsightLensError):
        assert str(path) in str(found)
        if isinstance(salvaged, Outcome):
            assert salvaged.is_damaged
            assert salvaged.launch_count > 0
        return True
    # The headers of the file itself say how many results there are.
    claimed = claimed_result_count(data)
    assert claimed is not None
    assert found == salvaged == Outcome(claimed, is_damaged=False)
    return False


def test_the_originals_are_sound(originals: list[bytes], tmp_path: Path) -> None:
    """What the damage is done to reads without an error, and both ways to count agree."""
    for i, data in enumerate(originals):
        assert 500 < len(data) < 4000
        path = tmp_path / f"{i}.ncu-rep"
        path.write_bytes(data)
        assert read_natively(path, "raise") == Outcome(claimed_result_count(data) or 0, False)


def test_there_are_ten_thousand() -> None:
    """The promise is a number, so it is one here."""
    assert PER_KIND * len(DAMAGES) == 10_000


@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("read", READERS)
def test_damage_is_refused_or_read_soundly(
    read: Callable[[Path, OnError], Outcome], kind: str, originals: list[bytes], tmp_path: Path
) -> None:
    """Every mutant of a small report gives a typed error or as many launches as it claims."""
    path = tmp_path / "mutant.ncu-rep"
    refused = 0
    with deadline(300):
        for mutant in mutants(kind, originals, PER_KIND):
            refused += check_mutant(read, path, mutant.data)
    # Damage that nothing ever notices would mean that the test does not damage anything.
    assert refused > PER_KIND // 20


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_never_becomes_an_unsound_table_or_a_launch_without_label(
    kind: str, originals: list[bytes], tmp_path: Path
) -> None:
    """What a damaged report gives, if it gives anything, goes through to the labels."""
    path = tmp_path / "mutant.ncu-rep"
    with deadline(300):
        for mutant in mutants(kind, originals, LABELLED_PER_KIND):
            check_mutant(read_to_labels, path, mutant.data)


@pytest.mark.parametrize("read", READERS)
def test_every_cut_is_noticed(
    read: Callable[[Path, OnError], Outcome], originals: list[bytes], tmp_path: Path
) -> None:
    """A report that ends early is refused, unless it ends at a block's end."""
    path = tmp_path / "cut.ncu-rep"
    data = originals[0]
    with deadline(300):
        for size in range(len(data)):
            refused = check_mutant(read, path, data[:size])
            assert refused == (claimed_result_count(data[:size]) is None)


def test_what_is_salvaged_of_a_cut_report_is_its_beginning(
    originals: list[bytes], tmp_path: Path
) -> None:
    """Launches before the cut come back as they were, none is invented."""
    path = tmp_path / "cut.ncu-rep"
    for original in originals:
        path.write_bytes(original)
        whole = contents(read_ncu_rep(path, instances=True))
        for size in range(16, len(original), 7):
            path.write_bytes(original[:size])
            try:
                part = read_ncu_rep(path, instances=True, on_error="salvage")
            except NsightLensError:
                continue
            for found, true in zip(contents(part), whole, strict=False):
                (result, metrics), (true_result, true_metrics) = found, true
                assert result == true_result
                assert all(metric in true_metrics for metric in metrics)


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGES)
@pytest.mark.parametrize("read", READERS)
def test_damage_to_real_reports_is_refused_or_read_soundly(
    read: Callable[[Path, OnError], Outcome],
    kind: str,
    corpus_reports: list[Path],
    tmp_path: Path,
) -> None:
    """The same for the smallest real reports, which have more of everything."""
    by_size = sorted(corpus_reports, key=lambda path: path.stat().st_size)
    real = [path.read_bytes() for path in (by_size[0], by_size[5], by_size[7])]
    with deadline(600):
        for mutant in mutants(kind, real, CORPUS_MUTANTS_PER_KIND):
            check_mutant(read, tmp_path / "mutant.ncu-rep", mutant.data)
