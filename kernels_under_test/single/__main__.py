"""``python -m kernels_under_test.single NAME``: run a single kernel, to be profiled or timed."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING

from kernels_under_test.refusals import NotAvailableError, find_torch
from kernels_under_test.single.kernels import DTYPES, SHAPES, make_kernel
from kernels_under_test.single.timing import time_kernel
from nsightlens import annotate

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

_NAME = "kernels_under_test.single"
_USAGE, _NOT_AVAILABLE = 2, 4


def _shape(text: str) -> dict[str, int]:
    """Return sizes from ``m=512,n=8192``.

    Examples
    --------
    >>> _shape("m=512,n=8192")
    {'m': 512, 'n': 8192}
    """
    found = {}
    for word in text.split(","):
        name, equals, value = word.partition("=")
        if not equals or not value.isdecimal():
            raise argparse.ArgumentTypeError(f"{word!r:.40} is no size such as m=512")
        found[name.strip()] = int(value)
    return found


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r:.40} is no count")
    return int(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a kernel; return 0, 2 for what cannot be understood or 4 for what is not available."""
    parser = argparse.ArgumentParser(prog=f"python -m {_NAME}", description=__doc__)
    parser.add_argument("name", metavar="NAME", choices=sorted(SHAPES), help=", ".join(SHAPES))
    parser.add_argument("--shape", type=_shape, default={}, help="such as m=512,n=8192,k=2048")
    parser.add_argument("--dtype", choices=DTYPES, default="float16")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--repeats", type=_count, default=1, help="annotated launches (default: 1)")
    parser.add_argument("--seconds", type=float, help="time it for about so long, too")
    parser.add_argument("--json", action="store_true", help="what was run, as one line of JSON")
    args = parser.parse_args(argv)
    try:
        torch = find_torch()
        if args.device == "cuda" and not torch.cuda.is_available():
            raise NotAvailableError("PyTorch finds no CUDA device here: use --device cpu")
        kernel = make_kernel(
            torch, args.name, dtype=args.dtype, shape=args.shape, device=args.device
        )
        with torch.no_grad():
            kernel.run()  # what is made at the first launch is no part of it
            work = kernel.work
            for _ in range(args.repeats):
                with annotate.op(kernel.name, flop=work.flop, bytes=work.bytes):
                    kernel.run()
        timing = None
        if args.seconds:
            timing = time_kernel(torch, kernel.run, args.device, seconds=args.seconds)
    except NotAvailableError as error:
        print(f"{_NAME}: error: {error}.", file=sys.stderr)  # noqa: T201 - a program
        return _NOT_AVAILABLE
    except (ValueError, RuntimeError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
        print(f"{_NAME}: error: {first}.", file=sys.stderr)  # noqa: T201
        return _USAGE if isinstance(error, ValueError) else _NOT_AVAILABLE
    answer = {
        "name": kernel.name,
        "dtype": kernel.dtype,
        "shape": dict(kernel.shape),
        "flop": work.flop,
        "bytes": work.bytes,
        "timing": None if timing is None else timing._asdict(),
    }
    if args.json:
        print(json.dumps(answer))  # noqa: T201
    elif timing is not None:
        tflop_per_s = work.flop / timing.median_ns / 1e3
        rate = f"{tflop_per_s:.4g} TFLOP/s, {work.bytes / timing.median_ns:.4g} GB/s"
        print(f"{kernel.name} {kernel.dtype}: {timing.median_ns / 1e3:.4g} us, {rate}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(main())
