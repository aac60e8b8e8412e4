#!/usr/bin/env bash
# Checks nsightlens on a real GPU, in ten minutes: what is installed, the GPU's own roofs, decode
# steps of two models under ncu (and nsys, where it works), and whether what the counters say agrees
# with what the shapes need. A stage that fails or takes too long does not stop those behind it.
#
#   scripts/gpu_check.sh [FOLDER]      default: $OUT, else ./gpu_check
#
# FOLDER gets summary.txt, summary.json, doctor.json, ceilings.toml and gpu_check.tar.gz: small
# reports with their manifests, tables and logs. docs/gpu-check.md says how to read them.
#
# Needs Python 3.10 or newer with torch for the GPU, and ncu. Variables:
#   PYTHON        interpreter (default: python3); one that lacks a package gets a .venv beside it
#   WHEELS        folder of wheels to install from, where there is no network
#   NCU, NSYS     the profilers, where they are not on PATH; NSYS=none for ncu alone
#   MODELS, BATCH_SIZES, CONTEXT, LAYERS, DEVICE     what is decoded
#   PROFILE_MORE  more options of nsightlens profile
#   SECONDS_ALL   time for everything (default: 570)
set -uo pipefail

cd "$(dirname "$0")/.." || exit 2
repository=$PWD
out=${1:-${OUT:-gpu_check}}
mkdir -p "$out" || exit 2
out=$(cd "$out" && pwd)

MODELS=${MODELS:-"opt-1.3b llama-3-8b"}
BATCH_SIZES=${BATCH_SIZES:-1,8,32,128,512}
CONTEXT=${CONTEXT:-500}
LAYERS=${LAYERS:-2}
DEVICE=${DEVICE:-cuda}
SECONDS_ALL=${SECONDS_ALL:-570}

work=$(mktemp -d "${TMPDIR:-/tmp}/gpu_check.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{logs,runs,reports}
stages=$work/stages.tsv
printf 'stage\texit_status\tseconds\n' > "$stages"
SECONDS=0

# stage NAME LIMIT COMMAND...: at most LIMIT seconds, and no longer than what is left of all.
stage() {
  local name=$1 limit=$2 left=$((SECONDS_ALL - SECONDS)) began=$SECONDS status
  shift 2
  if ((left < 5)); then
    printf '%s\tno time left\t0\n' "$name" >> "$stages"
    return 0
  fi
  printf '==> %s\n' "$name"
  timeout --kill-after=10 "$((limit < left ? limit : left))" "$@" \
    > "$work/logs/$name.log" 2>&1 < /dev/null
  status=$?
  if ((status)); then tail -n 5 "$work/logs/$name.log" | sed 's/^/    /'; fi
  printf '%s\t%s\t%s\n' "$name" "$status" "$((SECONDS - began))" >> "$stages"
  return 0
}

# --- The environment ---

python=${PYTHON:-python3}
needed='import numpy, pyarrow, nvtx, sys; sys.version_info >= (3, 11) or __import__("tomli")'
make_environment() {
  local packages=(numpy pyarrow nvtx tomli) from=()
  if [[ -n ${WHEELS:-} ]]; then from=(--no-index --find-links "$WHEELS"); fi
  # The packages of the interpreter stay visible: torch for this GPU is hardly ever installed twice.
  "$python" -m venv --system-site-packages "$work/.venv" &&
    "$work/.venv/bin/python" -m pip install --quiet --disable-pip-version-check \
      "${from[@]}" "${packages[@]}"
}
if ! "$python" -c "$needed" 2> /dev/null; then
  export python work
  export -f make_environment
  stage environment 120 bash -c make_environment
  if [[ -x $work/.venv/bin/python ]]; then python=$work/.venv/bin/python; fi
fi
# No installation: the checkout itself, so that nothing has to be built.
export PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}$repository
cd "$work" || exit 2
nsightlens() { "$python" -m nsightlens "$@"; }
export python
export -f nsightlens

# --- What is measured ---

profilers=()
if [[ -n ${NCU:-} ]]; then profilers+=(--ncu "$NCU"); fi
if [[ -n ${NSYS:-} && ${NSYS:-} != none ]]; then profilers+=(--nsys "$NSYS"); fi

# What does not work is in the answer; the stage fails only where there is none.
ask_doctor() { nsightlens doctor -f json "$@" > "$work/doctor.json" || (($? == 1)); }
export work
export -f ask_doctor
stage doctor 60 bash -c 'ask_doctor "$@"' doctor "${profilers[@]}"

if [[ $DEVICE != cpu ]]; then
  stage ceilings 90 "$python" -m nsightlens ceilings -o "$work/ceilings.toml"
fi

# Caches are flushed before each replay: the weights of one GEMM fit into the L2 of a large GPU, and
# would come from there in every pass but the first.
profile() {
  local name=$1 tools=$2 limit=$3
  stage "$tools-$name" "$limit" "$python" -m nsightlens profile \
    --model "$name" --batch-sizes "$BATCH_SIZES" --context "$CONTEXT" --layers "$LAYERS" \
    --device "$DEVICE" --tools "$tools" --cache-control all "${profilers[@]}" \
    ${PROFILE_MORE:-} -o "$work/runs/$name"
}
for model in $MODELS; do profile "$model" ncu 170; done
if [[ ${NSYS:-} != none ]]; then
  for model in $MODELS; do profile "$model" both 60; done
fi

# --- What it says ---

# Decode steps alone, without names of hosts and users, so that they can be shared.
keep_reports() {
  local model=$1 report part
  shift
  for report in "$@"; do
    part=$(basename "$report" .ncu-rep)
    nsightlens slice "$report" --nvtx '*step v1*' -o "$work/$part.ncu-rep" --force || return
    nsightlens redact "$work/$part.ncu-rep" -o "$work/reports/$model-$part.ncu-rep" || return
    rm "$work/$part.ncu-rep"
  done
  sed "s|$work|.|g" "$work/runs/$model/manifest.json" > "$work/reports/$model.manifest.json"
}
export -f keep_reports

shopt -s nullglob
for model in $MODELS; do
  reports=("$work/runs/$model"/reports/*.ncu-rep)
  if ((${#reports[@]} == 0)); then continue; fi
  stage "sweep-$model" 30 "$python" -m nsightlens sweep --width 120 "${reports[@]}"
  stage "reports-$model" 60 bash -c 'keep_reports "$@"' reports "$model" "${reports[@]}"
done

"$python" "$repository/scripts/gpu_check.py" "$work" > "$out/summary.txt" 2> "$work/logs/summary.log"
status=$?
cat "$out/summary.txt" "$work/logs/summary.log"
for file in summary.json doctor.json ceilings.toml; do
  if [[ -e $work/$file ]]; then cp "$work/$file" "$out/$file"; fi
done
for model in $MODELS; do
  mkdir -p "$work/tables/$model" "$work/logs/$model"
  cp "$work/runs/$model"/tables/*.parquet "$work/tables/$model/" 2> /dev/null
  cp "$work/runs/$model"/logs/*.log "$work/logs/$model/" 2> /dev/null
done
tar -C "$work" -czf "$out/gpu_check.tar.gz" stages.tsv logs reports tables
exit "$status"
