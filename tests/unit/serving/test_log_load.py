"""Lines of load become samples: times of the log's clock, engines added up, shares in percent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.server_logs import (
    parts_of,
    sgl_decode,
    sgl_start,
    v0_start,
    v0_stats,
    v1_start,
    v1_stats,
)

from nsightlens.serving.logs.log_text import seconds_of_clock

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.serving.part import Samples


def samples_of(folder: Path, text: str) -> Samples:
    """Return the samples of a log, whose names are known and whose times do not fall."""
    samples = parts_of(folder, text).samples
    assert samples is not None
    assert not samples.begins_with_run
    assert (np.diff(samples.time_s) >= 0).all()
    assert {values.size for values in samples.columns.values()} == {samples.time_s.size}
    return samples


def test_lines_of_v0_have_pending_and_swapped(tmp_path: Path) -> None:
    """Both wait; the share of the pool is in percent already."""
    samples = samples_of(
        tmp_path, v0_start() + v0_stats(1, 8, 12.5, pending=3) + v0_stats(6, 4, 6.2)
    )
    assert list(np.diff(samples.time_s)) == [5.0]
    assert list(samples.columns["running"]) == [8.0, 4.0]
    assert list(samples.columns["waiting"]) == [4.0, 1.0]
    assert list(samples.columns["kv_usage_pct"]) == [12.5, 6.2]
    assert list(samples.columns["output_tok_per_s"]) == [80.0, 40.0]


def test_v0_prints_its_prefix_cache_on_a_line_of_its_own(tmp_path: Path) -> None:
    """The share is of all requests so far, so that the last line counts."""
    line = "INFO 02-19 15:23:07 metrics.py:471] Prefix cache hit rate: GPU: {}%, CPU: 0.00%\n"
    text = v0_start() + v0_stats(1, 8, 12.5) + line.format("1.00") + line.format("12.50")
    assert parts_of(tmp_path, text).values["prefix_hit_pct"] == 12.5


def test_a_peak_between_lines_may_be_missed(tmp_path: Path) -> None:
    """Peaks of a log say that they are lower bounds."""
    part = parts_of(tmp_path, v0_start() + v0_stats(1, 8, 12.5) + v0_stats(6, 4, 6.2))
    assert (part.values["kv_peak_pct"], part.values["max_running"]) == (12.5, 8.0)
    assert "lower bound" in part.derived["kv_peak_pct"]
    assert "lower bound" in part.derived["max_running"]


def test_two_records_on_one_line_are_two(tmp_path: Path) -> None:
    """Processes that share a terminal write into one another's line; each has its own clock."""
    text = v1_start() + v1_stats(10, 8, 5.0).rstrip("\n") + v1_stats(20, 4, 3.0)
    samples = samples_of(tmp_path, text)
    assert list(samples.columns["running"]) == [8.0, 4.0]
    assert list(np.diff(samples.time_s)) == [10.0]


def test_colours_and_prefixes_do_not_matter(tmp_path: Path) -> None:
    """Terminals colour the name of the process, and copies of them keep a rest of it."""
    for begin, end in (("\x1b[1;36m", "\x1b[0;0m"), ("[1;36m", "[0;0m"), ("vllm-1  | ", "")):
        text = v1_start() + v1_stats(10, 8, 5.0)
        coloured = "".join(f"{begin}{line}{end}\n" for line in text.splitlines())
        assert list(samples_of(tmp_path, coloured).columns["running"]) == [8.0]
        assert parts_of(tmp_path, coloured).values["max_num_seqs"] == 64


def test_engines_that_serve_together_are_added_up(tmp_path: Path) -> None:
    """What runs is summed, of the pools the fullest counts; an engine at rest prints nothing."""
    text = v1_start() + "".join(
        (
            v1_stats(10, 8, 5.0, engine="Engine 000"),
            v1_stats(10, 6, 9.0, engine="Engine 001"),
            v1_stats(20, 4, 3.0, engine="Engine 001"),
            v1_stats(30, 2, 2.0, engine="Engine 000"),
            v1_stats(31, 1, 1.0, engine="Engine 001"),
        )
    )
    samples = samples_of(tmp_path, text)
    assert list(samples.columns["running"]) == [14.0, 4.0, 3.0]
    assert list(samples.columns["kv_usage_pct"]) == [9.0, 3.0, 2.0]
    assert "several_engines" in {note.key for note in parts_of(tmp_path, text).notes}


def test_a_sum_that_vllm_made_itself_is_taken_alone(tmp_path: Path) -> None:
    """A line for all engines stands beside those of each."""
    text = v1_start() + v1_stats(10, 14, 9.0, engine="2 Engines Aggregated")
    text += v1_stats(10, 8, 5.0) + v1_stats(10, 6, 9.0, engine="Engine 001")
    assert list(samples_of(tmp_path, text).columns["running"]) == [14.0]


def test_a_repeated_line_of_a_cluster_is_not_added(tmp_path: Path) -> None:
    """Ray marks a line that stands for equal ones of other workers."""
    text = v1_start() + v1_stats(10, 8, 5.0)
    text += v1_stats(10, 8, 5.0).rstrip("\n") + " [repeated 3x across cluster]\n"
    assert list(samples_of(tmp_path, text).columns["running"]) == [8.0]


