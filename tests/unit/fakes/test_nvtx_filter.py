"""The grammar of ncu's NVTX filter, as the manual gives it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.fake_nvtx_filter import FilterError, nvtx_filter
from support.fake_records import Launch, Started
from support.fake_report import states_of

from nsightlens.ncurep.spec import LaunchSpec
from nsightlens.ncurep.write import write_ncu_rep

if TYPE_CHECKING:
    from pathlib import Path


def _launch(*stack: str, domain: str = "", started: tuple[str, ...] = ()) -> Launch:
    return Launch(
        process=1,
        thread=1,
        number=1,
        executable="python",
        stacks={1: {domain: list(stack)}},
        started=tuple(Started(domain, text, i, 1) for i, text in enumerate(started)),
        facts={},
        is_on=False,
    )


@pytest.mark.parametrize(
    ("expression", "stack", "is_taken"),
    [
        ("A/", ["A"], True),
        ("A/", ["B", "A", "C"], True),
        ("A/", ["AB"], False),
        ("A/B", ["A", "B"], True),
        ("A/B/", ["X", "A", "B"], True),
        ("A/B", ["A", "X", "B"], False),
        ("A/*/B", ["A", "B"], True),
        ("A/*/B", ["A", "X", "Y", "B"], True),
        ("A/+/B", ["A", "X", "B"], True),
        ("A/+/B", ["A", "B"], False),
        ("[A/", ["A", "B"], True),
        ("[A/", ["B", "A"], False),
        ("[A", ["A", "B"], True),
        ("A]", ["B", "A"], True),
        ("A]", ["A", "B"], False),
        ("A]/", ["B", "A"], True),
        ("A]/", ["A", "B"], False),
        ("*/B", ["A", "B"], False),
        ("+/B/", ["A", "B"], False),
        ("B/A]", ["B", "A"], True),
        ("regex:A[0-9]+/", ["xA12b"], True),
        ("regex:^A[0-9]+$/", ["A12"], True),
        ("regex:^A[0-9]+$/", ["A12b"], False),
        ("regex:^A$/^B$", ["A", "B"], True),
        (r"A\/B/", ["A/B"], True),
        (r"A\/B/", ["A", "B"], False),
        (r"x\*\[1\]\@\,\+/", ["x*[1]@,+"], True),
        ("A", ["A"], False),
    ],
)
def test_push_pop_ranges_by_their_nesting(
    expression: str, stack: list[str], is_taken: bool
) -> None:
    """A slash makes push/pop ranges of an expression."""
    assert nvtx_filter(expression).takes(_launch(*stack)) is is_taken


@pytest.mark.parametrize(
    ("expression", "started", "is_taken"),
    [
        ("A", ["A"], True),
        ("A,B", ["B", "A"], True),
        ("A,B", ["A"], False),
        ("regex:Decode.*", ["DecodeStep335"], True),
        ("A/", ["A"], False),
    ],
)
def test_start_end_ranges_are_inside_all(
    expression: str, started: list[str], is_taken: bool
) -> None:
    """Without a slash."""
    assert nvtx_filter(expression).takes(_launch(started=tuple(started))) is is_taken


@pytest.mark.parametrize(
    ("expression", "is_taken"),
    [
        ("D@A/", True),
        ("regex:^D@A/", True),
        ("D@regex:A/", False),
        ("E@A/", False),
        ("A/", False),
        ("regex:A/", False),
    ],
)
def test_a_range_belongs_to_its_domain(expression: str, is_taken: bool) -> None:
    """Without a domain the default one is meant."""
    assert nvtx_filter(expression).takes(_launch("A", domain="D")) is is_taken


def test_other_threads_count_where_the_scope_is_the_process() -> None:
    """By default only the launching thread does."""
    launch = Launch(1, 1, 1, "python", {2: {"": ["A"]}}, (), {}, is_on=False)
    assert not nvtx_filter("A/").takes(launch)
    assert nvtx_filter("A/").takes(launch, is_of_process=True)


@pytest.mark.ncu_report
def test_takes_what_the_reader_of_nvidia_takes(tmp_path: Path) -> None:
    """Every expression over every stack, in the default domain and in one with a name."""
    ncu_report = pytest.importorskip("ncu_report", reason="NVIDIA's reader is not installed")
    stacks = [
        ["A"], ["B", "A", "C"], ["AB"], ["A", "B"], ["X", "A", "B"], ["A", "X", "B"],
        ["A", "X", "Y", "B"], ["B", "A"], ["A1"], ["A12"], ["A12b"], ["A/B"], ["x*[1]@,+"],
        ["A]"], ["A[0-9]"], ["/"],
    ]  # fmt: skip
    started = [("A",), ("B", "A"), ("DecodeStep335",), ("B",)]
    launches = [_launch(*stack, domain=domain) for stack in stacks for domain in ("", "D")]
    launches += [_launch(domain=domain, started=of) for of in started for domain in ("", "D")]
    specs = [
        LaunchSpec(name=f"k{i}", nvtx=states_of(launch, launch.own, has_started=True))
        for i, launch in enumerate(launches)
    ]
    report = write_ncu_rep(tmp_path / "stacks.ncu-rep", specs)
    found = ncu_report.load_report(str(report)).range_by_idx(0)
    for expression in (
        "A/", "A/B", "A/B/", "A/*/B", "A/+/B", "[A/", "[A", "A]", "A]/", "B/A]", "A", "A,B",
        "[A/B", "[A/B/", "[B/*/C]", "X/*/B/", "*/B/", "A/*/", "+/B", "B/+/C/", r"A\/B/",
        r"x\*\[1\]\@\,\+/", "regex:A[0-9]+/", "regex:A[0-9]/", "regex:^A[0-9]+$/",
        "regex:^A$/^B$", "regex:^A$/*/^B$", "regex:A/", "regex:Decode.*", "regex:^D$@A",
        "regex:^D@A/", "D@A/", "D@A", "D@A,B", "D@[A/*/B]", "D@regex:A/", "E@A/",
    ):  # fmt: skip
        theirs = sorted(found.actions_by_nvtx([expression], []))
        understood = nvtx_filter(expression)
        ours = [i for i, launch in enumerate(launches) if understood.takes(launch)]
        assert ours == theirs, expression


@pytest.mark.parametrize("expression", ["a@b@c", "", "a//b", "A,,B", "regex:(/", "D@", "@A/"])
def test_what_is_no_expression_is_refused(expression: str) -> None:
    """Two domains, a range without a name, a regular expression that is none."""
    with pytest.raises(FilterError):
        nvtx_filter(expression)
