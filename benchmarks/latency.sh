#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# One-way latency from publish to a consumer, against a bare futex hand-off. See README.md in this folder.
# Usage: latency.sh [--quick] [--rounds N] [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"

keys='spinning_p50_us spinning_p99_us sleeping_p50_us sleeping_p99_us futex_p50_us futex_p99_us'
read_options common_option "$@"

run_once() {
  "$batchcast" bench latency --json >"$scratch/out" 2>"$scratch/err" || {
    cat "$scratch/err" "$scratch/out" >&2
    die "bench latency failed"
  }
  for key in $keys; do
    value=$(json_value "$key" <"$scratch/out")
    [ -n "$value" ] || die "no $key in: $(tail -n 1 "$scratch/out")"
    echo "$key $value" >>"$scratch/results"
  done
  # The futex of the same run is the yardstick, so the ratio is taken per run.
  awk '{ v[$1] = $2 } END { print "ratio", v["sleeping_p99_us"] / v["futex_p99_us"] }' \
    "$scratch/results" >>"$scratch/ratios"
  tail -n 1 "$scratch/out" >&2
}

make_scratch
build
note_load
: >"$scratch/ratios"
each_round run_once
cat "$scratch/ratios" >>"$scratch/results"
for key in $keys ratio; do
  echo "$key $(awk -v key="$key" '$1 == key { print $2 }' "$scratch/results" | median_min_max)"
done >"$scratch/rows"

others=$(others_percent)
machine_line
awk 'BEGIN {
    target["spinning_p50_us"] = "<= 1"; target["ratio"] = "<= 1.5"
    name["ratio"] = "sleeping/futex p99"
    f = "%-20s %9s %9s %9s  %s\n"
    printf f, "", "median", "min", "max", "target"
  }
  { printf f, ($1 in name) ? name[$1] : $1, sprintf("%.3f", $2), sprintf("%.3f", $3),
      sprintf("%.3f", $4), target[$1] }' "$scratch/rows"
warn_if_disturbed "$others"
awk -v machine="$(machine_json)" -v rounds="$rounds" -v others="$others" '
  BEGIN { printf "{\"benchmark\":\"latency\",\"machine\":{%s},\"rounds\":%s,\"others_percent\":%s",
            machine, rounds, others }
  { key = $1 == "ratio" ? "sleeping_p99_over_futex_p99" : $1
    printf ",\"%s\":%s,\"%s_min\":%s,\"%s_max\":%s", key, $2, key, $3, key, $4 }
  END { print "}" }' "$scratch/rows"
