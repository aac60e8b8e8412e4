"""Measured ceilings of this GPU: run the program that measures, judge what it says, write the TOML.

`kernels_under_test.ceilings` measures, in a process of its own, by an interpreter that has PyTorch.
What it says is set against the peak of the architecture at the clock of the measurement: more than
that cannot be, and what scatters is no ceiling.
"""

from __future__ import annotations

import json
import math
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from nsightlens.devices import product_of, roofs_of
from nsightlens.devices.ceilings import FORMAT, VERSION
from nsightlens.devices.products import is_partition
from nsightlens.errors import ProfilingError, ProgramNotFoundError
from nsightlens.programs import run_quietly

if TYPE_CHECKING:
    from collections.abc import Sequence


__all__ = ["MOST_PCT", "MOST_SPREAD_PCT", "Ceiling", "MeasuredDevice", "measure", "toml_of"]

MOST_PCT = 105.0
"""[%] Of the peak of the architecture: more than that is a fault of the measurement."""
MOST_SPREAD_PCT = 5.0
"""[%] Between the quartiles of the measurements: more than that is no ceiling."""
_SIZES = 3
_RESOURCES = 8
_START_S = 300.0
"""[s] That loading PyTorch and making tensors may take, beside the measurements."""


class Ceiling(NamedTuple):
    """A measured ceiling; None where not known.

    Parameters
    ----------
    resource
        As in `nsightlens.devices.ceilings.CEILING_RESOURCES`.
    rate_per_s, best_per_s
        [FLOP/s, op/s or B/s] Median of the best size, and the best of all its measurements.
    spread_pct
        [%] Between the quartiles of its measurements.
    sm_clock_hz
        [Hz] SM clock meanwhile.
    peak_per_s, peak_pct
        Peak of the architecture at that clock, and the share of it that was reached.
    verdict
        ``ok``; ``above_peak``, ``unsteady``, ``no_clock`` or ``not_measured``, which is not
        written into a file of ceilings.
    how
        Kernel, data type and size; or why there is no measurement.
    """

    resource: str
    rate_per_s: float | None
    best_per_s: float | None
    spread_pct: float | None
    sm_clock_hz: float | None
    peak_per_s: float | None
    peak_pct: float | None
    verdict: str
    how: str


class MeasuredDevice(NamedTuple):
    """What was measured on one GPU."""

    device_name: str
    compute_capability: str | None
    sm_count: int | None
    torch_version: str
    cuda_version: str | None
    ceilings: tuple[Ceiling, ...]


def measure(
    *,
    python: str | None = None,
    device: str = "cuda",
    device_index: int = 0,
    seconds: float = 1.0,
    program: Sequence[str] | None = None,
) -> MeasuredDevice:
    """Measure the ceilings of a GPU.

    Parameters
    ----------
    python
        Interpreter with PyTorch; None for the one that runs this.
    device
        ``cuda``; ``cpu`` tries the program at small sizes.
    device_index
        Ordinal of the GPU among those that PyTorch sees.
    seconds
        [s] About how long each size of each kernel is measured.
    program
        In place of the one that measures; for tests.

    Raises
    ------
    ProgramNotFoundError
        The interpreter cannot be run.
    ProfilingError
        There is no GPU or no PyTorch, or the program failed.
    """
    argv = [python or sys.executable, *(program or ("-m", "kernels_under_test.ceilings"))]
    argv += ["--json", "--device", device, "--device-index", str(device_index)]
    argv += ["--seconds", str(seconds)]
    try:
        ended = run_quietly(argv, timeout_s=_START_S + 3 * seconds * _SIZES * _RESOURCES)
    except OSError as error:
        raise ProgramNotFoundError(
            f"{argv[0]} cannot be run: {error.strerror or error}. Name an interpreter that has "
            "PyTorch with --python."
        ) from error
    if ended.has_timed_out:
        raise ProfilingError(
            f"the measurement did not end within {ended.duration_s:.0f} s and was ended. Is the "
            "GPU busy with something else? See nvidia-smi.",
            cause="hang",
        )
    if ended.return_code != 0:
        lines = [one for one in ended.stderr.strip().splitlines() if one.strip()]
        said = lines[-1].partition("error: ")[2] or lines[-1] if lines else "it said nothing"
        raise ProfilingError(
            f"the ceilings could not be measured: {said.rstrip('.')}. nsightlens doctor says what "
            "is missing.",
            cause="not_available" if ended.return_code == 4 else "target_crashed",
        )
    try:
        return _judged(_answer(ended.stdout))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProfilingError(
            f"the program that measures said something that is not understood ({error!r}). Is the "
            "nsightlens of that interpreter another version than this one?",
            cause="no_result",
        ) from error


def _answer(text: str) -> dict[str, Any]:
    """Return what the program said; PyTorch may have written before it."""
    for line in reversed(text.splitlines()):
        try:
            answer = json.loads(line)
        except ValueError:
            continue
        if isinstance(answer, dict) and "measurements" in answer:
            return answer
    raise ProfilingError(
        "the program that measures ended well and said nothing. Run it by hand: python -m "
        "kernels_under_test.ceilings --json",
        cause="no_result",
    )


