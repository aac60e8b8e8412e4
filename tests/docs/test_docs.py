"""Nothing in the docs is unexecuted, unlinked or out of date."""

from __future__ import annotations

import doctest
import importlib
import importlib.util
import pkgutil
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import nsightlens

if TYPE_CHECKING:
    from types import ModuleType

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
PYTHON_FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
FENCES = [
    pytest.param(page, match.group(1), id=f"{page.relative_to(ROOT)}:{i}")
    for page in PAGES
    for i, match in enumerate(PYTHON_FENCE.finditer(page.read_text(encoding="utf-8")))
]
CONSOLE_LINE = re.compile(r"^\$ (nsightlens .*)$", re.MULTILINE)
MODULES = [
    module.name
    for module in pkgutil.walk_packages(nsightlens.__path__, "nsightlens.")
    if module.name != "nsightlens.__main__"
]


@pytest.mark.parametrize(("page", "code"), FENCES)
def test_every_python_fence_runs(
    page: Path, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader can paste any Python example and it works."""
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(page), "exec"), {"__name__": "docs"})


@pytest.mark.parametrize("name", MODULES)
def test_every_docstring_example_runs(name: str) -> None:
    """The examples in docstrings show what really happens."""
    failed, _ = doctest.testmod(importlib.import_module(name), optionflags=doctest.ELLIPSIS)
    assert failed == 0


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_every_command_in_the_docs_is_one_that_the_parser_knows(page: Path) -> None:
    """No page shows an option that does not exist."""
    from nsightlens.cli.main import build_parser

    parser = build_parser()
    for line in CONSOLE_LINE.findall(page.read_text(encoding="utf-8")):
        words = shlex.split(line, comments=True)[1:]
        words = words[: words.index("|")] if "|" in words else words
        if not {"--version", "--help"} & set(words):
            parser.parse_args(words)


@pytest.mark.parametrize("page", PAGES, ids=[str(p.relative_to(ROOT)) for p in PAGES])
def test_every_relative_link_leads_to_a_file(page: Path) -> None:
    """No page points to one that is gone."""
    for target in re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8")):
        if not re.match(r"[a-z]+:", target):
            assert (page.parent / target).exists(), f"{page} links to {target}"


def _reference_script() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "make_reference", ROOT / "scripts/make_reference.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_generated_pages_say_what_the_code_says() -> None:
    """`make docs` was run after the last change of a table, a command or a docstring."""
    for name, text in _reference_script().pages().items():
        committed = (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8")
        assert committed == text, f"docs/reference/{name} is out of date: run `make docs`"


def test_the_architecture_page_names_every_package() -> None:
    """The picture of the tree is complete."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for path in (ROOT / "nsightlens").iterdir():
        if path.is_dir() and path.name != "__pycache__":
            assert f"`{path.name}/`" in page, f"{path.name} is missing from the architecture page"


def test_the_picture_in_the_readme_is_what_the_demo_prints(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newcomer sees on the screen what the first page promises."""
    from nsightlens.cli.main import main

    monkeypatch.setenv("COLUMNS", "100")
    assert main(["demo"]) == 0
    shown = capsys.readouterr().out.splitlines()
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    picture = readme.split("$ nsightlens demo\n")[1].split("```")[0].splitlines()
    assert shown[: len(picture)] == picture


def test_the_page_about_a_launch_in_the_docs_is_what_is_printed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The example that the text explains is the one that a reader gets."""
    from nsightlens.cli.main import main
    from nsightlens.example import path

    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.chdir(path().parent)
    page = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")
    command, shown = page.split("$ nsightlens ")[1].split("```")[0].split("\n", 1)
    assert main(command.split()) == 0
    assert capsys.readouterr().out.rstrip() == shown.rstrip()


def test_the_package_names_each_of_its_parts_in_its_docstring() -> None:
    """help(nsightlens) is a map."""
    for path in (ROOT / "nsightlens").iterdir():
        part = path.stem
        if part.startswith("_") or (path.suffix != ".py" and not path.is_dir()):
            continue
        assert f"`nsightlens.{part}`" in (nsightlens.__doc__ or ""), part
