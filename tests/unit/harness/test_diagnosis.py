"""Failures become diagnoses: the right cause, and a remedy that helps on this host."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from nsightlens.errors import ProfilingError
from nsightlens.harness.diagnosis import CAUSES, Attempt, Diagnosis, diagnose, error_of
from nsightlens.harness.gpus import Gpu
from nsightlens.harness.host import Host
from nsightlens.harness.options import NcuOptions, NsysOptions

CONNECTED = "==PROF== Connected to process 4242 (/usr/bin/python3.11)\n"
GOOD = (
    f'{CONNECTED}==PROF== Profiling "gemm" - 0: 0%....50%....100% - 9 passes\n'
    "==PROF== Disconnected from process 4242\n==PROF== Report: run/report.ncu-rep\n"
)
PERMISSION = (
    "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access NVIDIA GPU "
    "Performance Counters on the target device 0. For instructions on enabling permissions and to "
    "get more information see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
)
NOTHING = "==WARNING== No kernels were profiled.\n"
SHUT_DOWN = (
    "==PROF== Trying to shutdown target application\n"
    "==ERROR== The application returned an error code (9).\n"
    "==ERROR== An error occurred while trying to profile.\n"
)
HELD = (
    "==ERROR== Profiling failed because a driver resource was unavailable. Ensure that no other "
    "tool (like DCGM) is concurrently collecting profiling data. See "
    "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#faq for more details.\n"
)
BACKED_UP = (
    "==WARNING== Backing up device memory in system memory. Kernel replay might be slow. Consider "
    'using "--replay-mode application" to avoid memory save-and-restore.\n'
)
TRACEBACK = (
    "Traceback (most recent call last):\n"
    '  File "/home/me/decode.py", line 3, in <module>\n'
    "    main()\n"
    "ValueError: the prompt is empty\n"
)
BARE = Host(container="none", is_root=False, capabilities=(), has_own_user_namespace=False,
            counters_are_restricted=True, system="Ubuntu 24.04.1 LTS", driver_version="570.86.15",
            is_dcgm_running=False)  # fmt: skip


def _attempt(text: str = "", errors: str = "", *, code: int = 1, **more: Any) -> Attempt:
    """Return a run of ncu that left no report, but for what is said."""
    known: dict[str, Any] = {
        "tool": "ncu", "argv": ("ncu", "-o", "report", "python", "decode.py"), "return_code": code,
        "has_timed_out": False, "tool_text": text, "error_text": errors,
        "report": Path("/nowhere/report.ncu-rep"), "result_count": None, "options": NcuOptions(),
    }  # fmt: skip
    return Attempt(**{**known, **more})


def _nsys(text: str = "", errors: str = "", *, code: int = 1, **more: Any) -> Attempt:
    known = {"tool": "nsys", "options": NsysOptions(), "report": Path("/nowhere/r.nsys-rep")}
    return _attempt(text, errors, code=code, **{**known, **more})


def _found(attempt: Attempt, host: Host = BARE, version: tuple[int, ...] = (2025, 1)) -> Diagnosis:
    found = diagnose(attempt, host, version)
    assert found is not None
    assert found.message.endswith((".", "!", "?"))
    assert "\n" not in found.message
    assert found.remedies
    return found


def _told(found: Diagnosis) -> str:
    return " ".join(found.remedies)


def test_a_run_with_launches_and_no_error_went_well() -> None:
    """Also where ncu warned of something."""
    note = "==WARNING== Note: Running with unmodified GPU clocks.\n"
    assert diagnose(_attempt(note + GOOD, code=0, result_count=3), BARE, (2025, 1)) is None
    assert diagnose(_nsys(code=0, result_count=3), BARE, (2025, 1)) is None


def test_a_target_that_was_ended_on_purpose_did_not_fail() -> None:
    """`--kill yes` ends it after the launches that were asked for."""
    text = GOOD + "==ERROR== The application returned an error code (9).\n"
    options = NcuOptions(launch_count=1, ends_target=True)
    assert diagnose(_attempt(text, result_count=1, options=options), BARE, (2025, 1)) is None
    assert _found(_attempt(text, options=options)).cause == "killed"


# Each line of ncu, as it was seen or is documented.
@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (CONNECTED + PERMISSION + NOTHING, "counters_not_permitted"),
        (CONNECTED + HELD + '==ERROR== Failed to profile "gemm" in process 4242\n' + SHUT_DOWN,
         "driver_resource_held"),
        (("==ERROR== Cuda driver is not compatible with Nsight Compute. To install latest driver "
         "from NVIDIA please visit - https://www.nvidia.com\n"), "driver_not_compatible"),
        (("==ERROR== Profiling is not supported on device 0. To find out supported GPUs refer "
         "--list-chips option.\n"), "gpu_not_supported"),
        (("==ERROR== Failed to open/create lock file /tmp/nsight-compute-lock. Please check that "
         "your process has write access to the file.\n"), "lock_file"),
        (("==ERROR== Failed to access the following metrics. When profiling on a MIG instance, it "
         "is not possible to collect metrics from GPU units that are shared: lts__t_bytes.sum\n"),
         "mig"),
        ("==ERROR== Failed to find metric sm__no_such.sum\n", "metric_not_known"),
        ("==ERROR== Could not open report file 'run/x.ncu-rep'.\n", "report_not_written"),
        ("==ERROR== Failed to load report file 'run/x.ncu-rep'.\n", "report_unreadable"),
        ("==ERROR== File x.ncu-rep already exists. Use '-f' for overwriting the file.\n",
         "report_exists"),
        ("==ERROR== unrecognised option '--x'. Use --help for further details.\n",
         "option_refused"),
        (("==ERROR== the argument ('bose') for option '--clock-control' is invalid. Use --help for "
         "further details.\n"), "option_refused"),
        (("==ERROR== 'decode' does not exist or is not an executable. Please make sure to specify "
         "the absolute path to 'decode' if the executable is not in the local directory.\n"),
         "target_not_found"),
        ("==ERROR== Failed to write report file 'x.ncu-rep': No space left on device\n",
         "disk_full"),
        (CONNECTED + BACKED_UP + "==ERROR== Failed to prepare kernel for profiling\n"
         "==ERROR== An error was reported by the driver:\nout of memory\n" + SHUT_DOWN,
         "replay_out_of_memory"),
        (CONNECTED + "==ERROR== OutOfMemory\n" + SHUT_DOWN, "replay_out_of_memory"),
        (CONNECTED + "==ERROR== Failed to prepare kernel for profiling\n==ERROR== Unknown Error on "
         'device 0.\n==ERROR== Failed to profile "gemm" in process 4242\n' + SHUT_DOWN,
         "kernel_not_profiled"),
        (GOOD + "==ERROR== LaunchFailed\n==ERROR== LaunchFailed\n" + SHUT_DOWN,
         "kernel_not_profiled"),
        ("==ERROR== LibraryNotLoaded\n", "unknown"),
    ],
)  # fmt: skip
def test_what_ncu_names_is_the_cause(text: str, cause: str) -> None:
    """Whatever the target prints around it, and whatever the exit code is."""
    for code in (0, 1):
        noise = f"loading weights ...\n{text}done\n"
        found = _found(_attempt(noise, "a warning of the target\n", code=code))
        assert found.cause == cause
        assert found.evidence
        words = " ".join(text.split())  # a wrapped line is told as one
        assert all(line in words for line in found.evidence)


def test_the_library_that_ncu_injects_complains_on_stderr() -> None:
    """Both streams are looked at."""
    text = (
        "==ERROR== Nsight Compute failed to connect to the CUDA driver (stub libcuda.so[.1] on "
        "path?).\n"
    )
    stub = Host(libcuda="/usr/local/cuda/lib64/stubs/libcuda.so", is_libcuda_stub=True)
    found = _found(_attempt("", text), stub)
    assert found.cause == "stub_libcuda"
    assert "/usr/local/cuda/lib64/stubs/libcuda.so, which is a stub" in found.message
    assert "LD_LIBRARY_PATH" in found.remedies[0]
    inside = _found(_attempt("", text), Host(container="docker"))
    assert "--gpus all" in inside.remedies[0]
    bare = _found(_attempt("", text), Host(container="none"))
    assert "modprobe" in bare.remedies[0]


@pytest.mark.parametrize(
    "text",
    [
        "ERR_NVGPUCTRPERM - The user does not have permission to access\n",
        "the log says '==ERROR== ERR_NVGPUCTRPERM - The user does not have permission'\n",
        "==ERROR== LibraryNotLoaded\nERR_NVGPUCTRPERM is what the target prints\n",
        '==PROF== Profiling "ERR_NVGPUCTRPERM" - 0: 0%\n',
        "==WARNING== ERR_NVGPUCTRPERM is only warned of here\n",
    ],
)
def test_a_target_that_prints_the_name_of_an_error_fools_nobody(text: str) -> None:
    """Only ncu's marked errors count, from their beginning."""
    assert _found(_attempt(text)).cause != "counters_not_permitted"
    assert _found(_attempt("", text)).cause != "counters_not_permitted"


