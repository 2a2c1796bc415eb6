#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Rings on a GPU: what handing a batch over costs, side by side with TensorSocket; how fast samples get there; what
# consumers take of the GPU's memory; trainers that share the GPU. See README.md in this folder.
# Usage: gpu.sh [--quick] [--rounds N] [--bundle DIR] [--torch DIR] [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

rounds=3
build_dir=${BATCHCAST_BUILD_DIR:-$root/build/gpu-benchmarks}
[ ! -f "$root/build/bundle/MANIFEST" ] || bundle=$root/build/bundle
target=batchcast_gpu_benchmarks
large_batch=38535168 # 64 images of 3 x 224 x 224 floats
consumers="1 4 8"
others_busy="0 1 4"
trainers=4
turn=4 # seconds of training
python=
gpu_option() {
  case $1 in
    --torch) cmake_option=-DTorch_DIR=${2:?--torch needs a folder} shift_by=2 ;;
    *) common_option "$@" ;;
  esac
}
read_options gpu_option "$@"

finish() {
  trap '' INT TERM HUP
  [ -z "$producer" ] || end_process "$producer"
  [ -z "${CUDA_MPS_LOG_DIRECTORY:-}" ] || echo quit | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1
  rm -rf "$scratch"
}

# TensorSocket, from the bundle's wheels if it is not installed; torch is the active python3's.
find_tensorsocket() {
  python=python3
  if [ -n "$bundle" ] && [ -d "$bundle/wheels" ]; then
    for wheel in "$bundle"/wheels/*.whl; do
      python3 -m zipfile -e "$wheel" "$scratch/site" || die "$wheel is no wheel"
    done
    PYTHONPATH=$scratch/site${PYTHONPATH:+:$PYTHONPATH}
    export PYTHONPATH
  fi
  if ! "$python" -c 'import torch; assert torch.cuda.is_available(); import tensorsocket' 2>"$scratch/err"; then
    echo "TensorSocket is left out: $(tail -n 1 "$scratch/err")" >&2
    python=
  fi
}

# handoff MODE BATCH_BYTES CONSUMERS BATCHES
handoff() {
  "$handoff" --mode "$1" --batch-bytes "$2" --consumers "$3" --batches "$4" >"$scratch/out" 2>"$scratch/err" || {
    cat "$scratch/err" "$scratch/out" >&2
    die "gpu_handoff $1 failed with $3 consumers and $2 bytes"
  }
  [ "$(json_value bad <"$scratch/out")" = 0 ] || die "bad batches: $(tail -n 1 "$scratch/out")"
}

tensorsocket() {
  [ -n "$python" ] || return 0
  if ! timeout 120 "$python" "$root/benchmarks/peers/tensorsocket_gpu.py" --batch-bytes "$1" --consumers "$2" \
    --seconds 3 >"$scratch/out" 2>"$scratch/err"; then
    tail -n 3 "$scratch/err" >&2
    echo "TensorSocket failed with $2 consumers and is left out from here on" >&2
    python=
    return 0
  fi
  result "tensorsocket.$1.$2" "$(json_value batches_per_second <"$scratch/out")"
}

rate_case() {
  handoff rate "$1" "$2" $((30000 / $2))
  result "rate.$1.$2" "$(json_value batches_per_second <"$scratch/out")"
}

latency_case() {
  handoff latency "$1" "$2" 2000
  result "p50.$1.$2" "$(json_value p50_us <"$scratch/out")"
  result "p99.$1.$2" "$(json_value p99_us <"$scratch/out")"
}

memory_case() {
  handoff memory $large_batch "$1" 20
  ring_bytes=$(json_value ring_bytes <"$scratch/out")
  result "memory.$1" "$(json_value consumers_bytes <"$scratch/out")"
}

copies() {
  "$copy" --rounds 1 --seconds 2 >"$scratch/out" 2>"$scratch/err" || die "gpu_copy failed: $(cat "$scratch/err")"
  for key in plain_gb_per_second mirror_gb_per_second mirror_over_plain bus_images_per_second \
    finished_f16_images_per_second finished_f16_over_bus finished_f32_images_per_second finished_f32_over_bus; do
    result $key "$(json_value $key <"$scratch/out")"
  done
}

# copies_beside BUSY SUFFIX: the same, shorter, while so many processes keep the GPU busy with kernels of their own.
copies_beside() {
  "$copy" --rounds 1 --seconds 1 --busy "$1" >"$scratch/out" 2>"$scratch/err" ||
    die "gpu_copy beside $1 failed: $(cat "$scratch/err")"
  for key in plain_gb_per_second mirror_gb_per_second finished_f16_images_per_second; do
    result "$key.beside_$1$2" "$(json_value $key <"$scratch/out")"
  done
}

# Processes take turns on the GPU, whole slices of time, unless they are clients of one MPS server: a daemon of this
# script's own, apart from all other programs.
copies_beside_others() {
  for busy in $others_busy; do copies_beside "$busy" ""; done
  command -v nvidia-cuda-mps-control >/dev/null || return 0
  CUDA_MPS_PIPE_DIRECTORY=$scratch/mps CUDA_MPS_LOG_DIRECTORY=$scratch/mps
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  mkdir -p "$scratch/mps"
  if nvidia-cuda-mps-control -d >"$scratch/out" 2>&1; then
    for busy in $others_busy; do copies_beside "$busy" .mps; done
    echo quit | timeout 20 nvidia-cuda-mps-control >/dev/null 2>&1
  else
    echo "MPS is left out: $(tail -n 1 "$scratch/out")" >&2
  fi
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
}

# 2,000 images of u8 224 x 224, as they come from a decoder: the producer's part is copying them, so that what limits
# the trainers is the GPU.
make_recipe() {
  mkdir "$scratch/images"
  {
    printf '\223NUMPY\001\000\166\000%-117s\n' \
      "{'descr': '|u1', 'fortran_order': False, 'shape': (2000, 224, 224, 3), }"
    head -c 301056000 /dev/urandom
  } >"$scratch/images/image.npy"
  {
    printf '\223NUMPY\001\000\166\000%-117s\n' "{'descr': '<i8', 'fortran_order': False, 'shape': (2000,), }"
    head -c 16000 /dev/zero
  } >"$scratch/images/label.npy"
  cat >"$scratch/recipe.toml" <<'RECIPE'
[[field]]
name = "image"
stages = [
  { stage = "horizontal_flip" },
  { stage = "to", dtype = "bf16" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "label"
RECIPE
}

# All trainers take the same turns, on the GPU's own batch and on the stream's; each round is in what they print.
train() {
  [ -n "$train" ] || return 0
  make_recipe
  own_streams
  "$batchcast" serve "npy:$scratch/images/image.npy,$scratch/images/label.npy" --recipe "$scratch/recipe.toml" \
    --stream train --memory 1GiB --place cuda:0 --finish-on-gpu >/dev/null 2>"$scratch/serve.err" &
  producer=$!
  begin=$(($(date +%s) + 30))
  number=0
  pids=
  while [ $number -lt $trainers ]; do
    number=$((number + 1))
    "$train" train "$rounds" $turn $begin >"$scratch/train.$number" 2>"$scratch/train.$number.err" &
    pids="$pids $!"
  done
  bad=
  for pid in $pids; do wait "$pid" || bad=yes; done
  end_producer
  if [ -n "$bad" ]; then
    cat "$scratch/serve.err" "$scratch"/train.*.err >&2
    echo "gpu_train failed and is left out" >&2
    return 0
  fi
  number=0
  while [ $number -lt $trainers ]; do
    number=$((number + 1))
    # Rounds' rates of the two kinds, as ROUND RESIDENT STREAMED.
    sed 's/.*\[\(.*\)\].*\[\(.*\)\].*/\1 \2/' "$scratch/train.$number" | awk '
      { n = split($1, resident, ","); split($2, streamed, ",")
        for (i = 1; i <= n; ++i) print i, resident[i], streamed[i] }'
  done >"$scratch/train"
  while read -r round resident streamed; do
    result resident "$resident"
    result streamed "$streamed"
    result streamed_over_resident "$(echo "$resident $streamed" | awk '{ printf "%.4f", $2 / $1 }')"
  done <"$scratch/train"
}

