#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What a producer's death costs four trainers: from when the next producer's door opens to each one's first sample, and
# with a keeper the whole stop; whether all get what they get undisturbed; and what the life file costs. See README.md
# in this folder.
# Usage: ride.sh [--quick] [--rounds N] [--images DIR] [--disk DIR] [--build-dir DIR] [--batchcast P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"
# shellcheck source=benchmarks/images.sh
. "$root/benchmarks/images.sh"

trainers=4
batch_size=64
epochs=3
stream=ride_benchmark
disk=
ride_option() {
  case $1 in
    --disk) disk=${2:?--disk needs a folder} shift_by=2 ;;
    *) image_option "$@" ;;
  esac
}
read_options ride_option "$@"

# serve MEMORY OPTION...: in the background; sets `producer`.
serve() {
  memory=$1
  shift
  "$batchcast" serve "imagefolder:$images" --recipe imagenet-train --memory "$memory" --stream $stream \
    --wait-for $trainers "$@" >>"$scratch/serve.out" 2>>"$scratch/serve.err" &
  producer=$!
}

train() {
  "$ride_trainers" $stream $trainers $batch_size $epochs >"$scratch/trainers" 2>"$scratch/trainers.err" &
  trains=$!
  pids=$trains
}

# die_of_trainers CODE: they failed, or ended before they had to.
die_of_trainers() {
  die "the trainers ended with $1: $(cat "$scratch/trainers" "$scratch/trainers.err" "$scratch/serve.err")"
}

wait_for_trainers() {
  wait "$trains" || die_of_trainers $?
  pids=
}

# of_trainers KEY: that value of each.
of_trainers() { sed -n 's/.*"'"$1"'":"*\([-+0-9.eE]*\).*/\1/p' "$scratch/trainers"; }

# worker: the process that serves.
worker() { cat "$BATCHCAST_DIR/$stream/lock"; }

# published_at_least N: waits until so many samples were made.
published_at_least() {
  until [ "$("$batchcast" ls --json 2>/dev/null | json_value published)" -ge "$1" ] 2>/dev/null; do
    kill -0 "$trains" 2>/dev/null || { wait "$trains"; die_of_trainers $?; }
    sleep 0.05
  done
}

# door_s: when the door was made, in seconds since 1970.
door_s() { stat -c %.9Z "$BATCHCAST_DIR/$stream/door" 2>/dev/null; }

# calm MEMORY: the digest of trainers that nothing disturbs; sets `calm`.
calm() {
  serve "$1"
  train
  wait_for_trainers
  end_producer
  calm=$(of_trainers digest | sort -u)
  [ "$(of_trainers digest | wc -l)" = $trainers ] && [ "$(echo "$calm" | wc -l)" = 1 ] ||
    die "trainers that nothing disturbs have the digests $(of_trainers digest)"
}

# check_digests
check_digests() {
  [ "$(of_trainers digest | sort -u)" = "$calm" ] || die "the digests are $(of_trainers digest), and $calm undisturbed"
  [ "$(of_trainers lives | sort -u)" = 2 ] || die "not all trainers rode: $(cat "$scratch/trainers")"
}

# by_hand NAME MEMORY: killed in the second epoch, and started again by this script.
by_hand() {
  serve "$2"
  train
  published_at_least 2500
  kill -KILL "$producer"
  wait "$producer" 2>/dev/null
  before=$(door_s)
  serve "$2"
  until [ -n "$(door_s)" ] && [ "$(door_s)" != "$before" ]; do sleep 0.01; done
  opened=$(door_s)
  wait_for_trainers
  end_producer
  check_digests
  result "$1.first" "$(of_trainers first_s | awk -v o="$opened" '{ t = $1 - o; if (t > m) m = t } END { print m }')"
}

# kept NAME MEMORY: the same with a keeper.
kept() {
  serve "$2" --keep-alive
  train
  published_at_least 2500
  kill -KILL "$(worker)"
  wait_for_trainers
  end_producer
  check_digests
  result "$1.stop" "$(of_trainers longest_pause_s | sort -g | tail -n 1)"
}

costs() {
  for members in 4 64; do
    "$life_cost" "$where" $members >"$scratch/cost" || die "life_cost failed"
    result "join_$members" "$(json_value join_ms <"$scratch/cost")"
    result "join_cpu_$members" "$(json_value join_cpu_ms <"$scratch/cost")"
    # What it takes in a second is so much of a core.
    result "note_$members" "$(json_value note_cpu_ms <"$scratch/cost" | awk '{ print $1 / 10 }')"
  done
}

turns() {
  for memory in 256MiB 4GiB; do
    by_hand "hand_$memory" $memory
    kept "kept_$memory" $memory
  done
  costs
}

rows() {
  for memory in 256MiB 4GiB; do
    echo "first_sample_$memory $(rates "hand_$memory.first") s <=1"
    echo "kept_stop_$memory $(rates "kept_$memory.stop") s <=2"
  done
  for members in 4 64; do
    echo "join_of_$members $(rates join_$members) ms <=1"
    echo "join_cpu_of_$members $(rates join_cpu_$members) ms <=1"
    echo "note_of_$members $(rates note_$members) %_of_a_core <=0.1"
  done
}

table() {
  awk 'BEGIN { f = "%-26s %10s %19s  %-12s %6s\n"; printf f, "", "median", "min-max", "", "target" }
    { printf f, $1, sprintf("%.3f", $2), sprintf("%.3f-%.3f", $3, $4), $5, $6 }' "$scratch/rows"
}

json() {
  flat_json ride "" "" ",\"trainers\":$trainers,\"batch_size\":$batch_size,\"images\":$(images_json)" <"$scratch/rows"
}

make_scratch
build
prepare_images
own_streams
where=${disk:-$scratch}/life.$$
mkdir -p "$where"
ride_trainers=$(binary ride_trainers)
life_cost=$(binary life_cost)
[ -n "$ride_trainers" ] && [ -n "$life_cost" ] || die "there is no ride_trainers or life_cost beside $batchcast"
note_load
calm 256MiB
each_round turns
rmdir "$where" 2>/dev/null
rows >"$scratch/rows"
show_results
