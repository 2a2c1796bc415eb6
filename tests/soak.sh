#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# soak.sh [SECONDS [BINARY]]: the randomised tests over and over, with growing seeds, for 600 s
# unless told otherwise, and before these 1,000 restarts of trials from checkpoints. Stops at the
# first failure and says which seed it was.
# BATCHCAST_SOAK_SEED is the first seed.
set -u
cd "$(dirname "$0")/.." || exit 1

seconds=${1:-600}
binary=${2:-build/release/tests/batchcast_multiprocess}
tests='[storm],[group-storm],[ride-storm],[heads-storm],[desk],[crowd],[streams]'
seed=${BATCHCAST_SOAK_SEED:-1}
output=$(mktemp)
trap 'rm -f "$output"' EXIT

if [ ! -x "$binary" ]; then
  echo "soak: no $binary. Build it: cmake --preset release && cmake --build --preset release" >&2
  exit 2
fi

started=$(date +%s)
if ! BATCHCAST_TEST_SCALE=20 BATCHCAST_TEST_SEED=$seed "$binary" '[heads-storm]' >"$output" 2>&1; then
  cat "$output"
  echo "soak: 1,000 restarts failed, with BATCHCAST_TEST_SCALE=20 BATCHCAST_TEST_SEED=$seed"
  exit 1
fi
echo "soak: 1,000 restarts of trials, $(($(date +%s) - started)) s"
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
