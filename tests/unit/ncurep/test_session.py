"""Sessions: what many blocks say of one process, put together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support.handmade import block, file_of, write_bytes

from nsightlens.errors import FieldMissingError
from nsightlens.ncurep import read_ncu_rep
from nsightlens.ncurep.encode import double_field, message_field, text_field, uint_field

if TYPE_CHECKING:
    from pathlib import Path

    from nsightlens.ncurep.model import SessionInfo

APP = message_field(6, uint_field(1, 9), text_field(2, "host"), text_field(3, "app"))
TOOL = message_field(6, uint_field(1, 10), text_field(2, "host"), text_field(3, "tool"))


def details(*fields: bytes) -> bytes:
    return message_field(3, *fields)


def read(folder: Path, *blocks: bytes) -> list[SessionInfo]:
    return read_ncu_rep(write_bytes(folder, file_of(*blocks))).sessions


def system(number: int, name: str, computer: str) -> bytes:
    return message_field(
        number, text_field(1, name), text_field(2, "build 1"), text_field(5, computer)
    )


def device(number: int, name: str, *attributes: bytes) -> bytes:
    return message_field(6, uint_field(1, number), text_field(2, name), *attributes)


def attribute(name: str, *value: bytes) -> bytes:
    return message_field(3, text_field(1, name), message_field(2, *value))


def version(provider: str, number: str) -> bytes:
    return message_field(8, text_field(1, provider), text_field(2, number))


def test_parts_in_several_blocks_are_one_session(tmp_path: Path) -> None:
    """Each block adds what it says."""
    (session,) = read(
        tmp_path,
        block([], APP, details(uint_field(2, 1_700_000_000))),
        block([], APP, details(version("CUDA Version", "12.4"))),
        block([], APP, details(version("PerfWorks", "0.1.0"))),
        block([], APP, details(text_field(11, "ncu -o out app"))),
    )
    assert session.process is not None
    assert session.process.process_name == "app"
    assert session.creation_time == 1_700_000_000
    assert session.versions == {"CUDA Version": "12.4", "PerfWorks": "0.1.0"}
    assert session.profiler_command_line == "ncu -o out app"


def test_every_process_has_its_own_session(tmp_path: Path) -> None:
    """Two processes in one file are not mixed, and keep their order."""
    first, second = read(
        tmp_path,
        block([], APP, details(uint_field(2, 1))),
        block([], TOOL, details(uint_field(2, 2))),
        block([], APP, details(version("CUDA Version", "12.4"))),
    )
    assert (first.creation_time, first.versions) == (1, {"CUDA Version": "12.4"})
    assert (second.creation_time, second.versions) == (2, {})


def test_details_of_no_process_hold_for_all(tmp_path: Path) -> None:
    """A process's own word counts more than the common one."""
    first, second = read(
        tmp_path,
        block([], details(uint_field(2, 5), version("CUDA Version", "12.4"), device(0, "H100"))),
        block([], APP),
        block([], TOOL, details(uint_field(2, 6), device(1, "A100"))),
    )
    assert (first.creation_time, first.device_names) == (5, ("H100",))
    assert second.versions == {"CUDA Version": "12.4"}
    assert (second.creation_time, second.device_names) == (6, ("H100", "A100"))


def test_details_may_name_their_process_by_its_id(tmp_path: Path) -> None:
    """The id inside the details stands in for a block that names no process."""
    (session,) = read(
        tmp_path, block([], APP), block([], details(uint_field(1, 9), uint_field(2, 5)))
    )
    assert session.process is not None
    assert (session.process.process_name, session.creation_time) == ("app", 5)
    (unknown,) = read(tmp_path, block([], details(uint_field(1, 3))))
    assert unknown.process is not None
    assert unknown.process.process_id == 3


def test_details_without_any_process_are_still_a_session(tmp_path: Path) -> None:
    """Nothing is lost where the file names no process at all."""
    (session,) = read(tmp_path, block([], details(uint_field(2, 5))))
    assert (session.process, session.creation_time) == (None, 5)


