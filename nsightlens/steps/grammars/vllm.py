"""Step labels of vLLM, all generations; ROCm builds and open pull requests included.

The numbers are those of the scheduler: real requests and tokens, before padding to the size of a
CUDA graph, of one data-parallel rank.
"""

from __future__ import annotations

from nsightlens.steps.form import NUMBER as N
from nsightlens.steps.form import ByCounts, Form, Grammar

__all__ = ["GRAMMAR"]


def _side(name: str, count: str, query: str, kv: str) -> str:
    """Return the pattern of one half of the detailed label."""
    return (
        rf"{name}_(?P<{count}>{N})"
        rf"\(sq(?P<{query}>{N})sk(?P<{kv}>{N})sqsq(?P<{query}{query}>{N})sqsk(?P<{query}{kv}>{N})\)"
    )


GRAMMAR = Grammar(
    "vLLM",
    (
        # 0.17 on. Context: requests that are new or in a chunk of their prompt; generation: the
        # rest. In brackets the tokens, so that generation_1(8) is one request with 7 drafts.
        Form(
            rf"execute_context_(?P<C>{N})\((?P<CT>{N})\)_generation_(?P<G>{N})\((?P<GT>{N})\)",
            ByCounts("C", "G"),
            batch="C+G",
            query="CT+GT",
        ),
        # detailed_trace_annotation, 0.33 on. The first number is of tokens.
        Form(
            rf"execute_(?P<T>{N})_{_side('context', 'C', 'a', 'b')}"
            rf"_{_side('generation', 'G', 'e', 'f')}",
            ByCounts("C", "G"),
            batch="C+G",
            query="a+e",
            kv="b+f",
            holds=("T=a+e",),
        ),
        # 0.13. Cached requests are decoding, or few of them in a later chunk of their prompt: the
        # label does not tell, so that decode and mixed are what is likely.
        Form(r"execute_new_(?P<new>0+)_cached_0+", "idle", batch="new"),
        Form(rf"execute_new_(?P<new>{N})_cached_0+", "prefill", batch="new"),
        Form(rf"execute_new_0+_cached_(?P<cached>{N})", "decode", batch="cached"),
        Form(rf"execute_new_(?P<new>{N})_cached_(?P<cached>{N})", "mixed", batch="new+cached"),
        # Scopes of the V1 model runner: the only one that bounds a step.
        Form("gpu_model_runner: forward", "unknown"),
        Form("gpu_model_runner: draft", "draft"),
        # V0 with speculative decoding; without it V0 has no labels.
        Form(r"spec_decode_worker\._run_speculative_decoding_step", "decode"),
        Form(r"spec_decode_worker\._run_no_spec", "unknown"),
        # Stage labels of pull request 37095.
        Form("prefill_batch", "prefill"),
        Form("decode_batch", "decode"),
        Form("mixed_batch", "mixed"),
        Form("empty_batch", "idle"),
        # Graph capture: of so many padded tokens; in builds of AMD's, of a batch.
        Form(rf"capture_(?P<tokens>{N})_(?:FULL|PIECEWISE)", "capture", query="tokens"),
        Form(rf"capture_(?P<bs>{N})_(?:decode|prefill|mixed_prefill)", "capture", batch="bs"),
    ),
)
