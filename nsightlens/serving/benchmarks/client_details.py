"""What each request of a benchmark said, where its client was told to write it: in seconds.

From it, what the summary lacks, or has wrong, is computed again.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nsightlens.serving.benchmarks.client_run import ClientRun

__all__ = ["Details", "details_of"]

_KEYS = ("ttfts", "itls", "output_lens", "errors")


class Details(NamedTuple):
    """Requests that succeeded and were answered with at least one token.

    Parameters
    ----------
    ttft_s
        [s] To the first token.
    decode_s
        [s] From the first token to the last.
    gap_s
        [s] Between tokens, or chunks of them, of all requests together.
    output_tokens
        Tokens generated.
    e2e_s
        [s] Whole latency: to the first token, and the gaps after it.
    empty_count
        Requests that no token was generated for, and that the client did not count as failed.
    failed_count
        Requests with an error.
    """

    ttft_s: NDArray[Any] | None
    decode_s: NDArray[Any] | None
    gap_s: NDArray[Any] | None
    output_tokens: NDArray[Any] | None
    e2e_s: NDArray[Any] | None
    empty_count: int
    failed_count: int | None

    def summary(self) -> dict[str, float]:
        """Return columns of latencies [ms] by the definitions of the clients.

        The time per output token of a request is its decoding over its tokens after the first.
        """
        found: dict[str, float] = {}
        tpot = None
        if self.decode_s is not None and self.output_tokens is not None:
            several = self.output_tokens > 1
            tpot = self.decode_s[several] / (self.output_tokens[several] - 1)
        for name, values in (
            ("itl", self.gap_s),
            ("tpot", tpot),
            ("ttft", self.ttft_s),
            ("e2e", self.e2e_s),
        ):
            if values is not None and values.size:
                milliseconds = 1e3 * values
                found[f"mean_{name}_ms"] = float(milliseconds.mean())
                found[f"median_{name}_ms"] = float(np.median(milliseconds))
                found[f"p99_{name}_ms"] = float(np.percentile(milliseconds, 99))
        return {name: value for name, value in found.items() if value > 0}


def details_of(run: ClientRun) -> Details | None:
    """Return what each request said; None where the client did not write it.

    Lists that are damaged, or of different lengths, are not used, which is noted.
    """
    lists = {key: run.data[key] for key in _KEYS if isinstance(run.data.get(key), list)}
    lists = {key: value for key, value in lists.items() if value}
    if not lists.keys() - {"errors"}:
        return None
    if len({len(one) for one in lists.values()}) != 1:
        lengths = ", ".join(f"{len(one)} {key}" for key, one in lists.items())
        run.note("details_unusable", f"details of requests are not used: {lengths}.")
        return None
    try:
        return _of_lists(lists)
    except (TypeError, ValueError, OverflowError):
        run.note("details_unusable", "details of requests are not used: they are no numbers.")
        return None


def _of_lists(lists: dict[str, list[Any]]) -> Details:
    count = len(next(iter(lists.values())))
    errors = lists.get("errors")
    failed = np.array([bool(one) for one in errors]) if errors else np.zeros(count, bool)
    tokens = _numbers(lists, "output_lens")
    ttft = _numbers(lists, "ttfts")
    answered = ~failed
    if tokens is not None:
        answered &= tokens > 0
    if ttft is not None:
        answered &= ttft > 0
    decode = gaps = None
    if "itls" in lists:
        decode, gaps = _gaps(lists["itls"], answered)
    ttft = ttft[answered] if ttft is not None else None
    e2e = ttft + decode if ttft is not None and decode is not None else None
    return Details(
        ttft,
        decode,
        gaps,
        tokens[answered] if tokens is not None else None,
        e2e,
        int((~answered & ~failed).sum()),
        int(failed.sum()) if errors else None,
    )


def _numbers(lists: dict[str, list[Any]], key: str) -> NDArray[Any] | None:
    if key not in lists:
        return None
    numbers = np.fromiter(lists[key], np.float64, len(lists[key]))
    return _checked(numbers)


def _gaps(itls: list[Any], answered: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the sum of each answered request's gaps, and all of them."""
    kept = [one for one, is_kept in zip(itls, answered, strict=True) if is_kept]
    counts = np.array([len(one) for one in kept], np.int64)
    gaps = _checked(np.fromiter(chain.from_iterable(kept), np.float64, int(counts.sum())))
    sums = np.concatenate([[0.0], np.cumsum(gaps)])
    ends = np.cumsum(counts)
    return sums[ends] - sums[ends - counts], gaps


def _checked(numbers: NDArray[Any]) -> NDArray[Any]:
    if not np.isfinite(numbers).all() or (numbers < 0).any():
        raise ValueError
    return numbers
