"""The figures of advice show what the advice says, by the artists' data."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import plotted
from support.advice_answers import (
    BATCHES,
    CHOICE,
    LIMIT_MS,
    REFUSED,
    ROWS,
    WHY,
    advice,
    bare_advice,
    curve_table_of,
    infeasible_advice,
)

from nsightlens.advisor.answers import Curve, Slo, Why
from nsightlens.errors import NothingToPlotError, OutputError, OutputExistsError
from nsightlens.plots import new_axes, notes_of
from nsightlens.plots.draw_advice import FIGURES, draw_curve, draw_kv, draw_shares, save_figures
from nsightlens.plots.points_advice import (
    SHARE_PARTS,
    curve_marks,
    curve_points,
    kv_points,
    setup_title,
    share_points,
)
from nsightlens.plots.save import own_settings

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from nsightlens.advisor.answers import Advice


def data_of(ax: Axes, gid: str) -> list[tuple[float, float]]:
    """Return the points of the one line with an identifier."""
    (line,) = plotted.found_by_gid(ax, gid)
    return [(float(x), float(y)) for x, y in zip(*line.get_data(), strict=True)]


def legend(ax: Axes) -> list[str]:
    found = ax.get_legend()
    assert found is not None
    return [text.get_text() for text in found.get_texts()]


def note(ax: Axes) -> str:
    (artist,) = plotted.found_by_gid(ax, "nsightlens-notes")
    return str(artist.get_text()).replace("\n", " ")


def with_rows(*rows: dict[str, Any], **changes: Any) -> Advice:
    return advice(curve=Curve(curve_table_of(rows), "total", None), **changes)


@cache
def curve_ax() -> Axes:
    """Return the figure of the paper's curve, which tests look at and leave as it is."""
    return draw_curve(advice())


@cache
def kv_ax() -> Axes:
    return draw_kv(advice())


# --- Throughput and latency -----------------------------------------------------------------------


def test_throughput_and_latency_are_those_of_the_curve() -> None:
    """Each at its batch size, on its own scale."""
    ax = curve_ax()
    wanted = [(float(b), row["throughput_tok_s"]) for b, row in zip(BATCHES, ROWS, strict=True)]
    assert data_of(ax, "nsightlens-throughput_tok_s") == pytest.approx(np.array(wanted))
    wanted = [(float(b), row["mean_itl_ms"]) for b, row in zip(BATCHES, ROWS, strict=True)]
    assert data_of(ax, "nsightlens-latency_ms") == pytest.approx(np.array(wanted))
    (other,) = ax.child_axes
    assert ax.get_ylabel() == "total throughput [token/s]"
    assert other.get_ylabel() == "mean ITL [ms]"
    assert ax.get_xlim() == other.get_xlim()


def test_the_limit_the_knee_and_the_choice_are_marked() -> None:
    """On both curves, where they are."""
    ax = curve_ax()
    (limit,) = plotted.found_by_gid(ax, "nsightlens-slo")
    assert set(limit.get_ydata()) == {LIMIT_MS}
    (knee,) = plotted.found_by_gid(ax, "nsightlens-knee")
    assert set(knee.get_xdata()) == {28.2}
    stars = [
        np.column_stack(one.get_data()) for one in plotted.found_by_gid(ax, "nsightlens-choice")
    ]
    assert np.concatenate(stars).tolist() == [[96, 9032.79], [96, 13.8938]]
    assert legend(ax)[2:] == ["fitted law", "limit 15 ms", "knee 28.2 running", "choice 96"]


def test_the_fitted_law_is_dashed() -> None:
    ax = curve_ax()
    (law,) = plotted.found_by_gid(ax, "nsightlens-law")
    assert law.get_linestyle() == "--"
    assert law.get_ydata() == pytest.approx([row["fitted_itl_ms"] for row in ROWS])


def test_a_row_with_a_flag_of_its_own_is_hollow() -> None:
    """What weighs on every row, such as single runs, tells none from the others."""
    ax = curve_ax()
    assert data_of(ax, "nsightlens-latency_ms-hollow") == [(768.0, 72.889)]
    assert len(data_of(ax, "nsightlens-latency_ms-full")) == len(ROWS) - 1
    (hollow,) = plotted.found_by_gid(ax, "nsightlens-latency_ms-hollow")
    assert hollow.get_markerfacecolor() == "white"
    assert "Hollow: preempted, or flagged." in note(ax)


@pytest.mark.parametrize(
    "change", [{"preemption_count": 543.0}, {"fit_weight": 0.25}, {"flags": "single_run,thrash"}]
)
def test_a_row_that_was_preempted_or_weighs_less_is_hollow(change: dict[str, Any]) -> None:
    points = curve_points(with_rows(ROWS[0], ROWS[1] | change))
    assert points["is_hollow"].to_pylist() == [False, True]


def test_a_single_row_is_not_hollow_for_being_single() -> None:
    assert curve_points(with_rows(ROWS[0]))["is_hollow"].to_pylist() == [False]


