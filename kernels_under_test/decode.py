"""``python -m kernels_under_test.decode``: decode steps of a model with random weights.

What `nsightlens profile --model` starts under a profiler; it runs without one too. Needs PyTorch,
which is loaded when the command line has been understood.
"""

from __future__ import annotations

import argparse
import json
import sys
from enum import IntEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kernels_under_test.backends import ATTENTION
from kernels_under_test.dtypes import DTYPES, dtype_name
from kernels_under_test.models import OWN_MODELS, model_to_run
from kernels_under_test.refusals import NotAvailableError, find_torch
from nsightlens.cli import predict
from nsightlens.cli.arguments import Once, OneLineParser
from nsightlens.cli.talk import tell
from nsightlens.errors import NsightLensError
from nsightlens.units import format_quantity

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import NoReturn

    from kernels_under_test.sweep import BatchResult, Request
    from nsightlens.models import ModelConfig

__all__ = ["ExitCode", "main"]

_NAME = "kernels_under_test.decode"
_BLOCK_TOKENS = 16
_EPILOG = """\
models of this package, beside those of nsightlens predict --list-models:
  {models}

exit codes:
  0  done
  2  the command line or the model cannot be understood
  3  memory ran out at some batch size; the others were run
  4  a device, a type or a backend is not available here; nothing was run

examples:
  python -m kernels_under_test.decode --model opt-1.3b --batch-sizes 1,2,4,...,512 --context 500
  python -m kernels_under_test.decode --model tiny-llama --batch-sizes 1:8 --context 64 \
--device cpu --dtype float32 --attention eager --json"""


class ExitCode(IntEnum):
    """What the program ends with."""

    OK = 0
    USAGE = 2
    OUT_OF_MEMORY = 3
    NOT_AVAILABLE = 4


class _Parser(OneLineParser):
    """A parser that names this program."""

    def error(self, message: str) -> NoReturn:
        """Write the error and leave with the exit code of a usage error."""
        self.exit(ExitCode.USAGE, f"{_NAME}: error: {message}. See: python -m {_NAME} --help\n")


