"""Tensor-core operation counters of every architecture, as data.

Architectures name the same work differently: by accumulator, by instruction, with structured
sparsity apart. A `TensorPath` says, for one column and some compute capabilities, which counters
add up to the work and which peaks are *dense*. `nsightlens.metrics.catalog` turns the paths into
formulas; the peaks are for whoever puts a roof over the work.

The counters count operations already (a multiply-add is two): nothing is multiplied.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "TENSOR_COLUMNS",
    "TENSOR_PATHS",
    "TensorInstruction",
    "TensorPath",
    "dense_peak_formula",
    "tensor_paths_of",
    "work_formulas",
]

PREFIX = "sm__ops_path_tensor_"
_AMPERE = ("8.0", "8.6", "8.7")
_TCGEN05_INT8 = ("10.0", "10.1", "11.0")
_DATACENTER_BLACKWELL = (*_TCGEN05_INT8, "10.3")
_GEFORCE_BLACKWELL = ("12.0", "12.1")


class TensorInstruction(NamedTuple):
    """One instruction family of a path that has counters and peaks of its own.

    ``has_sparsity`` says that each source is also split into ``_sparsity_off`` and
    ``_sparsity_on``; the peak of the former is the dense one.
    """

    name: str
    sources: tuple[str, ...]
    has_sparsity: bool

    @property
    def bases(self) -> tuple[str, ...]:
        """Metric names without ``.sum``, one per source."""
        return tuple(f"{PREFIX}op_{self.name}_{source}" for source in self.sources)

    @property
    def work_formulas(self) -> tuple[str, ...]:
        """Formulas for the operations that this instruction did, best first."""
        return _sums(self.bases, self.has_sparsity)

    @property
    def dense_peak_formula(self) -> str:
        """Formula for the dense peak of the instruction [op/cycle, SM clock, whole GPU]."""
        suffix = "_sparsity_off" if self.has_sparsity else ""
        return f"{self.bases[-1]}{suffix}.sum.peak_sustained"


class TensorPath(NamedTuple):
    """One kind of tensor work on some architectures.

    Parameters
    ----------
    column
        Column of ``launches`` that holds the work.
    compute_capabilities
        Architectures that have these counters.
    sources
        Counters that add up to all work of the path, without the common prefix and ``.sum``.
    has_sparsity
        Each source is also split into ``_sparsity_off`` and ``_sparsity_on``.
    instructions
        The same work split by instruction, where the architecture has more than one or where only
        the split tells the dense peak.
    is_total_peak_sparse
        The ``peak_sustained`` of a source is the sparse one, twice the dense.
    """

    column: str
    compute_capabilities: tuple[str, ...]
    sources: tuple[str, ...]
    has_sparsity: bool = False
    instructions: tuple[TensorInstruction, ...] = ()
    is_total_peak_sparse: bool = False

    @property
    def bases(self) -> tuple[str, ...]:
        """Metric names without ``.sum``, one per source."""
        return tuple(PREFIX + source for source in self.sources)

    @property
    def work_formulas(self) -> tuple[str, ...]:
        """Formulas for the work, best first: the totals, their sparsity pairs, the instructions."""
        formulas = [*_sums(self.bases, self.has_sparsity)]
        # A single instruction is not a formula: its counters are part of the work elsewhere.
        if len(self.instructions) > 1:
            split = tuple(base for one in self.instructions for base in one.bases)
            formulas += _sums(split, all(one.has_sparsity for one in self.instructions))
        return tuple(formulas)

    @property
    def minimal_metrics(self) -> tuple[str, ...]:
        """Metrics to ask for: the work, split by instruction where the peak depends on it."""
        has_split = len(self.instructions) > 1
        parts = [base for one in self.instructions for base in one.bases]
        return tuple(f"{base}.sum" for base in (parts if has_split else self.bases))


def _sums(bases: Iterable[str], has_sparsity: bool) -> tuple[str, ...]:
    bases = tuple(bases)
    whole = " + ".join(f"{base}.sum" for base in bases)
    if not has_sparsity:
        return (whole,)
    pairs = " + ".join(f"{base}_sparsity_{state}.sum" for base in bases for state in ("off", "on"))
    return (whole, pairs)


def _instruction(name: str, *sources: str, has_sparsity: bool = True) -> TensorInstruction:
    return TensorInstruction(name, sources, has_sparsity)


def _ampere(column: str, *sources: str, cc: tuple[str, ...] = (*_AMPERE, "8.9")) -> TensorPath:
    return TensorPath(column, cc, sources, has_sparsity=True)


def _hopper(column: str, source: str, *instructions: TensorInstruction) -> TensorPath:
    return TensorPath(
        column, ("9.0",), (source,), instructions=instructions, is_total_peak_sparse=True
    )


def _blackwell(
    column: str,
    *sources: str,
    tcgen05: str,
    warp: str,
    cc: tuple[str, ...] = _DATACENTER_BLACKWELL,
) -> tuple[TensorPath, ...]:
    """Build the paths of ``tcgen05`` beside ``mma.sync``, and of the latter where it is alone."""
    warp_only = _instruction(warp, *sources)
    others = (*(one for one in _DATACENTER_BLACKWELL if one not in cc), *_GEFORCE_BLACKWELL)
    both = (_instruction(tcgen05, *sources), warp_only)
    return (
        TensorPath(column, cc, sources, instructions=both),
        TensorPath(column, others, sources, instructions=(warp_only,)),
    )


_FP16 = "tensor_fp16_flop_count"
_FP8_APART = (
    "src_fp4_fp6_dst_fp16", "src_fp4_fp6_dst_fp32", "src_fp8_dst_fp16", "src_fp8_dst_fp32",
)  # fmt: skip
_FP16_BOTH = ("src_fp16_dst_fp16", "src_fp16_dst_fp32")

TENSOR_PATHS: tuple[TensorPath, ...] = (
    TensorPath(_FP16, ("7.0", "7.2"), _FP16_BOTH),
    # Turing counts every fp32 accumulate in one place; its hardware knows only fp16 operands.
    TensorPath(_FP16, ("7.5",), ("src_fp16_dst_fp16", "src_fp16_bf16_tf32_dst_fp32")),
    _ampere(_FP16, *_FP16_BOTH),
    _hopper(
        _FP16, "src_fp16", _instruction("hgmma", "src_fp16"), _instruction("hmma", *_FP16_BOTH)
    ),
    *_blackwell(_FP16, *_FP16_BOTH, tcgen05="utchmma", warp="hmma"),
    _ampere("tensor_bf16_flop_count", "src_bf16_dst_fp32"),
    _hopper(
        "tensor_bf16_flop_count",
        "src_bf16_dst_fp32",
        _instruction("hgmma", "src_bf16_dst_fp32"),
        _instruction("hmma", "src_bf16_dst_fp32"),
    ),
    *_blackwell("tensor_bf16_flop_count", "src_bf16_dst_fp32", tcgen05="utchmma", warp="hmma"),
    _ampere("tensor_tf32_flop_count", "src_tf32_dst_fp32"),
    _hopper(
        "tensor_tf32_flop_count",
        "src_tf32_dst_fp32",
        _instruction("hgmma", "src_tf32_dst_fp32"),
        _instruction("hmma", "src_tf32_dst_fp32"),
    ),
    *_blackwell("tensor_tf32_flop_count", "src_tf32_dst_fp32", tcgen05="utchmma", warp="hmma"),
    TensorPath(
        "tensor_fp64_flop_count",
        (*_AMPERE, "8.9", "9.0", *_DATACENTER_BLACKWELL, *_GEFORCE_BLACKWELL),
        ("src_fp64",),
    ),
    _ampere("tensor_fp8_flop_count", "src_fp8", cc=("8.9", "9.0")),
    TensorPath(
        "tensor_fp8_flop_count",
        _TCGEN05_INT8,
        ("src_fp4_fp6_fp8_dst_fp16", "src_fp4_fp6_fp8_dst_fp32"),
        instructions=(
            _instruction("utcqmma", "src_fp4_fp6_fp8_dst_fp16", "src_fp4_fp6_fp8_dst_fp32"),
        ),
    ),
    # B300 counts FP8 apart from FP6 and FP4, and only the instruction by sparsity.
    TensorPath(
        "tensor_fp8_flop_count",
        ("10.3",),
        _FP8_APART,
        instructions=(_instruction("utcqmma", *_FP8_APART),),
    ),
    TensorPath("tensor_fp8_flop_count", _GEFORCE_BLACKWELL, _FP8_APART, has_sparsity=True),
    TensorPath(
        "tensor_fp4_flop_count",
        _DATACENTER_BLACKWELL,
        ("src_fp4_dst_fp32",),
        instructions=(_instruction("utcomma", "src_fp4_dst_fp32"),),
    ),
    TensorPath(
        "tensor_fp4_flop_count", _GEFORCE_BLACKWELL, ("src_fp4_dst_fp32",), has_sparsity=True
    ),
    TensorPath("tensor_int8_op_count", ("7.2", "7.5"), ("src_int8",)),
    _ampere("tensor_int8_op_count", "src_int8"),
    _hopper(
        "tensor_int8_op_count",
        "src_int8",
        _instruction("igmma", "src_int8"),
        _instruction("imma", "src_int8"),
    ),
    *_blackwell(
        "tensor_int8_op_count", "src_int8", tcgen05="utcimma", warp="imma", cc=_TCGEN05_INT8
    ),
    TensorPath("tensor_int4_op_count", ("7.5",), ("src_int4",)),
    _ampere("tensor_int4_op_count", "src_int4"),
    TensorPath("tensor_int1_op_count", ("7.5", *_AMPERE, "8.9"), ("src_int1",)),
    TensorPath(
        "tensor_int1_op_count",
        ("9.0",),
        ("src_int1",),
        instructions=tuple(
            _instruction(name, "src_int1", has_sparsity=False) for name in ("bgmma", "bmma")
        ),
    ),
)
"""Every path, by column and architecture; at most one per pair of the two."""


TENSOR_COLUMNS = tuple(dict.fromkeys(path.column for path in TENSOR_PATHS))
"""Columns of ``launches`` that hold tensor work."""


def tensor_paths_of(compute_capability: str) -> tuple[TensorPath, ...]:
    """Return the tensor paths of one architecture, such as those of ``"9.0"``."""
    return tuple(path for path in TENSOR_PATHS if compute_capability in path.compute_capabilities)


def work_formulas(column: str) -> tuple[str, ...]:
    """Return the formulas that can fill a tensor column, over all architectures, best first.

    No report has the counters of two architectures in one launch, so that the first formula whose
    counters exist is the right one, and no work is counted twice.
    """
    formulas = (
        formula for path in TENSOR_PATHS if path.column == column for formula in path.work_formulas
    )
    return tuple(dict.fromkeys(formulas))


def dense_peak_formula(path: TensorPath) -> str | None:
    """Return the formula for the dense peak of a path when its instruction is not known.

    Returns
    -------
    str or None
        [op/cycle, SM clock, whole GPU] The peak of the fastest instruction. Half the total's peak
        where that is the sparse one. ``None`` where no metric is known to be the dense peak.
    """
    if path.has_sparsity:
        return f"{path.bases[-1]}_sparsity_off.sum.peak_sustained"
    if path.is_total_peak_sparse:
        return f"{path.bases[-1]}.sum.peak_sustained / 2"
    if path.instructions:
        return path.instructions[0].dense_peak_formula
    return f"{path.bases[-1]}.sum.peak_sustained"