@pytest.mark.parametrize(
    "text",
    [
        "==ERROR== Profiling failed because a driver\nresource was unavailable. Ensure\nthat no\n",
        "==ERROR== Profiling failed because a\r\ndriver resource was unavailable.\r\n",
        "step 3 ...==ERROR== Profiling failed because a driver resource was unavailable.\n",
        "\x1b[31m==ERROR== Profiling failed because a driver resource was unavailable.\x1b[0m\n",
        "==PROF== X: 0%==ERROR== Profiling failed because a driver\nresource was unavailable.\n",
        "0%\r50%\r==ERROR== Profiling failed because a driver resource was unavailable.",
    ],
)
def test_a_line_is_recognised_however_it_arrives(text: str) -> None:
    """Wrapped, coloured, behind a line of the target's without its end, with other line ends."""
    found = _found(_attempt(CONNECTED + text))
    assert found.cause == "driver_resource_held"
    assert found.evidence[0].startswith("Profiling failed because a driver resource")


# What each host is told of a forbidden counter: words in a remedy, and words that must not come.
@pytest.mark.parametrize(
    ("host", "first", "never"),
    [
        (BARE, ("sudo -E", "update-initramfs -u`, and reboot"), ("docker", "dracut", "Windows")),
        (Host(container="none", is_root=False, system="Rocky Linux 9.4"),
         ("sudo -E", "dracut"), ("update-initramfs",)),
        (Host(container="none", is_root=False, system="Arch Linux"),
         ("sudo -E", "update-initramfs", "dracut"), ("docker",)),
        (Host(container="docker", is_root=True, capabilities=()),
         ("--cap-add=SYS_ADMIN",), ("sudo -E", "securityContext")),
        (Host(container="podman", is_root=True), ("sudo podman run",), ("docker run",)),
        (Host(container="kubernetes", is_root=True), ("securityContext",), ("docker run",)),
        (Host(container="lxc"), ("security.privileged",), ("docker run",)),
        (Host(container="apptainer", has_own_user_namespace=True), ("Apptainer",), ("sudo -E",)),
        (Host(container="none", is_wsl=True), ("NVIDIA Control Panel",), ("modprobe", "sudo -E")),
        (Host(container="docker", cloud="runpod"), ("rents out containers",),
         ("modprobe", "--cap-add")),
        (Host(container="none", scheduler="slurm", is_root=False), ("partition",), ("docker",)),
        (Host(container="none", is_root=True, gpus=(Gpu(name="NVIDIA A40-48Q"),)),
         ("enable_profiling=1",), ("sudo -E",)),
    ],
)  # fmt: skip
def test_the_remedy_for_forbidden_counters_fits_the_host(
    host: Host, first: tuple[str, ...], never: tuple[str, ...]
) -> None:
    """Nobody in a container is sent to a boot loader, and nobody on a desk to a container."""
    found = _found(_attempt(PERMISSION), host)
    told = _told(found)
    for words in first:
        assert words in told
    for words in never:
        assert words not in told
    assert "--tools nsys" in told


