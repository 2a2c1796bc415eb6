#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh gpu.sh BATCHCAST FAKE_CUDA: streams on GPUs through the command; FAKE_CUDA is the folder of the tests' own
# driver.
set -u
batchcast=$1
fake=$2

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"
unset CUDA_VISIBLE_DEVICES
export LD_LIBRARY_PATH="$fake"
export BATCHCAST_FAKE_CUDA="devices=3 memory=256M delay_us=20"

# listed STREAM NAME...    waits until these consumers are attached
listed() {
  stream=$1
  shift
  for name in "$@"; do
    until_true lists "\"name\":\"$name\"" || fail "$name does not come to stream $stream"
  done
}

echo "-- bad input"
expect 2 'always served in host memory' serve synthetic:8 --stream bad --place host
expect 2 'cuda:0 is named twice' serve synthetic:8 --stream bad --place cuda:0,cuda:1 --place cuda:0
expect 2 'gpu0.*is no placement' serve synthetic:8 --stream bad --place gpu0
expect 2 'place' serve synthetic:8 --stream bad --device-memory 1MiB
expect 2 'no amount of memory' serve synthetic:8 --stream bad --place cuda:0 --device-memory lots
expect 2 'Did you mean `image`' serve synthetic:8 --stream bad --place cuda:0 --host-field imagee
expect 3 'cuda:5' serve synthetic:8 --stream bad --place cuda:5
expect 3 'cuda:0.*memory|memory.*cuda:0' serve synthetic:8 --stream bad --place cuda:0 --device-memory 1GiB \
  --memory 1MiB
same "what is left of them" "" "$(ls "$work/streams")"

echo "-- one stream on the host and two GPUs, every byte"
serve synthetic:3x16x16 --stream one --samples 3000 --epochs 2 --memory 4MiB --place cuda:0,cuda:1 \
  --device-memory 8MiB --host-field label --wait-for 3 --json
for place in host cuda:0 cuda:1; do
  timeout 100 "$batchcast" consume one --batch-size 37 --placement $place --verify --digest --json \
    >"$work/$place" 2>>"$work/consume.err" &
done
wait
for place in host cuda:0 cuda:1; do
  same "samples on $place" 6000 "$(value samples "$work/$place")"
  for key in missing duplicated torn; do same "$key on $place" 0 "$(value $key "$work/$place")"; done
  same "receipts on $place" '"match"' "$(value receipts "$work/$place")"
  same "digests on $place" "$(value digests "$work/host")" "$(value digests "$work/$place")"
done
same "state of the producer" '"finished"' "$(value state "$work/serve.out")"
checks=$((checks + 1))
grep -qE 'ring of [0-9,]+ samples, .*; on cuda:0 of [0-9,]+ samples, .*; on cuda:1 of ' "$work/serve.err" ||
  fail "serve does not say where it serves: $(cat "$work/serve.err")"

echo "-- who is where"
serve synthetic:8 --stream two --dtype u8 --samples 1000000000 --memory 1MiB --place cuda:0,cuda:1 --heads 1 \
  --device-memory 4MiB
producer=$!
timeout 100 "$batchcast" consume two --name near --placement cuda:1 >"$work/near" 2>&1 &
near=$!
listed two near # first, or the epoch would be too far on to begin it
timeout 100 "$batchcast" consume two --name far --json >"$work/far" 2>&1 &
listed two near far
ls_shows 'near +[0-9]+ +running +cuda:1 '
ls_shows 'far +[0-9]+ +running +host '
ls_shows '\(ring\) +resting +cuda:0 '
ls_shows '\(ring\) +running +cuda:1 '
ls_shows '"placement":"cuda:1".*"rings":\[' --json
expect 3 'in host memory, on cuda:0 .* and on cuda:1 .*, not on the GPU .*--place' consume two --placement cuda:2
expect 3 'on cuda:0, which spans.*--device-memory [0-9]+' consume two --placement cuda:0 --batch-size 100000000
expect 0 'near.*is evicted' evict two near
wait $near
same "exit code of the evicted" 4 $?
expect 0 'stopped' stop two --reason 'the test is over'
wait $producer
same "exit code of the stopped" 0 $?
same "what is left of it" "" "$(ls "$work/streams")"

echo "-- no driver"
mkdir "$work/none" && : >"$work/none/libcuda.so.1"
export LD_LIBRARY_PATH="$work/none"
expect 3 "no NVIDIA driver" serve synthetic:8 --stream bad --place cuda:0
finish
