#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# soak.sh [--simulate] [SECONDS [BINARY]]: the randomised tests over and over, with growing seeds, for 600 s
# unless told otherwise. Stops at the first failure and says which seed it was.
# BATCHCAST_SOAK_SEED is the first seed. With --simulate they are schedules of the simulation, on all processors.
set -u
cd "$(dirname "$0")/.." || exit 1

# simulate SECONDS BINARY: one process a processor, each with seeds of its part.
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
    "$binary" --schedules 1000000000 --seconds "$seconds" --seed $((seed + part * 1000000000)) \
      >"$folder/$part" 2>&1 &
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
seconds=${1:-600}
binary=${2:-build/release/tests/batchcast_multiprocess}
tests='[storm],[group-storm],[ride-storm],[desk],[crowd],[streams]'
seed=${BATCHCAST_SOAK_SEED:-1}
output=$(mktemp)
trap 'rm -f "$output"' EXIT

if [ ! -x "$binary" ]; then
  echo "soak: no $binary. Build it: cmake --preset release && cmake --build --preset release" >&2
  exit 2
fi

started=$(date +%s)
round=0
while [ $(($(date +%s) - started)) -lt "$seconds" ]; do
  round=$((round + 1))
  began=$(date +%s)
  if ! BATCHCAST_TEST_SEED=$seed "$binary" "$tests" >"$output" 2>&1; then
    cat "$output"
    echo "soak: round $round failed; again with BATCHCAST_TEST_SEED=$seed $binary '$tests'"
    exit 1
  fi
  kills=$(sed -n 's/.*: \([0-9]*\) killed.*/\1/p' "$output" | awk '{ n += $1 } END { print n + 0 }')
  echo "soak: round $round, seed $seed, $kills kills, $(($(date +%s) - began)) s"
  seed=$((seed + 1))
done
echo "soak: $round rounds passed in $(($(date +%s) - started)) s"
