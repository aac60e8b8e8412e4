"""``nsightlens predict``: the tables of a sweep for a model and a GPU, without either."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from nsightlens.cli import arguments
from nsightlens.cli.arguments import Once, name_of_file, positive
from nsightlens.cli.output import check_output, chosen_format, chosen_style, write_result
from nsightlens.cli.talk import say
from nsightlens.errors import FilterError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from nsightlens.sweeps.predict import Prediction

__all__ = ["DESCRIPTION", "EPILOG", "HELP", "add_arguments", "run"]

HELP = "say what a model's steps need on a GPU, without a report"
DESCRIPTION = """\
Says what every family of operations of a model needs at each batch size, and on
which side of the ridge point of a GPU it lies: the tables of sweep, computed
from shapes and peaks alone. Durations are roofline times. Nothing is measured,
so that what only a measurement can tell is left open."""
EPILOG = """\
examples:
  nsightlens predict --model yi-34b --device H200 --batch-sizes 1:8 --context 99
  nsightlens predict --model . --device L4 --batch-sizes 1,8 --context 99 --tp 2
  nsightlens predict --list-models"""

FORMATS = ("table", "json", "csv", "markdown")
WEIGHT_TYPES = ("fp32", "fp16", "bf16", "fp8", "int8", "int4", "nvfp4", "mxfp4")
"""Those of `nsightlens.models.WEIGHT_BYTES`, here without loading it."""
KV_TYPES = ("fp32", "fp16", "bf16", "fp8", "int8", "int4")
"""Those of `nsightlens.sweeps.predict_dtypes.KV_BYTES`."""
CLOCKS = ("sheet", "boost", "base")
"""Those of `nsightlens.sweeps.predict_peaks`."""
_NEEDED = ("model", "device", "batch_sizes", "context")
_OPTIONS = (
    "by", "model", "device", "peaks", "batch_sizes", "context", "query", "phase", "weight_dtype",
    "kv_dtype", "tp", "clock",
)  # fmt: skip
"""What the JSON repeats of the command line."""
LARGEST_BATCH_SIZE = 1_000_000
LARGEST_CONTEXT = 1_000_000_000
"""Those of `nsightlens.sweeps.predict_inputs`."""
_MOST = 4096
"""Batch sizes, and GPUs: more than anybody can mean."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command."""
    _add_step(parser)
    _add_gpu(parser)
    parser.add_argument(
        "--by",
        choices=("family", "operation"),
        default="family",
        help="what a row is, at each batch size (default: family)",
    )
    arguments.add_output(parser, FORMATS)
    arguments.add_text(parser, names=False)


