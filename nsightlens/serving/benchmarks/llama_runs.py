"""A row of llama.cpp's benchmarks -> the part of a run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.collected import Collected, number_of
from nsightlens.serving.benchmarks.named import model_name, workload_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsightlens.serving.part import Part

__all__ = ["batched_run", "note_warm_up", "single_run"]

_QUANTIZATION = re.compile(
    r"\b(MXFP4|NVFP4|(?:IQ|TQ|Q)\d_\w+|Q\d(?=$)|BF16|F16|FP16|F32)\b(?:\s*-.*)?", re.IGNORECASE
)
_COLD = 0.7
"""[B] A first prompt that is processed at less than this share of the next one's rate was cold:
gpt-oss-20b begins with 1312 and goes on with 3754 tokens per second."""
_WARM_UP = "?warm_up"


def note_warm_up(rows: Sequence[dict[str, Any]]) -> None:
    """Mark the first row of each model whose prompt was processed while the device warmed up."""
    for index, row in enumerate(rows[:-1]):
        if index and rows[index - 1].get("model") == row.get("model"):
            continue
        after = rows[index + 1]
        first, second = number_of(row.get("speed_pp")), number_of(after.get("speed_pp"))
        if first and second and row.get("pp") == after.get("pp") and first < _COLD * second:
            row[_WARM_UP] = True


def batched_run(path: str, place: str, row: dict[str, Any]) -> Part:
    """Return the run of a row of ``llama-batched-bench``.

    Raises
    ------
    ServingFileError
        It generated no tokens.
    """
    run = Collected(path, "llama-batched-bench", place, place)
    batch = run.count("static_batch_size", row.get("pl"), where=f"{place}, B")
    tokens, seconds = number_of(row.get("tg")), number_of(row.get("t_tg"))
    if not tokens or not seconds or not batch or tokens < 0 or seconds < 0:
        raise ServingFileError(
            path,
            "says nothing of the generation of tokens",
            "Run llama-batched-bench with -ntg above zero.",
            where=[place] if place else (),
        )
    words = "T_TG over TG: all sequences make a token in each step"
    run.real("mean_itl_ms", 1e3 * seconds / tokens, derived=words)
    run.real("decode_tok_per_s", row.get("speed_tg"), where=f"{place}, S_TG")
    run.real("total_tok_per_s", row.get("speed"), where=f"{place}, S")
    whole = run.real("duration_s", row.get("t"), where=f"{place}, T")
    if whole:
        run.real("output_tok_per_s", batch * tokens / whole, derived="B times TG over T")
        run.real("requests_per_s", batch / whole, derived="B over T")
    run.count("prompt_count", batch, derived="B")
    run.count("completed_count", batch, derived="B")
    run.real("mean_input_tokens", row.get("pp"))
    run.real("mean_output_tokens", tokens)
    is_shared = bool(number_of(row.get("is_pp_shared")))
    workload = workload_of(number_of(row.get("pp")), tokens)
    run.text("workload", f"{workload}_shared" if workload and is_shared else workload)
    run.text("engine", "llama.cpp")
    _names(run, row.get("model"))
    if row.get(_WARM_UP):
        run.note(
            "warm_up_in_run",
            f"{place}: the prompt of the first row was processed while the device warmed up: its "
            "time between tokens holds, its throughput over all is too low.",
        )
    return run.part()


def single_run(path: str, place: str, row: dict[str, Any]) -> Part:
    """Return the run of a row of ``llama-bench``: one sequence.

    Raises
    ------
    ServingFileError
        It is of a prompt, or of prompt and generation together: no time between tokens follows.
    """
    prompt, tokens = number_of(row.get("n_prompt")), number_of(row.get("n_gen"))
    if not tokens or prompt:
        raise ServingFileError(
            path,
            "is a test with a prompt, from which no time between tokens follows",
            "Run llama-bench with -p 0 -n 128, or llama-batched-bench for batches.",
            where=[place] if place else (),
        )
    run = Collected(path, "llama-bench", place, place)
    run.count("static_batch_size", 1, derived="llama-bench runs one sequence")
    rate = run.real("decode_tok_per_s", row.get("avg_ts"), where=f"{place}, avg_ts")
    if rate:
        run.real("mean_itl_ms", 1e3 / rate, derived="one over tokens per second of one sequence")
        run.real("output_tok_per_s", rate, derived="generation alone, without a prompt")
    run.real("mean_output_tokens", tokens)
    depth = number_of(row.get("n_depth")) or 0.0
    run.text("workload", workload_of(depth, tokens))
    run.text("engine", "llama.cpp")
    if number_of(row.get("build_number")) is not None:
        run.text("engine_version", f"b{number_of(row['build_number']):.0f}")
    run.text("device_name", row.get("gpu_info"))
    run.text("kv_cache_dtype", row.get("type_k"))
    file_name = model_name(row.get("model_filename"))
    _names(run, file_name or row.get("model_type"))
    found = _QUANTIZATION.search(str(row.get("model_type") or ""))
    run.text("quantization", found[1] if found else None)
    return run.part()


def _names(run: Collected, name: object) -> None:
    """Take a name such as ``gpt-oss-20b MXFP4`` apart into model and quantization."""
    if not isinstance(name, str):
        return
    found = _QUANTIZATION.search(name)
    if found and " " in name and name[: found.start()].strip():
        run.text("quantization", found[1])
        name = name[: found.start()]
    run.text("model", model_name(name))
