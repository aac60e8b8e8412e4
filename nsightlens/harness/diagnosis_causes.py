"""Every failure of a profile: what it is, what it means, and what to do about it on which host.

One table, `CAUSES`: `nsightlens.harness.diagnosis` takes its remedies from here, the page
``docs/profiling-failures.md`` is written from it. A remedy says on which host it helps, so that
nobody who sits in a container is sent to a boot loader that is not there.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from nsightlens.harness.diagnosis import Attempt
    from nsightlens.harness.host import Host

    Fits = Callable[[Attempt, Host], bool]

__all__ = ["CAUSES", "Cause", "Remedy", "remedies_for"]

RENTED = ("runpod", "colab", "kaggle", "modal", "vast.ai")
"""Services whose users get a container, never the machine."""
MODULE_OPTION = "options nvidia NVreg_RestrictProfilingToAdminUsers=0"
MODULE_FILE = "/etc/modprobe.d/nvidia-profiling.conf"


class Remedy(NamedTuple):
    """Something to do, and where it helps."""

    text: str
    """One sentence or two."""
    when: str = ""
    """Where it helps, as a person says it; empty for everywhere."""
    fits: Fits = lambda _attempt, _host: True


class Cause(NamedTuple):
    """One way to fail."""

    summary: str
    """In a few words."""
    meaning: str
    """What happened, for someone who never met it."""
    remedies: tuple[Remedy, ...]
    """In the order in which to try them."""
    would_recur: bool = False
    """Whatever this tool ran next would fail the same way."""


def remedies_for(cause: str, attempt: Attempt, host: Host) -> tuple[str, ...]:
    """Return what to do on this host, in the order in which to try it.

    Parameters
    ----------
    cause
        Key of `CAUSES`.
    attempt, host
        What was run, and where.
    """
    return tuple(one.text for one in CAUSES[cause].remedies if one.fits(attempt, host))


def _is_bare(_: Attempt, host: Host) -> bool:
    return not host.is_in_container and not host.is_wsl


def _is_bare_user(attempt: Attempt, host: Host) -> bool:
    return _is_bare(attempt, host) and not host.is_root


def _is_in(container: str) -> Fits:
    return lambda _, host: host.container == container and host.cloud not in RENTED


def _may_change_driver(_: Attempt, host: Host) -> bool:
    return (
        not host.is_wsl and host.cloud not in RENTED and host.counters_are_restricted is not False
    )


def _has_system(*words: str) -> Fits:
    def fits(attempt: Attempt, host: Host) -> bool:
        system = (host.system or "").lower()
        return _may_change_driver(attempt, host) and any(word in system for word in words)

    return fits


def _has_other_system(attempt: Attempt, host: Host) -> bool:
    known = _has_system(*_DEBIAN, *_RED_HAT)(attempt, host) and not host.is_in_container
    return _may_change_driver(attempt, host) and not known


def _on_bare(fits: Fits) -> Fits:
    return lambda attempt, host: fits(attempt, host) and not host.is_in_container


def _is_vgpu(_: Attempt, host: Host) -> bool:
    return any(re.search(r"GRID|-\d+(-\d+)?[ABCQ](ME)?$", gpu.name or "") for gpu in host.gpus)


def _is_ncu(attempt: Attempt, _: Host) -> bool:
    return attempt.tool == "ncu"


def _is_nsys(attempt: Attempt, _: Host) -> bool:
    return attempt.tool == "nsys"


def _replays(*modes: str) -> Fits:
    return lambda attempt, _: getattr(attempt.options, "replay_mode", None) in modes


def _has_large_set(attempt: Attempt, _: Host) -> bool:
    return getattr(attempt.options, "metric_set", "smallest") != "smallest"


def _includes_collectives(attempt: Attempt, _: Host) -> bool:
    is_asked = not getattr(attempt.options, "are_collectives_excluded", True)
    is_one_met = re.search(r'Profiling "[^"\n]*nccl', attempt.tool_text, re.IGNORECASE)
    return is_asked or is_one_met is not None


def _has(option: str) -> Fits:
    return lambda attempt, _: bool(getattr(attempt.options, option, None))


def _may_have_dcgm(_: Attempt, host: Host) -> bool:
    return host.is_dcgm_running is not False


_DEBIAN = ("ubuntu", "debian", "mint", "pop!_os")
_RED_HAT = ("red hat", "fedora", "centos", "rocky", "alma", "amazon linux", "oracle linux", "suse")
_DRIVER_OPTION = f"On the machine itself: `echo '{MODULE_OPTION}' | sudo tee {MODULE_FILE}`"
_DRIVER_CHECK = (
    "afterwards, `grep RmProfilingAdminOnly /proc/driver/nvidia/params` says 0, and everybody may "
    "profile"
)
_DURATIONS_ONLY = (
    "Without counters, a trace still gives durations and gaps: `nsightlens profile --tools nsys`."
)

CAUSES: dict[str, Cause] = {
    "counters_not_permitted": Cause(
        "the driver lets this user read no performance counters (ERR_NVGPUCTRPERM)",
        "The driver gives the counters of a GPU to administrators only, unless an option of its "
        "kernel module says otherwise. ncu needs them, nsys does not, except for GPU metrics.",
        (
            Remedy(
                "This service rents out containers and withholds the right to read counters: ask "
                "it for that right, or rent a virtual machine or a whole machine, where you are "
                "root.",
                "RunPod, Colab, Kaggle, Modal, Vast.ai",
                lambda _, host: host.cloud in RENTED,
            ),
            Remedy(
                "Start the container with `docker run --cap-add=SYS_ADMIN --user root ...`. "
                "`--cap-add=PERFMON` is less and may do with a new driver (not tried by us).",
                "in a Docker container",
                _is_in("docker"),
            ),
            Remedy(
                "Start the container as root of the host, with `sudo podman run "
                "--cap-add=SYS_ADMIN ...`: without root, no capability counts for the driver.",
                "in a Podman container",
                _is_in("podman"),
            ),
            Remedy(
                "Add to the container of the pod: `securityContext: {runAsUser: 0, capabilities: "
                '{add: ["SYS_ADMIN"]}}`. Where a policy of the cluster refuses that, its '
                "administrator has to set the driver option on the node.",
                "in a Kubernetes pod",
                _is_in("kubernetes"),
            ),
            Remedy(
                "Make the container privileged (`lxc config set NAME security.privileged true`): "
                "in an unprivileged one, root is not root for the driver.",
                "in an LXC container",
                _is_in("lxc"),
            ),
            Remedy(
                "Apptainer gives no rights that you do not have outside: the administrator of the "
                "machine has to set the driver option.",
                "in an Apptainer or Singularity container",
                _is_in("apptainer"),
            ),
            Remedy(
                "Root of this user namespace is not root for the driver: run outside it, or have "
                "the driver option set.",
                "in a user namespace of its own",
                lambda _, host: bool(host.has_own_user_namespace) and host.container != "lxc",
            ),
            Remedy(
                "In Windows, open the NVIDIA Control Panel as administrator, Desktop > Enable "
                "Developer Settings, then Manage GPU Performance Counters > Allow access to all "
                "users.",
                "under WSL",
                lambda _, host: host.is_wsl,
            ),
            Remedy(
                'Run as root: `sudo -E "$(command -v nsightlens)" profile ...`.',
                "not in a container, and not root",
                _is_bare_user,
            ),
            Remedy(
                "Ask the administrators of the cluster for nodes where users may read counters: "
                "many have a constraint or a partition for it.",
                "in a job of Slurm",
                lambda _, host: host.scheduler == "slurm",
            ),
            Remedy(
                f"{_DRIVER_OPTION}, `sudo update-initramfs -u`, and reboot; {_DRIVER_CHECK}.",
                "Debian, Ubuntu and their like, not in a container",
                _on_bare(_has_system(*_DEBIAN)),
            ),
            Remedy(
                f"{_DRIVER_OPTION}, `sudo dracut --force`, and reboot; {_DRIVER_CHECK}.",
                "RHEL, Fedora, SUSE, Amazon Linux and their like, not in a container",
                _on_bare(_has_system(*_RED_HAT)),
            ),
            Remedy(
                f"{_DRIVER_OPTION}, make the initial RAM disk anew (`sudo update-initramfs -u` on "
                f"Debian and Ubuntu, `sudo dracut --force` on RHEL and Fedora), and reboot; "
                f"{_DRIVER_CHECK}, in containers too.",
                "any other Linux, and for the machine below a container",
                _has_other_system,
            ),
            Remedy(
                "A virtual GPU shows its counters only where the host of the virtual machine sets "
                "the plugin parameter `enable_profiling=1`: ask its administrator.",
                "on a virtual GPU (vGPU)",
                _is_vgpu,
            ),
            Remedy(_DURATIONS_ONLY, fits=_is_ncu),
        ),
        would_recur=True,
    ),
    "no_kernels": Cause(
        "no kernel launch was profiled",
        "The program ran, and no launch passed all the filters, or nothing was launched on a GPU "
        "that the profiler saw. ncu ends with exit code 0 then.",
        (
            Remedy(
                "Name the range with `--range NAME`, which writes the filter for you, or write "
                "`DOMAIN@NAME/` with a slash at the end: that is for push/pop ranges, which "
                "`nsightlens.annotate`, `nvtx.annotate` and `torch.cuda.nvtx.range_push` make; "
                "without the slash only ranges with a start and an end match.",
                "with a filter of NVTX ranges",
                lambda attempt, host: (
                    _has("nvtx_include")(attempt, host) or _has("nvtx_exclude")(attempt, host)
                ),
            ),
            Remedy(
                "Where no range was seen at all: check that the package nvtx is installed for the "
                "target's Python (`pip install nvtx`); labels of `torch.profiler.record_function` "
                "become ranges only with `--step-labels`.",
                "with a filter of NVTX ranges, and none was seen",
                lambda attempt, host: (
                    _has("nvtx_include")(attempt, host) and not attempt.ranges_seen
                ),
            ),
            Remedy(
                "See that the target really calls cudaProfilerStart "
                "(`torch.cuda.profiler.start()`), or leave the wait for it out.",
                "with `--from-profiler-start`",
                _has("waits_for_profiler_start"),
            ),
            Remedy(
                "Check the kernel filter against the names in a trace of nsys (`nsightlens "
                "timeline`): ncu matches whole names unless the filter begins with `regex:`.",
                "with a kernel filter",
                _has("kernel"),
            ),
            Remedy(
                "Skip fewer launches: only launches that pass the other filters are counted.",
                "with `--launch-skip`",
                _has("launch_skip"),
            ),
            Remedy(
                "Profile child processes too: `--target-processes all`, which is our default.",
                "with `--target-processes application-only`",
                lambda attempt, _: getattr(attempt.options, "target_processes", "all") != "all",
            ),
            Remedy(
                "Run the target alone and see that it uses the GPU "
                "(`torch.cuda.is_available()`), and that CUDA_VISIBLE_DEVICES hides no GPU that "
                "it needs.",
            ),
            Remedy(
                "Leave the filters out one by one, with `--launch-count 1`, to find the one that "
                "lets nothing pass.",
                "with any filter of ncu",
                lambda attempt, host: any(
                    _has(name)(attempt, host)
                    for name in ("nvtx_include", "nvtx_exclude", "kernel", "launch_skip")
                ),
            ),
        ),
    ),
    "no_cuda_events": Cause(
        "nsys collected no CUDA event",
        "The trace holds no kernel: the target used no CUDA, used it before or after the capture "
        "range, or in a process that nsys did not follow.",
        (
            Remedy(
                "See that the capture range opens: the target must call cudaProfilerStart, or push "
                "exactly the range that was named, in that domain.",
                "with `--from-profiler-start` or `--nvtx-window`",
                _has("capture_range"),
            ),
            Remedy(
                "If worker processes launch the kernels, follow those that fork without exec: "
                "`--trace-forks`.",
                "without `--trace-forks`",
                lambda attempt, _: not getattr(attempt.options, "traces_forks", True),
            ),
            Remedy(
                "Run the target alone and see that it uses the GPU "
                "(`torch.cuda.is_available()`); let it end by itself, for what a process had not "
                "handed over is lost when it is killed.",
            ),
        ),
    ),
    "replay_out_of_memory": Cause(
        "out of memory while kernels were replayed",
        "To measure more than fits into one pass, ncu saves the memory that a kernel writes and "
        "puts it back before the next pass: it needs room for that on the GPU, else on the host.",
        (
            Remedy(
                "Replay the whole program instead, which saves nothing: `--replay-mode "
                "application` (the program must do the same each time).",
                "with kernel replay",
                _replays("kernel"),
            ),
            Remedy(
                "Or replay the marked range: `--replay-mode range`; it gives numbers for the whole "
                "range, none per kernel.",
                "with kernel replay",
                _replays("kernel"),
            ),
            Remedy(
                "Collect less: the smallest set needs the fewest passes.",
                "with a larger set than the smallest",
                _has_large_set,
            ),
            Remedy(
                "Make the target smaller: fewer layers (all are alike), a smaller batch, a shorter "
                "context, or a smaller share of the GPU for the engine "
                "(`gpu_memory_utilization`).",
            ),
        ),
    ),
    "target_out_of_memory": Cause(
        "the target ran out of GPU memory",
        "The program asked for more GPU memory than there is; under a profiler there is a little "
        "less of it.",
        (
            Remedy("Run the target without the profiler: if it fails there too, make it smaller."),
            Remedy(
                "Under kernel replay, ncu keeps copies of what kernels write on the GPU: "
                "`--replay-mode application` needs none.",
                "with kernel replay of ncu",
                _replays("kernel"),
            ),
            Remedy(
                "Use fewer layers, a smaller batch or a shorter context, or leave the engine a "
                "smaller share of the GPU (`gpu_memory_utilization`).",
            ),
            Remedy("End other programs that hold GPU memory (`nvidia-smi` lists them)."),
        ),
    ),
    "killed": Cause(
        "killed from outside (SIGKILL)",
        "The kernel of the host ends the largest process where memory runs out; batch systems and "
        "container limits do the same. Replay backs GPU memory up in the memory of the host.",
        (
            Remedy(
                "Look whether memory ran out: `dmesg | grep -i 'killed process'` on the machine.",
                "not in a container",
                _is_bare,
            ),
            Remedy(
                "Raise the memory limit of the container or pod (exit code 137 is this limit).",
                "in a container",
                lambda _, host: host.is_in_container,
            ),
            Remedy(
                "Ask for more memory in the job (`--mem`).",
                "in a job of Slurm",
                lambda _, host: host.scheduler == "slurm",
            ),
            Remedy(
                "Replay the whole program instead, which backs nothing up: `--replay-mode "
                "application`.",
                "with kernel replay of ncu",
                _replays("kernel"),
            ),
            Remedy("Make the target smaller: fewer layers, a smaller batch, a shorter context."),
        ),
    ),
    "driver_resource_held": Cause(
        "another tool holds the counters",
        "The counters of a GPU serve one tool at a time: DCGM's profiling metrics, another ncu, or "
        "anything else that uses CUPTI.",
        (
            Remedy(
                "Pause the monitoring: `dcgmi profile --pause`, and `dcgmi profile --resume` "
                "afterwards; without dcgmi, stop the service (`sudo systemctl stop nvidia-dcgm`).",
                "where DCGM runs or may run",
                _may_have_dcgm,
            ),
            Remedy(
                "DCGM may run beside the container (dcgm-exporter on the node): its administrator "
                "has to pause it.",
                "in a container",
                lambda _, host: host.is_in_container,
            ),
            Remedy(
                "End other profilers, and leave out CUPTI inside the target: torch.profiler with "
                "CUDA activities, Kineto, or an engine's own profiler.",
            ),
        ),
        would_recur=True,
    ),
    "stub_libcuda": Cause(
        "ncu cannot reach the CUDA driver (stub libcuda, or no driver)",
        "The target loaded a libcuda that is there to link against and can do nothing, or there is "
        "no driver at all.",
        (
            Remedy(
                "Take the folder with the stub out of LD_LIBRARY_PATH (it ends in `stubs`).",
                "where a stub would be loaded",
                lambda _, host: host.is_libcuda_stub is not False and host.libcuda is not None,
            ),
            Remedy(
                "Start the container with the GPU: `docker run --gpus all ...`, which needs the "
                "NVIDIA Container Toolkit.",
                "in a container without a GPU",
                lambda _, host: host.is_in_container and not host.has_device_files,
            ),
            Remedy(
                "Install NVIDIA's driver, or load it (`sudo modprobe nvidia`), until `nvidia-smi` "
                "lists the GPU.",
                "where no driver is loaded",
                lambda _, host: not host.is_in_container and host.driver_version is None,
            ),
            Remedy(
                "Compare with `nvidia-smi`: if that does not list the GPU, no CUDA program can "
                "run here.",
            ),
        ),
        would_recur=True,
    ),
    "driver_not_compatible": Cause(
        "driver and profiler do not fit each other",
        "ncu talks to the driver directly, and every version of it needs a driver that is not much "
        "older.",
        (
            Remedy("Install a newer driver, or an older ncu of the driver's own age."),
            Remedy(
                "The driver belongs to the machine: in the container, install the ncu that came "
                "with the CUDA that `nvidia-smi` shows.",
                "in a container",
                lambda _, host: host.is_in_container,
            ),
        ),
        would_recur=True,
    ),
    "gpu_not_supported": Cause(
        "this version of ncu does not know the GPU",
        "Every version of ncu knows the chips of its day: `ncu --list-chips` names them. It takes "
        "compute capability 7.0 or newer.",
        (
            Remedy(
                "Install a newer Nsight Compute, beside the old one, and point to it with "
                "`--ncu PATH`.",
            ),
        ),
        would_recur=True,
    ),
    "lock_file": Cause(
        "ncu cannot lock its file in the temporary folder",
        "ncu locks `nsight-compute-lock` in the temporary folder, so that no two of it profile at "
        "once. One that another user left may not be opened, not even by root.",
        (
            Remedy(
                "Use a temporary folder of your own: `TMPDIR=$HOME/tmp` (make it first). Then no "
                "other ncu may run at the same time.",
            ),
            Remedy("Or remove the file, if no other ncu runs: `sudo rm /tmp/nsight-compute-lock`."),
        ),
        would_recur=True,
    ),
    "mig": Cause(
        "a MIG instance does not have the counters that were asked for",
        "Instances of a GPU share its L2 and its memory; counters of shared units belong to nobody "
        "and cannot be read. Without DRAM bytes there is no roofline.",
        (
            Remedy(
                "Take the GPU out of MIG mode (`sudo nvidia-smi -i 0 -mig 0`, with no program on "
                "it), or profile on a GPU that is not cut.",
            ),
            Remedy("Or make one instance of the whole GPU, if the driver gives counters to it."),
        ),
        would_recur=True,
    ),
    "metric_not_known": Cause(
        "ncu does not know a metric on this GPU",
        "Names of metrics differ between chips and versions of ncu, and one that cannot be "
        "collected is an error.",
        (
            Remedy(
                "Leave the metrics out that you named: the smallest set has names for this GPU.",
                "with metrics of your own",
                _has("metrics"),
            ),
            Remedy(
                "List what there is: `ncu --query-metrics`, for another chip with `--chips`; "
                "and see whether a newer ncu knows it.",
            ),
        ),
        would_recur=True,
    ),
    "kernel_not_profiled": Cause(
        "a kernel could not be profiled",
        "ncu met the launch and failed to replay or to measure it. The launches before it are in "
        "the report.",
        (
            Remedy(
                "Leave this kernel out with a kernel filter, or replay the whole program "
                "(`--replay-mode application`).",
                "with kernel replay",
                _replays("kernel"),
            ),
            Remedy(
                "See that the target runs clean without ncu: `compute-sanitizer` finds wrong "
                "memory accesses, which replay brings to light.",
            ),
            Remedy("Try another version of ncu, one that knows both GPU and driver."),
        ),
    ),
    "hung": Cause(
        "nothing happened any more, and its time was over",
        "The profiler and everything that it had started were ended. Kernels that wait for other "
        "GPUs or for other kernels never end when launches are run one by one.",
        (
            Remedy(
                "Leave collectives out, which is our default (no `--with-collectives`): kernels of "
                "NCCL wait for all other GPUs.",
                "where collectives are profiled",
                _includes_collectives,
            ),
            Remedy(
                "Profile on one GPU, without tensor parallelism, or with `--replay-mode "
                "app-range`, which runs everything as it is.",
                "with ncu",
                _is_ncu,
            ),
            Remedy(
                "Narrow the window to one step, and collect the smallest set: ncu slows every "
                "kernel down by orders of magnitude. If it was only slow, raise the time limit "
                "(`--timeout`), and the watchdogs and client time-outs of the engine with it.",
                "with ncu",
                _is_ncu,
            ),
            Remedy(
                "Trace a shorter time (`--duration`), or raise the time limit (`--timeout`); "
                "without fork tracing, where it is on: that can deadlock.",
                "with nsys",
                _is_nsys,
            ),
        ),
    ),
    "target_failed": Cause(
        "the target failed",
        "The program under the profiler ended with an error of its own; its last words stand in "
        "the message.",
        (
            Remedy("Run the same command without the profiler, and repair what it says."),
            Remedy(
                "If it fails under ncu only: its time-outs may be too short for replay; raise "
                "them, or profile fewer launches.",
                "with ncu",
                _is_ncu,
            ),
        ),
    ),
    "target_not_found": Cause(
        "the target does not exist or cannot be run",
        "The profiler was told to start a program that is not there, or is no program.",
        (
            Remedy(
                "Name it with its path, make it executable (`chmod +x`), or put its interpreter in "
                "front, such as `python my_decode.py`.",
            ),
        ),
        would_recur=True,
    ),
    "option_refused": Cause(
        "the profiler does not take an option",
        "Options come and go between versions of ncu and nsys.",
        (
            Remedy(
                "Take out or correct what you pass on to the profiler as it is (`--ncu-option`, "
                "`--nsys-option`): its own --help lists what this version takes.",
                "with options that are passed on",
                _has("more"),
            ),
            Remedy("Use a newer version of the profiler; `nsightlens doctor` lists all of them."),
        ),
        would_recur=True,
    ),
    "report_exists": Cause(
        "the profiler found its report there already",
        "It was not told to replace a report that is there.",
        (Remedy("Name another output, or remove the old report if it is no longer needed."),),
    ),
    "disk_full": Cause(
        "the disk is full",
        "A report, a temporary file or a file of the target could not be written to its end.",
        (
            Remedy(
                "Make room where the run folder and the temporary folder are (`df -h`), or take "
                "others: `-o` and `TMPDIR`.",
            ),
            Remedy(
                "Collect less: `--set full` and source counters make reports of gigabytes.",
                "with a larger set than the smallest",
                _has_large_set,
            ),
            Remedy(
                "Trace a shorter time, or one capture range only.",
                "with nsys",
                _is_nsys,
            ),
        ),
        would_recur=True,
    ),
    "report_not_written": Cause(
        "the profiler could not open its report",
        "The folder does not exist, may not be written, or the name has a macro of the profiler's "
        "(`%p`, `%q{...}`) that leads elsewhere.",
        (Remedy("Choose a folder that you may write to, with a plain name."),),
        would_recur=True,
    ),
    "report_missing": Cause(
        "there is no report, whatever the exit code says",
        "The profiler ended without writing one, or wrote an empty file.",
        (
            Remedy("Read its log; most often no launch was profiled, or the target was killed."),
            Remedy(
                "Let the target end by itself: nsys writes the report after its end.",
                "with nsys",
                _is_nsys,
            ),
        ),
    ),
    "report_unreadable": Cause(
        "the report is damaged or cut",
        "The profiler was ended while it wrote, the disk was full, or the format is one that is "
        "not known.",
        (
            Remedy("Run it again; what was finished before is kept."),
            Remedy("See that there is room on the disk (`df -h`)."),
        ),
    ),
    "report_newer_than_tool": Cause(
        "nsys cannot export a report that a newer nsys wrote",
        "`nsys export` reads reports of its own age and older ones.",
        (
            Remedy(
                "Export with the nsys that wrote it, or with a newer one: `--nsys PATH` points to "
                "it, `nsightlens doctor` lists those that are installed.",
            ),
        ),
        would_recur=True,
    ),
    "interrupted": Cause(
        "interrupted",
        "Somebody pressed Ctrl+C, or ended the run.",
        (Remedy("Start the same command again: what is finished is kept."),),
        would_recur=True,
    ),
    "tool_crashed": Cause(
        "the profiler itself crashed",
        "A signal ended it: a fault of the profiler, of the driver, or of something that the "
        "target loads.",
        (
            Remedy("Try another version of the profiler; `nsightlens doctor` lists all of them."),
            Remedy(
                "Switch fork tracing off, which NVIDIA calls undefined behaviour.",
                "with `--trace-forks`",
                _has("traces_forks"),
            ),
            Remedy("See that the target runs without the profiler."),
        ),
    ),
    "unknown": Cause(
        "the profiler failed with words that nsightlens does not know",
        "They stand in the message as they were said.",
        (
            Remedy("Look the words up in NVIDIA's documentation, and read the whole log."),
            Remedy("Run `nsightlens doctor`, which checks what profiling needs."),
        ),
    ),
}
"""By key, most specific first in their groups; the order is that of the page, not of precedence."""
