#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh run.sh BIN_DIR    runs a producer with two of the README's consumers, as its reader would, then the
# source of one's own, and where they were built those with libtorch: a loader that is served, a changed
# program, LeNet on Fashion-MNIST, and a sweep of which one trainer is killed
set -eu

bin=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
producer=""
other=""
end_all() {
  # shellcheck disable=SC2086
  kill $producer $other 2>/dev/null || true
  for stream in mnist mnist-ddp fashion-train fashion-test; do
    [ ! -e "$work/streams/$stream" ] || "$bin/../batchcast" stop "$stream" >/dev/null 2>&1 || true
  done
}
. "$(dirname "$0")/support.sh"

timeout 60 "$bin/example_01_producer" examples &
producer=$!
timeout 60 "$bin/example_02_consumer" examples 100 >"$work/other" &
other=$!
timeout 60 "$bin/example_02_consumer" examples 37 | tee "$work/own"
wait "$other"
wait "$producer"
# Whole epochs, whichever of the two came first.
grep -q 'with matching receipts' "$work/own"
grep -q 'with matching receipts' "$work/other"

timeout 60 "$bin/example_03_own_source" waves &
producer=$!
timeout 60 "$bin/example_03_own_source" waves look | tee "$work/own"
wait "$producer"
grep -q 'with matching receipts' "$work/own"

timeout 60 "$bin/example_13_ragged" ragged >"$work/own"
grep -q 'images with' "$work/own"
if grep -q wrong "$work/own"; then exit 1; fi

timeout 60 "$bin/example_14_windows" windows >"$work/own"
grep -q '^[1-9][0-9]* tokens of .* parts of texts' "$work/own"

fashion=/usr/share/datasets/fashion-mnist
[ -d "$fashion" ] || { echo "without dataset-fashion-mnist"; exit 1; }
timeout 60 "$bin/example_04_serve_dataset" "idx:$fashion" mnist fashion 2 &
producer=$!
timeout 60 "$bin/example_02_consumer" fashion 64 | tee "$work/own"
wait "$producer"
grep -q '2 epochs with matching receipts' "$work/own"

producer=""
other=""

if [ ! -x "$bin/example_07_sweep" ] || [ ! -x "$bin/../batchcast" ]; then
  echo "without libtorch or the batchcast command: no trainers"
  exit 0
fi

# libtorch's threads wait for each other at every operator, for very long where others want the cores too.
export OMP_NUM_THREADS=1

timeout 60 "$bin/example_15_small_gpt" small-gpt >"$work/own" 2>&1 || wrong "15 failed: $(cat "$work/own")"
awk '/steps, loss/ && $6 < 0.7 * $4 { learned = 1 } END { exit !learned }' "$work/own" || wrong "15 did not learn"

timeout 120 "$bin/example_08_serve_a_torch_loader" stripes >"$work/other" 2>&1 &
producer=$!
timeout 120 "$bin/example_02_consumer" stripes 64 >"$work/own" 2>&1 || wrong "08 was not consumed"
wait "$producer" || wrong "08 failed: $(cat "$work/other")"
producer=""
grep -q '^10000 samples .* 2 epochs with matching receipts' "$work/own" || wrong "08: receipts"

