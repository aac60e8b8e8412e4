"""`read_model`: a built-in name, or a configuration of Hugging Face, becomes a `ModelConfig`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nsightlens.errors import ModelConfigError, UnknownModelError
from nsightlens.models.builtin import builtin_model, builtin_models, folded_model_name
from nsightlens.models.config import ModelConfig
from nsightlens.models.hugging_face import model_of
from nsightlens.patterns import nearest, quoted

__all__ = ["read_model"]

_FILE = "config.json"
_LARGEST_BYTES = 16_000_000
_NEAR = 4


def read_model(name_or_path: str | Path | ModelConfig) -> ModelConfig:
    """Return the sizes of a model.

    Parameters
    ----------
    name_or_path
        A built-in name such as ``llama-3-8b``, in upper or lower case, with or without its
        publisher; or a ``config.json`` as Hugging Face writes it, or a folder that holds one. A
        text that is both stands for the built-in model: write ``./`` in front of the file. A
        `ModelConfig` is returned as it is.

    Raises
    ------
    UnknownModelError
        It is no built-in name, and there is no such file.
    ModelConfigError
        The file cannot be used: its architecture is not known, or a key is missing.

    Examples
    --------
    >>> model = read_model("meta-llama/Llama-2-7b-hf")
    >>> model.layer_count, model.kv_head_count, model.head_dim
    (32, 32, 128)
    """
    if isinstance(name_or_path, ModelConfig):
        return name_or_path
    known = builtin_model(name_or_path) if isinstance(name_or_path, str) else None
    if known is not None and not _is_written_as_path(str(name_or_path)):
        place = f"the built-in model {known.name}"
        return model_of(known.config, name=known.name, place=place, source=known.source)
    path = Path(name_or_path)
    # Not Path.exists, which raises for what cannot be the name of a file.
    if not os.path.exists(path) or not str(name_or_path):  # noqa: PTH110
        raise _unknown(str(name_or_path))
    if path.is_dir():
        path /= _FILE
        if not path.is_file():
            advice = "Name a folder of a model, or its config.json itself."
            raise ModelConfigError(str(name_or_path), f"is a folder without {_FILE}", advice)
    return model_of(_content(path), name=_name_of(path), place=str(path), source=str(path))


def _is_written_as_path(text: str) -> bool:
    return text.endswith(".json") or text.startswith((".", "/", "~")) or "\\" in text


def _name_of(path: Path) -> str:
    """Return the name of the folder of a ``config.json``, else that of the file."""
    folder = path.resolve().parent.name
    return folder if path.name == _FILE and folder else path.stem


def _unknown(text: str) -> UnknownModelError:
    names = [name for one in builtin_models() for name in (one.name, *one.aliases)]
    wanted = folded_model_name(text)
    parts = [name for name in names if wanted and wanted in name]
    near = list(dict.fromkeys([*parts, *nearest(wanted, names, _NEAR)]))[: 2 * _NEAR]
    beside = f"Near it are {', '.join(near)}. " if near else ""
    return UnknownModelError(
        f"{quoted(text)} is no built-in model, and no file. {beside}"
        "All of them: nsightlens predict --list-models. "
        "For another model, name its config.json or the folder that holds it."
    )


def _content(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > _LARGEST_BYTES:
            advice = "Name the config.json of a model, not its weights."
            raise ModelConfigError(str(path), "is too large for a configuration", advice)
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        problem = f"cannot be read: {error.strerror or error}"
        raise ModelConfigError(str(path), problem, "Check its name.") from error
    except (ValueError, RecursionError) as error:
        what = f": {error}" if isinstance(error, json.JSONDecodeError) else ""
        advice = "Name the config.json of a model."
        raise ModelConfigError(str(path), f"is not JSON{what}", advice) from error
    if not isinstance(content, dict):
        raise ModelConfigError(
            str(path), "holds no JSON object", "Name the config.json of a model."
        )
    return content
