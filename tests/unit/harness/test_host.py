"""Facts about a host: read from files, never an error, and none is made up."""

from __future__ import annotations

import ctypes
import json
import os
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.hosts import ADMIN, host_root, script

from nsightlens.harness import gpu_attributes, gpus
from nsightlens.harness.gpus import Gpu, ask_driver_library, ask_smi, gpus_of_csv
from nsightlens.harness.host import Host, host_facts

NO_VARIABLES = {"PATH": ""}
PERFMON = 1 << 38


def _smi(path: Path, values: dict[str, str], *, unknown: str = "") -> str:
    """Write an nvidia-smi that knows some fields; of one it says that it is not valid."""
    cases = "\n".join(f"    {name}) v='{value}' ;;" for name, value in values.items())
    refuses = (
        f'case ",$f," in *,{unknown},*) '
        f"echo 'Field \"{unknown}\" is not a valid field to query.'; exit 2 ;; esac"
    )
    return str(
        script(
            path,
            f"""f=${{1#--query-gpu=}}
{refuses if unknown else ""}
line=
IFS=,
for name in $f; do
  case $name in
{cases}
    *) v='[N/A]' ;;
  esac
  line="$line, $v"
done
echo "${{line#, }}" """,
        )
    )


def test_a_host_with_nothing_is_unknown_and_no_error(tmp_path: Path) -> None:
    """Nothing is taken for 0 or for no where nobody said so."""
    host = host_facts(root=tmp_path, environment=NO_VARIABLES)
    assert host.gpus == ()
    assert host.container == "unknown"
    for name in ("is_root", "capabilities", "counters_are_restricted", "driver_version",
                 "is_dcgm_running", "may_read_counters", "has_nvidia_hardware",
                 "free_memory_bytes", "cloud", "system"):  # fmt: skip
        assert getattr(host, name) is None, name
    assert host.is_temporary_folder_writable is False


def test_this_host_is_told() -> None:
    """The real file system raises nothing either."""
    host = host_facts()
    assert host.cpu_count
    assert host.is_root == (os.geteuid() == 0)


@pytest.mark.parametrize(
    ("is_restricted", "user_id", "capabilities", "expected"),
    [
        (True, 1000, 0, False),
        (True, 0, ADMIN, True),
        (True, 0, 0, False),  # root of a container that gave its rights away
        (True, 1000, PERFMON, None),
        (False, 1000, 0, True),
        (None, 1000, 0, None),
        (None, 0, ADMIN, True),
    ],
)
def test_who_may_read_counters(
    tmp_path: Path,
    is_restricted: bool | None,
    user_id: int,
    capabilities: int,
    expected: bool | None,
) -> None:
    """Administrators, or everybody where the driver says so; CAP_PERFMON alone is not known."""
    root = host_root(
        tmp_path, is_restricted=is_restricted, user_id=user_id, capabilities=capabilities
    )
    assert host_facts(root=root, environment=NO_VARIABLES).may_read_counters is expected


def test_root_of_a_user_namespace_is_no_administrator(tmp_path: Path) -> None:
    """Its capabilities end where the namespace ends."""
    root = host_root(tmp_path, user_id=0, capabilities=ADMIN, uid_map="0 1000 1\n")
    host = host_facts(root=root, environment=NO_VARIABLES)
    assert host.has_own_user_namespace
    assert host.may_read_counters is False


@pytest.mark.parametrize(
    ("files", "variables", "container"),
    [
        ({}, {}, "none"),
        ({".dockerenv": ""}, {}, "docker"),
        ({"run/.containerenv": ""}, {}, "podman"),
        ({".dockerenv": ""}, {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, "kubernetes"),
        ({"var/run/secrets/kubernetes.io/token": ""}, {}, "kubernetes"),
        ({"run/systemd/container": "lxc"}, {}, "lxc"),
        ({"proc/1/cgroup": "12:pids:/docker/0123\n"}, {}, "docker"),
        ({"proc/1/cgroup": "12:pids:/kubepods/burstable/pod1\n"}, {}, "kubernetes"),
        ({}, {"APPTAINER_CONTAINER": "/x.sif"}, "apptainer"),
        ({"run/systemd/container": "systemd-nspawn"}, {}, "other"),
    ],
)
def test_the_kind_of_container(
    tmp_path: Path, files: dict[str, str], variables: dict[str, str], container: str
) -> None:
    """By what each leaves behind."""
    root = host_root(tmp_path, files)
    assert host_facts(root=root, environment={**NO_VARIABLES, **variables}).container == container


@pytest.mark.parametrize(
    ("file", "text", "cloud"),
    [
        ("sys_vendor", "Amazon EC2", "aws"),
        ("product_name", "Google Compute Engine", "gcp"),
        ("chassis_asset_tag", "7783-7084-3265-9085-8269-3286-77", "azure"),
        ("chassis_asset_tag", "OracleCloud.com", "oracle"),
        ("sys_vendor", "Dell Inc.", None),
    ],
)
def test_the_cloud_by_the_firmware(tmp_path: Path, file: str, text: str, cloud: str | None) -> None:
    """Azure and Hyper-V on a desk have the same vendor, and another asset tag."""
    root = host_root(tmp_path, {f"sys/class/dmi/id/{file}": f"{text}\n"})
    assert host_facts(root=root, environment=NO_VARIABLES).cloud == cloud
    rented = {**NO_VARIABLES, "RUNPOD_POD_ID": "x"}
    assert host_facts(root=root, environment=rented).cloud == "runpod"


@pytest.mark.parametrize(
    ("text", "version", "is_open"),
    [
        ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19",
         "535.104.05", False),
        ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build",
         "570.86.15", True),
    ],
)  # fmt: skip
def test_the_driver_and_its_kind(tmp_path: Path, text: str, version: str, is_open: bool) -> None:
    """From the two forms of its version."""
    root = host_root(tmp_path, {"proc/driver/nvidia/version": text})
    host = host_facts(root=root, environment=NO_VARIABLES)
    assert (host.driver_version, host.is_driver_open) == (version, is_open)