def _from_zero(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or int(text) > predict.LARGEST_CONTEXT:
        raise argparse.ArgumentTypeError(f"{text!r:.40} is not a whole number from 0 on")
    return int(text)


def _dtype(text: str) -> str:
    try:
        return dtype_name(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    made = _Parser(
        prog=f"python -m {_NAME}",
        description="Runs decode steps of a model with random weights, each operation in an NVTX "
        "range with the FLOPs and bytes that its shape needs.",
        epilog=_EPILOG.format(models=", ".join(OWN_MODELS)),
    )
    _add_step(made)
    _add_way(made)
    _add_run(made)
    return made


def _add_step(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("model and step")
    group.add_argument(
        "--model",
        metavar="NAME",
        required=True,
        help="built-in name, name of this package, or a config.json of Hugging Face or its folder",
    )
    group.add_argument(
        "--batch-sizes",
        metavar="LIST",
        action=Once,
        type=predict.batch_sizes_with_dots,
        required=True,
        help="sequences in a step: 1,8,64; A:B and A,...,B double from A on",
    )
    group.add_argument(
        "--context",
        metavar="N",
        type=predict.tokens,
        required=True,
        help="tokens that a decode step attends to, its own included",
    )
    group.add_argument(
        "--layers",
        metavar="N",
        type=predict.tokens,
        help="first layers of the model (default: all)",
    )
    group.add_argument(
        "--prefill",
        action="store_true",
        help="run the tokens before the last as a prompt, in place of a cache of random keys",
    )


def _add_way(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("how it is computed")
    group.add_argument(
        "--dtype",
        metavar="TYPE",
        type=_dtype,
        default="float16",
        help=f"{', '.join(DTYPES)} (fp16, bf16, fp32); fp8: linear layers in FP8, all else in "
        "bfloat16 (default: float16)",
    )
    group.add_argument(
        "--attention", choices=ATTENTION, default="sdpa", help="backend (default: sdpa)"
    )
    group.add_argument(
        "--cache",
        choices=("contiguous", "paged"),
        default="contiguous",
        help="KV cache: one piece per layer, or blocks in any order (default: contiguous)",
    )
    group.add_argument(
        "--block-size",
        metavar="N",
        type=predict.tokens,
        default=_BLOCK_TOKENS,
        help=f"tokens of a block of a paged cache (default: {_BLOCK_TOKENS})",
    )
    group.add_argument(
        "--experts",
        choices=("loop", "grouped"),
        default="loop",
        help="products of experts: one launch for each, or one for all (default: loop)",
    )
    group.add_argument(
        "--latent",
        choices=("absorbed", "expanded"),
        default="absorbed",
        help="latent attention in a decode step: to the latent vectors, or to keys and values of "
        "all heads made from them (default: absorbed)",
    )
    group.add_argument(
        "--cuda-graphs", action="store_true", help="record a decode step, and replay it"
    )
    group.add_argument("--device", default="cuda", help="cuda, cuda:1, ... or cpu (default: cuda)")


def _add_run(made: argparse.ArgumentParser) -> None:
    group = made.add_argument_group("run")
    group.add_argument(
        "--warmup", metavar="N", type=_from_zero, default=2,
        help="decode steps before, without ranges (default: 2)",
    )  # fmt: skip
    group.add_argument(
        "--steps", metavar="N", type=predict.tokens, default=1,
        help="decode steps that are measured, all at the same context (default: 1)",
    )  # fmt: skip
    group.add_argument(
        "--seed", metavar="N", type=_from_zero, default=0,
        help="of weights, cache and tokens (default: 0)",
    )  # fmt: skip
    group.add_argument(
        "--profiler-window",
        action="store_true",
        help="call cudaProfilerStart and Stop around the measured steps of each batch size",
    )
    group.add_argument("--json", action="store_true", help="write one JSON object per batch size")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the program and return its exit code.

    Parameters
    ----------
    argv
        Arguments; None for those of the process.
    """
    args = parser().parse_args(argv)
    try:
        model = _model(args)
        find_torch()
        _note_missing_nvtx()
        return _run(args, model)
    except NotAvailableError as error:
        _say(f"{error}.")
        return ExitCode.NOT_AVAILABLE
    except (NsightLensError, ValueError) as error:
        _say(str(error))
        return ExitCode.USAGE


def _note_missing_nvtx() -> None:
    """Say that there will be no ranges: a profiler that filters by them would find no kernel."""
    if "nvtx" not in sys.modules and find_spec("nvtx") is None:
        tell(f"{_NAME}: warning: nvtx is not installed, so that no range is made: "
             "pip install nvtx\n")  # fmt: skip


def _say(message: str) -> None:
    tell(f"{_NAME}: error: {' '.join(message.split())}\n")


def _model(args: argparse.Namespace) -> ModelConfig:
    """Return the model, and refuse what does not fit it.

    Raises
    ------
    ValueError
        The prompt would be empty, or the model has too few positions.
    """
    model = model_to_run(args.model, args.layers)
    if args.prefill and args.context < 2:
        raise ValueError("--prefill leaves no prompt before the last of --context 1 tokens.")
    longest = model.longest_context
    if model.position_count and longest is not None and args.context > longest:
        raise ValueError(
            f"--context {args.context}: {model.name} has learned {longest} positions, and no more."
        )
    return model


def _request(args: argparse.Namespace, model: ModelConfig) -> Request:
    from kernels_under_test.measure import Plan  # noqa: PLC0415 - loads PyTorch
    from kernels_under_test.sweep import Request  # noqa: PLC0415 - as above

    plan = Plan(
        context_length=args.context,
        has_prefill=args.prefill,
        has_cuda_graphs=args.cuda_graphs,
        block_token_count=args.block_size if args.cache == "paged" else None,
        warmup_count=args.warmup,
        step_count=args.steps,
        seed=args.seed,
        has_window=args.profiler_window,
    )
    return Request(
        model=model,
        batch_sizes=args.batch_sizes,
        plan=plan,
        dtype=args.dtype,
        attention=args.attention,
        device=args.device,
        expands_latent=args.latent == "expanded",
        groups_experts=args.experts == "grouped",
    )


def _run(args: argparse.Namespace, model: ModelConfig) -> int:
    from kernels_under_test.sweep import WeightsTooLargeError, sweep  # noqa: PLC0415 - PyTorch

    code = ExitCode.OK
    try:
        for result in sweep(_request(args, model)):
            if result.problem:
                code = ExitCode.OUT_OF_MEMORY
                _say(result.problem)
            if args.json:
                sys.stdout.write(json.dumps(_data(args, model, result)) + "\n")
            elif result.times is not None:
                sys.stdout.write(_line(result) + "\n")
            # A profiler that ends this process loses nothing that is done.
            sys.stdout.flush()
    except WeightsTooLargeError as error:
        _say(f"{error}.")
        return ExitCode.OUT_OF_MEMORY
    return code


def _data(args: argparse.Namespace, model: ModelConfig, result: BatchResult) -> dict[str, Any]:
    """Return what the JSON says of a batch size; what is not known is null."""
    times = result.times
    return {
        "model": model.name,
        "layer_count": model.layer_count,
        "batch_size": result.batch_size,
        "context_length": args.context,
        "query_length": 1,
        "dtype": args.dtype,
        "attention": args.attention,
        "cache": args.cache,
        "has_cuda_graphs": args.cuda_graphs,
        "device_name": result.device_name,
        "seed": args.seed,
        "step_count": args.steps if times else 0,
        "median_step_ns": times and times.median_step_ns,
        "prefill_ns": times and times.prefill_ns,
        "weights_bytes": result.weights_bytes,
        "kv_cache_bytes": times and times.kv_cache_bytes,
        "peak_memory_bytes": times and times.peak_memory_bytes,
        "experts_per_layer": times and times.expert_count,
        "first_tokens": times and times.first_tokens,
        "problem": result.problem or None,
    }


def _line(result: BatchResult) -> str:
    """Say to a person what came of a batch size."""
    times = result.times
    assert times is not None
    rate = result.batch_size * 1e9 / times.median_step_ns
    parts = [
        f"batch {result.batch_size}: {format_quantity(times.median_step_ns, 'ns')} a decode step",
        f"{rate:,.0f} tokens/s",
        f"KV cache {format_quantity(times.kv_cache_bytes, 'B')}",
    ]
    if times.prefill_ns is not None:
        parts.insert(1, f"prefill {format_quantity(times.prefill_ns, 'ns')}")
    if times.peak_memory_bytes is not None:
        parts.append(f"at most {format_quantity(times.peak_memory_bytes, 'B')} allocated")
    return ", ".join(parts)


if __name__ == "__main__":
    sys.exit(main())
