#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# TensorSocket's example, theirs and with the import changed: one producer, one and two trainers. See
# README.md in this folder.
# Usage: tensorsocket.sh [--quick] [--rounds N] [--seconds S] [--peers DIR] [--package DIR] [--build-dir DIR]
#                        [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

warm_up=25 # seconds: the imports of torch take their time
package=
while [ $# -gt 0 ]; do
  image_option "$@"
  if [ "$shift_by" -gt 0 ]; then
    shift "$shift_by"
    continue
  fi
  case $1 in
    --package) package=${2:?--package needs a folder} && shift 2 ;;
    *) die "unknown option $1 (--quick, --rounds, --seconds, --peers, --package, --build-dir, --batchcast)" ;;
  esac
done

# example NAME MODULE TRAINERS: batches a second of the slowest trainer.
example() {
  "$python" "$root/benchmarks/tensorsocket_example.py" produce "$2" >"$scratch/producer" 2>&1 &
  producer=$!
  begin=$(($(date +%s) + warm_up))
  number=0
  pids=
  while [ $number -lt "$3" ]; do
    number=$((number + 1))
    "$python" "$root/benchmarks/tensorsocket_example.py" consume "$2" --seconds "$seconds" --begin-at "$begin" \
      >"$scratch/trainer.$number" 2>"$scratch/trainer.$number.err" &
    pids="$pids $!"
  done
  failed=
  for pid in $pids; do
    wait "$pid" || failed=yes
  done
  pids=
  end_process "$producer"
  producer=
  if [ -n "$failed" ]; then
    tail -n 3 "$scratch"/trainer.*.err "$scratch/producer" >&2
    die "$2 failed"
  fi
  slowest=$(sed -n 's/.*"images_per_second": *\([0-9.]*\).*/\1/p' "$scratch"/trainer.[1-9] | sort -g | head -n 1)
  rate=$(awk -v rate="$slowest" 'BEGIN { printf "%.2f", rate / 16 }')
  rm -f "$scratch"/trainer.*
  echo "$round $1 $rate" >>"$scratch/results"
  echo "round $round, $1: $rate" >&2
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
  awk -v machine="$(machine_json)" -v rounds="$rounds" -v seconds="$seconds" -v others="$others" '
    function number(x) { return x == "-" ? "null" : x }
    BEGIN { printf "{\"benchmark\":\"tensorsocket\",\"machine\":{%s},\"rounds\":%s,\"seconds\":%s," \
                   "\"others_percent\":%s", machine, rounds, seconds, others }
    { printf ",\"%s\":%s,\"%s_min\":%s,\"%s_max\":%s", $1, number($2), $1, number($3), $1, number($4) }
    END { print "}" }' "$scratch/rows"
}

finish() {
  trap '' INT TERM HUP
  for pid in $pids $producer; do kill -TERM "$pid" 2>/dev/null; done
  rm -rf "$scratch"
}

pids=
producer=
make_scratch
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
find_python
[ -n "$python" ] || die "there is no torch to measure with: sh benchmarks/peers/setup.sh"
"$python" -c 'import tensorsocket' ||
  die "there is no TensorSocket: $python -m pip install -r benchmarks/peers/tensorsocket.txt"
cmake_option=-DBATCHCAST_PYTHON=ON
target=batchcast_python
build
export PYTHONPATH="${package:-$build_dir/python}"
export BATCHCAST_DIR="$scratch/streams" # nobody else's streams
mkdir -m 700 "$BATCHCAST_DIR"
note_load
: >"$scratch/results"
round=0
while [ $round -lt "$rounds" ]; do
  round=$((round + 1))
  for trainers in 1 2; do
    example ours_$trainers batchcast.tensorsocket $trainers
    example theirs_$trainers tensorsocket $trainers
  done
done
rate_rows >"$scratch/rows"
others=$(others_percent)
machine_line
table
warn_if_disturbed "$others"
json
