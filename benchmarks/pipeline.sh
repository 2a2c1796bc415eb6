#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Images per second on one core, from files to normalised crops: batchcast, libjpeg-turbo alone and the
# peers, in turns. See README.md in this folder.
# Usage: pipeline.sh [--quick] [--rounds N] [--seconds S] [--images DIR] [--peers DIR]
#                    [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

while [ $# -gt 0 ]; do
  image_option "$@"
  [ "$shift_by" -gt 0 ] ||
    die "unknown option $1 (--quick, --rounds, --seconds, --images, --peers, --build-dir, --batchcast)"
  shift "$shift_by"
done

# measure NAME KEY COMMAND...: one run on one core; its rate goes to the results. A peer that fails is
# left out from then on; batchcast and its yardstick must not fail.
measure() {
  name=$1 key=$2
  shift 2
  ! grep -qx "$name" "$scratch/failed" || return 0
  if taskset -c "$core" "$@" >"$scratch/out" 2>"$scratch/err"; then
    rate=$(json_value "$key" <"$scratch/out")
  else
    rate=
  fi
  if [ -z "$rate" ]; then
    tail -n 20 "$scratch/err" "$scratch/out" >&2
    case $name in
      batchcast* | jpeg_rows*) die "$name failed" ;;
    esac
    echo "$name failed and is left out" >&2
    echo "$name" >>"$scratch/failed"
    return 0
  fi
  echo "$round $name $rate" >>"$scratch/results"
  echo "round $round, $name: $rate images/s" >&2
}

batchcast_run() {
  measure "$1" samples_per_second "$batchcast" bench pipeline "imagefolder:$images" --recipe "$2" \
    --workers 1 --seconds "$seconds" --json
}

peer_run() {
  name=$1 script=$2
  shift 2
  [ -z "$python" ] || measure "$name" images_per_second "$python" \
    "$root/benchmarks/peers/$script" "$images" --workers 1 --seconds "$seconds" "$@"
}

run_round() {
  measure jpeg_rows images_per_second "$jpeg_rows" "$images" --seconds "$seconds"
  batchcast_run batchcast_f32 imagenet-train
  batchcast_run batchcast_u8 "$root/benchmarks/imagenet-train-u8.toml"
  measure jpeg_rows_whole images_per_second "$jpeg_rows" "$images" --whole --seconds "$seconds"
  [ -z "$opencv" ] || measure opencv images_per_second "$opencv" "$images" --seconds "$seconds"
  peer_run torchvision torchvision_dataloader.py --warm-up 8
  peer_run dali dali_pipeline.py --warm-up 4
  peer_run dali_no_antialias dali_pipeline.py --warm-up 4 --no-antialias
  peer_run spdl spdl_pipeline.py --warm-up 6
}

# One row per case: name, median min max, then what batchcast has of it as f32 and as u8.
rows() {
  awk '!seen[$2]++ { print $2 }' "$scratch/results" | while read -r name; do
    echo "$name $(rates "$name") $(ratios batchcast_f32 "$name") $(ratios batchcast_u8 "$name")"
  done
}

table() {
  awk '
    BEGIN {
      target["jpeg_rows"] = ">= 0.90"; target["torchvision"] = ">= 4"; target["dali"] = ">= 2.5"
      target["dali_no_antialias"] = "> 1"; target["spdl"] = "> 1"; target["opencv"] = "> 1"
      f = "%-18s %9s %15s | %9s %9s %8s\n"
      printf f, "", "images/s", "min-max", "f32 / it", "u8 / it", "target"
    }
    { printf f, $1, sprintf("%.0f", $2), sprintf("%.0f-%.0f", $3, $4), sprintf("%.2f", $5),
        sprintf("%.2f", $8), target[$1] }' "$scratch/rows"
}

json() {
  awk -v machine="$(machine_json)" -v rounds="$rounds" -v seconds="$seconds" -v others="$others" \
    -v images="$(images_json)" '
    BEGIN { printf "{\"benchmark\":\"pipeline\",\"machine\":{%s},\"rounds\":%s,\"seconds\":%s," \
                   "\"others_percent\":%s,\"images\":%s,\"cases\":[",
              machine, rounds, seconds, others, images }
    { printf "%s{\"name\":\"%s\",\"images_per_second\":%s,\"min\":%s,\"max\":%s", (NR > 1 ? "," : ""),
        $1, $2, $3, $4
      printf ",\"f32_ratio\":%s,\"u8_ratio\":%s}", $5, $8 }
    END { print "]}" }' "$scratch/rows"
}

make_scratch
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
build
prepare_images
find_python
jpeg_rows=$(binary jpeg_rows)
[ -n "$jpeg_rows" ] || die "no jpeg_rows in $build_dir"
opencv=$(binary opencv_crop)
[ -n "$opencv" ] || echo "OpenCV is not installed and is left out" >&2
core=$(last_core)
note_load
: >"$scratch/results"
: >"$scratch/failed"
round=0
while [ $round -lt "$rounds" ]; do
  round=$((round + 1))
  run_round
done
rows >"$scratch/rows"
others=$(others_percent)
machine_line
table
warn_if_disturbed "$others"
json
