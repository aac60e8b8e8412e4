"""Options that say what the GPU can do, in place of the report: ``--device`` and ``--peaks``."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from nsightlens.cli.arguments import Once, name_of_file
from nsightlens.cli.kernel_rules import rules_of
from nsightlens.cli.step_rules import step_rules_of
from nsightlens.cli.talk import say

if TYPE_CHECKING:
    import argparse

    from nsightlens.analysis.classification import By, Classification
    from nsightlens.report import Report

__all__ = ["add_peaks", "check_peaks", "classified", "named_device"]


def add_peaks(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    group = parser.add_argument_group(
        "peaks",
        "What stands here wins over what the report says of its GPU.",
    )
    group.add_argument(
        "--device",
        action=Once,
        metavar="NAME",
        type=name_of_file,
        help="take the peaks of this GPU, by the driver's name or the product's; "
        "nsightlens devices lists them",
    )
    group.add_argument(
        "--peaks",
        action=Once,
        metavar="FILE",
        type=name_of_file,
        help="TOML file of measured ceilings, each for the GPU that it names",
    )


def check_peaks(args: argparse.Namespace) -> None:
    """Refuse what cannot be used before any report is read.

    Raises
    ------
    UnknownDeviceError, SettingsFileError
        See `nsightlens.devices.peak_overrides`.
    """
    if args.device is None and args.peaks is None:
        return
    from nsightlens.devices import peak_overrides

    peak_overrides(args.device, args.peaks)


def named_device(args: argparse.Namespace) -> str:
    """Return the product that ``--device`` names, "" for none."""
    if args.device is None:
        return ""
    from nsightlens.devices.overrides import named_product

    return named_product(args.device).name


def classified(args: argparse.Namespace, report: Report, by: By) -> Classification:
    """Classify with the peaks that were asked for, and tell what was noticed."""
    from nsightlens.analysis import classify
    from nsightlens.errors import PeaksWarning

    with warnings.catch_warnings():
        # Said below, as everything is that the person must know.
        warnings.simplefilter("ignore", PeaksWarning)
        result = classify(
            report,
            by=by,
            device=args.device,
            peaks=args.peaks,
            kernel_rules=rules_of(args),
            step_rules=step_rules_of(args),
        )
    for text in result.warnings:
        say("warning", text)
    return result