def test_the_message_says_what_this_process_lacks() -> None:
    """So that a wrong remedy shows at once."""
    inside = Host(container="docker", is_root=True, capabilities=(), has_own_user_namespace=False,
                  counters_are_restricted=True)  # fmt: skip
    assert _found(_attempt(PERMISSION), inside).message == (
        "the driver lets this user read no performance counters (ERR_NVGPUCTRPERM): this process "
        "is root in a docker container without CAP_SYS_ADMIN, and RmProfilingAdminOnly is 1."
    )
    allowed = Host(container="none", is_root=True, capabilities=("CAP_SYS_ADMIN",))
    assert "should be permitted" in _found(_attempt(PERMISSION), allowed).message
    mapped = Host(container="podman", is_root=True, has_own_user_namespace=True)
    assert "user namespace of its own" in _found(_attempt(PERMISSION), mapped).message


def test_dcgm_is_named_where_it_is_seen() -> None:
    """Else both ways of pausing it are told."""
    seen = Host(container="none", is_dcgm_running=True, profilers_running=("nv-hostengine (812)",))
    found = _found(_attempt(HELD), seen)
    assert "nv-hostengine (812)" in found.message
    assert "dcgmi profile --pause" in found.remedies[0]
    inside = _found(_attempt(HELD), Host(container="kubernetes"))
    assert "dcgm-exporter on the node" in _told(inside)
    assert "dcgmi" not in _told(_found(_attempt(HELD), BARE))


