"""Promises of the readers: a diagnosis or sound tables, whatever the bytes."""

from __future__ import annotations

import warnings
import zlib
from typing import TYPE_CHECKING

from support.contents import contents
from support.mutate import claimed_result_count
from support.twins import outcome

import nsightlens
from fuzz.promise import Finding, check_error, plain, promise, read, written
from nsightlens.errors import NsightLensError, NsightLensWarning
from nsightlens.ncurep import NcuRepFile

if TYPE_CHECKING:
    from pathlib import Path

    from fuzz.promise import OnError

__all__ = ["check_csv", "check_reader", "check_tables", "check_twins"]


def check_reader(data: bytes) -> None:
    """Check that a file is refused with a diagnosis, or read as its headers claim."""
    path = written(data)
    is_thorough = zlib.crc32(data) % 4 == 0  # the rest costs as much as all before it
    found = read(path, "raise")
    if isinstance(found, NsightLensError):
        promise(str(path) in str(found), "an error does not name its file")
    else:
        promise(found.damage is None, "a sound file has damage")
        promise(len(found.results) == claimed_result_count(data), "not as many results as claimed")
        if not is_thorough:
            return
    salvaged = read(path)
    if isinstance(found, NcuRepFile):
        promise(isinstance(salvaged, NcuRepFile), "salvage refuses a sound file")
    elif isinstance(salvaged, NcuRepFile):
        promise(salvaged.damage is not None, "a salvage does not tell its damage")
        promise(bool(salvaged.results), "a salvage is empty")
    if isinstance(salvaged, NcuRepFile):
        _check_size(salvaged, len(data))
        if is_thorough:
            _check_beginning(data, salvaged)


def _check_size(file: NcuRepFile, size: int) -> None:
    """Check that every value took its bytes: a small file cannot become a large one in memory."""
    instance_count = len(file.instances.scalar) if file.instances else 0
    promise(sum(file.scalars.instance_count) == instance_count, "instances are lost")
    promise((len(file.scalars.result) + instance_count) * 4 <= size, "values came from nothing")


def _check_beginning(data: bytes, whole: NcuRepFile) -> None:
    """Check that a part of the file gives the beginning of what the whole gives."""
    part = read(written(data[: zlib.crc32(data) % (len(data) + 1)]))
    if not isinstance(part, NcuRepFile):
        return
    if whole.damage is None:
        promise(len(part.results) <= len(whole.results), "a cut file gives more results")
    for found, true in zip(contents(part), contents(whole), strict=False):
        promise(plain(found[0]) == plain(true[0]), "a cut file gives another result")
        promise(all(metric in true[1] for metric in found[1]), "a cut file gives other metrics")


def check_tables(data: bytes) -> None:
    """Check that what can be read becomes sound tables, and that every launch has a label."""
    _check_report(written(data))


def check_csv(data: bytes) -> None:
    """Check the same of text that ncu might have printed."""
    _check_report(written(data, "report.csv"))


def _check_report(path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NsightLensWarning)
        try:
            report = nsightlens.open_report(path, instances=True, on_error="salvage")
        except NsightLensError as error:
            check_error(error)
            return
    for table in (
        report.launches, report.stalls, report.metrics, report.rules, report.nvtx,
        report.sessions, report.instances,
    ):  # fmt: skip
        table.validate(full=True)
    labels = nsightlens.classify(report).labels
    promise(len(labels) == len(report), "not one label for each launch")
    promise(labels["bound"].null_count == labels["reason"].null_count == 0, "a label is missing")


_WAYS: tuple[OnError, ...] = ("raise", "salvage")


def check_twins(data: bytes) -> None:
    """Check that both scanners give the same tables to the last bit, or the same error."""
    path = written(data)
    for way in _WAYS:
        compiled, pure = outcome(path, "c", way), outcome(path, "python", way)
        promise(compiled.keys() == pure.keys(), "one scanner refuses what the other reads")
        for part, found in pure.items():
            if compiled[part] != found:
                raise Finding(f"the scanners differ in {part}")
