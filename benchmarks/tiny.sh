#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Tiny samples through the ring: Fashion-MNIST as it is on disk (784 bytes and a label), four workers, one
# consumer that reads one value of every sample, batches of 256. See README.md in this folder.
# Usage: tiny.sh [--quick] [--rounds N] [--seconds S] [--dataset SPEC] [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"

dataset=idx:/usr/share/datasets/fashion-mnist
seconds=5
tiny_option() {
  case $1 in
    --seconds) seconds=${2:?--seconds needs a number} shift_by=2 ;;
    --dataset) dataset=${2:?--dataset needs a source} shift_by=2 ;;
    *) common_option "$@" ;;
  esac
}
read_options tiny_option "$@"

run_once() {
  "$batchcast" bench share "$dataset" --workers 4 --consumers 1 --batch-size 256 \
    --seconds "$seconds" --json >"$scratch/out" 2>"$scratch/err" || {
    cat "$scratch/err" "$scratch/out" >&2
    die "bench share failed"
  }
  rate=$(json_value total_samples_per_second <"$scratch/out")
  [ -n "$rate" ] || die "no rate in: $(tail -n 1 "$scratch/out")"
  echo "$rate" >>"$scratch/rates"
  echo "round $round: $rate samples/s" >&2
}

make_scratch
build
note_load
: >"$scratch/rates"
each_round run_once

median_min_max <"$scratch/rates" >"$scratch/row"
others=$(others_percent)
machine_line
awk '{ printf "%.2f million samples/s (%.2f-%.2f), target >= 5\n", $1 / 1e6, $2 / 1e6, $3 / 1e6 }' \
  "$scratch/row"
warn_if_disturbed "$others"
awk -v machine="$(machine_json)" -v rounds="$rounds" -v seconds="$seconds" -v others="$others" '
  { printf "{\"benchmark\":\"tiny\",\"machine\":{%s},\"rounds\":%s,\"seconds\":%s,\"others_percent\":%s",
      machine, rounds, seconds, others
    printf ",\"samples_per_second\":%s,\"min\":%s,\"max\":%s}\n", $1, $2, $3 }' "$scratch/row"
