#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# soak.sh [--simulate] [SECONDS [BINARY]]: the randomised tests over and over, with growing seeds, for 600 s
# unless told otherwise, and before these 1,000 restarts of trials from checkpoints. Stops at the
# first failure and says which seed it was.
# soak.sh --kills [PRODUCERS [BINARY]]: the storms of producers' deaths alone, until that many
# producers (1,000 unless told otherwise), and ten times as many trainers, were killed.
# soak.sh --restarts [BINARY]: the 1,000 restarts alone.
# soak.sh --nodes [N [BUILD]]: N nodes of Ray (100 unless told otherwise) are taken away without grace, one
# after the other, from a trial that goes on at its checkpoint on the next one.
# BATCHCAST_SOAK_SEED is the first seed. With --simulate they are schedules of the simulation, on all processors.
set -u
cd "$(dirname "$0")/.." || exit 1

# simulate SECONDS BINARY: one process a processor, each with seeds of its part, half of the time in each world.
simulate() {
  seconds=$1
  binary=$2
  seed=${BATCHCAST_SOAK_SEED:-1}
  folder=$(mktemp -d)
  if [ ! -x "$binary" ]; then
    echo "soak: no $binary. Build it: cmake --build --preset release --target batchcast_simulation" >&2
    exit 2
  fi
  jobs=""
  for part in $(seq "$(nproc)"); do
    {
      "$binary" --schedules 1000000000 --seconds $((seconds / 2 + 1)) --seed $((seed + part * 1000000000)) &&
        "$binary" --lives --schedules 1000000000 --seconds $((seconds / 2 + 1)) --seed $((seed + part * 1000000000))
    } >"$folder/$part" 2>&1 &
    jobs="$jobs $!"
  done
  status=0
  for job in $jobs; do
    wait "$job" || status=1
  done
  cat "$folder"/*
  rm -rf "$folder"
  exit $status
}

if [ "${1:-}" = --simulate ]; then
  simulate "${2:-600}" "${3:-build/release/tests/simulation/batchcast_simulation}"
fi

# take_away_nodes NODES BUILD
take_away_nodes() {
  python=$PWD/build/python/ray/bin/python
  seed=${BATCHCAST_SOAK_SEED:-$(date +%s)}
  if ! "$python" -c 'import ray' 2>/dev/null; then
    echo "soak: no Ray. Install it: sh tests/python/setup_ray.sh" >&2
    exit 2
  fi
  began=$(date +%s)
  BATCHCAST_TEST_NODE_KILLS=$1 BATCHCAST_TEST_SEED=$seed BATCHCAST_TEST_ENVIRONMENT=ray \
    sh tests/python/run.sh "$python" "$2" $(($1 * 60 + 300)) test_ray.py -k outlives || {
    echo "soak: a trial lost its place, with BATCHCAST_SOAK_SEED=$seed"
    exit 1
  }
  echo "soak: $1 nodes taken away, seed $seed, $(($(date +%s) - began)) s"
  exit 0
}

if [ "${1:-}" = --nodes ]; then
  take_away_nodes "${2:-100}" "${3:-build/release}"
fi
tests='[storm],[group-storm],[ride-storm],[heads-storm],[desk],[crowd],[streams]'
seconds=${1:-600}
producers_wanted=0
restarts=yes
if [ "$seconds" = --kills ]; then
  tests='[ride-storm]'
  seconds=0
  producers_wanted=${2:-1000}
  restarts=no
  [ $# -lt 2 ] || shift
elif [ "$seconds" = --restarts ]; then
  seconds=0
fi
trainers_wanted=$((producers_wanted * 10))
binary=${2:-build/release/tests/batchcast_multiprocess}
seed=${BATCHCAST_SOAK_SEED:-1}
output=$(mktemp)
trap 'rm -f "$output"' EXIT

if [ ! -x "$binary" ]; then
  echo "soak: no $binary. Build it: cmake --preset release && cmake --build --preset release" >&2
  exit 2
fi

# sum PATTERN: of the numbers that the last round said so.
sum() { sed -n "s/.*$1.*/\1/p" "$output" | awk '{ n += $1 } END { print n + 0 }'; }

# goes_on: whether time is left, or some are to be killed.
goes_on() {
  [ $(($(date +%s) - started)) -lt "$seconds" ] || [ $producers -lt "$producers_wanted" ] ||
    [ $trainers -lt $trainers_wanted ]
}

restart_trials() {
  if ! BATCHCAST_TEST_SCALE=20 BATCHCAST_TEST_SEED=$seed "$binary" '[heads-storm]' >"$output" 2>&1; then
    cat "$output"
    echo "soak: 1,000 restarts failed, with BATCHCAST_TEST_SCALE=20 BATCHCAST_TEST_SEED=$seed"
    exit 1
  fi
  echo "soak: 1,000 restarts of trials, seed $seed, $(($(date +%s) - started)) s"
}

started=$(date +%s)
if [ $restarts = yes ]; then restart_trials; fi
started=$(date +%s)
round=0
producers=0
trainers=0
while goes_on; do
  round=$((round + 1))
  began=$(date +%s)
  if ! BATCHCAST_TEST_SEED=$seed "$binary" "$tests" >"$output" 2>&1; then
    cat "$output"
    echo "soak: round $round failed; again with BATCHCAST_TEST_SEED=$seed $binary '$tests'"
    exit 1
  fi
  kills=$(sum ': \([0-9]*\) killed')
  killed_producers=$(sum 'of them \([0-9]*\) producers')
  producers=$((producers + killed_producers))
  trainers=$((trainers + $(sum 'ride storm: \([0-9]*\) killed') - killed_producers))
  echo "soak: round $round, seed $seed, $kills kills, $(($(date +%s) - began)) s"
  seed=$((seed + 1))
done
echo "soak: $round rounds passed in $(($(date +%s) - started)) s; of rides $producers producers and" \
  "$trainers trainers were killed"
