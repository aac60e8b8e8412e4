"""Labels of ``torch.profiler.record_function`` as NVTX ranges, in the process of the target.

Nothing happens before the target imports PyTorch itself. Then the methods of the class are replaced
and the class stays the same one, so that compilers that know it by its identity still do.
"""

import importlib.abc
import importlib.machinery
import sys
from contextlib import suppress
from functools import wraps
from threading import get_ident
from typing import Any, Callable, Optional, Tuple  # noqa: UP035 - the target may run an old Python

_WATCHED = "torch.autograd.profiler"


class _Loader(importlib.abc.Loader):
    """Loads a module as its own loader does, and then makes its labels visible."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def create_module(self, spec: Any) -> Any:
        return self._own.create_module(spec)

    def exec_module(self, module: Any) -> None:
        self._own.exec_module(module)
        with suppress(Exception):  # the target is never to fail of this
            make_visible(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


class _Finder(importlib.abc.MetaPathFinder):
    """Waits for one module, and for nothing else."""

    def find_spec(self, name: str, path: Any, target: Any = None) -> Any:  # noqa: ARG002
        if name != _WATCHED:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def watch() -> None:
    """Wait for PyTorch to be imported."""
    sys.meta_path.insert(0, _Finder())


def make_visible(profiler: Any) -> None:
    """Let the labels of ``record_function`` push NVTX ranges, in the default domain.

    Parameters
    ----------
    profiler
        The module ``torch.autograd.profiler``.
    """
    found = _nvtx()
    if found is None:
        return
    push, pop = found
    _patch_class(profiler.record_function, push, pop)
    _patch_fast(push, pop)


def _nvtx() -> Optional[Tuple[Callable[[str], Any], Callable[[], Any]]]:  # noqa: UP006, UP045
    """Return what opens and closes a range: of PyTorch, else of the package ``nvtx``."""
    own = getattr(sys.modules.get("torch._C"), "_nvtx", None)
    if own is not None:
        return own.rangePushA, own.rangePop
    try:
        import nvtx  # noqa: PLC0415 - only where PyTorch is a build for the CPU
    except ImportError:
        return None
    return nvtx.push_range, nvtx.pop_range


def _patch_class(of: Any, push: Callable[[str], Any], pop: Callable[[], Any]) -> None:
    enter, leave = of.__enter__, of.__exit__

    # Wrapped, so that TorchScript, which compiles the source of a method, finds that of PyTorch.
    @wraps(enter)
    def __enter__(self: Any) -> Any:  # noqa: N807
        entered = enter(self)
        try:
            push(self.name)
            self.__dict__.setdefault("_nsightlens_threads", []).append(get_ident())
        except Exception:  # the target is never to fail of this
            pass
        return entered

    @wraps(leave)
    def __exit__(self: Any, *why: Any) -> Any:  # noqa: N807
        opened = self.__dict__.get("_nsightlens_threads")
        if opened:
            try:
                # Ranges belong to threads, and a decorator is one label in all of them: only what
                # this thread opened is closed here, whoever else is inside.
                opened.remove(get_ident())
                pop()
            except Exception:
                pass
        return leave(self, *why)

    of.__enter__, of.__exit__ = __enter__, __exit__


def _patch_fast(push: Callable[[str], Any], pop: Callable[[], Any]) -> None:
    """Replace the fast form, a type of C whose methods cannot be replaced."""
    module = getattr(sys.modules.get("torch._C"), "_profiler", None)
    fast: Any = getattr(module, "_RecordFunctionFast", None)
    if fast is None:
        return

    class _RecordFunctionFast:
        __slots__ = ("_name", "_record", "_thread")

        def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
            self._record = fast(name, *args, **kwargs)
            self._name = name
            self._thread: Any = None

        def __enter__(self) -> Any:
            entered = self._record.__enter__()
            try:
                push(self._name)
                self._thread = get_ident()
            except Exception:  # the target is never to fail of this
                pass
            return entered

        def __exit__(self, *why: Any) -> Any:
            if self._thread == get_ident():
                self._thread = None
                try:  # noqa: SIM105 - suppress costs more than a label may
                    pop()
                except Exception:
                    pass
            return self._record.__exit__(*why)

    _RecordFunctionFast.__module__ = fast.__module__
    module._RecordFunctionFast = _RecordFunctionFast  # type: ignore[union-attr]
