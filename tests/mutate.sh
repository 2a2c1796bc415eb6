#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# mutate.sh [all | N [SIMULATION [RELACY]]]: whether tests notice what is broken. Each mutant is tried alone, for
# at most 25 s of a processor. `all`: each of tests/simulation/mutants.txt, and each weaker order of cursor.hpp. N:
# so many of the first, drawn by the date. BATCHCAST_MUTANTS_DAY is another date's number.
set -u
cd "$(dirname "$0")/.." || exit 1

wanted=${1:-all}
simulation=${2:-build/release/tests/simulation/batchcast_simulation}
relacy=${3:-build/release/tests/relacy/batchcast_relacy}
for binary in "$simulation" "$relacy"; do
  [ -x "$binary" ] || {
    echo "mutate: no $binary. Build it: cmake --build --preset release --target $(basename "$binary")" >&2
    exit 2
  }
done
limits="--schedules 500000 --seconds 25"

if [ "$wanted" = all ]; then
  status=0
  # shellcheck disable=SC2086 # a list of words
  "$simulation" --mutants $limits || status=1
  "$relacy" --mutants 20000 || status=1
  exit $status
fi

count=$("$simulation" --count-mutants)
day=${BATCHCAST_MUTANTS_DAY:-$(($(date +%s) / 86400))}
drawn=""
i=0
while [ "$i" -lt "$wanted" ]; do
  drawn="$drawn --mutant $(((day * wanted + i) % count + 1))"
  i=$((i + 1))
done
echo "mutate: day $day draws$drawn"
# shellcheck disable=SC2086
exec "$simulation" $drawn $limits
