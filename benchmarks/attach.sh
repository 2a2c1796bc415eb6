#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What a consumer costs: the time from attach to the first batch of a warm 1 GiB ring, the memory of
# its own, its page tables, and the CPU time of an idle stream. See README.md in this folder.
# Usage: attach.sh [--quick] [--rounds N] [--build-dir DIR] [--batchcast P]   (N: attaches, 20)
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"

rounds=20
stream=attach_benchmark
read_options common_option "$@"
[ "$rounds" -gt 1 ] || rounds=3
idle_seconds=10

finish() {
  trap '' INT TERM HUP
  # A stopped process does not see TERM before it goes on.
  for pid in $pids; do
    kill -CONT "$pid" 2>/dev/null
    end_process "$pid"
  done
  rm -rf "$scratch"
}

# start LOG COMMAND...: in the background; sets `started`.
start() {
  log=$scratch/$1
  shift
  "$@" >"$log.out" 2>"$log.err" &
  started=$!
  pids="$started $pids"
}

# settle: waits until the producer has filled the ring, seen as `published` standing still.
settle() {
  before=none
  waited=0
  while [ $waited -lt 60 ]; do
    kill -0 "$producer" 2>/dev/null || {
      cat "$scratch/serve.err" >&2
      die "the producer has ended"
    }
    now=$("$batchcast" ls --json 2>/dev/null | json_value published)
    [ -n "$now" ] && [ "$now" = "$before" ] && return
    before=$now
    sleep 1
    waited=$((waited + 1))
  done
  die "the ring is not full after a minute"
}

consume() {
  "$batchcast" consume $stream --batch-size 64 --json "$@"
}

attach_times() {
  attach=0
  while [ $attach -lt "$rounds" ]; do
    attach=$((attach + 1))
    settle
    consume --seconds 1 >"$scratch/out" 2>"$scratch/err" || {
      cat "$scratch/err" "$scratch/out" >&2
      die "a consumer failed"
    }
    seconds=$(json_value attach_seconds <"$scratch/out")
    [ -n "$seconds" ] || die "no attach_seconds in: $(tail -n 1 "$scratch/out")"
    awk -v s="$seconds" 'BEGIN { printf "%.6f\n", s * 1000 }' | tee -a "$scratch/attach" >&2
  done
}

# private_kib PID [WITHOUT]: private pages of the process, but for mappings whose line matches WITHOUT.
private_kib() {
  awk -v without="${2:-^$}" '
    /^[0-9a-f]+-[0-9a-f]+ / { skip = $0 ~ without }
    /^Private_(Clean|Dirty|Hugetlb):/ && !skip { sum += $2 }
    END { print sum + 0 }' "/proc/$1/smaps"
}

own_memory() {
  start memory "$batchcast" consume $stream --batch-size 64 --json --seconds 6
  consumer=$started
  sleep 4
  rollup_kib=$(awk '/^Private_/ { sum += $2 } END { print sum + 0 }' "/proc/$consumer/smaps_rollup")
  # Ring pages count as private while no other process maps them; they are the producer's all the same.
  without_ring_kib=$(private_kib "$consumer" memfd:)
  page_tables_kib=$(awk '/^VmPTE:/ { print $2 }' "/proc/$consumer/status")
  rss_kib=$(awk '/^VmRSS:/ { print $2 }' "/proc/$consumer/status")
  [ -n "$page_tables_kib" ] || {
    cat "$scratch/memory.err" >&2
    die "the consumer ended before its memory could be read"
  }
  wait "$consumer"
}

