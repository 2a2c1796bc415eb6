#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Batches handed over per second, batchcast and iceoryx in turns. See README.md in this folder.
# Usage: ring.sh [--quick] [--rounds N] [--batches N] [--build-dir DIR] [--batchcast P] [--iceoryx P]
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck source=benchmarks/common.sh
. "$root/benchmarks/common.sh"

in_flight=16
large_batch=38535168 # 256 x 3 x 224 x 224 bytes
batches=
iceoryx=
roudi=
ring_option() {
  case $1 in
    --batches) batches=${2:?--batches needs a number} shift_by=2 ;;
    --iceoryx) iceoryx=${2:?--iceoryx needs a path} shift_by=2 ;;
    *) common_option "$@" ;;
  esac
}
read_options ring_option "$@"

finish() {
  trap '' INT TERM HUP
  stop_roudi
  rm -rf "$scratch"
}

# A RouDi that had to be killed leaves its segments behind. They are surely ours only if it became
# ready: there is one RouDi per machine.
stop_roudi() {
  [ -n "$roudi" ] || return 0
  end_process "$roudi"
  if grep -q 'ready for clients' "$scratch/roudi.log"; then
    rm -f /dev/shm/iceoryx_mgmt "/dev/shm/$(id -gn)"
  fi
  roudi=
}

# start_roudi BATCH_BYTES: RouDi with just the pool that this batch size needs. Fails with a note if the
# pool does not fit into /dev/shm.
start_roudi() {
  chunk_bytes=$("$iceoryx" --print-chunk-bytes --batch-bytes "$1" --in-flight $in_flight)
  chunks=$("$iceoryx" --print-chunks --batch-bytes "$1" --in-flight $in_flight)
  # RouDi's management segment takes 63 MiB; without room it dies of SIGBUS.
  need_kib=$((chunk_bytes * chunks / 1024 + 80 * 1024))
  free_kib=$(df -kP /dev/shm | awk 'NR == 2 { print $4 }')
  if [ "$free_kib" -lt "$need_kib" ]; then
    echo "/dev/shm has $free_kib KiB free, iceoryx needs $need_kib KiB: skipped at $1 bytes" >&2
    return 1
  fi
  printf '[general]\nversion = 1\n\n[[segment]]\n\n[[segment.mempool]]\nsize = %s\ncount = %s\n' \
    "$chunk_bytes" "$chunks" >"$scratch/roudi.toml"
  # A kill -9 of this script runs no trap; then the kernel ends RouDi, with KILL because a RouDi whose
  # clients died inside a shared lock does not end on TERM.
  tie=
  ! command -v setpriv >/dev/null || tie='setpriv --pdeathsig KILL'
  $tie iox-roudi --kill-delay 1 -c "$scratch/roudi.toml" >"$scratch/roudi.log" 2>&1 &
  roudi=$!
  waited=0
  until grep -q 'ready for clients' "$scratch/roudi.log"; do
    if ! kill -0 "$roudi" 2>/dev/null || [ "$waited" -ge 300 ]; then
      cat "$scratch/roudi.log" >&2
      die "RouDi did not start; if another one runs on this machine, end it first"
    fi
    sleep 0.1
    waited=$((waited + 1))
  done
}

# Enough batches for a second or so on the slower side.
batches_for() {
  if [ -n "$batches" ]; then
    echo "$batches"
    return
  fi
  case $1 in
    1) echo 1000000 ;;
    4) echo 200000 ;;
    *) echo 30000 ;;
  esac
}

# A batch to the ranks of a group, beside the same batch to as many consumers.
run_group() {
  round=0
  while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    measure batchcast "$1g" "$2" "$batchcast" bench ring
    measure group "$1g" "$2" "$batchcast" bench ring --group
  done
  awk -v bytes="$1g" '
    $1 == bytes { if ($3 == "batchcast") alone = $4; else printf "%.4f\n", $4 / alone }' \
    "$scratch/results" | median_min_max | awk -v ranks="$2" '{ printf \
      "a batch to %s ranks of a group / to %s consumers: %.2f (%.2f-%.2f), target >= 0.95\n", \
      ranks, ranks, $1, $2, $3 }'
}

