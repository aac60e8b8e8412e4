"""annotate: what is pushed into which domain, and that nothing is where nobody listens."""

from __future__ import annotations

import importlib
import subprocess
import sys
import types
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from nsightlens import annotate

if TYPE_CHECKING:
    from collections.abc import Iterator


class FakeDomain:
    """A domain that remembers what is pushed and popped."""

    def __init__(self, name: str, events: list[str]) -> None:
        self._name = name
        self._events = events

    def get_event_attributes(self, message: str) -> str:
        """Return what stands for the attributes."""
        return message

    def push_range(self, attributes: str) -> None:
        """Remember a range."""
        self._events.append(f"push {self._name}@{attributes}")

    def pop_range(self) -> None:
        """Remember its end."""
        self._events.append(f"pop {self._name}")


class DummyDomain(FakeDomain):
    """What nvtx gives where nobody listens."""


def _module(**names: Any) -> types.ModuleType:
    module = types.ModuleType("nvtx")
    vars(module).update({"enabled": lambda: True, **names})
    return module


@pytest.fixture(autouse=True)
def _asked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget whether anybody listens, before and after."""
    monkeypatch.delenv("NSIGHTLENS_ANNOTATE", raising=False)
    monkeypatch.delenv("NVTX_INJECTION64_PATH", raising=False)
    monkeypatch.setattr(annotate, "_is_asked", False)
    monkeypatch.setattr(annotate, "_domain", None)


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return what a listener of a current nvtx hears."""
    heard: list[str] = []
    module = _module(get_domain=lambda name: FakeDomain(name, heard))
    monkeypatch.setitem(sys.modules, "nvtx", module)
    return heard


def test_a_step_and_its_operations_are_ranges_of_our_domain(events: list[str]) -> None:
    """Their names carry the numbers in the words of the grammar."""
    with (
        annotate.step("decode", batch_size=8, context=500, query=1),
        annotate.op("qkv_proj", flop=2 * 10**9, bytes=2.5e7),
    ):
        pass
    assert events == [
        "push nsightlens@step v1 phase=decode batch_size=8 context=500 query=1",
        "push nsightlens@op v1 name=qkv_proj flop=2000000000.0 bytes=25000000.0",
        "pop nsightlens",
        "pop nsightlens",
    ]


def test_what_is_not_given_is_not_written(events: list[str]) -> None:
    """A reader takes it for missing."""
    with annotate.step("mixed"), annotate.op("x"):
        pass
    assert events[:2] == ["push nsightlens@step v1 phase=mixed", "push nsightlens@op v1 name=x"]


def test_a_range_ends_where_an_exception_passes(events: list[str]) -> None:
    """The exception reaches the caller."""
    with pytest.raises(KeyError), annotate.step("decode"):
        raise KeyError
    assert events[-1] == "pop nsightlens"


def test_a_function_can_be_decorated(events: list[str]) -> None:
    """Each call is a range, a call within a call too, and one that fails is closed."""

    @annotate.op("fact")
    def factorial(n: int) -> int:
        """Multiply."""
        return 1 if n == 0 else n * factorial(n - 1)

    assert (factorial(2), factorial.__doc__) == (2, "Multiply.")
    assert [event.split()[0] for event in events] == ["push"] * 3 + ["pop"] * 3
    with pytest.raises(TypeError):
        factorial("two")  # type: ignore[arg-type]
    assert len(events) == 8


def test_one_range_can_be_entered_again(events: list[str]) -> None:
    """Also inside itself."""
    decode = annotate.step("decode")
    with decode, decode:
        pass
    assert len(events) == 4


def test_numbers_of_other_libraries_are_written_as_numbers(events: list[str]) -> None:
    """Not as their repr shows them."""
    with annotate.step("decode", batch_size=np.int64(8)), annotate.op("x", flop=np.float64(1.5)):
        pass
    assert events[0].endswith("batch_size=8")
    assert events[1].endswith("flop=1.5")


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"phase": "decoding"}, ValueError),
        ({"phase": "decode", "batch_size": 0}, ValueError),
        ({"phase": "decode", "batch_size": 10**18}, ValueError),
        ({"phase": "decode", "batch_size": 1.5}, TypeError),
        ({"phase": "decode", "batch_size": "8"}, TypeError),
        ({"phase": "decode", "context": -1}, ValueError),
        ({"phase": "decode", "query": 0}, ValueError),
    ],
)
def test_a_step_that_cannot_be_is_refused_whether_anybody_listens_or_not(
    events: list[str], arguments: dict[str, Any], error: type[Exception], is_heard: bool
) -> None:
    """A slip is not to show only under a profiler."""
    annotate.enable(is_heard)
    with pytest.raises(error):
        annotate.step(**arguments)
    assert events == []