def test_the_latency_that_is_limited_is_drawn() -> None:
    """A law of another latency is not laid over it."""
    slo = Slo("tpot", "p99", 20.0)
    chosen = replace(CHOICE, slos=(slo,), limits_ms=(20.0,))
    rows = [row | {"p99_tpot_ms": 2 * row["mean_tpot_ms"]} for row in ROWS]
    asked = with_rows(*rows, choice=chosen)
    points = curve_points(asked)
    assert points["latency_ms"].to_pylist() == [row["p99_tpot_ms"] for row in rows]
    assert points["fitted_ms"].null_count == len(rows)
    assert notes_of(points) == ["The fitted law is of the time between tokens, and not shown."]
    assert curve_marks(asked).limits_ms == (20.0,)
    assert not plotted.found_by_gid(draw_curve(asked), "nsightlens-law")


def test_a_limit_that_the_axis_does_not_show_is_told() -> None:
    """Time to the first token is no time per token."""
    slos = (CHOICE.slos[0], Slo("ttft", "mean", 2000.0))
    asked = advice(choice=replace(CHOICE, slos=slos, limits_ms=(LIMIT_MS, 2000.0)))
    assert notes_of(curve_points(asked)) == ["Not shown: the limit of mean TTFT, 2000 ms."]
    assert curve_marks(asked).limits_ms == (LIMIT_MS,)


def test_without_choice_and_knee_only_the_limit_is_marked() -> None:
    ax = draw_curve(infeasible_advice(plateau=REFUSED))
    assert legend(ax) == ["total throughput", "mean ITL", "fitted law", "limit 3 ms"]
    assert not plotted.found_by_gid(ax, "nsightlens-choice")


def test_an_interpolated_choice_lies_between_the_points() -> None:
    row = dict(ROWS[7]) | {"batch_size": 110.0, "throughput_tok_s": 9240.0, "mean_itl_ms": 15.0}
    chosen = replace(CHOICE, batch_size=110.0, row=row, is_interpolated=True)
    ax = draw_curve(advice(choice=chosen))
    star, _ = plotted.found_by_gid(ax, "nsightlens-choice")
    assert [float(star.get_xdata()[0]), float(star.get_ydata()[0])] == [110.0, 9240.0]
    assert not any(curve_points(advice(choice=chosen))["is_chosen"].to_pylist())


def test_a_curve_without_latency_is_drawn_without_it() -> None:
    ax = draw_curve(bare_advice())
    assert data_of(ax, "nsightlens-throughput_tok_s") == [(8.0, 900.0), (16.0, 1500.0)]
    assert legend(ax) == ["output throughput", "choice 16"]


def test_a_run_without_a_batch_size_is_left_out_and_told() -> None:
    """An axis to base 2 has no place for zero either."""
    asked = with_rows(ROWS[0], ROWS[1] | {"batch_size": None}, ROWS[2] | {"batch_size": 0.0})
    points = curve_points(asked)
    assert points["batch_size"].to_pylist() == [1.0]
    assert notes_of(points) == ["Not shown: 2 runs without a batch size."]
    draw_curve(asked)


def test_nothing_known_is_no_figure() -> None:
    empty = with_rows({"batch_size": 8.0})
    for make in (curve_points, kv_points):
        with pytest.raises(NothingToPlotError):
            make(empty)
    with pytest.raises(NothingToPlotError):
        share_points(advice(why=Why("no_profile", "")))
    with pytest.raises(NothingToPlotError):
        curve_points(with_rows())


def test_numbers_that_are_none_are_not_drawn() -> None:
    """Neither NaN nor infinity has a place on an axis."""
    asked = with_rows(
        ROWS[0], ROWS[1] | {"throughput_tok_s": float("nan"), "mean_itl_ms": float("inf")}
    )
    points = curve_points(asked)
    assert points["throughput_tok_s"].to_pylist() == [381.406, None]
    assert points["latency_ms"].to_pylist() == [3.62333, None]
    draw_curve(asked)


# --- KV use ---------------------------------------------------------------------------------------


def test_kv_use_is_drawn_below_the_pool() -> None:
    ax = kv_ax()
    wanted = [row["kv_pool_gib"] * row["kv_peak_pct"] / 100 for row in ROWS]
    used = data_of(ax, "nsightlens-kv_used_gib")
    assert [y for _, y in used] == pytest.approx(wanted)
    pool = data_of(ax, "nsightlens-kv-pool")
    assert [y for _, y in pool] == [row["kv_pool_gib"] for row in ROWS]
    assert ax.get_ylabel() == "KV memory [GiB]"


def test_what_is_never_used_goes_from_the_use_to_the_pool() -> None:
    ax = kv_ax()
    (x0, low), (x1, high) = data_of(ax, "nsightlens-kv-freed")
    assert (x0, x1) == (96, 96)
    assert (low, high) == pytest.approx((8.6745, 54.27), rel=1e-4)
    assert legend(ax)[-1] == "never used at 96: 45.6 GiB"
    assert not plotted.found_by_gid(draw_kv(infeasible_advice()), "nsightlens-kv-freed")