# measure NAME BATCH_BYTES CONSUMERS COMMAND...: one run; its rate goes to the results.
measure() {
  name=$1 bytes=$2 consumers=$3
  shift 3
  "$@" --batch-bytes "${bytes%g}" --batches "$(batches_for "$consumers")" --consumers "$consumers" \
    --in-flight $in_flight --json >"$scratch/out" 2>"$scratch/err" || {
    cat "$scratch/err" "$scratch/out" >&2
    die "$name failed with $consumers consumers and $bytes bytes"
  }
  rate=$(json_value batches_per_second <"$scratch/out")
  bad=$(json_value bad <"$scratch/out")
  if [ -z "$rate" ] || [ "$bad" != 0 ]; then
    die "$name: bad batches or no rate: $(tail -n 1 "$scratch/out")"
  fi
  echo "$bytes $consumers $name $rate" >>"$scratch/results"
  echo "$name $bytes bytes, $consumers consumers: $rate batches/s" >&2
}

# run_size BATCH_BYTES CONSUMERS...
run_size() {
  size=$1
  shift
  peer=no
  if [ -n "$iceoryx" ] && start_roudi "$size"; then peer=yes; fi
  round=0
  while [ $round -lt "$rounds" ]; do
    round=$((round + 1))
    for count in "$@"; do
      measure batchcast "$size" "$count" "$batchcast" bench ring
      [ $peer = no ] || measure iceoryx "$size" "$count" "$iceoryx"
      echo "$size $count" >>"$scratch/cases"
    done
  done
  stop_roudi
}

rates() {
  awk -v bytes="$1" -v consumers="$2" -v name="$3" \
    '$1 == bytes && $2 == consumers && $3 == name { print $4 }' "$scratch/results" | median_min_max
}

# Median of the rounds' ratios: the two runs of a round are neighbours in time, their medians are not.
ratio() {
  awk -v bytes="$1" -v consumers="$2" '
    $1 == bytes && $2 == consumers {
      if ($3 == "batchcast") ours = $4
      else printf "%.4f\n", ours / $4
    }' "$scratch/results" | median_min_max | awk '{ print $1 }'
}

# One row per case: bytes consumers, then median min max of each side, then the ratio.
rows() {
  awk '!seen[$0]++' "$scratch/cases" | while read -r bytes consumers; do
    echo "$bytes $consumers $(rates "$bytes" "$consumers" batchcast)" \
      "$(rates "$bytes" "$consumers" iceoryx) $(ratio "$bytes" "$consumers")"
  done
}

table() {
  awk -v large=$large_batch '
    function rate(m) { return m == "-" ? "-" : sprintf("%.0f", m) }
    function range(a, b) { return a == "-" ? "-" : sprintf("%.0f-%.0f", a, b) }
    function rounded(r) { return r == "-" ? "-" : sprintf("%.2f", r) }
    BEGIN {
      target[1] = ">= 1.5"; target[4] = ">= 2.5"; target[16] = "> 1"
      f = "%11s %9s | %11s %19s | %11s %19s | %6s %7s\n"
      printf f, "batch bytes", "consumers", "batchcast/s", "min-max", "iceoryx/s", "min-max", "ratio", "target"
    }
    { printf f, $1, $2, rate($3), range($4, $5), rate($6), range($7, $8), rounded($9),
        $1 == large ? target[$2] : "" }' "$scratch/rows"
  cat "$scratch/group"
}

json() {
  awk -v machine="$(machine_json)" -v rounds="$rounds" -v in_flight=$in_flight -v others="$others" '
    function number(x) { return x == "-" ? "null" : x }
    BEGIN { printf "{\"benchmark\":\"ring\",\"machine\":{%s},\"rounds\":%s,\"in_flight\":%s," \
                   "\"others_percent\":%s,\"cases\":[",
              machine, rounds, in_flight, others }
    { printf "%s{\"batch_bytes\":%s,\"consumers\":%s", (NR > 1 ? "," : ""), $1, $2
      printf ",\"batchcast\":%s,\"batchcast_min\":%s,\"batchcast_max\":%s", $3, $4, $5
      printf ",\"iceoryx\":%s,\"iceoryx_min\":%s,\"iceoryx_max\":%s,\"ratio\":%s}",
        number($6), number($7), number($8), number($9) }
    END { print "]}" }' "$scratch/rows"
}

make_scratch
build
if [ -z "$iceoryx" ]; then
  iceoryx=$(find "$build_dir" -type f -name iceoryx_ring -perm -u+x 2>/dev/null | head -n 1)
fi
if [ -n "$iceoryx" ] && ! command -v iox-roudi >/dev/null; then
  iceoryx=
fi
[ -n "$iceoryx" ] || echo "iceoryx is not installed: batchcast alone is measured" >&2
note_load
run_size $large_batch 1 4 16
for size in 4096 262144 4194304; do run_size $size 1 4; done
run_group $large_batch 4 >"$scratch/group"
rows >"$scratch/rows"
show_results
