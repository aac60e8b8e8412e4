"""Search for inputs that break a promise, or show one again.

Usage: make fuzz [FUZZ_SECONDS=3600]; python -m fuzz [--seconds S]; python -m fuzz TARGET FILE...
"""

from __future__ import annotations

import argparse
import sys
import traceback
from pathlib import Path

# Tests and fuzzer say in the same words what a report holds and what damage is.
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))


def main(arguments: list[str]) -> int:
    """Run the search or one input; return 1 where anything was found."""
    if arguments[:1] == ["--search"]:
        from fuzz.worker import search

        name, corpus, until = arguments[1:]
        search(name, Path(corpus), float(until))
        return 0
    from fuzz.targets import TARGETS

    parser = argparse.ArgumentParser(prog="python -m fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3600, help="how long to search, together")
    parser.add_argument("target", nargs="?", choices=sorted(TARGETS), help="what to try FILEs on")
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE", help="inputs to try")
    options = parser.parse_args(arguments)
    if options.target:
        if not options.files:
            parser.error("name at least one file to try")
        return _reproduce(options.target, options.files)
    return _search_all(options.seconds)


def _search_all(seconds: float) -> int:
    from fuzz import findings
    from fuzz.campaign import run_all
    from nsightlens.ncurep.scanner import scanner_name

    print(f"scanner: {scanner_name()}", flush=True)
    outcomes = run_all(seconds)
    found = [path for outcome in outcomes for path in outcome.findings]
    runs = sum(outcome.runs for outcome in outcomes)
    count = f"{len(found)} finding{'s' * (len(found) != 1)}"
    print(f"{runs:,} runs in {seconds:g} s on {len(outcomes)} targets: {count}")
    for path in found:
        print(f"  {findings.reproduction(path)}")
    return 1 if found else 0


def _reproduce(target: str, files: list[Path]) -> int:
    from fuzz.worker import limit_memory

    limit_memory()
    failures = [path for path in files if not _holds(target, path)]
    return 1 if failures else 0


def _holds(target: str, path: Path) -> bool:
    from fuzz.targets import TARGETS
    from fuzz.worker import check_within_limits

    try:
        check_within_limits(TARGETS[target].check, path.read_bytes())
    except Exception:
        print(f"{path}: fails", file=sys.stderr)
        traceback.print_exc()
        return False
    print(f"{path}: holds")
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
