"""`step_work`: what every operation of a decode or prefill step needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from nsightlens.models.attention import attention_operations
from nsightlens.models.checks import check_above_zero, check_counts
from nsightlens.models.mlp import mlp_operations
from nsightlens.models.operation import OperationWork, Step, linear
from nsightlens.models.streaming import norm_work

if TYPE_CHECKING:
    from nsightlens.models.config import ModelConfig

__all__ = ["Phase", "check_phase", "phase_of", "step_work"]

Phase = Literal["decode", "prefill"]
_PHASES = ("decode", "prefill")


def phase_of(context_length: int, query_length: int) -> Phase:
    """Return what a step is: a prefill where the queries are the whole context, else a decode.

    Parameters
    ----------
    context_length, query_length
        [token] Keys and queries of a sequence.
    """
    return "prefill" if query_length == context_length > 1 else "decode"


def check_phase(phase: str | None) -> None:
    """Refuse what is no phase.

    Raises
    ------
    ValueError
        With those that there are.
    """
    if phase not in (None, *_PHASES):
        raise ValueError(f"phase must be one of {', '.join(_PHASES)}, not {phase!r}")


def step_work(
    model: ModelConfig,
    *,
    batch_size: int,
    context_length: int,
    query_length: int = 1,
    phase: Phase | None = None,
    weight_bytes: float = 2.0,
    kv_bytes: float = 2.0,
    activation_bytes: float = 2.0,
) -> list[OperationWork]:
    """Return the operations of a step with the work and the bytes that their shapes need.

    Parameters
    ----------
    model
        Its sizes; see `nsightlens.models.read_model`.
    batch_size
        Sequences.
    context_length
        [token] Keys that the last token of each sequence sees, its own included.
    query_length
        [token] Query tokens of each sequence: 1 for decode, more for speculative decoding, the
        whole context for a prefill.
    phase
        ``None``: see `phase_of`. A part of a prompt (a chunk) is a ``prefill``.
    weight_bytes
        [B] Per element of the weights of linear layers. Embeddings, norms, biases, routers and the
        last product take as many, but no fewer than ``activation_bytes``.
    kv_bytes
        [B] Per element of the KV cache.
    activation_bytes
        [B] Per element of everything else.

    Returns
    -------
    list of OperationWork
        In the order of a forward pass, each summed over its layers. Every byte is counted once:
        what caches spare or a kernel reads twice is not in it. Additions of residuals are part of
        norms. Communication between GPUs is left out.

    Raises
    ------
    ValueError
        A number is not above zero, ``phase`` is not known, or there are more queries than keys.

    Notes
    -----
    Attention: 4 s_q h_q S d FLOP and 2 h_kv S d b_kv bytes per sequence and layer; linear layers: 2
    M K N FLOP and b_w K N + b_a M (K + N) bytes (Mind the Memory Gap, arXiv 2503.08311). Experts:
    see `nsightlens.models.mlp.expected_expert_count`.

    Examples
    --------
    >>> from nsightlens.models import read_model
    >>> works = step_work(read_model("opt-1.3b"), batch_size=32, context_length=500)
    >>> attention = next(one for one in works if one.operation == "attention")
    >>> round(attention.flop / attention.bytes, 3)
    0.998
    """
    check_counts(batch_size=batch_size, context_length=context_length, query_length=query_length)
    check_above_zero(
        weight_bytes=weight_bytes, kv_bytes=kv_bytes, activation_bytes=activation_bytes
    )
    if query_length > context_length:
        raise ValueError(
            f"context_length {context_length} counts the {query_length} query tokens too: it "
            "cannot be less"
        )
    check_phase(phase)
    chosen = phase or phase_of(context_length, query_length)
    step = Step(
        batch_size,
        context_length,
        query_length,
        chosen == "prefill",
        weight_bytes,
        kv_bytes,
        activation_bytes,
    )
    layers, hidden = model.layer_count, model.hidden_size
    # A layer has as many norms that add the residual as it has parts; four: their outputs too.
    norms = [norm_work(f"{name}_norm", model, step, hidden, layer_count=layers, adds_residual=True)
             for name in ("attention", "mlp")]  # fmt: skip
    after = [norm_work(f"{name}_output_norm", model, step, hidden, layer_count=layers)
             for name in ("attention", "mlp") if model.norms_per_layer > len(norms)]  # fmt: skip
    return [
        *_entrance(model, step),
        norms[0],
        *attention_operations(model, step),
        *after[:1],
        norms[1],
        *mlp_operations(model, step),
        *after[1:],
        *_exit(model, step),
    ]


def _entrance(model: ModelConfig, step: Step) -> list[OperationWork]:
    """Return the look-up of embeddings and positions, and the product that widens them."""
    width = model.embedding_size or model.hidden_size
    tables = width + (model.hidden_size if model.position_count else 0)
    rows = float(step.token_count)
    read = rows * tables * step.unquantised_bytes
    lookup = OperationWork(
        "embedding",
        "embedding",
        "",
        1,
        0.0,
        read,
        rows * width * step.activation_bytes,
        is_per_layer=False,
        weight_bytes=read,
    )
    if width == model.hidden_size:
        return [lookup]
    return [lookup, linear("project_in", step, (width, model.hidden_size), is_per_layer=False)]


def _exit(model: ModelConfig, step: Step) -> list[OperationWork]:
    """Return the last norm, the product with the vocabulary and the choice of a token."""
    rows = step.predicted_count
    width = model.embedding_size or model.hidden_size
    found = []
    if model.has_final_norm:
        found.append(
            norm_work(
                "final_norm",
                model,
                step,
                model.hidden_size,
                layer_count=1,
                adds_residual=True,
                is_per_layer=False,
            )
        )
    if width != model.hidden_size:
        sizes = (model.hidden_size, width)
        found.append(linear("project_out", step, sizes, row_count=rows, is_per_layer=False))
    head = linear(
        "lm_head",
        step,
        (width, model.vocab_size),
        row_count=rows,
        is_quantised=False,
        is_per_layer=False,
    )
    logits = float(rows * model.vocab_size)
    sampling = OperationWork(
        "sampling",
        "softmax_sampling",
        "sampling",
        1,
        # A comparison is no FLOP; exponential and sum of a softmax.
        2.0 * logits,
        logits * step.activation_bytes,
        rows * 8.0,
        is_per_layer=False,
    )
    return [*found, head, sampling]
