"""``nsightlens kernel-name``: what a kernel name says, and how far labels given by hand agree."""

from __future__ import annotations

from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsightlens._version import __version__
from nsightlens.cli import arguments
from nsightlens.cli.kernel_rules import add_kernel_rules, check_kernel_rules, rules_of
from nsightlens.cli.lines import lines_of, typed
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.cli.talk import say
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from nsightlens.kernels import KernelName

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "say what kernel names tell, in any profiler's spelling"
DESCRIPTION = """\
Says of each kernel name its family, subtype, phase, data types, tile, head
size, library and the architecture it was built for, and which rule decided. The
name may be in any spelling: demangled by any profiler, mangled, Triton,
Inductor."""
EPILOG = """\
examples:
  nsightlens kernel-name nvjet_tst_128x256_64x4_2x1_v_bz_TNT
  nsightlens kernel-name --file names.txt --format json
  nsightlens kernel-name --check labelled.tsv"""

FORMATS = ("table", "json", "csv", "markdown")
FIELDS = (
    "name", "short_name", "family", "subtype", "phase", "dtypes", "tile", "head_dim", "library",
    "arch", "also", "rule", "note",
)  # fmt: skip
"""Keys of a row, in order; ``dtypes`` and ``also`` are lists, what a name does not say is null."""
_values = attrgetter(*FIELDS)
_NEVER_NULL = frozenset(["name", "short_name", "family", "phase"])
MEASURES = ("measure", "label", "read", "right_pct", "right_count", "total_count", "name", "rule",
            "field")  # fmt: skip
"""Keys of a row of ``--check``."""
_FIRST, _AT_ONCE = 500, 32_000
"""[name] So many are read and parsed before they are written: few first, so that rows come soon."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="name of a kernel, quoted")
    names = parser.add_argument_group("names")
    names.add_argument(
        "--file",
        metavar="FILE",
        type=arguments.name_of_file,
        help="file with one name a line, - for standard input; one row per line, in order, also "
        "for an empty one",
    )
    names.add_argument(
        "--escaped",
        action="store_true",
        help=r"in the names, \t, \n and \\ stand for a tab, a newline and a backslash",
    )
    names.add_argument(
        "--check",
        metavar="LABELLED.TSV",
        type=arguments.name_of_file,
        help="compare with labels given by hand: tab-separated columns name, family and any "
        "further field; --verbose lists the names that are read otherwise",
    )
    add_kernel_rules(parser)
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser, names=False)


def run(args: argparse.Namespace) -> int:
    """Write what the names say, or how far the labels agree."""
    asked = [args.names or None, args.file, args.check]
    if sum(source is not None for source in asked) != 1:
        raise FilterError(
            "say which names: NAME ..., or --file FILE, or --check LABELLED.TSV, one of them. "
            "A name with spaces or brackets must be quoted."
        )
    named = args.file or args.check
    check_output(args, [] if named in (None, "-") else [Path(named)])
    check_kernel_rules(args)
    pieces = _agreement(args) if args.check else _readings(args)
    write_result(args, pieces)
    return 0


def _readings(args: argparse.Namespace) -> Iterable[str]:
    names: Iterable[str] = map(typed, args.names) if args.names else lines_of(args.file)
    if args.escaped:
        from nsightlens.kernels.agreement import unescaped

        names = map(unescaped, names)
    rows = map(_row, _parsed(args, names))
    form = chosen_format(args)
    if form == "csv":
        return _csv(FIELDS, rows)
    if form == "json":
        return _json("kernel-name", args.file, ({"key": row["name"], **row} for row in rows))
    from nsightlens.render.kernel_names import name_columns, name_lines

    listed = list(rows)
    if form == "table" and len(args.names) == 1:
        return (line + "\n" for line in name_lines(listed[0], chosen_style(args)))
    if form == "markdown":
        from nsightlens.render.markdown import markdown_table

        return [markdown_table(name_columns(listed), code_columns=("kernel",))]
    from nsightlens.render.metric_table import table_lines

    return (line + "\n" for line in table_lines(name_columns(listed), chosen_style(args)))


def _agreement(args: argparse.Namespace) -> Iterable[str]:
    from nsightlens.kernels.agreement import Labelled, measures, read_labels

    lines = lines_of(args.check)
    labels = list(read_labels(args.check, lines, lambda text: say("warning", text)))
    kernels = _parsed(args, [row["name"] for row in labels])
    found = measures([Labelled(*pair) for pair in zip(labels, kernels, strict=True)])
    rows = [{name: getattr(one, name) for name in MEASURES} for one in found]
    form = chosen_format(args)
    if form == "csv":
        return _csv(MEASURES, rows)
    if form == "json":
        return _json("kernel-name-check", args.check, map(_with_key, rows))
    from nsightlens.render.kernel_names import agreement_columns, agreement_lines

    if form == "markdown":
        from nsightlens.render.markdown import markdown_table

        return [markdown_table(agreement_columns(rows), code_columns=("name",))]
    lines = agreement_lines(rows, chosen_style(args), wrong_names=args.verbose)
    return (line + "\n" for line in lines)


def _with_key(row: dict[str, Any]) -> dict[str, Any]:
    parts = (row[name] for name in ("measure", "field", "label", "read", "name"))
    return {"key": "|".join(part for part in parts if part is not None), **row}


def _row(kernel: KernelName) -> dict[str, Any]:
    row: dict[str, Any] = {}
    for field, value in zip(FIELDS, _values(kernel), strict=True):
        if value.__class__ is tuple:
            row[field] = list(value)
        else:
            row[field] = value if value or field in _NEVER_NULL else None
    return row


def _csv(columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    from nsightlens.render.delimited import csv_pieces

    return csv_pieces(columns, rows)


def _json(schema: str, path: str | None, rows: Iterable[dict[str, Any]]) -> Iterable[str]:
    from nsightlens.render.envelope import envelope_pieces

    source = {"tool": "nsightlens", "tool_version": __version__, "path": path}
    return envelope_pieces(f"nsightlens.{schema}", source, rows)


def _parsed(args: argparse.Namespace, names: Iterable[str]) -> Iterator[KernelName]:
    """Yield what each name says, in order; of those read at once, each is parsed once."""
    from nsightlens.kernels.parse import reader_of

    reader = reader_of(rules_of(args))
    rest, count = iter(names), _FIRST
    while chunk := list(islice(rest, count)):
        distinct = list(dict.fromkeys(chunk))
        known = dict(zip(distinct, reader.read_all(distinct), strict=True))
        yield from map(known.__getitem__, chunk)
        count = min(4 * count, _AT_ONCE)
