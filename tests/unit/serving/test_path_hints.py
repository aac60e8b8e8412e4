"""Names of files and folders say little, and are only believed where nothing else says it."""

from __future__ import annotations

from pathlib import PurePath

import pytest

from nsightlens.serving.path_hints import hints_of, varying_numbers


def _values(path: str) -> dict[str, object]:
    return {column: hint.value for column, hint in hints_of(PurePath(path)).items()}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("max_num_seqs_64/a.json", {"max_num_seqs": 64}),
        ("max-num-seqs=64/a.json", {"max_num_seqs": 64}),
        (
            "SERVE--max_num_seqs=4-BENCH--max_concurrency=2/run=0.json",
            {"max_num_seqs": 4, "max_concurrency": 2},
        ),
        ("run_bs16.json", {"static_batch_size": 16}),
        ("batch-8/r.json", {"static_batch_size": 8}),
        (
            "minimax_tep8_isl1024_osl128_conc16.json",
            {"workload": "in1024_out128", "max_concurrency": 16},
        ),
        ("model-tp4-concurrency64/p.json", {"tensor_parallel_size": 4, "max_concurrency": 64}),
        ("96_replicas_2_mps/a.json", {"replicas": 2, "mps": True}),
        ("2_replicas_no_mps/a.json", {"replicas": 2, "mps": False}),
        ("chunked_prefill/a.json", {"chunked_prefill": True}),
    ],
)
def test_a_name_gives_the_setting_that_it_spells_out(
    path: str, expected: dict[str, object]
) -> None:
    assert _values(path) == expected


@pytest.mark.parametrize(
    "path",
    [
        "opt-1.3b/a.json",
        "openai-infqps-llama-2-7b-20250218-164812.json",
        "min10_out/a.json",
        "b200/h100-80gb/results.json",
        "bs0/a.json",
        "conc99999999999/a.json",
    ],
)
def test_a_name_that_spells_out_no_setting_gives_none(path: str) -> None:
    assert _values(path) == {}


def test_the_nearest_name_wins() -> None:
    assert _values("max_num_seqs_64/max_num_seqs_8/a.json")["max_num_seqs"] == 8


def test_the_one_number_that_varies_among_names_is_the_batch_size() -> None:
    """The paper's folders: opt-1.3b_64_20250218-164812."""
    paths = [PurePath(f"llama-2-7b_{n}_20250218-16481{n % 10}/x.json") for n in (1, 8, 64)]
    assert [one and one[0] for one in varying_numbers(paths)] == [1, 8, 64]


@pytest.mark.parametrize(
    "names",
    [
        ["a_1.json", "a_2.json"],
        ["a_1_4.json", "a_2_8.json", "a_3_9.json"],
        ["a_1.json", "a_1x.json", "b_2.json"],
        ["a_4qps.json", "a_8qps.json", "a_16qps.json"],
        ["a_20250218-164812.json", "a_20250218-164813.json", "a_20250218-164814.json"],
    ],
)
def test_names_that_differ_in_anything_else_say_no_batch_size(names: list[str]) -> None:
    """Two files, two numbers, other words, request rates and dates are no batch sizes."""
    assert varying_numbers([PurePath(name) for name in names]) == [None] * len(names)
