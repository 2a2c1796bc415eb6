#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh trace.sh BATCHCAST    `batchcast trace`: what the file has, its early ends, and what is refused.
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"
python=/usr/bin/python3

# looks_whole FILE    whether each track's spans nest, and all have names
looks_whole() {
  checks=$((checks + 1))
  $python "$here/look_at_trace.py" "$1" ${2-} >"$work/out" 2>&1 || fail "$1 is no good trace"
}
threads_of() { ls "/proc/$1/task" | wc -l; }
pid_of() { "$batchcast" ls "$1" --json | sed -n 's/.*"pid":\([0-9]*\),"placement":"host".*/\1/p'; }

echo "-- what is refused"
expect 3 'no stream `nowhere` is served' trace nowhere 1s
expect 2 'STREAM is missing' trace
serve synthetic:3x64x64 --stream images --dtype u8 --samples 100000 --memory 4MiB --workers 2
until_true test -S "$work/streams/images/door" || fail "no stream: $(cat "$work/serve.err")"
for duration in 0 -1s 1h 61min 10x s nan inf ''; do
  expect 2 'is no time from 1ms to 60min|needs a value' trace images "$duration"
done
expect 3 'cannot write' trace images 1s --out "$work/nowhere/t.json"
expect 3 'cannot write' trace images 1s --out "$work"

echo "-- a trace"
cd "$work" || exit 1
for name in quick slow; do
  timeout 120 "$batchcast" consume images --name $name --batch-size 32 >/dev/null 2>&1 &
done
for name in quick slow; do
  until_true lists "\"name\":\"$name\"" || fail "no trainer"
done
producer=$("$batchcast" ls images --json | $python -c 'import json, sys; print(json.load(sys.stdin)[0]["pid"])')
before=$(threads_of "$producer")
"$batchcast" ls images --json >"$work/before"
expect 0 '^1\.[0-9] s of stream `images` in t.json, .*: [0-9,]+ spans' trace images 1500ms --out t.json
"$batchcast" ls images --json >"$work/after"
sleep 1
"$batchcast" ls images --json >"$work/late"
looks_whole t.json "$work/before $work/after $work/late"
same "files beside it" t.json "$(echo t.json*)"
off_again() { [ "$(threads_of "$producer")" -eq "$before" ]; }
checks=$((checks + 1))
until_true off_again || fail "a thread of the trace is left"
expect 0 '"spans":[1-9]' trace images 0.2 --json
has_keys "$work/out" out seconds spans cut left_out bytes
same "the file by the stream's name" images.trace.json "$(echo images.trace*)"

echo "-- one at a time"
timeout 60 "$batchcast" trace images 30s --out long.json >"$work/long" 2>&1 &
long=$!
traces() { grep -qsx bc-trace "/proc/$producer"/task/*/comm; }
until_true traces || fail "no trace began"
expect 3 'does not trace: another `batchcast trace` looks at this stream' trace images 1s --out other.json
same "a file of the refused one" "other.json*" "$(echo other.json*)"

echo "-- Ctrl-C ends it early, with a whole file"
kill -INT $long
wait $long
same "its exit code" 130 $?
looks_whole long.json

echo "-- a trace that is killed leaves nothing on"
timeout 60 "$batchcast" trace images 30s --out killed.json >/dev/null 2>&1 &
until_true traces || fail "no trace began"
kill -KILL "$(pgrep -P $!)" 2>/dev/null
wait $!
checks=$((checks + 1))
until_true off_again || fail "a killed trace goes on"
same "what it left" "killed.json*" "$(echo killed.json*)"
expect 0 'spans' trace images 100ms --out t.json

# traced_stream NAME FILE    a stream, its `producer`, and a trace of it in the background, `long`
traced_stream() {
  "$batchcast" serve synthetic:8 --stream "$1" --samples 100 --memory 1MiB >/dev/null 2>&1 &
  producer=$!
  until_true test -S "$work/streams/$1/door" || fail "no stream"
  timeout 60 "$batchcast" trace "$1" 30s --out "$2" >"$work/long" 2>&1 &
  long=$!
  until_true traces || fail "no trace began"
}

echo "-- a stream that ends, and one whose producer is killed"
timeout 60 "$batchcast" trace images 30s --out ended.json >"$work/long" 2>&1 &
long=$!
until_true traces || fail "no trace began"
expect 0 'is stopped' stop images
wait $long
same "its exit code" 4 $?
looks_whole ended.json
traced_stream killed died.json
kill -KILL $producer
wait $long
same "its exit code" 4 $?
wait $producer
looks_whole died.json
expect 3 'is dead' trace killed 1s

echo "-- a producer that is stopped for longer than it records unasked"
traced_stream paused paused.json
kill -STOP $producer
sleep 6
kill -CONT $producer
wait $long
same "its exit code" 4 $?
grep -q 'or its producer was stopped for more than 5 s' "$work/long" || fail "it says $(cat "$work/long")"
looks_whole paused.json
expect 0 'is stopped' stop paused
wait $producer
finish
