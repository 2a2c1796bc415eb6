#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# fuzz.sh [SECONDS [TARGET...]]: builds the fuzz targets (all of them unless some are named) with
# clang and runs each for 60 seconds, or SECONDS. What they find interesting stays in
# build/fuzz/corpus-TARGET and is where the next run starts, beside tests/fuzz/seeds/TARGET. An
# input that breaks something is kept, named, and fails the run once all targets have had their time.
# `fuzz.sh configure` only prepares build/fuzz for ninja.
# CXX chooses another clang; BATCHCAST_FUZZ_JOBS how many targets run at a time; BATCHCAST_FUZZ_SANITIZERS the checks
# (address,undefined).
set -u
cd "$(dirname "$0")/.." || exit 1

seconds=${1:-60}
[ $# -gt 0 ] && shift
case $seconds in
  configure) ;;
  '' | *[!0-9]*)
    echo "fuzz: \`$seconds\` is no number of seconds" >&2
    exit 2
    ;;
esac
build=$PWD/build/fuzz
seeds=$PWD/tests/fuzz/seeds
compiler=${CXX:-clang++-14}
jobs=${BATCHCAST_FUZZ_JOBS:-$(nproc)}

known=$(for source in tests/fuzz/*_fuzz.cpp; do basename "$source" _fuzz.cpp; done |
  sed 's/^image$/image_jpeg image_png image_webp/' | tr '\n' ' ')
for target in "$@"; do
  case " $known " in
    *" $target "*) ;;
    *)
      echo "fuzz: no target \`$target\`; there are: $known" >&2
      exit 2
      ;;
  esac
done
[ $# -gt 0 ] || eval "set -- $known"

if ! command -v "$compiler" >/dev/null; then
  echo "fuzz: no $compiler; \`sh cmake/bootstrap.sh tests\` installs it" >&2
  exit 2
fi
mkdir -p "$build"
cmake -S tests/fuzz -B "$build" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
  -DBATCHCAST_FUZZ_SANITIZERS="${BATCHCAST_FUZZ_SANITIZERS:-address,undefined}" >"$build.log" 2>&1 &&
  { [ "$seconds" = configure ] ||
    cmake --build "$build" -j "$(nproc)" --target "$@" >>"$build.log" 2>&1; } || {
  cat "$build.log"
  echo "fuzz: the build failed" >&2
  exit 1
}

[ "$seconds" != configure ] || exit 0

# One target: its last line is its verdict.
fuzz() {
  target=$1
  corpus=$build/corpus-$target
  log=$build/$target.log
  mkdir -p "$corpus" "$build/found"
  set -- "$corpus"
  [ -d "$seeds/$target" ] && set -- "$@" "$seeds/$target"
  case $target in jpeg | kept) set -- "$@" "$seeds/image_jpeg" ;; esac
  ASAN_OPTIONS=allocator_may_return_null=0:detect_leaks=1:handle_abort=1 \
    UBSAN_OPTIONS=print_stacktrace=1 \
    "$build/$target" "$@" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=1024 \
    -malloc_limit_mb=512 -max_len=16384 -print_final_stats=1 \
    -artifact_prefix="$build/found/$target-" >"$log" 2>&1 </dev/null
  status=$?
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  if [ "$status" -eq 0 ]; then
    echo "fuzz: $target: ${runs:-0} inputs, nothing found"
    return 0
  fi
  tail -n 60 "$log"
  found=$(sed -n 's/.*Test unit written to //p' "$log" | tail -n 1)
  echo "fuzz: $target FAILED; again with: $build/$target ${found:-(no input kept; see $log)}"
  return 1
}

failed=0
running=
for target in "$@"; do
  fuzz "$target" &
  running="$running $!"
  # shellcheck disable=SC2086 # a list of numbers
  set -- $running
  if [ $# -ge "$jobs" ]; then
    wait "$1" || failed=$((failed + 1))
    shift
    running=$*
  fi
done
for process in $running; do wait "$process" || failed=$((failed + 1)); done
if [ "$failed" -gt 0 ]; then
  echo "fuzz: $failed target(s) failed"
  exit 1
fi
