"""A redacted report says what was measured and not where, by whom and with what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from support.contents import contents
from support.handmade import DAMAGED_INSIDE, block, file_of, kernel, metric, write_bytes
from support.parity import Parity, compare_report
from support.reports import everything, report_of

from nsightlens.errors import OutputError, OutputExistsError, ReportFormatError, WireFormatError
from nsightlens.ncurep import read_ncu_rep, redact_ncu_rep, slice_ncu_rep, write_ncu_rep
from nsightlens.ncurep.encode import length_prefixed, message_field, text_field, uint_field
from nsightlens.ncurep.model import MAGIC, NvtxDomainState, NvtxRange, ProcessInfo, RuleMessage
from nsightlens.ncurep.spec import LaunchSpec, Layout, MetricSpec, ReportSpec, report_spec_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens.ncurep import Redaction

PROCESS = ProcessInfo(41, "gpu-box-7.example.org", "/home/alice/secret-project/bin/trainer")

# Everything that is to go, each with a text of its own: fields of SessionDetails by kind.
SYSTEM = message_field(
    3,
    text_field(1, "Linux"),
    text_field(5, "gpu-box-7"),
    message_field(7, text_field(1, "10.11.12.13"), uint_field(2, 1)),
    text_field(60, "undocumented-system"),
)
SESSION = b"".join(
    (
        uint_field(1, 41),
        SYSTEM,
        message_field(4, SYSTEM[2:]),
        text_field(7, "a comment of mine"),
        message_field(8, text_field(1, "CUDA"), text_field(2, "12.4")),
        message_field(
            9,
            text_field(1, "/home/alice/secret-project/bin/trainer"),
            text_field(2, "/scratch/working-folder"),
            text_field(3, "--data /data/customers --token hunter22"),
            text_field(4, "API_KEY=abcdef123456"),
        ),
        message_field(10, text_field(4, "Profile of mine"), text_field(8, "Base")),
        text_field(
            11,
            "/usr/bin/ncu -o /home/alice/out --clock-control none --cache-control=all"
            " --replay-mode application ./trainer",
        ),
        text_field(61, "undocumented-session"),
    )
)
CALL_STACK = message_field(
    1,
    text_field(1, "/opt/lib/libstack.so"),
    uint_field(2, 77),
    text_field(3, "/src/stack_file.cpp"),
    text_field(4, "stack_function"),
)
GONE = (
    "gpu-box-7", "10.11.12.13", "alice", "trainer", "secret-project", "a comment of mine",
    "working-folder", "customers", "hunter22", "abcdef123456", "Profile of mine", "/usr/bin/ncu",
    "undocumented", "stack", "comment of a launch", "code of the program", "series of a launch",
)  # fmt: skip


def header() -> bytes:
    process = message_field(
        6, uint_field(1, 41), text_field(2, PROCESS.host_name), text_field(3, PROCESS.process_name)
    )
    return message_field(3, SESSION) + process + text_field(62, "undocumented-header")


def telling_kernel(*fields: bytes) -> bytes:
    return kernel(
        text_field(12, "comment of a launch"),
        message_field(18, text_field(3, "comment of a launch's section")),
        message_field(24, text_field(1, "series of a launch")),
        message_field(28, CALL_STACK),
        text_field(63, "undocumented-kernel"),
        *fields,
    )


def write_telling(folder: Path, *fields: bytes, strings: Sequence[str] = ("m",)) -> Path:
    """Write a report of one kernel that gives everything away."""
    source = uint_field(1, 9) + text_field(2, "code of the program in /home/bob/code.cu")
    value = message_field(2, uint_field(5, 12))
    result = telling_kernel(metric(0, value), *fields)
    return write_bytes(
        folder, file_of(block([result], header(), strings=list(strings), sources=[source]))
    )


def redacted(folder: Path, path: Path, **options: Any) -> Redaction:
    return redact_ncu_rep(path, folder / "shared.ncu-rep", **options)


def remaining(done: Redaction) -> list[tuple[str, str, str]]:
    return [(one.kind, one.where, one.text) for one in done.remaining if one.kind != "kernel name"]


@pytest.mark.parametrize("text", GONE)
def test_what_names_somebody_is_gone(tmp_path: Path, text: str) -> None:
    """Wherever the format has a place for it."""
    whole = write_telling(tmp_path)
    assert text.encode() in whole.read_bytes()
    done = redacted(tmp_path, whole)
    assert text.encode() not in done.path.read_bytes()


def test_what_was_removed_is_counted_by_kind(tmp_path: Path) -> None:
    """Each field once; an empty one does not count."""
    assert redacted(tmp_path, write_telling(tmp_path)).removed == {
        "call stack": 1,
        "command line": 1,
        "comment": 2,
        "environment": 1,
        "executable": 1,
        "host name": 3,
        "network address": 2,
        "process name": 1,
        "profile series": 1,
        "profiler command line": 1,
        "profiler setting": 1,
        "section comment": 1,
        "source": 1,
        "undocumented field": 5,
        "working directory": 1,
    }


def test_a_report_that_names_nothing_stays_as_it_is(tmp_path: Path) -> None:
    """Also to the byte."""
    whole = write_bytes(tmp_path, file_of(block([kernel()], strings=["m"])))
    done = redacted(tmp_path, whole)
    assert done.removed == {}
    assert done.path.read_bytes() == whole.read_bytes()


LAYOUTS = {
    "one_result_per_block": Layout(),
    "two_results_per_block": Layout(results_per_block=2),
    "strings_in_the_last_block": Layout(strings="last_block", results_per_block=99),
    "sources_beside_results": Layout(
        source_count=2, source_bytes=300, are_sources_beside_results=True
    ),
    "sources_in_blocks_of_their_own": Layout(source_count=2, source_bytes=300),
    "kinds_in_one_block": Layout(may_mix_kinds=True, results_per_block=99),
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_every_value_is_as_before(tmp_path: Path, layout: Layout) -> None:
    """Metrics, instances, names, grids, rules and NVTX of every kind of result."""
    launches = [
        *everything(),
        LaunchSpec(kind="range", metrics={"m": 1}, context_name="ctx"),
        LaunchSpec(kind="cmdlist", name="list", metrics={"m": 3}),
        LaunchSpec(kind="graph", metrics={"m": 4}, instances={"i": [(1, 2.0)]}),
    ]
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", report_of(launches), layout)
    before = read_ncu_rep(whole, instances=True)
    after = read_ncu_rep(redacted(tmp_path, whole).path, instances=True)
    for result in (*before.results, *after.results):
        result.process = None
    assert contents(after) == contents(before)
    assert after.source_count == 0


@pytest.mark.ncu_report
@pytest.mark.parametrize("keeps", [True, False])
def test_ncu_report_reads_a_redacted_report_as_we_do(tmp_path: Path, keeps: bool) -> None:
    """What it requires is still there."""
    launches = [
        *everything(),
        LaunchSpec(kind="range", metrics={"m": 1}, context_name="ctx"),
        LaunchSpec(kind="cmdlist", name="list", metrics={"m": 3}),
        LaunchSpec(kind="graph", metrics={"m": 4}, instances={"i": [(1, 2.0)]}),
    ]
    layout = Layout(source_count=1, source_bytes=100, results_per_block=2)
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", report_of(launches), layout)
    done = redacted(tmp_path, whole, keep_kernel_names=keeps, keep_nvtx=keeps)
    telling = write_telling(tmp_path)
    parity = Parity()
    compare_report(done.path, parity)
    compare_report(redacted(tmp_path, telling, overwrite=True).path, parity)
    assert parity.differences == {}
    assert parity.compared["launches"] == 9


def test_processes_are_still_told_apart(tmp_path: Path) -> None:
    """By their ids, without their names."""
    launches = [LaunchSpec(process=ProcessInfo(i, "host", "name")) for i in (3, 5)]
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", launches)
    after = read_ncu_rep(redacted(tmp_path, whole).path)
    assert [result.process for result in after.results] == [ProcessInfo(3), ProcessInfo(5)]


def test_how_ncu_measured_is_still_known(tmp_path: Path) -> None:
    """Of its command line, only the options for clocks, caches and replay are left."""
    (session,) = read_ncu_rep(redacted(tmp_path, write_telling(tmp_path)).path).sessions
    assert session.profiler_command_line == (
        "ncu --clock-control none --cache-control all --replay-mode application"
    )
    assert session.clock_control == "base", "its own window says so elsewhere, which counts more"
    assert session.versions == {"CUDA": "12.4"}
    assert session.operating_system == "Linux"


def test_kernel_names_stay_and_are_listed(tmp_path: Path) -> None:
    """Each of its three spellings."""
    done = redacted(tmp_path, write_telling(tmp_path))
    assert [one[:3] for one in done.remaining if one.kind == "kernel name"] == [
        ("kernel name", text, "kernel name") for text in ("_Z4axpyv", "axpy", "axpy()")
    ]


NAMES = ("gemm", "axpy", "gemm")


def test_kernel_names_can_be_replaced(tmp_path: Path) -> None:
    """By the same one for the same kernel; where else they stand is listed."""
    launches = [LaunchSpec(name=name, metrics={"note": "gemm"}) for name in NAMES]
    launches.append(LaunchSpec(kind="cmdlist", name="my list"))
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", launches)
    done = redacted(tmp_path, whole, keep_kernel_names=False)
    results = read_ncu_rep(done.path).results
    expected = ["kernel_0001", "kernel_0002", "kernel_0001", "kernel_0003"]
    assert [result.function_name for result in results] == expected
    assert {results[0].mangled_name, results[0].demangled_name} == {"kernel_0001"}
    assert done.removed["kernel name"] == 10
    assert done.remaining == (("removed kernel name", "gemm", "metric", 3),)


def metrics_of(path: Path) -> list[list[MetricSpec]]:
    launches = report_spec_of(read_ncu_rep(path, instances=True)).launches
    return [[one for one in each.metrics if isinstance(one, MetricSpec)] for each in launches]


def test_each_of_many_removed_names_is_found_elsewhere(tmp_path: Path) -> None:
    """Names that begin alike or hold one another by chance are still each their own."""
    names = [f"{begin}{i}" for begin in ("void at::native::kern", "k") for i in range(100, 200)]
    launches = [LaunchSpec(name=name, metrics={"note": f"as {name},"}) for name in names]
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", launches)
    done = redacted(tmp_path, whole, keep_kernel_names=False)
    assert {one.text for one in done.remaining} == set(names)
    assert {one.occurrence_count for one in done.remaining} == {1}


def test_kernel_names_are_replaced_in_the_metric_that_holds_them(tmp_path: Path) -> None:
    """In its value, in its instances and in what these belong to; numbers and no names stay."""
    launches = [
        LaunchSpec(
            name=name,
            metrics={"m": 1, "launch__kernel_name": name},
            instances={"launch__kernel_name": [(7, name), (name, 2.5)], "m": [(1, 2)]},
        )
        for name in NAMES
    ]
    launches.append(LaunchSpec(name="none", metrics={"launch__kernel_name": ""}))
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", launches)
    done = redacted(tmp_path, whole, keep_kernel_names=False)
    assert done.remaining == ()
    *after, last = metrics_of(done.path)
    for metrics, name in zip(after, ("kernel_0001", "kernel_0002", "kernel_0001"), strict=True):
        assert metrics == [
            MetricSpec("m", 1, [(1, 2)]),
            MetricSpec("launch__kernel_name", name, [(7, name), (name, 2.5)]),
        ]
    assert last[0].value == ""


def test_a_range_whose_metric_names_kernels_is_given_no_names(tmp_path: Path) -> None:
    """It has no name of its own: each text stands for one kernel."""
    metrics = {"launch__kernel_name": [(1, "gemm"), (2, "axpy"), (3, "gemm")]}
    whole = write_ncu_rep(tmp_path / "w.ncu-rep", [LaunchSpec(kind="range", instances=metrics)])
    done = redacted(tmp_path, whole, keep_kernel_names=False)
    assert done.remaining == ()
    ((found,),) = metrics_of(done.path)
    names = [name for _, name in found.instances]
    assert names == ["kernel_0001", "kernel_0002", "kernel_0001"]


def test_the_name_id_of_a_metric_may_stand_anywhere_in_it(tmp_path: Path) -> None:
    """As in any message."""
    value = message_field(2, text_field(1, "secret_kernel"))
    path = write_telling(tmp_path, message_field(13, value, uint_field(1, 1)),
                         strings=["m", "launch__kernel_name"])  # fmt: skip
    done = redacted(tmp_path, path, keep_kernel_names=False)
    assert b"secret_kernel" not in done.path.read_bytes()


def nvtx_report() -> ReportSpec:
    state = NvtxDomainState(
        3, "my domain", (NvtxRange("my range", payload="my payload", category=1, color=2),)
    )
    return ReportSpec(
        launches=[LaunchSpec(nvtx=[state], context_name="my context", stream_name="my stream")]
    )


def test_nvtx_stays_and_is_listed(tmp_path: Path) -> None:
    """Domains, ranges and payloads, and the names of contexts and streams."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", nvtx_report())
    assert [(kind, text) for kind, _, text in remaining(redacted(tmp_path, whole))] == [
        ("NVTX name", "my domain"),
        ("NVTX name", "my payload"),
        ("NVTX name", "my range"),
        ("context or stream name", "my context"),
        ("context or stream name", "my stream"),
    ]


