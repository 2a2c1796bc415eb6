#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh old_torch.sh BUILD_DIR    A trainer with a libtorch of the old C++ ABI, as all of PyPI's were
# before 2.7, trains on a stream of the ordinary producer. Installs that libtorch into
# build/torch/old: about 800 MB to load, 1.7 GB on disk.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
if [ "$(uname -m)" != x86_64 ]; then
  echo "old_torch.sh: what it installs is for x86_64 only" >&2
  exit 0
fi
build=$(cd "$1" && pwd)
venv=$root/build/torch/old
version=2.4.1

if [ ! -e "$venv/complete" ]; then
  rm -rf "$venv"
  mkdir -p "$root/build/torch"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/python" -m pip install --no-cache-dir --no-compile --no-deps --quiet \
    --disable-pip-version-check torch==$version nvidia-cuda-runtime-cu12==12.1.105 \
    nvidia-cuda-cupti-cu12==12.1.105 >&2
  touch "$venv/complete"
fi
packages=$(echo "$venv"/lib/python3*/site-packages)
torch=$packages/torch
nvidia=$packages/nvidia

work=$(mktemp -d)
streams=$work/streams
mkdir -m 700 "$streams"
export BATCHCAST_DIR="$streams"
"$build/batchcast" serve synthetic:8x8 --samples 100 --stream old-torch --memory 1MiB \
  >"$work/serve.log" 2>&1 &
serve=$!
finish() {
  kill "$serve" 2>/dev/null || true
  wait "$serve" || true
  rm -rf "$work"
}
trap finish EXIT

cmake --install "$build" --prefix "$work/prefix" >/dev/null
cmake -S "$here/old_torch" -B "$work/build" -G Ninja -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DTorch_DIR="$torch/share/cmake/Torch" >/dev/null
cmake --build "$work/build"
# What libtorch itself needs of CUDA lies beside it.
LD_LIBRARY_PATH=$nvidia/cuda_runtime/lib:$nvidia/cuda_cupti/lib
export LD_LIBRARY_PATH
"$work/build/trainer" old-torch >"$work/said"
cat "$work/said"
grep -q "libtorch $version" "$work/said"
