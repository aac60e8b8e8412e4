"""A run folder: who may write into it, and how an output reaches its place.

An output is made below ``.partial``, checked, noted in the manifest with its checksum, and only
then renamed to its place, so that at whatever moment this process is killed the next one knows for
each part whether it is finished. One run at a time: a lock on a file in the folder, which the
system lets go of when its holder ends, however it ends.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import platform
import shutil
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from nsightlens.errors import OutputError, RunFolderBusyError, RunFolderMismatchError
from nsightlens.harness.manifest import (
    MANIFEST,
    Output,
    continued,
    differences,
    read_manifest,
    write_manifest,
)
from nsightlens.programs import end_marked
from nsightlens.readers.find import PARTIAL

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from nsightlens.harness.manifest import PartRecord, RunManifest

__all__ = ["FOLDERS", "RUN_VARIABLE", "TABLES", "RunFolder", "now", "opened"]

RUN_VARIABLE = "NSIGHTLENS_RUN"
"""Variable of every process below a run: its value is the id of the run."""
FOLDERS = ("reports", "traces", "logs", "tables")
TABLES = (
    "launches", "labels", "sweep", "sweep_trends", "sweep_steps", "trace_kernels", "joined",
    "joined_families",
)  # fmt: skip
"""Tables that a run makes."""
_LOCK = ".lock"
_OURS = {MANIFEST, _LOCK, PARTIAL, *FOLDERS}
_BLOCK_BYTES = 1 << 20


def now() -> str:
    """Return the time as a manifest has it, in UTC."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


