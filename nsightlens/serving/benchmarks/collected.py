"""`Collected`: the values of one run while a reader finds them, each checked once.

Nothing, null and a zero that stands for "not measured" are left out; what is there and cannot be
used (a text for a number, a negative time) is left out too, and a note says so.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from nsightlens.errors import ServingFileError
from nsightlens.serving.benchmarks.doubts import doubts_of
from nsightlens.serving.part import Note, Part

if TYPE_CHECKING:
    from collections.abc import Mapping

    from nsightlens.serving.part import PartKind

__all__ = ["Collected", "number_of"]

_SAY_SOMETHING = ("_per_s", "_itl_ms", "_tpot_ms", "_e2e_ms", "_ttft_ms")
LARGEST_COUNT = 10**15
BURST_MS = 1.0
"""[ms] [B] No server generates a token for one reader in less; a median below it, and below a tenth
of the mean, is the time between tokens that came in one read of the socket."""


def number_of(raw: object) -> float | None:
    """Return a number, or a text that is one, as a finite float; None for all else.

    Examples
    --------
    >>> number_of("1e-05"), number_of(True), number_of("inf"), number_of([1])
    (1e-05, None, None, None)
    """
    if isinstance(raw, bool) or not isinstance(raw, (int, float, str)):
        return None
    try:
        value = float(raw)
    except (ValueError, OverflowError):
        return None
    return value if math.isfinite(value) else None


class Collected:
    """Values of one run of a file.

    Parameters
    ----------
    path
        The file, as messages name it.
    format
        Name of the format that reads it.
    where, run_key
        As in `Part`.
    """

    def __init__(self, path: str, format: str, where: str = "", run_key: str = "") -> None:  # noqa: A002
        self.path, self.format, self.where, self.run_key = path, format, where, run_key
        self.values: dict[str, Any] = {}
        self.wheres: dict[str, str] = {}
        self.derived: dict[str, str] = {}
        self.notes: list[Note] = []
        self._unusable: list[str] = []

    def real(
        self,
        column: str,
        raw: object,
        *,
        scale: float | None = 1.0,
        where: str = "",
        derived: str = "",
        zero: bool = False,
    ) -> float | None:
        """Take a number that is not there yet.

        Parameters
        ----------
        column
            Of ``serving_runs``, or a hint with ``?``.
        raw
            What the file says.
        scale
            What to multiply it by; None where its unit is not known: it is left out, with a note.
        where, derived
            As in `Part`.
        zero
            Whether zero is a measurement.
        """
        if raw is None or column in self.values:
            return None
        value = number_of(raw)
        if value is not None and scale is not None:
            value *= scale
        if value is None or scale is None or value < 0 or math.isinf(value):
            reason = "in a unit that is not known" if scale is None else ""
            self._unusable.append(f"{where or column} {_shown(raw)} {reason}".rstrip())
            return None
        if value == 0 and not zero:
            return None
        self._put(column, value, where, derived)
        return value

    def count(
        self, column: str, raw: object, *, where: str = "", derived: str = "", zero: bool = False
    ) -> int | None:
        """Take a whole number that is not there yet; see `real`."""
        value = number_of(raw)
        if value is not None and (value != round(value) or value > LARGEST_COUNT):
            self._unusable.append(f"{where or column} {_shown(raw)}")
            return None
        if self.real(column, raw, where=where, derived=derived, zero=zero) is None:
            return None
        self.values[column] = round(self.values[column])
        return int(self.values[column])

    def text(self, column: str, raw: object, *, where: str = "", derived: str = "") -> None:
        """Take a text that is not there yet and not empty."""
        if isinstance(raw, str) and raw.strip() and column not in self.values:
            self._put(column, raw.strip()[:200], where, derived)

    def flag(self, column: str, raw: object, *, where: str = "") -> None:
        """Take a truth value that is not there yet: true or false, or the word for it."""
        words = {"true": True, "false": False}
        value = words.get(raw.strip().lower()) if isinstance(raw, str) else raw
        if isinstance(value, bool) and column not in self.values:
            self._put(column, value, where, "")

    def latency(
        self, name: str, raws: Mapping[str, object], scale: float | None, where: str = ""
    ) -> None:
        """Take mean, median and 99th percentile of a ``itl``, ``tpot``, ``ttft`` or ``e2e``."""
        for statistic in ("mean", "median", "p99"):
            place = f"{where}.{statistic}" if where else ""
            self.real(f"{statistic}_{name}_ms", raws.get(statistic), scale=scale, where=place)

    def note(self, key: str, text: str) -> None:
        """Add a note."""
        self.notes.append(Note(key, text))

    def little(self) -> None:
        """Derive the requests in flight by Little's law, where the file does not say them."""
        rate, mean = self.values.get("requests_per_s"), self.values.get("mean_e2e_ms")
        if rate and mean:
            words = "requests per second times mean latency (Little's law)"
            self.real("concurrency", rate * mean / 1e3, derived=words)

    def leave_out_burst_median(self) -> None:
        """Leave out a median time between tokens that is the time between bytes of one read."""
        mean, median = self.values.get("mean_itl_ms"), self.values.get("median_itl_ms")
        if mean and median and median < BURST_MS and median < mean / 10:
            del self.values["median_itl_ms"]
            self.note(
                "itl_median_unusable",
                f"The median time between tokens is {median:.2g} ms and the mean {mean:.3g} ms: "
                "the client read many tokens at once, so that the median is left out.",
            )

    def refuse_without_success(self, sent: object = None) -> None:
        """Raise where the file says that no request succeeded, given that it counts them."""
        if self.values.get("completed_count", 1):
            return
        sent = number_of(sent) or self.values.get("failed_count")
        of = f"all {sent:.0f} requests" if sent else "every request"
        raise ServingFileError(
            self.path,
            f"says that {of} failed, so that its latencies are no measurements",
            "Find out why in the server's log, and run the benchmark again.",
            where=[self.where] if self.where else (),
        )

    def part(self, kind: PartKind = "result") -> Part:
        """Return what was collected.

        Raises
        ------
        ServingFileError
            It is of a benchmark and says neither a latency nor a throughput.
        """
        if kind == "result":
            self.refuse_without_success()
        usable = [name for name in self.values if not name.startswith("?")]
        says = any(name.endswith(_SAY_SOMETHING) for name in usable if name != "request_rate_per_s")
        if not says and kind == "result":
            because = f" ({', '.join(self._unusable[:3])})" if self._unusable else ""
            raise ServingFileError(
                self.path,
                f"says neither a latency nor a throughput that can be used{because}",
                "Run the benchmark again, or give the file that holds its results.",
                where=[self.where] if self.where else (),
            )
        self.notes += doubts_of(self.values, self.derived)
        if self._unusable:
            more = len(self._unusable) - 5
            shown = "; ".join(self._unusable[:5]) + (f"; {more} more" if more > 0 else "")
            self.note("unusable_value", f"Left out, as no such quantity can be so: {shown}.")
        return Part(
            kind,
            self.path,
            self.format,
            self.values,
            self.where,
            {name: where for name, where in self.wheres.items() if name in self.values},
            {name: how for name, how in self.derived.items() if name in self.values},
            tuple(self.notes),
            None,
            self.run_key,
        )

    def _put(self, column: str, value: object, where: str, derived: str) -> None:
        self.values[column] = value
        if where:
            self.wheres[column] = where
        if derived:
            self.derived[column] = derived


def _shown(raw: object) -> str:
    text = repr(raw)
    return text if len(text) <= 40 else text[:37] + "..."