@pytest.mark.parametrize("is_heard", [True, False])
@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"name": ""}, ValueError),
        ({"name": 3}, TypeError),
        ({"name": "x", "flop": -1}, ValueError),
        ({"name": "x", "flop": float("nan")}, ValueError),
        ({"name": "x", "bytes": float("inf")}, ValueError),
        ({"name": "x", "bytes": "many"}, TypeError),
    ],
)
def test_an_operation_that_cannot_be_is_refused(
    events: list[str], arguments: dict[str, Any], error: type[Exception], is_heard: bool
) -> None:
    """As a step is."""
    annotate.enable(is_heard)
    with pytest.raises(error):
        annotate.op(**arguments)
    assert events == []


@pytest.mark.parametrize("is_heard", [True, False])
def test_a_function_that_returns_before_it_has_run_is_refused(
    events: list[str], is_heard: bool
) -> None:
    """Its range would be closed before its kernels are launched."""
    annotate.enable(is_heard)

    async def decode() -> None: ...

    def tokens() -> Iterator[int]:
        yield 1

    for function in (decode, tokens):
        with pytest.raises(TypeError, match="returns before it has run"):
            annotate.step("decode")(function)
    assert events == []


def test_nothing_is_pushed_where_nobody_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    """The package nvtx says so by a stand-in for the domain; a decorated function stays itself."""
    heard: list[str] = []
    module = _module(get_domain=lambda name: DummyDomain(name, heard))
    monkeypatch.setitem(sys.modules, "nvtx", module)
    with annotate.step("decode", 8), annotate.op("x"):
        pass
    assert annotate.op("x")(len) is len
    assert (heard, annotate.is_enabled()) == ([], False)


def test_nothing_is_pushed_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is optional."""
    monkeypatch.setitem(sys.modules, "nvtx", None)
    with annotate.step("decode", 8):
        assert not annotate.is_enabled()


def test_nothing_is_pushed_where_nvtx_is_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the environment variable of the package."""
    heard: list[str] = []
    module = _module(enabled=lambda: False, get_domain=lambda name: FakeDomain(name, heard))
    monkeypatch.setitem(sys.modules, "nvtx", module)
    with annotate.step("decode", 8):
        pass
    assert heard == []


@pytest.mark.parametrize("is_heard", [True, False])
def test_an_older_nvtx_is_used_where_a_profiler_named_itself(
    monkeypatch: pytest.MonkeyPatch, is_heard: bool
) -> None:
    """It has no domains of its own and does not tell who listens."""
    heard: list[str] = []

    def push_range(message: str, domain: str) -> None:
        heard.append(f"push {domain}@{message}")

    def pop_range(domain: str) -> None:
        heard.append(f"pop {domain}")

    if is_heard:
        monkeypatch.setenv("NVTX_INJECTION64_PATH", "/opt/profiler.so")
    monkeypatch.setitem(sys.modules, "nvtx", _module(push_range=push_range, pop_range=pop_range))
    with annotate.step("decode"):
        pass
    ranges = ["push nsightlens@step v1 phase=decode", "pop nsightlens"]
    assert heard == (ranges if is_heard else [])


def test_the_environment_switches_ranges_off(
    events: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever listens."""
    monkeypatch.setenv("NSIGHTLENS_ANNOTATE", "0")
    with annotate.step("decode"):
        pass
    assert events == []


def test_ranges_can_be_switched_off_and_on(events: list[str]) -> None:
    """A range that was open before is closed; what is made later counts."""
    with annotate.step("decode"):
        annotate.enable(False)
        with annotate.op("x"):
            pass
    assert events == ["push nsightlens@step v1 phase=decode", "pop nsightlens"]
    annotate.enable()
    with annotate.op("x"):
        pass
    assert len(events) == 4


def test_the_real_package_takes_every_range() -> None:
    """Nobody listens to the tests, or somebody does: nothing is raised."""
    pytest.importorskip("nvtx")
    with annotate.step("prefill", 1, 0, 512), annotate.op("\u6b65 \udc80", 0, 0):
        pass
    annotate.enable()
    assert annotate.op("x")(len)("abc") == 3


def test_the_module_loads_nothing_heavy() -> None:
    """Not even nvtx, before a range is made."""
    program = (
        "import sys; before = set(sys.modules); import nsightlens; nsightlens.annotate.step; "
        "loaded = {name.split('.')[0] for name in set(sys.modules) - before}; "
        "heavy = {'nvtx', 'numpy', 'pyarrow', 'inspect', 'contextlib'} & loaded; "
        "assert not heavy, heavy; "
        "ours = {name for name in sys.modules if name.startswith('nsightlens')}; "
        "assert ours == {'nsightlens', 'nsightlens._version', 'nsightlens.annotate'}, ours"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_the_benchmark_measures_ours_beside_an_empty_range() -> None:
    """It prints what `make` does not assert: times differ from machine to machine."""
    benchmark = importlib.import_module("benchmarks.annotate")
    times = benchmark.measured(count=10)
    assert {"empty context manager", "nsightlens.annotate.step"} <= set(times)
    assert all(time_ns > 0 for time_ns in times.values())
