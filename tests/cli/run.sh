#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh run.sh BATCHCAST MULTIPROCESS    the command as its users and their scripts see it: results, JSON keys, exit
# codes, and what wrong input gets; the second program is a trainer that reads nothing.
set -u
batchcast=$1
multiprocess=$2

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

echo "-- help and version"
expect 0 'serve.*consume|consume' --help
expect 0 'batchcast [0-9]+\.[0-9]+\.[0-9]+' --version
for command in serve ensure dump check peek inspect recipe consume ls stop evict bench; do
  expect 0 "$command" "$command" --help
done

echo "-- wrong arguments"
expect 2 'no command' ""
expect 2 'no command `nonsense`. There are serve' nonsense
expect 2 'stream' serve synthetic:3x8x8
expect 2 'synthetic' serve synthetic:3xx8 --stream s
expect 2 'dtype' serve synthetic:3x8x8 --stream s --dtype f31
expect 2 '256MiB' serve synthetic:3x8x8 --stream s --memory much
expect 2 'memory' serve synthetic:3x224x224 --stream s --memory 1000
expect 2 'stream' serve synthetic:3x8x8 --stream a/b
# The next word is not taken for what is missing.
expect 2 'serve: `--stream=` has no value' serve synthetic:8 --stream= --epochs 1
expect 2 'serve: `--recipe=` has no value' serve --recipe= synthetic:8 --stream s
expect 2 'consume: `--name=` has no value' consume --name= nobody
expect 2 'bench ring: `--consumers=` has no value' bench ring --consumers= --json
expect 2 'json' bench ring --json=maybe
expect 3 'no stream `nobody`' stop nobody --reason a=
expect 2 'stream' consume a/b
for name in '*' 'a?' 'a b' '$x' '~x' '-x' 'a;b'; do
  expect 2 'cannot name a stream' serve synthetic:3x8x8 --stream="$name"
done
newline='a
b'
expect 2 '"a\\nb" cannot name a stream' ensure "$newline" synthetic:8
expect 2 '"a\\nb" cannot name a stream' consume "$newline"
expect 2 'batch-size.*1 or more' consume s --batch-size 0
expect 2 '^batchcast: .*--epochs' consume s --epochs many
expect 2 '^batchcast: STREAM is missing\.$' consume
expect 2 '^batchcast: --positions, --out are missing\.$' dump imagefolder:none
expect 2 '--batch-size is there 2 times, and takes one value' consume s --batch-size 1 --batch-size 2
expect 2 '--batch-size is there without its value. Write --batch-size N' consume s --batch-size
expect 2 '--json: `maybe` cannot be read. It takes no value, or true or false' ls --json=maybe
expect 2 '`99999999999999999999` must be a whole number, 0 to 18446744073709551615|from 0 to [0-9]+$' \
  serve synthetic:8 --stream s --ahead 99999999999999999999
expect 2 'memory is 1 byte\. Give it more' serve synthetic:8 --stream s --memory 1
expect 2 '^Look at streams' # the page of help: no command came
expect 2 '^  latency ' bench
expect 2 '^batchcast: consume: there is no option' consume s --no-such-option
expect 2 'no option `--batch-size`. Each trainer chooses its batch size' serve synthetic:8 --stream s --batch-size 4
expect 2 'no option `--shuffle`. `\[order\]` of the recipe says it' serve synthetic:8 --stream s --shuffle
expect 2 '"a\\nb" cannot name a consumer: .*printable ASCII' consume s --name "$newline" --connect-timeout 60
expect 3 '[Rr]un|left|memory' serve synthetic:3x8x8 --stream s --memory 900TiB
expect 3 'no producer serves' consume nobody --connect-timeout 0.2
mkdir -p "$work/photos/test/cat" "$work/photos/train/cat"
echo no image | tee "$work/photos/test/cat/0.jpg" >"$work/photos/train/cat/0.jpg"
expect 2 'should it be imagefolder:.*/photos/train\?' serve "imagefolder:$work/photos" --stream s
expect 2 'a preset, such as imagenet-train or imagenet-eval; `batchcast recipe --list` lists them all' \
  serve "imagefolder:$work/photos" --stream s
expect 2 "Here: \`batchcast peek imagefolder:$work/photos/test --recipe=imagenet-train --out x.png\`" \
  peek "imagefolder:$work/photos/test" --out x.png