class RunFolder:
    """A run folder that this process alone writes into; see `opened`.

    Parameters
    ----------
    path
        Where it lies.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = read_manifest(path)

    @property
    def partial(self) -> Path:
        """The folder in which outputs are made."""
        return self.path / PARTIAL

    def prepare(self) -> None:
        """Make the folders of a run.

        Raises
        ------
        OutputError
            They cannot be made.
        """
        with told_as_output_error(self.path):
            for name in (*FOLDERS, PARTIAL):
                (self.path / name).mkdir(exist_ok=True)

    def begin(self, asked: RunManifest, *, replaces: bool, on_note: Callable[[str], None]) -> None:
        """Begin a run, or go on with the one that the folder holds.

        Parameters
        ----------
        asked
            The manifest of a run that begins.
        replaces
            What an earlier run made is removed first.
        on_note
            Called with what a person must know, one sentence each.

        Raises
        ------
        RunFolderMismatchError
            The folder holds another run, or a finished output is not what it was.
        OutputError
            The folder cannot be changed.
        """
        former = self.manifest
        if former is not None and replaces:
            self.clear()
            former = None
        if former is None:
            self.prepare()
            self.write(asked)
            return
        different = differences(former, asked)
        if different:
            more = f"; and {len(different) - 4} more" if len(different) > 4 else ""
            raise RunFolderMismatchError(
                f"{self.path} holds another run: {'; '.join(different[:4])}{more}. Choose another "
                "folder, or add --force (in Python: replaces=True) to replace it."
            )
        self.prepare()
        for note in self.settle():
            on_note(note)
        self.write(continued(self.written, asked))

    def write(self, manifest: RunManifest) -> None:
        """Replace the manifest, in one step."""
        write_manifest(self.path, manifest)
        self.manifest = manifest

    def log(self, part_id: str, *, of_target: bool = False) -> Path:
        """Return the file of what a profiler says, or of the errors that its target tells."""
        return self.path / "logs" / f"{part_id}{'.target' if of_target else ''}.log"

    # --- An output reaches its place ---

    def output(self, path: str, made: Path) -> Output:
        """Return the record of a file that was made and is to be kept as ``path``."""
        with told_as_output_error(made):
            with made.open("rb+") as file:
                os.fsync(file.fileno())
            return Output(path, made.stat().st_size, sha256_of(made))

    def finish(self, record: PartRecord) -> None:
        """Bring the outputs of a checked part to their place, and note it.

        Raises
        ------
        OutputError
            They could not be moved, or the manifest not be written.
        """
        # The tables are those of fewer parts from now on.
        manifest = replace(self.written, tables={}).with_part(replace(record, state="checked"))
        self.write(manifest)
        self._place(record)
        self.write(manifest.with_part(replace(record, state="finished")))

    def _place(self, record: PartRecord) -> None:
        for output in record.outputs:
            place = self.path / output.path
            with told_as_output_error(place):
                self._made(output).replace(place)
                _sync_folder(place.parent)

    def _made(self, output: Output) -> Path:
        return self.partial / PurePosixPath(output.path).name

    @property
    def written(self) -> RunManifest:
        """The manifest as it was written last."""
        if self.manifest is None:
            raise AssertionError("a run folder is written before it has a manifest")
        return self.manifest

    # --- What an earlier run left ---

    def settle(self) -> tuple[str, ...]:
        """End what a killed run left running, finish what it had checked, remove what is half made.

        Returns
        -------
        tuple of str
            What a person must know, one sentence each.

        Raises
        ------
        RunFolderMismatchError
            A finished output is not what it was.
        OutputError
            The folder cannot be changed.
        """
        manifest = self.written
        notes = []
        left = end_marked(RUN_VARIABLE, manifest.run_id)
        if left:
            what = "process" if left == 1 else "processes"
            notes.append(f"an interrupted run had left {left} {what} running; ended")
        for record in manifest.parts:
            settled = self._settled(record)
            if settled.state == "waiting" and record.is_finished:
                notes.append(f"{record.outputs[0].path} is gone, and is made again")
            manifest = manifest.with_part(settled)
        if manifest != self.manifest:
            self.write(manifest)
        self.sweep_up()
        return tuple(notes)

    def _settled(self, record: PartRecord) -> PartRecord:
        if record.state == "checked":
            for output in record.outputs:
                made, place = self._made(output), self.path / output.path
                if _is(place, output):
                    continue
                if not _is(made, output):
                    return _again(record)
                with told_as_output_error(place):
                    place.parent.mkdir(exist_ok=True)
                    made.replace(place)
            return replace(record, state="finished")
        if record.is_finished:
            for output in record.outputs:
                place = self.path / output.path
                if not place.exists():
                    return _again(record)
                if not _is(place, output):
                    raise RunFolderMismatchError(
                        f"{place} has changed since it was made. Bring it back, remove it to have "
                        "it made again, or choose another folder."
                    )
            return record
        return replace(record, state="waiting") if record.state == "running" else record

    def sweep_up(self) -> None:
        """Remove what is half made.

        Raises
        ------
        OutputError
            The folder cannot be changed.
        """
        with told_as_output_error(self.path):
            self._sweep_up()

    def _sweep_up(self) -> None:
        if self.partial.is_dir():
            for path in self.partial.iterdir():
                if path.is_dir() and not path.is_symlink():
                    shutil.rmtree(path)
                else:
                    path.unlink()
        # What `nsightlens.files` writes beside its place.
        for folder in (self.path, self.path / "tables"):
            for path in folder.glob(".*.new"):
                path.unlink()

    def clear(self) -> None:
        """Remove what a run made, and nothing else; its manifest is left to be replaced.

        Raises
        ------
        OutputError
            The folder cannot be changed.
        """
        manifest = self.written
        end_marked(RUN_VARIABLE, manifest.run_id)
        # First of all, so that no part is taken for finished should this be interrupted.
        self.write(replace(manifest, parts=tuple(map(_again, manifest.parts))))
        with told_as_output_error(self.path):
            for path in self._files_of(manifest):
                path.unlink(missing_ok=True)
        self.sweep_up()

    def _files_of(self, manifest: RunManifest) -> Iterator[Path]:
        for record in manifest.parts:
            # By the names that parts give, not by what a manifest may say.
            for made in record.made:
                name = PurePosixPath(made).name
                yield from (self.path / folder / name for folder in ("reports", "traces"))
            name = PurePosixPath(record.part_id).name
            yield from (self.log(name), self.log(name, of_target=True))
        yield from (self.path / "tables" / f"{table}.parquet" for table in TABLES)


def _again(record: PartRecord) -> PartRecord:
    return replace(record, state="waiting", outputs=(), launch_count=None, pass_counts={})


@contextlib.contextmanager
def opened(path: Path) -> Iterator[RunFolder]:
    """Give a run folder to this process alone; it is made where there is none.

    Parameters
    ----------
    path
        Where it lies.

    Raises
    ------
    RunFolderBusyError
        Another run writes into it.
    OutputError
        It is a file, holds something else than a run, or cannot be written.
    """
    _check(path)
    with told_as_output_error(path):
        path.mkdir(parents=True, exist_ok=True)
        descriptor = _locked(path)
    try:
        _check(path)
        folder = RunFolder(path)
        yield folder
    finally:
        with contextlib.suppress(OSError):
            (path / PARTIAL).rmdir()
        if not (path / MANIFEST).exists():  # nothing was begun
            _remove_empty(path)
        os.close(descriptor)


def _check(path: Path) -> None:
    """Refuse a folder that holds something else than a run."""
    with told_as_output_error(path):
        if not path.exists():
            return
        if not path.is_dir():
            raise OutputError(f"{path} is a file: name a folder for the run.")
        if (path / MANIFEST).exists():
            return
        others = sorted(
            one.name
            for one in path.iterdir()
            if one.name not in _OURS and not one.match(f".{MANIFEST}.*.new")
        )
    if others:
        raise OutputError(
            f"{path} holds other files ({', '.join(others[:3])}{', ...' if others[3:] else ''}) "
            "and no run: choose a new folder, or an empty one."
        )
    if any(any((path / name).iterdir()) for name in FOLDERS if (path / name).is_dir()):
        raise OutputError(
            f"{path} has lost its {MANIFEST}, which says what the files in it are: choose a new "
            "folder."
        )


def _locked(path: Path) -> int:
    """Return the descriptor of the locked file; to close it lets go of the lock."""
    try:
        import fcntl  # noqa: PLC0415 - where there is one
    except ImportError:
        raise OutputError("nsightlens profile runs on Linux, and not on Windows.") from None
    file = path / _LOCK
    while True:
        # Not inherited by programs: one that outlives us does not keep the folder.
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            raise RunFolderBusyError(_busy(path, file)) from None
        except BaseException:
            os.close(descriptor)
            raise
        if _is_still(descriptor, file):
            break
        os.close(descriptor)  # its last holder has just removed it
    holder = {"process": os.getpid(), "host": platform.node(), "since": now()}
    os.ftruncate(descriptor, 0)
    os.write(descriptor, json.dumps(holder).encode())
    return descriptor


def _is_still(descriptor: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), file.stat())
    except OSError:
        return False


def _busy(path: Path, file: Path) -> str:
    try:
        holder = json.loads(file.read_text(encoding="utf-8"))
        who = f"process {holder['process']} on {holder['host']}, since {holder['since']}"
    except (OSError, ValueError, LookupError, TypeError):
        who = "it has not said which"
    return (
        f"{path}: another run writes into this folder ({who}). Wait for its end, end it, or choose "
        "another folder."
    )


def _remove_empty(path: Path) -> None:
    """Remove a folder in which nothing was begun, as far as nothing else is in it."""
    with contextlib.suppress(OSError):
        for name in (*FOLDERS, PARTIAL):
            with contextlib.suppress(FileNotFoundError):
                (path / name).rmdir()
        (path / _LOCK).unlink()
        path.rmdir()


def sha256_of(path: Path) -> str:
    """Return the checksum of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _is(path: Path, output: Output) -> bool:
    """Return whether a file is that output, whole."""
    try:
        return path.stat().st_size == output.size_bytes and sha256_of(path) == output.sha256
    except FileNotFoundError:
        return False


def _sync_folder(folder: Path) -> None:
    """Let the new name of a file survive a loss of power, where the system can do that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextlib.contextmanager
def told_as_output_error(path: Path) -> Iterator[None]:
    """Turn an error of the system into one that names the folder."""
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise OutputError(f"{path} cannot be written: {error.strerror or error}.") from error
