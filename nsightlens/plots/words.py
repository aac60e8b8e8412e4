"""Numbers, names and sentences in figures.

Names come from reports and may hold anything: what a font cannot draw or a figure would take for
mathematics is made harmless here.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "LEVEL_WORDS",
    "clock",
    "counted",
    "cut",
    "gpu",
    "group_names",
    "harmless",
    "origin_note",
    "rate",
    "resource_words",
    "significant",
    "time",
    "title_of",
    "wrapped",
]

LEVEL_WORDS = {"dram": "DRAM", "l2": "L2", "l1": "L1"}
_PREFIXES = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))
_TIMES = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
_ORIGINS = {
    "synthetic": "Synthetic data: written by a model, not measured.",
    "analytic": "Analytic data: computed from a model, not measured.",
}


def significant(value: float) -> str:
    """Return a number with three significant digits.

    Examples
    --------
    >>> significant(256.44), significant(0.98765), significant(1634.2), significant(5.0)
    ('256', '0.988', '1630', '5')
    """
    if not math.isfinite(value) or value == 0:
        return f"{value:.0f}"
    digits = 2 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    if abs(rounded) >= 1e6 or abs(rounded) < 1e-3:
        return f"{rounded:.2e}"
    text = f"{rounded:.{max(0, digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rate(value: float, unit: str) -> str:
    """Return a rate with the prefix that leaves one to three digits before the point.

    Examples
    --------
    >>> rate(3.35232e12, "B/s"), rate(8.597e14, "FLOP/s"), rate(12.0, "FLOP/s")
    ('3.35 TB/s', '860 TFLOP/s', '12 FLOP/s')
    """
    scale, prefix = next(((s, p) for s, p in _PREFIXES if value >= s * 0.9995), (1.0, ""))
    return f"{significant(value / scale)} {prefix}{unit}"


def clock(hertz: float) -> str:
    """Return a clock as a person says it.

    Examples
    --------
    >>> clock(1.59e9), clock(5.85e8)
    ('1.59 GHz', '585 MHz')
    """
    return rate(hertz, "Hz")


def time(nanoseconds: float) -> str:
    """Return a duration in the unit that fits.

    Examples
    --------
    >>> time(685856.0), time(32.0)
    ('686 µs', '32 ns')
    """
    scale, unit = next(((s, u) for s, u in _TIMES if nanoseconds >= s * 0.9995), (1.0, "ns"))
    return f"{significant(nanoseconds / scale)} {unit}"


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> counted(1, "family", "families"), counted(2, "kernel")
    ('1 family', '2 kernels')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {plural or noun + 's'}"


def resource_words(resource: str) -> str:
    """Return a data type as a person writes it: tensor fp16, fp32."""
    return resource.replace("_", " ")


def gpu(name: str | None) -> str:
    """Return the name of a GPU without its maker's."""
    return harmless((name or "unknown GPU").removeprefix("NVIDIA "))


def title_of(device_name: str | None, phases: Iterable[str | None]) -> str:
    """Return the GPU, and the phase where there is one only.

    Examples
    --------
    >>> title_of("NVIDIA L40S", ["decode", "decode"]), title_of(None, ["decode", None])
    ('L40S, decode', 'unknown GPU')
    """
    found = set(phases)
    phase = found.pop() if len(found) == 1 else None
    return f"{gpu(device_name)}, {harmless(phase)}" if phase else gpu(device_name)


def origin_note(origins: Iterable[str | None]) -> str:
    """Say that data were not measured, "" where all of them were."""
    found = [_ORIGINS[name] for name in dict.fromkeys(origins) if name in _ORIGINS]
    return " ".join(found)


def harmless(text: str) -> str:
    """Return a text of one line without control characters."""
    return "".join(c if c.isprintable() else "?" for c in text)


def cut(text: str, limit: int) -> str:
    """Return a text that is cut in the middle where it is too long: names differ at both ends.

    Parameters
    ----------
    limit
        [character] At least 3.

    Examples
    --------
    >>> cut("flash_fwd_splitkv_kernel", 12), cut("short", 12)
    ('flash_…ernel', 'short')
    """
    if len(text) <= limit:
        return text
    head = limit // 2
    tail = limit - head - 1
    return f"{text[:head]}…{text[len(text) - tail :]}"


def group_names(
    groups: Sequence[tuple[str | None, str | None, str | None, str | None]],
) -> list[str]:
    """Return a name for each group: that of its kernel, else family and subtype.

    The phase is added where there are several.

    Parameters
    ----------
    groups
        Family, subtype, kernel and phase of each.

    Examples
    --------
    >>> group_names([("gemm", "dense", None, "decode"), ("norm", "generic", None, "decode")])
    ['gemm/dense', 'norm']
    >>> group_names([("attention", "mla", "mla_k", "decode"), ("gemm", None, None, None)])
    ['mla_k, decode', 'gemm, no phase']
    """
    phases = {phase for _, _, _, phase in groups}
    names = []
    for family, subtype, kernel, phase in groups:
        name = _family(family, subtype) if kernel is None else kernel.strip() or f'"{kernel}"'
        names.append(harmless(f"{name}, {phase or 'no phase'}" if len(phases) > 1 else name))
    return names


def _family(family: str | None, subtype: str | None) -> str:
    # As nsightlens.render.columns.family_words says it, which figures must not import.
    says_more = subtype not in (None, "", "generic", "unknown")
    return f"{family or 'other'}/{subtype}" if says_more else family or "other"


def wrapped(text: str, width: float, measure: Callable[[str], float]) -> str:
    r"""Return a text in lines that are not wider than allowed, as long as its words are not.

    Parameters
    ----------
    width
        What a line may measure.
    measure
        How wide a text is.

    Examples
    --------
    >>> wrapped("one two three", 7, len)
    'one two\nthree'
    """
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and measure(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(word)
    return "\n".join(lines)
