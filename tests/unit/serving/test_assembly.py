"""A run takes from each of its files what that file knows best."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nsightlens.serving.assembly import run_of_group
from nsightlens.serving.grouping import Group, Located
from nsightlens.serving.part import Note, Part, Samples

if TYPE_CHECKING:
    from nsightlens.serving.part import PartKind
    from nsightlens.serving.run import Run


def _at(
    path: str, kind: PartKind = "result", samples: Samples | None = None, **values: Any
) -> Located:
    return Located(Part(kind, path, "test", values, samples=samples), Path(path))


def _samples(**columns: list[float]) -> Samples:
    length = len(next(iter(columns.values())))
    arrays = {name: np.array(values, float) for name, values in columns.items()}
    return Samples(np.arange(length, dtype=float), arrays)


def _run(*located: Located, shared: tuple[Located, ...] = ()) -> Run:
    results = [one for one in located if one.part.kind == "result"]
    own = [one for one in located if one.part.kind != "result"]
    run = run_of_group(Group(results, own, list(shared)), "r")
    assert run is not None
    return run


def test_what_the_metrics_say_of_the_running_batch_comes_before_the_log() -> None:
    log = _samples(running=[9, 9, 9], kv_usage_pct=[1, 1, 1])
    run = _run(
        _at("a/r.json", output_tok_per_s=10.0, duration_s=2.0),
        _at("a/s.log", "server", log, kv_peak_pct=2.0),
        _at("a/m.csv", "samples", _samples(running=[4, 4, 4], kv_usage_pct=[5, 6, 7])),
    )
    assert run.values["mean_running"] == 4.0
    assert run.values["running_source"] == "samples"
    assert run.values["kv_peak_pct"] == 7.0
    assert run.origins["kv_peak_pct"].path == "a/m.csv"


def test_a_preemption_that_the_counter_saw_is_not_hidden_by_a_log_without_warnings() -> None:
    run = _run(
        _at("a/r.json", output_tok_per_s=10.0, duration_s=2.0),
        _at("a/s.log", "server", preemption_count=0),
        _at("a/m.csv", "samples", _samples(preemption_total=[0, 5, 543])),
    )
    assert run.values["preemption_count"] == 543.0


def test_rates_follow_from_counts_and_the_duration() -> None:
    run = _run(
        _at("r.json", completed_count=10, duration_s=5.0, input_token_count=100,
            output_token_count=400)
    )  # fmt: skip
    assert run.values["requests_per_s"] == 2.0
    assert run.values["output_tok_per_s"] == 80.0
    assert run.values["total_tok_per_s"] == 100.0
    assert run.values["mean_output_tokens"] == 40.0
    assert run.origins["requests_per_s"].derived == "completed over duration"


def test_the_pool_follows_from_the_memory_profile() -> None:
    log = _at("s.log", "server", gpu_memory_utilization=0.9, total_memory_gib=63.43,
              peak_torch_gib=2.72, non_torch_gib=0.10)  # fmt: skip
    assert _run(_at("r.json", output_tok_per_s=1.0), log).values["kv_pool_gib"] == pytest.approx(
        54.267
    )


def test_a_name_fills_a_gap_and_contradicts_what_is_there_aloud() -> None:
    gap = _run(_at("max_num_seqs_64/r.json", output_tok_per_s=1.0))
    assert gap.values["max_num_seqs"] == 64
    assert gap.origins["max_num_seqs"].format == "name"
    said = _run(_at("max_num_seqs_64/r.json", output_tok_per_s=1.0, max_num_seqs=96))
    assert said.values["max_num_seqs"] == 96
    assert [note.key for note in said.notes] == ["contradiction"]


def test_a_shared_server_says_nothing_of_what_happened() -> None:
    log = _at("s.log", "server", max_num_seqs=64, preemption_count=7)
    run = _run(_at("c1/r.json", output_tok_per_s=1.0), shared=(log,))
    assert run.values["max_num_seqs"] == 64
    assert "preemption_count" not in run.values
    assert [note.key for note in run.notes] == ["shared_server"]


def test_clients_of_servers_that_ran_at_once_add_up() -> None:
    one = _at("r/b_server_0.json", completed_count=10, duration_s=10.0, output_token_count=1000,
              mean_itl_ms=10.0, p99_itl_ms=30.0, max_num_seqs=96)  # fmt: skip
    other = _at("r/b_server_1.json", completed_count=30, duration_s=20.0, output_token_count=3000,
                mean_itl_ms=20.0, p99_itl_ms=40.0, max_num_seqs=96)  # fmt: skip
    run = _run(one, other)
    assert run.values["replicas"] == 2
    assert run.values["output_tok_per_s"] == 200.0
    assert run.values["mean_itl_ms"] == 17.5
    assert run.values["p99_itl_ms"] == 40.0
    assert run.values["max_num_seqs"] == 96
    assert [note.key for note in run.notes] == ["uneven_clients"]


def test_servers_beside_one_result_are_its_replicas() -> None:
    run = _run(
        _at("r/r.json", output_tok_per_s=9.0, duration_s=1.0),
        _at("r/m_server_0.csv", "samples", _samples(running=[4, 4], kv_usage_pct=[10, 20])),
        _at("r/m_server_1.csv", "samples", _samples(running=[4, 4], kv_usage_pct=[10, 30])),
        _at("r/server_0.log", "server", kv_block_count=3744, preemption_count=0),
        _at("r/server_1.log", "server", kv_block_count=3810, preemption_count=2),
    )
    assert run.values["replicas"] == 2
    assert run.values["mean_running"] == 8.0
    assert run.values["kv_peak_pct"] == 30.0
    assert run.values["kv_block_count"] == 3744
    assert run.values["preemption_count"] == 2.0


def test_two_files_of_samples_that_are_not_of_two_servers_are_not_added_up() -> None:
    run = _run(
        _at("r/r.json", output_tok_per_s=9.0, duration_s=1.0),
        _at("r/before.csv", "samples", _samples(running=[4, 4])),
        _at("r/after.csv", "samples", _samples(running=[4, 4])),
    )
    assert "mean_running" not in run.values
    assert [note.key for note in run.notes] == ["samples_unclear"]


def test_a_log_without_a_result_is_a_run_that_says_so() -> None:
    run = _run(_at("s.log", "server", _samples(running=[0, 8, 8], output_tok_per_s=[0, 400, 400])))
    assert run.values["output_tok_per_s"] == 400.0
    assert run.values["mean_tpot_ms"] == 20.0
    assert [note.key for note in run.notes] == ["log_alone"]


def test_settings_alone_are_no_run() -> None:
    assert run_of_group(Group([], [_at("s.log", "server", max_num_seqs=64)], []), "r") is None


def test_notes_of_the_parts_are_kept_once() -> None:
    part = Part("result", "r.json", "test", {"output_tok_per_s": 1.0}, notes=(Note("k", "t"),) * 2)
    assert _run(Located(part, Path("r.json"))).notes == [Note("k", "t")]


def test_a_batch_in_a_name_below_what_the_server_allows_is_the_clients() -> None:
    """bs8 on a server of 256: eight are in flight, and 256 is no batch size of this run."""
    log = _at("s.log", "server", max_num_seqs=256)
    for run in (
        _run(_at("bs8.json", output_tok_per_s=1.0), shared=(log,)),
        _run(_at("bs8/r.json", output_tok_per_s=1.0), _at("bs8/s.log", "server", max_num_seqs=256)),
    ):
        assert run.values["max_concurrency"] == 8 or run.values["max_num_seqs"] == 8


def test_the_setting_in_a_name_is_of_the_run_and_a_shared_server_is_not() -> None:
    log = _at("s.log", "server", max_num_seqs=256)
    run = _run(_at("max_num_seqs_8/r.json", output_tok_per_s=1.0), shared=(log,))
    assert run.values["max_num_seqs"] == 8
    assert "contradiction" in [note.key for note in run.notes]


def test_a_batch_in_a_name_above_what_the_server_allows_is_a_contradiction() -> None:
    run = _run(
        _at("bs96/r.json", output_tok_per_s=1.0), _at("bs96/s.log", "server", max_num_seqs=64)
    )
    assert run.values["max_num_seqs"] == 64
    assert "contradiction" in [note.key for note in run.notes]
