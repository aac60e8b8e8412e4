"""All recipes by name, and the rows that list them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.errors import ProfilerOptionError
from nsightlens.harness import recipes_others, recipes_sglang, recipes_trtllm, recipes_vllm
from nsightlens.harness.recipe import Failure, Recipe, apply
from nsightlens.patterns import nearest, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RECIPES", "Failure", "Recipe", "apply", "recipe_of", "rows"]

RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for module in (recipes_vllm, recipes_sglang, recipes_trtllm, recipes_others)
    for recipe in module.RECIPES
}
"""Every recipe by its name, engine by engine."""


def recipe_of(name: str) -> Recipe:
    """Return a recipe by its name.

    Raises
    ------
    ProfilerOptionError
        There is none.

    Examples
    --------
    >>> recipe_of("vllm-decode").engine
    'vLLM'
    """
    if name in RECIPES:
        return RECIPES[name]
    near = nearest(name, RECIPES)
    meant = f" Did you mean {near[0]}?" if near else ""
    raise ProfilerOptionError(
        f"there is no recipe {quoted(name)}.{meant} --list-recipes shows all of them."
    )


def rows() -> tuple[tuple[str, str, str, str], ...]:
    """Return what ``--list-recipes`` shows: name, engine, tools with provenance, summary.

    Examples
    --------
    >>> rows()[0][:3]
    ('vllm-decode', 'vLLM', 'ncu (proposed), nsys (proposed)')
    """
    return tuple(
        (
            recipe.name,
            recipe.engine,
            ", ".join(f"{tool} ({how})" for tool, how in recipe.provenance.items()),
            recipe.summary,
        )
        for recipe in RECIPES.values()
    )
