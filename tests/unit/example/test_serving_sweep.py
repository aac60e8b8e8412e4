"""The bundled serving sweep is what its model writes, and follows the law that it is made by."""

from __future__ import annotations

import csv
import io

import pytest

from nsightlens.example import serving_path
from nsightlens.example.serving_sweep import BATCH_SIZES, encode_serving_sweep


def _rows() -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(encode_serving_sweep())))


def test_the_bundled_file_is_what_the_model_writes() -> None:
    assert serving_path().read_text(encoding="utf-8") == encode_serving_sweep()


def test_it_says_that_it_is_synthetic() -> None:
    assert {row["workload"] for row in _rows()} == {"synthetic"}
    assert "synthetic" in serving_path().name


def test_latency_is_a_line_in_the_running_batch() -> None:
    points = [(float(row["mean_running"]), float(row["mean_itl_ms"])) for row in _rows()]
    (x0, y0), *rest = points
    slopes = [(y - y0) / (x - x0) for x, y in rest]
    assert slopes == pytest.approx([slopes[-1]] * len(slopes), rel=0.01)


def test_only_the_largest_batch_does_not_fit_into_the_pool() -> None:
    preempted = [int(row["max_num_seqs"]) for row in _rows() if row["preemption_count"] != "0"]
    assert preempted == [BATCH_SIZES[-1]]