def test_nvtx_can_be_removed(tmp_path: Path) -> None:
    """With the names of contexts and streams."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", nvtx_report())
    done = redacted(tmp_path, whole, keep_nvtx=False)
    assert done.removed == {"NVTX name": 1, "context or stream name": 2}
    assert remaining(done) == []
    assert b"my " not in done.path.read_bytes()


def test_names_that_the_program_registered_with_nvtx_are_removed(tmp_path: Path) -> None:
    """They are those of all the program, not of the launch."""
    domain = message_field(1, uint_field(1, 0), text_field(2, "d"), text_field(3, "registered"))
    done = redacted(tmp_path, write_telling(tmp_path, message_field(21, domain)))
    assert done.removed["registered NVTX name"] == 1
    assert ("NVTX name", "NVTX name", "d") in remaining(done)


def rule(text: str) -> bytes:
    message = message_field(1, text_field(1, text))
    body = message_field(3, message_field(1, message))
    return message_field(19, text_field(1, "R"), text_field(2, "R"), body)


def test_users_in_the_paths_of_rules_are_masked(tmp_path: Path) -> None:
    """With as many letters, so that nothing else changes; the rest of the path is listed."""
    said = "File /home/carol/rules/x.py failed; see also C:\\Users\\dave\\y and /home/erin"
    done = redacted(tmp_path, write_telling(tmp_path, rule(said)))
    (message,) = read_ncu_rep(done.path).results[0].rules
    assert message.message == said.replace("carol", "xxxxx").replace("dave", "xxxx").replace(
        "erin", "xxxx"
    )
    assert done.removed["user name in a path"] == 1
    assert ("path", "rule", "/home/xxxxx/rules/x.py") in remaining(done)


@pytest.mark.parametrize(
    ("said", "masked"),
    [
        (r"at C:\Users\John Smith\rules\x.py", r"at C:\Users\xxxx xxxxx\rules\x.py"),
        (r"at 'C:\Users\Smith, John'", r"at 'C:\Users\xxxxxx xxxx'"),
        (r"at C:\Users\John Smith", r"at C:\Users\xxxx xxxxx"),
        (r"C:\Users\Jo O'Brien\x", r"C:\Users\xx xxxxxxx\x"),
        (r"open('C:\\Users\\jsmith\\x')", r"open('C:\\Users\\xxxxxx\\x')"),
        (r"C:\USERS\JSMITH\X", r"C:\USERS\xxxxxx\X"),
        (r"C:\Documents and Settings\jo\x", r"C:\Documents and Settings\xx\x"),
        (r"C:/Users/John Smith/x", r"C:/Users/xxxx xxxxx/x"),
        (r"\\server\Users\jsmith\x", r"\\server\Users\xxxxxx\x"),
        (r"\\server\home\jsmith", r"\\server\home\xxxxxx"),
        ("in /Users/jo/x", "in /Users/xx/x"),
        ("in /mnt/c/Users/jsmith/x", "in /mnt/c/Users/xxxxxx/x"),
        ("in /mnt/home/carol/x", "in /mnt/home/xxxxx/x"),
        ("in /home2/carol", "in /home2/xxxxx"),
        ("in /global/homes/c/carol/x", "in /global/homes/x/xxxxx/x"),
        ("in /afs/cern.ch/user/c/carol", "in /afs/cern.ch/user/x/xxxxx"),
        ("in /lustre/scratch/users/carol/x", "in /lustre/scratch/users/xxxxx/x"),
        ("in /scratch/carol/x", "in /scratch/xxxxx/x"),
        ("in ~carol/x", "in ~xxxxx/x"),
        (r'"\/home\/carol\/x"', r'"\/home\/xxxxx\/x"'),
        ("file%3A%2F%2F%2Fhome%2Fcarol%2Fx", "file%3A%2F%2F%2Fhome%2Fxxxxx%2Fx"),
        ("%252Fhome%252Fcarol%252Fx", "%252Fhome%252Fxxxxx%252Fx"),
        ("file:///C:/Users/John%20Smith/x", "file:///C:/Users/xxxxxxxxxxxx/x"),
        ("\x1b[31m/home/carol\x1b[0m failed", "\x1b[31m/home/xxxxx\x1b[0m failed"),
    ],
)
def test_users_are_masked_however_a_path_is_spelled(tmp_path: Path, said: str, masked: str) -> None:
    """By Windows, macOS, sites with many users, JSON, URLs, or in the colours of a terminal."""
    done = redacted(tmp_path, write_telling(tmp_path, rule(said)))
    (message,) = read_ncu_rep(done.path).results[0].rules
    assert message.message == masked


@pytest.mark.parametrize(
    "said",
    ["/root/x", "/Users/Shared/x", r"C:\Users\Public\x", "/home/$USER/x", "the user/kernel mode",
     "/run/user/1000/x", "at home/page", "50~60/s"],
)  # fmt: skip
def test_what_is_no_user_stays(tmp_path: Path, said: str) -> None:
    """And is not searched for elsewhere."""
    done = redacted(tmp_path, write_telling(tmp_path, rule(said)))
    (message,) = read_ncu_rep(done.path).results[0].rules
    assert message.message == said
    assert "user name in a path" not in done.removed


def test_a_redacted_report_has_nothing_more_to_mask(tmp_path: Path) -> None:
    """Letters that stand for a name are none."""
    said = r"/home/carol/x and C:\Users\John Smith\x"
    once = redacted(tmp_path, write_telling(tmp_path, rule(said)))
    twice = redact_ncu_rep(once.path, tmp_path / "twice.ncu-rep")
    assert twice.path.read_bytes() == once.path.read_bytes()
    assert twice.removed == {"profiler command line": 1}


def listed(folder: Path, *fields: bytes) -> set[tuple[str, str]]:
    """Return kinds and texts that are left of a report with these fields of its kernel."""
    done = redacted(folder, write_telling(folder, *fields))
    return {(one.kind, one.text) for one in done.remaining if one.kind != "kernel name"}


def text_metric(text: str | bytes) -> bytes:
    content = text.encode() if isinstance(text, str) else text
    return metric(0, message_field(2, message_field(1, content)))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        (r"C:\Users\Jo Li\x", "Jo Li"),
        (r"C:\Users\John Smith\x", "John"),
        (r"C:\Users\John Smith\x", "Smith"),
        (r"'C:\\Users\\jsmith'", "jsmith"),
        ("\x1b[1m/home/carol\x1b[0m", "carol"),
        ("/scratch/c/carol/x", "carol"),
    ],
)
def test_a_user_who_is_masked_in_a_path_is_searched_for_everywhere(
    tmp_path: Path, path: str, name: str
) -> None:
    """As is one whose path was removed."""
    for place in (rule(path), text_field(12, path)):
        assert ("removed user name", name) in listed(tmp_path, place, text_metric(f"by {name}"))
        (tmp_path / "shared.ncu-rep").unlink()


def test_a_user_in_a_path_that_stays_is_searched_for_too(tmp_path: Path) -> None:
    """Where it stands in the path, and where by itself; nothing of it was removed."""
    path, nvtx = text_metric("/home/zoe/x"), text_field(26, "context of zoe")
    done = redacted(tmp_path, write_telling(tmp_path, path, nvtx))
    assert {one[:3] for one in done.remaining if one.text == "zoe"} == {
        ("user name", "zoe", "metric"),
        ("user name", "zoe", "context or stream name"),
    }


@pytest.mark.parametrize(
    ("variable", "found"),
    [
        ("USER=frank", ("removed user name", "frank")),
        ("LOGNAME=frank", ("removed user name", "frank")),
        ("HOSTNAME=node17", ("removed host name", "node17")),
    ],
)
def test_variables_that_name_somebody_are_searched_for(
    tmp_path: Path, variable: str, found: tuple[str, str]
) -> None:
    """Of the environment and of command lines."""
    told = found[1]
    fields = (text_field(12, f"PATH=/bin {variable};X=1"), text_metric(f"for {told}"))
    assert found in listed(tmp_path, *fields)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ran by Alice", "Alice"),
        ("run_alice_2", "alice"),
        ("GPU-BOX-7 was busy", "GPU-BOX-7"),
        ("\x1b[31malice\x1b[0m", "alice"),
        (r"a line\nalice", "alice"),
        ("a%20alice", "alice"),
        ("by alice".encode("utf-16-le"), "alice"),
        ("by alice".encode("utf-32-le"), "alice"),
    ],
)
def test_a_removed_name_is_found_however_it_is_written(
    tmp_path: Path, text: str | bytes, found: str
) -> None:
    """In capitals, in a file name, in colours, behind an escaped sign or in wide characters."""
    names = {name for kind, name in listed(tmp_path, text_metric(text)) if "removed" in kind}
    assert found in names


@pytest.mark.parametrize(
    ("text", "path"),
    [
        (r"C:\\tools\\x", r"C:\\tools\\x"),
        ("C:/tools/x", "C:/tools/x"),
        (r"C:\My Tools\x", r"C:\My Tools\x"),
        (r"see \\server\share\x", r"\\server\share\x"),
        (r"'\\\\server\\share'", r"\\\\server\\share"),
        (r'"\/opt\/x"', r"/opt\/x"),
        (r"a line\n/opt/x", "/opt/x"),
        ("%2Fopt%2Fx", "%2Fopt%2Fx"),
        ("file:///opt/x", "/opt/x"),
        ("~carol/x", "~carol/x"),
        ("\x1b[31m/opt/x\x1b[0m", "/opt/x"),
        ("C:\\opt\\x".encode("utf-16-le"), "\\opt\\x"),
        ("/opt/x".encode("utf-32-le"), "/opt/x"),
    ],
)
def test_a_path_is_listed_however_it_is_spelled(
    tmp_path: Path, text: str | bytes, path: str
) -> None:
    """Once."""
    found = listed(tmp_path, text_metric(text))
    assert [text for kind, text in found if kind == "path"] == [path]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("ask carol@example.org.", "carol@example.org"),
        ("ssh carol@node17", "carol@node17"),
        ("from 192.168.3.14:8080", "192.168.3.14"),
        ("card 0a:1b:2c:3d:4e:5f", "0a:1b:2c:3d:4e:5f"),
        ("on fe80::1", "fe80::1"),
        ("on 2001:db8:0:1::17", "2001:db8:0:1::17"),
        ("see http://wiki.example.org/page?x=1", "http://wiki.example.org/page?x=1"),
    ],
)
def test_addresses_are_listed(tmp_path: Path, text: str, address: str) -> None:
    """Of people and machines, wherever they stand."""
    for place in (rule(text), text_metric(text)):
        assert ("address", address) in listed(tmp_path, place)
        (tmp_path / "shared.ncu-rep").unlink()


@pytest.mark.parametrize(
    "text",
    ["https://docs.nvidia.com/nsight-compute/", "version 2024.1.1.0", "at 12:30:45", "300.1.2.3",
     "at::native::add", "c10::d", "a @ b", "1.2.3.4.5"],
)  # fmt: skip
def test_what_only_looks_like_an_address_is_not_listed(tmp_path: Path, text: str) -> None:
    """Documentation, versions, times and namespaces."""
    found = listed(tmp_path, text_metric(text))
    assert [one for one in found if one[0] == "address"] == []


def test_two_paths_that_differ_far_behind_their_beginning_are_two(tmp_path: Path) -> None:
    """Each is listed, however much of them and of what stands before is the same."""
    same = "x" * 200 + " /data/" + "d" * 200
    fields = [text_metric(f"{same}/{name}") for name in ("one", "two")]
    paths = {text.rpartition("/")[2] for kind, text in listed(tmp_path, *fields) if kind == "path"}
    assert paths == {"one", "two"}


def test_the_header_of_the_file_says_its_version_alone(tmp_path: Path) -> None:
    """A field that is not documented may say anything; of whom it tells is searched for."""
    content = write_telling(tmp_path, text_metric("for mallory")).read_bytes()
    begin = len(file_of())
    told = uint_field(1, 8) + text_field(2, "written in /home/mallory")
    whole = write_bytes(tmp_path, MAGIC + length_prefixed(told) + content[begin:])
    done = redacted(tmp_path, whole)
    assert done.path.read_bytes().startswith(file_of(version=8))
    assert done.removed["undocumented field"] == 6
    assert ("removed user name", "metric", "mallory") in remaining(done)


@pytest.mark.parametrize("length", [20, 49, 58, 100, 126, 130, 300])
def test_a_path_is_found_whatever_the_length_of_its_text(tmp_path: Path, length: int) -> None:
    """The length stands before the text and can look like a letter of it."""
    path = "/data/" + "x" * (length - 6)
    value = message_field(2, text_field(1, path))
    done = redacted(tmp_path, write_telling(tmp_path, metric(0, value)))
    assert [one for one in remaining(done) if one[0] == "path"] == [("path", "metric", path)]


@pytest.mark.parametrize(
    "text",
    ["see https://docs.nvidia.com/nsight-compute/guide", "byte/second", "read/write/atomics", "/x"],
)
def test_what_only_looks_like_a_path_is_not_listed(tmp_path: Path, text: str) -> None:
    """Web addresses, units and alternatives."""
    done = redacted(tmp_path, write_telling(tmp_path, rule(text)))
    assert [one for one in remaining(done) if one[0] == "path"] == []


@pytest.mark.parametrize(
    ("text", "kind", "found"),
    [
        ("ran on gpu-box-7", "removed host name", "gpu-box-7"),
        ("by alice, today", "removed user name", "alice"),
        ("by bob", "removed user name", "bob"),
        ("trainer:17", "removed process name", "trainer"),
        ("at 10.11.12.13", "removed network address", "10.11.12.13"),
    ],
)
def test_a_removed_text_that_stands_elsewhere_is_listed(
    tmp_path: Path, text: str, kind: str, found: str
) -> None:
    """Values of metrics stay as they are, so the reader is told."""
    value = message_field(2, text_field(1, text))
    done = redacted(tmp_path, write_telling(tmp_path, metric(0, value)))
    kinds = {(one.kind.replace("executable", "process name"), one.text) for one in done.remaining}
    assert (kind, found) in kinds


@pytest.mark.parametrize("text", ["malice", "alice2", "aliced_"])
def test_a_removed_text_inside_a_longer_word_is_another_word(tmp_path: Path, text: str) -> None:
    """A user named 'less' is not found in every 'unless'."""
    value = message_field(2, text_field(1, text))
    done = redacted(tmp_path, write_telling(tmp_path, metric(0, value)))
    assert [one for one in done.remaining if one.text == "alice"] == []


HIDDEN = text_field(19, "hidden text")
DIMENSIONS = b"".join(uint_field(i, 4) for i in (1, 2, 3)) + HIDDEN
ATTRIBUTES = message_field(2, message_field(5, uint_field(1, 1), text_field(2, "m"), HIDDEN))
TEXT_VALUE = message_field(2, text_field(1, "value"), HIDDEN)
IN_RESULTS = {
    "metric": metric(0, message_field(2, uint_field(5, 1)), HIDDEN),
    "value": metric(0, TEXT_VALUE),
    "instance": metric(0, message_field(3, message_field(2, uint_field(5, 1)), HIDDEN)),
    "value_of_an_instance": metric(0, message_field(3, TEXT_VALUE)),
    "correlation_id": metric(
        0, message_field(3, message_field(1, HIDDEN), message_field(2, uint_field(5, 1)))
    ),
    "grid": message_field(10, DIMENSIONS),
    "block": message_field(11, DIMENSIONS),
    "offset": message_field(9, DIMENSIONS),
    "clock_status": message_field(25, uint_field(1, 1), HIDDEN),
    "nvtx_state": message_field(21, uint_field(4, 0), HIDDEN),
    "nvtx_thread": message_field(21, message_field(2, uint_field(1, 77), HIDDEN)),
    "nvtx_attributes": message_field(
        21,
        message_field(
            2,
            uint_field(1, 77),
            message_field(2, uint_field(1, 0), message_field(3, text_field(1, "r"), ATTRIBUTES)),
        ),
    ),
    "nvtx_start_end_range": message_field(
        21, message_field(3, message_field(2, uint_field(1, 1), text_field(2, "r"), HIDDEN))
    ),
}
DEVICE = uint_field(1, 0)
VALUE = message_field(2, text_field(1, "GH100"), HIDDEN)
IN_SESSIONS = {
    "device": message_field(6, DEVICE, text_field(2, "H100"), HIDDEN),
    "device_attribute": message_field(6, DEVICE, message_field(3, text_field(1, "a"), HIDDEN)),
    "value_of_a_device_attribute": message_field(
        6, DEVICE, message_field(3, text_field(1, "a"), VALUE)
    ),
    "device_property": message_field(
        5, message_field(1, text_field(1, "k"), text_field(2, "hidden text"))
    ),
}


@pytest.mark.parametrize("field", IN_RESULTS.values(), ids=IN_RESULTS)
def test_what_is_not_documented_inside_a_kept_field_of_a_result_is_removed(
    tmp_path: Path, field: bytes
) -> None:
    """The rest of it stays."""
    whole = write_bytes(tmp_path, file_of(block([kernel(field)], strings=["m"])))
    before = read_ncu_rep(whole, instances=True)
    done = redacted(tmp_path, whole)
    assert b"hidden text" not in done.path.read_bytes()
    assert done.removed == {"undocumented field": 1}
    assert contents(read_ncu_rep(done.path, instances=True)) == contents(before)


@pytest.mark.parametrize("field", IN_SESSIONS.values(), ids=IN_SESSIONS)
def test_what_is_not_documented_inside_a_session_is_removed(tmp_path: Path, field: bytes) -> None:
    """And what may be a property of anything."""
    header = message_field(3, uint_field(1, 41), field)
    done = redacted(tmp_path, write_bytes(tmp_path, file_of(block([kernel()], header))))
    assert b"hidden text" not in done.path.read_bytes()
    assert sum(done.removed.values()) == 1


def test_the_build_of_the_operating_system_is_listed(tmp_path: Path) -> None:
    """It often names who built it, and where."""
    system = message_field(3, text_field(1, "Linux"), text_field(2, "#1 SMP by zoe"))
    header = message_field(3, uint_field(1, 41), system)
    done = redacted(tmp_path, write_bytes(tmp_path, file_of(block([kernel()], header))))
    assert ("operating system build", "operating system build", "#1 SMP by zoe") in remaining(done)


def test_a_field_of_another_type_than_documented_is_removed(tmp_path: Path) -> None:
    """A text in the place of a number may say anything."""
    done = redacted(tmp_path, write_telling(tmp_path, text_field(22, "in place of a context id")))
    assert b"in place of" not in done.path.read_bytes()


def test_names_in_the_string_table_are_searched(tmp_path: Path) -> None:
    """A metric of one's own can be called anything."""
    done = redacted(tmp_path, write_telling(tmp_path, strings=["m", "of_them", "of alice"]))
    assert ("removed user name", "metric names", "alice") in remaining(done)


