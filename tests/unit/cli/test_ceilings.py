"""ceilings: what was measured is judged, shown and written as the file that --peaks takes."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from nsightlens.devices.ceilings import read_ceilings
from nsightlens.errors import ProfilingError, ProgramNotFoundError
from nsightlens.harness import ceilings

if TYPE_CHECKING:
    from support.command import CommandLine

CLOCK_HZ = 1.755e9


def _size(rate: float, *, spread: float = 0.4, clock: float | None = CLOCK_HZ) -> dict[str, Any]:
    return {
        "shape": {"m": 8192, "n": 8192, "k": 8192},
        "rate_per_s": rate,
        "best_per_s": rate * 1.01,
        "spread_pct": spread,
        "measurement_count": 50,
        "sm_clock_hz": clock,
    }


def _answer(**sizes: list[dict[str, Any]]) -> dict[str, Any]:
    kernels = {"dram": ("copy", "float32"), "tensor_bf16": ("gemm", "bfloat16")}
    return {
        "device_name": "NVIDIA H100 80GB HBM3",
        "compute_capability": "9.0",
        "sm_count": 132,
        "torch_version": "2.13.0",
        "cuda_version": "12.8",
        "measurements": [
            {
                "resource": resource,
                "kernel": kernels.get(resource, ("gemm", "float16"))[0],
                "dtype": kernels.get(resource, ("gemm", "float16"))[1],
                "sizes": of,
                **({} if of else {"problem": "there is no such product"}),
            }
            for resource, of in sizes.items()
        ],
    }


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Return a file in which to put the program that stands for the one that measures."""
    path = tmp_path / "measuring.py"
    genuine = ceilings.measure

    def measure(**options: Any) -> ceilings.MeasuredDevice:
        return genuine(**options, program=[str(path)])

    monkeypatch.setattr(ceilings, "measure", measure)
    return path


def _says(path: Path, answer: dict[str, Any]) -> None:
    path.write_text(f"print('PyTorch says hello')\nprint({json.dumps(json.dumps(answer))})")


GOOD = {"dram": [_size(3.0e12), _size(3.05e12)], "tensor_bf16": [_size(6.6e14)]}


def test_the_best_steady_size_is_shown_beside_the_peak(run: CommandLine, program: Path) -> None:
    """At the clock of the measurement: 4096 op per SM and cycle for BF16."""
    _says(program, _answer(**GOOD))
    done = run("ceilings", "--format", "json")
    assert done.code == 0, done.err
    dram, bf16 = json.loads(done.out)["rows"]
    assert dram["rate_per_s"] == 3.05e12
    assert bf16["peak_per_s"] == pytest.approx(4096 * 132 * CLOCK_HZ)
    assert bf16["peak_pct"] == pytest.approx(100 * 6.6e14 / (4096 * 132 * CLOCK_HZ))
    assert {dram["verdict"], bf16["verdict"]} == {"ok"}
    assert "tensor_bf16" in run("ceilings").out


@pytest.mark.parametrize(
    ("name", "sm_count", "has_dram", "has_bf16"),
    [
        ("NVIDIA H200", 132, True, True),  # "H200" alone is part of the name of others
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb", 16, False, True),
        ("NVIDIA Imaginary 1", 132, False, False),
    ],
)
def test_the_peak_is_that_of_the_name_of_the_driver(
    run: CommandLine, program: Path, name: str, sm_count: int, has_dram: bool, has_bf16: bool
) -> None:
    """A part of a GPU has a share of DRAM that nobody knows; that there is no peak is said."""
    _says(program, {**_answer(**GOOD), "device_name": name, "sm_count": sm_count})
    done = run("ceilings", "--format", "json")
    dram, bf16 = json.loads(done.out)["rows"]
    assert (dram["peak_per_s"] is not None, bf16["peak_per_s"] is not None) == (has_dram, has_bf16)
    assert ("dram: no peak of this GPU is known" in done.err) is not has_dram


