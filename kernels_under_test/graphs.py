"""A step as a CUDA graph: recorded once, replayed as one launch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from kernels_under_test.ranges import without_ranges
from nsightlens import annotate

if TYPE_CHECKING:
    from collections.abc import Callable

    from kernels_under_test.decoder import Predicted
    from kernels_under_test.operations import StepShape

__all__ = ["captured"]


def captured(step: Callable[[], Predicted], shape: StepShape) -> Callable[[], Predicted]:
    """Record a step, and return what replays it.

    All that the step reads must stay where it is: tokens, places and cache are made before it. The
    recording is in a range of the phase ``capture``, in which no kernel runs; ranges of operations
    are in the recording alone, for a replay passes through none of them.

    Parameters
    ----------
    step
        Launches the kernels, and waits for nothing.
    shape
        What the step is made of.

    Returns
    -------
    callable
        Replays the step and returns what it predicted, in tensors that the next replay fills again.
    """
    # Libraries allocate at their first launches, which must not be in the recording: PyTorch's
    # rule is a stream of its own for them.
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with without_ranges(), torch.cuda.stream(stream):
        step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with (
        annotate.step("capture", shape.batch_size, shape.context_length, shape.query_length),
        torch.cuda.graph(graph),
    ):
        predicted = step()

    def replay() -> Predicted:
        graph.replay()
        return predicted

    return replay
