"""What a person must know of the steps of a report: no batch size found, launches left out.

`step_notes` says it of one report. For many reports that are read one by one, add up their
`StepCounts` and say it once.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from nsightlens.steps.annotation import annotate_launches
from nsightlens.steps.rules import NO_STEP_RULES

if TYPE_CHECKING:
    from nsightlens.report import Report
    from nsightlens.steps.rules import StepRules

__all__ = ["SWITCHES", "StepCounts", "notes_of", "step_counts", "step_notes"]

SWITCHES = {
    "vLLM": "vLLM writes it with --profiler-config.profiler cuda (0.13 on)",
    "SGLang": "SGLang's step labels reach NVTX only inside torch.autograd.profiler.emit_nvtx()",
    "TensorRT-LLM": "TensorRT-LLM's PyTorch backend always writes it, in the domain TensorRT-LLM",
    "ATOM": "ATOM's step labels reach NVTX only inside torch.autograd.profiler.emit_nvtx()",
    "MLC-LLM": "MLC-LLM writes it where TVM is built with NVTX",
    "Megatron-Core": "Megatron-Core's step labels hold no numbers",
    "LMDeploy": "LMDeploy's step labels hold no numbers",
    "vLLMBatchingMemoryGap": "PrefillStep and DecodeStep hold no batch size",
}
"""How an engine comes to write a batch size into its step labels, as far as it can."""

_WORDS = {
    "vLLM": "vllm",
    "SGLang": "sglang|sgl_kernel",
    "TensorRT-LLM": "tensorrt_llm|trtllm-(?:serve|bench)",
    "ATOM": r"\batom\.entrypoints\b",
    "MLC-LLM": "mlc_llm",
    "Megatron-Core": "megatron",
    "LMDeploy": "lmdeploy",
}
_UNSERVED = {
    "capture": "under the capture of a CUDA graph",
    "dummy": "in dummy passes",
    "draft": "in passes of a draft model",
    "idle": "in idle steps",
    "initialization": "in warm-up steps of an initialization",
}


@dataclass(frozen=True, slots=True)
class StepCounts:
    """How many launches there are of each kind; those of several reports add up.

    Parameters
    ----------
    launches
        All of them.
    in_ranges
        In any NVTX range.
    without_batch
        Of served steps or of none, without a batch size.
    unserved
        By why they belong to no served step.
    conflicts
        By the engines whose labels contradict each other.
    engines
        That left a trace in labels, names or command lines.
    """

    launches: int = 0
    in_ranges: int = 0
    without_batch: int = 0
    unserved: Counter[str] = field(default_factory=Counter)
    conflicts: Counter[str] = field(default_factory=Counter)
    engines: frozenset[str] = frozenset()

    def plus(self, other: StepCounts) -> StepCounts:
        """Return the counts of both.

        Examples
        --------
        >>> StepCounts(launches=2).plus(StepCounts(launches=3)).launches
        5
        """
        return StepCounts(
            self.launches + other.launches,
            self.in_ranges + other.in_ranges,
            self.without_batch + other.without_batch,
            self.unserved + other.unserved,
            self.conflicts + other.conflicts,
            self.engines | other.engines,
        )


def step_notes(report: Report, rules: StepRules = NO_STEP_RULES) -> list[str]:
    """Say what a person must know of the steps of a report, one sentence each.

    Parameters
    ----------
    report
        The report.
    rules
        What the user says of the steps.

    Returns
    -------
    list of str
        Nothing where every launch has a batch size and all of them count.
    """
    return notes_of(step_counts(report, rules))


def step_counts(report: Report, rules: StepRules = NO_STEP_RULES) -> StepCounts:
    """Count the launches of a report by what is known of their steps."""
    steps = annotate_launches(report, rules)
    is_served = pc.is_null(steps["unserved"])
    lacks = pc.and_(is_served, pc.is_null(steps["batch_size"]))
    return StepCounts(
        len(report),
        len(report) - report.launches["nvtx_path"].null_count,
        int(pc.sum(lacks).as_py() or 0),
        _counted(steps["unserved"]),
        _counted(steps["conflict"]),
        _engines(report, steps.filter(lacks)) if len(report) else frozenset(),
    )


def notes_of(counts: StepCounts) -> list[str]:
    """Say what counts mean, one sentence each.

    Examples
    --------
    >>> notes_of(StepCounts(launches=3, in_ranges=3, unserved=Counter(draft=2)))
    ['2 of 3 launches are in passes of a draft model: left out of every batch size.']
    """
    notes = [_lacking(counts)] if counts.without_batch else []
    for why, text in _UNSERVED.items():
        if counts.unserved[why]:
            number = _share(counts.unserved[why], counts.launches)
            notes.append(f"{number} {text}: left out of every batch size.")
    for engines, count in sorted(counts.conflicts.items()):
        first, *rest = engines.split("+")
        number = _share(count, counts.launches)
        notes.append(
            f"{number} in steps that {' and '.join([first, *rest])} name differently: "
            f"{first}'s label counts."
        )
    return notes


def _lacking(counts: StepCounts) -> str:
    if counts.without_batch == counts.launches:
        what = "no launch has a batch size"
        cause = "" if counts.in_ranges else ", and none is in an NVTX range (ncu --nvtx)"
    else:
        what = f"{counts.without_batch} of {counts.launches} launches have no batch size"
        cause = ""
    switches = [text for engine, text in SWITCHES.items() if engine in counts.engines]
    known = "".join(f" {text}." for text in switches)
    return f"{what}{cause}.{known} --batch-from or --batch-size says it (docs/steps.md)."


def _share(count: int, launches: int) -> str:
    return f"{count} of {launches} launches {'is' if count == 1 else 'are'}"


def _counted(column: Any) -> Counter[str]:
    return Counter(
        {one["values"]: one["counts"] for one in pc.value_counts(column.drop_null()).to_pylist()}
    )


def _engines(report: Report, lacking: pa.Table) -> frozenset[str]:
    """Return the engines that left a trace in a report: labels, names of kernels, command lines."""
    labelled = set(pc.unique(lacking["step_engine"]).to_pylist())
    texts = [
        text
        for table, name in (
            (report.launches, "kernel_demangled_name"),
            (report.launches, "process_name"),
            (report.sessions, "command_line"),
        )
        for text in pc.unique(table[name]).to_pylist()
        if text
    ]
    named = {
        engine
        for engine, words in _WORDS.items()
        if any(re.search(words, text, re.IGNORECASE) for text in texts)
    }
    return frozenset((labelled & set(SWITCHES)) | named)