def test_references_to_sources_are_removed(tmp_path: Path) -> None:
    """There is nothing to refer to any more; the required field stays, empty."""
    whole = write_ncu_rep(
        tmp_path / "whole.ncu-rep", [LaunchSpec()], Layout(source_count=1, source_bytes=9)
    )
    done = redacted(tmp_path, whole)
    assert done.removed["source reference"] == 1
    assert len(read_ncu_rep(done.path).results) == 1


def test_a_damaged_report_is_not_redacted(tmp_path: Path) -> None:
    """What lies in the damage is not known."""
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", everything())
    cut = tmp_path / "cut.ncu-rep"
    cut.write_bytes(whole.read_bytes()[:-5])
    with pytest.raises(ReportFormatError, match=r"cut\.ncu-rep: at byte \d+"):
        redacted(tmp_path, cut)
    assert not (tmp_path / "shared.ncu-rep").exists()


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    """With its place in the file."""
    whole = write_bytes(tmp_path, file_of(block([kernel(b"\x0b")])))
    with pytest.raises(WireFormatError, match="in block 0 > kernel 0"):
        redacted(tmp_path, whole)


@pytest.mark.parametrize("field", DAMAGED_INSIDE.values(), ids=DAMAGED_INSIDE)
def test_damage_inside_a_launch_is_not_copied(tmp_path: Path, field: bytes) -> None:
    """The advice is one that can be followed: a slice of what lies before it can be redacted."""
    content = file_of(block([kernel(), kernel(field)], strings=["m"]))
    whole = write_bytes(tmp_path, content)
    with pytest.raises(ReportFormatError, match=r"kernel 1.*first take .*`nsightlens slice --salv"):
        redacted(tmp_path, whole)
    assert not (tmp_path / "shared.ncu-rep").exists()
    part = slice_ncu_rep(whole, tmp_path / "part.ncu-rep", [0], on_error="salvage")
    assert len(read_ncu_rep(redacted(tmp_path, part).path).results) == 1


