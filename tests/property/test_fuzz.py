"""The fuzzer: its promises hold for what it begins with, and its changes leave reports readable."""

from __future__ import annotations

import random

import pytest

from fuzz.cells import mutated as mutated_table
from fuzz.draw import Draw
from fuzz.findings import FOLDER, reproduction
from fuzz.promise import Finding, promise
from fuzz.seeds import reports
from fuzz.structure import crossed, encode, mutated, parse
from fuzz.targets import TARGETS

MOST_BYTES = 20_000


def shuffled(data: bytes) -> bytes:
    """Stand in for libFuzzer's own changes."""
    return data[1:] + data[:1]


@pytest.mark.parametrize("name", TARGETS)
def test_the_promises_hold_for_the_seeds(name: str) -> None:
    """Otherwise every search would begin with a finding."""
    target = TARGETS[name]
    seeds = target.seeds()
    assert seeds == target.seeds()
    assert max(len(seed) for seed in seeds) <= target.most_bytes
    for seed in seeds:
        target.check(seed)


@pytest.mark.parametrize("name", TARGETS)
def test_the_promises_hold_for_some_changes(name: str) -> None:
    """A short search without guidance, always the same."""
    chance = random.Random(name)
    target = TARGETS[name]
    seeds = target.seeds()
    for _ in range(30):
        data = chance.choice(seeds)
        if target.mutate is None:
            data = chance.randbytes(len(data))
        else:
            data = target.mutate(data, chance, target.most_bytes, shuffled)
        target.check(data)


def test_a_report_that_was_taken_apart_is_put_together_again() -> None:
    """Nothing is changed by looking."""
    for data in reports():
        tree = parse(data)
        assert tree is not None
        again = parse(encode(tree))
        assert again == tree
        assert tree.tail == b""


def test_many_changed_reports_get_past_the_container() -> None:
    """A search that is turned away at the door finds nothing behind it."""
    chance = random.Random("changes")
    seeds = reports()[3:]
    trees = [parse(mutated(chance.choice(seeds), chance, MOST_BYTES, shuffled)) for _ in range(300)]
    sound = [tree for tree in trees if tree is not None and tree.blocks and not tree.tail]
    assert len(sound) > 150


def test_changes_are_the_same_for_the_same_seed_and_stay_within_the_length() -> None:
    """The search relies on both."""
    first, *_, last = reports()
    for seed in range(100):
        one, other = (mutated(last, random.Random(seed), 2000, shuffled) for _ in range(2))
        assert one == other
        assert len(one) <= 2000
        assert len(crossed(last, first, random.Random(seed), 2000)) <= 2000
        table = mutated_table(b"a,b\n" * 500, random.Random(seed), 2000, shuffled)
        assert len(table) <= 2000


def test_values_are_drawn_from_the_front_and_never_run_out() -> None:
    """Behind the end follow zeros."""
    draw = Draw(b"\x02\x01")
    assert [draw.integer(0, 9), draw.is_set(), draw.integer(5, 9), draw.text()] == [2, True, 5, ""]
    assert not draw


def test_a_broken_promise_is_told() -> None:
    """What holds is silent."""
    promise(True, "never told")
    with pytest.raises(Finding, match="told"):
        promise(False, "told")


def test_a_finding_is_shown_again_by_one_command() -> None:
    """The file's name says which target it belongs to."""
    path = FOLDER / "round-trip-writing-changes-metrics"
    assert reproduction(path) == f"python -m fuzz round-trip fuzz/findings/{path.name}"
