"""Write the generated pages of docs/reference: tables, command line, API.

Run by ``make docs``. It fails if a page was out of date, after writing it anew.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import nsightlens
from nsightlens import tables
from nsightlens.metrics import launches_schema, stalls_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

REFERENCE = Path(__file__).resolve().parents[1] / "docs" / "reference"
HEADER = "<!-- Written by scripts/make_reference.py. Change the code, then run `make docs`. -->\n\n"

MODULES = (
    "nsightlens", "nsightlens.readers", "nsightlens.analysis", "nsightlens.metrics",
    "nsightlens.kernels", "nsightlens.steps", "nsightlens.annotate", "nsightlens.devices",
    "nsightlens.units", "nsightlens.ncurep", "nsightlens.models", "nsightlens.sweeps",
    "nsightlens.comparison", "nsightlens.serving.serving", "nsightlens.advisor.advice",
    "nsightlens.advisor.answers", "nsightlens.store", "nsightlens.pipelines", "nsightlens.plots",
    "nsightlens.example", "nsightlens.errors",
)  # fmt: skip

TABLES = (
    ("launches", "One row per result of the report.", launches_schema),
    ("stalls", "One row per launch and warp state.", stalls_schema),
    ("metrics", "One row per launch and stored metric.", lambda: tables.schema_of(tables.METRICS)),
    ("instances", "Instances, where asked for.", lambda: tables.schema_of(tables.INSTANCES)),
    ("rules", "Messages of NVIDIA's rules.", lambda: tables.schema_of(tables.RULES)),
    ("nvtx", "Ranges that were open at each launch.", lambda: tables.schema_of(tables.NVTX)),
    ("sessions", "One row per profiled process.", lambda: tables.schema_of(tables.SESSIONS)),
    ("labels", "`classify`: one row per launch or group.", lambda: tables.schema_of(tables.LABELS)),
    ("resources", "Roofline times behind the labels.", lambda: tables.schema_of(tables.RESOURCES)),
    ("rooflines", "Rooflines by memory level.", lambda: tables.schema_of(tables.ROOFLINES)),
    ("reports", "One row per report of a dataset; its other tables begin with `report_id` too.",
     lambda: tables.schema_of(tables.REPORTS)),
    ("sweep", "`sweep` and `predict`: one row per family, phase and batch size.",
     lambda: tables.schema_of(tables.SWEEP)),
    ("sweep_trends", "`sweep`: one row per family and phase.",
     lambda: tables.schema_of(tables.SWEEP_TRENDS)),
    ("sweep_steps", "`sweep`: one row per phase and batch size.",
     lambda: tables.schema_of(tables.SWEEP_STEPS)),
    ("comparison", "`compare`: one row per launch or group.",
     lambda: tables.schema_of(tables.COMPARISON)),
    ("comparison_families", "Sums of `compare` per family.",
     lambda: tables.schema_of(tables.COMPARISON_FAMILIES)),
    ("gate", "`gate`: one row per rule.", lambda: tables.schema_of(tables.GATE)),
    ("serving_runs", "`open_serving`: one row per run of a serving benchmark.",
     lambda: tables.schema_of(tables.SERVING_RUNS)),
    ("serving_origins", "`open_serving`: one row per value of `serving_runs`.",
     lambda: tables.schema_of(tables.SERVING_ORIGINS)),
    ("serving_files", "`open_serving`: one row per file that was found.",
     lambda: tables.schema_of(tables.SERVING_FILES)),
    ("advice_curve", "`advise`: one row per batch size.",
     lambda: tables.schema_of(tables.ADVICE_CURVE)),
    ("advice_replicas", "`advise`: one row per number of servers.",
     lambda: tables.schema_of(tables.ADVICE_REPLICAS)),
)  # fmt: skip


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def _table_section(name: str, about: str, schema: pa.Schema) -> str:
    lines = [
        f"## {name}\n",
        about + "\n",
        "| column | type | unit | meaning | source |",
        "|---|---|---|---|---|",
    ]
    for field in schema:
        kind = "category" if str(field.type).startswith("dictionary") else str(field.type)
        meta = {key.decode(): value.decode() for key, value in (field.metadata or {}).items()}
        source = f"`{_cell(meta['source'])}`" if meta.get("source") else ""
        lines.append(
            f"| `{field.name}` | {kind} | {meta['unit']} | {_cell(meta['meaning'])} | {source} |"
        )
    return "\n".join(lines) + "\n"


def tables_page() -> str:
    """Return the page that documents every column of every table."""
    head = (
        "# Tables\n\n"
        f"Schema version {tables.SCHEMA_VERSION}. A column that a report cannot fill is\n"
        "null, never zero. `category` is a dictionary-encoded string. The same unit, meaning and\n"
        "source are in the field metadata of every Arrow table, and of the Parquet files that\n"
        "`nsightlens export` writes.\n\n"
    )
    return (
        HEADER
        + head
        + "\n".join(_table_section(name, about, make()) for name, about, make in TABLES)
    )


def api_page() -> str:
    """Return the page that documents every public name, module by module."""
    intro = (
        "# Python API\n\nEach section is a module with the names of its `__all__`;\n"
        "`nsightlens` itself is what most programs need.\n"
    )
    return HEADER + intro + "\n" + "\n".join(map(_module_section, MODULES))


def modules_page() -> str:
    """Return the page that says in one line what each module is for."""
    lines = [
        "# Modules",
        "",
        "How they hang together is in [architecture](../architecture.md).",
        "",
    ]
    package = ""
    for found in pkgutil.walk_packages(nsightlens.__path__, "nsightlens."):
        words = (importlib.import_module(found.name).__doc__ or "").splitlines()[0]
        parent = found.name if found.ispkg else found.name.rpartition(".")[0]
        if parent != package:
            package = parent
            lines += ["", f"## {package}", ""]
        if not found.name.endswith("__main__"):
            lines.append(f"- `{found.name}`: {words}")
    return HEADER + "\n".join(lines) + "\n"


def devices_page() -> str:
    """Return the page with every rate and product of `nsightlens.devices`, and their sources."""
    from nsightlens.devices import products, rates  # noqa: PLC0415 - only this page

    lines = [
        "# Rates and products\n",
        "What the numbers mean and when they are used is in [devices](../devices.md).\n",
        "## Rates\n",
        "Dense, for each SM and SM cycle, those of L2 for each slice and L2 cycle; trust A to D.\n",
        "| cc | resource | rate | unit | cut products | trust | source |",
        "|---|---|---:|---|---|---|---|",
    ]
    for capability, of_chip in rates().items():
        for resource, rate in of_chip.items():
            cut = ", ".join(
                f"{name} {'?' if value is None else f'{value:g}'}"
                for name, value in rate.cut.items()
            )
            lines.append(
                _row(capability, f"`{resource}`", f"{rate.value:.6g}", rate.unit, cut,
                     rate.confidence, rate.source)
            )  # fmt: skip
    lines += [
        "\n## Products\n",
        "Clocks in MHz, DRAM bandwidth in GB/s by memory clock and bus width.\n",
        "| product | driver's name | cc | SMs | class | boost | DRAM | memory | source | note |",
        "|---|---|---|---:|---|---:|---:|---|---|---|",
    ]
    for one in products():
        figures = [one.sm_count, one.product_class, one.boost_mhz, one.bandwidth_gb_per_s]
        shown = ["" if x is None else f"{x:.4g}" if isinstance(x, float) else str(x)
                 for x in figures]  # fmt: skip
        memory = f"{one.memory_gb:g} GB {one.memory_type}"
        names = ", ".join(f"`{name}`" for name in one.driver_names)
        source = f"{one.source} ({one.known_from})"
        lines.append(
            _row(one.name, names, one.compute_capability, *shown, memory, source, one.note)
        )
    return HEADER + "\n".join(lines) + "\n"


def _row(*cells: str) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _module_section(name: str) -> str:
    module = importlib.import_module(name)
    parts = [f"## {name}\n\n{(module.__doc__ or '').splitlines()[0]}\n"]
    parts += [_object_section(public, getattr(module, public)) for public in sorted(module.__all__)]
    return "\n".join(parts)


def _object_section(name: str, value: object) -> str:
    if inspect.isclass(value):
        text = f"class {name}\n\n{inspect.getdoc(value)}"
        text += "".join(_members(value))
    elif callable(value):
        text = f"{name}{_signature(value)}\n\n{inspect.getdoc(value)}"
    else:
        text = f"{name}: {type(value).__name__}"
    return f"### {name}\n\n```text\n{text}\n```\n"


def _signature(function: Callable[..., object]) -> str:
    return str(inspect.signature(function)).replace("'", "")


def _members(owner: type) -> Iterator[str]:
    """Yield the public methods and properties that a class defines itself."""
    for name, member in vars(owner).items():
        function = getattr(member, "fget", None) or getattr(member, "func", None) or member
        if name.startswith("_") or not inspect.isfunction(function):
            continue
        call = _signature(function) if function is member else ""
        yield f"\n\n.{name}{call}\n{textwrap.indent(inspect.getdoc(function) or '', '    ')}"


def pages() -> dict[str, str]:
    """Return each generated page by its file name."""
    from nsightlens.cli.reference import cli_page, exit_codes_page  # noqa: PLC0415 - imports the parser

    return {
        "tables.md": tables_page(),
        "api.md": api_page(),
        "modules.md": modules_page(),
        "cli.md": HEADER + cli_page(),
        "exit-codes.md": HEADER + exit_codes_page(),
        "devices.md": devices_page(),
    }


def main() -> int:
    """Write every page that differs from what the code says; return 1 if there was one."""
    stale = []
    for file_name, text in pages().items():
        page = REFERENCE / file_name
        if not page.is_file() or page.read_text(encoding="utf-8") != text:
            page.write_text(text, encoding="utf-8")
            stale.append(file_name)
    if stale:
        print(f"docs/reference: {', '.join(stale)} was out of date and is written anew: commit it.")
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
