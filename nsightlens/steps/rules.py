"""What a user says of the steps where the NVTX ranges of a report do not: `StepRules`."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["NO_STEP_RULES", "StepRules"]


class StepRules(NamedTuple):
    """Where the batch size of a launch comes from, where no label says it.

    Parameters
    ----------
    batch_from
        Regular expressions with named groups, to be found in the NVTX path, the name of the report
        file or the command line of the process, in this order; the first that matches counts.
    batch_size
        Sequences of every step of which nothing else says them.
    """

    batch_from: tuple[str, ...] = ()
    batch_size: int | None = None


NO_STEP_RULES = StepRules()
