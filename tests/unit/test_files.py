"""A result reaches its file whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from nsightlens.errors import OutputError, OutputExistsError
from nsightlens.files import check_place, write_text

if TYPE_CHECKING:
    from collections.abc import Iterator


def _failing() -> Iterator[str]:
    yield "half of it"
    raise RuntimeError("the renderer failed")


def test_text_is_written_as_it_is(tmp_path: Path) -> None:
    """As UTF-8 and with the line ends that it has, on every system."""
    write_text(tmp_path / "a.csv", ["ä\r\n", "b\n"], force=False)
    assert (tmp_path / "a.csv").read_bytes() == "ä\r\nb\n".encode()


def test_a_failure_halfway_leaves_the_earlier_file(tmp_path: Path) -> None:
    """And nothing else beside it."""
    file = tmp_path / "a.json"
    file.write_text("earlier", encoding="utf-8")
    with pytest.raises(RuntimeError):
        write_text(file, _failing(), force=True)
    assert file.read_text(encoding="utf-8") == "earlier"
    assert list(tmp_path.iterdir()) == [file]


def test_an_existing_file_is_replaced_only_by_force(tmp_path: Path) -> None:
    """The error says how."""
    file = tmp_path / "a.json"
    file.write_text("earlier", encoding="utf-8")
    with pytest.raises(OutputExistsError, match="--force"):
        write_text(file, ["new"], force=False)
    write_text(file, ["new"], force=True)
    assert file.read_text(encoding="utf-8") == "new"


def test_a_report_is_never_the_output(tmp_path: Path) -> None:
    """Not even by force or under another spelling of its path."""
    report = tmp_path / "a.ncu-rep"
    report.write_bytes(b"NVR\0")
    spelling = tmp_path / ".." / tmp_path.name / "a.ncu-rep"
    with pytest.raises(OutputError, match="one of the files that are read"):
        check_place(spelling, force=True, inputs=[report])


def test_the_folder_of_the_output_must_exist(tmp_path: Path) -> None:
    """It is not made, because its name may be a slip."""
    with pytest.raises(OutputError, match="does not exist"):
        write_text(tmp_path / "no" / "a.json", ["x"], force=False)


def test_a_file_in_the_place_of_the_folder_is_told(tmp_path: Path) -> None:
    """And not that a folder of that name does not exist."""
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    for name in ("a.json", "deep/a.json"):
        with pytest.raises(OutputError, match=r"notes\.txt is a file, not a folder"):
            write_text(tmp_path / "notes.txt" / name, ["x"], force=False)


@pytest.mark.parametrize("force", [True, False])
def test_a_folder_is_not_a_file(tmp_path: Path, *, force: bool) -> None:
    """Even by force, which is then no advice either."""
    with pytest.raises(OutputError, match="is a folder"):
        write_text(tmp_path, ["x"], force=force)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other limits and words for them")
@pytest.mark.parametrize("name", ["x" * 300, "a\0b"])
def test_a_name_that_no_file_can_have_is_told(tmp_path: Path, name: str) -> None:
    """As an output that cannot be written."""
    with pytest.raises(OutputError, match="cannot be written"):
        check_place(tmp_path / name, force=True)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other limits and words for them")
def test_a_long_name_that_a_file_can_have_is_written(tmp_path: Path) -> None:
    """The name under which it is written first is no longer than that."""
    write_text(tmp_path / ("x" * 255), ["text"], force=False)
    assert (tmp_path / ("x" * 255)).read_text(encoding="utf-8") == "text"


def test_a_folder_that_must_not_be_searched_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whichever call the system refuses."""

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "stat", denied)
    with pytest.raises(OutputError, match="Permission denied"):
        check_place(tmp_path / "a.json", force=True)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such pipes")
def test_a_pipe_is_written_to_where_it_has_a_reader(tmp_path: Path) -> None:
    """Without a reader it is refused: waiting for one could be for ever."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(OutputError, match="nobody reads"):
        write_text(pipe, ["x"], force=True)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text(pipe, ["ä"], force=False)
    assert os.read(reader, 10) == "ä".encode()
    os.close(reader)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such device")
def test_a_disk_is_not_written_to_even_by_force(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever names one has made a slip."""
    kept = os.stat(tmp_path)  # noqa: PTH116 - pathlib is what is replaced
    disk = os.stat_result([stat.S_IFBLK | 0o600, *tuple(kept)[1:]])
    monkeypatch.setattr(Path, "stat", lambda *_, **__: disk)
    with pytest.raises(OutputError, match="neither a file nor a pipe"):
        check_place(tmp_path / "sda", force=True)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no links without privileges")
def test_a_link_is_followed(tmp_path: Path) -> None:
    """The file that it leads to is replaced, not the link."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_text("earlier", encoding="utf-8")
    link.symlink_to(target)
    write_text(link, ["new"], force=True)
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such device")
def test_a_device_is_written_to_and_not_replaced() -> None:
    """-o /dev/null works without --force."""
    write_text(Path(os.devnull), ["x"], force=False)
    assert Path(os.devnull).is_char_device()


@pytest.mark.skipif(sys.platform == "win32", reason="permissions mean something else on Windows")
def test_a_new_file_has_the_permissions_that_the_user_gives_and_an_old_one_keeps_its_own(
    tmp_path: Path,
) -> None:
    """A result can be shared like any other file."""
    plain, private = tmp_path / "plain", tmp_path / "private"
    write_text(plain, ["x"], force=False)
    (tmp_path / "other").write_text("x", encoding="utf-8")
    assert plain.stat().st_mode == (tmp_path / "other").stat().st_mode
    private.write_text("x", encoding="utf-8")
    private.chmod(0o600)
    write_text(private, ["y"], force=True)
    assert private.stat().st_mode & 0o777 == 0o600
