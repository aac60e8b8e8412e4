"""How result files nest and name things: keys followed safely, models, engines, lengths."""

from __future__ import annotations

import csv
import io
import re
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.opened import OpenedFile

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "at",
    "claims_object",
    "csv_rows",
    "engine_name",
    "model_name",
    "object_of",
    "refuse_twin",
    "workload_of",
]

_ENGINES = (
    ("vllm", "vllm"), ("sglang", "sglang"), ("tensorrt", "tensorrt-llm"), ("trt", "tensorrt-llm"),
    ("llama.cpp", "llama.cpp"), ("llama-cpp", "llama.cpp"), ("llama_cpp", "llama.cpp"),
    ("text-generation-inference", "tgi"), ("tgi", "tgi"), ("lmdeploy", "lmdeploy"),
)  # fmt: skip


def at(value: Any, *keys: str | int) -> Any:
    """Return what lies under keys and indexes, one in the other; None where a step does not exist.

    Examples
    --------
    >>> at({"a": [{"b": 1}]}, "a", 0, "b"), at({"a": 5}, "a", "b"), at([], 0)
    (1, None, None)
    """
    for key in keys:
        if isinstance(value, dict):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and 0 <= key < len(value):
            value = value[key]
        else:
            return None
    return value


def model_name(raw: object) -> str | None:
    r"""Return the name of a model without folders, of a text or a list of one; None for all else.

    Examples
    --------
    >>> model_name(["meta-llama/Llama-3.1-8B"]), model_name(r"C:\models\a.gguf"), model_name(3)
    ('Llama-3.1-8B', 'a', None)
    >>> model_name("/hub/models--facebook--opt-1.3b/snapshots/8c7b1/")
    'opt-1.3b'
    """
    if isinstance(raw, list) and len(raw) == 1:
        raw = raw[0]
    if isinstance(raw, dict):
        raw = raw.get("name")
    if not isinstance(raw, str):
        return None
    names = [name for name in re.split(r"[/\\]", raw.strip()) if name.strip()]
    cached = [name for name in names if name.startswith("models--")]  # the hub's cache
    name = cached[-1].rpartition("--")[2] if cached else names[-1].strip() if names else ""
    return name.removesuffix(".gguf") or None


def engine_name(raw: object) -> str | None:
    """Return an engine as ``serving_runs`` names it; None where the text names none.

    Examples
    --------
    >>> engine_name("dynamo-trtllm"), engine_name("llm-d")
    ('tensorrt-llm', None)
    """
    word = raw.lower() if isinstance(raw, str) else ""
    return next((name for part, name in _ENGINES if part in word), None)


def workload_of(input_tokens: object, output_tokens: object) -> str | None:
    """Return the name of a workload by its nominal lengths [token]; None where one is missing.

    Examples
    --------
    >>> workload_of(1024, 128.0), workload_of(1024, None)
    ('in1024_out128', None)
    """
    lengths = (input_tokens, output_tokens)
    if not all(
        isinstance(one, (int, float)) and not isinstance(one, bool) and 0 <= one < 1e9
        for one in lengths
    ):
        return None
    return "in{:.0f}_out{:.0f}".format(*lengths)


def claims_object(
    file: OpenedFile, has: Callable[[dict[str, Any]], bool], head: re.Pattern[str]
) -> bool:
    """Return whether a JSON file is an object that a reader knows.

    Parameters
    ----------
    file
        What is asked about.
    has
        Whether the object is the reader's.
    head
        What the beginning of such a file holds: it tells where the file was cut or is damaged, so
        that the user learns that instead of "unknown".
    """
    if not file.looks_like_json or not file.head.lstrip("\ufeff \t\r\n").startswith("{"):
        return False
    value = file.json
    if value is None:
        return bool(head.search(file.head)) and not file.json_lines
    return isinstance(value, dict) and has(value)


def csv_rows(file: OpenedFile) -> list[list[str]]:
    """Return the cells of the lines of a CSV; an empty line has none.

    Raises
    ------
    ServingFileError
        A cell is too long, or a line holds a NUL byte: it is no table.
    """
    try:
        return list(csv.reader(io.StringIO(file.text.lstrip("\ufeff"), newline="")))
    except csv.Error as error:
        raise ServingFileError(
            file.shown, f"is no table: {error}", "Copy it again, or run the benchmark again."
        ) from None


def refuse_twin(file: OpenedFile, claims: Callable[[OpenedFile], bool]) -> None:
    """Refuse a file beside which the same results lie as JSON: a run would count twice.

    Parameters
    ----------
    file
        A CSV or YAML.
    claims
        Whether a file is the tool's JSON.

    Raises
    ------
    ServingFileError
        There is one that differs in its suffix alone.
    """
    twin = file.path.with_suffix(".json")
    if twin != file.path and twin.is_file() and claims(OpenedFile(twin)):
        raise ServingFileError(
            file.shown,
            f"repeats {twin.name}, which lies beside it and says more",
            f"Give {twin.name} alone.",
        )


def object_of(file: OpenedFile) -> dict[str, Any]:
    """Return the object that a JSON file is.

    Raises
    ------
    ServingFileError
        It is none, or damaged.
    """
    value = file.json
    if isinstance(value, dict):
        return value
    raise ServingFileError(
        file.shown, file.json_problem(), "Copy it again, or run the benchmark again."
    )
