r"""FLOPs and bytes of every operation of a step, with the formula of each.

Two rules hold for all of them:

- **bytes** are those that an operation must read and write at least: every tensor that goes in and
  every one that comes out, once. What it makes for itself on the way is not in it, nor what a cache
  spares or a kernel reads twice. Of a table of which rows are picked, those rows.
- **FLOPs** are those that the shapes need: a multiply-add is two, a comparison none, and pairs of
  query and key that are masked none.

Written as :math:`T` tokens of the step, :math:`B` sequences of :math:`q` query tokens and
:math:`S` keys, :math:`h` heads of queries and :math:`h_{kv}` of keys, of size :math:`d`;
:math:`b_w, b_a, b_{kv}` [B] per element of weights of linear layers, of activations and of the
cache; :math:`i = 8` [B] for a whole number that says where something is.

The formulas of products and of attention are those of "Mind the Memory Gap" (arXiv 2503.08311). No
PyTorch is needed here. The tests hold every number against PyTorch's own counter of FLOPs, against
the tensors that are read and written, and against `nsightlens.models.step_work`.
"""

from __future__ import annotations

from typing import NamedTuple

__all__ = [
    "FLOP_OF_RELU",
    "FLOP_OF_SILU",
    "INDEX_BYTES",
    "AttentionShape",
    "Sizes",
    "Work",
    "add",
    "attention",
    "attention_scores",
    "attention_softmax",
    "attention_values",
    "cache_write",
    "combine",
    "copy",
    "dispatch",
    "elementwise",
    "gather",
    "grouped",
    "layer_norm",
    "linear",
    "lookup",
    "per_head",
    "quantise",
    "rms_norm",
    "rope",
    "routing",
    "sampling",
    "scale_rows",
]

INDEX_BYTES = 8
"""[B] Of a whole number, as PyTorch keeps token ids, positions and places."""

FLOP_OF_SILU = 4
"""x / (1 + exp(-x)): exponential, sum, quotient, and the product with x."""
FLOP_OF_RELU = 1
_FLOP_OF_SOFTMAX = 4
"""Difference to the largest, exponential, sum, quotient."""
_FLOP_OF_ROPE = 3
"""Four products and two sums for a pair of elements."""
_FLOP_OF_RMS_NORM = 4
"""Square, sum, product with the root and with the weight."""
_FLOP_OF_LAYER_NORM = 7
"""Sum and difference of the mean, and the sum with the bias, too."""
_FLOP_OF_ROUTING = 5
"""Softmax, and the sum of those that are taken."""
_OFFSET_BYTES = 4
"""[B] Of the row at which the tokens of an expert end, as the grouped product takes it."""
_SCALES_BYTES = 8
"""[B] Two scales of FP32: one for the input of a product in FP8, one for its weights."""


class Work(NamedTuple):
    """What an operation needs.

    Parameters
    ----------
    name
        As in its NVTX range.
    family
        That of `nsightlens.models.OperationWork`, so that sums can be compared.
    flop
        [FLOP]
    read_bytes, written_bytes
        [B]
    """

    name: str
    family: str
    flop: int
    read_bytes: int
    written_bytes: int

    @property
    def bytes(self) -> int:
        """[B] Bytes read and written."""
        return self.read_bytes + self.written_bytes


class Sizes(NamedTuple):
    """Bytes per element.

    Parameters
    ----------
    weight
        [B] Of the weights of linear layers: 1 where they are multiplied in FP8.
    activation
        [B] Of activations, and of all other weights.
    cache
        [B] Of the KV cache.
    """

    weight: int
    activation: int
    cache: int

    @property
    def is_fp8(self) -> bool:
        """Linear layers multiply in FP8."""
        return self.weight == 1


