"""The compiled scanner and the pure-Python one read every file alike, sound or damaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.handmade import block, file_of, kernel, write_bytes
from support.mutate import DAMAGES, mutants
from support.small_reports import small_reports
from support.twins import outcome

from nsightlens.ncurep import LaunchSpec, MetricSpec, encode_ncu_rep, read_columns
from nsightlens.ncurep.encode import double_field, message_field, text_field, uint_field
from nsightlens.ncurep.scanner import compiled_scanner

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.ncurep.scanner import ScannerName

pytestmark = pytest.mark.skipif(
    compiled_scanner() is None, reason="this installation has no compiled scanner"
)

PER_KIND = 150


def check_twins(path: Path) -> bool:
    """Compare what the two make of a file in both ways; return whether it was refused."""
    was_refused = False
    for on_error in ("raise", "salvage"):
        compiled, pure = outcome(path, "c", on_error), outcome(path, "python", on_error)
        assert compiled == pure
        was_refused |= "error" in pure
    return was_refused


@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_is_told_and_read_alike(kind: str, tmp_path: Path) -> None:
    """The same error in the same words, or the same tables to the last bit."""
    path = tmp_path / "mutant.ncu-rep"
    refused = 0
    for mutant in mutants(kind, small_reports(), PER_KIND):
        path.write_bytes(mutant.data)
        refused += check_twins(path)
    assert refused > 0


@pytest.mark.parametrize("size", range(0, 1200, 13))
def test_a_cut_is_salvaged_alike(size: int, tmp_path: Path) -> None:
    """Whatever comes before the cut is the same from both."""
    for i, data in enumerate(small_reports()):
        path = tmp_path / f"{i}.ncu-rep"
        path.write_bytes(data[: len(data) - size] if size < len(data) else data[:size])
        check_twins(path)


@pytest.mark.corpus
def test_real_reports_are_read_alike(corpus_reports: list[Path]) -> None:
    """Every table of every real report, instances included."""
    for path in corpus_reports:
        assert not check_twins(path)


@pytest.mark.corpus
@pytest.mark.slow
@pytest.mark.parametrize("kind", DAMAGES)
def test_damage_to_real_reports_is_told_and_read_alike(
    kind: str, corpus_reports: list[Path], tmp_path: Path
) -> None:
    """The smallest of them, which have more of everything than ours."""
    by_size = sorted(corpus_reports, key=lambda path: path.stat().st_size)
    real = [path.read_bytes() for path in (by_size[0], by_size[7])]
    for mutant in mutants(kind, real, 10):
        path = tmp_path / "mutant.ncu-rep"
        path.write_bytes(mutant.data)
        check_twins(path)


def twin_bytes(launches: list[LaunchSpec], tmp_path: Path) -> Path:
    """Write launches as a report."""
    path = tmp_path / "twins.ncu-rep"
    path.write_bytes(encode_ncu_rep(launches))
    return path


def test_what_the_compiled_scanner_refuses_is_read_all_the_same(tmp_path: Path) -> None:
    """A name that is not UTF-8 is left to the other scanner, in the middle of a sound file."""
    names = ["first", "second\udcff", "third", "fourth\udc80", "fifth"]
    launches = [
        LaunchSpec(name=name, metrics={"a": i, f"own_{i}": i / 2}, instances={"a": [(1, i)]})
        for i, name in enumerate(names)
    ]
    path = twin_bytes(launches, tmp_path)
    assert not check_twins(path)
    found = outcome(path, "c", "raise")
    assert found["launches"]["function_name"] == [
        "first", "second\\xff", "third", "fourth\\x80", "fifth",
    ]  # fmt: skip
    assert [row[0] for row in found["metrics"] if row[1] == "a"] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "wanted",
    [
        {"metrics": lambda name: name in {"a", "metric_3"}},
        {"metrics": lambda name: name == "b", "instances": lambda name: name == "a"},
        {"metrics": lambda _: False, "instances": True},
        {"instances": None, "has_side_tables": False},
        {"instances": lambda name: name == "only"},
    ],
)
def test_a_part_of_a_file_is_read_alike(wanted: dict[str, Any], tmp_path: Path) -> None:
    """Which metrics and instances are kept does not depend on who reads."""
    for i, data in enumerate(small_reports()):
        path = tmp_path / f"{i}.ncu-rep"
        path.write_bytes(data)
        assert outcome(path, "c", "raise", **wanted) == outcome(path, "python", "raise", **wanted)


def test_what_a_message_leaves_out_is_the_same_from_both(tmp_path: Path) -> None:
    """A rule's message without a text, a speed-up without a scope, a range without a category."""
    item = message_field(1, message_field(1), message_field(10, double_field(2, 5.0)))
    rule = message_field(19, text_field(1, "R"), text_field(2, "Rule"), message_field(3, item))
    attributes = message_field(2, uint_field(2, 0), message_field(3, uint_field(2, 7)))
    stack = message_field(2, uint_field(1, 0), message_field(3, text_field(1, "step"), attributes))
    state = message_field(21, message_field(2, uint_field(1, 77), stack))
    path = write_bytes(tmp_path, file_of(block([kernel(rule, state)])))
    assert not check_twins(path)
    found = outcome(path, "c", "raise")
    assert (found["rules"]["message"], found["rules"]["speedup_scope"]) == ([""], [0])
    assert (found["nvtx"]["category"], found["nvtx"]["color"]) == ([None], [7])


