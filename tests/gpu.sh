#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Everything that needs a GPU, on a machine that has one: builds with nothing but a compiler, CMake, CUDA's toolkit,
# PyTorch's libtorch and the folder that cmake/bundle.sh has filled elsewhere, then runs the tests of rings on GPUs over
# this machine's driver, what only hardware can answer, libtorch's trainers and compute-sanitizer. Takes a few minutes
# on 16 cores. Each line says how one of them came out; what does not run says why. Fails if any failed.
#   sh tests/gpu.sh [--bundle FOLDER] [--build-dir FOLDER] [--torch FOLDER] [--seconds S] [--mps] [--fake] [--no-build]
# Python's trainers are tested with the active python3, if it has torch, numpy, pytest and Python's headers.
# --bundle   build/bundle if there is one; otherwise what is installed here
# --torch    FOLDER of TorchConfig.cmake, if not the active python3's
# --seconds  for all of it (540): what has not begun by then does not run, and fails
# --mps      asks the questions again under an MPS daemon of this script's own, but for the one that provokes a fault
# --fake     over tests/fake_cuda instead of the machine's driver, where there is no GPU: tries this script out
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root" || exit 1
build=$root/build/gpu
bundle=
torch=
seconds=540
mps=
fake=
building=yes
while [ $# -gt 0 ]; do
  case $1 in
    --bundle) bundle=${2:?--bundle needs a folder} && shift ;;
    --build-dir) build=${2:?--build-dir needs a folder} && shift ;;
    --torch) torch=${2:?--torch needs a folder} && shift ;;
    --seconds) seconds=${2:?--seconds needs a number} && shift ;;
    --mps) mps=yes ;;
    --fake) fake=yes ;;
    --no-build) building= ;;
    *)
      echo "gpu.sh: unknown option $1 (--bundle, --build-dir, --torch, --seconds, --mps, --fake, --no-build)" >&2
      exit 2
      ;;
  esac
  shift
done

started=$(date +%s)
passed=0
failed=0
idle=0
elapsed() { echo $(($(date +%s) - started)); }
say() { printf '%4s s  %-7s %s\n' "$(elapsed)" "$1" "$2"; }

not_run() {
  idle=$((idle + 1))
  say "not run" "$1: $2"
}

# failure NAME WHY LOG
failure() {
  failed=$((failed + 1))
  say FAILED "$1: $2"
  tail -n 25 "$3" | sed 's/^/          | /'
}

# check NAME LIMIT_S COMMAND...: its output goes to a log of its own; what begins with `> ` is told.
check() {
  name=$1
  limit=$2
  shift 2
  log=$logs/$(echo "$name" | tr -c 'a-z0-9\n' '_').log
  left=$((seconds - $(elapsed)))
  if [ $left -le 0 ]; then
    echo "there were no seconds left" >"$log"
    failure "$name" "did not begin within $seconds s" "$log"
    return 1
  fi
  [ "$limit" -lt $left ] || limit=$left
  timeout -k 5 "$limit" "$@" >"$log" 2>&1 </dev/null
  status=$?
  sed -n 's/^> /          > /p' "$log"
  case $status in
    0)
      passed=$((passed + 1))
      say ok "$name"
      return 0
      ;;
    124 | 137) failure "$name" "not done within $limit s" "$log" ;;
    *) failure "$name" "ended with $status" "$log" ;;
  esac
  return 1
}

finish() {
  echo
  echo "gpu.sh: $passed passed, $failed failed, $idle not run, in $(elapsed) s; logs are in $logs"
  [ "$failed" -eq 0 ]
  exit
}

mkdir -p "$build"
build=$(cd "$build" && pwd)
logs=$build/logs
rm -rf "$logs"
mkdir -p "$logs"

# ---- the machine

sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
echo "$(nproc) cores, Linux $(uname -r), $(c++ --version | head -n 1)"
if [ -n "$fake" ]; then
  echo "no GPU: the fake driver of the tests replaces one"
elif command -v nvidia-smi >/dev/null; then
  nvidia-smi --query-gpu=name,driver_version,memory.total,mig.mode.current --format=csv,noheader
else
  echo "there is no nvidia-smi here"
fi

# ---- the build

