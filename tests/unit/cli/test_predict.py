"""predict: the tables of a sweep for a model and a GPU that are only named."""

from __future__ import annotations

import argparse
import csv
import io
import json
from pathlib import Path
from typing import TYPE_CHECKING

import jsonschema
import pytest

from nsightlens.cli import predict as command
from nsightlens.models import WEIGHT_BYTES, builtin_models
from nsightlens.render.json_schema import published
from nsightlens.sweeps.predict_dtypes import KV_BYTES
from nsightlens.sweeps.predict_inputs import LARGEST_BATCH_SIZE, LARGEST_CONTEXT
from nsightlens.sweeps.predict_peaks import CLOCKS
from nsightlens.tables import SWEEP

if TYPE_CHECKING:
    from support.command import CommandLine

OPT = (
    "predict", "--model", "opt-1.3b", "--device", "H100", "SXM5", "80GB", "--batch-sizes", "1:512",
    "--context", "500",
)  # fmt: skip

CEILINGS = """
format = "nsightlens.peaks"
version = 1

[[device]]
name = "NVIDIA L4"
source = "copy kernels"

[device.peak_per_s]
dram = "3.05 TB/s"
"""


def test_the_text_begins_with_what_holds_at_every_batch_size(run: CommandLine) -> None:
    """The figures of the paper: bytes of a token, intensity, crossovers, knee."""
    done = run(*OPT, "--width", "120")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert lines[0].startswith("analytic, nothing was measured")
    for fact in (
        "196,608 B a token in 16 bit",
        "3,145,728 B",
        "1 FLOP/B with a 16-bit cache, 2 with 8 bit",
        "H100 SXM 45, H200 65, H100 64 GB 22",
        "from 26.8",
        "847 sequences of 500 tokens",
        "tensor cores at 1830 MHz",
    ):
        assert fact in " ".join(done.out.split()), fact
    assert max(map(len, lines)) <= 120


@pytest.mark.parametrize("width", ["40", "80", "100", "200"])
def test_no_line_is_wider_than_the_terminal(run: CommandLine, width: str) -> None:
    lines = run(*OPT, "--width", width).out.splitlines()
    table = [line for line in lines if not line.startswith(("      ", "next"))]
    assert max(map(len, table)) <= int(width)


def test_json_has_the_schema_of_a_sweep_and_what_it_was_made_from(run: CommandLine) -> None:
    done = run(*OPT, "--format", "json")
    answer = json.loads(done.out)
    jsonschema.validate(answer, json.loads(published("sweep")))
    assert answer["source"]["options"]["device"] == "H100 SXM5 80GB"
    facts = answer["source"]["prediction"]
    assert facts["kv_bytes_per_token"] == 196_608
    assert facts["attention_intensity_8bit_flop_per_byte"] == 2
    assert [round(one["context_length"]) for one in facts["reference_crossovers"]] == [45, 65, 22]
    assert facts["knee_batch_size_at_500"] == pytest.approx(26.8, abs=0.1)
    assert {row["origin"] for row in answer["rows"]} == {"analytic"}
    assert len(answer["steps"]) == 10
    assert answer["verdict"]["explanation"] == "bandwidth_saturated_attention"


def test_csv_has_the_columns_of_the_table(run: CommandLine) -> None:
    rows = list(csv.DictReader(io.StringIO(run(*OPT, "-f", "csv").out)))
    assert list(rows[0]) == [column.name for column in SWEEP]
    assert {row["origin"] for row in rows} == {"analytic"}
    assert {row["achieved_occupancy_pct"] for row in rows} == {""}


def test_markdown_begins_with_what_it_is_of(run: CommandLine) -> None:
    """As text does: what stands in an issue has to say itself that nothing was measured."""
    text = run(*OPT, "-f", "markdown").out
    first, empty, fact, *_ = text.splitlines()
    assert first.startswith("**analytic, nothing was measured · opt-1.3b · decode · context 500 ·")
    assert empty == ""
    assert fact.startswith("- model: 1.32 billion parameters")
    assert "| attention |" in text


def test_what_does_not_fit_is_marked_in_every_format(run: CommandLine) -> None:
    """With 500 tokens 847 sequences fit."""
    words = (*OPT[:8], "1,847,848", *OPT[9:])
    text = run(*words, "--width", "120").out
    for batch in ("847 ", "848*"):
        # In the table of families and in that of steps.
        assert sum(line.lstrip().startswith(batch) for line in text.splitlines()) == 2
    assert "\n*     " in text
    markdown = run(*words, "-f", "markdown").out
    assert "| attention | 848\\* |" in markdown
    assert "\n| 848\\* |" in markdown
    assert "\\* does not fit in the memory of the GPU" in markdown
    rows = list(csv.DictReader(io.StringIO(run(*words, "-f", "csv").out)))
    answer = json.loads(run(*words, "-f", "json").out)
    for table, fits in ((rows, ("true", "false")), (answer["steps"], (True, False))):
        found = {str(row["batch_size"]): row["fits_in_memory"] for row in table}
        assert found == {"1": fits[0], "847": fits[0], "848": fits[1]}
    assert "*" not in run(*OPT).out