@pytest.mark.parametrize("link", ["symlink_to", "hardlink_to"])
def test_the_report_itself_is_never_written(tmp_path: Path, link: str) -> None:
    """Not through a link either, and not with overwrite."""
    whole = write_telling(tmp_path)
    data = whole.read_bytes()
    getattr(tmp_path / "link.ncu-rep", link)(whole)
    for place in (whole, tmp_path / "link.ncu-rep"):
        with pytest.raises(OutputError, match="is one of the files that are read"):
            redact_ncu_rep(whole, place, overwrite=True)
    assert whole.read_bytes() == data


def test_nothing_is_overwritten_unasked(tmp_path: Path) -> None:
    """And with overwrite it is."""
    whole = write_telling(tmp_path)
    (tmp_path / "shared.ncu-rep").write_bytes(b"mine")
    with pytest.raises(OutputExistsError, match="overwrite=True"):
        redacted(tmp_path, whole)
    assert (tmp_path / "shared.ncu-rep").read_bytes() == b"mine"
    assert redacted(tmp_path, whole, overwrite=True).removed


def test_rules_keep_their_words(tmp_path: Path) -> None:
    """A rule that names nothing is the same to the byte."""
    message = RuleMessage("R", "Rule", "S", 2, "Title", "30.1% below /home page", 1.5, 1)
    whole = write_ncu_rep(tmp_path / "whole.ncu-rep", [LaunchSpec(rules=[message])])
    done = redacted(tmp_path, whole)
    assert done.path.read_bytes() == whole.read_bytes()


def test_a_report_of_which_nothing_is_left_is_still_a_report(tmp_path: Path) -> None:
    """A sound file whose only block says nothing gives one with an empty block."""
    path = write_bytes(tmp_path, file_of(block([], uint_field(10, 1))))
    redact_ncu_rep(path, tmp_path / "out.ncu-rep")
    assert read_ncu_rep(tmp_path / "out.ncu-rep").results == []