def test_newer_lines_name_the_device_and_what_was_put_off(tmp_path: Path) -> None:
    """Deferred requests, the fetching of KV and another device do not hide the rest."""
    text = v1_start("0.33.0") + (
        "INFO 06-17 10:01:10 [loggers.py:9] Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg "
        "generation throughput: 160.0 tokens/s, Running: 8 reqs, Waiting: 3 reqs, "
        "Deferred: 1 reqs, Preemptions: 2, XPU KV cache usage: 5.0%\n"
    )
    samples = samples_of(tmp_path, text)
    assert [float(samples.columns[name][0]) for name in ("running", "waiting", "kv_usage_pct")] == [
        8.0, 3.0, 5.0,
    ]  # fmt: skip
    assert "prefix_hit_pct" not in samples.columns


def test_a_share_of_sglang_is_a_fraction(tmp_path: Path) -> None:
    """Of several pools the fullest counts, and prompts may find it fuller than decoding does."""
    text = sgl_start() + sgl_decode(1, 8, "#token: 20000, token usage: 0.50")
    text += sgl_decode(
        2, 6, "#full token: 9000, full token usage: 0.30, #swa token: 8000, swa token usage: 0.60"
    )
    samples = samples_of(tmp_path, text)
    assert list(samples.columns["kv_usage_pct"]) == [50.0, 60.0]
    assert list(samples.columns["output_tok_per_s"]) == [240.0, 180.0]
    text += (
        "[2025-05-21 10:37:03 TP0] Prefill batch. #new-seq: 4, #new-token: 900, "
        "#cached-token: 100, token usage: 0.95, #running-req: 6, #queue-req: 0\n"
    )
    part = parts_of(tmp_path, text)
    assert part.values["kv_peak_pct"] == pytest.approx(95.0)
    assert part.values["prefix_hit_pct"] == pytest.approx(10.0)
    assert part.samples is not None
    assert np.nanmax(part.samples.columns["kv_usage_pct"]) == pytest.approx(95.0)
    assert list(part.samples.columns["running"][:2]) == [8.0, 6.0]


def test_ranks_of_sglang_are_added_up(tmp_path: Path) -> None:
    """Each rank of data parallelism decodes a batch of its own."""
    text = sgl_start() + sgl_decode(1, 8, "#token: 1, token usage: 0.10", rank="DP0 TP0")
    text += sgl_decode(1, 6, "#token: 1, token usage: 0.20", rank="DP1 TP1")
    assert list(samples_of(tmp_path, text).columns["running"]) == [14.0]


def test_the_newest_lines_of_sglang_have_a_comma_and_a_number(tmp_path: Path) -> None:
    """0.5 writes ``Decode batch [40], #running-req``, and names another backend's graphs."""
    text = sgl_start() + (
        "[2025-05-21 10:37:01 TP0] Decode batch [40], #running-req: 8, #token: 20000, token "
        "usage: 0.50, accept len: 2.50, npu graph: True, gen throughput (token/s): 240.00, "
        "#queue-req: 2, \n"
    )
    assert list(samples_of(tmp_path, text).columns["running"]) == [8.0]


def test_lines_without_a_clock_are_an_interval_apart(tmp_path: Path) -> None:
    """A note says that times are assumed."""
    line = v1_stats(10, 8, 5.0).split("] ", 1)[1]
    part = parts_of(tmp_path, line + line)
    assert part.samples is not None
    assert list(part.samples.time_s) == [0.0, 10.0]
    assert "no_clock" in {note.key for note in part.notes}


def test_a_year_ends_within_a_log(tmp_path: Path) -> None:
    """Lines of vLLM have no year: the first of January comes after the last of December."""
    one = v1_stats(10, 8, 5.0).replace("06-17 10:01:10", "12-31 23:59:55")
    two = v1_stats(10, 4, 5.0).replace("06-17 10:01:10", "01-01 00:00:05")
    assert list(np.diff(samples_of(tmp_path, one + two).time_s)) == [10.0]


def test_a_clock_that_is_set_back_does_not_let_time_fall(tmp_path: Path) -> None:
    """Summer ends, and processes print a second late."""
    text = v1_stats(20, 8, 5.0) + v1_stats(10, 4, 5.0) + v1_stats(30, 2, 5.0)
    assert list(np.diff(samples_of(tmp_path, text).time_s)) == [0.0, 10.0]


@pytest.mark.parametrize("usage", ["250.0", "9" * 30])
def test_an_impossible_share_is_no_share(tmp_path: Path, usage: str) -> None:
    """A damaged line gives no use of the pool."""
    text = v1_stats(10, 8, 5.0).replace("usage: 5.0%", f"usage: {usage}%")
    part = parts_of(tmp_path, text)
    assert "kv_peak_pct" not in part.values


def test_clocks_of_other_servers_have_a_year() -> None:
    """SGLang, containers and TensorRT-LLM print the date in three ways."""
    expected = seconds_of_clock("2025-01-18T00:55:14.250Z INFO x")
    assert expected is not None
    assert seconds_of_clock("[2025-01-18 00:55:14 TP0] x") == expected - 0.25
    assert seconds_of_clock("[01/18/2025-00:55:14] [TRT-LLM] [I] x") == expected - 0.25
    assert seconds_of_clock("INFO 02-30 00:00:00 no such day") is None
    assert seconds_of_clock("0000-00-00 00:00:00") is None
