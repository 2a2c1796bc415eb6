#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Samples with rows on an axis beside the same samples as one shape: every byte is written and read, 400 rows
# of four bytes a sample, to one consumer, and to four of which each has another budget. The two kinds take
# turns. The goals: 0.8 of the bytes a second, and 0.9 for the slowest of four.
#
# Then samples whose lengths are known late, 1% of them 100 times as slow, with four workers: the share of the
# rate that the mean cost allows (goal: 0.95). With --python also values and offsets in a trainer of Python,
# beside torch's DataLoader with two workers (goal: 20 times the rows a second). That Python needs torch, and
# `datasets` unless --plain is given; --package is the folder with the package that fits it.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
rounds=5
batchcast=""
python=""
package=""
plain=""
samples=24000
while [ $# -gt 0 ]; do
  case $1 in
    --rounds) rounds=$2; shift 2 ;;
    --quick) rounds=1; samples=6000; shift ;;
    --python) python=$2; shift 2 ;;
    --package) package=$2; shift 2 ;;
    --plain) plain=--plain; shift ;;
    --batchcast) batchcast=$2; shift 2 ;;
    --build-dir) BATCHCAST_BUILD_DIR=$2; export BATCHCAST_BUILD_DIR; shift 2 ;;
    *)
      echo "usage: sh benchmarks/ragged.sh [--rounds N] [--quick] [--python PYTHON [--package DIR] [--plain]]" \
        "[--batchcast PATH] [--build-dir DIR]" >&2
      exit 2
      ;;
  esac
done
build=${BATCHCAST_BUILD_DIR:-$here/../build/benchmarks}
if [ -z "$batchcast" ]; then
  cmake -S "$here/.." -B "$build" -DCMAKE_BUILD_TYPE=Release -DBATCHCAST_BUILD_TESTS=OFF >/dev/null
  cmake --build "$build" --target batchcast_cli late_lengths >/dev/null
  batchcast=$build/batchcast
fi
late=$(find "$build/benchmarks" "$(dirname "$batchcast")/benchmarks" -name late_lengths -type f 2>/dev/null |
  head -n 1)

export PYTHONPATH="${package:-${PYTHONPATH:-}}"
python3 - "$batchcast" "$rounds" "$late" "$samples" "$here/ragged_text.py" "$python" $plain <<'PY'
import json, platform, statistics, subprocess, sys

command, rounds, late, samples, text, python = sys.argv[1], int(sys.argv[2]), *sys.argv[3:7]
plain = sys.argv[7:]
batch_bytes = 64 * 400 * 4
cases = {
    "one": ([], ["--axis"]),
    "four": (["--consumers", "4"], ["--consumers", "4", "--axis", "--budgets"]),
}


def rate(words):
    run = [command, "bench", "ring", "--json", "--whole", "--batch-bytes", str(batch_bytes), "--batches", "40000"]
    said = json.loads(subprocess.run(run + words, check=True, capture_output=True, text=True).stdout)
    if said["bad"]:
        sys.exit(f"wrong bytes: {said}")
    return said["batches_per_second"] * batch_bytes


figures = {}
for name, (fixed, rows) in cases.items():
    pairs = [(rate(fixed), rate(rows)) for _ in range(rounds)]
    figures[name] = statistics.median(b / a for a, b in pairs)
    gib = [statistics.median(side) / 2**30 for side in zip(*pairs)]
    print(f"{name:5} fixed {gib[0]:6.2f} GiB/s  rows {gib[1]:6.2f} GiB/s  rows / fixed {figures[name]:.2f}")


def said_by(words):
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def late_share():
    said = said_by([late, samples])
    if said["bad"]:
        sys.exit(f"wrong bytes: {said}")
    return said["of_the_rate_that_the_mean_cost_allows"]


def values_and_offsets():
    stream = f"ragged-text-{platform.node()[:20]}"
    with subprocess.Popen([python, text, "serve", stream], stdout=subprocess.DEVNULL) as producer:
        try:
            return said_by([python, text, "read", stream])["rows_per_second"]
        finally:
            producer.terminate()


all_said = {"machine": platform.node(), "rows_over_fixed": figures}
if late:
    all_said["late_lengths"] = statistics.median(late_share() for _ in range(rounds))
    print(f"late  {all_said['late_lengths']:.2f} of the rate that the mean cost allows")
else:
    print("late_lengths is not built and left out")
if python:
    pairs = [
        (said_by([python, text, "dataloader", *plain])["rows_per_second"], values_and_offsets())
        for _ in range(rounds)
    ]
    theirs, ours = (statistics.median(side) for side in zip(*pairs))
    all_said["text_over_dataloader"] = statistics.median(b / a for a, b in pairs)
    print(
        f"text  DataLoader {theirs / 1e6:7.1f} M rows/s  stream {ours / 1e6:7.1f} M rows/s"
        f"  stream / DataLoader {all_said['text_over_dataloader']:.1f}"
    )
print(json.dumps(all_said))
PY
