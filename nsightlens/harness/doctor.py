"""What works here and what does not: one check for everything that profiling needs.

`examine` asks the tools, the driver, the system and torch, and judges what it learned; the
judgements are functions of the facts alone, so that every host can be told of in a test. It
changes nothing and runs nothing on the GPU, so it can say that profiling will not work, and
otherwise only that nothing speaks against it.
"""

from __future__ import annotations

import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsightlens.harness.diagnosis_versions import chips_of
from nsightlens.harness.doctor_check import Check
from nsightlens.harness.doctor_gpu_checks import (
    counter_check,
    driver_check,
    gpu_checks,
    library_check,
    support_checks,
)
from nsightlens.harness.doctor_host_checks import (
    disk_check,
    nvtx_check,
    temporary_check,
    tool_check,
    torch_check,
)
from nsightlens.harness.doctor_torch import TorchFacts, ask_torch
from nsightlens.harness.host import Host, host_facts
from nsightlens.harness.tools import Tool, find_tools

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Check", "Examination", "examine"]


@dataclass(frozen=True)
class Examination:
    """What was found out."""

    checks: tuple[Check, ...]
    host: Host
    tools: tuple[Tool, ...]
    """Every candidate; of each name, the first one that runs is used."""
    chips: tuple[str, ...]
    """Chips that the ncu that is used lists; empty where it was not asked or did not say."""
    torch: TorchFacts
    run_folder: str
    """Where a run folder would be made."""

    @property
    def passed(self) -> bool:
        """Whether nothing that profiling needs is broken."""
        return all(check.status != "problem" for check in self.checks)

    def facts(self) -> dict[str, Any]:
        """Return what the checks were made from, as JSON can hold it."""
        return {
            "host": {**asdict(self.host), "may_read_counters": self.host.may_read_counters},
            "tools": [
                {**tool._asdict(), "version": list(tool.version), "is_used": self._is_used(tool)}
                for tool in self.tools
            ],
            "chips": list(self.chips),
            "torch": {**asdict(self.torch), "packages": dict(self.torch.packages)},
            "run_folder": self.run_folder,
        }

    def _is_used(self, tool: Tool) -> bool:
        return tool.path == next(
            (one.path for one in self.tools if one.name == tool.name and one.version), None
        )


def examine(
    *,
    ncu: str | None = None,
    nsys: str | None = None,
    python: str | None = None,
    folder: Path | None = None,
    root: Path = Path("/"),
    environment: Mapping[str, str] | None = None,
    smi: str | None = None,
) -> Examination:
    """Check everything that profiling needs on this host; never raises.

    Parameters
    ----------
    ncu, nsys
        What the user named: a program or its folder; None to look everywhere.
    python
        The target's interpreter; None for the one that runs this.
    folder
        Where run folders are to be; None for the working directory.
    root
        Where the file system begins; another one in tests.
    environment
        Variables to look at; None for those of this process.
    smi
        ``nvidia-smi``; None to look for it.

    Examples
    --------
    >>> found = examine()  # doctest: +SKIP
    >>> [check.key for check in found.checks if check.status == "problem"]  # doctest: +SKIP
    ['ncu', 'gpu']
    """
    host = host_facts(root=root, environment=environment, smi=smi)
    tools = (
        *find_tools("ncu", given=ncu, root=root, environment=environment),
        *find_tools("nsys", given=nsys, root=root, environment=environment),
    )
    used = next((tool for tool in tools if tool.name == "ncu" and tool.version), None)
    chips = chips_of(used.path) if used is not None and host.gpus else ()
    torch = ask_torch(python, environment)
    place = folder or _here()
    checks = (
        tool_check("ncu", tools, ncu),
        tool_check("nsys", tools, nsys),
        driver_check(host),
        *gpu_checks(host),
        counter_check(host),
        *support_checks(host, tools, chips),
        library_check(host),
        temporary_check(host),
        disk_check(host, place),
        torch_check(torch, host),
        nvtx_check(torch),
    )
    return Examination(checks, host, tools, chips, torch, str(place))


def _here() -> Path:
    """Return the working directory; the folder for temporary files where somebody removed it."""
    try:
        return Path.cwd()
    except OSError:
        return Path(tempfile.gettempdir())
