#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Batches for language models in Python: tokens a second of Loader(ragged="varlen") over shuffled texts of 400
# tokens on average, beside torch's DataLoader with two workers, `datasets` in memory and transformers'
# DataCollatorWithFlattening. Both give the same keys. The kinds take turns. The goal: 20 times.
#
# --fine-tunings MB: instead, what the data of four fine-tunings cost from MB megabytes of JSONL to batch 1,000 of
# each (--batches), beside four stock loaders. The goal: 0.3 of their processor time and of what they write.
#
# The Python needs torch, transformers and datasets; --package is the folder with the package that fits it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
rounds=5
batchcast=""
python=${BATCHCAST_PYTHON:-python3}
package=""
megabytes=""
batches=1000
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --quick) rounds=1; shift ;;
    --fine-tunings) megabytes=$2; shift 2 ;;
    --batches) batches=$2; shift 2 ;;
    --batchcast) batchcast=$2; shift 2 ;;
    --python) python=$2; shift 2 ;;
    --package) package=$2; shift 2 ;;
    --build-dir) BATCHCAST_BUILD_DIR=$2; export BATCHCAST_BUILD_DIR; shift 2 ;;
    *)
      echo "usage: sh benchmarks/language.sh [--rounds N] [--quick] [--fine-tunings MB] [--batches N]" \
        "[--python PYTHON] [--package DIR] [--batchcast PATH] [--build-dir DIR]" >&2
      exit 2
      ;;
  esac
done
build=${BATCHCAST_BUILD_DIR:-$here/../build/benchmarks}
if [ -z "$batchcast" ]; then
  cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release -DBATCHCAST_BUILD_TESTS=OFF >/dev/null
  cmake --build "$build" --target batchcast_cli >/dev/null
  batchcast=$build/batchcast
fi

export PYTHONPATH="${package:-${PYTHONPATH:-}}"
if [ -n "$megabytes" ]; then
  exec "$python" "$here/fine_tunings.py" "$batchcast" "$megabytes" "$rounds" "$batches"
fi
exec "$python" "$here/language.py" "$batchcast" "$rounds"