def test_a_result_goes_to_a_file_once(run: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "predicted.csv"
    assert run(*OPT, "-o", str(path)).code == 0
    assert path.read_text(encoding="utf-8").startswith("origin,")
    assert run(*OPT, "-o", str(path)).code == 6
    assert run(*OPT, "-o", str(path), "--force").code == 0


def test_the_models_are_listed(run: CommandLine) -> None:
    lines = run("predict", "--list-models", "--width", "160").out.splitlines()
    assert len(lines) == 2 + len(builtin_models())
    deepseek = next(line.split() for line in lines if line.startswith("deepseek-v3 "))
    assert deepseek[1:4] == ["671,026,419,200", "35,136", "fp8"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--device", "L4"), "--model, --batch-sizes, --context must be given"),
        ((*OPT[1:], "--model", "opt-125m"), "twice"),
        ((*OPT[1:], "--query", "501"), "--query 501 is more than --context 500"),
        ((*OPT[1:], "--tp", "3"), "cannot be divided among 3 GPUs"),
        ((*OPT[1:], "--tp", "9" * 20), "is more than 4096"),
        ((*OPT[1:-1], "9" * 20), f"argument --context: {'9' * 20} is more than 1000000000"),
        ((*OPT[1:], "--query", "9" * 20), f"argument --query: {'9' * 20} is more than 1000000000"),
        (("--batch-sizes", "1:1e9"), "'1e9' is not a whole number"),
        (("--batch-sizes", "9" * 4000), f"{'9' * 20} is more than 1000000"),
        (("--list-models", "-f", "json"), "--list-models is written as table or markdown"),
    ],
)
def test_a_slip_is_one_line_and_a_usage_error(
    run: CommandLine, words: tuple[str, ...], said: str
) -> None:
    done = run("predict", *words)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


@pytest.mark.parametrize("name", ["lama-3-8b", "no/config.json"])
def test_an_unknown_model_is_a_usage_error(run: CommandLine, name: str) -> None:
    done = run("predict", "--model", name, *OPT[3:])
    assert done.code == 2
    assert "is no built-in model" in done.err


def test_a_configuration_that_lacks_a_key_is_a_usage_error(
    run: CommandLine, tmp_path: Path
) -> None:
    path = tmp_path / "config.json"
    path.write_text('{"model_type": "llama"}', encoding="utf-8")
    done = run("predict", "--model", str(path), *OPT[3:])
    assert done.code == 2
    assert "has no num_attention_heads" in done.err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1", [1]),
        ("4,1,4", [1, 4]),
        ("1:512", [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]),
        ("1:4, 100", [1, 2, 4, 100]),
        ("3:100", [3, 6, 12, 24, 48, 96, 100]),
        ("1:3,3", [1, 2, 3]),
        ("5:5", [5]),
    ],
)
def test_batch_sizes_are_a_list_or_powers(text: str, expected: list[int]) -> None:
    assert command.batch_sizes(text) == expected


@pytest.mark.parametrize("text", ["", "0", "x", "1,,2", "8:1", "1:", ":8", "-1", "1:10000001"])
def test_what_is_no_list_of_batch_sizes_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        command.batch_sizes(text)


def test_the_choices_are_those_of_the_library() -> None:
    """Written twice, so that --help loads neither arrays nor tables."""
    assert tuple(WEIGHT_BYTES) == command.WEIGHT_TYPES
    assert tuple(KV_BYTES) == command.KV_TYPES
    assert CLOCKS == command.CLOCKS
    assert LARGEST_BATCH_SIZE == command.LARGEST_BATCH_SIZE
    assert LARGEST_CONTEXT == command.LARGEST_CONTEXT


def test_the_largest_step_is_predicted(run: CommandLine) -> None:
    """Absurd, and still read as numbers: one sequence outweighs the weights."""
    done = run(*OPT[:-3], "1000000", "--context", "1000000000", "--width", "200")
    assert (done.code, done.err) == (0, "")
    assert "the cache of one sequence outweighs the weights" in done.out


def test_a_model_that_hides_a_built_in_one_is_said(
    run: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "models" / "opt-1.3b"
    folder.mkdir(parents=True)
    config = {
        "model_type": "llama", "hidden_size": 64, "intermediate_size": 64, "vocab_size": 100,
        "num_attention_heads": 1, "num_hidden_layers": 1,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    for name, is_said in (("models/opt-1.3b", True), ("./models/opt-1.3b", False)):
        done = run("predict", "--model", name, *OPT[3:], "-f", "json")
        answer = json.loads(done.out)
        assert ("not the built-in opt-1.3b" in " ".join(answer["notes"])) == is_said
        source = answer["source"]["prediction"]["model_source"]
        assert source == str(Path("models", "opt-1.3b", "config.json"))


def test_ceilings_of_another_gpu_are_said_on_stderr(run: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "peaks.toml"
    path.write_text(CEILINGS, encoding="utf-8")
    done = run(*OPT, "--peaks", str(path), "-f", "json")
    assert done.code == 0
    assert done.err == (
        f"nsightlens: warning: {path}: its ceilings are not used: the device that was named is "
        "'H100 SXM5 80GB', not 'NVIDIA L4'.\n"
    )


def test_the_peaks_say_what_is_measured_and_by_which_file(run: CommandLine, tmp_path: Path) -> None:
    path = tmp_path / "peaks.toml"
    path.write_text(CEILINGS.replace("L4", "H100 80GB HBM3"), encoding="utf-8")
    done = run(*OPT, "--peaks", str(path), "--width", "300")
    assert done.err == ""
    line = next(line for line in done.out.splitlines() if line.startswith("peaks "))
    assert "DRAM 3.05 TB/s" in line
    assert line.endswith(f"the clock of the data sheet; dram measured ({path})")