: "${bundle:=$(ls -d "$root/build/bundle" 2>/dev/null)}"
if [ -n "$bundle" ]; then
  bundle=$(cd "$bundle" && pwd) || exit 1
  echo "with the bundle $bundle: $(head -n 1 "$bundle/MANIFEST")"
fi
# What the bundle took along to make Python's package with: an archive.
python=$(command -v python3)
rm -rf "$build/site"
if [ -n "$python" ] && [ -n "$bundle" ] && ls "$bundle"/wheels/nanobind-*.whl >/dev/null 2>&1; then
  "$python" -m zipfile -e "$bundle"/wheels/nanobind-*.whl "$build/site"
  PYTHONPATH=$build/site${PYTHONPATH:+:$PYTHONPATH}
  export PYTHONPATH
fi
if [ -n "$building" ]; then
  generator="Unix Makefiles"
  ! command -v ninja >/dev/null || generator=Ninja
  rm -f "$build/CMakeCache.txt"
  check configure 120 cmake -S "$root" -B "$build" -G "$generator" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
    "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O2 -g1" -DBATCHCAST_CUDA=ON -DBATCHCAST_BUILD_TESTS=AUTO \
    -DBATCHCAST_BUILD_EXAMPLES=OFF -DBATCHCAST_BUILD_BENCHMARKS=OFF -DBATCHCAST_INSTALL=OFF \
    ${bundle:+"-DCMAKE_PREFIX_PATH=$bundle"} ${torch:+"-DTorch_DIR=$torch"} \
    ${python:+"-DPython_EXECUTABLE=$python"} || finish
  sed -n 's/^-- batchcast: /          > /p' "$logs/configure.log"
  modules=
  rm -rf "$build/python"
  ! grep -q 'the Python package is made' "$logs/configure.log" || modules=batchcast_python
  # shellcheck disable=SC2086 # no word where there is no package
  check build 420 cmake --build "$build" -j "$(nproc)" --target batchcast_cli batchcast_gpu $modules || finish
fi
batchcast=$build/batchcast
programs=$build/tests/gpu

if [ -n "$fake" ]; then
  LD_LIBRARY_PATH=$build/tests/fake_cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  export LD_LIBRARY_PATH
fi

# ---- what this machine says

check doctor 30 "$batchcast" doctor --try
sed 's/^/          > /' "$logs/doctor.log"
check questions 120 "$programs/questions"
if [ -z "$mps" ]; then
  not_run "questions under MPS" "not asked for (--mps)"
elif ! command -v nvidia-cuda-mps-control >/dev/null; then
  not_run "questions under MPS" "there is no nvidia-cuda-mps-control"
else
  # A daemon of our own, which no other programs use.
  CUDA_MPS_PIPE_DIRECTORY=$build/mps CUDA_MPS_LOG_DIRECTORY=$build/mps
  export CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
  mkdir -p "$build/mps"
  check "mps daemon" 20 nvidia-cuda-mps-control -d &&
    check "questions under mps" 120 "$programs/questions" "~[faults]" # a fault would end all clients
  echo quit | timeout 20 nvidia-cuda-mps-control >"$logs/mps_quit.log" 2>&1
  unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY
fi

# ---- tests, a process for each

# names_of PROGRAM FILTER: Catch2 says them one way in version 2 and another in version 3.
names_of() {
  if "$1" --help | grep -q list-test-names-only; then
    "$1" --list-test-names-only "$2"
  else
    "$1" --list-tests --verbosity quiet "$2"
  fi
}