expect 3 'no sample of this dataset can be made. The last one that was tried is sample 0, `cat/0.jpg`: ' \
  peek "imagefolder:$work/photos/test" --recipe imagenet-eval --on-bad-sample substitute --out x.png
printf '[[field]]\nname = "image"\nstages = [{ stage = "decode\\u001b" }]\n' >"$work/control.toml"
expect 2 'there is no stage "decode\\x1b"' recipe "$work/control.toml"
printf '"a\\u0000b" = 1\n' >"$work/control.toml"
expect 2 'there is no `a\\x00b` here. There is' recipe "$work/control.toml"
same "presets for other data there" "" "$(grep -owE 'tokens|mnist|cifar' "$work/err")"
mkdir -m 700 "$work/streams/killed"
echo 4711 >"$work/streams/killed/lock"
expect 3 'no producer serves.* Its producer \(pid 4711\) is gone\.' consume killed --connect-timeout 0.2
rm -r "$work/streams/killed"
expect 3 'no stream' stop nobody
expect 3 'no stream' evict nobody somebody
expect 0 'no streams' ls
: >"$work/file"
BATCHCAST_DIR=$work/file expect 3 'file is not a directory' ls
BATCHCAST_DIR=$work/file expect 3 'file is not a directory' ls --json
BATCHCAST_DIR=$work/file expect 3 'file is not a directory' stop nobody
BATCHCAST_DIR=$work/missing expect 0 "no streams: $work/missing .BATCHCAST_DIR. does not exist" ls
BATCHCAST_DIR=$work/missing expect 0 "$work/missing .BATCHCAST_DIR. does not exist" ls --json
same "streams in a directory that is not there" '[]' "$(cat "$work/out")"
BATCHCAST_DIR=$work/missing expect 3 "nobody. is served: $work/missing .BATCHCAST_DIR. does not exist" ls nobody
expect 0 '^\[\]$' ls --json

echo "-- waiting for a stream can be interrupted"
"$batchcast" consume nobody --connect-timeout -1 >"$work/out" 2>"$work/err" &
waiting=$!
sleep 0.5
kill -TERM $waiting
wait $waiting
same "exit code of who was interrupted" 143 $?
expect 3 'waited 0.2 s' consume nobody --timeout 0.2

echo "-- one stream, three batch sizes, every byte"
serve synthetic:3x16x16 --stream one --samples 5000 --epochs 2 --memory 4MiB --wait-for 3 --json
for size in 1 37 256; do
  timeout 100 "$batchcast" consume one --batch-size $size --name "size-$size" --verify --digest --json \
    >"$work/consume.$size" 2>>"$work/consume.err" &
done
wait
for size in 1 37 256; do
  out="$work/consume.$size"
  same "consume $size: lines of stdout" 1 "$(grep -c . "$out")"
  for key in stream consumer batch_size samples batches epochs seconds samples_per_second wait_seconds \
    attach_seconds missing duplicated torn skipped receipts digests verified_bytes; do
    checks=$((checks + 1))
    grep -q "\"$key\":" "$out" || fail "consume $size: no key $key"
  done
  same "samples of $size" 10000 "$(value samples "$out")"
  same "missing of $size" 0 "$(value missing "$out")"
  same "duplicated of $size" 0 "$(value duplicated "$out")"
  same "torn of $size" 0 "$(value torn "$out")"
  same "receipts of $size" '"match"' "$(value receipts "$out")"
  same "bytes of $size" $((10000 * (3 * 16 * 16 * 4 + 16))) "$(value verified_bytes "$out")"
  same "digests of $size" "$(value digests "$work/consume.1")" "$(value digests "$out")"
done
same "state of the producer" '"finished"' "$(value state "$work/serve.out")"
same "late wake-ups" 0 "$(value late_wakeups "$work/serve.out")"
same "what is left of it" "" "$(ls "$work/streams")"

echo "-- ls, evict, stop"
serve synthetic:8 --stream two --dtype u8 --samples 1000000000 --memory 1MiB --verbose
"$batchcast" consume two --name victim --batch-size 16384 --verify --json >"$work/victim" 2>"$work/victim.err" &
victim=$!
timeout 100 "$batchcast" consume two --name other --json >"$work/other" 2>"$work/other.err" &
other=$!
until_true lists '"name":"victim"'
until_true lists '"name":"other"'
ls_shows '"lag":.*"stream":"two"' --json
for key in pid state epoch position published samples_per_second consumers name batch_size pace lag; do
  checks=$((checks + 1))
  grep -q "\"$key\":" "$work/out" || fail "ls: no key $key"
