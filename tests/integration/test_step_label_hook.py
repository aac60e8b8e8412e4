"""Labels of PyTorch are NVTX ranges under the hook, in the target and in what it starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from nsightlens.harness.step_labels import HOOK, step_label_environment

TARGET = Path(__file__).parents[1] / "support" / "labelled_target.py"
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="the labels are of PyTorch")

EXPECTED = [
    "+outer", "+inner", "-", "-", "+decorated", "-", "+failing", "-", "+fast", "-", "+seen", "-",
]  # fmt: skip


def _run(words: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    own = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.run(
        [sys.executable, *words],
        env={**own, "PYTHONWARNINGS": "ignore", **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def _answer(kind: str, environment: dict[str, str]) -> dict[str, Any]:
    done = _run([str(TARGET), kind], environment)
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


@needs_torch
def test_labels_are_ranges_and_nothing_else_changes(tmp_path: Path) -> None:
    """In a child process too; a sitecustomize of the target's own runs as it would have."""
    (tmp_path / "sitecustomize.py").write_text("import os\nos.environ['SITE_RAN'] = 'yes'\n")
    environment = step_label_environment({"PYTHONPATH": str(tmp_path)})
    answer = _answer("child", environment)
    assert (answer["site"], answer["torch_at_start"]) == ("yes", False)
    child = answer["child"]
    assert child["log"] == EXPECTED
    assert (child["name"], child["value"], child["error"]) == ("add_one", 2, "'mine'")
    assert (child["scripted"], child["seen"], child["same_class"]) == (2, True, True)


@needs_torch
def test_without_the_hook_the_same_program_does_the_same_and_makes_no_range() -> None:
    """So that what changes is the ranges alone."""
    answer = _answer("labels", {})
    assert answer["log"] == []
    assert (answer["name"], answer["value"], answer["scripted"]) == ("add_one", 2, 2)
    assert (answer["seen"], answer["same_class"]) == (True, True)


def test_a_program_without_pytorch_is_left_alone() -> None:
    """It starts, says what it says, and finds no more on its path than one folder."""
    code = "import sys; print(sys.path); print('torch' in sys.modules)"
    plain, hooked = _run(["-c", code], {}), _run(["-c", code], step_label_environment({}))
    assert hooked.returncode == plain.returncode == 0
    assert (hooked.stderr, plain.stderr) == ("", "")
    paths, loaded = hooked.stdout.splitlines()
    assert loaded == "False"
    assert paths.replace(f"'{HOOK}', ", "") == plain.stdout.splitlines()[0]


def test_an_error_in_the_targets_own_sitecustomize_is_told_as_ever(tmp_path: Path) -> None:
    """By Python, and the program runs on."""
    (tmp_path / "sitecustomize.py").write_text("raise RuntimeError('of the target')\n")
    done = _run(["-c", "print(1)"], step_label_environment({"PYTHONPATH": str(tmp_path)}))
    assert (done.returncode, done.stdout) == (0, "1\n")
    assert "of the target" in done.stderr


def test_the_folder_stands_in_front_once() -> None:
    """However often it is asked for, and whatever was there stays behind it."""
    once = step_label_environment({"PYTHONPATH": os.pathsep.join(["a", "b"])})
    assert once["PYTHONPATH"].split(os.pathsep) == [str(HOOK), "a", "b"]
    assert step_label_environment(once) == once
    assert step_label_environment({})["PYTHONPATH"] == str(HOOK)
