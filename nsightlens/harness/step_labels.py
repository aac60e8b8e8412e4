"""Labels of ``torch.profiler.record_function`` made visible to ncu and nsys.

PyTorch keeps these labels for its own profiler: neither ncu nor nsys sees them. Serving engines
label their steps with them. `step_label_environment` lets the target, and every Python process that
it starts, open an NVTX range of the same name for each, by a ``sitecustomize`` in front of its
PYTHONPATH (the folder ``hook`` beside this module).
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["HOOK", "step_label_environment"]

HOOK = Path(__file__).with_name("hook")
"""Folder in front of the target's PYTHONPATH."""


def step_label_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that make the labels of a target visible.

    Parameters
    ----------
    environment
        The environment of the target without them.

    Returns
    -------
    dict
        To be set beside it. A ``sitecustomize`` that the target has is run as before.

    Examples
    --------
    >>> path = step_label_environment({"PYTHONPATH": "mine"})["PYTHONPATH"]
    >>> path.split(os.pathsep)[1:]
    ['mine']
    """
    before = environment.get("PYTHONPATH", "")
    # An empty entry is the folder that the target starts in, and stays; of an empty variable there
    # is none.
    others = [one for one in before.split(os.pathsep) if one != str(HOOK)] if before else []
    return {"PYTHONPATH": os.pathsep.join([str(HOOK), *others])}
