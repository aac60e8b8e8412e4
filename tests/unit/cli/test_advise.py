"""advise: the batch size to serve with, from files as they lie there."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from support.timelines import write_decode_trace

import nsightlens.example
from nsightlens.cli.advise import duration_ms
from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from support.command import CommandLine

SWEEP = str(nsightlens.example.serving_path())


def _json(run: CommandLine, *words: str) -> dict[str, Any]:
    done = run("advise", *words, "--json")
    assert done.code == 0, done.err
    answer: dict[str, Any] = json.loads(done.out)
    jsonschema.validate(answer, json.loads(published("advice")))
    return answer


def _table(rows: list[dict[str, Any]], name: str = "runs.csv") -> str:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return name


def _rows(**columns: list[Any]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


SMALL = _rows(
    max_num_seqs=[1, 8, 64],
    total_tok_per_s=[100.0, 700.0, 3000.0],
    mean_itl_ms=[10.0, 11.0, 20.0],
    preemption_count=[0, 0, 0],
)


def test_the_page_says_what_to_serve_with_and_why(run: CommandLine) -> None:
    done = run("advise", SWEEP, "--slo-x", "2", "--width", "100")
    assert done.code == 0, done.err
    for words in (
        "Serve with batch size 128",
        "vllm serve opt-1.3b --max-num-seqs 128 --gpu-memory-utilization 0.145",
        "above the limit",
        "Knee at",
        "can be given back",
        "Up to 6 servers",
        "No profile says why",
        "Medium",
    ):
        assert words in " ".join(done.out.split()), words
    assert done.err == ""


def test_the_json_has_the_promised_keys_and_fits_its_schema(run: CommandLine) -> None:
    answer = _json(run, SWEEP, "--slo-x", "2")
    expected = {
        "b_opt", "binding_constraint", "slo_ms", "itl_ms", "throughput_tok_s", "efficiency", "knee",
        "kv_peak_pct", "kv_freed_gib", "gpu_memory_utilization", "replicas_max", "gain_bound",
        "warnings",
    }  # fmt: skip
    assert expected <= set(answer)
    assert answer["b_opt"] == 128
    assert answer["binding_constraint"] == "slo"


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("30ms", 30.0), ("0.03s", 30.0), ("30000us", 30.0), ("3e4us", 30.0), (".5 s", 500.0)],
)
def test_a_limit_has_its_unit(text: str, milliseconds: float) -> None:
    assert duration_ms(text) == milliseconds


def test_the_unit_of_a_limit_does_not_matter(run: CommandLine) -> None:
    answers = [_json(run, SWEEP, "--slo-itl", text) for text in ("8ms", "0.008s", "8000us")]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0]["b_opt"] == 192


@pytest.mark.parametrize(
    "words",
    [
        ("--slo-itl", "30"),
        ("--slo-itl", "fast"),
        ("--slo-itl", "0ms"),
        ("--slo-itl", "-3ms"),
        ("--slo-x", "0"),
        ("--busy", "120"),
        ("--busy", "0.6"),
        ("--only", "model"),
        ("--rule", "largest"),
        ("--slo-on", "tpot"),
        ("--what-if", "batch=many"),
        ("--what-if", "size=3"),
        ("--only", "modell=a"),
        ("--only", "model=a"),
        ("--slo-itl", "3ms", "--slo-itl", "4ms"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_understood_is_one_line_and_code_2(
    run: CommandLine, words: tuple[str, ...]
) -> None:
    done = run("advise", SWEEP, *words)
    assert done.code == 2
    assert done.out == ""
    assert len(done.err.splitlines()) == 1


def test_nothing_feasible_is_an_answer_with_the_least_limit_that_is_met(run: CommandLine) -> None:
    answer = _json(run, _table(SMALL), "--slo-itl", "5ms")
    assert answer["b_opt"] is None
    assert answer["binding_constraint"] == "slo"
    done = run("advise", "runs.csv", "--slo-itl", "5ms")
    assert done.code == 0
    assert "10" in done.out.splitlines()[1]


def test_a_preempted_run_is_never_the_answer(run: CommandLine) -> None:
    rows = [*SMALL, dict(SMALL[-1], max_num_seqs=128, total_tok_per_s=9000.0, preemption_count=4)]
    answer = _json(run, _table(rows))
    assert answer["b_opt"] == 64
    assert answer["binding_constraint"] == "preemption"


def test_both_rules_are_known_by_name(run: CommandLine) -> None:
    rows = [*SMALL, dict(SMALL[-1], max_num_seqs=128, total_tok_per_s=2900.0, mean_itl_ms=40.0)]
    name = _table(rows)
    assert _json(run, name, "--slo-itl", "50ms")["b_opt"] == 64
    assert _json(run, name, "--slo-itl", "50ms", "--rule", "largest")["b_opt"] == 128


def test_several_setups_are_listed_with_the_option_that_chooses(run: CommandLine) -> None:
    rows = [dict(row, model=model) for model in ("a", "b") for row in SMALL]
    done = run("advise", _table(rows))
    assert done.code == 2
    assert "--only model=a" in done.err
    assert _json(run, "runs.csv", "--only", "model=b")["setup"]["model"] == "b"


@pytest.mark.parametrize(
    ("name", "content", "code", "words"),
    [
        ("empty.json", b"", 4, "is empty"),
        ("cut.json", b'{"num_prompts": 3, "request_thr', 4, "ends early"),
        ("notes.txt", b"hello\n", 4, "no result"),
        ("bytes.json", b"\x00\x01\x02", 4, "no result"),
    ],
)
def test_a_file_that_is_of_no_use_is_a_diagnosis(
    run: CommandLine, name: str, content: bytes, code: int, words: str
) -> None:
    Path(name).write_bytes(content)
    done = run("advise", name)
    assert done.code == code
    assert words in done.err
    assert name in done.err
    assert done.out == ""
    assert len(done.err.splitlines()) == 1


def test_a_path_that_does_not_exist_is_code_3(run: CommandLine) -> None:
    assert run("advise", "nowhere").code == 3


def test_a_folder_without_results_is_code_4(run: CommandLine) -> None:
    Path("none").mkdir()
    done = run("advise", "none")
    assert done.code == 4
    assert "holds no result" in done.err


def test_a_damaged_file_among_good_ones_is_named_and_left_out(run: CommandLine) -> None:
    Path("folder").mkdir()
    _table(SMALL, "folder/runs.csv")
    Path("folder/empty.json").touch()
    done = run("advise", "folder")
    assert done.code == 0
    assert "empty.json: is empty" in done.err


def test_the_curve_comes_as_csv(run: CommandLine) -> None:
    done = run("advise", _table(SMALL), "-f", "csv")
    rows = list(csv.DictReader(io.StringIO(done.out)))
    assert [row["batch_size"] for row in rows] == ["1.0", "8.0", "64.0"]


def test_a_report_refers_to_the_figures_beside_it(run: CommandLine) -> None:
    pytest.importorskip("matplotlib")
    done = run("advise", SWEEP, "--slo-x", "2", "-o", "advice.md", "--figures", "figures")
    assert done.code == 0, done.err
    text = Path("advice.md").read_text(encoding="utf-8")
    files = sorted(Path("figures").iterdir())
    assert files
    assert all(f"figures/{file.name}" in text for file in files)


def test_nothing_is_overwritten_without_force(run: CommandLine) -> None:
    Path("advice.md").write_text("mine", encoding="utf-8")
    done = run("advise", SWEEP, "-o", "advice.md")
    assert done.code == 6
    assert Path("advice.md").read_text(encoding="utf-8") == "mine"
    assert run("advise", SWEEP, "-o", "advice.md", "--force").code == 0


def test_a_result_is_not_written_over_what_is_read(run: CommandLine) -> None:
    name = _table(SMALL)
    before = Path(name).read_bytes()
    assert run("advise", name, "-o", name, "--force").code == 6
    assert Path(name).read_bytes() == before


def test_profiles_say_why(run: CommandLine) -> None:
    answer = _json(run, SWEEP, "--profile", str(nsightlens.example.path()))
    assert answer["why"]["verdict"] == "attention_bandwidth"


def test_a_trace_says_what_a_step_waits_for(run: CommandLine) -> None:
    trace = str(write_decode_trace(Path()))
    answer = _json(run, SWEEP, "--profile", trace)
    assert answer["step_costs"]


def test_what_was_not_measured_is_marked_as_predicted(run: CommandLine) -> None:
    done = run("advise", SWEEP, "--what-if", "batch=160")
    assert "Predicted for batch 160" in " ".join(done.out.split())
    (prediction,) = _json(run, SWEEP, "--what-if", "batch=160")["predictions"]
    assert prediction["backtest_max_error_pct"] < 1


def test_a_profile_among_the_results_is_pointed_out(run: CommandLine) -> None:
    Path("folder").mkdir()
    _table(SMALL, "folder/runs.csv")
    Path("folder/step.ncu-rep").write_bytes(nsightlens.example.path().read_bytes())
    done = run("advise", "folder")
    assert done.code == 0
    assert "--profile" in done.err
