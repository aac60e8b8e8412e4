"""The doctor: the right verdict on every kind of host, and a remedy that helps there."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.hosts import ADMIN, host_root, script

from nsightlens.harness.doctor import Examination, examine
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
from nsightlens.harness.doctor_torch import TorchDevice, TorchFacts, ask_torch, has_code_for
from nsightlens.harness.gpus import Gpu
from nsightlens.harness.host import Host
from nsightlens.harness.tools import Tool

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.harness.doctor_check import Check

H100 = Gpu(
    index=0, name="NVIDIA H100 80GB HBM3", compute_capability="9.0", memory_bytes=85 * 10**9,
    mig_mode="Disabled", persistence_mode="Enabled", compute_mode="Default", sm_count=132,
    clock_rate_mhz=1980, memory_clock_rate_mhz=2619, memory_bus_bit=5120, l2_bytes=50 << 20,
    power_limit_w=700,
)  # fmt: skip
GOOD = Host(
    gpus=(H100,), driver_version="570.86.15", is_driver_open=True, cuda_version="12.8",
    container="none", is_root=False, capabilities=(), has_own_user_namespace=False,
    counters_are_restricted=False, has_device_files=True, is_dcgm_running=False,
    libcuda="/usr/lib/libcuda.so.1", is_libcuda_stub=False, temporary_folder="/tmp",
    is_temporary_folder_writable=True, free_temporary_bytes=10**11, system="Ubuntu 24.04.1 LTS",
)  # fmt: skip
NCU = Tool("ncu", "/usr/bin/ncu", (2025, 1, 1, 0), "2025.1.1.0", "PATH")
TORCH = TorchFacts(
    "/usr/bin/python3", python="3.11.7", torch="2.6.0", cuda="12.4", is_available=True,
    architectures=("sm_80", "sm_90"), devices=(TorchDevice(capability="9.0"),), nvtx="0.2.11",
)  # fmt: skip


def _of_gpus(host: Host, tools: tuple[Tool, ...] = (NCU,)) -> dict[str, Check]:
    return {check.key: check for check in support_checks(host, tools, ())}


def test_a_good_host_passes_every_check(tmp_path: Path) -> None:
    """With a line for each, and nothing to do."""
    checks = (
        tool_check("ncu", (NCU,), None),
        driver_check(GOOD),
        *gpu_checks(GOOD),
        counter_check(GOOD),
        *support_checks(GOOD, (NCU,), ()),
        library_check(GOOD),
        temporary_check(GOOD),
        disk_check(GOOD, tmp_path),
        torch_check(TORCH, GOOD),
        nvtx_check(TORCH),
    )
    assert {check.status for check in checks} == {"ok"}, checks
    assert not any(check.remedies for check in checks)
    assert Examination(checks, GOOD, (NCU,), (), TORCH, str(tmp_path)).passed


def test_the_sheet_of_a_gpu_has_what_rooflines_are_made_of() -> None:
    """The peak of DRAM is that of the data sheet: two edges of the memory clock."""
    (check,) = gpu_checks(GOOD)
    assert check.message == (
        "NVIDIA H100 80GB HBM3, compute capability 9.0, 132 SMs, 85 GB, 5120 bit at 2619 MHz "
        "(3352 GB/s), L2 50 MiB, up to 1980 MHz, power limit 700 W"
    )
    (bare,) = gpu_checks(Host(gpus=(Gpu(name="NVIDIA GB10"),)))
    assert bare.message == "NVIDIA GB10"


def test_several_gpus_have_a_line_each() -> None:
    """Named by their number."""
    host = replace(GOOD, gpus=(H100, replace(H100, index=1, compute_mode="Prohibited")))
    first, second = gpu_checks(host)
    assert (first.key, first.status) == ("gpu 0", "ok")
    assert (second.key, second.status) == ("gpu 1", "problem")
    assert "nvidia-smi -i 1 -c DEFAULT" in second.remedies[0]


@pytest.mark.parametrize(
    ("host", "told"),
    [
        (Host(container="none"), "this machine has none of NVIDIA's"),
        (Host(container="docker"), "none is visible in this container (docker)"),
        (Host(container="none", has_nvidia_hardware=True), "on the PCI bus, and no driver"),
    ],
)
def test_no_gpu_is_a_problem_but_not_for_reading(host: Host, told: str) -> None:
    """The remedy says what works all the same."""
    (check,) = gpu_checks(host)
    assert check.status == "problem"
    assert told in check.message
    assert "needs no GPU" in check.remedies[0]


def test_a_gpu_that_is_hidden_is_a_problem() -> None:
    """An empty CUDA_VISIBLE_DEVICES hides all of them."""
    (check,) = gpu_checks(replace(GOOD, visible_devices=""))
    assert (check.status, "CUDA_VISIBLE_DEVICES" in check.message) == ("problem", True)
    (check,) = gpu_checks(replace(GOOD, visible_devices="0"))
    assert check.status == "ok"


def test_a_driver_that_answers_is_there() -> None:
    """Jetson has no file that tells its version."""
    check = driver_check(Host(gpus=(H100,), cuda_version="12.6"))
    assert check.status == "ok"
    assert "CUDA up to 12.6" in check.message


@pytest.mark.parametrize(
    ("host", "told"),
    [
        (Host(container="docker"), "docker run --gpus all"),
        (Host(container="none", is_nouveau_loaded=True), "nouveau"),
        (Host(container="none", has_nvidia_hardware=True), "modprobe nvidia"),
        (replace(GOOD, driver_problem="Driver/library version mismatch"), "Reboot"),
    ],
)
def test_a_driver_that_is_missing_or_broken_is_a_problem(host: Host, told: str) -> None:
    """With the remedy for this kind of host."""
    check = driver_check(host)
    assert check.status == "problem"
    assert told in check.remedies[0]


@pytest.mark.parametrize(
    ("host", "status", "told"),
    [
        (GOOD, "ok", "everybody may read them"),
        (replace(GOOD, counters_are_restricted=True, capabilities=("CAP_SYS_ADMIN",)), "ok",
         "CAP_SYS_ADMIN"),
        (replace(GOOD, counters_are_restricted=True), "problem", "RmProfilingAdminOnly is 1"),
        (replace(GOOD, counters_are_restricted=True, capabilities=("CAP_PERFMON",)), "unknown",
         "CAP_PERFMON alone"),
        (replace(GOOD, counters_are_restricted=None), "unknown", "does not tell its rule"),
    ],
)  # fmt: skip
def test_the_permission_for_counters(host: Host, status: str, told: str) -> None:
    """Only what is known to be forbidden is a problem."""
    check = counter_check(host)
    assert check.status == status
    assert told in check.message


def test_forbidden_counters_have_the_remedies_of_the_failure() -> None:
    """The same as after the failure: one table."""
    bare = counter_check(replace(GOOD, counters_are_restricted=True))
    assert "sudo -E" in bare.remedies[0]
    inside = counter_check(
        Host(container="docker", is_root=True, capabilities=(), counters_are_restricted=True,
             has_own_user_namespace=False)
    )  # fmt: skip
    assert "--cap-add=SYS_ADMIN" in inside.remedies[0]


def test_an_ncu_that_is_too_old_for_the_gpu_is_a_problem() -> None:
    """And one that cannot be judged is not."""
    new = replace(GOOD, gpus=(replace(H100, name="NVIDIA B200", compute_capability="10.0"),))
    old = NCU._replace(version=(2024, 1, 1, 0), version_text="2024.1.1.0")
    check = _of_gpus(new, (old,))["gpu_support"]
    assert check.status == "problem"
    assert check.message == "ncu 2024.1.1.0 does not know compute capability 10.0"
    assert _of_gpus(new)["gpu_support"].status == "unknown"
    assert _of_gpus(GOOD, ())["gpu_support"].status == "unknown"


def test_what_spoils_a_part_is_a_warning() -> None:
    """MIG, a monitor that holds counters, a driver that is unloaded, a GPU without known peaks."""
    gpu = replace(H100, mig_mode="Enabled", persistence_mode="Disabled", name="NVIDIA X1")
    host = replace(GOOD, gpus=(gpu,), is_dcgm_running=True, profilers_running=("dcgmi (7)",))
    found = _of_gpus(host)
    told = {key: found[key].status for key in ("mig", "other_profilers", "persistence", "roofs")}
    assert set(told.values()) == {"warning"}, told
    assert "dcgmi (7)" in found["other_profilers"].message
    assert "dcgmi profile --pause" in found["other_profilers"].remedies[0]
    assert "nvidia-smi -pm 1" in found["persistence"].remedies[0]
    assert "nsightlens ceilings" in found["roofs"].remedies[0]
    assert "-mig 0" in found["mig"].remedies[0]


def test_what_cannot_be_seen_is_unknown() -> None:
    """A container hides DCGM; an old nvidia-smi does not tell persistence."""
    host = replace(
        GOOD, is_dcgm_running=None, container="docker",
        gpus=(replace(H100, persistence_mode=None, mig_mode=None),),
    )  # fmt: skip
    found = _of_gpus(host)
    assert found["other_profilers"].status == "unknown"
    assert found["persistence"].status == "unknown"
    assert found["mig"].message == "this GPU has no MIG"
    assert _of_gpus(Host()) == {}


def test_a_stub_is_a_problem_and_no_library_a_warning() -> None:
    """It may lie where only its programs look; without a GPU nobody needs it."""
    stub = replace(GOOD, libcuda="/cuda/stubs/libcuda.so", is_libcuda_stub=True)
    assert library_check(stub).status == "problem"
    assert "LD_LIBRARY_PATH" in library_check(stub).remedies[0]
    assert library_check(replace(GOOD, libcuda=None)).status == "warning"
    assert library_check(Host()).status == "unknown"


def test_places_for_files(tmp_path: Path) -> None:
    """A lock file of another user's, a folder that is read-only, a disk that is nearly full."""
    assert temporary_check(replace(GOOD, is_temporary_folder_writable=False)).status == "problem"
    locked = temporary_check(replace(GOOD, lock_file_problem="/tmp/x belongs to another user"))
    assert (locked.status, locked.message) == ("problem", "/tmp/x belongs to another user")
    assert "TMPDIR" in locked.remedies[0]
    for free, status in ((10**8, "problem"), (10**9, "warning"), (10**11, "ok")):
        assert disk_check(replace(GOOD, free_temporary_bytes=free), tmp_path).status == status
    assert disk_check(GOOD, tmp_path / "none").status == "warning"


