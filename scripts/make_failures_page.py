"""Write docs/profiling-failures.md from the table of failures.

Run as ``python scripts/make_failures_page.py``. It fails if the page was out of date, after writing
it anew. Messages and remedies are those that `nsightlens.harness.diagnosis` tells.
"""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path

from nsightlens.harness.diagnosis_causes import CAUSES, Cause, Remedy

PAGE = Path(__file__).resolve().parents[1] / "docs" / "profiling-failures.md"
WIDTH = 100

HEAD = """\
<!-- Written by scripts/make_failures_page.py from nsightlens/harness/diagnosis_causes.py. -->

# When profiling fails

`nsightlens profile` looks at how a profiler ended, at what it said and at what it left, and says in
one line what went wrong and what to do on this host. An exit code of 0 is not trusted: ncu ends
with it also where it profiled nothing, so the report must be there, can be read, and holds
launches. `nsightlens doctor` checks the same things before anything has failed:
[what it checks](doctor.md).

The manifest of a run folder keeps the key of the failure, the message and all remedies. A failure
that would recur ends the run of that profiler; after others, the parts behind it are tried too.

Which lines count: ncu marks its own with `==ERROR==`, `==WARNING==` or `==PROF==`, between those of
the target. Only marked lines are taken for ncu's, so a target that prints the name of an error is
not mistaken for one; where such a line was wrapped on its way, it is put together again. Of several
failures the one is told that explains the others, in this order:

1. the run was interrupted;
2. the profiler named a failure: options and programs, then permission, driver and GPU, then the
   counters, then the report and memory, then single kernels;
3. its time was over, or it was killed;
4. the target failed;
5. no kernel was profiled;
6. the profiler said something that is not known, crashed, or left no report that can be read.

None of this was seen to fail on a GPU of ours. The texts of ncu are from its documentation and from
public logs of others; every failure below is a test against programs that stand in for ncu and
nsys. The words that ncu has for a metric that it does not know and for a full disk, and most of
what nsys says, are from memory: where they differ, the failure is told as `unknown`, with the words
as they were said.

| key | what is told | would recur |
|---|---|---|
"""


def page() -> str:
    """Return the whole page."""
    rows = [
        f"| [`{key}`](#{key}) | {cause.summary} | {'yes' if cause.would_recur else 'no'} |\n"
        for key, cause in CAUSES.items()
    ]
    return "".join([HEAD, *rows, *(_section(key, cause) for key, cause in CAUSES.items())])


def _section(key: str, cause: Cause) -> str:
    lines = [f"\n## {key}\n", _wrapped(f"{_sentence(cause.summary)} {cause.meaning}"), ""]
    lines += [_remedy(one) for one in cause.remedies]
    return "\n".join(lines) + "\n"


def _remedy(remedy: Remedy) -> str:
    where = f"*{remedy.when[0].upper()}{remedy.when[1:]}:* " if remedy.when else ""
    return _wrapped(f"{where}{remedy.text}", "- ", "  ")


def _wrapped(text: str, first: str = "", later: str = "") -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def main() -> int:
    """Write the page, and say whether it was out of date."""
    text = page()
    is_current = PAGE.exists() and PAGE.read_text(encoding="utf-8") == text
    PAGE.write_text(text, encoding="utf-8")
    if not is_current:
        print(f"{PAGE.name} was out of date: it is written anew", file=sys.stderr)
    return int(not is_current)


if __name__ == "__main__":
    sys.exit(main())
