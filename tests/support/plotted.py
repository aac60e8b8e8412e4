"""Points made by hand, of as many kernels as a figure may have to show, and what a figure says."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from nsightlens.plots.points import points_table
from nsightlens.plots.points_roofline import ROOFLINE_POINTS
from nsightlens.plots.points_stalls import STALLS_POINTS
from nsightlens.plots.points_sweep import (
    COMPONENTS,
    INTENSITY_POINTS,
    LABELS_POINTS,
    SHARES_POINTS,
    THROUGHPUT_POINTS,
)
from nsightlens.tables import STALL_REASONS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from matplotlib.axes import Axes

GPU = "NVIDIA H100 80GB HBM3"
FAMILIES = ("attention", "gemm", "norm", "elementwise", "kv_cache", "moe_routing", "other")
NAMES = (
    "_attn_fwd",
    "sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x256x64_warpgroupsize2x1x1_kernel",
    "void $_0::operator()<$int>",
    chr(0x6838) + chr(0x51FD) + chr(0x6570) + "_kernel",
    "triton_poi_fused_add_mul_native_layer_norm_silu_view_1234567890123456789012345",
    "a\tb",
)
"""What matplotlib would hide, take for mathematics or warn of, and what is too long."""


def _groups(count: int, batches: Sequence[int]) -> dict[str, Any]:
    """Return the columns that say which kernel and batch size a row is, and its time."""
    random = np.random.default_rng(5)
    rows = [(i, batch) for i in range(count) for batch in batches]
    return {
        "origin": ["measured"] * len(rows),
        "device_name": [GPU] * len(rows),
        "family": [FAMILIES[i % len(FAMILIES)] for i, _ in rows],
        "subtype": ["generic"] * len(rows),
        "kernel": [f"{NAMES[i % len(NAMES)]}_{i}" for i, _ in rows],
        "phase": ["decode"] * len(rows),
        "batch_size": [batch for _, batch in rows],
        "launch_count": [1] * len(rows),
        "duration_ns": (1e4 * random.lognormal(0, 2, len(rows))).tolist(),
    }


def roofline_table(count: int, batches: Sequence[int] = (1, 8, 64)) -> pa.Table:
    """Return the points of a roofline of kernels anywhere below the roofs."""
    data = _groups(count, batches)
    rows = len(data["kernel"])
    random = np.random.default_rng(7)
    intensity = random.lognormal(2, 2, rows)
    peak_flop, peak_bytes = np.where(np.arange(rows) % 3, 8.6e14, 5.7e14), 3.35e12
    share = random.uniform(0.01, 1.0, rows)
    achieved = share * np.minimum(peak_flop, intensity * peak_bytes)
    flop = achieved * np.array(data["duration_ns"]) * 1e-9
    data |= {
        "level": ["dram"] * rows,
        "resource": ["tensor_fp16"] * rows,
        "flop_count": flop,
        "level_bytes": flop / intensity,
        "arithmetic_intensity_flop_per_byte": intensity,
        "achieved_flop_per_s": achieved,
        "peak_flop_per_s": peak_flop,
        "peak_bytes_per_s": [peak_bytes] * rows,
        "ridge_point_flop_per_byte": peak_flop / peak_bytes,
        "fraction_of_roof": share,
        "sm_clock_hz": [1.59e9] * rows,
    }
    return points_table("roofline", ROOFLINE_POINTS, data, rows, ["Not shown: 3 launches."])


def intensity_table(count: int, batches: Sequence[int] = (1, 2, 4, 8, 16, 256)) -> pa.Table:
    """Return intensities that grow with the batch size, each kernel from another level."""
    data = _groups(count, batches)
    rows = len(data["kernel"])
    level = np.repeat(np.geomspace(0.05, 50, count), len(batches))
    useful = level * np.array(data["batch_size"]) ** 0.5
    data |= {
        "arithmetic_intensity_flop_per_byte": np.maximum(useful, 2 * level),
        "useful_arithmetic_intensity_flop_per_byte": useful,
        "ridge_point_flop_per_byte": np.where(np.arange(rows) % 2, 256.0, 171.0),
        "intensity_slope": [0.45] * rows,
        "intensity_slope_stderr": [0.04] * rows,
        "useful_intensity_slope": [0.5] * rows,
        "useful_intensity_slope_stderr": [0.0] * rows,
    }
    return points_table("intensity", INTENSITY_POINTS, data, rows)


def labels_table(count: int, batches: Sequence[int] = (1, 2, 4, 8, 16, 32, 64, 128)) -> pa.Table:
    """Return every label, one after the other."""
    data = _groups(count, batches)
    rows = len(data["kernel"])
    bounds = ("memory", "compute", "unknown")
    regimes = ("saturated", "latency", "small_grid", "balanced", "unknown")
    limiters = ("dram", "tensor_fp16", None)
    data |= {
        "failed_launch_count": [0] * rows,
        "bound": [bounds[i % 3] for i in range(rows)],
        "regime": [regimes[i % 5] for i in range(rows)],
        "limiter": [limiters[i % 3] for i in range(rows)],
        "limiter_fraction": [None if i % 3 == 2 else (i % 97) / 96 for i in range(rows)],
        "confidence": ["high"] * rows,
    }
    return points_table("labels", LABELS_POINTS, data, rows)


def stalls_table(count: int) -> pa.Table:
    """Return shares of every stall reason that add up to 100."""
    data = _groups(count, [8])
    random = np.random.default_rng(11)
    share = random.dirichlet(np.full(len(STALL_REASONS), 0.3), count) * 100
    rows = count * len(STALL_REASONS)
    data = {
        name: [value for value in values for _ in STALL_REASONS] for name, values in data.items()
    }
    data["batch_size"] = [None] * rows
    data |= {
        "stall_reason": list(STALL_REASONS) * count,
        "share_of_warp_latency_pct": share.ravel(),
    }
    return points_table("stalls", STALLS_POINTS, data, rows)


def shares_table(batches: Sequence[int]) -> pa.Table:
    """Return shares that go from matmul to attention."""
    attention = np.linspace(0.5, 90, len(batches))
    shares = np.concatenate([attention, 95 - attention, np.full(len(batches), 5.0)])
    rows = len(shares)
    data = _steps(list(batches) * 3)
    data |= {"component": np.repeat(COMPONENTS, len(batches)).tolist(), "share_pct": shares}
    return points_table("shares", SHARES_POINTS, data, rows)


def throughput_table(batches: Sequence[int]) -> pa.Table:
    """Return throughput that rises, and an occupancy that is missing at the first batch size."""
    rise = np.linspace(10, 95, len(batches))
    data = _steps(batches) | {
        "dram_read_pct": 0.9 * rise,
        "dram_write_pct": 0.1 * rise,
        "attention_dram_throughput_pct": rise,
        "matmul_dram_throughput_pct": rise[::-1],
        "achieved_occupancy_pct": [None, *rise[1:]],
    }
    return points_table("throughput", THROUGHPUT_POINTS, data, len(batches))


def _steps(batches: Sequence[int]) -> dict[str, Any]:
    count = len(batches)
    return {
        "origin": ["analytic"] * count,
        "device_name": [GPU] * count,
        "phase": ["decode"] * count,
        "batch_size": list(batches),
        "launch_count": [1] * count,
        "duration_ns": [1e4] * count,
    }


def found_by_gid(ax: Axes, gid: str) -> list[Any]:
    """Return what was drawn under an identifier."""
    return ax.findobj(lambda artist: artist.get_gid() == gid)


def text_boxes(ax: Axes) -> list[tuple[str, Any]]:
    """Return each text that is seen on a figure, with the path around it in pixels."""
    from matplotlib.path import Path
    from matplotlib.text import Text
    from matplotlib.transforms import Affine2D

    figure: Any = ax.figure
    # Drawn, not only laid out: ticks come into being when they are drawn.
    figure.savefig(io.BytesIO(), format="png", dpi=figure.dpi)
    renderer = figure.canvas.get_renderer()
    unseen = [text for axes in (ax, *ax.child_axes) for text in _labels_out_of_view(axes)]
    found = []
    for text in ax.findobj(Text):
        if not text.get_visible() or not text.get_text().strip() or text in unseen:
            continue
        turn, centre = text.get_rotation(), text.get_window_extent(renderer)
        text.set_rotation(0)
        box = text.get_window_extent(renderer)
        text.set_rotation(turn)
        x, y = (centre.x0 + centre.x1) / 2, (centre.y0 + centre.y1) / 2
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])
        sides = corners * np.array([box.width, box.height]) / 2
        # A pixel of leeway: outlines are a little smaller than their boxes.
        inner = sides * np.maximum(0.0, 1 - 1 / np.array([box.width, box.height]))
        path = Affine2D().rotate_deg(turn).translate(x, y).transform_path(Path(inner))
        found.append((text.get_text(), path))
    return found


def covered_texts(boxes: Sequence[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Return the pairs of texts that cover one another."""
    low = np.array([path.vertices.min(axis=0) for _, path in boxes])
    high = np.array([path.vertices.max(axis=0) for _, path in boxes])
    # Few of the thousands of pairs come near each other.
    is_near = (low[:, None] < high[None]).all(axis=2) & (low[None] < high[:, None]).all(axis=2)
    return [
        (boxes[i][0], boxes[j][0])
        for i, j in np.argwhere(np.triu(is_near, 1))
        if boxes[i][1].intersects_path(boxes[j][1], filled=True)
    ]


def _labels_out_of_view(ax: Any) -> list[Any]:
    """Return the texts of ticks beyond the limits: matplotlib has them and does not draw them."""
    found: list[Any] = []
    for axis in (ax.xaxis, ax.yaxis):
        low, high = sorted(axis.get_view_interval())
        ticks = [*axis.get_major_ticks(), *axis.get_minor_ticks()]
        for tick in ticks:
            if not low <= tick.get_loc() <= high:
                found += [tick.label1, tick.label2]
    return found