done
ls_shows 'victim'
ls_shows '^two ' two
checks=$((checks + 1))
"$batchcast" ls nobody >"$work/out" 2>"$work/err" && fail "ls nobody: exit code 0"
expect 3 'no stream `twoo` is served. Did you mean `two`' ls twoo
ls_shows '^\[\{.*"stream":"two".*\}\]$' two --json
expect 2 'one argument too many' ls two three
expect 3 'already served by process [0-9]+' serve synthetic:8 --stream two
expect 3 'victim' evict two nobody
kill -STOP $victim  # with a batch in its hands, most likely, which is written over
expect 0 'victim.*is evicted' evict two victim --reason 'a test wanted it'
ls_shows 'other'
kill -CONT $victim
wait $victim
same "exit code of the evicted" 4 $?
same "torn samples of the evicted" 0 "$(value torn "$work/victim")"
checks=$((checks + 1))
grep -q 'a test wanted it' "$work/victim.err" || fail "the evicted is not told why"
expect 3 'does not fit' consume two --batch-size 100000000
expect 2 'cursor.*0 or more' consume two --cursor -1
expect 2 'join at' consume two --cursor 7
expect 2 'join at' consume two --cursor 0
expect 2 '`--join at --cursor N`' consume two --join at
expect 0 '"ok":true' stop two --reason 'the test is over' --json
wait $other
same "exit code of who was stopped" 4 $?
checks=$((checks + 1))
grep -q '"error":.*the test is over' "$work/other" || fail "who was stopped is not told why"

echo "-- a name is free once its stream was stopped"
for _ in 1 2 3; do
  rm -f "$work/serve.err"  # the last one's says so, too
  serve synthetic:8 --stream again --samples 100 --memory 1MiB
  checks=$((checks + 1))
  until_true grep -q 'serving stream' "$work/serve.err" || fail "a name is not free once its stream was stopped"
  expect 0 'is stopped$' stop again
done
wait $!

echo "-- signals"
serve synthetic:8 --stream three --samples 1000 --memory 1MiB
producer=$!
timeout 100 "$batchcast" consume three --seconds 0.5 --json >"$work/three" 2>/dev/null
same "exit code of --seconds" 0 $?
# timeout hands the signal on.
kill -INT $producer
wait $producer
same "exit code of SIGINT" 0 $?
same "what SIGINT leaves" "" "$(ls "$work/streams")"

# A ring for hundreds of its epochs.
serve synthetic:8 --stream ahead --samples 100 --memory 1MiB --ahead 3
ahead=$!
ls_shows '"waits_for":"demand"' --json
cp "$work/out" "$work/ahead"
same "what is made without a consumer" 300 "$(value published "$work/ahead")"
expect 0 '"epochs":2' consume ahead --epochs 2 --json
expect 0 'digest of epoch 4: [0-9a-f]{32}' consume ahead --join at --cursor 300 --epochs 2 --digest
grep '^digest' "$work/out" >"$work/digests"
expect 0 'digest of epoch 3: ' dump synthetic:8 --samples 100 --positions 300:500 --digest --out "$work/third"
same "digests by the stream's epochs" "$(grep '^digest' "$work/out")" "$(cat "$work/digests")"
expect 0 '"digest_epochs":\[5\]' consume ahead --join at --cursor 500 --epochs 1 --digest --json
kill -TERM $ahead
wait $ahead
same "exit code of SIGTERM" 0 $?

echo "-- a dead producer"
"$batchcast" serve synthetic:8 --stream four --samples 1000 --memory 1MiB >/dev/null 2>&1 &
producer=$!
timeout 100 "$batchcast" consume four --epochs 1 >"$work/four" 2>/dev/null
kill -KILL $producer
wait $producer
expect 0 '^four: dead, its producer was killed; .*`stop` clears it$' ls
same "rows of a dead stream" 0 "$("$batchcast" ls | grep -c STREAM)"
expect 0 '"state":"dead"' ls four --json
expect 3 'is dead.*`batchcast stop four` clears it' evict four somebody
expect 0 '^stream `four` was dead, .*its name is free now$' stop four
same "what is left of it" "" "$(ls "$work/streams")"
expect 3 'no stream' stop four
mkdir -m 700 "$work/streams/four"
echo 4711 >"$work/streams/four/lock"
: >"$work/streams/four/start"
echo why >"$work/streams/four/serve.log"
expect 0 '"name_is_free":true.*"was_dead":true' stop four --json
same "what is left of one with a log" "" "$(ls "$work/streams")"