# ---- what came out

# One line for each figure: name, median, smallest, largest, target.
line() {
  echo "$1 $(rates "$1") ${2:--}"
}

# times_tensorsocket BYTES CONSUMERS: rounds' own ratios.
times_tensorsocket() {
  echo "times_tensorsocket.$1.$2 $(ratios "rate.$1.$2" "tensorsocket.$1.$2") >=10"
}

rows() {
  for size in 4096 $large_batch; do
    for count in $consumers; do
      line "rate.$size.$count"
    done
  done
  for count in $consumers; do
    line "tensorsocket.$large_batch.$count"
    times_tensorsocket $large_batch "$count"
  done
  for count in $consumers; do
    line "p50.$large_batch.$count" "<=30"
    line "p99.$large_batch.$count"
  done
  line "p50.4096.1" "<=30"
  line "p99.4096.1"
  for count in $consumers; do
    line "memory.$count" "<=$((ring_bytes / 100))"
  done
  line plain_gb_per_second
  line mirror_gb_per_second
  line mirror_over_plain ">=0.9"
  line bus_images_per_second
  line finished_f16_images_per_second
  line finished_f16_over_bus
  line finished_f32_images_per_second
  line finished_f32_over_bus
  for key in plain_gb_per_second mirror_gb_per_second finished_f16_images_per_second; do
    for busy in $others_busy; do
      line "$key.beside_$busy"
      line "$key.beside_$busy.mps"
    done
  done
  line resident
  line streamed
  line streamed_over_resident ">=0.95"
}

