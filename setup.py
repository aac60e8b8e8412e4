"""The one thing that pyproject.toml cannot say: how to build the compiled scanner.

It is optional. Where no compiler is found, or with ``NSIGHTLENS_PURE=1``, the build makes the pure
wheel (py3-none-any), whose Python code reads the same files with the same results, only slower.
From CPython 3.11 on one wheel serves every later version (abi3); on 3.10 the buffer protocol was
not yet part of the stable ABI.
"""

from __future__ import annotations

import os
import sys
import sysconfig

from setuptools import Extension, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CompileError, LinkError

OLDEST_STABLE_ABI = (3, 11)
HAS_STABLE_ABI = sys.version_info >= OLDEST_STABLE_ABI


def is_wanted() -> bool:
    """Tell whether to try: asked for, and an interpreter that the scanner is written for."""
    is_free_threaded = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    is_cpython = sys.implementation.name == "cpython"
    return os.environ.get("NSIGHTLENS_PURE", "0") == "0" and is_cpython and not is_free_threaded


class BuildIfPossible(build_ext):
    """Builds the scanner, or says that it could not and carries on without."""

    def run(self) -> None:
        """Build; a distribution whose build failed has no extension any more."""
        try:
            super().run()
        except (BaseError, CompileError, LinkError, OSError) as error:
            self.warn(f"no compiled scanner; the pure-Python one takes its place ({error})")
            self.extensions = []
            self.distribution.ext_modules = []


class TagWhatWasBuilt(bdist_wheel):
    """Makes a pure wheel where the scanner was not built."""

    def run(self) -> None:
        """Build the extension first: whether that works decides about the name of the wheel."""
        self.run_command("build_ext")
        self.root_is_pure = not self.distribution.has_ext_modules()
        super().run()


SCANNER = Extension(
    "nsightlens.ncurep._scanner",
    ["nsightlens/ncurep/_scanner.c"],
    define_macros=[("Py_LIMITED_API", "0x030B0000")] if HAS_STABLE_ABI else [],
    py_limited_api=HAS_STABLE_ABI,
)

setup(
    ext_modules=[SCANNER] if is_wanted() else [],
    cmdclass={"build_ext": BuildIfPossible, "bdist_wheel": TagWhatWasBuilt},
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if is_wanted() and HAS_STABLE_ABI else {},
)