def test_programs_that_may_hold_the_counters_are_seen(tmp_path: Path) -> None:
    """With their process ids; in a container, not to see DCGM means nothing."""
    files = {"proc/812/comm": "nv-hostengine\n", "proc/900/comm": "bash\n", "proc/77/comm": "ncu\n"}
    host = host_facts(root=host_root(tmp_path / "a", files), environment=NO_VARIABLES)
    assert host.profilers_running == ("ncu (77)", "nv-hostengine (812)")
    assert host.is_dcgm_running is True
    bare = host_facts(root=host_root(tmp_path / "b"), environment=NO_VARIABLES)
    assert bare.is_dcgm_running is False
    inside = host_root(tmp_path / "c", {".dockerenv": ""})
    assert host_facts(root=inside, environment=NO_VARIABLES).is_dcgm_running is None


def test_a_stub_is_told_from_the_library(tmp_path: Path) -> None:
    """By its folder, or because nothing real is so small."""
    root = host_root(tmp_path / "root")
    stub = tmp_path / "cuda/lib64/stubs/libcuda.so"
    stub.parent.mkdir(parents=True)
    stub.write_bytes(bytes(2_000_000))
    environment = {"PATH": "", "LD_LIBRARY_PATH": f":{tmp_path}/none:{stub.parent}"}
    host = host_facts(root=root, environment=environment)
    assert (host.libcuda, host.is_libcuda_stub) == (str(stub), True)
    real = root / "usr/lib/x86_64-linux-gnu/libcuda.so.1"
    real.parent.mkdir(parents=True)
    real.write_bytes(bytes(2_000_000))
    host = host_facts(root=root, environment=NO_VARIABLES)
    assert (host.libcuda, host.is_libcuda_stub) == (str(real), False)
    real.write_bytes(b"small")
    assert host_facts(root=root, environment=NO_VARIABLES).is_libcuda_stub


def test_folders_of_the_loader_are_looked_into(tmp_path: Path) -> None:
    """A container toolkit may put the library anywhere, and tells the loader."""
    root = host_root(tmp_path, {"etc/ld.so.conf.d/nvidia.conf": "# ours\n/odd/place\n"})
    library = root / "odd/place/libcuda.so.1"
    library.parent.mkdir(parents=True)
    library.write_bytes(bytes(2_000_000))
    assert host_facts(root=root, environment=NO_VARIABLES).libcuda == str(library)


def test_the_cache_of_the_loader_is_looked_into(tmp_path: Path) -> None:
    """It knows every folder that the loader does."""
    root = host_root(tmp_path)
    library = root / "opt/driver/libcuda.so.1"
    library.parent.mkdir(parents=True)
    library.write_bytes(bytes(2_000_000))
    cache = (
        b"glibc-ld.so.cache1.1\x02\x00libz.so.1\x00/lib/libz.so.1\x00/opt/driver/libcuda.so.1\x00"
    )
    (root / "etc/ld.so.cache").write_bytes(cache)
    assert host_facts(root=root, environment=NO_VARIABLES).libcuda == str(library)


def test_hardware_without_a_driver_is_seen(tmp_path: Path) -> None:
    """A GPU of NVIDIA's on the bus; its sound device alone is none."""
    gpu = {"vendor": "0x10de\n", "class": "0x030200\n"}
    sound = {"vendor": "0x10de\n", "class": "0x040300\n"}
    for name, device, expected in (("a", gpu, True), ("b", sound, False)):
        files = {f"sys/bus/pci/devices/0000:01:00.0/{key}": text for key, text in device.items()}
        root = host_root(tmp_path / name, files, is_restricted=None)
        assert host_facts(root=root, environment=NO_VARIABLES).has_nvidia_hardware is expected


