"""YAML of a stranger: read safely, or refused with a diagnosis."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest
from support.other_formats import write

from nsightlens.errors import MissingExtraError, ServingFileError
from nsightlens.serving.benchmarks import yaml_door
from nsightlens.serving.benchmarks.yaml_door import read_yaml

if TYPE_CHECKING:
    from pathlib import Path

pytest.importorskip("yaml")


def _read(folder: Path, text: str) -> Any:
    return read_yaml(write(folder, "a.yaml", text))


def test_a_mapping_is_read(tmp_path: Path) -> None:
    """Numbers are numbers."""
    assert _read(tmp_path, "a: {b: [1, 2.5]}\n") == {"a": {"b": [1, 2.5]}}


def test_a_bomb_of_aliases_costs_nothing(tmp_path: Path) -> None:
    """Thirty levels of ten references each are thirty lists in memory."""
    lines = ["a0: &a0 [x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 30)]
    assert len(_read(tmp_path, "\n".join(lines))) == 30


def test_a_value_that_holds_itself_is_read(tmp_path: Path) -> None:
    """Nobody walks it to the end."""
    value = _read(tmp_path, "a: &a [*a]")
    assert value["a"][0] is value["a"]


def test_objects_of_python_are_read_as_plain_data(tmp_path: Path) -> None:
    """Nothing is imported, called or made."""
    text = "a: !!python/tuple [1, 2]\nb: !!python/object/apply:os.getcwd []\nc: !!python/name:x ''"
    text += "\nd: !!python/object:os.x {e: 1}\n"
    assert _read(tmp_path, text) == {"a": [1, 2], "b": [], "c": "", "d": {"e": 1}}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: &a {b: 1}\nc: {<<: *a}\n", "merge keys"),
        ("[" * 100_000, "nesting|nested"),
        ("- " * 100_000 + "a", "nesting|nested"),
        ("a: [1, 2", "is no YAML at line"),
        ("a: 1\n---\nb: 2\n", "is no YAML"),
        ("a: !unknown []\n", "is no YAML"),
        ("a: !!int x\n", "is no YAML"),
        ("a: 2026-13-45\n", "is no YAML"),
        ("a: " + "9" * 5000, "is no YAML|digits"),
        ("{[1]: 2}", "is no YAML"),
        ("? {a: 1}\n: 2\n", "is no YAML"),
        ("a: \x00", "is no YAML"),
        ("a: *nothing", "is no YAML"),
    ],
)
def test_what_is_damaged_or_forbidden_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """Each ends in one sentence, with the place where the reader knows it."""
    if text.startswith("a: 9") and not hasattr(sys, "get_int_max_str_digits"):
        pytest.skip("this Python reads numbers of any length")
    with pytest.raises(ServingFileError, match=words):
        _read(tmp_path, text)


def test_the_reader_in_pure_python_refuses_deep_nesting_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends in a RecursionError, which is no diagnosis."""
    import yaml

    monkeypatch.delattr(yaml, "CSafeLoader", raising=False)
    with pytest.raises(ServingFileError, match="nested too deeply"):
        _read(tmp_path, "[" * 3000)


def test_a_file_that_is_too_large_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """YAML is slow to read."""
    monkeypatch.setattr(yaml_door, "LARGEST_YAML_BYTES", 4)
    with pytest.raises(ServingFileError, match="more than is read as YAML"):
        _read(tmp_path, "abcdef: 1")


def test_without_pyyaml_the_error_is_the_line_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The extra is named."""
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingExtraError, match=r"nsightlens\[yaml\]"):
        _read(tmp_path, "a: 1")
