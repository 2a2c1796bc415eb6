#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# How the pipeline grows with its workers, from one to all cores, and what each of 1 to 64 consumers of a
# ring gets. See README.md in this folder.
# Usage: scale.sh [--quick] [--rounds N] [--seconds S] [--workers "1 2 4"] [--consumers "1 2 4"]
#                 [--images DIR] [--build-dir DIR] [--batchcast P] [--bundle DIR]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

rounds=3
seconds=5
workers=
consumers="1 2 4 8 16 32 64"
target=batchcast_cli
scale_option() {
  case $1 in
    --workers) workers=${2:?--workers needs numbers} shift_by=2 ;;
    --consumers) consumers=${2:?--consumers needs numbers} shift_by=2 ;;
    *) image_option "$@" ;;
  esac
}
read_options scale_option "$@"

cores=$(nproc)
# all_workers: 1, 2, 4, … and all cores.
all_workers() {
  number=1
  while [ $number -lt "$cores" ]; do
    echo $number
    number=$((number * 2))
  done
  echo "$cores"
}
workers=${workers:-$(all_workers)}

# number_result NAME NUMBER RATE
number_result() {
  record "$1.$2" "$3"
  echo "round $round, $1 $2: $3" >&2
}

# run COMMAND...: one run of the command, its JSON in "$scratch/out".
run() {
  "$batchcast" bench "$@" --json >"$scratch/out" 2>"$scratch/err" && return
  cat "$scratch/err" "$scratch/out" >&2
  die "bench $1 failed"
}

# As many batches as take a second or two, whatever the number of consumers; the batch is large, and nothing of
# it is copied.
ring_run() {
  run ring --consumers "$1" --batches $((400000 / ($1 * 2 + 2)))
  [ "$(json_value bad <"$scratch/out")" = 0 ] || die "bad batches with $1 consumers"
  number_result ring "$1" "$(json_value batches_per_second <"$scratch/out")"
}

# Rate, its range, and the rate divided by workers times that of the smallest number measured, by rounds.
rows() {
  least=$(echo "$workers" | tr ' ' '\n' | sort -n | grep . | head -n 1)
  for number in $workers; do
    echo "pipeline $number $(rates "pipeline.$number")" \
      "$(ratios "pipeline.$number" "pipeline.$least" | awk -v n="$number" -v l="$least" '{ print $1 * l / n }')"
  done
  for number in $consumers; do
    echo "ring $number $(rates "ring.$number")" \
      "$(rates "ring.$number" | awk -v n="$number" '{ print $1 * n }')"
  done
}

table() {
  awk 'BEGIN { f = "%9s %10s %17s %12s %8s\n"; printf f, "workers", "images/s", "min-max", "of linear", "target" }
    $1 == "pipeline" { printf f, $2, sprintf("%.0f", $3), sprintf("%.0f-%.0f", $4, $5), sprintf("%.2f", $6),
        ($2 <= 16 ? ">= 0.9" : "") }' "$scratch/rows"
  awk 'BEGIN { f = "%9s %10s %17s %12s\n"; printf f, "consumers", "batches/s", "min-max", "all together" }
    $1 == "ring" { printf f, $2, sprintf("%.0f", $3), sprintf("%.0f-%.0f", $4, $5), sprintf("%.0f", $6) }' \
    "$scratch/rows"
}

json() {
  awk -v machine="$(machine_json)" -v rounds="$rounds" -v seconds="$seconds" -v others="$others" \
    -v images="$(images_json)" '
    function cases(kind, number, rate, last,    i, text) {
      for (i = 1; i <= n; ++i) if (split(row[i], c, " ") && c[1] == kind)
        text = text (text == "" ? "" : ",") "{\"" number "\":" c[2] ",\"" rate "\":" c[3] ",\"min\":" c[4] \
          ",\"max\":" c[5] (last == "" ? "" : ",\"" last "\":" c[6]) "}"
      return text
    }
    { row[++n] = $0 }
    END {
      printf "{\"benchmark\":\"scale\",\"machine\":{%s},\"rounds\":%s,\"seconds\":%s,\"others_percent\":%s," \
        "\"images\":%s,\"pipeline\":[%s],\"ring\":[%s]}\n", machine, rounds, seconds, others, images,
        cases("pipeline", "workers", "images_per_second", "of_linear"),
        cases("ring", "consumers", "batches_per_second", "")
    }' "$scratch/rows"
}

turns() {
  for number in $workers; do
    run pipeline "imagefolder:$images" --recipe imagenet-train --workers "$number" --seconds "$seconds"
    number_result pipeline "$number" "$(json_value samples_per_second <"$scratch/out")"
  done
  for number in $consumers; do ring_run "$number"; done
}

make_scratch
build
prepare_images
note_load
each_round turns
rows >"$scratch/rows"
show_results
