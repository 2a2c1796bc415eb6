#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh ride.sh BATCHCAST [KILLING_FILE]    a producer's death is a pause: for consumers, `ensure`, `ls` and `stop`; with
# a keeper, and with `--replace`. KILLING_FILE: of killing_file.cpp.
set -u
batchcast=$1
killing_file=${2:-}
# shellcheck source=tests/cli/support.sh
. "$(dirname "$0")/support.sh"

source="synthetic:3x128x128 --samples 1000 --seed 4 --memory 32MiB"

# digests_of FILE: of its epochs.
digests_of() { python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["digests"])' "$1"; }

# shellcheck disable=SC2086
{
echo "-- what a stream has that is not disturbed"
"$batchcast" serve $source --stream calm --epochs 12 --wait-for 1 >/dev/null 2>&1 &
"$batchcast" consume calm --digest --json --connect-timeout 20 >"$work/calm" 2>/dev/null
long_calm=$(digests_of "$work/calm")
calm=$(echo "$long_calm" | cut -d " " -f 1-4)

echo "-- consumers of a producer that is killed, and started again by hand"
"$batchcast" serve $source --stream s --wait-for 2 >/dev/null 2>&1 &
producer=$!
for size in 37 64; do
  "$batchcast" consume s --batch-size $size --epochs 12 --digest --json --connect-timeout 20 \
    >"$work/c$size" 2>"$work/e$size" &
  eval "consumer$size=$!"
done
until_true sh -c "[ \"\$('$batchcast' ls s | grep -c lockstep)\" = 2 ]"
kill -STOP $consumer64  # so that they do not end before the producer does
expect 0 'members   2 trainers would go on with its next producer: ' inspect s
for _ in 1 2 3; do
  kill -KILL $producer
  wait $producer 2>/dev/null
  expect 0 '^s .*dead' ls s
  grep -q '^waiting: it goes on with the next producer' "$work/out" || fail "ls says $(cat "$work/out")"
  "$batchcast" serve $source --stream s --wait-for 2 >"$work/again" 2>&1 &
  producer=$!
  kill -CONT $consumer64
  sleep 0.05
  kill -STOP $consumer64
done
kill -CONT $consumer64
for size in 37 64; do
  eval "wait \$consumer$size" || fail "the consumer of $size: $(cat "$work/e$size")"
  same "digests of $size" "$long_calm" "$(digests_of "$work/c$size")"
  same "receipts of $size" match "$(python3 -c 'import json, sys
print(json.load(open(sys.argv[1]))["receipts"])' "$work/c$size")"
done
kill -TERM $producer
wait $producer
[ ! -e "$work/streams/s" ] || fail "a stream that ended leaves $(ls "$work/streams/s")"

echo "-- a stream whose producer is dead is ended by stop"
"$batchcast" serve $source --stream s --wait-for 2 >/dev/null 2>&1 &
producer=$!
"$batchcast" consume s --epochs 1 --connect-timeout 20 >"$work/waits" 2>&1 &
waits=$!
until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'"
kill -KILL $producer
wait $producer 2>/dev/null
until_true grep -q 'waits 30 s for the next one' "$work/waits" || fail "no notice: $(cat "$work/waits")"
expect 0 'stream `s` was dead' stop s --reason 'the sweep is over'
wait $waits
same "exit code of a consumer whose stream was ended" 4 $?
grep -q 'was ended: the sweep is over' "$work/waits" || fail "no reason: $(cat "$work/waits")"
[ ! -e "$work/streams/s" ] || fail "a stream that was ended leaves $(ls "$work/streams/s")"

echo "-- a wait has an end"
"$batchcast" serve $source --stream s --wait-for 2 >/dev/null 2>&1 &
producer=$!
"$batchcast" consume s --epochs 1 --gone-timeout 0.5 --connect-timeout 20 >"$work/waits" 2>&1 &
waits=$!
until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'"
kill -KILL $producer
wait $producer 2>/dev/null
wait $waits
same "exit code of a consumer whose producer is gone" 4 $?
grep -q 'no other came within 0.5 s' "$work/waits" || fail "no reason: $(cat "$work/waits")"
expect 0 'stream `s` was dead' stop s

echo "-- a keeper starts the producer again"
"$batchcast" serve $source --stream s --wait-for 2 --keep-alive >"$work/kept" 2>&1 &
keeper=$!
for size in 37 64; do
  "$batchcast" consume s --batch-size $size --epochs 4 --digest --json --connect-timeout 20 \
    >"$work/c$size" 2>"$work/e$size" &
  eval "consumer$size=$!"
done
until_true sh -c "'$batchcast' ls s | grep -q '^ .*37'"
for _ in 1 2; do
  until_true test -S "$work/streams/s/door"
  sleep 0.5
  kill -KILL "$(cat "$work/streams/s/lock")"
done
for size in 37 64; do
  eval "wait \$consumer$size" || fail "the consumer of $size: $(cat "$work/e$size")"
  same "digests of $size" "$calm" "$(digests_of "$work/c$size")"
done
grep -q 'was killed by SIGKILL; it is started again' "$work/kept" || fail "the keeper says $(cat "$work/kept")"
expect 3 'another `serve --keep-alive` keeps the stream' serve $source --stream s --keep-alive
kill -TERM $keeper
wait $keeper
same "exit code of a keeper that is ended" 0 $?
[ ! -e "$work/streams/s" ] || fail "a keeper leaves $(ls "$work/streams/s")"
[ ! -e "$work/streams/.s.keeper" ] || fail "a keeper leaves its lock"

echo "-- a trainer that does not come is missing"
"$batchcast" serve $source --stream s --wait-for 2 >/dev/null 2>&1 &
producer=$!
"$batchcast" consume s --batch-size 37 --connect-timeout 20 >/dev/null 2>&1 &
comes=$!
"$batchcast" consume s --batch-size 64 --connect-timeout 20 >/dev/null 2>&1 &
stays=$!
until_true sh -c "[ \"\$('$batchcast' ls s | grep -c lockstep)\" = 2 ]"
kill -STOP $stays
kill -KILL $producer
wait $producer 2>/dev/null
"$batchcast" serve $source --stream s >/dev/null 2>&1 &
producer=$!
until_true sh -c "'$batchcast' ls s | grep -q '^missing: it has not come'"
kill -CONT $stays
until_true sh -c "! '$batchcast' ls s | grep -q missing"
kill -TERM $producer
wait $producer $comes $stays

echo "-- a stream whose producers die again and again is given up, while a trainer waits"
"$batchcast" serve $source --stream s --wait-for 1 --keep-alive >"$work/kept" 2>&1 &
keeper=$!
"$batchcast" consume s --connect-timeout 20 >"$work/waits" 2>&1 &
waits=$!
until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'"
kill -STOP $waits  # so that no producer comes to a sample
sleep 1.5          # what is published is noted once a second
for life in 1 2 3 4; do
  until_true sh -c "[ \"\$(grep -c '^serving stream' '$work/kept')\" = $life ]"
  last=$(cat "$work/streams/s/lock")
  kill -KILL "$last"
  until_true sh -c "! kill -0 $last 2>/dev/null"
done
wait $keeper
same "exit code of a keeper that gives up" 4 $?
grep -q 'is given up: 3 producers in a row were killed' "$work/kept" || fail "the keeper says $(cat "$work/kept")"
expect 3 'is given up: 3 producers in a row' ensure s $source
kill -CONT $waits
wait $waits
same "exit code of a consumer whose stream is given up" 4 $?
grep -q 'failed: 3 producers in a row were killed' "$work/waits" || fail "no reason: $(cat "$work/waits")"
expect 0 'is removed' stop s

if [ -n "$killing_file" ]; then
  echo "-- a stream that is given up names the files at which its producers died"
  /usr/bin/python3 "$(dirname "$0")/make_images.py" "$work/images" 60
  mv "$work/images/dog/0031.jpg" "$work/images/dog/0031 kills.jpg"
  for bad in error substitute; do
    LD_PRELOAD=$killing_file "$batchcast" serve "imagefolder:$work/images" --recipe imagenet-eval --workers 1 \
      --on-bad-sample $bad --stream s --wait-for 1 --keep-alive >"$work/kept" 2>&1 &
    keeper=$!
    "$batchcast" consume s --batch-size 4 --connect-timeout 20 >"$work/waits" 2>&1 &
    waits=$!
    wait $keeper
    same "exit code of a keeper whose file kills" 4 $?
    expect 3 'is given up: .*`dog/0031 kills.jpg`' ensure s "imagefolder:$work/images" --recipe imagenet-eval
    wait $waits
    same "exit code of a consumer whose file kills" 4 $?
    grep -q 'failed: 3 producers in a row were killed .*`dog/0031 kills.jpg`' "$work/waits" ||
      fail "no file: $(cat "$work/waits")"
    expect 0 'is removed' stop s
  done
fi

echo "-- a keeper starts its worker with the same words, and kills no other producer for it"
"$batchcast" serve $source --stream s --wait-for 1 >/dev/null 2>&1 &
producer=$!
until_true test -S "$work/streams/s/door"
"$batchcast" serve $source --stream s --wait-for 1 --keep-alive=true --replace >"$work/kept" 2>&1 &
keeper=$!
wait $producer
same "exit code of a producer that a keeper replaces" 137 $?
until_true sh -c "test -S '$work/streams/s/door' && [ \"\$(cat '$work/streams/s/lock')\" != $producer ]" ||
  fail "the keeper says $(cat "$work/kept")"
"$batchcast" consume s --connect-timeout 20 >/dev/null 2>&1 &
consumer=$!
until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'"
worker=$(cat "$work/streams/s/lock")
tr '\0' '\n' <"/proc/$worker/cmdline" >"$work/words"
grep -q -e --keep-alive "$work/words" && fail "the worker is a keeper too"
until_true sh -c "ls '$work'/streams/s/life* '$work'/streams/*life* 2>/dev/null | grep -q ."
grep -rqs -e --replace "$work/streams" && fail "what starts the stream again would replace its producer"
kill -KILL "$worker"
until_true sh -c "grep -q 'is started again' '$work/kept'"
until_true sh -c "test -S '$work/streams/s/door' && [ \"\$(cat '$work/streams/s/lock')\" != $worker ]"
tr '\0' '\n' <"/proc/$(cat "$work/streams/s/lock")/cmdline" >"$work/words"
grep -q -e --replace "$work/words" && fail "a worker that is started again replaces another producer"
kill -TERM $keeper
wait $keeper $consumer

echo "-- a keeper that is ended while no worker runs ends the stream, and one whose stream is stopped then ends"
for ends in keeper stream; do
  "$batchcast" serve $source --stream s --wait-for 1 --keep-alive --give-up-after 0 >"$work/kept" 2>&1 &
  keeper=$!
  "$batchcast" consume s --connect-timeout 20 >"$work/waits" 2>&1 &
  waits=$!
  until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'"
  for life in 1 2 3 4; do
    until_true sh -c "[ \"\$(grep -c '^serving stream' '$work/kept')\" = $life ]"
    kill -KILL "$(cat "$work/streams/s/lock")"
  done
  until_true grep -q 'again in 800 ms' "$work/kept"
  if [ $ends = keeper ]; then kill -TERM $keeper; else expect 0 'was dead' stop s --reason enough; fi
  wait $keeper
  same "exit code of a keeper without a worker" 0 $?
  wait $waits
  same "exit code of a consumer whose $ends was ended" 4 $?
  grep -qE 'its keeper got SIGTERM|enough' "$work/waits" || fail "no reason: $(cat "$work/waits")"
  [ ! -e "$work/streams/s" ] || fail "a keeper that was ended leaves $(ls "$work/streams/s")"
done

echo "-- what was set is kept for a producer that is started again by itself, and no secret is"
# has NAME VALUE    whether the stream has that; it is set to it again.
has() { "$batchcast" set s "$1=$2" 2>&1 | tee "$work/has" | grep -q "^$1: $2 → $2\$"; }
HF_TOKEN=hidden HUGGING_FACE_HUB_TOKEN=hidden HF_HOME=shown \
  "$batchcast" serve $source --stream s --wait-for 1 --workers 1 --keep-alive >"$work/kept" 2>&1 &
keeper=$!
until_true test -S "$work/streams/s/door"
expect 0 '^ahead: 2 → 3$' set s ahead=3 workers=2
grep -rqs shown "$work/streams/s/life" || fail "the environment is not kept"
grep -rqs hidden "$work/streams" && fail "a secret lies on the disk"
for life in 1 2; do  # the second time a trainer is there
  last=$(cat "$work/streams/s/lock")
  kill -KILL "$last"
  until_true sh -c "test -S '$work/streams/s/door' && [ \"\$(cat '$work/streams/s/lock')\" != $last ]"
  for setting in "ahead 3" "workers 2"; do
    # shellcheck disable=SC2086
    until_true has $setting || fail "after $life deaths a keeper's producer has not $setting: $(cat "$work/has")"
  done
  if [ $life = 1 ]; then
    "$batchcast" consume s --connect-timeout 20 >/dev/null 2>&1 &
    consumer=$!
    until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'"
  fi
done
expect 0 '^ahead: 3 → 2$' set s ahead=default
kill -KILL $keeper
kill -KILL "$(cat "$work/streams/s/lock")"
wait $keeper 2>/dev/null
expect 0 served ensure s $source --wait-for 1 --workers 1
until_true has ahead 2 || fail "what ensure started has not the default: $(cat "$work/has")"
until_true has workers 2 || fail "what ensure started has not what was set: $(cat "$work/has")"
kill -KILL "$(cat "$work/streams/s/lock")"
until_true sh -c "! '$batchcast' ls s --json | grep -q running"
"$batchcast" serve $source --stream s --wait-for 1 --workers 1 >/dev/null 2>&1 &
producer=$!
until_true has workers 1 || fail "what a person started has not its words' value: $(cat "$work/has")"
kill -TERM $producer
wait $producer $consumer

echo "-- a keeper ends with its worker's exit code"
expect 2 'does not go with a .synthetic:. source' serve $source --recipe no-such-recipe --stream s --keep-alive

echo "-- trainers hear why their keeper's producer cannot start again"
python3 - "$work/numbers.npy" <<'PY'
import sys
head = "{'descr': '<i4', 'fortran_order': False, 'shape': (1000, 4), }".ljust(117) + "\n"
with open(sys.argv[1], "wb") as file:
    file.write(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + bytes(16000))
PY
"$batchcast" serve "npy:$work/numbers.npy" --stream s --wait-for 1 --keep-alive >"$work/kept" 2>&1 &
keeper=$!
"$batchcast" consume s --connect-timeout 20 >"$work/waits" 2>&1 &
waits=$!
until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'" || fail "the keeper says $(cat "$work/kept")"
mv "$work/numbers.npy" "$work/moved.npy"
kill -KILL "$(cat "$work/streams/s/lock")"
wait $keeper
[ $? != 0 ] || fail "a keeper whose producer cannot start ends with 0"
wait $waits
same "exit code of a consumer whose producer cannot start" 4 $?
grep -q 'could not be started again: .*numbers.npy' "$work/waits" || fail "no reason: $(cat "$work/waits")"
expect 0 'is removed' stop s

echo "-- a producer that trainers read is not replaced by another recipe"
"$batchcast" serve $source --stream s --wait-for 2 >/dev/null 2>&1 &
producer=$!
"$batchcast" consume s --epochs 1 --connect-timeout 20 >/dev/null 2>&1 &
consumer=$!
until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'"
expect 3 'is not replaced: it has other data or another recipe' \
  serve synthetic:3x128x128 --samples 1000 --seed 5 --memory 32MiB --stream s --replace
kill -0 $producer || fail "a producer of another recipe was killed"
kill -TERM $producer
wait $producer $consumer

echo "-- a keeper takes another one's place, and not where its producer is refused"
"$batchcast" serve $source --stream s --wait-for 2 --keep-alive >"$work/kept" 2>&1 &
keeper=$!
"$batchcast" consume s --epochs 1 --digest --json --connect-timeout 20 >"$work/c64" 2>"$work/e64" &
consumer=$!
until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'"
worker=$(cat "$work/streams/s/lock")
expect 3 'take its place with --replace' serve $source --stream s --keep-alive
expect 3 'is not replaced: it has other data or another recipe' \
  serve synthetic:3x128x128 --samples 1000 --seed 5 --memory 32MiB --stream s --replace --keep-alive
kill -0 $keeper || fail "a keeper of another recipe was killed"
same "worker of a keeper that is not replaced" "$worker" "$(cat "$work/streams/s/lock")"
"$batchcast" serve $source --stream s --replace --keep-alive >"$work/again" 2>&1 &
again=$!
wait $keeper 2>/dev/null
same "exit code of a keeper that is replaced" 137 $?
until_true sh -c "test -S '$work/streams/s/door' && [ \"\$(cat '$work/streams/s/lock')\" != $worker ]" ||
  fail "the next keeper says $(cat "$work/again")"
until_true sh -c "! flock -n '$work/streams/.s.keeper' true" || fail "the next keeper has no lock"
expect 3 'keeps the stream .s. alive' serve $source --stream s --keep-alive
wait $consumer || fail "a consumer of a replaced keeper: $(cat "$work/e64")"
same "its digest" "${calm%% *}" "$(digests_of "$work/c64")"
worker=$(cat "$work/streams/s/lock")
kill -KILL "$worker"
until_true grep -q 'is started again' "$work/again"
until_true sh -c "test -S '$work/streams/s/door' && [ \"\$(cat '$work/streams/s/lock')\" != $worker ]"
kill -TERM $again
wait $again
same "exit code of the keeper that took the place" 0 $?
[ ! -e "$work/streams/.s.keeper" ] || fail "the lock of a keeper is left"

echo "-- a producer is replaced, also one that is stopped"
for signal in CONT STOP; do
  "$batchcast" serve $source --stream s --wait-for 2 >/dev/null 2>&1 &
  producer=$!
  "$batchcast" consume s --epochs 1 --digest --json --connect-timeout 20 >"$work/c64" 2>"$work/e64" &
  consumer=$!
  until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'"
  kill -$signal $producer
  if [ $signal = STOP ]; then expect 0 's: process [0-9]* is stopped, and lives' ls s; fi
  "$batchcast" serve $source --stream s --replace >"$work/again" 2>&1 &
  again=$!
  wait $producer 2>/dev/null
  wait $consumer || fail "a consumer of a replaced producer: $(cat "$work/e64")"
  same "its digest" "${calm%% *}" "$(digests_of "$work/c64")"
  kill -TERM $again
  wait $again
done

echo "-- a producer that goes on says what it made itself"
"$batchcast" serve $source --stream s >/dev/null 2>&1 &
producer=$!
"$batchcast" consume s --seconds 60 >/dev/null 2>&1 &
consumer=$!
published() { "$batchcast" ls s --json >"$work/out" && value published "$work/out"; }
far() { [ "$(published)" -gt 1000 ]; }
until_true far || fail "the stream does not go on"
kill -KILL $producer
wait $producer 2>/dev/null
"$batchcast" serve $source --stream s --json >"$work/again" 2>/dev/null &
again=$!
until_true lists '"consumers":\[{.*"pid":'$again || fail "the consumer does not come"
until_true far
kill -KILL $consumer
wait $consumer 2>/dev/null
kill -TERM $again
wait $again
ends=$(value published "$work/again")
made=$(value samples "$work/again")
checks=$((checks + 1))
[ "$made" -gt 0 ] && [ "$made" -le $((ends - 900)) ] || fail "it made $made samples, and ends at position $ends"
}
finish
