#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh run.sh        installs what is missing, builds, and runs every test of the release build by rising
#                  cost: what a newcomer runs.
# sh run.sh all    also a Prometheus and a browser, the fuzz targets for a few seconds each, an old
#                  libtorch, which is large to load, units and tests with libtorch under
#                  AddressSanitizer with UBSan, units and processes under ThreadSanitizer, and storms
#                  of processes that last longer.
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
  ahead_ends
  [ -z "$beside" ] || wait "$beside"
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

# ahead BUILD...: begins to build what later stages need, each BUILD a folder and its targets, one after
# the other. It does so while tests run that wait for most of their time, and only where processors
# are idle. What it did not finish, those stages build, or a later call.
ahead=""
ahead() {
  chrt --idle 0 true 2>/dev/null || return 0
  # shellcheck disable=SC2016 # that shell's own
  chrt --idle 0 sh -c '
    jobs=$1
    shift
    trap "kill \$! 2>/dev/null; wait; exit" TERM
    for build in "$@"; do
      # shellcheck disable=SC2086 # a folder and names
      ninja -j "$jobs" -C $build &
      wait $!
    done
  ' sh "$jobs" "$@" >/dev/null 2>&1 </dev/null &
  ahead=$!
}

ahead_ends() {
  [ -n "$ahead" ] || return 0
  kill "$ahead" 2>/dev/null
  wait "$ahead"
  ahead=""
}

beside=""
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

configure() {
  preset=$1
  shift
  must cmake --preset "$preset" -DBATCHCAST_BUILD_TESTS=ON -DBATCHCAST_WARNINGS_AS_ERRORS=ON "$@"
}

build() {
  preset=$1
  shift
  must cmake --build --preset "$preset" -j $((jobs + 1)) "$@"  # one reads while the others compile
}

asan_targets="batchcast_tests batchcast_gpu_tests batchcast_torch_tests"
tsan_targets="batchcast_tests batchcast_gpu_tests batchcast_multiprocess"
# UBSan takes a quarter of the compiler's time with clang, and is used in the units.
export BATCHCAST_FUZZ_SANITIZERS=address

build_rest_ahead() {
  ahead "build/asan-ubsan $asan_targets" "build/tsan $tsan_targets" "build/fuzz all"
}

# Measured: 3.1 GiB of the release build, 1.9 of Python's environments, 2 of what tests make; and 1.7 of libtorch, 3 of
# sanitizers and fuzzing, 1.5 of what is compiled file by file.
stage "disk"
must sh tests/disk_space.sh "$PWD" "$([ "$all" = all ] && echo 13500 || echo 7200)"

stage "bootstrap"
# shellcheck disable=SC2086 # nothing, or a name
must sh cmake/bootstrap.sh tests ${all:+operate}

# The storms are shorter here; what they shake is the same.
[ "$all" = all ] || export BATCHCAST_TEST_SCALE=0.3

# A newcomer does not wait for each file by itself; the long run shows which of them include too
# little.
together=ON
[ "$all" != all ] || together=OFF
stage "release: build"
configure release -DBATCHCAST_PYTHON=ON -DPython_EXECUTABLE="$PWD/build/python/venv/bin/python" \
  -DBATCHCAST_TOGETHER=$together
build release
for label in style unit torch oracle cli python; do
  stage "release: $label"
  run_tests release "$label" "$jobs"
done
# Each of these is several processes of its own, and some of them watch the clock.
stage "release: multiprocess"
[ "$all" != all ] || {
  configure asan-ubsan
  configure tsan
  must sh tests/fuzz.sh configure
  build_rest_ahead
}
run_tests release multiprocess 1
# The test of packages takes longest, with one processor.
stage "release: model, package, examples"
run_tests release "package|examples|model" "$jobs"
ahead_ends
[ "$all" = all ] || finish 0

# sanitized PRESET LABEL JOBS TARGET...: units, and what else is worth its time there.
sanitized() {
  preset=$1
  label=$2
  label_jobs=$3
  shift 3
  stage "$preset: build"
  configure "$preset"
  build "$preset" --target "$@"
  build_rest_ahead
  stage "$preset: unit"
  run_tests "$preset" unit "$jobs"
  stage "$preset: $label"
  run_tests "$preset" "$label" "$label_jobs"
  ahead_ends
}
# shellcheck disable=SC2086 # a list of names
sanitized asan-ubsan torch "$jobs" $asan_targets
export BATCHCAST_TEST_SCALE=0.3
# shellcheck disable=SC2086 # a list of names
sanitized tsan multiprocess 1 $tsan_targets

# The first of them loads and unpacks for long, with one processor.
stage "release: a libtorch of the old C++ ABI; fuzz: a few seconds for each target"
old_torch=$(mktemp)
sh tests/package/old_torch.sh build/release >"$old_torch" 2>&1 </dev/null &
beside=$!
must sh tests/fuzz.sh 2
wait "$beside"
status=$?
beside=""
cat "$old_torch"
rm -f "$old_torch"
must [ "$status" -eq 0 ]
passed=$((passed + 1))

finish 0