@pytest.mark.parametrize(
    "field", [message_field(19, text_field(1, "R")), message_field(21, b"\x0b")]
)
def test_what_is_not_asked_for_is_not_looked_into(field: bytes, tmp_path: Path) -> None:
    """A fault in a rule or an NVTX state is none for whoever wants neither, whoever reads."""
    path = write_bytes(tmp_path, file_of(block([kernel(field)])))
    assert check_twins(path)
    assert "error" not in outcome(path, "c", "raise", has_side_tables=False)
    assert "error" not in outcome(path, "python", "raise", has_side_tables=False)


@pytest.mark.parametrize("scanner", ["c", "python"])
def test_an_error_of_the_caller_gets_through(scanner: ScannerName, tmp_path: Path) -> None:
    """Whoever is told of the progress may stop the reading, and the file is let go of."""

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt(f"{done} of {total}")

    path = twin_bytes([LaunchSpec(metrics={"a": 1})], tmp_path)
    with pytest.raises(KeyboardInterrupt):
        read_columns(path, progress=stop, scanner=scanner)


def test_a_file_of_refused_entries_is_left_to_the_other_scanner(tmp_path: Path) -> None:
    """Going back and forth for every launch would gain nothing."""
    path = twin_bytes(
        [LaunchSpec(name=f"k{i}\udcff", metrics={"a": i}) for i in range(200)], tmp_path
    )
    assert not check_twins(path)


def test_a_cut_file_of_refused_entries_is_salvaged(tmp_path: Path) -> None:
    """The file can be let go of although the error of the damage remembers who read it."""
    launches = [LaunchSpec(name=f"k{i}\udcff", metrics={"a": i}) for i in range(100)]
    path = twin_bytes(launches, tmp_path)
    path.write_bytes(path.read_bytes()[:-3])
    check_twins(path)
    assert len(outcome(path, "c", "salvage")["launches"]["kind"]) == 99


def test_launches_that_share_no_metric_do_not_blow_up(tmp_path: Path) -> None:
    """A column of all launches for every name would be a thousand times the file."""
    launches = [LaunchSpec(metrics={f"metric_{i}": float(i)}) for i in range(2500)]
    path = twin_bytes(launches, tmp_path)
    assert not check_twins(path)
    store = read_columns(path, scanner="c").store
    cells = sum(part.launch_count * len(part.columns) for part in store.parts)
    assert cells < 2_000_000


def test_of_a_metric_that_is_stored_twice_the_last_one_counts_with_its_instances(
    tmp_path: Path,
) -> None:
    """NVIDIA's reader returns the last one; instances of the first are gone with it."""
    twice = LaunchSpec(
        metrics=[
            MetricSpec("a", 1, [(1, 10), (2, 20)]),
            MetricSpec("b", 5, [(1, 50)]),
            MetricSpec("a", 2, [(3, 30)]),
        ]
    )
    then_without = LaunchSpec(metrics=[MetricSpec("a", 1, [(1, 10)]), MetricSpec("a", 2)])
    path = twin_bytes([twice, then_without, twice], tmp_path)
    assert not check_twins(path)
    instances = outcome(path, "c", "raise")["instances"]
    columns = (instances[name] for name in ("launch", "metric", "integer"))
    assert list(zip(*columns, strict=True)) == [
        (0, "b", 50), (0, "a", 30), (2, "b", 50), (2, "a", 30),
    ]  # fmt: skip
