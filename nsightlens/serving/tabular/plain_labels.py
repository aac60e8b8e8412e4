"""What tells runs of different work apart, put together from several columns of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from nsightlens.serving.tabular.plain_work import Filled
from nsightlens.serving.tabular.table_cells import texts_of
from nsightlens.serving.tabular.table_numbers import numbers_of

if TYPE_CHECKING:
    from nsightlens.serving.tabular.plain_names import Meaning
    from nsightlens.serving.tabular.plain_work import Work

__all__ = ["hint_engine", "put_workload"]

_ATTENTION = (
    "flash_attn", "flashattn", "xformers", "flashinfer", "torch_sdpa", "triton_attn", "flashmla",
    "flash_attn_vllm_v1", "triton_mla", "fa2", "fa3", "sdpa",
)  # fmt: skip
_OF_VLLM = ("FLASH_ATTN", "XFORMERS", "FLASHINFER", "TORCH_SDPA", "TRITON_ATTN", "FLASHMLA")


def hint_engine(work: Work) -> None:
    """Hint at vLLM where attention backends have the names that vLLM has for them."""
    for index, meaning in work.meanings:
        if meaning.how == "backend" and "engine" not in work.found.filled:
            names = texts_of(work.table.columns[index])
            engines = ["vllm" if one and one.startswith(_OF_VLLM) else None for one in names]
            if any(engines):
                header = work.table.names[index]
                words = "the attention backend has the name that vLLM has for it"
                work.found.filled["?engine"] = Filled(engines, [header] * len(engines), words)


def put_workload(work: Work, by_column: dict[str, list[tuple[int, Meaning]]]) -> None:
    """Put lengths and attention backends into the workload: they tell runs of other work apart."""
    count = work.table.row_count
    named = work.found.filled.get("workload")
    pieces: list[list[str]] = [[one] if one else [] for one in (named.values if named else [])]
    pieces = pieces or [[] for _ in range(count)]
    headers = [named.headers[0]] if named else []
    for key, prefix in (("?input_len", "in"), ("?output_len", "out")):
        for index, _ in by_column.get(key, [])[:1]:
            headers.append(work.table.names[index])
            for row, one in enumerate(numbers_of(work.table.columns[index], work.comma).values):
                if np.isfinite(one) and one > 0:
                    pieces[row].append(f"{prefix}{one:.0f}")
    for index, meaning in work.meanings:
        if meaning.how == "backend":
            names = [_attention_of(one) for one in texts_of(work.table.columns[index])]
            if len({one for one in names if one}) > 1:
                headers.append(work.table.names[index])
                for row, name in enumerate(names):
                    pieces[row] += [name] if name else []
    if headers and (named is None or len(headers) > 1):
        values = ["_".join(one) or None for one in pieces]
        if any(values):
            work.found.filled["workload"] = Filled(values, [", ".join(headers)] * count)


def _attention_of(text: str | None) -> str | None:
    word = (text or "").lower().partition("(")[0].strip()
    return word if word.startswith(_ATTENTION) else None
