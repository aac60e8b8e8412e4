"""Exit codes of the command line: one table, from which the reference page is made too."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from nsightlens import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["TABLE", "ExitCode", "ExitCodeRow", "SeveralErrors", "code_of"]


class ExitCode(IntEnum):
    """What the process ends with."""

    OK = 0
    CHECK_FAILED = 1
    USAGE = 2
    NOT_FOUND = 3
    BAD_REPORT = 4
    MISSING = 5
    OUTPUT = 6
    PROFILING = 7
    INTERNAL = 70
    INTERRUPTED = 130
    PIPE_CLOSED = 141


class SeveralErrors(Exception):  # noqa: N818 - each of them is one
    """What went wrong with each of several reports, in their order; the first decides the code."""

    def __init__(self, errors: Sequence[errors.NsightLensError]) -> None:
        super().__init__(*errors)
        self.errors = tuple(errors)


class ExitCodeRow(NamedTuple):
    """One exit code, what it means and the errors that lead to it."""

    code: ExitCode
    meaning: str
    raised_by: tuple[type[BaseException], ...]


TABLE = (
    ExitCodeRow(
        ExitCode.OK,
        "Done. Also for a sound report without launches, but for `explain`, which needs one.",
        (),
    ),
    ExitCodeRow(
        ExitCode.CHECK_FAILED,
        "A check did not pass: a rule of `gate`, or what `doctor` looks at.",
        (),
    ),
    ExitCodeRow(
        ExitCode.USAGE,
        "The command line cannot be understood, no launch passes the filters, there is none to "
        "explain or it is not clear which, a GPU or a model is not known, or a file of settings or "
        "the configuration of a model cannot be used, or serving results cannot answer what was "
        "asked.",
        (
            errors.AdviceError,
            errors.FilterError,
            errors.ProfilerOptionError,
            errors.UnknownDeviceError,
            errors.SettingsFileError,
            errors.UnknownModelError,
            errors.ModelConfigError,
        ),
    ),
    ExitCodeRow(
        ExitCode.NOT_FOUND,
        "A report does not exist or cannot be opened, or a folder holds none.",
        (errors.ReportNotFoundError,),
    ),
    ExitCodeRow(
        ExitCode.BAD_REPORT,
        "A file is not a report, is damaged, or has a version that is not known.",
        (errors.ReportFormatError,),
    ),
    ExitCodeRow(
        ExitCode.MISSING,
        "A metric or an optional library that was asked for is missing, a report has nothing that "
        "the figure could show, a program such as ncu is not installed, or a Dask cluster cannot "
        "be used.",
        (
            errors.MissingMetricError,
            errors.MissingExtraError,
            errors.ProgramNotFoundError,
            errors.NothingToPlotError,
            errors.ScannerError,
            errors.ClusterError,
        ),
    ),
    ExitCodeRow(
        ExitCode.OUTPUT,
        "The output exists already (see --force) or could not be written.",
        (errors.OutputExistsError, errors.OutputError),
    ),
    ExitCodeRow(
        ExitCode.PROFILING,
        "A profiler or the program under it failed; what it had finished is kept.",
        (errors.ProfilingError,),
    ),
    ExitCodeRow(ExitCode.INTERNAL, "A fault of nsightlens: --debug shows where.", ()),
    ExitCodeRow(ExitCode.INTERRUPTED, "Interrupted from the keyboard.", (KeyboardInterrupt,)),
    ExitCodeRow(
        ExitCode.PIPE_CLOSED,
        "The reader of the output went away, as `head` does.",
        (BrokenPipeError,),
    ),
)
"""Every exit code. Where several reports fail, the first of them decides."""


def code_of(error: BaseException) -> ExitCode:
    """Return the exit code that an error leads to.

    Examples
    --------
    >>> code_of(errors.ReportNotFoundError("x.ncu-rep: there is no such file.")).value
    3
    >>> code_of(ZeroDivisionError()).name
    'INTERNAL'
    """
    if isinstance(error, SeveralErrors):
        error = error.errors[0]
    return next((row.code for row in TABLE if isinstance(error, row.raised_by)), ExitCode.INTERNAL)