@pytest.mark.parametrize(
    ("facts", "told"),
    [
        (TorchFacts("/p"), "not in /p; needed for `profile --model`"),
        (TorchFacts("/p", problem="OSError: libcudart"), "in /p it fails: OSError: libcudart"),
        (replace(TORCH, cuda=None), "a build for the CPU only"),
        (replace(TORCH, cuda=None, hip="6.2"), "a build for ROCm"),
        (replace(TORCH, is_available=False, devices=()), "can use no GPU here"),
        (replace(TORCH, devices=(TorchDevice(capability="12.0"),)),
         "no code for compute capability 12.0"),
        (replace(TORCH, problem="RuntimeError: no"), "RuntimeError: no"),
    ],
)  # fmt: skip
def test_a_torch_that_cannot_use_the_gpu_is_a_warning(facts: TorchFacts, told: str) -> None:
    """Programs of the user's own may need none."""
    check = torch_check(facts, GOOD)
    assert check.status == "warning"
    assert told in check.message
    assert nvtx_check(replace(facts, nvtx=None)).status == "warning"


@pytest.mark.parametrize(
    ("capability", "architectures", "expected"),
    [
        ("9.0", ["sm_80", "sm_90"], True),
        ("8.9", ["sm_80"], True),
        ("8.0", ["sm_86"], False),
        ("10.0", ["sm_90"], False),
        ("10.0", ["sm_90", "compute_90"], True),
        ("10.0", ["sm_90a"], False),
        ("9.0", ["sm_90a"], True),
        ("12.0", ["sm_120"], True),
        ("9.0", [], None),
        (None, ["sm_90"], None),
    ],
)
def test_code_for_a_gpu(
    capability: str | None, architectures: list[str], expected: bool | None
) -> None:
    """Code runs on newer minor versions of its major one, PTX on anything newer."""
    assert has_code_for(capability, architectures) is expected