def linear(
    name: str,
    rows: int,
    matrix: tuple[int, int],
    sizes: Sizes,
    *,
    has_bias: bool = False,
    is_plain: bool = False,
) -> Work:
    r"""Return the work of a linear layer.

    FLOPs :math:`= 2 M K N`; reads :math:`b_w K N + b_x M K` (and :math:`b_a N` with a bias), writes
    :math:`b_a M N`. In FP8 :math:`b_w = b_x = 1` and two scales of 4 B are read; else
    :math:`b_x = b_a`.

    Parameters
    ----------
    name
        Of the operation.
    rows
        M.
    matrix
        K and N: elements that go in and that come out of each row.
    sizes
        Bytes per element.
    has_bias
        It adds one.
    is_plain
        It is never multiplied in FP8, as routers and the last product.

    Examples
    --------
    >>> linear("o_proj", 4, (4096, 4096), Sizes(2, 2, 2)).flop
    134217728
    """
    inputs, outputs = matrix
    is_fp8 = sizes.is_fp8 and not is_plain
    weight = sizes.activation if is_plain else sizes.weight
    read = weight * inputs * outputs
    read += (1 if is_fp8 else sizes.activation) * rows * inputs
    read += _SCALES_BYTES if is_fp8 else 0
    read += sizes.activation * outputs if has_bias else 0
    return Work(name, "gemm", 2 * rows * inputs * outputs, read, sizes.activation * rows * outputs)


def quantise(name: str, elements: int, sizes: Sizes) -> Work:
    r"""Return the work of bringing the input of a product into FP8.

    :math:`n` FLOPs, reads :math:`b_a n`, writes :math:`n`.

    Examples
    --------
    >>> quantise("o_proj_quantise", 100, Sizes(1, 2, 2)).bytes
    300
    """
    return Work(name, "quantise", elements, sizes.activation * elements, elements)


def per_head(name: str, rows: int, heads: int, matrix: tuple[int, int], sizes: Sizes) -> Work:
    r"""Return the work of a product of every head with a matrix of its own.

    FLOPs :math:`= 2 h M K N`; reads :math:`h (b_w K N + b_a M K)`, writes :math:`b_a h M N`.

    Examples
    --------
    >>> per_head("absorb_key", 1, 16, (128, 512), Sizes(2, 2, 2)).flop
    2097152
    """
    one = linear(name, rows, matrix, sizes)
    return Work(name, "gemm", heads * one.flop, heads * one.read_bytes, heads * one.written_bytes)


def grouped(
    name: str,
    rows: int,
    experts: tuple[int, int],
    matrix: tuple[int, int],
    sizes: Sizes,
) -> Work:
    r"""Return the work of a product of every token with the matrix of its expert, in one launch.

    FLOPs :math:`= 2 M K N`; reads :math:`b_w E' K N + b_a M K + 4 E`, writes :math:`b_a M N`, with
    :math:`M` pairs of a token and an expert, and :math:`E'` of the :math:`E` experts to which any
    token goes: where the rows of each expert end takes 4 B.

    Parameters
    ----------
    name
        Of the operation.
    rows
        M.
    experts
        Those that any token goes to, and all: E' and E.
    matrix
        K and N.
    sizes
        Bytes per element.

    Examples
    --------
    >>> grouped("experts_down", 8, (3, 4), (32, 64), Sizes(2, 2, 2)).read_bytes
    12816
    """
    used, count = experts
    inputs, outputs = matrix
    read = sizes.weight * used * inputs * outputs + sizes.activation * rows * inputs
    read += _OFFSET_BYTES * count
    return Work(name, "gemm", 2 * rows * inputs * outputs, read, sizes.activation * rows * outputs)


def rms_norm(name: str, rows: int, width: int, sizes: Sizes, *, weights: int | None = None) -> Work:
    r"""Return the work of an RMS norm.

    :math:`4 M N` FLOPs, reads :math:`b_a (M N + N)`, writes :math:`b_a M N`.

    Parameters
    ----------
    name
        Of the operation.
    rows, width
        M and N.
    sizes
        Bytes per element.
    weights
        Number of weights, where heads share them; None for N.

    Examples
    --------
    >>> rms_norm("final_norm", 2, 64, Sizes(2, 2, 2)).bytes
    640
    """
    elements = rows * width
    read = sizes.activation * (elements + (width if weights is None else weights))
    return Work(name, "norm", _FLOP_OF_RMS_NORM * elements, read, sizes.activation * elements)


def layer_norm(name: str, rows: int, width: int, sizes: Sizes) -> Work:
    r"""Return the work of a LayerNorm.

    :math:`7 M N` FLOPs, reads :math:`b_a (M N + 2 N)`, writes :math:`b_a M N`.

    Examples
    --------
    >>> layer_norm("final_norm", 2, 64, Sizes(2, 2, 2)).bytes
    768
    """
    elements = rows * width
    read = sizes.activation * (elements + 2 * width)
    return Work(name, "norm", _FLOP_OF_LAYER_NORM * elements, read, sizes.activation * elements)


