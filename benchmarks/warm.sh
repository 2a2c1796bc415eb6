#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Images per second with a cache of coefficients, from the second epoch on: beside the same without one, libjpeg-turbo
# alone, DALI, torchvision, and in turns with them. See README.md in this folder.
# Usage: warm.sh [--quick] [--rounds N] [--seconds S] [--images DIR] [--peers DIR] [--disk DIR]
#                [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

disk=
warm_up=40 # seconds: four times the imports of torch take their time
warm_option() {
  case $1 in
    --disk) disk=${2:?--disk needs a folder} shift_by=2 ;;
    *) image_option "$@" ;;
  esac
}
read_options warm_option "$@"

# warm_up_value KEY: that number of the warm-up, which is the first epoch.
warm_up_value() {
  tail -n 1 "$scratch/out" | sed -n 's/.*"warm_up":{[^}]*"'"$1"'": *\([-+0-9.eE]*\).*/\1/p'
}

# ours NAME CORES WORKERS FOLDER OPTION...: the rate of `bench pipeline`, and of its warm-up as NAME.first. The
# processor time of a sample, in µs, is NAME.cpu and NAME.first_cpu.
ours() {
  name=$1 where=$2 workers=$3 folder=$4
  shift 4
  taskset -c "$where" "$batchcast" bench pipeline "imagefolder:$folder" --recipe imagenet-train --workers "$workers" \
    --seconds "$seconds" --json "$@" >"$scratch/out" 2>"$scratch/err" || {
    cat "$scratch/err" "$scratch/out" >&2
    die "bench pipeline failed for $name"
  }
  result "$name" "$(json_value samples_per_second <"$scratch/out")"
  samples=$(warm_up_value samples)
  record "$name.first" "$(warm_up_value seconds | awk -v n="$samples" '{ print n / $1 }')"
  record "$name.first_cpu" "$(warm_up_value cpu_seconds | awk -v n="$samples" '{ print 1e6 * $1 / n }')"
  record "$name.cpu" "$(sed 's/"warm_up":{[^}]*},*//' "$scratch/out" | json_value cpu_seconds |
    awk -v n="$(sed 's/"warm_up":{[^}]*},*//' "$scratch/out" | json_value samples)" '{ print 1e6 * $1 / n }')"
  kept=$(json_value kept_bytes <"$scratch/out")
  [ -z "$kept" ] || [ "$kept" = 0 ] ||
    record size "$(awk -v a="$kept" -v b="$(json_value file_bytes <"$scratch/out")" 'BEGIN { print a / b }')"
}

# peer NAME CORES WORKERS SCRIPT WARM_UP
peer() {
  [ -n "$python" ] && ! grep -qx "$1" "$scratch/failed" || return 0
  if taskset -c "$2" "$python" "$root/benchmarks/peers/$4" "$images" --workers "$3" --seconds "$seconds" \
    --warm-up "$5" >"$scratch/out" 2>"$scratch/err"; then
    result "$1" "$(json_value images_per_second <"$scratch/out")"
  else
    tail -n 5 "$scratch/err" >&2
    echo "$1 failed and is left out" >&2
    echo "$1" >>"$scratch/failed"
  fi
}

share() {
  "$batchcast" bench share "imagefolder:$images" --recipe imagenet-train --workers "$cores" --consumers 4 \
    --batch-size 64 --seconds "$seconds" --cache 2GiB --json >"$scratch/out" 2>"$scratch/err" ||
    die "bench share failed"
  result four_warm "$(json_value total_samples_per_second <"$scratch/out")"
  [ -n "$python" ] || return 0
  start_together 4 $warm_up "$python" "$root/benchmarks/peers/torchvision_dataloader.py" "$images" --workers 1
  if await_together; then result four_dataloaders "$(total)"; else echo "four DataLoaders failed" >&2; fi
}

# out_of_memory FOLDER: what lies there is dropped from the page cache.
out_of_memory() {
  sync
  "$drawer" -c 'import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        file = os.open(os.path.join(folder, name), os.O_RDONLY)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(file)' "$1"
}

