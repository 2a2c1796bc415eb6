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
while [ $# -gt 0 ]; do
  image_option "$@"
  [ "$shift_by" -gt 0 ] ||
    die "unknown option $1 (--quick, --rounds, --seconds, --images, --peers, --build-dir, --batchcast)"
  shift "$shift_by"
done

result() {
  echo "$round $1 $2" >>"$scratch/results"
  echo "round $round, $1: $2" >&2
}

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
  begin=$(($(date +%s) + warm_up))
  number=0
  pids=
  while [ $number -lt $consumers ]; do
    number=$((number + 1))
    "$python" "$root/benchmarks/peers/$2" "$images" --workers "$3" --seconds "$seconds" \
      --begin-at "$begin" >"$scratch/peer.$number" 2>"$scratch/peer.$number.err" &
    pids="$pids $!"
  done
  bad=
  for pid in $pids; do wait "$pid" || bad=yes; done
  pids=
  if [ -n "$bad" ]; then
    tail -n 5 "$scratch"/peer.*.err >&2
    echo "$1 failed and is left out" >&2
    echo "$1" >>"$scratch/failed"
    return 0
  fi
  number=0
  while [ $number -lt $consumers ]; do
    number=$((number + 1))
    json_value images_per_second <"$scratch/peer.$number"
  done >"$scratch/rates"
  result "$1" "$(awk '{ sum += $1 } END { print sum }' "$scratch/rates")"
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
  awk -v machine="$(machine_json)" -v rounds="$rounds" -v seconds="$seconds" -v others="$others" \
    -v consumers=$consumers -v images="$(images_json)" '
    function number(x) { return x == "-" ? "null" : x }
    BEGIN { printf "{\"benchmark\":\"share\",\"machine\":{%s},\"rounds\":%s,\"seconds\":%s," \
                   "\"consumers\":%s,\"others_percent\":%s,\"images\":%s",
              machine, rounds, seconds, consumers, others, images }
    { printf ",\"%s\":%s,\"%s_min\":%s,\"%s_max\":%s", $1, number($2), $1, number($3), $1, number($4) }
    END { print "}" }' "$scratch/rate_rows" "$scratch/ratio_rows"
}

finish() {
  trap '' INT TERM HUP
  for pid in $pids; do kill -TERM "$pid" 2>/dev/null; done
  rm -rf "$scratch"
}

pids=
make_scratch
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
build
prepare_images
find_python
cores=$(nproc)
note_load
: >"$scratch/results"
: >"$scratch/failed"
round=0
while [ $round -lt "$rounds" ]; do
  round=$((round + 1))
  share_run 1
  share_run $consumers
  # One worker process for each DataLoader: four with two each are slower on two cores.
  peers_run torchvision torchvision_dataloader.py 1
  peers_run dali dali_pipeline.py "$cores"
done
rate_rows >"$scratch/rate_rows"
ratio_rows >"$scratch/ratio_rows"
others=$(others_percent)
machine_line
table
warn_if_disturbed "$others"
json