# The same program with torch's loader and with a stream, which it starts: both learn.
mkdir "$work/unpacked"
for file in "$fashion"/*.gz; do
  gunzip -c "$file" >"$work/unpacked/$(basename "$file" .gz)"
done
for how in "" shared; do
  # shellcheck disable=SC2086
  timeout 300 "$bin/example_05_libtorch_loop" "$work/unpacked" $how >"$work/own" 2>&1 || wrong "05 $how failed"
  cat "$work/own"
  awk '/^epoch 2: 60000 samples/ { right = $5 + 0 } END { exit right >= 80 ? 0 : 1 }' "$work/own" ||
    wrong "05 $how learned nothing"
done
timeout 120 "$bin/example_12_mixup_cutmix" "$work/unpacked" >"$work/own" 2>&1 || wrong "11 failed: $(cat "$work/own")"
grep -q '^938 batches, mean loss [012]\.' "$work/own" || wrong "11: $(cat "$work/own")"
"$bin/../batchcast" stop mnist || wrong "05: the stream that it started is gone"

timeout 120 "$bin/example_10_libtorch_on_a_gpu" "$work/unpacked" >"$work/own" 2>&1 || wrong "10 failed"
cat "$work/own"
awk '/^on the (GPU|host): / { right = $4 + 0 } END { exit right >= 60 ? 0 : 1 }' "$work/own" ||
  wrong "10 learned nothing"
"$bin/../batchcast" stop mnist-gpu || wrong "10: the stream that it started is gone"

# Two ranks of one model, started as torchrun would: each gets half of every batch, and both end with the same.
if [ -x "$bin/example_11_ddp" ]; then
  port=$(/usr/bin/python3 -c 'import socket
with socket.socket() as free:
    free.bind(("127.0.0.1", 0))
    print(free.getsockname()[1])')
  export MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" WORLD_SIZE=2 LOCAL_WORLD_SIZE=2
  RANK=1 LOCAL_RANK=1 timeout 120 "$bin/example_11_ddp" "$work/unpacked" >"$work/other" 2>&1 &
  other=$!
  RANK=0 LOCAL_RANK=0 timeout 120 "$bin/example_11_ddp" "$work/unpacked" >"$work/own" 2>&1 || wrong "11 failed"
  wait "$other" || wrong "11: the other rank failed: $(cat "$work/other")"
  other=""
  unset MASTER_ADDR MASTER_PORT WORLD_SIZE LOCAL_WORLD_SIZE
  cat "$work/own" "$work/other"
  awk '/^rank 0 of 2: 29984 samples/ { right = $7 + 0 } END { exit right >= 60 ? 0 : 1 }' "$work/own" ||
    wrong "11 learned nothing"
  sum=$(sed -n 's/^rank 0 .* add up to //p' "$work/own")
  [ -n "$sum" ] && [ "$sum" = "$(sed -n 's/^rank 1 .* add up to //p' "$work/other")" ] ||
    wrong "11: the ranks have different models"
  "$bin/../batchcast" stop mnist-ddp || wrong "11: the stream that it started is gone"
fi

timeout 300 "$bin/example_06_fashion_mnist" "$fashion" --accuracy 0.88 >"$work/own" 2>&1 || wrong "06 failed"
cat "$work/own"
grep -q '3 of 3 epochs with matching receipts' "$work/own" || wrong "06: receipts"
status=0
"$bin/example_06_fashion_mnist" "$fashion" --epoch 3 >"$work/own" 2>&1 || status=$?
[ "$status" = 2 ] || wrong "06: a wrong option ended with $status"
grep -q 'no option --epoch$' "$work/own" || wrong "06: which option is wrong"
grep -q '^usage: ' "$work/own" || wrong "06: usage"
"$bin/../batchcast" stop fashion-train
"$bin/../batchcast" stop fashion-test

# A trainer is killed in the middle: it is told so, and the others learn what they would have learned.
BATCHCAST_COMMAND="$bin/../batchcast" timeout 300 "$bin/example_07_sweep" "$fashion" \
  "$root/examples/fashion-train.toml" --epochs 1 --accuracy 0.75 --separate-seconds 0 --report-seconds 0.2 \
  --trainers 0.004:256,0.003:128,0.002:100 >"$work/own" 2>&1 &
producer=$!
until victim=$(awk '/^lr0.003-b128 +is process/ { id = $4 }
                    /^lr0.003-b128 .*%/ && $2 + 0 >= 20 { print id; found = 1; exit }
                    END { exit !found }' "$work/own"); do
  kill -0 "$producer" 2>/dev/null || wrong "07 ended early"
  sleep 0.1
done
kill -KILL "$victim"
status=0
wait "$producer" || status=$?
producer=""
tail -n 12 "$work/own"
[ "$status" = 1 ] || wrong "07: a trainer was killed, and the sweep ended with $status"
grep -q '^failed: lr0.003-b128 killed by signal 9' "$work/own" || wrong "07 names nobody who was killed"
grep -q '^lr0.003-b128 .* 0 of 1, killed by signal 9$' "$work/own" || wrong "07: the killed one's row"
[ "$(grep -c '^failed: ' "$work/own")" = 1 ] || wrong "07: others failed, too"
for name in lr0.004-b256 lr0.002-b100; do
  awk -v name="$name" '$1 == name && / 1 of 1$/ && $2 + 0 >= 75 { found = 1 } END { exit !found }' "$work/own" ||
    wrong "07: $name was disturbed"
done
[ -z "$(ls "$work/streams")" ] || wrong "streams were left: $(ls "$work/streams")"

# Lines fit a terminal of 80 columns, and what cannot be is refused before anything is started.
awk '!/^failed: |^lr[^ ]*: / && length > 80 { long = 1; print } END { exit long }' "$work/own" ||
  wrong "07: lines of more than 80 columns"
for option in "--threads 0" "--trainers 0.1:0"; do
  status=0
  # shellcheck disable=SC2086
  "$bin/example_07_sweep" "$fashion" "$root/examples/fashion-train.toml" $option >"$work/own" 2>&1 || status=$?
  [ "$status" = 2 ] || wrong "07 $option ended with $status"
  grep -q '^usage: ' "$work/own" || wrong "07 $option: usage"
done

# Interrupted, it leaves no process and no stream.
BATCHCAST_COMMAND="$bin/../batchcast" "$bin/example_07_sweep" "$fashion" "$root/examples/fashion-train.toml" \
  --report-seconds 0.2 >"$work/own" 2>&1 &
producer=$!
until grep -q ' samples/s$' "$work/own"; do
  kill -0 "$producer" 2>/dev/null || wrong "07 ended early"
  sleep 0.1
done
trainers=$(awk '/ is process / { print $4 }' "$work/own")
kill -INT "$producer"
status=0
wait "$producer" || status=$?
producer=""
[ "$status" = 130 ] || wrong "07: interrupted, it ended with $status"
for trainer in $trainers; do
  ! kill -0 "$trainer" 2>/dev/null || wrong "07: process $trainer is still there"
done
[ -z "$(ls "$work/streams")" ] || wrong "streams were left: $(ls "$work/streams")"

# What is wrong with the dataset is said at once, by whom it is read.
status=0
"$bin/example_07_sweep" "$work/streams" "$root/examples/fashion-train.toml" >"$work/own" 2>&1 || status=$?
[ "$status" = 1 ] || wrong "07: without a dataset it ended with $status"
grep -q "^the producer of .* ended with 3: .*$work/streams" "$work/own" || wrong "07: what is wrong with the dataset"
