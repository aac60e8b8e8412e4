"""`read_model`: a built-in name, or a configuration of Hugging Face, becomes a `ModelConfig`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from nsightlens.errors import ModelConfigError, UnknownModelError
from nsightlens.models.builtin import (
    BuiltIn,
    builtin_model,
    builtin_models,
    folded_model_name,
)
from nsightlens.models.config import ModelConfig
from nsightlens.models.hugging_face import model_of
from nsightlens.patterns import nearest, quoted

__all__ = ["namesake", "read_model"]

_FILE = "config.json"
_LARGEST_BYTES = 16_000_000
_NEAR = 4


def read_model(name_or_path: str | Path | ModelConfig) -> ModelConfig:
    """Return the sizes of a model.

    Parameters
    ----------
    name_or_path
        A ``config.json`` as Hugging Face writes it, or a folder that holds one; else a built-in
        name such as ``llama-3-8b``, in upper or lower case, with or without its publisher. What
        exists wins over a name that reads the same; `namesake` tells that there was such a choice.
        A text and a path that read the same are the same. A `ModelConfig` is returned as it is.

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
    text = str(name_or_path)
    path = _file_of(text)
    if path is not None:
        return model_of(_content(path), name=_name_of(path), place=str(path), source=str(path))
    known = None if _is_below_a_folder(text) else _built_in(text)
    if known is not None:
        place = f"the built-in model {known.name}"
        return model_of(known.config, name=known.name, place=place, source=known.source)
    if not os.path.isdir(text):  # noqa: PTH112
        raise _unknown(text)
    advice = "Name a folder of a model, or its config.json itself."
    raise ModelConfigError(text, f"is a folder without {_FILE}", advice)


def namesake(name_or_path: str | Path | ModelConfig) -> str | None:
    """Return the built-in model that a file or folder hides, as `read_model` takes the file.

    Parameters
    ----------
    name_or_path
        As for `read_model`.

    Returns
    -------
    str or None
        Its name; ``None`` where there was nothing to choose.

    Examples
    --------
    >>> namesake("llama-3-8b") is None  # no such file
    True
    """
    if isinstance(name_or_path, ModelConfig) or _file_of(str(name_or_path)) is None:
        return None
    known = _built_in(str(name_or_path))
    return None if known is None else known.name


def _file_of(text: str) -> Path | None:
    """Return the configuration that a text stands for, ``None`` where there is no such file."""
    if not text:
        return None
    # Not the methods of Path, which raise for what cannot be the name of a file.
    if os.path.isdir(text):  # noqa: PTH112
        path = Path(text, _FILE)
        return path if path.is_file() else None
    return Path(text) if os.path.exists(text) else None  # noqa: PTH110


def _built_in(text: str) -> BuiltIn | None:
    """Return the model of a name, unless it is written as only a path is."""
    name = text.replace(os.sep, "/")
    if name.endswith(".json") or name.startswith((".", "/", "~")) or Path(text).is_absolute():
        return None
    return builtin_model(name)


def _is_below_a_folder(text: str) -> bool:
    """Say whether a text is a folder in another one: it was meant as such, whatever it lacks."""
    return "/" in text.replace(os.sep, "/") and os.path.isdir(text)  # noqa: PTH112


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