def test_a_gpu_that_is_newer_than_ncu_explains_what_it_says() -> None:
    """Whatever words ncu had for it; the message names both."""
    new = Host(container="none", gpus=(Gpu(name="NVIDIA B200", compute_capability="10.0"),))
    for text in ("==ERROR== LibraryNotLoaded\n", CONNECTED + "==ERROR== LaunchFailed\n",
                 CONNECTED + NOTHING):  # fmt: skip
        found = _found(_attempt(text), new, (2024, 1, 1, 0))
        assert found.cause == "gpu_not_supported"
        assert "ncu 2024.1.1.0 does not know NVIDIA B200 (compute capability 10.0)" in found.message
        assert "newer Nsight Compute" in found.remedies[0]
        assert _found(_attempt(text), new, (2026, 1)).cause != "gpu_not_supported"
    assert _found(_attempt(PERMISSION), new, (2024, 1)).cause == "counters_not_permitted"


def test_metrics_that_are_refused_on_a_cut_gpu_are_those_of_mig() -> None:
    """Also in the words that other GPUs get."""
    text = "==ERROR== Failed to access the following metrics: dram__bytes_read.sum\n"
    assert _found(_attempt(text)).cause == "metric_not_known"
    cut = Host(container="none", gpus=(Gpu(mig_mode="Enabled"),))
    found = _found(_attempt(text), cut)
    assert found.cause == "mig"
    assert "nvidia-smi -i 0 -mig 0" in found.remedies[0]


def test_the_lock_file_of_somebody_else_is_named() -> None:
    """With a temporary folder of one's own as the way out."""
    host = Host(lock_file_problem="/tmp/nsight-compute-lock belongs to another user")
    found = _found(_attempt("==ERROR== Failed to open/create lock file /tmp/x\n"), host)
    assert "/tmp/nsight-compute-lock belongs to another user." in found.message
    assert "TMPDIR" in found.remedies[0]


def test_replay_without_memory_has_other_remedies_in_another_mode() -> None:
    """Who replays the application already is not told to."""
    text = "==ERROR== OutOfMemory\n"
    assert "--replay-mode application" in _told(_found(_attempt(text)))
    options = NcuOptions(replay_mode="application", metric_set="full")
    told = _told(_found(_attempt(text, options=options)))
    assert "--replay-mode application" not in told
    assert "Collect less" in told
    assert "fewer layers" in told


def test_a_target_without_memory_is_not_replay() -> None:
    """What torch says is looked for on either stream."""
    text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.\n"
    failed = f"{CONNECTED}==ERROR== The application returned an error code (1).\n"
    for found in (_found(_attempt(failed, text)), _found(_attempt(text + failed))):
        assert found.cause == "target_out_of_memory"
        assert "Tried to allocate 20.00 GiB" in found.message


def test_memory_that_the_target_copes_with_is_no_failure() -> None:
    """Engines try and catch it while they size their caches."""
    text = "CUDA out of memory, trying a smaller block\n"
    assert diagnose(_attempt(GOOD, text, code=0, result_count=9), BARE, (2025, 1)) is None
    found = _found(_attempt(CONNECTED + NOTHING, text, code=0))
    assert found.cause == "no_kernels"


