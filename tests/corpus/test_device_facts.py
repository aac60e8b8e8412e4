"""Rates and products against the tables of facts, and against what real reports say."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nsightlens.devices import rate_of
from nsightlens.devices.columns import metric
from nsightlens.devices.launched import devices_of
from nsightlens.devices.levels import LEVEL_PATHS
from nsightlens.devices.peaks import CUDA_CORE_PEAKS
from nsightlens.devices.products import products
from nsightlens.devices.rates import rates
from nsightlens.devices.tensor_peaks import MMA_SYNC_SHARE, resource_of_column
from nsightlens.metrics.tensor import tensor_paths_of
from nsightlens.readers import open_report

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nsightlens.devices.launched import Device
    from nsightlens.report import Report

pytestmark = pytest.mark.corpus

SHARED = Path(__file__).resolve().parents[3] / "shared"
FACTS = SHARED / "facts"

RESOURCES = {
    "tensor_fp16_acc32": "tensor_fp16",
    "tensor_fp8_acc32": "tensor_fp8",
    "l1_bytes": "l1",
    "shared_bytes": "shared",
    "l2_bytes_per_slice": "l2_returned",
    "max_warps_per_sm": "warps",
    "max_blocks_per_sm": "blocks",
    "registers_per_sm": "registers",
    "shared_mem_per_sm": "shared_memory",
    "shared_mem_per_block_optin": "shared_memory_per_block",
    "warp_schedulers_per_sm": "schedulers",
    "l1_plus_shared_capacity": "l1_with_shared_memory",
}
# 7424 CUDA cores are 58 SMs, which give the published throughput at the boost clock; 60 do not.
CORRECTED = {("L4", "sm"): 58.0}
CUTS = {"GeForce": "gf", "A10G": "half", "L40": "half", "H800": "h800", "H20": "h20"}
"""First words of the facts about cut products, and the class that they are about."""
FIGURES = {
    "ds_fp16_bf16_tensor_acc32": "tensor_fp16",
    "ds_fp16_tensor_acc16": "tensor_fp16_acc16",
    "ds_fp8_tensor_acc32": "tensor_fp8",
    "ds_fp4_tensor": "tensor_fp4",
    "ds_int8_tensor": "tensor_int8",
    "ds_tf32_tensor": "tensor_tf32",
    "ds_fp64_tensor": "tensor_fp64",
    "ds_fp32": "fp32",
    "ds_fp64": "fp64",
}
OLD_L2 = "lts__t_sectors.avg.peak_sustained"
# What the corpus beside this checkout holds at the least; more reports may be added.
STORED_PEAKS, GPUS_WITH_PEAKS, PRODUCTS_IN_REPORTS = 12, 4, 10


def facts(name: str) -> list[dict[str, str]]:
    """Return the rows of a table of facts; skip where it does not lie beside the checkout."""
    path = FACTS / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    lines = [one for one in path.read_text(encoding="utf-8").splitlines() if one[:1] != "#"]
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


def test_every_rate_is_that_of_the_facts() -> None:
    """All 299 rows, with their confidence."""
    rows = facts("arch_rates.tsv")
    assert len(rows) == 299
    for row in rows:
        rate = rates()[row["cc"]][RESOURCES.get(row["unit"], row["unit"])]
        said = (float(row["rate_per_sm_per_clk"]), row["confidence"])
        assert (rate.value, rate.confidence) == said, row


def test_every_cut_rate_is_that_of_the_facts() -> None:
    """Where the facts name a product that does less, ours does as much less."""
    checked = 0
    for row in facts("arch_rates.tsv"):
        resource = RESOURCES.get(row["unit"], row["unit"])
        for words, value in re.findall(r"([^;:]+): ~?(\d+)", row["reduced_rate"]):
            for word, product_class in CUTS.items():
                # "~0" is a figure that was rounded: not known.
                if word in words and "block-scaled" not in words and value != "0":
                    assert rate_of(row["cc"], resource, product_class) == float(value), row
                    checked += 1
    assert checked >= 30


def test_what_the_facts_do_not_say_is_a_unit_that_is_not_there_or_an_l2() -> None:
    """Nothing is added to the facts but zeros for types without a counter, and what L2 looks up."""
    known = {
        (row["cc"], RESOURCES.get(row["unit"], row["unit"])) for row in facts("arch_rates.tsv")
    }
    added = {
        (capability, resource): rate
        for capability, one in rates().items()
        for resource, rate in one.items()
        if capability != "10.1" and (capability, resource) not in known
    }
    for (_, resource), rate in added.items():
        assert resource in ("l2", "tensor_fp8_scaled") or (
            rate.value == 0 and "no counter" in rate.source
        )


@pytest.fixture(scope="module")
def report(corpus_reports: list[Path]) -> Report:
    """Return all real reports as one."""
    return open_report([str(path) for path in corpus_reports])


def metrics_of(device: Device) -> Iterator[tuple[str, str, float]]:
    """Give each stored peak, the resource, and what one of it counts for in the resource's unit."""
    for resource, (name, factor) in CUDA_CORE_PEAKS.items():
        yield name, resource, factor
    for name, level in LEVEL_PATHS.items():
        for counter, size in zip(level.counters, level.bytes_per_count, strict=True):
            rollup = "avg" if level.level == "l2" else "sum"
            resource = name if level.level == "l2" else "l1"
            yield f"{counter}.{rollup}.peak_sustained", resource, size
    for path in tensor_paths_of(device.counters):
        resource = resource_of_column(path.column)
        state = "_sparsity_off" if path.has_sparsity else ""
        share = 0.5 if path.is_total_peak_sparse else 1.0
        for base in path.bases:
            yield f"{base}{state}.sum.peak_sustained", accumulated(resource, base), share
        for position, one in enumerate(path.instructions):
            state = "_sparsity_off" if one.has_sparsity else ""
            slower = MMA_SYNC_SHARE if position and path.is_total_peak_sparse else 1.0
            for base in one.bases:
                name = f"{base}{state}.sum.peak_sustained"
                yield name, accumulated(resource, base), 1.0 / slower


