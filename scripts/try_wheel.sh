#!/usr/bin/env bash
# Install a wheel in an empty environment, away from the checkout, and do the main job with it.
# Usage: scripts/try_wheel.sh dist/nsightlens-VERSION-py3-none-any.whl
set -euo pipefail
wheel=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
"$work/venv/bin/python" -m pip install --quiet --disable-pip-version-check "$wheel"
cd "$work"
"$work/venv/bin/nsightlens" --version
"$work/venv/bin/nsightlens" demo > demo.txt
"$work/venv/bin/python" - <<'PY'
import sys

import nsightlens
import nsightlens.example

report = nsightlens.open_report(nsightlens.example.path())
labels = nsightlens.classify(report).labels
assert len(labels) == len(report) > 0, (len(labels), len(report))
assert labels["bound"].null_count == 0
heavy = {"pandas", "matplotlib", "torch", "ncu_report"} & set(sys.modules)
assert not heavy, f"loaded without being asked for: {heavy}"
print(f"{nsightlens.__file__}: {len(labels)} launches labelled")
PY
echo "the wheel works in an empty environment"
