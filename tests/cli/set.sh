#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh set.sh BATCHCAST    `batchcast set`: what changes, what is refused, and what is asked of whom.
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

echo "-- what changes"
serve synthetic:3x8x8 --stream images --dtype u8 --samples 100000 --memory 1MiB --workers 1 --ahead 2
until_true lists '"stream":"images"' || fail "no stream: $(cat "$work/serve.err")"
expect 0 '^workers: 1 → 3$' set images workers=3
until_true lists '"workers":3[,}]' || fail "no three workers"
expect 0 '"after":"5"' set images ahead=5 stall-timeout=30 --json
has_keys "$work/out" ok set name before after
expect 0 '^ahead: 5 → 2$' set images ahead=default
expect 0 '^workers: 3 → auto$' set images workers=auto
expect 0 '^workers: auto → 1$' set images workers=default
expect 0 '^on_stall: report → evict$' set images on_stall=evict
expect 0 '^on_stall: evict → own_place$' set images on-stall=own-place
expect 0 '^free_running: false → true$' set images free_running=true
for line in 'workers is set to 3; it was 1' 'ahead is set to 2; it was 5' 'workers is set to auto; it was 3' \
  'free_running is set to true; it was false'; do
  checks=$((checks + 1))
  grep -q "info: $line" "$work/serve.err" || fail "serve does not log '$line': $(cat "$work/serve.err")"
done

echo "-- what is refused, with what can be set"
expect 2 '`memory` is fixed once the stream is served. What can be set: .*workers' set images memory=1GiB
expect 2 '`wrokers` is no option of a stream. Did you mean `workers`\? What can be set: .*workers' set images wrokers=1
expect 2 '`zzz` is no option of a stream. What can be set: .*workers' set images zzz=1
expect 2 '`workers` is not NAME=VALUE' set images workers
expect 2 'workers' set images workers=0
expect 2 'workers' set images workers=many
expect 2 'on_stall' set images on_stall=shout
expect 2 'stall_timeout' set images stall_timeout=-1
expect 2 'values is missing|VALUES is missing' set images
expect 3 'no stream `nowhere` is served' set nowhere workers=1
# One of two is refused: the other stays.
expect 2 'on_stall' set images ahead=9 on_stall=shout
until_true lists '"state":"running"' || fail "it does not run"
expect 0 '^ahead: 2 → 4$' set images ahead=4

echo "-- the end of an idle stream"
expect 0 '^idle_exit: none → 0.2$' set images idle_exit=0.2
wait
grep -q 'no consumer was attached for 0.2 s' "$work/serve.err" || fail "it does not say why: $(cat "$work/serve.err")"
expect 3 'images' set images workers=2

echo "-- a log of objects"
serve synthetic:3x8x8 --stream logged --dtype u8 --samples 100 --epochs 1 \
  --memory 1MiB --log-format json --idle-exit 0.2
wait
checks=$((checks + 1))
/usr/bin/python3 -c 'import json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
assert lines and all({"time", "level", "text"} == set(line) for line in lines), lines
assert any("logged" in line["text"] for line in lines), lines' "$work/serve.err" ||
  fail "no objects: $(cat "$work/serve.err")"
expect 2 'log-format' serve synthetic:8 --stream other --log-format yaml
finish
