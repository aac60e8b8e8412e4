"""The reference pages of the command line, made from the parser and the table of exit codes.

Called when the docs are built; a test compares the committed pages with what these return.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from nsightlens.cli.exit_codes import TABLE
from nsightlens.cli.main import COMMANDS, build_parser
from nsightlens.render.columns import IMPORTANCE_ORDER
from nsightlens.render.json_schema import SCHEMAS

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["cli_page", "exit_codes_page"]


def cli_page() -> str:
    """Return the page that documents every sub-command and option."""
    parser = build_parser()
    parts = [_INTRODUCTION, _overview(), *_every_command(parser), _OUTPUT, _order(), _json()]
    return "\n".join(parts)


_INTRODUCTION = """\
# Command line

`nsightlens COMMAND ...`, or `python -m nsightlens COMMAND ...`. Results go to stdout, everything
else to stderr. [Exit codes](exit-codes.md) are the same for all commands.
"""

_OUTPUT = """\
## Output

- `-o FILE` writes the whole file or nothing: after a failure, an earlier file is as it was. An
  existing file is replaced only with `--force`, and never if it is one of the reports. The suffix
  decides the format where `--format` does not: `.json`, `.csv`, `.md`, `.txt`; without a suffix it
  is the text table, and any other suffix is an error.
- `export -o DATASET` adds to a dataset, all reports of the run in one step; `--force` replaces
  it, if it holds nothing else: a folder with a file that no export wrote, with one of the reports,
  or above the current folder stays as it is. Reports that it has from an export with other options
  are left as they are, and the exit code is 6.
- CSV follows RFC 4180 (CRLF line ends); a missing value is an empty cell.
- Colours and progress are shown on a terminal only. `NO_COLOR` switches colours off, `FORCE_COLOR`
  switches them on, and `FORCE_COLOR=0` off.
- Where several reports are given and some cannot be read, the others are shown, each bad one is
  named on stderr, and the exit code is that of the first bad one.
- A sound report without launches is told on stderr; the result is empty and the exit code 0. Where
  launches exist and none passes the filters, that is an error (exit code 2), and so is `explain`
  of a report that holds none.
"""

_COLUMNS = """\
## Columns of the text table

A column is shown where it says something: `batch` only if a batch size is known, `evidence` and
`confidence` only if some row has not the best one, `GPU`, `device` and `process` only if there are
several in one report. Where the line is too short, kernel names give up their template arguments,
then their middle, and whole columns are left out, the last of these first (of groups, the `family`
that they are made by stays):
"""

_JSON = """\
## JSON

Every JSON result is `{schema, schema_version, source, rows}`. `nsightlens schema NAME` prints its
JSON Schema. Keys keep their name, type and meaning as long as `schema_version` is the same; new
keys may come. There is no NaN and no Infinity: a missing value is null, and a raw metric that is
not a number is one of the texts `"nan"`, `"inf"`, `"-inf"`.
"""

_EXIT_CODES = """\
# Exit codes

An error is one line on stderr, `nsightlens: error: ...`; `--debug` shows the traceback instead.
Where several reports fail, the first of them decides.
"""


def _overview() -> str:
    lines = ["| command | purpose |", "|---|---|"]
    lines += [f"| [`{name}`](#{name}) | {module.HELP} |" for name, module in COMMANDS.items()]
    return "\n".join(lines) + "\n"


def _every_command(parser: argparse.ArgumentParser) -> Iterator[str]:
    for name, command in _commands(parser).items():
        yield _command(name, command)
    yield "## Options of every command\n"
    yield _options([a for a in parser._actions if a.option_strings])


def _commands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    # argparse has no public way to ask a parser for its parts.
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the parser has no sub-commands")


def _command(name: str, parser: argparse.ArgumentParser) -> str:
    parts = [f"## {name}\n", f"{parser.description}\n"]
    shared = ("--help", "--verbose", "--debug")
    actions = [a for a in parser._actions if not set(shared) & set(a.option_strings)]
    parts.append(_options(actions))
    if parser.epilog:
        examples = [line.strip() for line in parser.epilog.splitlines()[1:]]
        parts.append("```console\n" + "\n".join(f"$ {line}" for line in examples) + "\n```\n")
    return "\n".join(parts)


def _options(actions: list[argparse.Action]) -> str:
    lines = ["| argument | meaning |", "|---|---|"]
    for action in actions:
        if action.dest == "command":
            continue
        about = (action.help or "").replace("|", "\\|")
        default = action.default
        if isinstance(default, str) and default != argparse.SUPPRESS:
            about += f" (default: {default})"
        lines.append(f"| {_spelling(action)} | {about} |")
    return "\n".join(lines) + "\n"


def _spelling(action: argparse.Action) -> str:
    if not action.option_strings:
        name = str(action.metavar)
        return f"`[{name}]`" if action.nargs == "?" else f"`{name}`"
    value = ""
    if action.nargs != 0:
        value = " " + (str(action.metavar) if action.metavar else _choices(action))
    return ", ".join(f"`{option}{value}`" for option in action.option_strings)


def _choices(action: argparse.Action) -> str:
    # Not with "|", which would end the cell of the table.
    return "{" + ",".join(map(str, action.choices or ())) + "}"


def _order() -> str:
    names = ", ".join(f"`{name}`" for name in IMPORTANCE_ORDER)
    return f"{_COLUMNS}{names}.\n"


def _json() -> str:
    lines = ["| schema | rows |", "|---|---|"]
    lines += [f"| `{name}` | {about} |" for name, about in SCHEMAS.items()]
    return _JSON + "\n" + "\n".join(lines) + "\n"


def exit_codes_page() -> str:
    """Return the page with the table of exit codes."""
    lines = ["| code | meaning | raised by |", "|---:|---|---|"]
    for row in TABLE:
        names = ", ".join(f"`{error.__name__}`" for error in row.raised_by)
        lines.append(f"| {row.code.value} | {row.meaning} | {names} |")
    return _EXIT_CODES + "\n" + "\n".join(lines) + "\n"