def test_a_python_is_asked_for_its_torch(tmp_path: Path) -> None:
    """In a process of its own; what it prints besides is passed over."""
    said = {"python": "3.12.1", "executable": "/p", "torch": "2.6.0", "cuda": "12.4",
            "is_available": True, "architectures": ["sm_90"], "nvtx": "0.2.11",
            "devices": [{"name": "NVIDIA H100", "capability": "9.0"}],
            "packages": {"triton": "3.2.0", "flash-attn": None}}  # fmt: skip
    program = script(
        tmp_path / "python", f"echo 'a warning'; echo 'nsightlens-doctor:{json.dumps(said)}'"
    )
    facts = ask_torch(str(program))
    assert (facts.torch, facts.cuda, facts.nvtx) == ("2.6.0", "12.4", "0.2.11")
    assert facts.devices == (TorchDevice(name="NVIDIA H100", capability="9.0"),)
    assert facts.packages == (("triton", "3.2.0"),)


@pytest.mark.parametrize(
    ("text", "told"),
    [("echo 'Segmentation fault' >&2; exit 139", "Segmentation fault"), ("exit 3", "exit code 3")],
)
def test_a_python_that_does_not_answer_is_told(tmp_path: Path, text: str, told: str) -> None:
    """Neither a crash nor a program that is not there is an error of ours."""
    facts = ask_torch(str(script(tmp_path / "python", text)))
    assert facts.torch is None
    assert told in (facts.problem or "")
    assert "cannot be run" in (ask_torch(str(tmp_path / "none")).problem or "")


