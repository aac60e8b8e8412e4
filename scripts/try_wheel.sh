#!/usr/bin/env bash
# Install each wheel in an empty environment, away from the checkout and from any compiler, and do
# the main job with it. A wheel that is not pure must bring the compiled scanner.
# Usage: scripts/try_wheel.sh dist/*.whl
set -euo pipefail
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

try() {
  local wheel=$1 venv=$2 scanner=compiled
  [[ $wheel == *-none-any.whl ]] && scanner="pure Python"
  "$python" -m venv "$venv"
  cd "$work"
  export PATH="$venv/bin"
  if command -v cc gcc clang; then echo "there is a compiler"; exit 1; fi
  python -m pip install --quiet --disable-pip-version-check "$wheel"
  nsightlens --version
  found=$(nsightlens info --version)
  echo "$found"
  [[ $found == *"scanner     $scanner"* ]] || { echo "$wheel does not read with: $scanner"; exit 1; }
  nsightlens demo > demo.txt
  # What lies in the wheel beside the code: schemas, the tables of rates and products, the example.
  nsightlens schema explain > schema.json
  nsightlens devices "H100 SXM5 80GB" > device.txt
  printf '[[rule]]\nid = "mine"\nname = "flash.*"\nfamily = "attention"\n' > rules.toml
  example=$(python -c 'import nsightlens.example; print(nsightlens.example.path())')
  nsightlens explain "$example" 94 --kernel-rules rules.toml > explain.txt
  [[ $(<explain.txt) == *"memory-bound, saturated"* ]] || { echo "explain does not explain"; exit 1; }
  nsightlens sweep "$example" --model opt-1.3b > sweep.txt
  [[ $(<sweep.txt) == *"bandwidth-saturated attention"* ]] || { echo "sweep gives no verdict"; exit 1; }
  nsightlens predict --model llama-3-8b --device "H100 SXM5 80GB" --batch-sizes 1,8 --context 500 > predict.txt
  nsightlens step-label "execute_context_0(0)_generation_8(8)" > step.txt
  nsightlens export "$example" -o dataset
  # The harness comes along: what it would run, and the program that it runs without PyTorch.
  nsightlens profile --model opt-1.3b --batch-sizes 1,8 --context 500 -o run --dry-run > commands.txt
  [[ $(<commands.txt) == *"kernels_under_test.decode"* ]] || { echo "profile plans nothing"; exit 1; }
  code=0; python -m kernels_under_test.decode --model opt-1.3b --batch-sizes 1 --context 8 2> decode.txt || code=$?
  [[ $code == 4 && $(<decode.txt) == *"nsightlens[torch]"* ]] || { echo "decode without torch: $code"; cat decode.txt; exit 1; }
  python -c "from nsightlens.harness.step_labels import HOOK; assert (HOOK / 'sitecustomize.py').exists()"
  code=0; nsightlens doctor > doctor.txt || code=$?
  [[ $code == 0 || $code == 1 ]] || { echo "doctor ended with $code"; exit 1; }
  python - <<'PY'
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
  echo "${wheel##*/} works in an empty environment"
}

count=0
for wheel in "$@"; do
  count=$((count + 1))
  (try "$(realpath "$wheel")" "$work/venv$count")
done
