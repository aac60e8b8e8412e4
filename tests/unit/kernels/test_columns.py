"""Kernel names as Arrow columns."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

from nsightlens import beside
from nsightlens.kernels import (
    parallel,
    parse_kernel_name,
    parse_kernel_names,
    parse_launch_kernels,
    user_rules_of,
)
from nsightlens.kernels.parse import parse_launch_kernel
from nsightlens.worker import WorkerDiedError

if TYPE_CHECKING:
    from nsightlens.kernels.model import KernelName

FIELDS = ["short_name", "family", "subtype", "phase", "dtypes", "rule"]


@pytest.mark.parametrize(
    "names",
    [
        ["rms_norm_kernel", None],
        ("rms_norm_kernel", None),
        np.array(["rms_norm_kernel", None], dtype=object),
        pa.array(["rms_norm_kernel", None], pa.large_string()),
    ],
    ids=["list", "tuple", "numpy", "large"],
)
def test_any_sequence_of_texts_is_a_column(names: Any) -> None:
    """Whoever has a list need not know Arrow."""
    assert parse_kernel_names(names)["family"].to_pylist() == ["norm", None]


def test_a_column_without_any_name_is_one() -> None:
    """Of no rows, or of nulls alone."""
    for names in ([], pa.array([]), [None], pa.array([None])):
        assert set(parse_kernel_names(names)["family"].to_pylist()) <= {None}


@pytest.mark.parametrize("names", ["rms_norm", [1], 3, pa.array([1.0])])
def test_what_holds_no_texts_is_told(names: Any) -> None:
    """A single text neither: its letters are no names."""
    with pytest.raises(TypeError, match="names of kernels are"):
        parse_kernel_names(names)


def test_a_column_gives_one_row_per_input() -> None:
    """Nulls stay null, and every form of a string column is understood."""
    plain = pa.array(["rms_norm_kernel", None, "ampere_sgemm_64x64_nn", "rms_norm_kernel"])
    for column in (plain, plain.dictionary_encode(), pa.chunked_array([plain[:1], plain[1:]])):
        table = parse_kernel_names(column)
        assert table.column_names == FIELDS
        assert table["family"].to_pylist() == ["norm", None, "gemm", "norm"]
        assert table["dtypes"].to_pylist() == ["", None, "fp32", ""]


def test_chunks_with_different_dictionaries_are_read() -> None:
    """A table put together from several reports has a dictionary in every chunk."""
    chunks = [pa.array(names).dictionary_encode() for names in (["softmax"], ["x_gemm", "softmax"])]
    families = parse_kernel_names(pa.chunked_array(chunks))["family"].to_pylist()
    assert families == ["softmax_sampling", "gemm", "softmax_sampling"]


@pytest.mark.parametrize("kind", [pa.string(), pa.dictionary(pa.int32(), pa.string())])
def test_an_empty_column_gives_an_empty_table(kind: pa.DataType) -> None:
    """A report without launches has the same columns."""
    table = parse_kernel_names(pa.chunked_array([], type=kind))
    assert (table.num_rows, table.column_names) == (0, FIELDS)


def test_a_repeated_name_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A million launches of two kernels cost two parses."""
    parsed = []

    class Counting:
        def read_all(self, names: list[str]) -> list[KernelName]:
            parsed.extend(names)
            return [parse_kernel_name(name) for name in names]

    monkeypatch.setattr(parallel, "reader_of", lambda _: Counting())
    parse_kernel_names(pa.array(["a_gemm", "softmax"] * 500))
    assert sorted(parsed) == ["a_gemm", "softmax"]


def test_the_most_telling_spelling_of_a_launch_decides() -> None:
    """Demangled first; where it says nothing the mangled name, then the function name."""
    mangled = "_ZN7cutlass7Kernel2I35cutlass_80_simt_sgemm_64x64_8x5_nn_EEvNT_6ParamsE"
    table = parse_launch_kernels(
        pa.array(["void rms_norm<4>(float*)", None, "Kernel2", "step", None]),
        pa.array(["Kernel2", "softmax_kernel", "Kernel2", "gelu_kernel", None]),
        pa.array([None, None, mangled, None, None]),
    )
    families = ["norm", "softmax_sampling", "gemm", "activation", "other"]
    assert table["family"].to_pylist() == families


def test_one_launch_is_read_as_many_are() -> None:
    """By the same spelling, whichever of them a rule of the user's or a built-in one knows."""
    names = (None, "ours", "step", "void rms_norm<4>(float*)", "softmax_kernel", "_Z4oursv")
    launches = list(product(names, repeat=3))
    columns = [pa.array(column) for column in zip(*launches, strict=True)]
    for rules in (None, user_rules_of([{"id": "mine", "name": ".*ours", "family": "other"}])):
        table = parse_launch_kernels(*columns, rules=rules).select(["short_name", "rule"])
        for launch, row in zip(launches, table.to_pylist(), strict=True):
            one = parse_launch_kernel(*launch, rules=rules)
            found = {"short_name": one and one.short_name, "rule": one and one.rule}
            assert found == row, launch


def test_a_result_without_a_name_has_a_family_and_no_short_name() -> None:
    """A profiled range counts among the others."""
    nothing = pa.array([None], pa.string())
    table = parse_launch_kernels(nothing, nothing, nothing)
    assert table.select(["short_name", "family"]).to_pylist() == [
        {"short_name": None, "family": "other"}
    ]


def test_launches_without_any_telling_name_stay_other() -> None:
    """Nothing is guessed where no spelling tells."""
    table = parse_launch_kernels(pa.array(["step"]), pa.array(["step"]), pa.array(["_Z4stepv"]))
    assert table["family"].to_pylist() == ["other"]


def test_very_many_names_are_read_by_processes_beside_this_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With the same answers, in order, by the user's rules too; also where processes are lost."""
    names = [f"{kind}_gemm_{i}x{i}" for i in range(30) for kind in ("a", "my", "_Z3fooILi4E", "kö")]
    rules = user_rules_of([{"id": "mine", "name": "my_.*", "family": "norm"}])
    column = pa.array([*names, None, *names])
    alone = parse_kernel_names(column, rules)
    assert alone["family"].to_pylist()[:2] == ["gemm", "norm"]
    monkeypatch.setattr(parallel, "_AT_ONCE", 25)
    monkeypatch.setattr(parallel, "FEW", 50)
    monkeypatch.setattr(parallel, "processor_count", lambda: 2)
    read_here: list[object] = []
    monkeypatch.setattr(parallel, "reader_of", read_here.append)
    assert parse_kernel_names(column, rules).equals(alone)
    assert read_here == []
    monkeypatch.undo()
    monkeypatch.setattr(parallel, "FEW", 50)
    monkeypatch.setattr(parallel, "_AT_ONCE", 25)
    monkeypatch.setattr(beside, "Worker", _Lost)
    assert parse_kernel_names(column, rules).equals(alone)


class _Lost:
    """A process that does not start."""

    def __init__(self) -> None:
        raise WorkerDiedError("did not start")
