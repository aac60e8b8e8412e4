"""What an operation of a step costs: operations and bytes that its shape needs, nothing more."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["OperationWork", "Step", "linear"]


class OperationWork(NamedTuple):
    """One operation of a step, over all layers that have it.

    Parameters
    ----------
    operation
        Its name, such as ``qkv_proj``.
    family, subtype
        As those of kernels, see `nsightlens.kernels`; ``subtype`` may be empty.
    launches_per_step
        How often it is done: once for every layer that has it.
    flop
        [FLOP] Operations; a multiply-add is two.
    read_bytes
        [B] Bytes that must be read, each once.
    written_bytes
        [B] Bytes that must be written, each once.
    is_per_layer
        It belongs to layers: one launch does ``1 / launches_per_step`` of the work.
    weight_bytes
        [B] Of ``read_bytes`` those of weights.
    kv_cache_bytes
        [B] Of ``read_bytes`` those of keys and values.
    is_quantised
        Its weights are stored as those of linear layers are, in fewer bits where these are.
    """

    operation: str
    family: str
    subtype: str
    launches_per_step: int
    flop: float
    read_bytes: float
    written_bytes: float
    is_per_layer: bool = True
    weight_bytes: float = 0.0
    kv_cache_bytes: float = 0.0
    is_quantised: bool = False

    @property
    def bytes(self) -> float:
        """[B] Bytes read and written."""
        return self.read_bytes + self.written_bytes


class Step(NamedTuple):
    """What a step is made of, as `nsightlens.models.step_work` takes it.

    Parameters
    ----------
    batch_size
        Sequences.
    context_length
        [token] Keys of a sequence, those of its query tokens included.
    query_length
        [token] Query tokens of a sequence.
    is_prefill
        Keys and values are made from the prompt, and one token per sequence is predicted.
    weight_bytes, kv_bytes, activation_bytes
        [B] Per element of the weights of linear layers, of the KV cache, of everything else.
    """

    batch_size: int
    context_length: int
    query_length: int
    is_prefill: bool
    weight_bytes: float
    kv_bytes: float
    activation_bytes: float

    @property
    def token_count(self) -> int:
        """Query tokens of all sequences: rows of every matrix product."""
        return self.batch_size * self.query_length

    @property
    def predicted_count(self) -> int:
        """Rows of the last product: one per sequence of a prefill, every token of a decode."""
        return self.batch_size if self.is_prefill else self.token_count

    @property
    def unquantised_bytes(self) -> float:
        """[B] Per element of embeddings, norms, biases, routers and of the last product.

        Checkpoints whose linear layers are stored in 8 or 4 bit keep these in 16.
        """
        return max(self.weight_bytes, self.activation_bytes)


def linear(
    operation: str,
    step: Step,
    sizes: tuple[int, int],
    *,
    layer_count: int = 1,
    has_bias: bool = False,
    row_count: int | None = None,
    is_quantised: bool = True,
    is_per_layer: bool = True,
    subtype: str = "dense",
) -> OperationWork:
    """Return the work of a linear layer.

    FLOPs = 2 M K N and bytes = b_w K N + b_a M (K + N), with M rows, so that the intensity is about
    2 M / b_w as long as the weights are most of the bytes (Mind the Memory Gap, arXiv 2503.08311).

    Parameters
    ----------
    operation
        Its name.
    step
        The step.
    sizes
        Elements that go in (K) and that come out (N) of each row.
    layer_count
        Layers that have it.
    has_bias
        It adds one.
    row_count
        Rows; ``None`` for the query tokens of the step.
    is_quantised
        Its weights are stored as those of linear layers are.
    is_per_layer, subtype
        As in `OperationWork`.

    Examples
    --------
    >>> step = Step(4, 100, 1, False, 2.0, 2.0, 2.0)
    >>> work = linear("o_proj", step, (4096, 4096))
    >>> work.flop, round(work.flop / work.bytes, 2)
    (134217728.0, 3.99)
    """
    inputs, outputs = sizes
    rows = step.token_count if row_count is None else row_count
    weights = inputs * outputs * (step.weight_bytes if is_quantised else step.unquantised_bytes)
    weights += outputs * step.unquantised_bytes if has_bias else 0.0
    return OperationWork(
        operation,
        "gemm",
        subtype,
        layer_count,
        layer_count * 2.0 * rows * inputs * outputs,
        layer_count * (weights + rows * inputs * step.activation_bytes),
        layer_count * rows * outputs * step.activation_bytes,
        is_per_layer=is_per_layer,
        weight_bytes=layer_count * weights,
        is_quantised=is_quantised,
    )
