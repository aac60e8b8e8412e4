"""The program ``nsightlens`` and ``python -m nsightlens``: the command line as a process."""

from __future__ import annotations

import gc
import sys

from nsightlens.cli.interrupt import listen

__all__ = ["main"]


def main() -> int:
    """Run the command line with the arguments of the process; return the exit code."""
    # Loading the libraries makes many objects that all stay. To look through them again and again
    # for garbage takes a twentieth of the time of a short command.
    gc.set_threshold(100_000, 50, 50)
    try:
        listen()
        # Here, so that an interrupt of the imports is caught too.
        from nsightlens.cli.main import main as run  # noqa: PLC0415

        return run()
    except KeyboardInterrupt:
        from nsightlens.cli.exit_codes import ExitCode  # noqa: PLC0415
        from nsightlens.cli.talk import say  # noqa: PLC0415

        say("error", "interrupted")
        return ExitCode.INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
