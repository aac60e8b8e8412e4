"""``python -m kernels_under_test.decode`` as a profiler sees it: annotated steps, and no torch.

Takes the options that `nsightlens.harness.plan` gives, and annotates layers of the size of
OPT-1.3B whatever the model. A real model takes seconds to load, and the tests run hundreds.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

MY_DECODE = Path(__file__).resolve().parents[2] / "my_decode.py"


def main() -> None:
    """Decode at every batch size."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", required=True)
    parser.add_argument("--batch-sizes", required=True)
    parser.add_argument("--context", default="500")
    parser.add_argument("--seed", default="0")
    parser.add_argument("--layers", default="1")
    parser.add_argument("--prefill", action="store_true")
    parser.add_argument("--profiler-window", action="store_true")
    args, _ = parser.parse_known_args()
    words = ["--batch-sizes", args.batch_sizes, "--context", args.context, "--layers", args.layers]
    sys.argv = [str(MY_DECODE), *words]
    runpy.run_path(str(MY_DECODE), run_name="__main__")


if __name__ == "__main__":
    main()
