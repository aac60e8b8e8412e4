"""Annotate a decode loop of your own, so that counters can be set against what it needs.

Usage: python examples/profile_own_decode.py

The loop below is NumPy, so that it runs anywhere; with kernels on a GPU in its place, the command
that it prints in the end profiles it. FLOPs and bytes are those of the formulas that
docs/kernels-under-test.md lists, which need no PyTorch.
"""

import numpy as np

from kernels_under_test.work import Sizes, Work, linear, rms_norm
from nsightlens import annotate

BATCH_SIZES, HIDDEN, WIDTH, CONTEXT = (1, 4, 16), 256, 1024, 500
SIZES = Sizes(weight=4, activation=4, cache=4)


def operation(work: Work) -> annotate.Range:
    """Return the range of an operation, with what its shape needs."""
    return annotate.op(work.name, flop=work.flop, bytes=work.bytes)


random = np.random.default_rng(0)
gain = np.ones(HIDDEN, dtype=np.float32)
up = random.standard_normal((HIDDEN, WIDTH), dtype=np.float32)
down = random.standard_normal((WIDTH, HIDDEN), dtype=np.float32)

print(f"{'batch':>6} {'operation':12} {'FLOP':>12} {'bytes':>12} {'FLOP/B':>7}")
for batch in BATCH_SIZES:
    needs = (
        rms_norm("norm", batch, HIDDEN, SIZES),
        linear("up_proj", batch, (HIDDEN, WIDTH), SIZES),
        linear("down_proj", batch, (WIDTH, HIDDEN), SIZES),
    )
    rows = random.standard_normal((batch, HIDDEN), dtype=np.float32)
    with annotate.step("decode", batch_size=batch, context=CONTEXT, query=1):
        with operation(needs[0]):
            rows *= gain / np.sqrt((rows**2).mean(-1, keepdims=True))
        with operation(needs[1]):
            inner = rows @ up
        with operation(needs[2]):
            rows = inner @ down
    for work in needs:
        intensity = work.flop / work.bytes
        print(f"{batch:>6} {work.name:12} {work.flop:>12,} {work.bytes:>12,} {intensity:>7.2f}")

print("\nwith kernels on a GPU: nsightlens profile -o run/ -- python my_decode.py")
