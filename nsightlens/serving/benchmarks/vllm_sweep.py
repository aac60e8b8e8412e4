"""What lies beside the runs of ``vllm bench sweep`` and is none: refused, each with the reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from nsightlens.errors import ServingFileError
from nsightlens.serving.part import Format

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsightlens.serving.opened import OpenedFile
    from nsightlens.serving.part import Part

__all__ = ["SWEEP_FORMATS", "refuse_beside_runs"]

_RUNS = ("run=*.json", "*/run=*.json")


def refuse_beside_runs(file: OpenedFile, objects: Sequence[Mapping[str, Any]]) -> None:
    """Refuse the warm-up of a sweep, and a summary of runs that lie there themselves.

    Raises
    ------
    ServingFileError
        The file is one of these.
    """
    if file.name == "warmup.json":
        raise ServingFileError(
            file.shown, "is the warm-up of a sweep, not a measurement", "Use the run=<n>.json."
        )
    if not file.looks_like_json or isinstance(file.json, list):
        is_summary = bool(objects) and all("run_number" in data for data in objects)
        folder = file.path.parent
        beside = (
            one
            for pattern in _RUNS
            for one in folder.glob(pattern)
            if not one.name.endswith(".failure.json")
        )
        if is_summary and next(beside, None) is not None:
            raise ServingFileError(
                file.shown,
                "repeats the results of the runs that lie beside it",
                "They are read from their run=<n>.json.",
            )


def _is_failure(file: OpenedFile) -> bool:
    if '"error_type"' not in file.head or not file.looks_like_json:
        return False
    data = file.json
    return isinstance(data, dict) and {"error_type", "error"} <= data.keys() and (
        "serve_overrides" in data or "bench_overrides" in data
    )  # fmt: skip


def _read_failure(file: OpenedFile) -> list[Part]:
    data: dict[str, Any] = file.json
    lines = str(data.get("error") or "").strip().splitlines()
    reason = f"{data.get('error_type')}: {lines[0][:120]}" if lines else str(data["error_type"])
    number = data.get("run_number")
    which = f"run {number} of a sweep" if number is not None else "a sweep"
    raise ServingFileError(
        file.shown,
        f"says that {which} failed ({reason.rstrip('.')})",
        "That combination of settings has no result.",
    )


def _is_records(file: OpenedFile) -> bool:
    """Whether a file is the list of records for PyTorch's dashboard, written beside a result."""
    if '"benchmark"' not in file.head or not file.looks_like_json:
        return False
    data = file.json
    first = data[0] if isinstance(data, list) and data else None
    return isinstance(first, dict) and {"benchmark", "model", "metric"} <= first.keys()


def _read_records(file: OpenedFile) -> NoReturn:
    raise ServingFileError(
        file.shown,
        "holds records for PyTorch's dashboard, which repeat a result in part",
        "Give the JSON of the same name without .pytorch.",
    )


SWEEP_FORMATS: tuple[Format, ...] = (
    Format("vllm-sweep-failure", "failed run of vllm bench sweep", _is_failure, _read_failure),
    Format("vllm-pytorch", "records for PyTorch's dashboard", _is_records, _read_records),
)
