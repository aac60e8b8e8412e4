"""The hook of labels, on classes that stand for those of PyTorch."""

from __future__ import annotations

import importlib.util
import os
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.harness.step_labels import HOOK, step_label_environment

if TYPE_CHECKING:
    from types import ModuleType


@pytest.fixture
def hook() -> ModuleType:
    """Return the module that the target loads, which is in no package."""
    spec = importlib.util.spec_from_file_location("hook", HOOK / "nsightlens_step_labels.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _label_class() -> Any:
    class Label:
        def __init__(self, name: str) -> None:
            self.name = name

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *why: object) -> None:
            return None

    return Label


@pytest.mark.parametrize("path", [":a", "a::b", "a:"])
def test_an_empty_entry_stays_as_it_is_a_folder(path: str) -> None:
    """That in which the target starts."""
    path = path.replace(":", os.pathsep)
    after = step_label_environment({"PYTHONPATH": path})["PYTHONPATH"]
    assert after == f"{HOOK}{os.pathsep}{path}"


def test_an_empty_variable_has_no_entry() -> None:
    """Python takes it as if it were not set."""
    assert step_label_environment({"PYTHONPATH": ""}) == {"PYTHONPATH": str(HOOK)}


def test_a_label_that_threads_share_closes_in_each(hook: ModuleType) -> None:
    """One decorator, of which one thread leaves while another that came later is inside."""
    label_class, counts = _label_class(), {"first": 0, "second": 0}
    first_in, second_in, first_out = Event(), Event(), Event()
    name: dict[int, str] = {}

    def push(_: str) -> None:
        counts[name[hook.get_ident()]] += 1

    def pop() -> None:
        counts[name[hook.get_ident()]] -= 1

    hook._patch_class(label_class, push, pop)
    shared = label_class("shared")

    def first() -> None:
        name[hook.get_ident()] = "first"
        with shared:
            first_in.set()
            second_in.wait(10)
        first_out.set()

    def second() -> None:
        name[hook.get_ident()] = "second"
        first_in.wait(10)
        with shared:
            second_in.set()
            first_out.wait(10)

    threads = [Thread(target=first), Thread(target=second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counts == {"first": 0, "second": 0}


def test_ranges_that_cannot_be_opened_leave_the_target_alone(hook: ModuleType) -> None:
    """Its block runs, and no range is closed that was not opened."""
    label_class, closed, ran = _label_class(), [], []

    def push(_: str) -> None:
        raise RuntimeError("of NVTX")

    hook._patch_class(label_class, push, lambda: closed.append(1))
    with label_class("label"):
        ran.append(1)
    assert (ran, closed) == ([1], [])
