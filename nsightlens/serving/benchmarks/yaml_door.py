"""The one door to PyYAML: the YAML value of a result file, read safely or refused.

PyYAML is an extra (``pip install "nsightlens[yaml]"``) and loaded when a YAML file is read. Its
safe loader makes no objects; what other tools tagged as objects of Python is read as the plain data
that it is written with. Aliases are references, so that a bomb of them costs nothing until somebody
walks it, which no reader does; merge keys copy what they name, so that they are refused.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsightlens.errors import MissingExtraError, ServingFileError

if TYPE_CHECKING:
    from nsightlens.serving.opened import OpenedFile

__all__ = ["LARGEST_YAML_BYTES", "read_yaml"]

LARGEST_YAML_BYTES = 64 << 20
"""[B] YAML is read ten to a hundred times slower than JSON; reports have kilobytes."""


def read_yaml(file: OpenedFile) -> Any:
    """Return the YAML value of a file.

    Raises
    ------
    MissingExtraError
        PyYAML is not installed.
    ServingFileError
        The file is too large, damaged, nested too deeply, or has merge keys.
    """
    if file.byte_count > LARGEST_YAML_BYTES:
        raise ServingFileError(
            file.shown,
            f"has {file.byte_count / 2**20:.0f} MiB, more than is read as YAML",
            "Give the JSON that the benchmark wrote of the same results.",
        )
    try:
        import yaml  # noqa: PLC0415 - an extra, loaded only for a YAML file
    except ImportError:
        raise MissingExtraError("Reading this YAML file", package="PyYAML", extra="yaml") from None
    try:
        return yaml.load(file.text, Loader=_loader(yaml))  # the safe one, less merge keys
    except yaml.YAMLError as error:
        raise _damaged(file, _problem(error)) from None
    except RecursionError:
        raise _damaged(file, "is nested too deeply") from None
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        # What PyYAML lets through where a tag or a date does not fit its text.
        raise _damaged(file, f"is no YAML: {error}") from None


def _damaged(file: OpenedFile, problem: str) -> ServingFileError:
    return ServingFileError(file.shown, problem, "Copy it again, or run the benchmark again.")


def _problem(error: Any) -> str:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    place = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
    words = getattr(error, "problem", None) or "it cannot be read"
    return f"is no YAML{place}: {words}"


def _loader(yaml: Any) -> Any:
    """Return PyYAML's safe loader, the fast one where it is built, without merge keys."""
    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Loader(base):  # type: ignore[misc] # of a module without types
        """Refuses merge keys, and reads tagged nodes as plain data."""

        def flatten_mapping(self, node: Any) -> None:
            for key, _ in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    raise yaml.constructor.ConstructorError(
                        None, None, "merge keys (<<) are not read", key.start_mark
                    )

    def plain(loader: Any, _: str, node: Any) -> Any:
        if isinstance(node, yaml.SequenceNode):
            return loader.construct_sequence(node, deep=True)
        if isinstance(node, yaml.MappingNode):
            return loader.construct_mapping(node, deep=True)
        return loader.construct_scalar(node)

    # GuideLLM dumps enumerations and tuples as they are.
    Loader.add_multi_constructor("tag:yaml.org,2002:python/", plain)
    return Loader
