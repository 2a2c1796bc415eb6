#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Windows over one stream of tokens (i32). First in Python: rows a second of one trainer as [8, 2048] views, and
# beside it what nanoGPT's get_batch gives from a memmap of the same tokens, as int64 in the same shape (the
# windows' rows are made int64, too). Then every byte written and read by four trainers with windows of 512,
# 2048, 4096 and 16,384 rows, beside four of a fixed stream of the same bytes. The kinds take turns. The goals:
# 200 million rows a second; twice get_batch; 0.9 of the fixed stream for each of four.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
rounds=5
batchcast=""
python=${BATCHCAST_PYTHON:-python3}
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --quick) rounds=1; shift ;;
    --batchcast) batchcast=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    --build-dir) BATCHCAST_BUILD_DIR=$2; export BATCHCAST_BUILD_DIR; shift 2 ;;
    *) echo "usage: sh benchmarks/windows.sh [--rounds N] [--quick] [--batchcast PATH] [--python PATH]" >&2; exit 2 ;;
  esac
done
build=${BATCHCAST_BUILD_DIR:-$here/../build/benchmarks}
if [ -z "$batchcast" ]; then
  cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release -DBATCHCAST_BUILD_TESTS=OFF >/dev/null
  cmake --build "$build" --target batchcast_cli >/dev/null
  batchcast=$build/batchcast
fi

# Needs the Python package and torch.
"$python" "$here/windows.py" "$batchcast" "$rounds"