# A cache in a directory: filled by one process, then read by another one, with nothing in the page cache.
from_disk() {
  place=${disk:-$scratch}/warm-cache.$$
  ours disk_filling "$core" 1 "$images" --cache "2GiB:$place"
  out_of_memory "$place"
  out_of_memory "$images"
  # Its first epoch reads from the disk.
  ours disk "$core" 1 "$images" --cache "2GiB:$place"
  entry=$(find "$place" -name '*.segment' -printf '%s\n' | awk '{ b += $1 } END { print b / 2000 }')
  out_of_memory "$place"
  file=$(find "$place" -name '*.segment' -size +1M | head -n 1)
  bandwidth=$(LC_ALL=C dd if="$file" of=/dev/null bs=128k iflag=direct 2>&1 |
    awk '/copied/ { for (i = 1; i <= NF; i++) if ($i == "s,") print $1 / $(i - 1) }')
  record disk_bandwidth "$(awk -v b="$bandwidth" -v e="$entry" 'BEGIN { print b / e }')"
  rm -rf "$place"
}

turns() {
  taskset -c "$core" "$jpeg_rows" "$images" --seconds "$seconds" >"$scratch/out" || die "jpeg_rows failed"
  result jpeg_rows "$(json_value images_per_second <"$scratch/out")"
  ours cold "$core" 1 "$images"
  ours warm "$core" 1 "$images" --cache 2GiB
  ours progressive "$core" 1 "$progressive" --cache 2GiB
  ours warm_two "$both" 2 "$images" --cache 2GiB
  peer dali "$both" 2 dali_pipeline.py 4
  peer torchvision "$both" 2 torchvision_dataloader.py 8
  share
  from_disk
}

# The processor time of the first two epochs together, with a cache, beside those without.
first_two() {
  awk '
    $2 == "cold.cpu" { cold[$1] = $3 }
    $2 == "cold.first_cpu" { first[$1] = $3 }
    $2 == "warm.cpu" { warm[$1] = $3 }
    $2 == "warm.first_cpu" { fill[$1] = $3 }
    END { for (r in warm) printf "%.4f\n", (fill[r] + warm[r]) / (first[r] + cold[r]) }' \
    "$scratch/results" | median_min_max
}

# Names, ratio's median min max, target.
ratio_rows() {
  echo "warm_over_jpeg_rows $(ratios warm jpeg_rows) >=2.2"
  echo "warm_over_cold $(ratios warm cold) >=1.8"
  echo "cold_cpu_over_warm $(ratios cold.cpu warm.cpu) >=1.8"
  echo "two_over_dali $(ratios warm_two dali) >=6"
  echo "two_over_torchvision $(ratios warm_two torchvision) >=10"
  echo "four_over_dataloaders $(ratios four_warm four_dataloaders) >=35"
  echo "progressive_over_baseline $(ratios progressive warm) >=0.95"
  echo "filling_takes $(ratios warm.first_cpu cold.first_cpu) <=1.45"
  echo "first_two_epochs_take $(first_two) <=1.01"
  echo "size_over_files $(rates size) <=1.6"
  echo "disk_over_bandwidth $(ratios disk.first disk_bandwidth) -"
}

rate_rows() {
  for name in jpeg_rows cold warm progressive warm_two dali torchvision four_warm four_dataloaders warm.first \
    disk_filling.first disk.first disk_bandwidth; do
    echo "$name $(rates "$name")"
  done
}

table() {
  awk 'BEGIN { f = "%-26s %10s %17s %8s\n"; printf f, "images/s", "median", "min-max", "target" }
    $2 != "-" { printf f, $1, sprintf("%.0f", $2), sprintf("%.0f-%.0f", $3, $4), "" }' "$scratch/rate_rows"
  awk '$2 != "-" { printf "%-26s %10s %17s %8s\n", $1, sprintf("%.2f", $2), sprintf("%.2f-%.2f", $3, $4), $5 }' \
    "$scratch/ratio_rows"
}

json() {
  sed 's/^\([a-z_]*\)[.]/\1_/' "$scratch/rate_rows" | cat - "$scratch/ratio_rows" |
    flat_json warm "" "" ",\"images\":$(images_json)"
}

make_scratch
build
prepare_images
find_python
cores=$(nproc)
core=$(last_core)
both=$(taskset -pc $$ | sed 's/.*: //')
jpeg_rows=$(binary jpeg_rows)
[ -n "$jpeg_rows" ] || die "there is no jpeg_rows beside $batchcast"
progressive=$build_dir/images-progressive
"$drawer" "$root/benchmarks/make_variants.py" "$images" "$progressive" progressive --images 400 >&2 ||
  die "make_variants.py failed"
find "$progressive" -type f -exec cat {} + >/dev/null
note_load
each_round turns
rate_rows >"$scratch/rate_rows"
ratio_rows >"$scratch/ratio_rows"
show_results