def test_no_session_is_an_empty_list(tmp_path: Path) -> None:
    """A file need not describe how it was made."""
    assert read(tmp_path, block()) == []


def test_the_profiled_machine_counts_and_not_the_viewing_one(tmp_path: Path) -> None:
    """Host and target differ in remote profiling; alone, the host stands for both."""
    host, target = system(3, "Windows", "desk"), system(4, "Linux", "node1")
    for blocks in (
        [details(host), details(target)],
        [details(target), details(host)],
        [details(host, target)],
    ):
        (session,) = read(tmp_path, *(block([], APP, part) for part in blocks))
        assert (session.operating_system, session.computer_name) == ("Linux build 1", "node1")
    (alone,) = read(tmp_path, block([], APP, details(host)))
    assert alone.computer_name == "desk"


def test_devices_have_names_and_attributes(tmp_path: Path) -> None:
    """The names stand in the order of the attributes; values keep their types."""
    (session,) = read(
        tmp_path,
        block(
            [],
            APP,
            details(
                device(
                    1,
                    "H100",
                    attribute("sm_count", uint_field(5, 132)),
                    attribute("ratio", double_field(3, 0.5)),
                    attribute("name", text_field(1, "NVIDIA H100")),
                    attribute("empty"),
                ),
                device(0, "A100"),
            ),
        ),
    )
    assert session.device_names == ("H100", "A100")
    assert session.device_attributes == {
        1: {"sm_count": 132, "ratio": 0.5, "name": "NVIDIA H100"},
        0: {},
    }


def test_the_settings_of_the_window_say_clocks_and_replay(tmp_path: Path) -> None:
    """Nsight Compute's own window stores them; the words are ncu's, in lower case."""
    settings = message_field(10, text_field(8, "Base"), text_field(11, "Kernel"))
    program = message_field(9, text_field(1, "/app"), text_field(2, "/tmp"), text_field(3, "-n 1"))
    (session,) = read(tmp_path, block([], APP, details(settings, program)))
    assert (session.clock_control, session.replay_mode) == ("base", "kernel")
    assert (session.executable, session.working_directory) == ("/app", "/tmp")
    assert session.command_line == "-n 1"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("ncu --clock-control none --cache-control=all app", ("none", "all", None)),
        ("ncu --replay-mode app-range -o x app", (None, None, "app-range")),
        ("ncu -o x app", (None, None, None)),
        ("ncu app --no-clock-control none", (None, None, None)),
        ("ncu python x.py --cache-control none", (None, None, None)),
        ("ncu -f --nvtx --set full ./app --clock-control none", (None, None, None)),
        ("ncu -f --details-all --clock-control none app", ("none", None, None)),
        ("ncu --call-stack yes --replay-mode range app", (None, None, "range")),
        ('/opt/a b/ncu -k "my kernel" --clock-control none app', ("none", None, None)),
        ('C:\\Program Files\\ncu.exe -k "k l" --clock-control none a.exe', ("none", None, None)),
        ('ncu "--cache-control" "none" app', (None, "none", None)),
        ('ncu --clock-control none -k "never closed', ("none", None, None)),
        ("profiler --clock-control none app", ("none", None, None)),
        ("ncu", (None, None, None)),
    ],
)
def test_the_options_of_ncu_say_what_it_controlled(
    tmp_path: Path, line: str, expected: tuple[str | None, ...]
) -> None:
    """An option that was not given stays unknown."""
    (session,) = read(tmp_path, block([], APP, details(text_field(11, line))))
    assert (session.clock_control, session.cache_control, session.replay_mode) == expected


@pytest.mark.parametrize(
    ("header", "missing"),
    [
        (message_field(6, text_field(3, "app")), "has no process id"),
        (details(message_field(6, text_field(2, "H100"))), "has no device id"),
    ],
)
def test_a_session_without_its_ids_is_damage(tmp_path: Path, header: bytes, missing: str) -> None:
    """Nothing could say whose session or device it is."""
    with pytest.raises(FieldMissingError, match=missing):
        read(tmp_path, block([], header))
