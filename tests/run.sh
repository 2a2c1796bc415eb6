#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh run.sh        installs what is missing, builds, and runs every test of the release build by rising
#                  cost: what a newcomer runs.
# sh run.sh all    also the fuzz targets for a few seconds each, an old libtorch, which is large to
#                  load, units and tests with libtorch under AddressSanitizer with UBSan, units and
#                  processes under ThreadSanitizer, and storms of processes that last longer.
# Stops at the first stage that fails. The last line counts all tests that ran.
set -u
case "$#${1-}" in
  0 | 1all) ;;
  *)
    echo "usage: sh tests/run.sh [all]" >&2
    exit 2
    ;;
esac
all=${1-}
cd "$(dirname "$0")/.." || exit 1

started=$(date +%s)
jobs=$(nproc)
passed=0
failed=0
skipped=0
junit=$(mktemp)

finish() {
  status=$1
  rm -f "$junit"
  stage_took
  printf '\n== how long the stages took%b\n\n' "$times"
  if [ "$status" -eq 0 ]; then
    echo "all stages passed in $(($(date +%s) - started)) s, $skipped skipped"
  else
    echo "stage failed: $stage, after $(($(date +%s) - started)) s, $skipped skipped"
  fi
  echo "$passed passed, $failed failed"
  exit "$status"
}

stage=""
times=""
stage_started=$started

stage_took() {
  now=$(date +%s)
  [ -z "$stage" ] || times="$times\n$(printf '%6s s  %s' $((now - stage_started)) "$stage")"
  stage_started=$now
}

stage() {
  stage_took
  stage=$1
  printf '\n== %s (at %s s)\n' "$stage" $((stage_started - started))
}

# A stage that is not a run of tests counts as one failure when it fails.
must() {
  "$@" </dev/null && return
  failed=$((failed + 1))
  finish 1
}

count() { sed -n "s/^[[:space:]]*$1=\"\([0-9]*\)\".*/\1/p" "$junit" | head -n 1; }

# run_tests PRESET LABEL JOBS
run_tests() {
  : >"$junit"
  ctest --preset "$1" -L "^($2)\$" -j "$3" --output-junit "$junit" </dev/null
  status=$?
  total=$(count tests)
  bad=$(count failures)
  idle=$(($(count skipped) + $(count disabled)))
  passed=$((passed + ${total:-0} - ${bad:-0} - idle))
  failed=$((failed + ${bad:-0}))
  skipped=$((skipped + idle))
  if [ "$status" -ne 0 ]; then
    [ "${bad:-0}" -gt 0 ] || failed=$((failed + 1))
    finish 1
  fi
}

build() {
  preset=$1
  shift
  must cmake --preset "$preset" -DBATCHCAST_BUILD_TESTS=ON
  must cmake --build --preset "$preset" -j $((jobs + 1)) "$@"  # one reads while the others compile
}

stage "bootstrap"
must sh cmake/bootstrap.sh tests

# The storms are shorter here; what they shake is the same.
[ "$all" = all ] || export BATCHCAST_TEST_SCALE=0.3

stage "release: build"
must cmake --preset release -DBATCHCAST_PYTHON=ON \
  -DPython_EXECUTABLE="$PWD/build/python/venv/bin/python"
build release
for label in style unit torch oracle cli python examples; do
  stage "release: $label"
  run_tests release "$label" "$jobs"
done
# Each of these is several processes of its own, and some of them watch the clock.
stage "release: multiprocess"
run_tests release multiprocess 1
stage "release: model, package"
run_tests release "model|package" "$jobs"
[ "$all" = all ] || finish 0

stage "release: a libtorch of the old C++ ABI"
must sh tests/package/old_torch.sh build/release
passed=$((passed + 1))

# UBSan takes a quarter of the compiler's time here, and is used in the units below.
stage "fuzz: a few seconds for each target"
must env BATCHCAST_FUZZ_SANITIZERS=address sh tests/fuzz.sh 2

# sanitized PRESET LABEL JOBS TARGET: units, and what else is worth its time there.
sanitized() {
  stage "$1: build"
  build "$1" --target batchcast_tests batchcast_gpu_tests "$4"
  stage "$1: unit"
  run_tests "$1" unit "$jobs"
  stage "$1: $2"
  run_tests "$1" "$2" "$3"
}
sanitized asan-ubsan torch "$jobs" batchcast_torch_tests
export BATCHCAST_TEST_SCALE=0.3
sanitized tsan multiprocess 1 batchcast_multiprocess

finish 0
