"""What the program says before PyTorch is loaded: it is seconds to load, and may not be there."""

from __future__ import annotations

import json
import subprocess
import sys
import types
from typing import TYPE_CHECKING

import pytest

from kernels_under_test import decode
from kernels_under_test.dtypes import dtype_name
from kernels_under_test.models import first_layers, model_to_run
from kernels_under_test.refusals import NotAvailableError, find_torch, import_or_refuse
from nsightlens.cli.main import build_parser
from nsightlens.models import read_model

if TYPE_CHECKING:
    from pathlib import Path

STEP = ["--batch-sizes", "1", "--context", "64"]


def test_importing_the_package_and_its_program_loads_no_torch() -> None:
    """Sizes and formulas can be used without it, and the command line is read before it."""
    code = (
        "import kernels_under_test, kernels_under_test.decode, kernels_under_test.operations, sys;"
        "print(sorted({'torch', 'numpy', 'pyarrow', 'nvtx', 'triton'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "text", ["1", "1:512", "1,2,4,...,512", "8, ..., 100", "3:20,7", "1,8,64", "2,...,2"]
)
def test_batch_sizes_are_read_as_profile_reads_them(text: str) -> None:
    """The command line of the harness is the one that people know."""
    words = ["--batch-sizes", text, "--context", "8", "--model", "tiny-opt"]
    of_profile = build_parser("profile").parse_args(["profile", *words])
    assert decode.parser().parse_args(words).batch_sizes == of_profile.batch_sizes


def test_without_torch_one_line_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And nothing of a traceback."""
    monkeypatch.setitem(sys.modules, "torch", None)
    assert decode.main(["--model", "tiny-opt", *STEP]) == decode.ExitCode.NOT_AVAILABLE
    out, err = capsys.readouterr()
    assert out == ""
    assert err == (
        "kernels_under_test.decode: error: PyTorch is not installed: "
        "pip install 'nsightlens[torch]'.\n"
    )


def test_an_old_torch_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what it lacks."""
    module = types.ModuleType("torch")
    vars(module).update(__version__="2.4.1+cu121")
    monkeypatch.setitem(sys.modules, "torch", module)
    with pytest.raises(NotAvailableError, match=r"2\.4\.1\+cu121 is too old"):
        find_torch()
    vars(module).update(__version__="2.10.0a0+git1234")
    assert find_torch() is module


def test_a_package_that_is_there_and_cannot_be_loaded_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To install it again would not help."""
    (tmp_path / "broken_kernels.py").write_text("import no_such_library_xyz\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(NotAvailableError, match="cannot be loaded: No module named 'no_such"):
        import_or_refuse("broken_kernels", "broken-kernels", "broken")
    with pytest.raises(NotAvailableError, match=r"which is not installed\. Try: pip install gone"):
        import_or_refuse("gone_xyz", "gone", "gone")


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--model", "tiny-lama"], 2, "'tiny-lama' is no built-in model"),
        (["--model", "gemma-2b"], 4, "gemma-2b is a gemma, which is not written here: run one of"),
        (["--model", "opt-350m"], 4, "run another size of it"),
        (["--model", "tiny-opt", "--layers", "3"], 2, "tiny-opt has 2 layers, not 3"),
        (["--model", "tiny-opt", "--context", "2049"], 2, "has learned 2048 positions"),
        (["--model", "tiny-opt", "--context", "1", "--prefill"], 2, "leaves no prompt"),
    ],
)
def test_what_cannot_be_run_is_refused_in_one_line(
    words: list[str], code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """With an exit code that says whether another machine would help."""
    assert decode.main([*STEP, *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    "words",
    [
        ["--model", "tiny-opt", "--context", "64"],
        ["--model", "tiny-opt", *STEP, "--dtype", "int4"],
        ["--model", "tiny-opt", *STEP, "--attention", "magic"],
        ["--model", "tiny-opt", *STEP, "--warmup", "-1"],
        ["--model", "tiny-opt", *STEP, "--steps", "0"],
        ["--model", "tiny-opt", "--batch-sizes", "0", "--context", "64"],
    ],
)
def test_a_command_line_that_cannot_be_understood_ends_with_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line that names the program."""
    with pytest.raises(SystemExit) as ended:
        decode.main(words)
    assert ended.value.code == decode.ExitCode.USAGE
    err = capsys.readouterr().err
    assert err.startswith("kernels_under_test.decode: error: ")
    assert err.endswith("See: python -m kernels_under_test.decode --help\n")
    assert err.count("\n") == 1


def test_the_help_lists_own_models_and_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    """What the list of built-in models does not have."""
    with pytest.raises(SystemExit):
        decode.main(["--help"])
    out = capsys.readouterr().out
    assert "tiny-qwen-moe" in out
    assert all(f"\n  {code.value}  " in out for code in decode.ExitCode)


def test_names_of_types_have_short_forms() -> None:
    """As people write them."""
    assert [dtype_name(one) for one in ("fp16", "BF16", "float32", "float8_e4m3fn")] == [
        "float16", "bfloat16", "float32", "fp8",
    ]  # fmt: skip
    with pytest.raises(ValueError, match="'int4' is none of float16, "):
        dtype_name("int4")


def test_any_size_is_run_from_a_configuration(tmp_path: Path) -> None:
    """A config.json as Hugging Face writes it."""
    config = {
        "model_type": "mistral", "num_hidden_layers": 3, "hidden_size": 96, "vocab_size": 100,
        "num_attention_heads": 6, "num_key_value_heads": 2, "intermediate_size": 128,
        "sliding_window": 32,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    model = model_to_run(str(tmp_path), 2)
    assert (model.layer_count, model.windowed_layer_count, model.head_dim) == (2, 2, 16)


def test_the_first_layers_of_a_model_are_of_the_kinds_that_these_are() -> None:
    """Dense ones before those with experts, full attention before windows."""
    lite = read_model("deepseek-v2-lite")
    assert first_layers(lite, 1).experts is None
    deeper = first_layers(lite, 4)
    assert deeper.experts is not None
    assert (deeper.dense_layer_count, deeper.experts.layer_count) == (1, 3)
