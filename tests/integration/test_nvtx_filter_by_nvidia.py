"""Our NVTX filters find what is meant by NVIDIA's own reading of them."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING

import pytest

from nsightlens.harness.nvtx_filter import range_expression, step_expression
from nsightlens.harness.recipes import RECIPES
from nsightlens.ncurep.model import NvtxDomainState, NvtxRange
from nsightlens.ncurep.spec import LaunchSpec, ReportSpec
from nsightlens.ncurep.write import write_ncu_rep

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

pytestmark = [
    pytest.mark.ncu_report,
    pytest.mark.skipif(
        find_spec("ncu_report") is None,
        reason="NVIDIA's reader is not installed (pip install nsightlens[ncu])",
    ),
]

_SCRIPT = """
import json, sys, ncu_report
launches = ncu_report.load_report(sys.argv[1]).range_by_idx(0)
names = [launches.action_by_idx(i).name() for i in range(launches.num_actions())]
found = {one: sorted(names[i] for i in launches.actions_by_nvtx([one], [])) for one in
         json.load(sys.stdin)}
print(json.dumps(found))
"""

Ranges = tuple[str | None, str, bool]
"""Domain, name, and whether the range is of a stack."""


def found_by(
    folder: Path, launches: Mapping[str, Ranges], expressions: Sequence[str]
) -> dict[str, list[str]]:
    """Return the launches that each expression finds, by name."""
    specs = []
    for name, (domain, text, is_push_pop) in launches.items():
        ranges = (NvtxRange(text),)
        state = NvtxDomainState(
            0 if domain is None else 3,
            domain or "<default domain>",
            push_pop=ranges if is_push_pop else (),
            start_end=() if is_push_pop else ranges,
        )
        specs.append(LaunchSpec(name=name, metrics={"a": 1.0}, nvtx=[state]))
    path = write_ncu_rep(folder / "ranges.ncu-rep", ReportSpec(launches=specs))
    # A process of its own: the library aborts where it does not like an expression.
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(path)],
        input=json.dumps(list(expressions)), capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, list[str]] = json.loads(done.stdout)
    return found


def test_a_step_is_found_by_phase_and_exact_batch_size(tmp_path: Path) -> None:
    """Batch size 1 is neither 16 nor 101, and steps of other domains are not ours."""
    launches: dict[str, Ranges] = {
        f"{phase}{batch_size}": (
            "nsightlens", f"step v1 phase={phase} batch_size={batch_size} context=500 query=1", True
        )
        for phase in ("decode", "prefill")
        for batch_size in (1, 16, 101)
    }  # fmt: skip
    launches["alone"] = ("nsightlens", "step v1 phase=decode batch_size=1", True)
    launches["other"] = ("nsightlens2", "step v1 phase=decode batch_size=1 context=500", True)
    launches["started"] = ("nsightlens", "step v1 phase=decode batch_size=1", False)
    launches["op"] = ("nsightlens", "op v1 name=step", True)
    exact, decode, of_one, every = (
        step_expression("decode", 1),
        step_expression("decode"),
        step_expression(None, 1),
        step_expression(),
    )
    found = found_by(tmp_path, launches, [exact, decode, of_one, every])
    assert found[exact] == ["alone", "decode1"]
    assert found[decode] == ["alone", "decode1", "decode101", "decode16"]
    assert found[of_one] == ["alone", "decode1", "prefill1"]
    assert len(found[every]) == 7


NAMES = (
    "plain", "plain2", "a/b", "a", "b", "a,b", "a@b", "[a]", "a]", "[a", "layer[3]", "2*3+1", "*",
    "+", "regex:x", "x", "C:\\x", "C:\\/x", "a\\", "a\\,b", "cost (a|b)$", "^a.b?", "{1,2}", "über",
    " a ", "C:/x", "a.b", "axb",
)  # fmt: skip


@pytest.mark.parametrize("is_push_pop", [True, False])
def test_every_name_is_found_alone(is_push_pop: bool, tmp_path: Path) -> None:
    """Whatever a range is called, its expression finds it and no other one."""
    domains = (None, "engine", "TensorRT-LLM", "a/b@c,[d].e", "regex:d")
    launches: dict[str, Ranges] = {
        f"{i}": (domain, name, is_push_pop)
        for i, (domain, name) in enumerate((d, n) for d in domains for n in NAMES)
    }
    expressions = {
        launch: range_expression(
            name, domain=domain, kind="push_pop" if is_push_pop else "start_end"
        )
        for launch, (domain, name, _) in launches.items()
    }
    found = found_by(tmp_path, launches, list(expressions.values()))
    wrong = {
        launches[launch]: (expression, [launches[one] for one in found[expression]])
        for launch, expression in expressions.items()
        if found[expression] != [launch]
    }
    assert wrong == {}


def test_recipes_find_the_steps_of_their_engines(tmp_path: Path) -> None:
    """Decode steps as TensorRT-LLM and scripts name them, in all ages of the label."""
    trt = "TensorRT-LLM"
    steps: dict[str, Ranges] = {
        "trt1": (trt, "[Executor] _forward_step: 0 ctx reqs, 8 gen reqs", True),
        "trt2": (trt, "[Executor] _forward_step 12: 0 ctx reqs, 8 gen reqs", True),
        "trt3": (trt, "[Executor] _forward_step 12: 0 ctx reqs, 0 ctx tokens, 8 gen reqs", True),
        "mixed": (trt, "[Executor] _forward_step 12: 10 ctx reqs, 8 gen reqs", True),
        "mixed2": (trt, "[Executor] _forward_step 1: 10 ctx reqs, 90 ctx tokens, 8 gen reqs", True),
        "idle": (trt, "[Executor] _forward_step 12: 0 ctx reqs, 0 gen reqs", True),
        "script": (None, "decode_step_12", True),
        "prefill": (None, "prefill_step_12", True),
        "ours": ("nsightlens", "step v1 phase=decode batch_size=8", True),
    }
    expected = {
        "trtllm-decode": ["trt1", "trt2", "trt3"],
        "pytorch-decode": ["script"],
        "pytorch-annotated": ["ours"],
    }
    filters = {name: RECIPES[name].ncu["nvtx_include"][0] for name in expected}
    found = found_by(tmp_path, steps, list(filters.values()))
    assert {name: found[one] for name, one in filters.items()} == expected
