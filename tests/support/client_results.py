"""Results as the clients of vLLM and SGLang write them, made up, and the way to read them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from nsightlens.serving.part import Format, Part

__all__ = ["details", "keys_of_notes", "read", "sglang_result", "vllm_result", "write"]


def vllm_result(**changes: Any) -> dict[str, Any]:
    """Return the object of a run of 100 requests in 50 s; a change to ``...`` removes a key."""
    result: dict[str, Any] = {
        "date": "20250801-101112",
        "backend": "vllm",
        "endpoint_type": "vllm",
        "label": None,
        "model_id": "acme/Small-1B",
        "tokenizer_id": "acme/Small-1B",
        "num_prompts": 100,
        "request_rate": "inf",
        "burstiness": 1.0,
        "max_concurrency": 8,
        "duration": 50.0,
        "completed": 100,
        "total_input_tokens": 20000,
        "total_output_tokens": 10000,
        "request_throughput": 2.0,
        "request_goodput": None,
        "output_throughput": 200.0,
        "total_token_throughput": 600.0,
    }
    for name, mean in (("ttft", 50.0), ("tpot", 30.0), ("itl", 31.0)):
        result |= {
            f"mean_{name}_ms": mean,
            f"median_{name}_ms": mean - 1,
            f"std_{name}_ms": 2.0,
            f"p99_{name}_ms": mean + 20,
        }
    return _changed(result, changes)


def sglang_result(**changes: Any) -> dict[str, Any]:
    """Return the object of a run of 100 requests in 50 s, as SGLang 0.4.6 writes it."""
    result: dict[str, Any] = {
        "backend": "sglang",
        "dataset_name": "random",
        "request_rate": float("inf"),
        "max_concurrency": 8,
        "sharegpt_output_len": None,
        "random_input_len": 200,
        "random_output_len": 100,
        "random_range_ratio": 1.0,
        "duration": 50.0,
        "completed": 100,
        "total_input_tokens": 20000,
        "total_output_tokens": 10000,
        "total_output_tokens_retokenized": 9990,
        "request_throughput": 2.0,
        "input_throughput": 400.0,
        "output_throughput": 200.0,
        "concurrency": 7.5,
        "accept_length": None,
    }
    for name, mean in (("ttft", 780.0), ("tpot", 30.0), ("itl", 30.0), ("e2e_latency", 3750.0)):
        result |= {
            f"mean_{name}_ms": mean,
            f"median_{name}_ms": mean - 1,
            f"std_{name}_ms": 2.0,
            f"p99_{name}_ms": mean + 20,
        }
    return _changed(result, changes)


def _changed(result: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = result | changes
    return {key: value for key, value in merged.items() if value is not ...}


def details() -> dict[str, Any]:
    """Return the details of four requests [s]: the third got no token, the fourth failed."""
    return {
        "input_lens": [10, 10, 10, 10],
        "output_lens": [3, 5, 0, 0],
        "ttfts": [0.1, 0.3, 0.0, 0.0],
        "itls": [[0.02, 0.04], [0.01, 0.01, 0.02, 0.04], [], []],
        "errors": ["", "", "", "Traceback:\nConnectionError: refused"],
    }


def write(path: Path, *objects: Any, indent: int | None = None) -> Path:
    """Write objects one after another, each on its line or lines, and return the path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "\n".join(json.dumps(one, indent=indent) for one in objects)
    path.write_text(text + "\n", encoding="utf-8")
    return path


def read(formats: Sequence[Format], path: Path) -> list[Part]:
    """Read a file by the first format that claims it; one does."""
    file = OpenedFile(path, path.name)
    return next(one for one in formats if one.claims(file)).read(file)


def keys_of_notes(part: Part) -> list[str]:
    """Return the keys of a part's notes."""
    return [note.key for note in part.notes]
