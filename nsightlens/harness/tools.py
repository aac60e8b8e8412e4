"""Where ncu and nsys are, and which version each candidate is.

NVIDIA installs them in a folder per version, beside CUDA, in a conda environment or anywhere, and
a machine often has several. `find_tools` names them all, in the order in which they would be
taken; `find_tool` takes the first one that runs.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from nsightlens.errors import ProgramNotFoundError
from nsightlens.programs import run_quietly

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    ToolName = Literal["ncu", "nsys"]

__all__ = ["Tool", "find_tool", "find_tools", "version_of"]

VERSION_TIMEOUT_S = 60.0
"""[s] A tool on a slow network disk takes its time; a program that never answers is no tool."""

_FULL_NAME = {"ncu": "Nsight Compute", "nsys": "Nsight Systems"}
_VERSION = {
    "ncu": re.compile(r"^Version\s+(\d+(?:\.\d+)+)", re.MULTILINE),
    "nsys": re.compile(r"\bversion\s+(\d+(?:\.\d+)+)"),
}
_VARIABLE = {"ncu": "NSIGHTLENS_NCU", "nsys": "NSIGHTLENS_NSYS"}
_INSTALLED = {
    # Glob patterns below the root, the folder of a version in front of the first star.
    "ncu": (
        "usr/local/cuda/bin/ncu",
        "usr/local/cuda-*/bin/ncu",
        "opt/nvidia/nsight-compute/*/ncu",
        "usr/local/cuda-*/nsight-compute-*/ncu",
        "usr/local/NVIDIA-Nsight-Compute*/ncu",
        "usr/lib/nsight-compute/ncu",
        "opt/cuda/bin/ncu",
        "opt/cuda/nsight_compute/ncu",
    ),
    "nsys": (
        "usr/local/cuda/bin/nsys",
        "usr/local/cuda-*/bin/nsys",
        "opt/nvidia/nsight-systems/*/bin/nsys",
        "opt/nvidia/nsight-systems-cli/*/bin/nsys",
        "opt/nvidia/nsight-systems/*/target-linux-*/nsys",
        "opt/nvidia/nsight-systems-cli/*/target-linux-*/nsys",
        "usr/local/cuda-*/nsight-systems-*/bin/nsys",
        "usr/lib/nsight-systems/bin/nsys",
        "opt/cuda/bin/nsys",
    ),
}
_OF_CUDA = {
    "ncu": ("bin/ncu", "nsight-compute-*/ncu", "nsight-compute/*/ncu"),
    "nsys": ("bin/nsys", "nsight-systems-*/bin/nsys", "nsight-systems/*/bin/nsys"),
}
"""Below a folder of CUDA or of a conda environment."""


class Tool(NamedTuple):
    """One installed profiler."""

    name: str
    path: str
    version: tuple[int, ...]
    """Empty where it does not say."""
    version_text: str
    """The version as the tool prints it, or why it does not."""
    found_by: str
    """Where it was looked for, such as ``PATH`` or ``CUDA_HOME``."""


def find_tool(
    name: ToolName,
    *,
    given: str | None = None,
    root: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
) -> Tool:
    """Return the profiler to be used: the first candidate that runs.

    Parameters
    ----------
    name
        ``ncu`` or ``nsys``.
    given
        What the user named: the program, or a folder that holds it. Nothing else is tried then.
    root
        Where the file system begins; another one in tests.
    environment
        Variables to look at; None for those of this process.

    Raises
    ------
    ProgramNotFoundError
        There is none; the message names every place that was looked at, and how to install it.
    """
    failed: list[Tool] = []
    for tool in _candidates(name, given, root, environment):
        if tool.version:
            return tool
        failed.append(tool)
    raise ProgramNotFoundError(_not_found(name, given, failed, root, environment))


def find_tools(
    name: ToolName,
    *,
    given: str | None = None,
    root: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
) -> tuple[Tool, ...]:
    """Return every candidate, best first; those that do not run come last.

    Parameters are those of `find_tool`. A program that several places lead to is listed once.
    """
    found = list(_candidates(name, given, root, environment))
    return tuple(sorted(found, key=lambda tool: not tool.version))


def version_of(name: ToolName, path: str) -> tuple[tuple[int, ...], str]:
    """Ask a program for its version.

    Returns
    -------
    tuple
        The version, empty where it does not say, and its text or the reason.
    """
    try:
        said = run_quietly([path, "--version"], timeout_s=VERSION_TIMEOUT_S)
    except OSError as error:
        return (), f"cannot be run: {error.strerror or error}"
    if said.has_timed_out:
        return (), f"did not say its version within {VERSION_TIMEOUT_S:g} s"
    found = _VERSION[name].search(said.stdout)
    if found is None:
        last = next(iter((said.stderr or said.stdout).strip().splitlines()[-1:]), "nothing")
        return (), f"said no version (exit code {said.return_code}): {last.strip()[:200]}"
    text = found[1]
    return tuple(int(part) for part in text.split(".")), text


def _candidates(
    name: ToolName, given: str | None, root: Path, environment: Mapping[str, str] | None
) -> Iterator[Tool]:
    seen: set[str] = set()
    for path, found_by in _places(name, given, root, environment):
        real = os.path.realpath(path)
        # Unlike Path.is_file, also where a folder may not be looked into.
        if real in seen or not os.path.isfile(path):  # noqa: PTH113
            continue
        seen.add(real)
        # The target may run in another folder.
        absolute = os.path.abspath(path)  # noqa: PTH100 - resolve() would leave a wrapper's place
        version, text = version_of(name, absolute)
        yield Tool(name, absolute, version, text, found_by)


def _places(
    name: ToolName, given: str | None, root: Path, environment: Mapping[str, str] | None
) -> Iterator[tuple[Path, str]]:
    """Yield where the program may be, and what led there; in the order of preference."""
    variables = os.environ if environment is None else environment
    if given is not None:
        for path in _named(name, given, variables):
            yield path, "the option"
        return
    if variables.get(_VARIABLE[name]):
        # What was asked for is not replaced without a word by something else.
        for path in _named(name, variables[_VARIABLE[name]], variables):
            yield path, _VARIABLE[name]
        return
    for folder in variables.get("PATH", os.defpath).split(os.pathsep):
        if folder:
            yield Path(folder, name), "PATH"
    for variable in ("CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        if variables.get(variable):
            yield from ((p, variable) for p in _matches(Path(variables[variable]), _OF_CUDA[name]))
    if environment is None:  # an environment of Python's that was not activated
        own = _matches(Path(sys.prefix), _OF_CUDA[name])
        yield from ((path, "the folder of Python") for path in own)
    for pattern in _INSTALLED[name]:
        yield from ((path, f"/{pattern}") for path in _matches(root, (pattern,)))


def _named(name: str, given: str, variables: Mapping[str, str]) -> Iterator[Path]:
    path = Path(given).expanduser()
    if path.is_dir():
        yield from (path / name, path / "bin" / name)
    elif path.name == given:  # a bare name, as a shell would take it
        found = shutil.which(given, path=variables.get("PATH"))
        yield Path(found) if found else path
    else:
        yield path


def _matches(folder: Path, patterns: tuple[str, ...]) -> Iterator[Path]:
    """Yield what fits some patterns below a folder; of several versions the newest first."""
    for pattern in patterns:
        try:
            found = list(folder.glob(pattern))
        except (OSError, ValueError):  # a folder that may not be read
            continue
        yield from sorted(found, key=_by_version, reverse=True)


def _by_version(path: Path) -> tuple[list[int], str]:
    return [int(digits) for digits in re.findall(r"\d+", str(path))], str(path)


def _not_found(
    name: ToolName,
    given: str | None,
    failed: list[Tool],
    root: Path,
    environment: Mapping[str, str] | None,
) -> str:
    variables = os.environ if environment is None else environment
    asked = given or variables.get(_VARIABLE[name])
    full = f"{name} (NVIDIA {_FULL_NAME[name]})"
    if failed:
        which = "; ".join(f"{tool.path} {tool.version_text}" for tool in failed)
        return f"{full} is there and cannot be used: {which}. {_how_to(name)}"
    if asked:
        whence = "" if given else f" (from {_VARIABLE[name]})"
        advice = "Name the program or its folder"
        return f"{asked}{whence}: there is no program {name}. {advice}. {_how_to(name)}"
    looked = ", ".join(_looked_at(name, root, environment))
    return f"{full} was not found. Looked at: {looked}. {_how_to(name)}"


def _looked_at(name: ToolName, root: Path, environment: Mapping[str, str] | None) -> Iterator[str]:
    variables = os.environ if environment is None else environment
    for variable in (_VARIABLE[name], "PATH", "CUDA_HOME", "CUDA_PATH", "CONDA_PREFIX"):
        value = variables.get(variable)
        yield f"{variable}={value}" if value else f"{variable} (not set)"
    if environment is None:
        yield sys.prefix
    for pattern in _INSTALLED[name]:
        yield str(root / pattern)


def _how_to(name: ToolName) -> str:
    apt = {"ncu": "nsight-compute", "nsys": "nsight-systems-cli"}[name]
    conda = {"ncu": "nsight-compute", "nsys": "nsight-systems"}[name]
    return (
        f"Install it (it comes with the CUDA toolkit; alone, with NVIDIA's repository set up: "
        f"apt-get install {apt}, or conda install -c nvidia {conda}), or point to it with "
        f"--{name} PATH or {_VARIABLE[name]}=PATH."
    )