table() {
  echo "${gpu:-no GPU that nvidia-smi knows}"
  awk 'BEGIN { f = "%-36s %12s %25s %10s\n"; printf f, "", "median", "min-max", "target" }
    $2 != "-" { printf f, $1, sprintf("%.6g", $2), sprintf("%.6g-%.6g", $3, $4), ($5 == "-" ? "" : $5) }' \
    "$scratch/rows"
}

json() {
  awk -v machine="$(machine_json)" -v gpu="$gpu" -v rounds="$rounds" -v others="$others" '
    BEGIN { printf "{\"benchmark\":\"gpu\",\"machine\":{%s},\"gpu\":\"%s\",\"rounds\":%s,\"others_percent\":%s," \
              "\"figures\":{", machine, gpu, rounds, others }
    $2 != "-" { printf "%s\"%s\":{\"median\":%s,\"min\":%s,\"max\":%s}", (n++ ? "," : ""), $1, $2, $3, $4 }
    END { print "}}" }' "$scratch/rows"
}

turns() {
  for count in $consumers; do
    rate_case $large_batch "$count"
    tensorsocket $large_batch "$count"
    rate_case 4096 "$count"
    latency_case $large_batch "$count"
    [ "$round" -gt 1 ] || memory_case "$count"
  done
  latency_case 4096 1
  copies
  copies_beside_others
}

make_scratch
build
handoff=$(binary gpu_handoff)
copy=$(binary gpu_copy)
train=$(binary gpu_train)
if [ ! -x "$handoff" ] || [ ! -x "$copy" ]; then
  die "no gpu_handoff or gpu_copy in $build_dir: was it built without benchmarks?"
fi
[ -n "$train" ] || echo "gpu_train is left out: the build found no libtorch with CUDA" >&2
gpu=$(nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null | head -n 1)
find_tensorsocket
note_load
each_round turns
train
rows >"$scratch/rows"
show_results
