#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh tutorial.sh BATCHCAST TRAINER    runs the commands of docs/tutorial.md in their order, over a small image
# folder of three classes, with TRAINER for what its reader has built. Those below a comment `elsewhere: FILE...`
# install and build: these files do the same.
set -eu
batchcast=$1
trainer=$2
root=$(cd "$(dirname "$0")/../.." && pwd)
page=$root/docs/tutorial.md

end_all() {
  "$batchcast" stop photos >/dev/null 2>&1 || true
  [ "$1" -eq 0 ] || tail -n 50 "$work"/out "$work"/log.* 2>/dev/null || true
}
. "$(dirname "$0")/support.sh"
export BATCHCAST_COMMAND="$batchcast" OMP_NUM_THREADS=1
PATH=$(dirname "$batchcast"):$PATH

cd "$work"
/usr/bin/python3 "$root/tests/cli/make_images.py" photos/train 60
mkdir -p trainer/build
ln -s "$trainer" trainer/build/trainer

awk '/^<!-- elsewhere:/ { elsewhere = 1; next }
     /^```sh$/ { inside = 1; next }
     /^```$/ { if (inside) elsewhere = 0; inside = 0; next }
     inside && !elsewhere { print }' "$page" >commands
for file in $(sed -n 's/^<!-- elsewhere: \(.*\) -->$/\1/p' "$page"); do
  [ -e "$root/$file" ] || wrong "there is no $file"
done
for line in 'sh cmake/bootstrap.sh quickstart' 'cmake --preset release' \
  'cmake --build --preset release --target batchcast_cli'; do
  grep -qF -- "$line" "$root/examples/quickstart.sh" || wrong "the quickstart has another line than: $line"
done
grep -q 'examples/tutorial' "$root/tests/package/run.sh" || wrong "nothing sets up the trainer's project"

timeout 120 bash -eux commands >out 2>&1 || wrong "it ended with $?"

grep -q '^60 of 60 samples checked .* 0 bad$' out || wrong "check"
[ -s sheet.png ] || wrong "peek made no picture"
for name in large small; do
  grep -q "^$name: 120 samples in .* 2 epochs, " out || wrong "$name got less"
done
[ "$(grep -c 'missing 0, duplicated 0, torn 0, skipped 0, receipts match$' out)" = 2 ] || wrong "receipts"
for rate in 0.1 0.03 0.01 0.003; do
  grep -q "^rate $rate: epoch 2, 60 samples, loss [0-9]" out || wrong "the trainer with $rate"
done
grep -q '^photos ' out || wrong "ls does not show the stream"
grep -q 'is stopped$' out || wrong "stop"
tries=0
while [ -n "$(ls streams)" ] && [ $tries -lt 100 ]; do
  tries=$((tries + 1))
  sleep 0.05
done
[ -z "$(ls streams)" ] || wrong "streams were left: $(ls streams)"
