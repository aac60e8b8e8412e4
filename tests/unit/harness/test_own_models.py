"""profile knows the models that only the kernels under test have."""

from __future__ import annotations

from kernels_under_test import models
from nsightlens.harness.plan import OWN_MODELS
from nsightlens.models import read_model


def test_the_models_of_the_kernels_under_test_are_listed() -> None:
    """The harness imports nothing of that package, which may need another interpreter."""
    assert set(OWN_MODELS) == set(models.OWN_MODELS)


def test_none_of_them_hides_a_built_in_one() -> None:
    """A name means one model."""
    built_in = {read_model("opt-1.3b").name, read_model("llama-3-8b").name}
    assert built_in.isdisjoint(OWN_MODELS)
