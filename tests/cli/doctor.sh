#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh doctor.sh BATCHCAST [FAKE_CUDA]    what `batchcast doctor` finds; FAKE_CUDA is the folder of the tests' own driver,
# without which nothing that needs one is looked at.
set -u
batchcast=$1
fake=${2:-}

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"
unset CUDA_VISIBLE_DEVICES CUDA_MPS_PIPE_DIRECTORY BATCHCAST_FAKE_CUDA

# A driver that cannot be loaded, whatever the machine has.
mkdir "$work/none"
: >"$work/none/libcuda.so.1"

# finds MARK SUBJECT TEXT    the report before has this line, or the one after it has this text
finds() {
  checks=$((checks + 1))
  grep -A 1 -E -e "^$1 +$2 " "$work/out" | grep -qE -e "$3" || fail "no line '$1 $2' with '$3'"
}

# gpu SETTINGS ARGUMENT...
gpu() {
  export BATCHCAST_FAKE_CUDA="$1"
  shift
  expect 0 . doctor "$@"
}

echo "-- a machine without a driver"
export LD_LIBRARY_PATH="$work/none"
expect 0 'Streams in host memory: work. Rings on GPUs: none.' doctor --try
finds ok kernel Linux
finds ok 'sealed memory' yes
finds ok 'process descriptors' yes
finds ok 'runtime directory' "$BATCHCAST_DIR \(mode 0700\)"
finds ok 'stream names' 'up to 48'
finds note 'NVIDIA driver' 'none'
finds note 'NVIDIA driver' 'no NVIDIA driver'
finds '(ok|note)' 'CUDA kernels' 'built in|none'
expect 0 '"driver_version":0' doctor --json
has_keys "$work/out" version host_streams devices findings mark subject value meaning
same "what lies in the directory afterwards" "" "$(ls -A "$BATCHCAST_DIR")"

echo "-- a driver that lacks a function"
mkdir "$work/other"
ln -s "$(ldd "$batchcast" | sed -n 's/^.*libc\.so\.6 => \([^ ]*\) .*$/\1/p')" "$work/other/libcuda.so.1"
export LD_LIBRARY_PATH="$work/other"
expect 0 . doctor
finds note 'NVIDIA driver' 'too old: it lacks cuInit; 470'
export LD_LIBRARY_PATH="$work/none"

echo "-- what keeps streams from working"
own=$BATCHCAST_DIR
BATCHCAST_DIR=/proc/nowhere/streams
expect 3 'Streams in host memory: do not work' doctor
finds problem 'runtime directory' 'Set BATCHCAST_DIR'
expect 3 '"host_streams":false' doctor --json
mkdir "$work/open" && chmod 777 "$work/open"
BATCHCAST_DIR=$work/open
expect 3 . doctor
finds problem 'runtime directory' 'No stream can be served here'
BATCHCAST_DIR=$work/$(printf '%070d' 0)
expect 0 . doctor
finds note 'stream names' 'longer names are refused'
BATCHCAST_DIR=$work/$(printf '%0100d' 0)
expect 3 . doctor
finds problem 'stream names' 'every stream is refused'
BATCHCAST_DIR=$own

echo "-- limits"
(
  ulimit -n 200
  "$batchcast" doctor
) >"$work/out" 2>&1
finds note 'open files' 'enough for 24 consumers.*--max-consumers'

if [ -n "$fake" ]; then
  echo "-- GPUs"
  export LD_LIBRARY_PATH="$fake" BATCHCAST_FAKE_CUDA_SESSION="doctor$$"
  gpu devices=2
  finds ok 'NVIDIA driver' 'CUDA 13.0'
  finds ok cuda:1 'Fake GPU 1, GPU-fa4ec0da-0000-4000-8000-000000000001, 16.00 GiB'
  finds ok 'cuda:1 ring' 'shared as file descriptors, granularity 2.0 MiB'
  finds note 'cuda:1 pinning' 'writable mappings only'
  finds ok MPS 'not in use'
  gpu devices=2 --json
  checks=$((checks + 1))
  grep -qE '"placement":"cuda:1".*"shares":"descriptor".*"driver_version":13000' "$work/out" ||
    fail "devices are not in the JSON"
  has_keys "$work/out" placement uuid memory_bytes capability virtual_memory exports_descriptors legacy_ipc \
    registers_read_only host_page_tables mig granularity shares
  export CUDA_VISIBLE_DEVICES=1
  gpu devices=2
  finds ok cuda:0 'GPU-fa4ec0da-0000-4000-8000-000000000001'
  finds ok 'visible GPUs' CUDA_VISIBLE_DEVICES=1
  export CUDA_VISIBLE_DEVICES=
  gpu devices=2
  finds note 'visible GPUs' 'CUDA_VISIBLE_DEVICES is set, and empty'
  finds note 'visible GPUs' 'hides every GPU'
  unset CUDA_VISIBLE_DEVICES
  gpu 'devices=3 lost=1'
  finds ok cuda:0 'Fake GPU 0'
  finds problem cuda:1 'cannot be asked'
  finds problem cuda:1 'CUDA_ERROR_'
  finds ok 'cuda:2 ring' 'shared as file descriptors'
  expect 0 'Rings on GPUs: cuda:0, cuda:2.' doctor --try
  gpu 'devices=3 lost=1' --json
  gpu devices=0
  finds note 'NVIDIA driver' 'CUDA_ERROR_NO_DEVICE'
  gpu init=803
  finds problem 'NVIDIA driver' 'different versions'
  gpu vmm=0
  finds note 'cuda:0 ring' 'shared by legacy IPC'
  gpu read_only_register=1
  finds ok 'cuda:0 pinning' 'read-only mappings too'
  gpu host_page_tables=1
  finds ok 'cuda:0 pinning' 'read-only mappings too'
  gpu 'mig=1 export=0'
  finds note cuda:0 'part of a GPU \(MIG\)'
  finds problem 'cuda:0 ring' 'cannot be shared'
  finds note 'cuda:0 pinning' 'writable mappings only'
  expect 0 'Rings on GPUs: none' doctor

  echo "-- GPUs, tried out"
  gpu '' --try
  finds ok 'cuda:0 tried' '16.00 GiB free; a ring shared and mapped read-only, host memory page-locked'
  gpu read_only_map=0 --try
  finds note 'cuda:0 tried' 'Trainers could write into it'
  gpu 'read_only_register=1 register_fails=2' --try
  finds problem 'cuda:0 tried' 'cuMemHostRegister'
  gpu alloc_fails=1 --try
  finds problem 'cuda:0 tried' 'has no room'
  expect 0 'Rings on GPUs: none' doctor --try

  echo "-- MPS"
  mkdir "$work/mps" && : >"$work/mps/control"
  export CUDA_MPS_PIPE_DIRECTORY="$work/mps"
  gpu ''
  finds note MPS 'its control pipe'
  finds note MPS 'ends the producer and every trainer'
fi

finish
