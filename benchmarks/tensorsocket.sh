#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# TensorSocket's example, theirs and with the import changed: one producer, one and two trainers. See
# README.md in this folder.
# Usage: tensorsocket.sh [--quick] [--rounds N] [--seconds S] [--loader-ms M] [--producer-batch-size N]
#                        [--peers DIR] [--package DIR] [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

warm_up=25 # seconds: the imports of torch take their time
loader_ms=0
producer_batch_size=8
example_option() {
  case $1 in
    --loader-ms) loader_ms=${2:?--loader-ms needs a number} shift_by=2 ;;
    --producer-batch-size) producer_batch_size=${2:?--producer-batch-size needs a number} shift_by=2 ;;
    *) package_option "$@" ;;
  esac
}
read_options example_option "$@"

# example NAME MODULE TRAINERS: batches a second of the slowest trainer.
example() {
  "$python" "$root/benchmarks/tensorsocket_example.py" produce "$2" --loader-ms "$loader_ms" \
    --producer-batch-size "$producer_batch_size" >"$scratch/producer" 2>&1 &
  producer=$!
  start_together "$3" $warm_up "$python" "$root/benchmarks/tensorsocket_example.py" consume "$2"
  await_together || {
    tail -n 3 "$scratch"/run.*.err "$scratch/producer" >&2
    die "$2 failed"
  }
  end_producer
  result "$1" "$(awk -v rate="$(slowest)" 'BEGIN { printf "%.2f", rate / 16 }')"
}

rate_rows() {
  for trainers in 1 2; do
    echo "ours_$trainers $(rates ours_$trainers) batches/s"
    echo "theirs_$trainers $(rates theirs_$trainers) batches/s"
    echo "ratio_$trainers $(ratios ours_$trainers theirs_$trainers) x"
  done
}

table() {
  awk '{ printf "%-12s %9.1f  %s-%s %s\n", $1, $2, $3, $4, $5 }' "$scratch/rows"
}

json() {
  flat_json tensorsocket "" "\"loader_ms\":$loader_ms,\"producer_batch_size\":$producer_batch_size," "" <"$scratch/rows"
}

turns() {
  for trainers in 1 2; do
    example ours_$trainers batchcast.tensorsocket $trainers
    example theirs_$trainers tensorsocket $trainers
  done
}

make_scratch
need_python
"$python" -c 'import tensorsocket' ||
  die "there is no TensorSocket: $python -m pip install -r benchmarks/peers/tensorsocket.txt"
build_package batchcast_python
own_streams
note_load
each_round turns
rate_rows >"$scratch/rows"
show_results
