"""The smallest ncu that the harness can run: copies a report that lies ready, or does what a line
of shell says. What the real tool says and refuses is `support.fake_ncu`'s, which takes longer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.reports import everything, write_empty_report, write_report

if TYPE_CHECKING:
    from pathlib import Path

_PROGRAM = """\
#!/bin/sh
folder={folder}
case "$*" in
*--version*) echo 'Version 2025.1.0.0 (build 1) (public-release)'; exit 0 ;;
esac
before=; out=
for word; do
  if [ "$before" = -o ] && [ -z "$out" ]; then out=$word; fi
  before=$word
done
echo "$*" >> "$folder/commands"
. "$folder/does"
"""
GOOD = """\
echo '==PROF== Profiling "gemm" - 0: 0%....50%....100% - 9 passes'
cp "$folder/ready.ncu-rep" "$out"
"""


class StandIn:
    """A program ``ncu`` in a folder of its own, with the reports that it gives.

    Parameters
    ----------
    folder
        Gets the program, the reports and the log of its command lines.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        write_report(folder, everything(), name="ready.ncu-rep")
        write_empty_report(folder, name="empty.ncu-rep")
        self._folder = folder
        self.path = folder / "ncu"
        self.path.write_text(_PROGRAM.format(folder=folder))
        self.path.chmod(0o755)
        self.does(GOOD)

    @property
    def report(self) -> bytes:
        """The report that it gives."""
        return (self._folder / "ready.ncu-rep").read_bytes()

    def does(self, script: str) -> None:
        """Set what it does: ``$out`` is its output, ``$folder`` where its reports lie."""
        (self._folder / "does").write_text(script)

    def commands(self) -> list[str]:
        """Return its command lines so far."""
        log = self._folder / "commands"
        return log.read_text().splitlines() if log.exists() else []
