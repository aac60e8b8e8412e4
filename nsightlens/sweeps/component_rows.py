"""Attention, matmul and everything else as rows: what the verdict rests on, however rows are made.

A row of a family or kernel is a part of a component: the kernel that merges the parts of attention
waits while attention as a whole reads its cache. So the launches of a component add up first, and
the rules of the labels apply to the sums.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nsightlens.sweeps.components import component_of
from nsightlens.sweeps.needed import SOURCES, Needed, needed_by_annotations
from nsightlens.sweeps.rows import STEP_KEYS, rows_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.sweeps.needed_by_model import ComponentWork, StepKey
    from nsightlens.sweeps.part import SweepPart

__all__ = ["component_rows", "of_components"]

_FAMILIES = {"attention": "attention", "matmul": "gemm", "other": None}
"""The family that stands for a component, so that `component_of` finds it again."""


def of_components(part: SweepPart) -> SweepPart:
    """Add rows up to a row per GPU, phase, batch size and component, named by one family of it."""
    families = part.keys["family"].to_pylist()
    named = pa.array([_FAMILIES[component_of(family)] for family in families], pa.string())
    at = part.keys.schema.get_field_index("family")
    return replace(part, keys=part.keys.set_column(at, "family", named)).grouped(
        (*STEP_KEYS, "family")
    )


def component_rows(
    part: SweepPart, by_model: Mapping[tuple[StepKey, str], ComponentWork] | None = None
) -> pa.Table:
    """Label every component of every step.

    Parameters
    ----------
    part
        The sums.
    by_model
        What a model needs, by step and component, where annotations do not say it.

    Returns
    -------
    pyarrow.Table
        With the schema of `nsightlens.tables.SWEEP`; ``subtype`` and ``kernel`` are null.
    """
    members = of_components(part)
    return rows_of(members, needed_by_annotations(members).filled(_of_model(members, by_model)))


def _of_model(
    members: SweepPart, by_model: Mapping[tuple[StepKey, str], ComponentWork] | None
) -> Needed:
    steps = zip(*(members.keys[name].to_pylist() for name in STEP_KEYS), strict=True)
    components = map(component_of, members.keys["family"].to_pylist())
    works = [(by_model or {}).get(key) for key in zip(steps, components, strict=True)]
    return Needed(
        np.array([np.nan if work is None else work.flop for work in works], dtype=np.float64),
        np.array([np.nan if work is None else work.bytes for work in works], dtype=np.float64),
        np.array([-1 if work is None else SOURCES.index("model") for work in works], dtype=np.int8),
    )
