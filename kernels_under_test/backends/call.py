"""What an attention backend is, and what it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from kernels_under_test.cache import Cache
    from kernels_under_test.inputs import StepInputs
    from kernels_under_test.ranges import Ranges
    from nsightlens.models import ModelConfig

__all__ = ["AttentionCall", "Backend", "Setting"]


class Setting(NamedTuple):
    """Where a backend is to run, as it is asked before anything is made.

    Parameters
    ----------
    model
        Its sizes.
    device, dtype
        Of queries, keys and values.
    is_paged
        The cache consists of blocks.
    block_token_count
        [token] Of a block.
    prompt_token_count
        [token] Of a prefill that runs too; 0 for none.
    has_cuda_graphs
        Steps are recorded as a CUDA graph.
    expands_latent
        Latent attention makes keys and values of all heads anew in a decode step too.
    """

    model: ModelConfig
    device: Any
    dtype: Any
    is_paged: bool = False
    block_token_count: int = 16
    prompt_token_count: int = 0
    has_cuda_graphs: bool = False
    expands_latent: bool = False


@dataclass(frozen=True)
class AttentionCall:
    """Attention of one layer.

    Parameters
    ----------
    query
        Shape (sequences, queries, heads, key width).
    keys, values
        Those that any query sees, shape (sequences, heads, keys, width); values may be narrower.
        Of a backend that reads blocks, their pools: (blocks, tokens, heads, width).
    scale
        Of the products.
    mask
        Shape (queries, keys), what is added to the products; None for one query.
    window
        [token] What a query sees; None for all before it.
    inputs
        What the step starts from.
    table
        Blocks of every sequence, for a backend that reads them; else None.
    """

    query: Any
    keys: Any
    values: Any
    scale: float
    mask: Any
    window: int | None
    inputs: StepInputs
    table: Any = None


class Backend(Protocol):
    """One way to compute attention.

    `is_eager` says that it is two products and a softmax, each with a range of its own, and
    `reads_blocks` that it takes blocks as they are.
    """

    name: str
    is_eager: bool
    reads_blocks: bool

    def check(self, setting: Setting) -> None:
        """Refuse what this backend cannot do here: raises NotAvailableError."""

    def chosen(self) -> AbstractContextManager[None]:
        """Return what steps run in."""

    def prepare(self, model: ModelConfig, cache: Cache, inputs: StepInputs) -> None:
        """Make what a step needs of the host, before it."""

    def attend(self, call: AttentionCall, op: Ranges) -> Any:
        """Return the output, shape (tokens, heads times width of a value)."""