def accumulated(resource: str, base: str) -> str:
    """Return the resource with its accumulator, where the counter has only fp16."""
    has_both = resource in ("tensor_fp16", "tensor_fp8")
    return f"{resource}_acc16" if has_both and base.endswith("dst_fp16") else resource


def stored_peaks(report: Report) -> Iterator[tuple[Device, str, float, float | None]]:
    """Give every distinct stored peak: device, metric, value and what our rates make of it."""
    devices = devices_of(report)
    for code, device in enumerate(devices.kinds):
        is_here = devices.code == code
        for name, resource, size in metrics_of(device):
            if name not in report.store.index_of:
                continue
            stored = metric(report.store, name)[is_here]
            rate = device.rate(resource)
            units = 1 if ".avg." in name else device.sm_count
            expected = None if rate is None or units is None else rate * units / size
            # A pass that failed leaves a zero.
            for value in sorted({float(one) for one in stored if one > 0}):
                yield device, name, value, expected


def test_every_stored_peak_is_that_of_our_rates(report: Report) -> None:
    """Each peak_sustained that names a resource, on each GPU; an old ncu says less of A100's L2."""
    checked = set()
    for device, name, value, expected in stored_peaks(report):
        if (device.compute_capability, name, value) == ("8.0", OLD_L2, 2.0):
            continue
        assert value == pytest.approx(expected, rel=1e-6), (device.name, name)
        checked.add((device.name, name))
    assert len(checked) >= STORED_PEAKS
    assert len({name for name, _ in checked}) >= GPUS_WITH_PEAKS


