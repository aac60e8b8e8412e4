"""Every exception and warning of the package, under one root.

An error here is a diagnosis: it says which file, where in it, what was found and what to do next,
and carries the same facts as attributes. Each class also keeps the builtin that a caller would
expect (``ValueError`` for a damaged file, ``KeyError`` for a missing metric), so code that knows
nothing of nsightlens still catches it. The command line turns classes into exit codes in one
table, ``nsightlens.cli.exit_codes``. Imports nothing; everything else may import it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "AdviceError",
    "AmbiguousLaunchError",
    "ClusterError",
    "CompressedReportError",
    "DatasetFormatError",
    "FieldMissingError",
    "FilterError",
    "LaunchMatch",
    "MissingExtraError",
    "MissingMetricError",
    "ModelConfigError",
    "NotAReportError",
    "NotATraceError",
    "NothingToPlotError",
    "NsightLensError",
    "NsightLensWarning",
    "OutputError",
    "OutputExistsError",
    "PeaksWarning",
    "ProfilerOptionError",
    "ProfilingError",
    "ProgramNotFoundError",
    "ReaderFailedError",
    "ReportFormatError",
    "ReportNotFoundError",
    "RunFolderBusyError",
    "RunFolderMismatchError",
    "SalvageWarning",
    "ScannerError",
    "ServingFileError",
    "SettingsFileError",
    "StringIndexError",
    "TrailingBytesError",
    "TruncatedReportError",
    "UnknownDeviceError",
    "UnknownModelError",
    "UnsupportedVersionError",
    "WireFormatError",
]


class NsightLensError(Exception):
    """Root of every error that this package raises on purpose.

    Errors can be pickled, so that one raised in another process reaches the caller whole.
    """

    def __reduce__(self) -> tuple[Callable[..., NsightLensError], tuple[Any, ...]]:
        # Not by calling the class: its parameters are not what Exception keeps as args.
        return _restored, (type(self), self.args, self.__dict__)


def _restored(
    kind: type[NsightLensError], args: tuple[Any, ...], state: dict[str, Any]
) -> NsightLensError:
    error = kind.__new__(kind, *args)
    error.args = args
    error.__dict__.update(state)
    return error


class ReportNotFoundError(NsightLensError, FileNotFoundError):
    """No report lies at the path that was given.

    Raised for a path that does not exist, that cannot be read, and for a folder with no report.
    """


class ReportFormatError(NsightLensError, ValueError):
    """A file cannot be read as the report it claims to be.

    Parameters
    ----------
    path
        The file, as the caller named it.
    problem
        What was found, in one clause without a full stop.
    advice
        What the user can do next, as one sentence.
    offset
        [byte] Where in the file the problem begins; ``None`` where it concerns the whole file.
    where
        A breadcrumb of the structure being read, outermost first, such as ``"block 3"``.

    Examples
    --------
    >>> str(ReportFormatError("a.ncu-rep", "ends early", "Copy it again.", offset=8))
    'a.ncu-rep: at byte 8: ends early. Copy it again.'
    """

    def __init__(
        self,
        path: str,
        problem: str,
        advice: str,
        *,
        offset: int | None = None,
        where: Sequence[str] = (),
    ) -> None:
        self.path = path
        self.problem = problem
        self.advice = advice
        self.offset = offset
        self.where = tuple(where)
        place = f" at byte {offset}" if offset is not None else ""
        crumbs = f" in {' > '.join(self.where)}" if self.where else ""
        location = f"{place}{crumbs}:" if place or crumbs else ""
        super().__init__(f"{path}:{location} {problem}. {advice}".rstrip())


class NotAReportError(ReportFormatError):
    """The file is empty, a directory, or does not begin like an Nsight Compute report."""


class UnsupportedVersionError(ReportFormatError):
    """The container has a version whose layout is not known (older than Nsight Compute 2020.3)."""


class NotATraceError(ReportFormatError):
    """A file or folder is no export of Nsight Systems, or lacks what every export has."""


class TruncatedReportError(ReportFormatError):
    """A block or an entry claims more bytes than the file still has: the file was cut."""


class TrailingBytesError(ReportFormatError):
    """Bytes follow that do not form a block, or a block's payload holds more than its entries."""


class WireFormatError(ReportFormatError):
    """The bytes of a message do not follow the protobuf wire format."""


class FieldMissingError(ReportFormatError):
    """A result lacks a field that every result must have."""


class StringIndexError(ReportFormatError):
    """A metric refers to a name that no string table of the file defines."""


class CompressedReportError(ReportFormatError):
    """The compressed data around a report is damaged or cut, or expands beyond what is there."""


class ReaderFailedError(ReportFormatError):
    """The process that read the file ended early, or NVIDIA's reader did not give all it holds."""


class DatasetFormatError(ReportFormatError):
    """A folder is no dataset of `nsightlens.store`, has another version, or is damaged."""


class ServingFileError(ReportFormatError):
    """A file of serving results cannot be used: it is damaged, of no known kind, or says nothing.

    Also a result that must not be used, such as one in which every request failed.
    """


class MissingMetricError(NsightLensError, KeyError):
    """A metric was asked for by name and no launch of the report has it."""

    def __init__(self, metric: str, *, nearest: Sequence[str] = (), advice: str = "") -> None:
        self.metric = metric
        self.nearest = tuple(nearest)
        self.advice = advice
        near = f" Nearest names: {', '.join(self.nearest)}." if self.nearest else ""
        tail = f" {advice}" if advice else ""
        super().__init__(f"no launch of this report has the metric {metric!r}.{near}{tail}")

    def __str__(self) -> str:
        # KeyError shows the repr of its argument, which would quote a whole sentence.
        return str(self.args[0])