def test_the_script_itself_runs(tmp_path: Path) -> None:
    """In the Python of these tests, with a torch that is none."""
    (tmp_path / "torch.py").write_text("raise OSError('libcudart.so.12: cannot open')")
    facts = ask_torch(environment={"PYTHONPATH": str(tmp_path), "PATH": ""})
    assert facts.python == sys.version.split()[0]
    assert facts.problem == "OSError: libcudart.so.12: cannot open"


def test_a_newer_tool_that_is_not_used_is_a_warning() -> None:
    """With the option that takes it; one that is broken is named."""
    newer = NCU._replace(path="/opt/ncu", version=(2026, 1), version_text="2026.1.0")
    broken = NCU._replace(path="/old/ncu", version=(), version_text="cannot be run: no")
    check = tool_check("ncu", (NCU, newer, broken), None)
    assert check.status == "warning"
    assert "not used: 2026.1.0 at /opt/ncu, /old/ncu, which cannot be run: no" in check.message
    assert check.remedies == ("To use the newer one: `--ncu /opt/ncu`.",)
    assert tool_check("ncu", (NCU, broken), None).status == "ok"


def test_a_tool_that_is_missing_is_a_problem_where_it_is_needed() -> None:
    """Without ncu there are no counters; without nsys there is no timeline."""
    assert tool_check("ncu", (), None).status == "problem"
    assert tool_check("nsys", (NCU,), None).status == "warning"
    assert "not at /x" in tool_check("ncu", (), "/x").message
    broken = NCU._replace(version=(), version_text="cannot be run: Permission denied")
    assert "Permission denied" in tool_check("ncu", (broken,), None).message


def test_a_whole_host_is_examined(tmp_path: Path) -> None:
    """From files and small programs to verdicts; the facts are JSON."""
    root = host_root(tmp_path / "root", is_restricted=True, user_id=0, capabilities=ADMIN)
    script(
        root / "opt/nvidia/nsight-compute/2025.1.1/ncu",
        "case $1 in --version) echo 'Version 2025.1.1.0' ;; *) echo 'ga100 gh100' ;; esac",
    )
    smi = script(
        tmp_path / "smi",
        "case $1 in *uuid*) echo 'Field \"uuid\" is not a valid field to query.'; exit 2 ;; esac\n"
        "f=${1#--query-gpu=}; IFS=,; o=\n"
        "for n in $f; do case $n in compute_cap) v=9.0 ;; name) v='NVIDIA H100 80GB HBM3' ;; "
        '*) v=\'[N/A]\' ;; esac; o="$o$v, "; done; echo "${o%, }"',
    )
    python = script(tmp_path / "python", "exit 1")
    found = examine(
        root=root, environment={"PATH": ""}, smi=str(smi), python=str(python), folder=tmp_path
    )
    status = {check.key: check.status for check in found.checks}
    assert status["ncu"] == status["driver"] == status["gpu"] == status["counters"] == "ok"
    assert status["gpu_support"] == "ok"
    assert status["nsys"] == status["torch"] == "warning"
    assert status["libcuda"] == "warning"
    assert found.passed
    facts = json.loads(json.dumps(found.facts()))
    assert facts["tools"][0]["is_used"]
    assert facts["chips"] == ["ga100", "gh100"]
    assert facts["host"]["may_read_counters"] is True
    assert facts["host"]["gpus"][0]["compute_capability"] == "9.0"


def test_a_working_directory_that_was_removed_stops_no_examination(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then the disk of the temporary files is looked at."""

    def removed() -> Path:
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr("nsightlens.harness.doctor.Path.cwd", removed)
    found = examine(root=tmp_path, environment={"PATH": ""})
    assert "disk" in {check.key for check in found.checks}