def elementwise(
    name: str,
    elements: int,
    sizes: Sizes,
    *,
    inputs: int = 1,
    flop_per_element: int = 0,
    family: str = "activation",
) -> Work:
    r"""Return the work of an operation on every element.

    Reads :math:`k b_a n`, writes :math:`b_a n`.

    Parameters
    ----------
    name
        Of the operation.
    elements
        n.
    sizes
        Bytes per element.
    inputs
        k.
    flop_per_element
        [FLOP]
    family
        As in `Work`.

    Examples
    --------
    >>> elementwise("gate_mul", 100, Sizes(2, 2, 2), inputs=2, flop_per_element=1).bytes
    600
    """
    read = inputs * sizes.activation * elements
    return Work(name, family, flop_per_element * elements, read, sizes.activation * elements)


def add(name: str, elements: int, sizes: Sizes, *, family: str = "norm") -> Work:
    r"""Return the work of a sum of two tensors.

    :math:`n` FLOPs, reads :math:`2 b_a n`, writes :math:`b_a n`. Additions of residuals are of
    the family of norms, as for `nsightlens.models.step_work`.

    Examples
    --------
    >>> add("mlp_residual", 100, Sizes(2, 2, 2)).bytes
    600
    """
    return elementwise(name, elements, sizes, inputs=2, flop_per_element=1, family=family)


def scale_rows(name: str, rows: int, width: int, sizes: Sizes, *, family: str) -> Work:
    r"""Return the work of rows times the sigmoid of a number each.

    :math:`M N + 3 M` FLOPs, reads :math:`b_a (M N + M)`, writes :math:`b_a M N`.

    Examples
    --------
    >>> scale_rows("shared_scale", 2, 64, Sizes(2, 2, 2), family="activation").read_bytes
    260
    """
    elements = rows * width
    read = sizes.activation * (elements + rows)
    return Work(name, family, elements + 3 * rows, read, sizes.activation * elements)


def copy(name: str, elements: int, sizes: Sizes) -> Work:
    r"""Return the work of bringing elements into another order.

    :math:`b_a n` read and written.

    Examples
    --------
    >>> copy("head_merge", 100, Sizes(2, 2, 2)).bytes
    400
    """
    return elementwise(name, elements, sizes, family="copy")


def lookup(name: str, rows: int, width: int, sizes: Sizes) -> Work:
    r"""Return the work of picking rows of a table.

    Reads :math:`b_a M N + i M`, writes :math:`b_a M N`.

    Examples
    --------
    >>> lookup("embedding", 2, 64, Sizes(2, 2, 2)).read_bytes
    272
    """
    moved = sizes.activation * rows * width
    return Work(name, "embedding", 0, moved + INDEX_BYTES * rows, moved)


def rope(name: str, rows: int, width: int, angles: int, sizes: Sizes) -> Work:
    r"""Return the work of rotary positions.

    :math:`3 M N` FLOPs, reads :math:`b_a (M N + 2 A)`, writes :math:`b_a M N`.

    Parameters
    ----------
    name
        Of the operation.
    rows, width
        M and N: elements of all heads.
    angles
        A: sines, and as many cosines. All sequences share them, for their contexts are equal.
    sizes
        Bytes per element.

    Examples
    --------
    >>> rope("rope_query", 8, 64, 16, Sizes(2, 2, 2)).read_bytes
    1088
    """
    elements = rows * width
    read = sizes.activation * (elements + 2 * angles)
    return Work(name, "rope", _FLOP_OF_ROPE * elements, read, sizes.activation * elements)


def cache_write(name: str, rows: int, width: int, sizes: Sizes, *, is_paged: bool) -> Work:
    r"""Return the work of keeping new keys or values.

    Reads :math:`b_a M N`, and with blocks the place of every token, :math:`i M`; writes
    :math:`b_{kv} M N`.

    Examples
    --------
    >>> cache_write("key_cache_write", 2, 64, Sizes(2, 2, 2), is_paged=True).bytes
    528
    """
    elements = rows * width
    read = sizes.activation * elements + (INDEX_BYTES * rows if is_paged else 0)
    return Work(name, "kv_cache", 0, read, sizes.cache * elements)