def test_gpus_are_told_without_nvidia_smi(tmp_path: Path) -> None:
    """The driver lists them too, with less."""
    text = "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 200\nGPU UUID: \t GPU-1\n"
    root = host_root(tmp_path, {"proc/driver/nvidia/gpus/0000:01:00.0/information": text})
    (gpu,) = host_facts(root=root, environment=NO_VARIABLES).gpus
    assert (gpu.index, gpu.name, gpu.uuid) == (0, "NVIDIA H100 80GB HBM3", "GPU-1")
    assert gpu.compute_capability is None


def test_a_lock_file_of_another_user_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the kernel guards it against root."""
    root = host_root(tmp_path, {"proc/sys/fs/protected_regular": "2\n"})
    temporary = root / "tmp"
    temporary.chmod(0o1777)
    lock = temporary / "nsight-compute-lock"
    assert host_facts(root=root, environment=NO_VARIABLES).lock_file_problem is None
    lock.write_text("")
    assert host_facts(root=root, environment=NO_VARIABLES).lock_file_problem is None
    stat = Path.stat

    class Foreign:
        def __init__(self, found: os.stat_result) -> None:
            self.st_mode, self.st_uid = found.st_mode, found.st_uid + 4711

    def foreign(path: Path, **more: Any) -> Any:
        return Foreign(stat(path)) if path == lock else stat(path, **more)

    monkeypatch.setattr(Path, "stat", foreign)
    told = host_facts(root=root, environment=NO_VARIABLES).lock_file_problem
    assert told is not None
    assert "fs.protected_regular=2" in told


def test_a_temporary_folder_of_the_users_counts(tmp_path: Path) -> None:
    """With the room in it; one that is not there cannot be written."""
    own = tmp_path / "own"
    own.mkdir()
    host = host_facts(root=tmp_path, environment={"PATH": "", "TMPDIR": str(own)})
    assert (host.temporary_folder, host.is_temporary_folder_writable) == (str(own), True)
    assert host.free_temporary_bytes
    host = host_facts(root=tmp_path, environment={"PATH": "", "TMPDIR": "/nowhere"})
    assert not host.is_temporary_folder_writable
    assert host.free_temporary_bytes is None


def test_nvidia_smi_is_asked_for_each_gpu(tmp_path: Path) -> None:
    """Sizes in bytes; what it does not know is null, and not a text."""
    values = {
        "index": "0", "name": "NVIDIA A100-SXM4-40GB", "uuid": "GPU-1", "compute_cap": "8.0",
        "memory.total": "40960", "mig.mode.current": "Enabled", "clocks.max.sm": "1410",
        "power.draw": "[Unknown Error]", "driver_version": "550.54.15",
    }  # fmt: skip
    smi = _smi(tmp_path / "bin/nvidia-smi", values)
    host = host_facts(root=tmp_path, environment={"PATH": f"{tmp_path}/bin:/usr/bin:/bin"})
    (gpu,) = host.gpus
    assert host.smi == smi
    assert gpu.memory_bytes == 40960 << 20
    assert gpu.max_sm_clock_mhz == 1410
    assert gpu.power_w is None
    assert gpu.persistence_mode is None
    assert host.driver_version == "550.54.15"
    assert host.has_mig


def test_an_old_nvidia_smi_is_asked_without_what_it_does_not_know(tmp_path: Path) -> None:
    """One field that is not valid costs that field only."""
    smi = _smi(tmp_path / "smi", {"index": "0", "name": "Tesla T4"}, unknown="compute_cap")
    answer = ask_smi(smi)
    assert answer.problem is None
    assert [(gpu.name, gpu.compute_capability) for gpu in answer.gpus] == [("Tesla T4", None)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("echo 'Failed to initialize NVML: Driver/library version mismatch'; exit 18", "mismatch"),
        ("echo 'No devices were found'; exit 6", "No devices were found"),
        ("exit 0", "it names no GPU"),
        ("exit 9", "exit code 9"),
    ],
)
def test_what_nvidia_smi_complains_of_is_kept(tmp_path: Path, text: str, told: str) -> None:
    """In its own words, where it has any."""
    answer = ask_smi(str(script(tmp_path / "smi", text)))
    assert answer.gpus == ()
    assert told in (answer.problem or "")


def test_an_nvidia_smi_that_hangs_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that fell off its bus lets it wait for ever."""
    monkeypatch.setattr(gpus, "SMI_TIMEOUT_S", 0.1)
    answer = ask_smi(str(script(tmp_path / "smi", "exec sleep 60")))
    assert "did not answer within 0.1 s" in (answer.problem or "")
    assert "cannot be run" in (ask_smi(str(tmp_path)).problem or "")