def _add_step(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("model and step")
    group.add_argument(
        "--model",
        action=Once,
        metavar="NAME",
        type=name_of_file,
        help="a config.json of Hugging Face, or its folder, or a built-in name such as llama-3-8b",
    )
    group.add_argument(
        "--list-models", action="store_true", help="list the built-in models and leave"
    )
    group.add_argument(
        "--batch-sizes",
        action=Once,
        metavar="LIST",
        type=batch_sizes,
        help="such as 1,8,64; 1:100 stands for 1, 2, 4, ... 64 and 100",
    )
    group.add_argument(
        "--context",
        action=Once,
        metavar="TOKENS",
        type=tokens,
        help="tokens that the last token of each sequence sees, its own included",
    )
    group.add_argument(
        "--query",
        action=Once,
        metavar="TOKENS",
        type=tokens,
        help="query tokens of each sequence (default: 1; in a prefill the whole context)",
    )
    group.add_argument(
        "--phase",
        choices=("decode", "prefill"),
        help="what the step is (default: decode, unless --query is the whole context)",
    )
    group.add_argument(
        "--weight-dtype",
        metavar="TYPE",
        choices=WEIGHT_TYPES,
        help=f"type of the weights: {', '.join(WEIGHT_TYPES)} (default: as they were published or "
        "the configuration says, else fp16)",
    )
    group.add_argument("--kv-dtype", choices=KV_TYPES, help="type of the KV cache (default: fp16)")


def _add_gpu(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("GPU")
    group.add_argument(
        "--device",
        action=Once,
        metavar="NAME",
        nargs="+",
        help="name of the GPU, as for classify --device; its words need no quotes",
    )
    group.add_argument(
        "--peaks",
        action=Once,
        metavar="FILE",
        type=name_of_file,
        help="measured ceilings, as for classify --peaks",
    )
    group.add_argument(
        "--clock",
        choices=CLOCKS,
        default="sheet",
        help="SM clock of the peaks: that of the data sheet's tensor figures, the highest, or the "
        "one that ncu locks (default: sheet)",
    )
    group.add_argument(
        "--tp",
        metavar="N",
        type=gpus,
        default=1,
        help="GPUs that share the model by tensor parallelism; the tables are of one of them",
    )


def batch_sizes(text: str) -> list[int]:
    """Return batch sizes from the command line, ascending.

    ``A:B`` doubles from A on, and ends with B whatever comes before it: a range that was asked for
    is covered.

    Examples
    --------
    >>> batch_sizes("1:16,24"), batch_sizes("3:20")
    ([1, 2, 4, 8, 16, 24], [3, 6, 12, 20])
    """
    found: set[int] = set()
    for word in text.split(","):
        first, colon, last = word.partition(":")
        low = _batch(first)
        high = _batch(last) if colon else low
        if high < low:
            raise argparse.ArgumentTypeError(f"{word}: {high} is less than {low}")
        while low < high:
            found.add(low)
            low *= 2
        found.add(high)
    if len(found) > _MOST:
        raise argparse.ArgumentTypeError(f"{len(found)} batch sizes are more than {_MOST}")
    return sorted(found)


def batch_sizes_with_dots(text: str) -> list[int]:
    """Return batch sizes; ``A,...,B`` is another spelling of ``A:B``.

    Examples
    --------
    >>> batch_sizes_with_dots("1:8"), batch_sizes_with_dots("1,2,4,...,32,48")
    ([1, 2, 4, 8], [1, 2, 4, 8, 16, 32, 48])
    """
    return batch_sizes(re.sub(r"(\d+),\s*\.\.\.,\s*(\d+)", r"\1:\2", text))


def _batch(text: str) -> int:
    return _up_to(LARGEST_BATCH_SIZE, text.strip())


def tokens(text: str) -> int:
    """Return a number of tokens from the command line."""
    return _up_to(LARGEST_CONTEXT, text)


def gpus(text: str) -> int:
    """Return a number of GPUs from the command line."""
    return _up_to(_MOST, text)


def _up_to(most: int, text: str) -> int:
    number = positive(text)
    if number > most:
        # Of a number that is far too large nobody wants to see every digit.
        raise argparse.ArgumentTypeError(f"{text:.20} is more than {most}")
    return number


def run(args: argparse.Namespace) -> int:
    """Predict a sweep and write it, or list the models."""
    check_output(args, [])
    if args.list_models:
        write_result(args, _models(args))
        return 0
    missing = [f"--{name.replace('_', '-')}" for name in _NEEDED if getattr(args, name) is None]
    if missing:
        raise FilterError(
            f"{', '.join(missing)} must be given. See the examples of nsightlens predict --help."
        )
    found = _prediction(args)
    for text in found.sweep.warnings:
        say("warning", text)
    write_result(args, _pieces(args, found))
    return 0


def _prediction(args: argparse.Namespace) -> Prediction:
    from nsightlens.sweeps.predict import prediction

    if args.query is not None and args.query > args.context:
        raise FilterError(
            f"--query {args.query} is more than --context {args.context}, which counts the query "
            "tokens too."
        )
    return prediction(
        args.model,
        " ".join(args.device),
        args.batch_sizes,
        args.context,
        query_length=args.query,
        phase=args.phase,
        weight_dtype=args.weight_dtype,
        kv_dtype=args.kv_dtype,
        gpu_count=args.tp,
        clock=args.clock,
        peaks=args.peaks,
        by=args.by,
    )


def _pieces(args: argparse.Namespace, found: Prediction) -> Iterable[str]:
    from nsightlens.cli.sweep import sweep_pieces

    form = chosen_format(args)
    if form == "json":
        return sweep_pieces(found.sweep, form, _source(args, found))
    if form == "csv":
        return sweep_pieces(found.sweep, form)
    if form == "markdown":
        return [_markdown(found)]
    return [_text(args, found)]


def _source(args: argparse.Namespace, found: Prediction) -> dict[str, Any]:
    from nsightlens.cli.source import source_from
    from nsightlens.render.prediction import prediction_data

    options = {name: getattr(args, name) for name in _OPTIONS}
    options["device"] = " ".join(args.device)
    return {**source_from([], [], [], options), "prediction": prediction_data(found)}


def _text(args: argparse.Namespace, found: Prediction) -> str:
    from nsightlens.render.prediction import prediction_lines
    from nsightlens.render.sweep_text import SweepView, sweep_text

    style = chosen_style(args)
    view = SweepView(sweep=found.sweep, heading=_heading(found))
    facts = "".join(f"{line}\n" for line in prediction_lines(found, style))
    heading, _, rest = sweep_text(view, style).partition("\n\n")
    return f"{heading}\n\n{facts}\n{rest}"


def _heading(found: Prediction) -> list[str]:
    tokens = f"context {found.context_length}"
    if found.query_length > 1:
        tokens += f", {found.query_length} query tokens"
    return [found.model.name, found.phase, tokens]


def _markdown(found: Prediction) -> str:
    from nsightlens.render.prediction import prediction_facts
    from nsightlens.render.sweep_markdown import sweep_markdown

    return sweep_markdown(found.sweep, heading=_heading(found), facts=prediction_facts(found))


def _models(args: argparse.Namespace) -> Iterable[str]:
    from nsightlens.models import builtin_models, parameter_count, read_model
    from nsightlens.render.grid import GridColumn

    known = builtin_models()
    models = [read_model(one.name) for one in known]
    columns = [
        GridColumn("model", [one.name for one in known], 1000),
        GridColumn("parameters", [f"{parameter_count(one):,}" for one in models], 900, "right"),
        GridColumn("KV elements\na token", [f"{one.kv_elements_per_token:,}" for one in models],
                   800, "right"),
        GridColumn("weights", [one.stored_weights.dtype if one.stored_weights else ""
                               for one in models], 750),
        GridColumn("also", [", ".join(one.aliases) for one in known], 600, comfortable=12),
        GridColumn("source", [one.source for one in known], 700, comfortable=24, cut="end"),
    ]  # fmt: skip
    form = chosen_format(args)
    if form == "markdown":
        from nsightlens.render.markdown import markdown_table

        return [markdown_table(columns)]
    if form != "table":
        raise FilterError(f"--list-models is written as table or markdown, not as {form}.")
    from nsightlens.render.metric_table import table_lines

    return (line + "\n" for line in table_lines(columns, chosen_style(args)))