# cpu_ns PID: CPU time of all its threads. schedstat counts nanoseconds; utime and stime count ticks,
# too coarse for a process that sleeps.
cpu_ns() {
  if [ -r "/proc/$1/schedstat" ]; then
    cat "/proc/$1"/task/*/schedstat | awk '{ sum += $1 } END { printf "%.0f\n", sum }'
  else
    sed 's/.*) //' "/proc/$1/stat" |
      awk -v tick="$(getconf CLK_TCK)" '{ printf "%.0f\n", ($12 + $13) * 1e9 / tick }'
  fi
}

# A stopped lockstep consumer gates the stream: the producer then waits for space and the other
# consumer for samples, both in their ordinary sleeps.
idle_cost() {
  start idle "$batchcast" consume $stream --batch-size 64 --name idle --json
  idle=$started
  start gate "$batchcast" consume $stream --batch-size 64 --name gate --json
  gate=$started
  sleep 2
  kill -STOP "$gate"
  settle
  sleep 1
  producer_before=$(cpu_ns "$producer")
  idle_before=$(cpu_ns "$idle")
  sleep $idle_seconds
  producer_after=$(cpu_ns "$producer")
  idle_after=$(cpu_ns "$idle")
  kill -0 "$idle" 2>/dev/null || die "the idle consumer has ended: $(cat "$scratch/idle.err")"
  kill -CONT "$gate"
  producer_percent=$(percent "$producer_before" "$producer_after")
  consumer_percent=$(percent "$idle_before" "$idle_after")
}

percent() {
  awk -v a="$1" -v b="$2" -v s=$idle_seconds 'BEGIN { printf "%.3f", (b - a) / s / 1e7 }'
}

report() {
  read -r median min max <<EOF_TIMES
$(median_min_max <"$scratch/attach")
EOF_TIMES
  machine_line
  awk -v median="$median" -v min="$min" -v max="$max" -v rollup="$rollup_kib" \
    -v without="$without_ring_kib" -v tables="$page_tables_kib" -v rss="$rss_kib" \
    -v producer="$producer_percent" -v consumer="$consumer_percent" 'BEGIN {
      f = "%-42s %10s  %s\n"
      printf f, "attach to first batch, median, ms", sprintf("%.2f", median), "<= 20"
      printf f, "attach to first batch, max, ms", sprintf("%.2f", max), ""
      printf f, "private pages of a consumer, MiB", sprintf("%.2f", rollup / 1024), "<= 7.6 (8 MB)"
      printf f, "  without the mappings of the ring, MiB", sprintf("%.2f", without / 1024), ""
      printf f, "page tables of a consumer (VmPTE), MiB", sprintf("%.2f", tables / 1024), ""
      printf f, "RSS of a consumer, MiB", sprintf("%.0f", rss / 1024), "counts the ring, twice"
      printf f, "idle producer, % of a core", producer, "<= 0.5"
      printf f, "idle consumer, % of a core", consumer, "<= 0.5"
    }'
  printf '{"benchmark":"attach","machine":{%s},"attaches":%s,' "$(machine_json)" "$rounds"
  printf '"attach_ms":%s,"attach_min_ms":%s,"attach_max_ms":%s,' "$median" "$min" "$max"
  printf '"private_kib":%s,"private_without_ring_kib":%s,"page_tables_kib":%s,"rss_kib":%s,' \
    "$rollup_kib" "$without_ring_kib" "$page_tables_kib" "$rss_kib"
  printf '"idle_producer_percent":%s,"idle_consumer_percent":%s}\n' \
    "$producer_percent" "$consumer_percent"
}

make_scratch
build
note_load
BATCHCAST_DIR=$scratch/streams
export BATCHCAST_DIR
start serve "$batchcast" serve synthetic:3x224x224 --dtype f32 --samples 1700 --stream $stream \
  --memory 1GiB --wait-for 1 --seed 1
producer=$started
# The first consumer lets the stream begin and every page of the ring be written once.
consume --epochs 2 >"$scratch/warm" 2>&1 || die "the first consumer failed: $(cat "$scratch/warm")"
attach_times
own_memory
idle_cost
"$batchcast" stop $stream >"$scratch/stop" 2>&1 || cat "$scratch/stop" >&2
report