def test_the_file_is_one_that_peaks_takes(run: CommandLine, program: Path) -> None:
    """Each ceiling with its clock and how it was measured; classify takes it."""
    _says(program, _answer(**GOOD))
    done = run("ceilings", "-o", "h100.toml")
    assert done.code == 0, done.err
    found = {
        name: peak for one in read_ceilings("h100.toml") for name, peak in one.peak_per_s.items()
    }
    assert found == pytest.approx({"dram": 3.05e12, "tensor_bf16": 6.6e14})
    assert all("spread 0.4 %" in one.source for one in read_ceilings("h100.toml"))
    assert all(one.sm_clock_hz == CLOCK_HZ for one in read_ceilings("h100.toml"))
    labelled = run("classify", "all.ncu-rep", "--peaks", "h100.toml", "--format", "json")
    assert labelled.code == 0, labelled.err
    # Not again without being told so.
    assert run("ceilings", "-o", "h100.toml").code == 6
    assert run("ceilings", "-o", "h100.toml", "--force").code == 0
    assert run("ceilings", "-o", "h100.json").code == 2


@pytest.mark.parametrize(
    ("sizes", "verdict"),
    [
        ([_size(2e15)], "above_peak"),
        ([_size(6e14, spread=9.0)], "unsteady"),
        ([_size(6e14, clock=None)], "no_clock"),
        ([], "not_measured"),
    ],
)
def test_what_is_no_ceiling_is_said_and_not_written(
    run: CommandLine, program: Path, sizes: list[dict[str, Any]], verdict: str
) -> None:
    """The others are."""
    _says(program, _answer(dram=GOOD["dram"], tensor_bf16=sizes))
    done = run("ceilings", "-o", "some.toml")
    assert done.code == 0, done.err
    assert f"{verdict} " in done.out or verdict in done.out
    assert "tensor_bf16 is no ceiling" in done.err
    assert [set(one.peak_per_s) for one in read_ceilings("some.toml")] == [{"dram"}]


def test_nothing_is_written_where_nothing_is_a_ceiling(run: CommandLine, program: Path) -> None:
    """An error, and no empty file."""
    _says(program, _answer(tensor_bf16=[]))
    done = run("ceilings", "-o", "none.toml")
    assert done.code == 7
    assert not Path("none.toml").exists()


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("import sys; sys.exit('x: error: there is no CUDA device to measure: no GPU is visible.')",
         "no CUDA device"),
        ("print('nothing')", "said nothing"),
        ("raise SystemExit(3)", "it said nothing"),
        ("print('{\"measurements\": [{}]}')", "is not understood"),
        (f"print({json.dumps(json.dumps(_answer(dram=[_size(float('nan'))])))})",
         "is not understood"),
    ],
)  # fmt: skip
def test_a_program_that_fails_is_one_line(
    run: CommandLine, program: Path, source: str, said: str
) -> None:
    """With what to do next."""
    program.write_text(source)
    done = run("ceilings")
    assert (done.code, done.out) == (7, "")
    assert said in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_an_interpreter_that_is_none_is_named(tmp_path: Path) -> None:
    """And the option that names another."""
    with pytest.raises(ProgramNotFoundError, match="--python"):
        ceilings.measure(python=str(tmp_path / "python"))


def test_the_real_program_measures_on_a_cpu() -> None:
    """Small sizes of everything that a CPU can do; of an unknown device there is no peak."""
    pytest.importorskip("torch")
    measured = ceilings.measure(python=sys.executable, device="cpu", seconds=0.01)
    rates = {one.resource: one.rate_per_s for one in measured.ceilings}
    assert {"dram", "fp32", "tensor_bf16"} <= set(rates)
    assert all(rate is None or rate > 0 for rate in rates.values())
    assert {one.peak_per_s for one in measured.ceilings} == {None}


def test_without_a_gpu_the_real_program_says_so() -> None:
    """It is the rule where tests run."""
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(ProfilingError, match="no CUDA device"):
        ceilings.measure()