# --linger counts once the consumers of --wait-for are there.
serve synthetic:8 --stream gated --samples 100 --memory 1MiB --epochs 1 --linger 0 --wait-for 2
"$batchcast" consume gated >"$work/one" 2>&1 &
expect 0 'receipts match' consume gated
wait
checks=$((checks + 1))
grep -q 'receipts match' "$work/one" || fail "a stream ended before the consumers that it waits for came"

# However late they come.
serve synthetic:8 --stream late --samples 100 --memory 1MiB --epochs 1 --linger 0 --wait-for 1
late=$!
until_true grep -q 'waits in memory for consumers (--wait-for' "$work/serve.err" ||
  fail "a stream does not say for whom it waits"
sleep 0.5
checks=$((checks + 1))
kill -0 $late || fail "a stream ended before the consumer that it waits for came"
expect 0 'receipts match' consume late
wait $late

# One that has just begun is stopped once it listens.
serve synthetic:3x16x16 --stream early --memory 1GiB
until_true lists '"state":"(silent|starting|running)".*"stream":"early"' || fail "a stream does not begin"
expect 0 'is stopped' stop early
wait $!

# Whoever is waited for at the end need not come.
serve synthetic:8 --stream drained --samples 100 --memory 1MiB --epochs 1
drained=$!
until_true grep -q 'waits in memory for consumers' "$work/serve.err" || fail "a stream does not say that it drains"
expect 0 'is stopped' stop drained
is_gone() { ! kill -0 "$1"; }
checks=$((checks + 1))
until_true is_gone $drained || fail "a stream that drains does not end when it is stopped"
wait $drained

expect 0 'random_resized_crop' recipe imagenet-train
expect 0 'cifar-eval' recipe
expect 0 '^cifar-eval$' recipe --list
same "presets with --list" "$("$batchcast" recipe)" "$("$batchcast" recipe --list)"
expect 0 '^\["imagenet-train",.*"cifar-eval"' recipe --list --json
expect 2 'takes no recipe' recipe mnist --list
expect 2 'list' recipe --list --diff
expect 2 'Did you mean `mnist`' recipe mnits
printf '[[field]]\nname = "image"\nstages = [{ stage = "to" }, { stage = "decode" }]\n' >"$work/late.toml"
expect 2 'late.toml:3: the stage `decode` of the field `image` .*must be the field.s first stage' \
  recipe "$work/late.toml"
serve synthetic:8 --stream four --samples 1000 --memory 1MiB --epochs 1
expect 0 'receipts match' consume four --batch-size 1000
checks=$((checks + 1))
grep -q '1,000 samples in 1 batch, 1 epoch, ' "$work/out" || fail "one is not counted as one"
wait $!

echo "-- a stream whose only trainer left before its end"
serve synthetic:8 --stream five --samples 1000 --memory 1MiB --epochs 1
served=$!
"$multiprocess" --role sit_together parent=$$ stream=five count=1 </dev/null >/dev/null 2>&1 ||
  fail "a trainer does not attach"
wait $served
same "what it says" 'finished, the last 1,000 read by no consumer' \
  "$(sed -n 's/^stream `five` \(finished\): .* for space\(, .*\)$/\1\2/p' "$work/serve.out")"

echo "-- benchmarks"
expect 0 '"bad":0' bench ring --batch-bytes 65536 --batches 2000 --consumers 2 --in-flight 4 --json
for key in consumers batch_bytes in_flight batches seconds batches_per_second; do
  checks=$((checks + 1))
  grep -q "\"$key\":" "$work/out" || fail "bench ring: no key $key"
done
expect 2 '64' bench ring --batch-bytes 100
expect 0 '"futex_p99_us":' bench latency --samples 100 --rounds 1 --json
for key in spinning_p50_us spinning_p99_us sleeping_p50_us sleeping_p99_us futex_p50_us; do
  checks=$((checks + 1))
  grep -q "\"$key\":" "$work/out" || fail "bench latency: no key $key"
done

finish
