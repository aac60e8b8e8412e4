"""A target with labels of PyTorch: run as a program, it prints what an NVTX stub recorded."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import types
from typing import Any

LOG: list[str] = []


def _stub() -> None:
    """Put a recording stand-in where the package ``nvtx`` would be found."""
    stub: Any = types.ModuleType("nvtx")
    stub.push_range = lambda name: LOG.append(f"+{name}")
    stub.pop_range = lambda: LOG.append("-")
    stub.enabled = lambda: True
    sys.modules["nvtx"] = stub


def main(kind: str) -> dict[str, Any]:
    """Use labels in every way, or start another process that does."""
    found: dict[str, Any] = {
        "torch_at_start": "torch" in sys.modules,
        "site": os.environ.get("SITE_RAN"),
    }
    if kind == "child":
        done = subprocess.run(
            [sys.executable, __file__, "labels"], capture_output=True, text=True, check=True
        )
        return {**found, "child": json.loads(done.stdout.splitlines()[-1])}
    _stub()
    import torch
    from torch._C._profiler import _RecordFunctionFast
    from torch.profiler import record_function

    with record_function("outer"), record_function("inner"):
        pass

    decorated: Any = record_function("decorated")

    @decorated  # type: ignore[untyped-decorator]
    def add_one(x: Any) -> Any:
        """Add one."""
        return x + 1

    found["name"] = add_one.__name__
    found["value"] = add_one(torch.ones(1)).item()
    try:
        with record_function("failing"):
            raise KeyError("mine")
    except KeyError as error:
        found["error"] = str(error)
    with _RecordFunctionFast("fast"):
        pass

    def doubled(x: torch.Tensor) -> torch.Tensor:
        with record_function("scripted"):
            return x * 2

    found["scripted"] = torch.jit.script(doubled)(torch.ones(1)).item()
    with torch.profiler.profile() as profile, record_function("seen"):
        torch.ones(1)
    found["seen"] = "seen" in [event.key for event in profile.key_averages()]
    found["same_class"] = torch.autograd.profiler.record_function is record_function
    return {**found, "log": LOG}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(sys.argv[1])) + "\n")