def gather(name: str, tokens: int, heads: int, width: int, sizes: Sizes) -> Work:
    r"""Return the work of bringing a paged cache into one piece.

    :math:`b_{kv} M h N` read and written, and :math:`i (M + h)` read: the place of every token, and
    the number of every head.

    Parameters
    ----------
    name
        Of the operation.
    tokens
        M: keys of all sequences that are seen.
    heads, width
        h and N.
    sizes
        Bytes per element.

    Examples
    --------
    >>> gather("key_gather", 100, 4, 64, Sizes(2, 2, 2)).written_bytes
    51200
    """
    moved = sizes.cache * tokens * heads * width
    return Work(name, "kv_cache", 0, moved + INDEX_BYTES * (tokens + heads), moved)


class AttentionShape(NamedTuple):
    """Attention of a layer over all sequences.

    Parameters
    ----------
    sequences, query_length, key_count
        B; q [token]; keys that any of the queries sees: S [token].
    pair_count
        Pairs of a query and a key that it sees, in one sequence and head: S for one query.
    heads, kv_heads
        Heads of queries, and of keys and values.
    key_dim, value_dim
        Elements of a key and of a value of one head.
    shares_values
        Values are the beginning of the keys, as those of latent attention.
    """

    sequences: int
    query_length: int
    key_count: int
    pair_count: int
    heads: int
    kv_heads: int
    key_dim: int
    value_dim: int
    shares_values: bool = False

    @property
    def score_count(self) -> int:
        """Pairs of a query and a key in all heads and sequences, masked ones too."""
        return self.sequences * self.heads * self.query_length * self.key_count

    @property
    def mask_count(self) -> int:
        """Elements of the mask; one query sees all that there is, and needs none."""
        return self.query_length * self.key_count if self.query_length > 1 else 0


def attention(name: str, shape: AttentionShape, sizes: Sizes) -> Work:
    r"""Return the work of attention in one piece.

    FLOPs :math:`= 2 B h P (d_k + d_v)` with :math:`P` pairs of a query and a key that it sees,
    :math:`4 B h S d` for one query; reads :math:`b_{kv} B h_{kv} S (d_k + d_v) + b_a B q h d_k`,
    writes :math:`b_a B q h d_v`. Where values are the beginning of keys they are read once.

    Parameters
    ----------
    name
        Of the operation.
    shape
        Sizes.
    sizes
        Bytes per element.

    Examples
    --------
    >>> shape = AttentionShape(1, 1, 500, 500, 32, 32, 64, 64)
    >>> work = attention("attention", shape, Sizes(2, 2, 2))
    >>> work.flop, round(work.flop / work.bytes, 3)
    (4096000, 0.998)
    """
    both = shape.key_dim if shape.shares_values else shape.key_dim + shape.value_dim
    kv = shape.sequences * shape.kv_heads * shape.key_count * both
    rows = shape.sequences * shape.query_length * shape.heads
    flop = 2 * shape.sequences * shape.heads * shape.pair_count * (shape.key_dim + shape.value_dim)
    read = sizes.cache * kv + sizes.activation * rows * shape.key_dim
    return Work(name, "attention", flop, read, sizes.activation * rows * shape.value_dim)


def attention_scores(shape: AttentionShape, sizes: Sizes) -> Work:
    r"""Return the work of the products of queries and keys.

    FLOPs :math:`= 2 B h P d_k`; reads :math:`b_{kv} B h_{kv} S d_k + b_a B q h d_k` and of several
    queries the mask, :math:`b_a q S`; writes :math:`b_a B h q S`.

    Examples
    --------
    >>> attention_scores(AttentionShape(1, 1, 500, 500, 32, 32, 64, 64), Sizes(2, 2, 2)).flop
    2048000
    """
    keys = shape.sequences * shape.kv_heads * shape.key_count * shape.key_dim
    query = shape.sequences * shape.query_length * shape.heads * shape.key_dim
    flop = 2 * shape.sequences * shape.heads * shape.pair_count * shape.key_dim
    read = sizes.cache * keys + sizes.activation * (query + shape.mask_count)
    return Work("attention_scores", "attention", flop, read, sizes.activation * shape.score_count)