def test_a_target_that_fails_has_its_last_words_repeated() -> None:
    """Its exit code too; they are its own, not those of ncu."""
    text = CONNECTED + "==ERROR== The application returned an error code (1).\n" + NOTHING
    found = _found(_attempt(text, TRACEBACK))
    assert found.cause == "target_failed"
    assert "exit code 1, and its last words were: ValueError: the prompt is empty." in found.message
    assert found.evidence == tuple(line.strip() for line in TRACEBACK.splitlines())


@pytest.mark.parametrize(
    ("code", "told"),
    [(11, "SIGSEGV"), (139, "SIGSEGV (exit code 139)"), (134, "SIGABRT"), (3, "exit code 3")],
)
def test_a_signal_is_named(code: int, told: str) -> None:
    """The bare number of it is what ncu tells; a shell adds 128."""
    text = f"{CONNECTED}==ERROR== The application returned an error code ({code}).\n{NOTHING}"
    found = _found(_attempt(text))
    assert found.cause == "target_failed"
    assert told in found.message


def test_sigkill_is_memory_or_a_batch_system() -> None:
    """Of ncu or of the target, but not where ncu ended the target itself."""
    host = Host(container="kubernetes", free_memory_bytes=3 * 10**9)
    for attempt in (
        _attempt(CONNECTED + BACKED_UP, code=-9),
        _attempt(CONNECTED, code=137),
        _attempt(CONNECTED + "==ERROR== The application returned an error code (9).\n"),
        _nsys(errors="The target application terminated with signal 9 (SIGKILL)\n"),
    ):
        found = _found(attempt, host)
        assert found.cause == "killed"
        assert "SIGKILL; 3.0 GB of memory are free now" in found.message
        assert "memory limit" in found.remedies[0]
        assert "dmesg" not in _told(found)
    assert _found(_attempt(SHUT_DOWN)).cause == "kernel_not_profiled"


def test_a_hang_names_the_kernel_and_nccl() -> None:
    """Time is over; what was being profiled is likely to be what waits."""
    slow = "==WARNING== Launching the workload is taking more time than expected. If this ...\n"
    text = f'{CONNECTED}==PROF== Profiling "ncclDevKernel_AllReduce_Sum" - 7: 0%\n{slow}'
    found = _found(_attempt(text, code=-15, has_timed_out=True))
    assert found.cause == "hung"
    assert "ncclDevKernel_AllReduce_Sum" in found.message
    assert "collectives" in found.remedies[0]
    assert found.evidence[0].startswith("Launching the workload")
    other = _found(_attempt(GOOD, code=-9, has_timed_out=True, result_count=3))
    assert other.cause == "hung"
    assert "collectives" not in _told(other)
    assert "--duration" in _told(_found(_nsys(code=-15, has_timed_out=True)))


def test_a_named_failure_explains_a_hang() -> None:
    """A target that waits for ever after its counters were refused."""
    assert _found(_attempt(PERMISSION, has_timed_out=True)).cause == "counters_not_permitted"


@pytest.mark.parametrize("code", [-2, 130, -15, 143])
def test_an_interrupt_is_no_fault(code: int) -> None:
    """And nothing is lost by it."""
    found = _found(_attempt(GOOD, code=code))
    assert found.cause == "interrupted"
    assert "what is finished is kept" in found.remedies[0]


