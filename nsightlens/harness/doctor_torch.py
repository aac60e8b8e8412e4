"""What torch and nvtx a Python has, asked in a process of its own.

torch takes seconds to load, may hang in a broken driver, and belongs to the target's Python, which
need not be the one that runs this.
"""

from __future__ import annotations

import json
import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nsightlens.programs import run_quietly

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["TorchDevice", "TorchFacts", "ask_torch", "has_code_for"]

TIMEOUT_S = 180.0
"""[s] torch on a cold network disk."""
_MARK = "nsightlens-doctor:"
_SCRIPT = f"""
import json, sys
from importlib import metadata, util

def version(name):
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None

said = {{"python": sys.version.split()[0], "executable": sys.executable,
        "nvtx": version("nvtx") if util.find_spec("nvtx") else None,
        "packages": {{n: version(n) for n in ("flash-attn", "flashinfer-python", "triton")}}}}
try:
    import torch
    said["torch"] = str(torch.__version__)
    said["cuda"] = torch.version.cuda
    said["hip"] = getattr(torch.version, "hip", None)
    said["is_available"] = bool(torch.cuda.is_available())
    said["architectures"] = list(torch.cuda.get_arch_list())
    said["devices"] = []
    if said["is_available"]:
        for i in range(torch.cuda.device_count()):
            one = torch.cuda.get_device_properties(i)
            said["devices"].append({{"name": one.name, "capability": f"{{one.major}}.{{one.minor}}",
                "sm_count": one.multi_processor_count, "memory_bytes": one.total_memory,
                "l2_bytes": getattr(one, "L2_cache_size", None)}})
except ImportError as error:
    said["error"] = None if getattr(error, "name", None) == "torch" else str(error)
except Exception as error:
    said["error"] = f"{{type(error).__name__}}: {{error}}"
print({_MARK!r} + json.dumps(said))
"""


@dataclass(frozen=True)
class TorchDevice:
    """A GPU as torch sees it; None where it does not say."""

    name: str | None = None
    capability: str | None = None
    sm_count: int | None = None
    memory_bytes: int | None = None
    l2_bytes: int | None = None


@dataclass(frozen=True)
class TorchFacts:
    """What a Python has; None where it has none or does not say."""

    executable: str
    python: str | None = None
    problem: str | None = None
    """Why it did not answer, or why torch cannot be loaded; None also where it is not there."""
    torch: str | None = None
    cuda: str | None = None
    """Version of CUDA that torch was built for; None for a build without."""
    hip: str | None = None
    is_available: bool | None = None
    """Whether torch can use a GPU now."""
    architectures: tuple[str, ...] = ()
    """That it has code for, such as ``sm_90``."""
    devices: tuple[TorchDevice, ...] = ()
    nvtx: str | None = None
    """Version of the package nvtx."""
    packages: tuple[tuple[str, str], ...] = ()
    """Kernel libraries that are installed, with their versions."""


def ask_torch(
    python: str | None = None, environment: Mapping[str, str] | None = None
) -> TorchFacts:
    """Ask a Python for its torch and nvtx; never raises.

    Parameters
    ----------
    python
        The interpreter; None for the one that runs this.
    environment
        Its whole environment; None for that of this process.
    """
    executable = python or sys.executable
    try:
        said = run_quietly(
            [executable, "-c", _SCRIPT], timeout_s=TIMEOUT_S, environment=environment
        )
    except OSError as error:
        return TorchFacts(executable, problem=f"cannot be run: {error.strerror or error}")
    if said.has_timed_out:
        return TorchFacts(executable, problem=f"torch did not load within {TIMEOUT_S:g} s")
    answer = _answer(said.stdout)
    if answer is None:
        last = next(iter(said.stderr.strip().splitlines()[-1:]), "without a word")
        return TorchFacts(executable, problem=f"ended with exit code {said.return_code}: {last}")
    return _facts(answer, executable)


def _answer(text: str) -> dict[str, Any] | None:
    """Read the marked line: what is imported may print too."""
    line = next((one for one in text.splitlines() if one.startswith(_MARK)), None)
    if line is None:
        return None
    try:
        answer: dict[str, Any] = json.loads(line.removeprefix(_MARK))
    except ValueError:
        return None
    return answer


def _facts(answer: Mapping[str, Any], executable: str) -> TorchFacts:
    return TorchFacts(
        executable=str(answer.get("executable") or executable),
        python=answer.get("python"),
        problem=answer.get("error"),
        torch=answer.get("torch"),
        cuda=answer.get("cuda"),
        hip=answer.get("hip"),
        is_available=answer.get("is_available"),
        architectures=tuple(answer.get("architectures", ())),
        devices=tuple(TorchDevice(**one) for one in answer.get("devices", ())),
        nvtx=answer.get("nvtx"),
        packages=tuple((k, v) for k, v in answer.get("packages", {}).items() if v),
    )


def has_code_for(capability: str | None, architectures: Iterable[str]) -> bool | None:
    """Return whether a build of torch runs on a GPU; None where it does not say.

    Code for ``sm_XY`` runs on GPUs of the same major version from that minor one on, but for names
    with a letter, such as ``sm_90a``; ``compute_XY`` is made into code for any newer GPU (CUDA C++
    Programming Guide, binary and PTX compatibility).

    Examples
    --------
    >>> has_code_for("8.6", ["sm_80", "sm_90"]), has_code_for("10.0", ["sm_80", "sm_90"])
    (True, False)
    """
    found = re.fullmatch(r"(\d+)\.(\d+)", capability or "")
    built = [match for name in architectures
             if (match := re.fullmatch(r"(sm|compute)_(\d+)(\d)([a-z]?)", name))]  # fmt: skip
    if found is None or not built:
        return None
    return any(_runs((int(found[1]), int(found[2])), match.groups()) for match in built)


def _runs(device: tuple[int, int], built: Sequence[str]) -> bool:
    kind, letter = built[0], built[3]
    of = (int(built[1]), int(built[2]))
    if letter == "a":  # of that one GPU only
        return device == of
    if kind == "compute" and not letter:
        return device >= of
    return device[0] == of[0] and device[1] >= of[1]
