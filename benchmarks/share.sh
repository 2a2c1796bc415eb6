#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Four consumers of one stream on all cores, against a single one, and against four trainers that have a
# torchvision DataLoader or a DALI pipeline each. See README.md in this folder.
# Usage: share.sh [--quick] [--rounds N] [--seconds S] [--images DIR] [--peers DIR]
#                 [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

consumers=4
warm_up=20 # seconds: four times the imports of torch take their time
read_options image_option "$@"

# share_run CONSUMERS
share_run() {
  "$batchcast" bench share "imagefolder:$images" --recipe imagenet-train --workers "$cores" \
    --consumers "$1" --batch-size 64 --seconds "$seconds" --json >"$scratch/out" 2>"$scratch/err" || {
    cat "$scratch/err" "$scratch/out" >&2
    die "bench share failed with $1 consumers"
  }
  total=$(json_value total_samples_per_second <"$scratch/out")
  # With its quotes, the key of the consumers is not the end of the total's.
  slowest=$(tail -n 1 "$scratch/out" | grep -o '"samples_per_second": *[0-9.eE+]*' |
    sed 's/.*: *//' | sort -g | head -n 1)
  if [ -z "$total" ] || [ -z "$slowest" ]; then
    die "no rates in: $(tail -n 1 "$scratch/out")"
  fi
  result "batchcast_${1}_total" "$total"
  result "batchcast_${1}_slowest" "$slowest"
}

# peers_run NAME SCRIPT WORKERS: as many at once as we have consumers, measured in the same seconds.
peers_run() {
  [ -n "$python" ] && ! grep -qx "$1" "$scratch/failed" || return 0
  start_together $consumers $warm_up "$python" "$root/benchmarks/peers/$2" "$images" --workers "$3"
  if await_together; then
    result "$1" "$(total)"
  else
    tail -n 5 "$scratch"/run.*.err >&2
    echo "$1 failed and is left out" >&2
    echo "$1" >>"$scratch/failed"
  fi
}

# Names, ratio's median min max, target.
ratio_rows() {
  echo "each_over_single $(ratios batchcast_${consumers}_slowest batchcast_1_slowest) 0.95"
  echo "total_over_dataloaders $(ratios batchcast_${consumers}_total torchvision) 15"
  echo "total_over_dali $(ratios batchcast_${consumers}_total dali) 10"
}

rate_rows() {
  for name in batchcast_1_total batchcast_${consumers}_total batchcast_${consumers}_slowest \
    torchvision dali; do
    echo "$name $(rates "$name")"
  done
}

table() {
  awk 'BEGIN { f = "%-22s %10s %17s %8s\n"; printf f, "images/s", "median", "min-max", "target" }
    $2 != "-" { printf f, $1, sprintf("%.0f", $2), sprintf("%.0f-%.0f", $3, $4), "" }' \
    "$scratch/rate_rows"
  awk '$2 != "-" { printf "%-22s %10s %17s %8s\n", $1, sprintf("%.2f", $2),
        sprintf("%.2f-%.2f", $3, $4), ">= " $5 }' "$scratch/ratio_rows"
}

json() {
  cat "$scratch/rate_rows" "$scratch/ratio_rows" |
    flat_json share "" "\"consumers\":$consumers," ",\"images\":$(images_json)"
}

turns() {
  share_run 1
  share_run $consumers
  # One worker process for each DataLoader: four with two each are slower on two cores.
  peers_run torchvision torchvision_dataloader.py 1
  peers_run dali dali_pipeline.py "$cores"
}

make_scratch
build
prepare_images
find_python
cores=$(nproc)
note_load
each_round turns
rate_rows >"$scratch/rate_rows"
ratio_rows >"$scratch/ratio_rows"
show_results