# each_test NAME PROGRAM FILTER JOBS: those of a program that can be run over this driver.
each_test() {
  folder=$logs/$1
  program=$2
  mkdir -p "$folder"
  names_of "$program" "$3" >"$folder/names"
  count=0
  while IFS= read -r test; do
    count=$((count + 1))
    # What Catch2 takes for its own in a test's name.
    printf '%s\n' "$test" | sed 's/[][,"\\]/\\&/g' >"$folder/$count.name"
  done <"$folder/names"
  left=$((seconds - $(elapsed)))
  [ $left -gt 0 ] || left=1
  [ $left -lt 120 ] || left=120
  # shellcheck disable=SC2016 # the inner shell's
  seq "$count" | xargs -P "$4" -I '{}' sh -c '
    timeout -k 5 "$3" "$1" "$(cat "$2/{}.name")" >"$2/{}.log" 2>&1 </dev/null
    echo $? >"$2/{}.rc"' sh "$program" "$folder" $left
  ran=0
  left_to_fake=0
  bad=0
  : >"$folder/passed"
  number=0
  while [ $number -lt $count ]; do
    number=$((number + 1))
    status=$(cat "$folder/$number.rc" 2>/dev/null || echo "no result")
    if [ "$status" = 0 ]; then
      ran=$((ran + 1))
      cat "$folder/$number.name" >>"$folder/passed"
    elif grep -q 'needs the fake driver' "$folder/$number.log"; then
      left_to_fake=$((left_to_fake + 1))
    else
      bad=$((bad + 1))
      failure "$1" "$(cat "$folder/$number.name"): ended with $status" "$folder/$number.log"
    fi
  done
  passed=$((passed + ran))
  if [ $((ran + bad)) -eq 0 ]; then
    echo "none of $count could be run over this driver" >"$folder/none"
    failure "$1" "nothing was tested" "$folder/none"
  fi
  [ $ran -eq 0 ] || say ok "$1: $ran passed, $bad failed, $left_to_fake need the fake driver"
}

each_test tests "$programs/tests_on_gpu" "~[fake]~[.]" 4
# What rings promise, of one on the GPU: the tests of host rings, whose producers serve and consumers take it there.
BATCHCAST_TEST_PLACEMENT=cuda:0
BATCHCAST_TEST_DEVICE_MEMORY=$((16 << 20)) # the smallest ring takes 2 MiB for each field
BATCHCAST_TEST_SCALE=0.2
export BATCHCAST_TEST_PLACEMENT BATCHCAST_TEST_DEVICE_MEMORY BATCHCAST_TEST_SCALE
# One at a time, since some watch the clock; but those that need a ring smaller than a driver gives.
each_test processes "$programs/multiprocess_on_gpu" "[device]~[tight]" 1
unset BATCHCAST_TEST_PLACEMENT BATCHCAST_TEST_DEVICE_MEMORY BATCHCAST_TEST_SCALE
check "tests over the fake driver" 180 "$build/tests/batchcast_gpu_tests"

# ---- streams

check "streams with processes killed" 120 sh tests/gpu/stream.sh "$batchcast"
check "images finished on the GPU" 60 sh tests/cli/finish_on_gpu.sh "$batchcast"

# ---- libtorch

if [ -x "$programs/gpu_torch_train" ]; then
  check "training with libtorch" 240 "$programs/gpu_torch_train"
else
  echo "a GPU's trainers need a libtorch with CUDA: see configure.log for what was found" >"$logs/no_torch.log"
  if [ -n "$fake" ]; then
    not_run "training with libtorch" "no libtorch with CUDA here"
  else
    failure "training with libtorch" "it was not built" "$logs/no_torch.log"
  fi
fi

# ---- Python

if [ -n "$fake" ]; then
  not_run "training with Python" "torch wants a GPU"
elif [ ! -d "$build/python/batchcast" ]; then
  why=$(sed -n 's/.*package is not made: //p' "$logs/configure.log")
  not_run "training with Python" "the package is not made: $why"
elif ! "$python" -c 'import numpy, pytest, torch' 2>"$logs/no_python.log"; then
  not_run "training with Python" "$(tail -n 1 "$logs/no_python.log")"
else
  check "training with Python" 150 \
    sh tests/python/run.sh "$python" "$build" 145 -p conftest -rP -q ../gpu/test_python.py
fi

# ---- compute-sanitizer on the library's kernels

sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null)
sanitize() {
  names_of "$programs/tests_on_gpu" "[kernel]" | sed 's/[][,"\\]/\\&/g' |
    grep -Fxf - "$logs/tests/passed" >"$logs/kernel_tests"
  while IFS= read -r test; do
    check "$1: $test" 120 "$sanitizer" --tool "$1" --error-exitcode 9 --print-limit 5 "$programs/tests_on_gpu" "$test"
  done <"$logs/kernel_tests"
}
if [ -n "$fake" ]; then
  not_run "compute-sanitizer" "it needs a GPU"
elif [ -z "$sanitizer" ]; then
  not_run "compute-sanitizer" "it is not installed here"
else
  sanitize memcheck
  sanitize racecheck
fi

finish