def test_products_have_the_figures_of_the_facts() -> None:
    """All 108 rows: SMs, class, clocks, memory, caches and published throughput."""
    rows = facts("products.tsv")
    assert len(rows) == 108
    ours = {product.name: product for product in products()}
    for row in rows:
        one = ours[row["name"]]
        names = dict.fromkeys(n.removeprefix("NVIDIA ") for n in row["driver_names"].split(";"))
        assert one.driver_names == tuple(names)
        assert one.compute_capability == row["cc"]
        assert one.product_class == row["class"].replace("?", "unknown")
        assert one.memory_type == row["mem_type"]
        numbers = {
            "sm": one.sm_count, "base_mhz": one.base_mhz, "boost_mhz": one.boost_mhz,
            "tensor_ref_mhz": one.tensor_mhz, "mem_gb": one.memory_gb, "bus_bits": one.bus_bit,
            "mem_clock_mhz": one.memory_mhz, "bw_gbs": one.sheet_gb_per_s, "l2_mb": one.l2_mib,
            **{column: one.sheet_tera_per_s.get(name) for column, name in FIGURES.items()},
        }  # fmt: skip
        for column, value in numbers.items():
            theirs = CORRECTED.get((one.name, column), float(row[column]) if row[column] else None)
            assert theirs == value, (one.name, column)
        if row["bw_calc_gbs"]:
            assert one.bandwidth_gb_per_s == pytest.approx(float(row["bw_calc_gbs"]), abs=0.06)


def test_our_rates_reproduce_the_published_throughput() -> None:
    """SMs x rate x the clock of the figure is within 2 % where the facts found it so."""
    checked = 0
    for row in facts("products.tsv"):
        deviation = row["max_dev_pct_at_ref"]
        is_corrected = (row["name"], "sm") in CORRECTED
        if not deviation or (abs(float(deviation)) > 2.0 and not is_corrected):
            continue
        one = next(product for product in products() if product.name == row["name"])
        for resource, tera in one.sheet_tera_per_s.items():
            # FP64 on tensor cores is printed at the boost clock.
            is_tensor = resource.startswith("tensor_") and resource != "tensor_fp64"
            mhz = one.tensor_mhz if is_tensor else one.boost_mhz
            rate = rate_of(one.compute_capability, resource, one.product_class)
            if None in (rate, mhz, one.sm_count):
                continue
            # Printed figures are rounded, small ones to two digits.
            reckoned = rate * mhz * one.sm_count * 1e-6  # type: ignore[operator]
            assert reckoned == pytest.approx(tera, rel=0.025, abs=0.06), (one.name, resource)
            checked += 1
    assert checked > 200


ATTRIBUTES = {
    "multiprocessor_count": ("sm_count", 1.0),
    "global_memory_bus_width": ("bus_bit", 1.0),
    "memory_clock_rate": ("memory_mhz", 1e3),
    "l2_cache_size": ("l2_mib", 2.0**20),
}


def test_products_have_the_attributes_of_the_devices_in_reports(report: Report) -> None:
    """SM count, bus width, memory clock and L2 of every product on which a launch ran."""
    devices = devices_of(report)
    found = set()
    for code, device in enumerate(devices.kinds):
        if device.product is None:
            continue
        found.add(device.product.name)
        for attribute, (field, size) in ATTRIBUTES.items():
            values = metric(report.store, f"device__attribute_{attribute}")[devices.code == code]
            expected = getattr(device.product, field) * size
            for value in values[values > 0]:
                assert value == pytest.approx(expected, rel=1e-3), (device.name, attribute)
    assert len(found) >= PRODUCTS_IN_REPORTS


def test_the_dram_peak_is_two_bits_per_wire_and_cycle(report: Report) -> None:
    """dram__bytes.sum.peak_sustained of every GPU that stores it is its bus width over four."""
    devices = devices_of(report)
    stored = metric(report.store, "dram__bytes.sum.peak_sustained")
    width = metric(report.store, "device__attribute_global_memory_bus_width")
    gpus = set()
    for code, device in enumerate(devices.kinds):
        is_here = (devices.code == code) & (stored > 0)
        if is_here.any():
            assert set(stored[is_here]) == set(width[is_here] / 4.0)
            gpus.add(device.name)
    assert len(gpus) >= 4
