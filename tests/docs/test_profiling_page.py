"""The pages about profiling say what the code does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nsightlens.harness.ncu_command import check_options, kernel_filter
from nsightlens.harness.ncu_metrics import collection, smallest
from nsightlens.harness.nvtx_filter import check_expression, step_expression
from nsightlens.harness.options import NcuOptions, NsysOptions
from nsightlens.harness.recipes import RECIPES
from nsightlens.metrics.catalog import UNIFIED_MEMORY
from nsightlens.metrics.tensor import TENSOR_PATHS

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "profiling.md").read_text(encoding="utf-8")


def engines_page() -> ModuleType:
    """Return the script that writes the page of recipes."""
    spec = importlib.util.spec_from_file_location(
        "make_engines_page", ROOT / "scripts" / "make_engines_page.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_of_recipes_is_current() -> None:
    """Its command lines are those that the code makes."""
    assert (ROOT / "docs" / "engines.md").read_text(encoding="utf-8") == engines_page().page()


def test_the_numbers_of_metrics_are_those_of_every_architecture() -> None:
    """Counted by the code."""
    names, counts = (
        [cell.strip() for cell in line.strip("|").split("|")][1:]
        for line in re.findall(r"^\| (?:compute capability|metrics) \|.*$", PAGE, re.MULTILINE)
    )
    assert set(names) == {cc for path in TENSOR_PATHS for cc in path.compute_capabilities}
    assert [int(n) for n in counts] == [len(smallest(cc, (2025, 1))) for cc in names]
    assert all(cc in PAGE for cc in UNIFIED_MEMORY)


def test_the_sections_are_those_that_are_collected() -> None:
    """Of a GPU that is not known."""
    (block,) = re.findall(r"^    (SpeedOfLight [^`]*?)\n\n", PAGE, re.MULTILINE | re.DOTALL)
    assert tuple(block.split()) == collection(None, (2025, 1)).sections


def test_the_defaults_of_the_page_are_ours() -> None:
    """By name of the option."""
    ours = dict(re.findall(r"^\| `--([\w-]+)` \| `([^`]+)` \|", PAGE, re.MULTILINE))
    ncu, nsys = NcuOptions(), NsysOptions()
    assert ours == {
        "clock-control": ncu.clock_control,
        "cache-control": ncu.cache_control,
        "graph-profiling": ncu.graph_profiling,
        "target-processes": ncu.target_processes,
        "replay-mode": ncu.replay_mode,
        "trace": ",".join(nsys.trace),
        "cuda-graph-trace": nsys.cuda_graph_trace,
        "capture-range-end": nsys.capture_range_end,
    }
    check_options(ncu, (2025, 1))


def test_the_expressions_of_the_page_are_read_as_it_says() -> None:
    """Those of the table pass, and the one of the warning is refused."""
    table = PAGE[PAGE.index("| expression | finds |") : PAGE.index("`regex:` counts")]
    cells = re.findall(r"^\| (`.+?`) \| ", table, re.MULTILINE)
    expressions = [one for cell in cells for one in re.findall(r"`([^`]+)`", cell)]
    assert len(expressions) == 11
    for expression in expressions:
        check_expression(expression)
    assert f"    {step_expression('decode', 1)}\n" in PAGE
    with pytest.raises(ValueError, match="very beginning"):
        check_expression("engine@regex:step.*/")


def test_the_filter_of_collectives_has_the_form_of_the_page() -> None:
    """Ours first, then the user's."""
    both = kernel_filter(NcuOptions(kernel="regex:YOURS")) or ""
    assert re.sub(r"\(\?:\[nN\].*?\)\)(?=\.\*)", "(?:COLLECTIVES))", both) in PAGE


def test_every_recipe_is_on_the_page_with_its_command_line() -> None:
    """And none is of a tool that it is not for."""
    script = engines_page()
    page = (ROOT / "docs" / "engines.md").read_text(encoding="utf-8")
    for recipe in RECIPES.values():
        section = page.partition(f"### `{recipe.name}`")[2].partition("\n###")[0]
        shown = re.findall(r"^What (\w+) runs \((.+)\):$", section, re.MULTILINE)
        assert dict(shown) == dict(recipe.provenance)
        for tool in recipe.tools:
            words = script.command(recipe, tool)
            assert all(word in section for word in words if "'" not in word and "\\" not in word)
