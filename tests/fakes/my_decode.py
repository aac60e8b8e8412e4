"""A program of a user's that decodes: annotated with `nsightlens.annotate`, without torch or GPU.

Operations and bytes are those of layers of the size of OPT-1.3B in fp16, so that under a fake
profiler the sweep table is that of a real model: attention flat, GEMMs rising with the batch.
"""

from __future__ import annotations

import argparse
import sys

from nsightlens import annotate

DIM, HEADS, FEED_FORWARD, BYTES = 2048, 32, 8192, 2


def decode_step(batch: int, context: int, layers: int) -> None:
    """Run one decode step."""
    with annotate.step("decode", batch_size=batch, context=context, query=1):
        for _ in range(layers):
            _small("attention_norm", 7.0 * batch * DIM, 2 * batch * DIM)
            _linear("qkv_proj", batch, DIM, 3 * DIM)
            _small("kv_cache_write", 0.0, 4 * batch * DIM)
            _attention(batch, context)
            _linear("out_proj", batch, DIM, DIM)
            _small("attention_residual", 1.0 * batch * DIM, 3 * batch * DIM)
            _small("feed_forward_norm", 7.0 * batch * DIM, 2 * batch * DIM)
            _linear("fc1", batch, DIM, FEED_FORWARD)
            _small("relu", 0.0, 2 * batch * FEED_FORWARD)
            _linear("fc2", batch, FEED_FORWARD, DIM)
            _small("feed_forward_residual", 1.0 * batch * DIM, 3 * batch * DIM)


def _linear(name: str, batch: int, inputs: int, outputs: int) -> None:
    moved = BYTES * (inputs * outputs + batch * (inputs + outputs))
    with annotate.op(name, flop=2 * batch * inputs * outputs, bytes=moved):
        pass


def _attention(batch: int, context: int) -> None:
    moved = 2 * BYTES * batch * context * DIM
    with annotate.op("attention", flop=4 * batch * context * DIM, bytes=moved):
        pass


def _small(name: str, flop: float, elements: int) -> None:
    with annotate.op(name, flop=flop, bytes=BYTES * elements):
        pass


def main() -> None:
    """Decode at every batch size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-sizes", default="1,8,64,512")
    parser.add_argument("--context", type=int, default=500)
    parser.add_argument("--layers", type=int, default=1)
    args = parser.parse_args()
    sys.stdout.write("decoding\n")
    for batch in args.batch_sizes.split(","):
        decode_step(int(batch), args.context, args.layers)


if __name__ == "__main__":
    main()
