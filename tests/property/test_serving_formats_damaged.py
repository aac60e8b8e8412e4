"""Damaged results of serving benchmarks end in a diagnosis or in null, never in a traceback."""

from __future__ import annotations

import copy
import json
import math
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.other_formats import SAMPLES, write

from nsightlens.errors import NsightLensError
from nsightlens.serving.formats import format_of
from nsightlens.tables import SERVING_RUNS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_COLUMNS = {column.name: column for column in SERVING_RUNS}
_FEW = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
_RUBBISH: tuple[Any, ...] = (
    None, True, -1, 0, 1e308, -1e-9, 10**400, math.nan, math.inf, "", "x", "1e5", "\x00", [], {},
    [[[1]]], {"avg": {"mean": []}}, [None, {}], "inf", "9" * 400,
)  # fmt: skip
_OTHER_TYPES: tuple[Any, ...] = ([], "x", None)
_JSON = sorted(name for name, (_, content) in SAMPLES.items() if not isinstance(content, str))
_TEXT = sorted(name for name, (_, content) in SAMPLES.items() if isinstance(content, str))


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, one in items:
        yield (*path, key)
        yield from _places(one, (*path, key))


def _changed(top: Any, path: tuple[Any, ...], value: Any) -> Any:
    top = copy.deepcopy(top)
    inner = top
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return top


def _check(folder: Path, name: str, content: Any) -> None:
    """Read a file; fail on another error than ours, and on a value that no column can hold."""
    file = write(folder, name, content)
    try:
        found = format_of(file)
        parts = found.read(file) if found is not None else []
    except NsightLensError:
        return
    assert parts or found is None
    for part in parts:
        for key, value in part.values.items():
            column = key.removeprefix("?")
            assert column in _COLUMNS
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                assert value >= 0
                assert math.isfinite(value) or column == "request_rate_per_s"
            else:
                assert isinstance(value, (str, bool))


@pytest.mark.parametrize("name", _JSON)
@_FEW
@given(data=st.data())
def test_a_json_with_a_value_that_cannot_be_is_diagnosed(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    """Any value at any place, or several."""
    file_name, top = SAMPLES[name]
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(_places(top), key=str)))
        top = _changed(top, path, data.draw(st.sampled_from(_RUBBISH)))
    _check(tmp_path, file_name, top)


@pytest.mark.parametrize("name", _JSON)
def test_every_single_value_may_be_of_another_type(tmp_path: Path, name: str) -> None:
    """One place after the other, by a list, a text and null."""
    file_name, top = SAMPLES[name]
    for path in _places(top):
        if path[:2] == ("benchmarks", 1):
            continue  # of GuideLLM, and like the first
        for other in _OTHER_TYPES:
            _check(tmp_path, file_name, _changed(top, path, other))


@pytest.mark.parametrize("name", sorted(SAMPLES))
@_FEW
@given(data=st.data())
def test_a_file_that_was_cut_is_diagnosed(tmp_path: Path, name: str, data: st.DataObject) -> None:
    """At any byte."""
    file_name, content = SAMPLES[name]
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    _check(tmp_path, file_name, text[: data.draw(st.integers(1, len(text) - 1))])


@pytest.mark.parametrize("name", _TEXT)
@_FEW
@given(data=st.data())
def test_a_text_with_other_characters_is_diagnosed(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    """A piece of it is replaced by another text."""
    file_name, text = SAMPLES[name]
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(len(text), start + 40)))
    other = data.draw(st.sampled_from(["", "-", "x", "[", '"', "nan", "-1", "\x00", "9" * 400]))
    _check(tmp_path, file_name, text[:start] + other + text[end:])