def attention_softmax(shape: AttentionShape, sizes: Sizes) -> Work:
    r"""Return the work of the softmax.

    :math:`4 B h P` FLOPs, :math:`b_a B h q S` read and written.

    Examples
    --------
    >>> attention_softmax(AttentionShape(1, 1, 500, 500, 32, 32, 64, 64), Sizes(2, 2, 2)).bytes
    64000
    """
    moved = sizes.activation * shape.score_count
    flop = _FLOP_OF_SOFTMAX * shape.sequences * shape.heads * shape.pair_count
    return Work("attention_softmax", "attention", flop, moved, moved)


def attention_values(shape: AttentionShape, sizes: Sizes) -> Work:
    r"""Return the work of the sums of values.

    FLOPs :math:`= 2 B h P d_v`; reads :math:`b_{kv} B h_{kv} S d_v + b_a B h q S`, writes
    :math:`b_a B q h d_v`.

    Examples
    --------
    >>> attention_values(AttentionShape(1, 1, 500, 500, 32, 32, 64, 64), Sizes(2, 2, 2)).flop
    2048000
    """
    values = shape.sequences * shape.kv_heads * shape.key_count * shape.value_dim
    rows = shape.sequences * shape.query_length * shape.heads
    flop = 2 * shape.sequences * shape.heads * shape.pair_count * shape.value_dim
    read = sizes.cache * values + sizes.activation * shape.score_count
    return Work(
        "attention_values", "attention", flop, read, sizes.activation * rows * shape.value_dim
    )


def routing(tokens: int, experts: int, used: int, sizes: Sizes) -> Work:
    r"""Return the work of choosing experts.

    :math:`5 T E` FLOPs, reads :math:`b_a T E`, writes a weight and a number of each of the
    :math:`k` that are taken, :math:`(b_a + i) T k`.

    Examples
    --------
    >>> routing(4, 8, 2, Sizes(2, 2, 2)).bytes
    144
    """
    read = sizes.activation * tokens * experts
    written = (sizes.activation + INDEX_BYTES) * tokens * used
    return Work("routing", "moe_routing", _FLOP_OF_ROUTING * tokens * experts, read, written)


def dispatch(tokens: int, used: int, hidden: int, sizes: Sizes, *, ends: int = 0) -> Work:
    r"""Return the work of bringing tokens into the order of their experts.

    Reads :math:`b_a T H + i T k`; writes :math:`b_a T k H`, the order, :math:`i T k`, and for a
    grouped product where the rows of each expert end, :math:`4 E`.

    Parameters
    ----------
    tokens, used, hidden
        T, k and H.
    sizes
        Bytes per element.
    ends
        E, for a grouped product.

    Examples
    --------
    >>> dispatch(4, 2, 64, Sizes(2, 2, 2)).bytes
    1664
    """
    pairs = tokens * used
    read = sizes.activation * tokens * hidden + INDEX_BYTES * pairs
    written = sizes.activation * pairs * hidden + INDEX_BYTES * pairs + _OFFSET_BYTES * ends
    return Work("dispatch", "moe_routing", 0, read, written)


def combine(tokens: int, used: int, hidden: int, sizes: Sizes) -> Work:
    r"""Return the work of the weighted sum of the outputs of a token's experts.

    :math:`2 T k H` FLOPs; reads :math:`b_a T k (H + 1)` and the order, :math:`i T k`; writes
    :math:`b_a T H`.

    Examples
    --------
    >>> combine(4, 2, 64, Sizes(2, 2, 2)).flop
    1024
    """
    pairs = tokens * used
    read = sizes.activation * pairs * (hidden + 1) + INDEX_BYTES * pairs
    return Work(
        "combine", "moe_routing", 2 * pairs * hidden, read, sizes.activation * tokens * hidden
    )


def sampling(rows: int, vocabulary: int, sizes: Sizes) -> Work:
    r"""Return the work of taking the most likely token.

    Reads :math:`b_a M V`, writes :math:`i M`. A comparison is no FLOP.

    Examples
    --------
    >>> sampling(2, 512, Sizes(2, 2, 2)).bytes
    2064
    """
    return Work("sampling", "softmax_sampling", 0, sizes.activation * rows * vocabulary,
                INDEX_BYTES * rows)  # fmt: skip
