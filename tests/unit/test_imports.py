"""Imports point one way, and `import nsightlens` is light."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import nsightlens

PACKAGE = Path(nsightlens.__file__).parent
ARCHITECTURE = Path(__file__).parents[2] / "docs" / "architecture.md"

_ROW = re.compile(r"^\| `(\w+)/?` \|.*\| ([^|]+) \|$", re.MULTILINE)


def _rules() -> dict[str, set[str]]:
    """Return for each part those that it may import: the table of the architecture page."""
    rows = dict(_ROW.findall(ARCHITECTURE.read_text(encoding="utf-8")))

    def allowed(part: str) -> set[str]:
        cell = rows[part]
        if cell == "everything":
            return set(rows)
        named = [] if cell == "nothing" else cell.removesuffix(" and left").split(", ")
        left = allowed(named[-1]) if cell.endswith(" and left") else set()
        return {*named, *left}

    return {part: allowed(part) for part in rows}


ALLOWED = _rules()
# Imports that point right on purpose: (module, imported part).
EXEMPT = {
    ("report", "notebook"),  # Report._repr_html_
    ("analysis.classification", "notebook"),  # Classification._repr_html_
    ("analysis.explanation", "notebook"),  # Explanation._repr_html_ and .text
    ("sweeps.model", "notebook"),  # Sweep._repr_html_
}
# Libraries that only one part of the package may import.
ONE_DOOR = {
    "distributed": "pipelines",
    "matplotlib": "plots",
    "nvtx": "annotate",
    "ncu_report": "readers",
    "sqlite3": "nsys",
    "fsspec": "readers",
    "yaml": "serving",
    "tomllib": "toml_files",
    "tomli": "toml_files",
    "IPython": "notebook",
}


def _modules() -> list[tuple[str, Path]]:
    names = []
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        names.append((".".join(part for part in parts if part != "__init__"), path))
    return [(name, path) for name, path in names if name]


MODULES = _modules()


@cache
def _imports(path: Path) -> frozenset[str]:
    """Every module that the source names in an import, at any depth, type checking included."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module == "nsightlens":
            found |= {f"nsightlens.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: a relative import hides its direction"
            found.add(node.module)
    return frozenset(found)


@pytest.mark.parametrize(("name", "path"), MODULES, ids=[name for name, _ in MODULES])
def test_a_module_imports_only_what_lies_left_of_it(name: str, path: Path) -> None:
    """The table of the architecture page holds for every import statement of every module."""
    part = name.partition(".")[0]
    if part == "__main__":
        return
    allowed = ALLOWED[part] | {part}
    for imported in _imports(path):
        if not imported.startswith("nsightlens."):
            continue
        other = imported.split(".")[1]
        assert other in allowed or (name, other) in EXEMPT, f"{name} imports {imported}"


def test_every_part_of_the_package_has_a_rule() -> None:
    """A new package cannot slip past the direction test, and no row is of one that is gone."""
    parts = {name.partition(".")[0] for name, _ in MODULES}
    assert parts - {"__main__"} == set(ALLOWED)


def test_the_rules_say_what_they_say() -> None:
    """The table is read as it is meant; a part that it allows to be imported is one of its own."""
    assert ALLOWED["errors"] == set()
    assert ALLOWED["metric_store"] == {"arrays"}
    assert ALLOWED["tables"] == {"errors", "units"}
    assert ALLOWED["cli"] == set(ALLOWED)
    beside = {"readers", "analysis", "store"}
    for part in beside:
        assert not ALLOWED[part] & beside
        assert ALLOWED[part] >= {"report", "tables", "units", "errors"}
    assert all(imported <= set(ALLOWED) for imported in ALLOWED.values())


def test_every_exemption_is_still_needed() -> None:
    """An exemption that no module uses any more is removed."""
    used = {
        (name, imported.split(".")[1])
        for name, path in MODULES
        for imported in _imports(path)
        if imported.startswith("nsightlens.")
    }
    assert used >= EXEMPT


@pytest.mark.parametrize("library", sorted(ONE_DOOR))
def test_a_foreign_library_has_one_door(library: str) -> None:
    """Only one part of the package may import each optional or delicate library."""
    users = {
        name.partition(".")[0]
        for name, path in MODULES
        if not name.startswith("harness.hook.")  # which runs in the process of a target
        if any(imported.partition(".")[0] == library for imported in _imports(path))
    }
    assert users <= {ONE_DOOR[library]}


def test_programs_are_started_by_two_parts_only() -> None:
    """Python processes of ours by one, foreign programs by the other."""
    users = {name.partition(".")[0] for name, path in MODULES if "subprocess" in _imports(path)}
    assert users == {"programs", "worker"}


def test_print_is_called_in_the_command_line_only() -> None:
    """A library that prints cannot be used in a pipe."""
    for name, path in MODULES:
        if name.startswith("cli"):
            continue
        calls = [
            node
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "print"
        ]
        assert not calls, f"{name} prints"


def _loaded_after(statement: str) -> set[str]:
    code = f"{statement}\nimport sys\nprint(*sorted(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize(
    "statement",
    [
        "import nsightlens",
        "import nsightlens; nsightlens.open_report; nsightlens.classify",
        "import nsightlens.cli.main",
    ],
)
def test_importing_loads_no_heavy_library(statement: str) -> None:
    """Neither pandas, matplotlib, torch, IPython nor NVIDIA's module is loaded by an import."""
    heavy = {"pandas", "matplotlib", "torch", "IPython", "ncu_report", "nvtx", "pyarrow.parquet"}
    assert not heavy & _loaded_after(statement)


def test_importing_the_package_alone_loads_not_even_arrow() -> None:
    """`nsightlens --help` has to answer before Arrow could be loaded."""
    assert not {"numpy", "pyarrow", "rich"} & _loaded_after("import nsightlens.cli.main")


def test_what_is_known_of_gpus_by_name_needs_no_arrays() -> None:
    """`nsightlens devices` reads two small tables; peaks of reports are loaded when asked for."""
    statement = "from nsightlens.devices import roofs_of; from nsightlens.cli.main import main"
    run = "import io, contextlib\nwith contextlib.redirect_stdout(io.StringIO()): main(['devices'])"
    assert not {"numpy", "pyarrow"} & _loaded_after(f"{statement}\n{run}")


def test_asking_whether_a_file_is_csv_does_not_load_the_reader_of_csv() -> None:
    """It is asked of every file that is no report, to say what it is."""
    loaded = _loaded_after("from nsightlens.ncucsv import looks_like_csv")
    assert not {"csv", "nsightlens.ncucsv.read", "nsightlens.ncucsv.model"} & loaded


@pytest.mark.parametrize(
    "package", ["nsightlens.ncurep", "nsightlens.ncucsv", "nsightlens.devices"]
)
def test_every_name_of_a_package_resolves(package: str) -> None:
    """Whether it is imported at once or when it is first used; another is an AttributeError."""
    module = import_module(package)
    assert all(getattr(module, name) is not None for name in module.__all__)
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        module.absent  # noqa: B018


def test_the_public_names_are_exactly_those_that_all_lists() -> None:
    """Each listed name resolves, the list is sorted, and an unknown name is an AttributeError."""
    assert list(nsightlens.__all__) == sorted(nsightlens.__all__)
    for name in nsightlens.__all__:
        assert getattr(nsightlens, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'absent'"):
        nsightlens.absent  # noqa: B018