class MissingExtraError(NsightLensError, ImportError):
    """An optional library is needed and not installed; the message is the install line."""

    def __init__(self, purpose: str, *, package: str, extra: str) -> None:
        self.package = package
        self.extra = extra
        super().__init__(
            f"{purpose} needs {package}, which is not installed. "
            f'Install it with: pip install "nsightlens[{extra}]"'
        )


class ClusterError(NsightLensError, ConnectionError):
    """A Dask cluster cannot be reached, has no worker, was lost, or runs another nsightlens."""


class ProgramNotFoundError(NsightLensError, FileNotFoundError):
    """A program that is needed, such as ``ncu`` or ``nsys``, is not installed or cannot be run."""

    def __str__(self) -> str:
        return str(self.args[0])


class ProfilerOptionError(NsightLensError, ValueError):
    """Options of a profiler contradict each other, or its version does not have one."""


class ProfilingError(NsightLensError, RuntimeError):
    """A profiler or its target failed; the message says why and what to do on this host.

    Attributes
    ----------
    cause
        Key of the failure, as in `nsightlens.harness`; ``unknown`` where nothing tells.
    remedies
        What to do, in the order in which to try it.
    """

    def __init__(
        self, message: str, *, cause: str = "unknown", remedies: Sequence[str] = ()
    ) -> None:
        self.cause = cause
        self.remedies = tuple(remedies)
        super().__init__(message)


class NothingToPlotError(NsightLensError, ValueError):
    """A figure was asked for, and the data holds nothing that it could show."""


class ScannerError(NsightLensError, ImportError):
    """The compiled scanner was asked for, and this installation has none."""


class FilterError(NsightLensError, ValueError):
    """A filter given by the user cannot be understood, or nothing passes it."""


class AdviceError(NsightLensError, ValueError):
    """What was measured cannot answer the question, or it is not clear which sweep is meant."""


class LaunchMatch(NamedTuple):
    """A launch that an ambiguous name stands for; ``duration_ns`` [ns] may be ``None``."""

    report: str | None
    launch_id: int
    kernel: str | None
    duration_ns: float | None


class AmbiguousLaunchError(FilterError):
    """One launch was asked for, and several match.

    Parameters
    ----------
    problem
        What was asked for and how many match, in one clause.
    matches
        The launches that match, in the order of the report.

    Examples
    --------
    >>> matches = [LaunchMatch("a.ncu-rep", i, "gemm", 1e3) for i in (0, 4)]
    >>> str(AmbiguousLaunchError("'gemm' matches 2 launches", matches))
    "'gemm' matches 2 launches: name one by its id, or say which with --nth (in Python: nth=1)."
    """

    def __init__(self, problem: str, matches: Sequence[LaunchMatch]) -> None:
        self.matches = tuple(matches)
        remedy = "name one by its id, or say which with --nth (in Python: nth=1)"
        super().__init__(f"{problem}: {remedy}.")


class SettingsFileError(NsightLensError, ValueError):
    """A file of the user's, such as one of measured peaks, cannot be used.

    Parameters
    ----------
    path
        The file, as the caller named it.
    problem
        What was found, in one clause without a full stop.
    advice
        What the user can do next, as one sentence.
    where
        The table of the file in which it is, such as ``"[[device]] 2"``; empty for the whole file.

    Examples
    --------
    >>> str(SettingsFileError("p.toml", "has no source", "Add one.", where="[[device]] 1"))
    'p.toml: in [[device]] 1: has no source. Add one.'
    """

    def __init__(self, path: str, problem: str, advice: str, *, where: str = "") -> None:
        self.path = path
        self.problem = problem
        self.advice = advice
        self.where = where
        place = f" in {where}:" if where else ""
        super().__init__(f"{path}:{place} {problem}. {advice}".rstrip())


class UnknownDeviceError(NsightLensError, LookupError):
    """A GPU that was named is none of the known products, or is several of them."""


class UnknownModelError(NsightLensError, LookupError):
    """A model that was named is neither built in nor a file."""


class ModelConfigError(NsightLensError, ValueError):
    """The configuration of a model cannot be used.

    Parameters
    ----------
    path
        The file, as the caller named it.
    problem
        What was found, in one clause without a full stop.
    advice
        What the user can do next, as one sentence.
    key
        The key that is missing or wrong; empty where it concerns the whole file.

    Examples
    --------
    >>> str(ModelConfigError("c.json", "has no hidden_size", "Add it.", key="hidden_size"))
    'c.json: has no hidden_size. Add it.'
    """

    def __init__(self, path: str, problem: str, advice: str, *, key: str = "") -> None:
        self.path = path
        self.problem = problem
        self.advice = advice
        self.key = key
        super().__init__(f"{path}: {problem}. {advice}".rstrip())


class OutputError(NsightLensError, OSError):
    """A result could not be written; what was there before is unchanged."""


class RunFolderBusyError(OutputError):
    """Another run writes into the run folder."""


class RunFolderMismatchError(OutputError):
    """A run folder holds another run than the one that was asked for."""


class OutputExistsError(NsightLensError, FileExistsError):
    """The output exists already and overwriting was not asked for."""

    def __init__(self, path: str, *, remedy: str = "add --force (in Python: force=True)") -> None:
        self.path = path
        super().__init__(f"{path} exists already. Choose another name, or {remedy} to replace it.")

    def __str__(self) -> str:
        return str(self.args[0])


class NsightLensWarning(UserWarning):
    """Root of every warning of this package."""


class SalvageWarning(NsightLensWarning):
    """A damaged report was read up to the damage, because the caller asked for that."""


class PeaksWarning(NsightLensWarning):
    """Peaks were given for a device on which launches did not run."""
