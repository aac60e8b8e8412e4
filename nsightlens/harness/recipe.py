"""A recipe: what profiling one engine needs beside its own command line, and how to apply it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from nsightlens.errors import ProfilerOptionError
from nsightlens.harness.options import NcuOptions, NsysOptions, Target

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    Options = TypeVar("Options", NcuOptions, NsysOptions)
    Provenance = Literal["documented", "read in the source", "seen in use", "proposed"]
    ToolName = Literal["ncu", "nsys"]

__all__ = ["Failure", "Recipe", "apply"]


class Failure(NamedTuple):
    """What goes wrong with an engine under a profiler, and what helped."""

    symptom: str
    remedy: str
    """``open`` where nobody has found one."""
    source: str
    """Where it was reported."""


@dataclass(frozen=True)
class Recipe:
    """What profiling one engine needs.

    Parameters
    ----------
    name
        By which ``--recipe`` takes it.
    engine
        Whose it is.
    summary
        What it profiles, in one line.
    provenance
        By tool: whether the engine documents it, it was read in the engine's source, seen in
        public use, or is a proposal of ours. None of them was run on a GPU by us.
    versions
        Of the engine, for which it was read.
    template
        A command line to begin with; words in capitals are to be replaced.
    programs
        Words of a command line of which one set must be there for ``target_options`` to fit;
        empty where any program will do.
    environment
        Variables that the target needs.
    target_options
        Options that the target needs, each with its value.
    ncu, nsys
        Fields of `NcuOptions` and `NsysOptions` that differ from ours.
    window
        How the window that is profiled is opened and closed, as lines of a shell or of Python.
    needs
        What a user has to know or do.
    failures
        What went wrong for others.
    """

    name: str
    engine: str
    summary: str
    provenance: Mapping[ToolName, Provenance]
    versions: str
    template: tuple[str, ...]
    programs: tuple[tuple[str, ...], ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    target_options: tuple[tuple[str, ...], ...] = ()
    ncu: Mapping[str, Any] = field(default_factory=dict)
    nsys: Mapping[str, Any] = field(default_factory=dict)
    window: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()

    @property
    def tools(self) -> tuple[ToolName, ...]:
        """The tools that it is for."""
        return tuple(self.provenance)


def apply(
    recipe: Recipe,
    target: Target,
    ncu: NcuOptions,
    nsys: NsysOptions,
    *,
    inherited: Collection[str] = (),
) -> tuple[Target, NcuOptions, NsysOptions]:
    """Fill in what a recipe says and the user did not.

    Parameters
    ----------
    recipe
        One of `nsightlens.harness.recipes.RECIPES`.
    target, ncu, nsys
        What the user asked for. What differs from the defaults of the records stays.
    inherited
        Names of variables that the target gets from the user's own environment: they stay too.

    Returns
    -------
    tuple
        The target and the options of both tools.

    Raises
    ------
    ProfilerOptionError
        There is no program, or it is none that takes the options of the recipe.

    Examples
    --------
    >>> from nsightlens.harness.recipes import RECIPES
    >>> user = Target(("llama-bench", "-m", "m.gguf", "-n", "8"))
    >>> target, *_ = apply(RECIPES["llamacpp-decode"], user, NcuOptions(), NsysOptions())
    >>> " ".join(target.argv)
    'llama-bench -m m.gguf -n 8 -p 0 -r 1 --no-warmup'
    """
    _check_program(recipe, target.argv)
    missing = (option for option in recipe.target_options if not _is_given(option[0], target.argv))
    environment = {
        name: value for name, value in recipe.environment.items() if name not in inherited
    }
    return (
        replace(
            target,
            argv=(*target.argv, *(word for option in missing for word in option)),
            environment={**environment, **target.environment},
        ),
        _filled(ncu, NcuOptions(), recipe.ncu),
        _filled(nsys, NsysOptions(), recipe.nsys),
    )


def _filled(given: Options, default: Options, changes: Mapping[str, Any]) -> Options:
    """Take the changes of fields that the user left as they are."""
    untouched = {
        one.name
        for one in fields(default)
        if getattr(given, one.name) == getattr(default, one.name)
    }
    return replace(given, **{name: changes[name] for name in changes if name in untouched})


def _check_program(recipe: Recipe, argv: Sequence[str]) -> None:
    example = " ".join(recipe.template)
    if not argv:
        raise ProfilerOptionError(
            f"recipe {recipe.name} needs a program after --, such as: -- {example}"
        )
    names = {word for one in argv for word in (one, PurePath(one).name)}
    if recipe.programs and not any(names.issuperset(words) for words in recipe.programs):
        known = " or ".join(f"'{' '.join(words)}'" for words in recipe.programs)
        raise ProfilerOptionError(
            f"recipe {recipe.name} is for {known}, which the command does not have: give one "
            f"such as '{example}', or leave --recipe out."
        )


def _is_given(option: str, argv: Sequence[str]) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in argv)
