"""The parts of a run, and their command lines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.errors import ProfilerOptionError
from nsightlens.harness.nvtx_filter import step_expression
from nsightlens.harness.options import NcuOptions, NsysOptions, Target
from nsightlens.harness.plan import Decode, Request, parts_of
from nsightlens.harness.tools import Tool

if TYPE_CHECKING:
    from nsightlens.harness.plan import Part

TOOLS: dict[Any, Tool] = {
    name: Tool(name, f"/opt/{name}", (2025, 1, 0), "2025.1.0", "PATH") for name in ("ncu", "nsys")
}
MODEL = Decode("opt-1.3b", (8, 1, 8), 500)
PROGRAM = Target(("python", "decode.py"))


def _parts(work: Decode | Target = MODEL, **options: Any) -> tuple[Part, ...]:
    return parts_of(Request(Path("/run"), work, **options), TOOLS, "9.0")


def _value(part: Part, option: str) -> str:
    return part.argv[part.argv.index(option) + 1]


def test_a_model_has_a_part_for_each_batch_size() -> None:
    """What goes wrong at one of them costs that one only."""
    assert [(part.part_id, part.batch_size) for part in _parts()] == [
        ("ncu-batch-0001", 1),
        ("ncu-batch-0008", 8),
    ]


def test_a_program_has_a_part_for_each_tool() -> None:
    """First nsys: a trace is soon made, and says which ranges there are."""
    parts = _parts(PROGRAM, tools=("ncu", "nsys"))
    assert [part.part_id for part in parts] == ["nsys-program", "ncu-program"]
    assert len({part.work for part in parts}) == 1


def test_a_model_is_run_by_our_own_program() -> None:
    """Each part at its batch size alone, with the options of the model behind it."""
    decode = Decode("opt-1.3b", (8,), 500, more=("--layers", "2"), has_prefill=True, seed=7)
    (part,) = _parts(decode)
    assert part.target.argv == (
        sys.executable, "-m", "kernels_under_test.decode", "--model", "opt-1.3b",
        "--batch-sizes", "8", "--context", "500", "--seed", "7", "--layers", "2", "--prefill",
    )  # fmt: skip
    assert part.argv[-len(part.target.argv) :] == part.target.argv


def test_another_python_runs_the_model() -> None:
    (part,) = _parts(Decode("opt-1.3b", (8,), 500, python="/env/bin/python"))
    assert part.target.argv[0] == "/env/bin/python"


def test_of_a_model_only_its_decode_steps_are_profiled() -> None:
    """Not the warm-up; with the prompt, steps of any phase."""
    assert _value(_parts()[1], "--nvtx-include") == step_expression("decode", 8)
    prefill = Decode("opt-1.3b", (8,), 500, has_prefill=True)
    assert _value(_parts(prefill)[0], "--nvtx-include") == step_expression(None, 8)


def test_what_the_user_says_of_ranges_takes_the_place_of_ours() -> None:
    """Ranges that are included add up, so that ours would take all."""
    parts = _parts(ncu=NcuOptions(nvtx_include=("nsightlens@attention/",)))
    assert parts[0].argv.count("--nvtx-include") == 1
    assert _value(parts[0], "--nvtx-include") == "nsightlens@attention/"


def test_a_window_of_the_profiler_is_opened_by_our_program() -> None:
    """With either tool; the filter of steps is not needed then."""
    (ncu,) = _parts(Decode("opt-1.3b", (8,), 500), ncu=NcuOptions(waits_for_profiler_start=True))
    assert ncu.target.argv[-1] == "--profiler-window"
    assert "--nvtx-include" not in ncu.argv
    (nsys,) = _parts(
        Decode("opt-1.3b", (8,), 500), tools=("nsys",),
        nsys=NsysOptions(capture_range="cudaProfilerApi"),
    )  # fmt: skip
    assert nsys.target.argv[-1] == "--profiler-window"


def test_of_a_program_everything_is_profiled_or_its_annotated_steps() -> None:
    (everything,) = _parts(PROGRAM)
    assert "--nvtx-include" not in everything.argv
    (steps,) = _parts(PROGRAM, are_steps_only=True)
    assert _value(steps, "--nvtx-include") == step_expression()


def test_outputs_are_made_aside_and_kept_by_kind() -> None:
    """Of a trace its export too."""
    trace, report = _parts(PROGRAM, tools=("ncu", "nsys"))
    assert report.made == (Path("/run/.partial/ncu-program.ncu-rep"),)
    assert report.outputs == ("reports/ncu-program.ncu-rep",)
    assert _value(report, "-o") == str(report.made[0])
    assert trace.outputs == ("traces/nsys-program.nsys-rep", "traces/nsys-program.sqlite")
    assert f"--output={trace.made[1]}" in trace.export_argv
    assert trace.export_argv[-1] == str(trace.made[0])


def test_a_relative_folder_is_found_from_that_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (part,) = parts_of(Request(Path("run"), PROGRAM), TOOLS, None)
    assert part.made[0].parent == tmp_path / "run" / ".partial"


def test_variables_of_the_run_and_of_the_program_reach_the_target() -> None:
    """What nsys needs is added; the program's own have the last word."""
    (part,) = _parts(
        Target(("app",), {"A": "program", "B": "2"}),
        tools=("nsys",),
        nsys=NsysOptions(capture_range="nvtx", nvtx_capture="decode@*"),
        environment={"A": "run", "C": "3"},
    )
    assert part.target.environment == {
        "NSYS_NVTX_PROFILER_REGISTER_ONLY": "0", "A": "program", "B": "2", "C": "3",
    }  # fmt: skip


def test_two_runs_compare_their_commands_wherever_they_lie() -> None:
    """Neither the place of the tool nor that of the folder makes another run."""
    (one,) = _parts(PROGRAM)
    tools: dict[Any, Tool] = {"ncu": TOOLS["ncu"]._replace(path="/usr/bin/ncu")}
    (other,) = parts_of(Request(Path("/some%where"), PROGRAM), tools, "9.0")
    assert one.argv != other.argv
    assert one.command == other.command


@pytest.mark.parametrize("options", [{"tools": ()}, {"tools": ("rocprof",)}])
def test_a_run_without_a_tool_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ProfilerOptionError, match="needs ncu, nsys or both"):
        _parts(**options)


def test_a_model_without_a_batch_size_is_refused() -> None:
    with pytest.raises(ProfilerOptionError, match="no batch size"):
        _parts(Decode("opt-1.3b", (), 500))


def test_only_a_model_has_a_seed() -> None:
    assert Request(Path("run"), Decode("opt-1.3b", (1,), 500, seed=3)).seed == 3
    assert Request(Path("run"), PROGRAM).seed is None
