from __future__ import annotations

from typing import Any

import pytest
from support.stores import store_of

from nsightlens.metrics import derive_launch_columns
from nsightlens.metrics.occupancy import limit_metric


def limiter(theoretical: float | None, **limits: float) -> str | None:
    launch: dict[str, Any] = {limit_metric(name): value for name, value in limits.items()}
    if theoretical is not None:
        launch["sm__maximum_warps_per_active_cycle_pct"] = theoretical
    columns, _ = derive_launch_columns(store_of(launch))
    found: str | None = columns["occupancy_limiter"].to_pylist()[0]
    return found


def test_the_smallest_limit_is_the_limiter() -> None:
    """The resource that lets the fewest blocks fit limits occupancy."""
    assert limiter(66.7, blocks=16, registers=2, shared_mem=3, warps=3) == "registers"


def test_limits_that_tie_are_all_named() -> None:
    """Lifting one of several equal limits would change nothing."""
    assert limiter(66.7, blocks=16, registers=1, shared_mem=1, warps=1) == (
        "registers+shared_mem+warps"
    )
    assert limiter(50.0, barriers=2, blocks=2, registers=4) == "blocks+barriers"


def test_nothing_limits_full_occupancy() -> None:
    """At 100 % the smallest limit costs no warp, as NVIDIA's rule says."""
    assert limiter(100.0, blocks=32, registers=2, shared_mem=164, warps=2) == "none"


def test_the_limits_decide_where_the_occupancy_is_not_known() -> None:
    """The smallest limit stands where no percentage tells whether it costs anything."""
    assert limiter(None, blocks=16, registers=2) == "registers"


@pytest.mark.parametrize("theoretical", [None, 50.0])
def test_without_limits_the_limiter_is_not_known(theoretical: float | None) -> None:
    """Nothing known is null, not a guess."""
    assert limiter(theoretical) is None