def test_lines_with_another_number_of_values_are_left_out() -> None:
    """A warning between the lines is no GPU."""
    text = "0, NVIDIA L4\nWARNING: infoROM is corrupted\n1, NVIDIA L4\n"
    assert [gpu.index for gpu in gpus_of_csv(text, ["index", "name"])] == [0, 1]


class _Cuda:
    """A driver library with one GPU, as ctypes calls it."""

    attributes: ClassVar = {
        13: 1980000,
        16: 132,
        18: 0,
        36: 2619000,
        37: 5120,
        38: 52428800,
        75: 9,
        76: 0,
    }

    def __init__(self, *, fails: bool = False) -> None:
        self._fails = fails

    def cuInit(self, _: int) -> int:  # noqa: N802 - names of the library
        return int(self._fails)

    def cuDriverGetVersion(self, version: Any) -> int:  # noqa: N802
        version._obj.value = 12080
        return 0

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802
        count._obj.value = 2
        return 0

    def cuDeviceGet(self, device: Any, index: int) -> int:  # noqa: N802
        device._obj.value = index
        return int(index == 1)

    def cuDeviceGetAttribute(self, value: Any, number: int, _: Any) -> int:  # noqa: N802
        value._obj.value = self.attributes.get(number, 0)
        return int(number not in self.attributes)

    def cuDeviceGetName(self, name: Any, size: int, _: Any) -> int:  # noqa: N802
        name.value = b"NVIDIA H100 80GB HBM3"[: size - 1]
        return 0

    def cuDeviceTotalMem_v2(self, memory: Any, _: Any) -> int:  # noqa: N802
        memory._obj.value = 85 * 10**9
        return 0

    def cuDeviceGetUuid(self, octets: Any, _: Any) -> int:  # noqa: N802
        ctypes.memmove(octets._obj, bytes(range(16)), 16)
        return 0


def test_attributes_are_those_of_the_library() -> None:
    """Clocks in MHz; a GPU that does not answer is left out."""
    answer = gpu_attributes.attributes_of(_Cuda())
    assert answer["cuda_version"] == "12.8"
    (device,) = answer["devices"]
    assert device["uuid"] == "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"
    assert (device["sm_count"], device["memory_bus_bit"]) == (132, 5120)
    assert (device["clock_rate_mhz"], device["memory_clock_rate_mhz"]) == (1980, 2619)
    assert (device["compute_capability"], device["is_integrated"]) == ("9.0", False)
    assert gpu_attributes.attributes_of(_Cuda(fails=True)) == {}


def test_a_memory_clock_of_nothing_is_not_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A GPU that shares the memory of the CPU says 0."""
    monkeypatch.setattr(_Cuda, "attributes", {**_Cuda.attributes, 36: 0, 37: 0})
    (device,) = gpu_attributes.attributes_of(_Cuda())["devices"]
    assert device["memory_clock_rate_mhz"] is None
    assert device["memory_bus_bit"] is None


def test_a_library_that_is_none_says_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nor does one without the functions."""
    assert gpu_attributes.main(["", str(tmp_path / "libcuda.so.1")]) == 0
    assert json.loads(capsys.readouterr().out) == {}
    known = (Gpu(index=0, name="NVIDIA L4"),)
    assert ask_driver_library(known, str(tmp_path / "libcuda.so.1")) == (known, None)


def test_what_the_library_says_is_joined_by_the_id_of_the_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts only GPUs that are visible; what nvidia-smi said is kept."""
    said = gpu_attributes.attributes_of(_Cuda())
    uuid = said["devices"][0]["uuid"]
    program = script(tmp_path / "python", f"echo '{json.dumps(said)}'")
    monkeypatch.setattr("sys.executable", str(program))
    known = (Gpu(index=0, uuid="GPU-other"), Gpu(index=1, uuid=uuid, name="said by nvidia-smi"))
    found, version = ask_driver_library(known, "libcuda.so.1")
    assert version == "12.8"
    assert [gpu.sm_count for gpu in found] == [None, 132]
    assert (found[1].index, found[1].name) == (1, "said by nvidia-smi")
    alone, _ = ask_driver_library((), "libcuda.so.1")
    assert [(gpu.index, gpu.name) for gpu in alone] == [(0, "NVIDIA H100 80GB HBM3")]


def test_a_host_can_be_made_by_hand() -> None:
    """Every fact has a default, so that others can tell of a host."""
    assert Host().may_read_counters is None
    assert not Host().is_in_container