@pytest.mark.parametrize(
    ("options", "seen", "told"),
    [
        (NcuOptions(nvtx_include=("nsightlens@decod/",)), ("nsightlens@decode", "prefill"),
         "nearest: 'nsightlens@decode'"),
        (NcuOptions(nvtx_include=("attention/",)), (), "no NVTX range was seen at all"),
        (NcuOptions(nvtx_include=("zz/",)), ("aaaa", "bbbb", "cccc", "dddd"),
         "seen were 'aaaa', 'bbbb', 'cccc' and 1 more"),
        (NcuOptions(nvtx_include=("regex:^other$@^decode$/",)), ("engine@decode",),
         "nearest: 'engine@decode'"),
        (NcuOptions(nvtx_include=("regex:^decode$/",), kernel="regex:gemm"), ("step/decode",),
         "nothing passed the kernel filter 'regex:gemm'"),
        (NcuOptions(nvtx_include=("decode/",)), None, "nothing passed --nvtx-include 'decode/'"),
        (NcuOptions(kernel="gemm", launch_skip=100), None,
         "one of these let nothing pass: the kernel filter 'gemm', --launch-skip 100"),
        (NcuOptions(waits_for_profiler_start=True), None, "cudaProfilerStart"),
        (NcuOptions(nvtx_exclude=("step/",)), None, "--nvtx-exclude 'step/'"),
        (NcuOptions(target_processes="application-only"), None, "application-only"),
        (NcuOptions(more=("--kernel-id=::gemm:9",)), None, "--kernel-id (passed on)"),
        (NcuOptions(), None, "the target launched none that ncu saw"),
    ],
)  # fmt: skip
def test_the_filter_that_let_nothing_pass_is_named(
    options: NcuOptions, seen: tuple[str, ...] | None, told: str
) -> None:
    """With the nearest of the ranges that were seen, where that is known; exit code 0 or not."""
    for text, count in ((CONNECTED + NOTHING, None), (GOOD, 0)):
        found = _found(
            _attempt(text, code=0, result_count=count, options=options, ranges_seen=seen)
        )
        assert found.cause == "no_kernels"
        assert told in found.message


def test_a_filter_of_ranges_has_remedies_of_its_own() -> None:
    """Slashes, and the package that makes ranges; not for whom there is no filter."""
    options = NcuOptions(nvtx_include=("decode",))
    found = _found(_attempt(CONNECTED + NOTHING, code=0, options=options, ranges_seen=()))
    assert "slash at the end" in found.remedies[0]
    assert "pip install nvtx" in found.remedies[1]
    assert "slash" not in _told(_found(_attempt(CONNECTED + NOTHING, code=0)))


def test_a_target_without_cuda_is_not_the_fault_of_a_filter() -> None:
    """No process was ever connected to."""
    options = NcuOptions(nvtx_include=("decode/",))
    found = _found(_attempt(NOTHING, code=0, options=options, ranges_seen=()))
    assert "ncu met no process that uses CUDA." in found.message
    hidden = _found(_attempt(NOTHING, code=0), Host(visible_devices=""))
    assert "CUDA_VISIBLE_DEVICES hides every GPU" in hidden.message


def test_exit_code_0_without_a_report_is_a_failure(tmp_path: Path) -> None:
    """Missing, empty or damaged, each is told apart."""
    report = tmp_path / "report.ncu-rep"
    missing = _found(_attempt(GOOD, code=0, report=report))
    assert (missing.cause, "does not exist" in missing.message) == ("report_missing", True)
    report.touch()
    empty = _found(_attempt(GOOD, code=0, report=report))
    assert (empty.cause, "is empty" in empty.message) == ("report_missing", True)
    report.write_bytes(b"NVR")
    bad = _found(_attempt(GOOD, code=0, report=report, report_problem="at byte 3: ends early"))
    assert (bad.cause, "at byte 3: ends early" in bad.message) == ("report_unreadable", True)


