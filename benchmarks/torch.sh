#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What libtorch trainers get: the time that the loader takes in the training thread, training from a stream
# against training from memory, and a sweep of four against four that decode for themselves. See README.md
# in this folder.
# Usage: torch.sh [--quick] [--rounds N] [--seconds S] [--torch DIR] [--images DIR] [--dataset DIR]
#                 [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

dataset=/usr/share/datasets/fashion-mnist
trainers=4
seconds=6  # of each sweep
turn=1.5   # seconds of training by turns
warm_up=4
torch_option() {
  case $1 in
    --torch) cmake_option=-DTorch_DIR=${2:?--torch needs a folder} shift_by=2 ;;
    --dataset) dataset=${2:?--dataset needs a folder} shift_by=2 ;;
    *) image_option "$@" ;;
  esac
}
read_options torch_option "$@"

# serve NAME ARGUMENT...: in the background; sets `producer`.
serve() {
  name=$1
  shift
  $on_first "$batchcast" serve "$@" --stream "$name" >/dev/null 2>"$scratch/serve.err" &
  producer=$!
}

feed() {
  $on_last "$torch_feed" >"$scratch/out" 2>"$scratch/err" || die "torch_feed failed: $(cat "$scratch/err")"
  libtorch=$(awk '$1 == "libtorch" { print $2 }' "$scratch/out")
  while read -r name value; do
    [ "$name" = libtorch ] || record "$name" "$value"
  done <"$scratch/out"
  echo "round $round, feed: $(grep _live_us "$scratch/out" | tr '\n' ' ')" >&2
}

# The trainer has a core and a thread to itself, and so has the producer.
train() {
  serve train "idx:$dataset" --workers 1 --memory 4MiB
  $on_last "$torch_train" train "$1" "$turn" >"$scratch/out" 2>"$scratch/err" ||
    die "torch_train failed: $(cat "$scratch/err" "$scratch/serve.err")"
  end_producer
  cat "$scratch/out" >>"$scratch/results"
  awk '{ print "turn " $1 ", " $2 ": " $3 }' "$scratch/out" >&2
}

# cpu_ticks PID: of all its threads, a hundredth of a second each.
cpu_ticks() {
  sed 's/.*) //' "/proc/$1/stat" | awk '{ print $12 + $13 }'
}

wait_until() {
  sleep "$(awk -v at="$1" -v now="$(date +%s.%N)" 'BEGIN { d = at - now; print (d > 0 ? d : 0) }')"
}

# sweep NAME ARGUMENT...: four trainers, measured in the same seconds; with the producer, if there is one.
sweep() {
  name=$1
  shift
  start_together $trainers $warm_up "$torch_sweep" "$@"
  ticks=0
  if [ -n "$producer" ]; then
    wait_until "$begin"
    before=$(cpu_ticks "$producer")
    wait_until $((begin + seconds))
    ticks=$(($(cpu_ticks "$producer") - before))
  fi
  await_together || die "torch_sweep $* failed: $(cat "$scratch"/*.err)"
  record "$name" "$(awk '{ s += $1 } END { print s }' "$scratch/runs")"
  record "${name}_per_cpu_second" "$(awk -v cpu="$ticks" -v seconds="$seconds" \
    -v hertz="$(getconf CLK_TCK)" \
    '{ s += $1; c += $2 } END { print s / (c + cpu / hertz / seconds) }' "$scratch/runs")"
  echo "round $round, $(tail -n 1 "$scratch/results" | cut -d' ' -f2-)" >&2
}

sweeps() {
  [ -n "$torch_sweep" ] || return 0
  on_first=
  serve sweep "imagefolder:$images" --recipe imagenet-train
  sweep sweep_stream stream sweep
  end_producer
  sweep sweep_files files "$images" 1
}

names() {
  for case in u8_28 f32_224; do
    for what in shared shared_live torch torch_worker torch_worker_live; do
      echo "${case}_${what}_us"
    done
    echo "${case}_shared_live_p99_us"
    echo "${case}_largest_allocation_bytes"
    echo "${case}_allocations_per_batch"
  done
  echo tensor_ns
  echo train_memory
  echo train_stream
  echo sweep_files
  echo sweep_stream
  echo sweep_files_per_cpu_second
  echo sweep_stream_per_cpu_second
}

# What each should reach.
target_of() {
  case $1 in
    *_shared_us | *_shared_live_us) echo "<=_10" ;;
    tensor_ns) echo "<=_300" ;;
    u8_28_largest*) echo "<_50176" ;; # a batch
    f32_224_largest*) echo "<_38535168" ;;
    train_stream_over_memory) echo "1" ;;
    sweep_stream_over_files) echo ">=_2.5" ;;
    *) echo "-" ;;
  esac
}

rows() {
  for name in $(names); do echo "$name $(rates "$name")"; done
  echo "train_stream_over_memory $(ratios train_stream train_memory)"
  echo "sweep_stream_over_files $(ratios sweep_stream_per_cpu_second sweep_files_per_cpu_second)"
}

table() {
  echo "libtorch $libtorch; times in microseconds, rates in samples/s"
  while read -r name median low high; do
    [ "$median" = - ] || echo "$name $median $low $high $(target_of "$name")"
  done <"$scratch/rows" | awk '
    function text(x) { return x < 10 ? sprintf("%.3f", x) : x < 1000 ? sprintf("%.1f", x) : sprintf("%.0f", x) }
    BEGIN { f = "%-30s %10s %19s %12s\n"; printf f, "", "median", "min-max", "target" }
    { gsub("_", " ", $5)
      printf f, $1, text($2), text($3) "-" text($4), ($5 == "-" ? "" : $5) }'
}

json() {
  flat_json torch "\"libtorch\":\"$libtorch\"," "\"trainers\":$trainers," ",\"images\":$(images_json)" \
    <"$scratch/rows"
}

make_scratch
build
prepare_images
[ -d "$dataset" ] || die "no $dataset (Debian: dataset-fashion-mnist)"
own_streams
torch_feed=$(binary torch_feed)
torch_train=$(binary torch_train)
torch_sweep=$(binary torch_sweep)
if [ -z "$torch_feed" ] || [ -z "$torch_train" ]; then
  die "the build found no libtorch (Debian: libtorch-dev; or --torch DIR)"
fi
[ -n "$torch_sweep" ] || echo "without OpenCV (Debian: libopencv-dev) there is no sweep" >&2
note_load
on_last="taskset -c $(last_core)"
each_round feed
# Only where there is another core for the producer: the first one.
on_first="taskset -c $(taskset -pc $$ | sed 's/.*: \([0-9]*\).*/\1/')"
train $((2 * rounds - 1))
each_round sweeps
rows >"$scratch/rows"
show_results
