"""devices: the products that are known, and the roofs of one."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

import jsonschema

from nsightlens.cli.devices import ROOF_FIELDS
from nsightlens.devices import Roof, products
from nsightlens.render.json_schema import published

if TYPE_CHECKING:
    from support.command import CommandLine


def _rows(run: CommandLine, *words: str) -> list[dict[str, Any]]:
    done = run("devices", *words, "-f", "json")
    assert done.code == 0, done.err
    answer = json.loads(done.out)
    jsonschema.validate(answer, json.loads(published("devices")))
    rows: list[dict[str, Any]] = answer["rows"]
    return rows


def test_every_product_is_listed(run: CommandLine) -> None:
    """One line each below the heading; as JSON, one row each with its roofs."""
    lines = run("devices", "--width", "200").out.splitlines()
    assert len(lines) == 2 + len(products())
    rows = _rows(run)
    assert [row["key"] for row in rows] == [product.name for product in products()]
    assert all(row["roofs"][0]["resource"] == "dram" for row in rows)


def test_one_product_is_shown_with_its_roofs(run: CommandLine) -> None:
    """The name may have several words; what the data sheet says stands beside the peak."""
    text = run("devices", "NVIDIA", "H100", "80GB", "HBM3", "--width", "120").out
    assert text.startswith("H100 SXM5 80GB\n")
    assert "tensor figures at 1830 MHz" in text
    (line,) = (line for line in text.splitlines() if line.startswith("tensor_bf16"))
    assert "1.07 PFLOP/s" in line
    assert "989 TFLOP/s" in line
    assert "peak_sustained in a report" in line


def test_other_products_with_the_name_in_theirs_are_told(run: CommandLine) -> None:
    """NVIDIA H100 is one product, and not the one that most people mean; H100 is all of them."""
    assert [row["product"].partition(" ")[0] for row in _rows(run, "h100")] == ["H100"] * 4
    done = run("devices", "NVIDIA", "h100")
    assert done.out.startswith("H100 SXM5 96GB HBM2e (cloud)\n")
    assert "other names with it: H100 SXM5 80GB, H100 PCIe 80GB, H100 NVL 94GB" in done.err


def test_a_part_of_a_name_lists_all_that_have_it(run: CommandLine) -> None:
    """Four modules are called Orin."""
    assert len(_rows(run, "orin")) == 4


def test_a_name_that_is_not_known_is_a_usage_error(run: CommandLine) -> None:
    """As for classify --device."""
    done = run("devices", "A1000")
    assert (done.code, done.out) == (2, "")
    assert "'A1000' is no known GPU" in done.err


def test_csv_and_markdown_have_the_same_roofs(run: CommandLine) -> None:
    """One row for each; of several products, one row for each of them."""
    (row,) = _rows(run, "a10g")
    text = run("devices", "a10g", "-f", "csv").out
    table = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [one["resource"] for one in table] == [one["resource"] for one in row["roofs"]]
    assert float(table[0]["peak_per_s"]) == row["roofs"][0]["peak_per_s"]
    assert {one["product"] for one in table} == {"A10G"}
    markdown = run("devices", "a10g", "-f", "markdown").out.splitlines()
    assert markdown[:2] == ["# A10G", ""]
    assert len(markdown) == 4 + len(row["roofs"])
    assert len(run("devices", "orin", "-f", "csv").out.splitlines()) == 1 + 4


def test_the_keys_of_a_roof_are_its_fields() -> None:
    """The command line names them without loading what makes them."""
    assert Roof._fields == ROOF_FIELDS
