"""Files that lie together belong together; what may be of several runs is given to none wrongly."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsightlens.serving.grouping import Group, Located, groups_of
from nsightlens.serving.part import Part

if TYPE_CHECKING:
    from nsightlens.serving.part import PartKind


def _at(path: str, kind: PartKind = "result", key: str = "", **values: Any) -> Located:
    return Located(Part(kind, path, "test", values, run_key=key), Path(path))


def _own(group: Group) -> list[str]:
    return [one.part.path for one in group.own]


def _shared(group: Group) -> list[str]:
    return [one.part.path for one in group.shared]


def test_a_log_belongs_to_the_one_result_in_its_folder() -> None:
    groups, unused = groups_of(
        [
            _at("r/b1/a.json"),
            _at("r/b1/s.log", "server"),
            _at("r/b2/a.json"),
            _at("r/b2/s.log", "server"),
        ]
    )
    assert [_own(group) for group in groups] == [["r/b1/s.log"], ["r/b2/s.log"]]
    assert unused == []


def test_a_log_in_a_folder_of_its_own_belongs_to_the_result_above_it() -> None:
    groups, _ = groups_of([_at("r/b1/a.json"), _at("r/b1/logs/s.log", "server")])
    assert _own(groups[0]) == ["r/b1/logs/s.log"]


def test_one_log_above_many_results_is_shared() -> None:
    groups, unused = groups_of(
        [_at("r/s.log", "server"), _at("r/c1/a.json"), _at("r/c2/a.json"), _at("r/gpu.csv", "gpu")]
    )
    assert [_shared(group) for group in groups] == [["r/s.log"], ["r/s.log"]]
    assert [one.part.path for one, _ in unused] == ["r/gpu.csv"]
    assert "2 results" in unused[0][1]


def test_logs_and_results_in_one_folder_are_matched_by_the_batch_size_in_their_names() -> None:
    names = ["r/bench_conc8.json", "r/bench_conc16.json"]
    logs = [_at("r/server_conc16.log", "server"), _at("r/server_conc8.log", "server")]
    groups, unused = groups_of([*(_at(name) for name in names), *logs])
    assert [_own(group) for group in groups] == [["r/server_conc8.log"], ["r/server_conc16.log"]]
    assert unused == []


def test_logs_are_matched_by_the_setting_that_they_print() -> None:
    results = [_at("r/a.json", max_num_seqs=8), _at("r/b.json", max_num_seqs=16)]
    logs = [_at("r/x.log", "server", max_num_seqs=16), _at("r/y.log", "server", max_num_seqs=8)]
    groups, _ = groups_of([*results, *logs])
    assert [_own(group) for group in groups] == [["r/y.log"], ["r/x.log"]]


def test_several_logs_beside_several_results_without_a_word_are_not_used() -> None:
    groups, unused = groups_of(
        [_at("r/a.json"), _at("r/b.json"), _at("r/x.log", "server"), _at("r/y.log", "server")]
    )
    assert all(not group.own and not group.shared for group in groups)
    assert len(unused) == 2


def test_a_log_without_any_result_is_a_group_of_its_own() -> None:
    groups, _ = groups_of([_at("r/s.log", "server"), _at("r/m.csv", "samples")])
    assert len(groups) == 1
    assert _own(groups[0]) == ["r/s.log", "r/m.csv"]


def test_runs_of_one_file_are_told_apart_by_their_keys() -> None:
    groups, _ = groups_of([_at("r/a.jsonl", key="line 1"), _at("r/a.jsonl", key="line 2")])
    assert len(groups) == 2


def test_results_of_servers_in_one_folder_are_one_run_of_replicas() -> None:
    groups, _ = groups_of(
        [
            _at("r/bench_server_0.json"),
            _at("r/bench_server_1.json"),
            _at("r/metrics_server_0.csv", "samples"),
            _at("r/metrics_server_1.csv", "samples"),
        ]
    )
    assert len(groups) == 1
    assert len(groups[0].results) == 2
    assert len(groups[0].own) == 2


def test_a_name_bs64_matches_a_log_that_prints_max_num_seqs() -> None:
    results = [_at("r/bs8.json"), _at("r/bs64.json")]
    logs = [_at("r/x.log", "server", max_num_seqs=64), _at("r/y.log", "server", max_num_seqs=8)]
    groups, unused = groups_of([*results, *logs])
    assert [_own(group) for group in groups] == [["r/y.log"], ["r/x.log"]]
    assert unused == []


def test_a_name_that_is_a_number_matches_a_log_that_prints_it() -> None:
    results = [_at("r/8.json"), _at("r/64.json")]
    logs = [_at("r/l/a.log", "server", max_num_seqs=64), _at("r/l/b.log", "server", max_num_seqs=8)]
    groups, unused = groups_of([*results, *logs])
    assert [_own(group) for group in groups] == [["r/l/b.log"], ["r/l/a.log"]]
    assert unused == []


def test_flat_files_of_servers_are_one_run_for_each_load() -> None:
    names = [f"r/bs{b}_server_{i}.json" for b in (8, 64) for i in (0, 1)]
    groups, _ = groups_of([_at(name) for name in names])
    assert [len(group.results) for group in groups] == [2, 2]


def test_files_that_count_servers_under_different_loads_are_no_replicas() -> None:
    results = [_at(f"r/r_server_{i}.json", max_concurrency=8 * (i + 1)) for i in range(3)]
    groups, _ = groups_of(results)
    assert len(groups) == 3


def test_the_log_of_a_run_without_a_result_is_of_no_other_run() -> None:
    """The server of bs256 ran out of memory: its log says nothing of bs8 and bs64."""
    results = [_at("r/bs8/a.json"), _at("r/bs64/a.json")]
    groups, unused = groups_of([*results, _at("r/bs256/s.log", "server", max_num_seqs=256)])
    assert all(not group.own and not group.shared for group in groups)
    assert [one.part.path for one, _ in unused] == ["r/bs256/s.log"]


def test_a_log_in_a_folder_beside_that_of_the_results_is_theirs() -> None:
    groups, _ = groups_of([_at("r/out/a.json"), _at("r/out/b.json"), _at("r/logs/s.log", "server")])
    assert [_shared(group) for group in groups] == [["r/logs/s.log"]] * 2
