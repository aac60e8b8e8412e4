"""Models that are known by name: the rows of ``builtin.tsv``, read as configurations."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

__all__ = ["BuiltIn", "builtin_model", "builtin_models", "folded_model_name"]

_TEXTS = ("name", "aliases", "model_type", "dtype", "more", "source")


class BuiltIn(NamedTuple):
    """A model of the table.

    Parameters
    ----------
    name
        Its name, in lower case.
    aliases
        Other names.
    config
        Its sizes, by the keys of a Hugging Face configuration.
    source
        Where they are from.
    """

    name: str
    aliases: tuple[str, ...]
    config: dict[str, Any]
    source: str


@cache
def builtin_models() -> tuple[BuiltIn, ...]:
    """Return the models of the table, in its order."""
    text = Path(__file__).with_name("builtin.tsv").read_text(encoding="utf-8")
    rows = [line.split("\t") for line in text.splitlines() if line and not line.startswith("#")]
    return tuple(_model(dict(zip(rows[0], row, strict=True))) for row in rows[1:])


def _model(row: dict[str, str]) -> BuiltIn:
    config: dict[str, Any] = {"model_type": row["model_type"], "dtype": row["dtype"]}
    for key, value in row.items():
        if key not in _TEXTS and value:
            config[key] = json.loads(value)
    for pair in row["more"].split():
        key, _, value = pair.partition("=")
        config[key] = json.loads(value)
    return BuiltIn(row["name"], tuple(row["aliases"].split()), config, row["source"])


def folded_model_name(name: str) -> str:
    """Return a name as names of models are compared: without a publisher, in one spelling.

    Examples
    --------
    >>> folded_model_name("meta-llama/Llama-2-7b-hf"), folded_model_name("OPT 1.3B")
    ('llama-2-7b', 'opt-1.3b')
    """
    folded = "-".join(name.rpartition("/")[2].casefold().replace("_", " ").split())
    return folded.removesuffix("-hf")


def builtin_model(name: str) -> BuiltIn | None:
    """Return the model of a name, ``None`` where the table has none of it.

    Examples
    --------
    >>> builtin_model("Qwen/Qwen3-8B").config["num_hidden_layers"]
    36
    """
    wanted = folded_model_name(name)
    return next((one for one in builtin_models() if wanted in (one.name, *one.aliases)), None)