def test_a_report_that_is_cut_on_a_full_disk_is_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Perhaps ncu had no word for it."""
    report = tmp_path / "report.ncu-rep"
    report.write_bytes(b"NVR")
    monkeypatch.setattr(
        "nsightlens.harness.diagnosis_case.shutil.disk_usage",
        lambda _: type("Usage", (), {"free": 1_000_000})(),
    )
    found = _found(_attempt(GOOD, code=0, report=report))
    assert found.cause == "disk_full"
    assert "1 MB are left" in found.message


def test_what_is_not_known_is_kept_as_it_was_said() -> None:
    """Word for word; without a word, the exit code and the last lines are told."""
    found = _found(_attempt("==ERROR== The flux capacitor is empty (88).\n"))
    assert found.cause == "unknown"
    assert found.message.endswith("The flux capacitor is empty (88).")
    assert found.evidence == ("The flux capacitor is empty (88).",)
    silent = _found(_attempt("", "ncu: cannot find libfoo.so\n", code=127))
    assert silent.cause == "unknown"
    assert "exit code 127; the last words were: ncu: cannot find libfoo.so." in silent.message


def test_a_profiler_that_dies_is_told_with_its_signal() -> None:
    """A fault of its own, and not of the target."""
    found = _found(_attempt(GOOD, code=-11))
    assert found.cause == "tool_crashed"
    assert "ncu ended by SIGSEGV" in found.message


@pytest.mark.parametrize(
    ("text", "cause", "told"),
    [
        ("unrecognised option '--x'\n\nusage: nsys profile [<args>]\n", "option_refused", "--x"),
        (("Exportation error: Report was created in Nsight Systems version (2025.1.1), newer than "
         "your current version (2023.4.4)\n"), "report_newer_than_tool", "2025.1.1"),
        ("The target executable 'decode' was not found.\n", "target_not_found", "decode"),
        ("/run/r.nsys-rep already exists. Use --force-overwrite=true to overwrite.\n",
         "report_exists", "r.nsys-rep"),
        ("Failed to write: No space left on device\n", "disk_full", "No space left"),
        ("No CUDA events collected. Does the process use CUDA?\n", "no_cuda_events", "CUDA"),
    ],
)  # fmt: skip
def test_what_nsys_says_is_recognised(text: str, cause: str, told: str) -> None:
    """It marks nothing, so its lines must begin with the words."""
    found = _found(_nsys(errors=f"Collecting data...\n{text}"))
    assert found.cause == cause
    assert told in found.message
    assert _found(_nsys(errors=f"the target says: {text.splitlines()[0]}\n")).cause == (
        cause if cause == "disk_full" else "unknown"
    )


def test_a_trace_without_kernels_is_told() -> None:
    """Here nsys ends well, and there is nothing in the trace."""
    options = NsysOptions(capture_range="cudaProfilerApi")
    found = _found(_nsys(code=0, result_count=0, options=options))
    assert found.cause == "no_cuda_events"
    assert "capture range" in found.remedies[0]
    assert "--trace-forks" in _told(found)
    followed = NsysOptions(traces_forks=True)
    assert "--trace-forks" not in _told(_found(_nsys(code=0, result_count=0, options=followed)))


def test_nsys_ends_with_the_code_of_its_target(tmp_path: Path) -> None:
    """A trace is there, so nsys itself did its work."""
    report = tmp_path / "r.nsys-rep"
    report.write_bytes(b"trace")
    found = _found(_nsys(errors=TRACEBACK, code=3, report=report, result_count=None))
    assert found.cause == "target_failed"
    assert "exit code 3, and its last words were: ValueError" in found.message


def test_sampled_metrics_need_permission_under_nsys_too() -> None:
    """Only where they were asked for: the words are not marked."""
    text = "Insufficient privilege, see https://developer.nvidia.com/ERR_NVGPUCTRPERM\n"
    asked = NsysOptions(gpu_metrics_devices="all")
    found = _found(_nsys(errors=text, options=asked))
    assert found.cause == "counters_not_permitted"
    assert _found(_nsys(errors=text)).cause != "counters_not_permitted"


def test_the_error_is_one_line_with_remedies_and_the_log() -> None:
    """Cause and all remedies are attributes too, in another process as well."""
    found = _found(_attempt(PERMISSION))
    error = error_of(found, log=Path("run/logs/ncu.log"), what="ncu-batch-0001")
    assert isinstance(error, ProfilingError)
    text = str(error)
    assert text.startswith("ncu-batch-0001: the driver lets this user read no")
    assert "What to do: (1) Run as root" in text
    assert text.endswith("Log: run/logs/ncu.log.")
    assert "\n" not in text
    again = pickle.loads(pickle.dumps(error))
    assert (again.cause, again.remedies) == ("counters_not_permitted", found.remedies)
    many = Diagnosis("unknown", "It failed.", ("A.", "B.", "C.", "D."), ())
    assert "(3) C. 1 more in docs/profiling-failures.md. Log:" in str(error_of(many, log=Path("l")))


def test_every_cause_that_can_be_found_is_in_the_table_and_the_other_way_round() -> None:
    """Each has a text, a meaning, and something to do; the module that finds them names each."""
    folder = Path(__file__).parents[3] / "nsightlens" / "harness"
    text = "".join((folder / f"diagnosis_{name}.py").read_text() for name in ("case", "lines"))
    for cause, entry in CAUSES.items():
        assert f'"{cause}"' in text, f"nothing finds {cause}"
        assert entry.summary
        assert entry.meaning.endswith(".")
        assert entry.remedies