def _judged(answer: dict[str, Any]) -> MeasuredDevice:
    name, sm_count = str(answer["device_name"]), answer.get("sm_count")
    rates = _rates(name, sm_count)
    found = [_ceiling(one, rates, sm_count) for one in answer["measurements"]]
    # A resource that two types show, such as FP32, has the better one.
    best: dict[str, Ceiling] = {}
    for one in found:
        known = best.get(one.resource)
        if known is None or (one.rate_per_s or 0) > (known.rate_per_s or 0):
            best[one.resource] = one
    return MeasuredDevice(
        name,
        answer.get("compute_capability"),
        sm_count,
        str(answer.get("torch_version")),
        answer.get("cuda_version"),
        tuple(best.values()),
    )


def _rates(name: str, sm_count: int | None) -> dict[str, tuple[float | None, float | None]]:
    """Return by resource the rate per SM and cycle and the peak of a known product.

    A part of a GPU (MIG) has the rates of its SMs, and a share of DRAM that nobody knows.
    """
    product = product_of(name, sm_count)
    if product is None:
        return {}
    rates = {one.resource: (one.rate_per_sm, one.peak_per_s) for one in roofs_of(product)}
    if is_partition(name, sm_count):
        rates.pop("dram", None)
    return rates


def _ceiling(
    one: dict[str, Any],
    rates: dict[str, tuple[float | None, float | None]],
    sm_count: int | None,
) -> Ceiling:
    resource, what = one["resource"], f"{one['kernel']} {one['dtype']}"
    sizes = one["sizes"]
    if not sizes:
        why = f"{what}: {one.get('problem', 'no size fits into the memory')}"
        return Ceiling(resource, None, None, None, None, None, None, "not_measured", why)
    # A size whose measurements scatter is no ceiling where another one's do not.
    for size in sizes:
        if not all(math.isfinite(float(size[key])) for key in ("rate_per_s", "spread_pct")):
            raise ValueError(f"a rate of {size['rate_per_s']}")
    steady = [size for size in sizes if size["spread_pct"] <= MOST_SPREAD_PCT] or sizes
    best = max(steady, key=lambda size: float(size["rate_per_s"]))
    rate, clock = float(best["rate_per_s"]), best["sm_clock_hz"]
    per_sm, peak = rates.get(resource, (None, None))
    if resource != "dram":
        known = per_sm is not None and sm_count is not None and clock is not None
        peak = per_sm * sm_count * clock if known else None  # type: ignore[operator]
    pct = None if not peak else 100 * rate / peak
    shape = ", ".join(f"{key} {value}" for key, value in best["shape"].items())
    how = f"{what}, {shape}, median of {best['measurement_count']}"
    verdict = "ok"
    if pct is not None and pct > MOST_PCT:
        verdict = "above_peak"
    elif best["spread_pct"] > MOST_SPREAD_PCT:
        verdict = "unsteady"
    elif clock is None and resource != "dram":
        verdict = "no_clock"
    return Ceiling(
        resource,
        rate,
        float(best["best_per_s"]),
        best["spread_pct"],
        clock,
        peak,
        pct,
        verdict,
        how,
    )


def toml_of(measured: MeasuredDevice, *, date: str, driver_version: str | None = None) -> str:
    """Return the file that ``--peaks`` takes; only what was judged ``ok`` is in it.

    Parameters
    ----------
    measured
        From `measure`.
    date
        Day of the measurement.
    driver_version
        Of the GPU's driver.

    Raises
    ------
    ProfilingError
        Nothing of it is a ceiling.
    """
    good = [one for one in measured.ceilings if one.verdict == "ok"]
    if not good:
        verdicts = ", ".join(f"{one.resource} {one.verdict}" for one in measured.ceilings)
        raise ProfilingError(
            f"no measurement is a ceiling ({verdicts}): nothing was written. Measure again with "
            "the GPU alone, and longer: --seconds.",
            cause="no_result",
        )
    tools = f"torch {measured.torch_version}, CUDA {measured.cuda_version}"
    tools += "" if driver_version is None else f", driver {driver_version}"
    pieces = [f'format = "{FORMAT}"\nversion = {VERSION}\n']
    for one in good:  # each at its own clock
        pieces.append("\n[[device]]\n")
        pieces.append(f"name = {json.dumps(measured.device_name)}\n")
        if measured.compute_capability is not None:
            pieces.append(f'compute_capability = "{measured.compute_capability}"\n')
        if measured.sm_count is not None:
            pieces.append(f"sm_count = {measured.sm_count}\n")
        if one.sm_clock_hz is not None:
            pieces.append(f"sm_clock_hz = {one.sm_clock_hz:.6e}\n")
        source = (
            f"measured on {date} by nsightlens ceilings: {one.how}, spread {one.spread_pct:.2g} %; "
            f"{tools}"
        )
        pieces.append(f"source = {json.dumps(source)}\n\n[device.peak_per_s]\n")
        pieces.append(f"{one.resource} = {one.rate_per_s:.6e}\n")
    return "".join(pieces)
