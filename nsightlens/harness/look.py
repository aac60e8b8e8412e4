"""Which NVTX ranges a program opens, for somebody whose filter matched none of them."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from nsightlens.errors import NsightLensError
from nsightlens.harness.checked import ranges_of_report, ranges_of_trace
from nsightlens.harness.execute import Logs, run_part_command
from nsightlens.harness.ncu_command import ncu_argv
from nsightlens.harness.options import NcuOptions

if TYPE_CHECKING:
    from nsightlens.harness.plan import Part, Request
    from nsightlens.harness.run_folder import RunFolder

__all__ = ["ranges_seen"]

LAUNCHES = 100
"""Launches of a look; the program is ended after them."""
TIMEOUT_S = 300.0
"""[s] That a look may take."""


def ranges_seen(part: Part, folder: RunFolder, request: Request) -> tuple[str, ...] | None:
    """Return the NVTX ranges of the program of a part; None where nothing could be seen.

    From a trace of the same work, if there is one; else the program is run once more, without
    filters, for its first launches.

    Parameters
    ----------
    part
        Of ncu, which profiled nothing.
    folder
        The run folder.
    request
        With the time limits.
    """
    for record in folder.written.parts:
        if record.is_finished and record.tool == "nsys" and record.work == part.work:
            return ranges_of_trace(folder.path / record.outputs[-1].path)
    if isinstance(part.options, NcuOptions) and _is_filtered(part.options):
        return _looked(part, part.options, folder, request)
    return None


def _looked(
    part: Part, options: NcuOptions, folder: RunFolder, request: Request
) -> tuple[str, ...] | None:
    options = replace(
        options,
        metric_set="none",
        metrics=("gpu__time_duration.sum",),
        sections=(),
        nvtx_include=(),
        nvtx_exclude=(),
        kernel=None,
        launch_skip=None,
        launch_count=LAUNCHES,
        ends_target=True,
        waits_for_profiler_start=False,
        replay_mode="kernel",
        more=(),
    )
    output = folder.partial / "look.ncu-rep"
    logs = Logs(folder.partial / "look.out", folder.partial / "look.err")
    timeout_s = min(TIMEOUT_S, request.timeout_s or TIMEOUT_S)
    with suppress(NsightLensError):  # what is wrong is told already
        argv = ncu_argv(part.tool, options, part.target, output=output, compute_capability=None)
        run_part_command(
            argv, part.target, logs, folder.written.run_id,
            timeout_s=timeout_s, idle_timeout_s=request.idle_timeout_s,
        )  # fmt: skip
    return ranges_of_report(output)


def _is_filtered(options: NcuOptions) -> bool:
    """Whether ncu was told to leave anything out."""
    return bool(
        options.nvtx_include
        or options.nvtx_exclude
        or options.kernel
        or options.launch_skip
        or options.waits_for_profiler_start
        or options.more
    )