def test_without_the_size_of_the_pool_kv_use_is_in_percent_of_it() -> None:
    """One row without a size is enough: no scale has two units."""
    asked = with_rows(ROWS[6] | {"kv_pool_gib": None}, ROWS[7])
    ax = draw_kv(asked)
    assert [y for _, y in data_of(ax, "nsightlens-kv_peak_pct")] == [10.237, 15.984]
    assert [y for _, y in data_of(ax, "nsightlens-kv-pool")] == [100.0, 100.0]
    assert ax.get_ylabel() == "KV memory [% of the pool]"
    assert legend(ax)[-1] == "never used at 96: 84 %"


def test_a_row_without_kv_use_is_told() -> None:
    points = kv_points(with_rows(ROWS[6], ROWS[7] | {"kv_peak_pct": None}))
    assert points["batch_size"].to_pylist() == [64.0]
    assert notes_of(points) == ["Not known: KV use at 1 batch size."]


# --- Shares ---------------------------------------------------------------------------------------


def test_the_bars_are_the_shares_and_stand_on_one_another() -> None:
    ax = draw_shares(advice())
    below = np.zeros(len(WHY.shares))
    for place, part in enumerate(SHARE_PARTS, start=1):
        bars = plotted.found_by_gid(ax, f"nsightlens-{part}")
        wanted = [row[place] for row in WHY.shares]
        assert [bar.get_height() for bar in bars] == pytest.approx(wanted)
        assert [bar.get_y() for bar in bars] == pytest.approx(below)
        below = below + np.array(wanted, float)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "32", "128", "512"]


def test_an_unknown_share_is_told_and_not_drawn() -> None:
    shares = ((64.0, 50.0, 30.0, 20.0, None), (8.0, 20.0, 60.0, 20.0, None))
    asked = advice(why=replace(WHY, shares=shares))
    points = share_points(asked)
    assert points["batch_size"].to_pylist() == [8.0] * 4 + [64.0] * 4
    ax = draw_shares(asked)
    assert "Not known at some batch size: host." in note(ax)


# --- All of them ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(3.3, 2.5), (6.0, 4.0), (12.0, 8.0)])
@pytest.mark.parametrize("name", FIGURES)
def test_no_text_covers_another_or_leaves_the_figure(name: str, size: tuple[float, float]) -> None:
    """From a column in print to a slide."""
    with own_settings():
        ax = FIGURES[name].draw(advice(), new_axes(size, 100))
        boxes = plotted.text_boxes(ax)
    assert plotted.covered_texts(boxes) == []
    figure: Any = ax.figure
    width, height = figure.bbox.size
    for text, path in boxes:
        (x0, y0), (x1, y1) = path.vertices.min(axis=0), path.vertices.max(axis=0)
        assert min(x0, y0) >= -1, text
        assert x1 <= width + 1, text
        assert y1 <= height + 1, text


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_can_be_drawn_on_axes_of_others(name: str) -> None:
    """They are given back, and their figure is not laid out anew."""
    from matplotlib.figure import Figure

    left, right = Figure(figsize=(10, 4)).subplots(1, 2)
    place = left.get_position().bounds
    assert FIGURES[name].draw(advice(), left, title="mine") is left
    assert left.get_position().bounds == place
    assert left.get_title("left") == "mine"
    assert not right.lines


def test_the_title_says_what_is_known_of_the_setup() -> None:
    name = "\u30e2\u30c7\u30eb-7b"
    assert setup_title(advice()) == "opt-1.3b, vllm, H100"
    assert setup_title(advice(setup={"model": name})) == name
    assert setup_title(advice(setup={})) == ""


def test_figures_are_files_of_their_names(tmp_path: Path) -> None:
    """Whole SVGs, the same each time."""
    written = save_figures(advice(), tmp_path / "new" / "figures")
    assert [path.name for path in written] == ["curve.svg", "kv.svg", "shares.svg"]
    first = [path.read_bytes() for path in written]
    assert all(text.rstrip().endswith(b"</svg>") for text in first)
    again = save_figures(advice(), tmp_path / "new" / "figures", force=True)
    assert [path.read_bytes() for path in again] == first


def test_a_figure_without_data_is_left_out(tmp_path: Path) -> None:
    written = save_figures(bare_advice(), tmp_path, "png")
    assert [path.name for path in written] == ["curve.png"]
    assert written[0].read_bytes()[1:4] == b"PNG"


def test_no_figure_replaces_a_file_unless_asked(tmp_path: Path) -> None:
    """And none is written where one of them would."""
    (tmp_path / "shares.svg").write_text("mine")
    with pytest.raises(OutputExistsError):
        save_figures(advice(), tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["shares.svg"]
    assert (tmp_path / "shares.svg").read_text() == "mine"


def test_a_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for place in ("file", "file/below"):
        with pytest.raises(OutputError):
            save_figures(advice(), tmp_path / place)
