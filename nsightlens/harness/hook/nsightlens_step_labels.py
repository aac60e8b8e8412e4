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
        push(self.name)
        try:
            opened = self.__dict__.get("_nsightlens_threads")
            if opened is None:
                opened = self.__dict__["_nsightlens_threads"] = []
            opened.append(get_ident())
            return enter(self)
        except BaseException:
            pop()
            raise

    @wraps(leave)
    def __exit__(self: Any, *why: Any) -> Any:  # noqa: N807
        try:
            return leave(self, *why)
        finally:
            opened = self.__dict__.get("_nsightlens_threads")
            # Ranges belong to threads: one that was opened by another thread is not this one's.
            if opened and opened.pop() == get_ident():
                pop()

    of.__enter__, of.__exit__ = __enter__, __exit__


def _patch_fast(push: Callable[[str], Any], pop: Callable[[], Any]) -> None:
    """Replace the fast form, a type of C whose methods cannot be replaced."""
    module = getattr(sys.modules.get("torch._C"), "_profiler", None)
    fast: Any = getattr(module, "_RecordFunctionFast", None)
    if fast is None:
        return

    class _RecordFunctionFast:
        __slots__ = ("_name", "_record")

        def __init__(self, name: str, *args: Any, **kwargs: Any) -> None:
            self._name = name
            self._record = fast(name, *args, **kwargs)

        def __enter__(self) -> Any:
            push(self._name)
            return self._record.__enter__()

        def __exit__(self, *why: Any) -> Any:
            try:
                return self._record.__exit__(*why)
            finally:
                pop()

    _RecordFunctionFast.__module__ = fast.__module__
    module._RecordFunctionFast = _RecordFunctionFast  # type: ignore[union-attr]
