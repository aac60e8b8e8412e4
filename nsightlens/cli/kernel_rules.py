"""``--kernel-rules``: rules for kernel names that are asked before the built-in ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nsightlens.cli.arguments import Once, name_of_file

if TYPE_CHECKING:
    import argparse

    from nsightlens.kernels import UserRules

__all__ = ["add_kernel_rules", "check_kernel_rules", "rules_of"]


def add_kernel_rules(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    group = parser.add_argument_group("kernel names")
    group.add_argument(
        "--kernel-rules",
        action=Once,
        metavar="FILE",
        type=name_of_file,
        help="TOML file of rules that say what kernels are by their names; they are asked before "
        "the built-in ones",
    )


def check_kernel_rules(args: argparse.Namespace) -> None:
    """Refuse a file that cannot be used before any report is read.

    Raises
    ------
    SettingsFileError
        See `nsightlens.kernels.read_user_rules`.
    """
    rules_of(args)


def rules_of(args: argparse.Namespace) -> UserRules | None:
    """Return the rules that were asked for, read once; None where the command takes none."""
    path = getattr(args, "kernel_rules", None)
    if path is None:
        return None
    if "read_kernel_rules" not in args:
        from nsightlens.kernels import read_user_rules

        args.read_kernel_rules = read_user_rules(path)
    rules: UserRules = args.read_kernel_rules
    return rules
