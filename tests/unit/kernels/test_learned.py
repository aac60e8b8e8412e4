"""What is remembered of names is bounded, and what is not remembered is read all the same."""

from __future__ import annotations

import gc
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.kernels import engine, learned, learned_frame
from nsightlens.kernels.engine import kernel_of
from nsightlens.kernels.learned import NameReader
from nsightlens.kernels.rulebook import built_in_rulebook
from nsightlens.kernels.spelling import spelled

if TYPE_CHECKING:
    from nsightlens.kernels import KernelName


def _reader() -> NameReader:
    return NameReader(built_in_rulebook())


def _hold_right(reader: NameReader, names: list[str]) -> None:
    for name in names:
        assert reader.read(name) == kernel_of(name, spelled(name), reader.book)


def _letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def test_names_that_are_too_long_to_be_learned_from_are_not_kept() -> None:
    """Three hundred of them would be sixty megabytes."""
    reader = _reader()
    tracemalloc.start()
    for i in range(300):
        reader.read(f"void gemm_{_letters(i)}<" + "x" * 200_000 + ">(int)")
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert kept < 5_000_000


def test_names_are_kept_by_their_length(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few long ones take as much as many short ones."""
    monkeypatch.setattr(learned, "_MOST_CHARACTERS", 1000)
    reader = _reader()
    names = [f"gemm_{_letters(i)}" + "x" * 300 for i in range(20)]
    _hold_right(reader, names)
    assert sum(map(len, reader._known)) < 1500
    assert reader.read(names[-1]) is reader.read(names[-1])


def test_frames_are_forgotten_where_there_is_no_more_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also those of which only the key was kept; what comes after them is learned anew."""
    monkeypatch.setattr(learned, "_FRAME_BYTES", 30_000)
    reader, most = _reader(), 0
    for i in range(200):
        _hold_right(reader, [f"gemm_{_letters(i)}_{size}x8" for size in range(3)])
        most = max(most, len(reader._frames))
    assert 2 <= most < 10
    for i in range(500):
        _hold_right(reader, [f"softmax_{_letters(i)}"])
        most = max(most, len(reader._frames))
    assert 100 < most < 250


def test_a_frame_with_too_many_answers_is_read_the_plain_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By as many as it may have learned, and the others without."""
    monkeypatch.setattr(learned_frame, "_MOST_LEAVES", 3)
    reader = _reader()
    # Each of these numbers is a word of its own, so that each name takes another way.
    names = [f"mul_mat_q{i}_0_kernel" for i in range(10)]
    _hold_right(reader, names)
    (frame,) = filter(None, reader._frames.values())
    assert frame._leaf_count == 3


def test_no_more_is_learned_of_a_frame_than_there_is_room_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Leaves take room as frames do."""
    monkeypatch.setattr(learned, "_FRAME_BYTES", 10_000)
    reader = _reader()
    _hold_right(reader, [f"mul_mat_q{i}_0_kernel" for i in range(10)])
    (frame,) = filter(None, reader._frames.values())
    assert frame._leaf_count < 3


@pytest.mark.parametrize(("size", "made_again"), [(0, 8), (2000, 6), (100_000, 0)])
def test_results_are_remembered_as_long_as_there_is_room(
    monkeypatch: pytest.MonkeyPatch, size: int, made_again: int
) -> None:
    """The others are made again, from what the frame learned."""
    monkeypatch.setattr(learned, "_RESULT_BYTES", size)
    reader = _reader()
    names = [
        f"void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<{i}, 64, 8, 4>>(int)"
        for i in range(9, 17)
    ]
    _hold_right(
        reader, ["void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<8, 64, 8, 4>>(int)", *names]
    )
    made = []

    def described(*args: Any) -> KernelName:
        made.append(args)
        return engine.described(*args)

    monkeypatch.setattr(learned_frame, "described", described)
    for name in names:
        reader.read_new(name)
    assert len(made) == made_again


@pytest.mark.parametrize("is_enabled", [True, False])
def test_reading_many_names_leaves_the_collection_of_garbage_as_it_was(is_enabled: bool) -> None:
    """Also where a name cannot be read."""
    (gc.enable if is_enabled else gc.disable)()
    try:
        _reader().read_all(["a_gemm"])
        assert gc.isenabled() == is_enabled
        with pytest.raises(TypeError):
            _reader().read_all([None])  # type: ignore[list-item]
        assert gc.isenabled() == is_enabled
    finally:
        gc.enable()
