"""NVTX paths become phase, batch size and shapes."""

from __future__ import annotations

import pyarrow as pa
import pytest

from nsightlens.steps import StepAnnotation, annotate_paths, read_path

STEP = "nsightlens@step v1 phase=decode batch_size=8 context=500 query=1"


def test_our_own_step_says_all_there_is() -> None:
    """Phase, batch size, context and query length of a step, name and work of an operation."""
    path = f"{STEP}/op v1 name=qkv_proj flop=123 bytes=4.5e6"
    assert read_path(path) == StepAnnotation("decode", 8, 500, 1, "qkv_proj", 123.0, 4.5e6)


def test_an_operation_needs_no_step() -> None:
    """What the step would say is missing."""
    found = read_path("nsightlens@op v1 name=attention flop=10")
    assert found == StepAnnotation(operation="attention", operation_flop=10.0)


def test_the_innermost_range_of_each_kind_counts() -> None:
    """A nested operation replaces the outer one, and a nested step both."""
    path = f"{STEP}/op v1 name=layer/op v1 name=attention"
    assert read_path(path).operation == "attention"
    nested = f"{path}/step v1 phase=prefill batch_size=1"
    assert read_path(nested) == StepAnnotation(phase="prefill", batch_size=1)


@pytest.mark.parametrize(
    "path",
    [
        "step v1 phase=decode batch_size=8",  # not in our domain
        "other@step v1 phase=decode",
        "nsightlens@step v2 phase=decode",
        "nsightlens@steps v1 phase=decode",
        "nsightlens@step v1 phase=sleeping batch_size=-1 context=many",
        "nsightlens@step v1 batch_size=99999999999999999999 context=1" + "0" * 5000,
        "nsightlens@op v1 name flop=nan bytes=-4",
        "DecodeStep",
        "aDecodeStep3",
        "DecodeStep3b",
        "",
    ],
)
def test_nothing_is_made_of_what_is_not_the_grammar(path: str) -> None:
    """Another domain, version, word or value says nothing."""
    assert read_path(path) == StepAnnotation()


@pytest.mark.parametrize(
    ("path", "phase"),
    [("DecodeStep335", "decode"), ("PrefillStep0", "prefill"), ("a/DecodeStep1/b", "decode")],
)
def test_the_steps_of_the_memory_gap_study_give_the_phase_only(path: str, phase: str) -> None:
    """They hold no batch size."""
    assert read_path(path) == StepAnnotation(phase=phase)


def test_ranges_of_several_domains_are_read_apart() -> None:
    """Domains are divided by semicolons; the first grammar that says something wins."""
    path = f"forward;{STEP};NCCL@allreduce;PrefillStep4"
    assert read_path(path) == StepAnnotation("decode", 8, 500, 1)


def test_a_column_of_paths_keeps_its_order_and_its_nulls() -> None:
    """Each path gets its own row, whatever type the column has."""
    paths = [STEP, None, "PrefillStep1", STEP]
    plain = pa.array(paths, pa.string())
    columns = (plain, plain.dictionary_encode(), pa.chunked_array([plain[:1], plain[1:]]))
    for column in columns:
        table = annotate_paths(column)
        assert table["phase"].to_pylist() == ["decode", None, "prefill", "decode"]
        assert table["batch_size"].to_pylist() == [8, None, None, 8]


def test_no_paths_give_no_rows() -> None:
    """An empty column has the same columns."""
    assert annotate_paths(pa.array([], pa.string())).num_rows == 0
