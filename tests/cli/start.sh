#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh start.sh BATCHCAST MULTIPROCESS    streams that trainers start with the real command; the trainers are the second
# program in its role `self_starter`.
set -u
batchcast=$1
trainer=$2

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

# Whoever reads from it leaves as soon as there is a line.
mkfifo "$work/leave"
exec 9<>"$work/leave"
dismiss() {
  echo leave >&9
  wait
  read -r _ <&9
}

# train NAME WORD...
train() {
  name=$1
  shift
  : >"$work/train.$name"  # what it said before is not to be taken for this one's
  "$trainer" --role self_starter parent=$$ command="$batchcast" name="$name" idle_exit=1 "$@" \
    <&9 >"$work/train.$name" 2>"$work/train.$name.err" &
}

# says NAME PATTERN    waits until the trainer has said it
says() {
  checks=$((checks + 1))
  until_true grep -qsE -e "$2" "$work/train.$1" && return
  cat "$work/train.$1" "$work/train.$1.err"
  fail "trainer $1 does not say '$2'"
}

is_empty() { [ -z "$(ls "$1")" ]; }

# Waits until nothing is left of any stream.
vanishes() {
  checks=$((checks + 1))
  until_true is_empty "$BATCHCAST_DIR" && return
  fail "$1: there is still $(ls "$BATCHCAST_DIR"/*)"
}

echo "-- one of four starts it"
for one in a b c d; do train $one source=synthetic:3x8x8; done
for one in a b c d; do says $one '^attached'; done
same "trainers that started it" 1 "$(grep -l '^starts' "$work"/train.? | grep -c .)"
checks=$((checks + 1))
grep -q 'serving stream `s`' "$BATCHCAST_DIR/s/serve.log" || fail "the log does not say that it serves"
# On a busy machine a producer may be too late to answer, and shown as silent.
checks=$((checks + 1))
until_true lists '"name":"a".*"name":"d"|"name":"d".*"name":"a"' || fail "ls does not show the trainers"
train e source=synthetic:3x8x9
says e 'kind=RecipeMismatch.*shape: the stream has \[3,8,8\], asked for \[3,8,9\]'
dismiss
vanishes "an idle producer"

echo "-- what serve says reaches every trainer"
for one in a b c; do train $one source=imagefolder:/no/such/folder recipe=imagenet-train; done
for one in a b c; do says $one 'kind=StartFailed.*exit code [23].*/no/such/folder'; done
wait
checks=$((checks + 1))
grep -q '/no/such/folder' "$BATCHCAST_DIR/s/serve.log" || fail "the log of the failure is gone"
train a source=synthetic:8
says a '^attached'
dismiss
vanishes "a producer after one that failed"

echo "-- a dataset in the working directory, with and without a recipe"
"$batchcast" dump synthetic:2x8 --dtype u8 --samples 50 --positions 0:50 --out "$work/data" >"$work/out" 2>&1 ||
  fail "dump failed"
printf '[[field]]\nname = "image"\nstages = [{ stage = "to", dtype = "f32" }]\n' >"$work/data/recipe.toml"
cd "$work/data" || exit 1
train a source=npy:image.npy recipe=recipe.toml
says a '^attached'
train b "source=npy:$work/data/image.npy" "recipe=$work/data/recipe.toml"
says b '^attached'
train c source=npy:image.npy
says c 'kind=RecipeMismatch.*no recipe'
cd "$work" || exit 1
train d source=npy:image.npy "recipe=$work/data/recipe.toml"
says d 'kind=RecipeMismatch.*cannot be compared'
dismiss
vanishes "a dataset's producer"
cd "$work/data" || exit 1
train a source=npy:image.npy
says a '^attached'
train b source=npy:image.npy seed=1
says b 'kind=RecipeMismatch.*seed: the stream has 0, asked for 1'
dismiss
vanishes "a producer without a recipe"

echo "-- serve --idle-exit"
expect 0 'no consumer was attached for 0.3 s' serve synthetic:8 --stream idle --idle-exit 0.3
expect 0 'no consumer was attached for 0.3 s' serve synthetic:8 --stream idle --idle-exit 0.3 --wait-for 2
grep -q 'idle-exit counts from now on, also while the 2 consumers of --wait-for are to come: .* within 0.3 s$' \
  "$work/err" || fail "serve does not say that --idle-exit does not wait for --wait-for"
expect 3 'no consumer was attached for 0.3 s .--idle-exit., with 2 of --wait-for still to come' ls idle
expect 0 'no consumer was attached for 0.3 s' serve synthetic:8 --stream idle --idle-exit 0.3 --samples 100 --epochs 1
last_words='last producer ended [0-9]+ s ago: no consumer was attached for 0.3 s \(--idle-exit\)'
expect 3 "info: waiting for .* Its $last_words" consume idle --connect-timeout 1
expect 3 "no producer serves .*waited.* Its $last_words" consume idle --connect-timeout 0.3
expect 3 "no stream .idle. is served.* Its $last_words" ls idle
expect 3 "no stream .idle. is served.* Its $last_words" stop idle
expect 0 '^\[\]$' ls --json
expect 2 'above 0' serve synthetic:8 --stream idle --idle-exit 0
# consume_first NAME SECONDS    a trainer that waits for the stream, so that its own start is no idle time of it
consume_first() {
  : >"$work/first.err"
  timeout 60 "$batchcast" consume "$1" --seconds "$2" >"$work/first" 2>"$work/first.err" &
  first=$!
  until_true grep -q 'waiting for a producer' "$work/first.err" || fail "consume does not say that it waits"
}
# is_consumed NAME    waits for that trainer
is_consumed() {
  wait $first
  same "exit code of a trainer of $1" 0 $?
}
consume_first idle 2
serve synthetic:8 --stream idle --idle-exit 1
producer=$!
is_consumed idle
wait $producer
same "exit code of an idle producer" 0 $?
vanishes "serve --idle-exit"

echo "-- nobody reads what serve says, and a log whose disk is full"
serve_unheard() { "$batchcast" serve synthetic:8 --stream unheard --idle-exit 1; }
consume_first unheard 0.3
serve_unheard >/dev/full 2>&1 &
producer=$!
is_consumed unheard
wait $producer
same "exit code of a producer whose log cannot be written" 0 $?
vanishes "a producer whose log cannot be written"
consume_first unheard 0.3
serve_unheard 2>&1 | true &
is_consumed unheard
vanishes "a producer whose output nobody reads"

echo "-- ensure: its words and exit codes"
# answers EXIT WORD TEXT ARGUMENT...    the first line is the word alone, TEXT a pattern for what is below it
answers() {
  code=$1
  word=$2
  below=$3
  shift 3
  expect "$code" "$below" ensure "$@"
  same "first line of ensure $*" "$word" "$(head -n 1 "$work/out")"
  checks=$((checks + 1))
  tail -n +2 "$work/out" | grep -qE -e "$below" || fail "ensure $*: below the word is nothing like '$below'"
}
answers 0 served '^recipe \{.*"seed":3' made synthetic:3x8x8 --seed 3 --idle-exit 60 --workers 1 --samples=1000 \
  --linger -1 --ahead 4 --free-running --verbose=false
checks=$((checks + 1))
given='--seed=3 --samples=1000 --ahead=4 --workers=1 --linger=-1 --idle-exit=60 --free-running --verbose=false'
grep -q "starting .*serve synthetic:3x8x8 --stream made $given" "$work/err" ||
  fail "serve did not get what ensure got"
answers 0 served '^recipe \{' made synthetic:3x8x8 --seed 3 --samples 1000 --memory 1MiB
same "what is said of a stream that runs" "" "$(cat "$work/err")"
answers 1 mismatch 'seed: the stream has 3, asked for 4$' made synthetic:3x8x8 --seed 4 --samples 1000
answers 1 mismatch 'samples_per_epoch: the stream has 1000, asked for 50000$' made synthetic:3x8x8 --seed 3
answers 1 mismatch 'source: the stream has' made "npy:$work/data/image.npy"
answers 2 invalid 'name' a/b synthetic:8
answers 0 served '^recipe ' small synthetic:3x64x64 --samples 100 --memory 1MiB --idle-exit 1
answers 2 invalid 'no amount of memory' never synthetic:8 --memory foo
answers 2 invalid 'no amount of memory' never synthetic:8 --place cuda:0 --device-memory foo
answers 2 invalid 'gpu:0' never synthetic:8 --place gpu:0
answers 2 invalid 'auto' never synthetic:8 --workers 0
checks=$((checks + 1))
[ ! -e "$BATCHCAST_DIR/never" ] || fail "something was started with what cannot be"
answers 0 served '^recipe \{' made synthetic:3x8x8 --seed 3 --samples 1000 --timeout 1e300
answers 3 failed '/no/such/folder' never imagefolder:/no/such/folder --recipe imagenet-train
checks=$((checks + 1))
[ -s "$BATCHCAST_DIR/never/serve.log" ] || fail "the log of what failed is gone"
rm -r "$BATCHCAST_DIR/never"
expect 2 'SOURCE is missing' ensure made
expect 2 'nonsense' ensure made synthetic:8 --nonsense
expect 2 'above 0' ensure made synthetic:8 --idle-exit 0
same "words on stdout of who is called wrongly" 0 "$(grep -c . "$work/out")"
"$batchcast" ensure --help >"$work/help"
for option in $("$batchcast" serve --help | grep -oE '^ +(-[a-z],)?--[a-z-]+' | tr -d ' ' | sed 's/^-[a-z],//'); do
  checks=$((checks + 1))
  [ "$option" = --stream ] || grep -qE -e "$option( |$)" "$work/help" || fail "ensure has no $option"
done
expect 0 made stop made
vanishes "a stream that ensure started"

echo "-- ensure right behind a stream's last epoch"
for round in 1 2 3 4 5 6; do
  serve synthetic:8 --stream brief --samples 1000 --memory 1MiB --epochs 2 --wait-for 2
  "$batchcast" consume brief --batch-size 8 >"$work/first" 2>&1 &
  first=$!
  expect 0 'receipts match' consume brief --batch-size 5
  expect 0 served ensure brief synthetic:8 --samples 1000 --memory 1MiB --epochs 2
  expect 0 'receipts match' consume brief --connect-timeout 5
  wait $first
  same "exit code of the other trainer in round $round" 0 $?
  vanishes "the stream of round $round"
done

echo "-- a stream that was read is finished, however many trainers ensure announced"
serve synthetic:8 --stream announced --samples 1000 --memory 1MiB --epochs 1 --linger 1 --wait-for 1
producer=$!
until_true grep -q 'serving stream' "$work/serve.err" || fail "a stream does not come up"
for announcement in 1 2; do
  expect 0 served ensure announced synthetic:8 --samples 1000 --memory 1MiB --epochs 1
done
expect 0 'receipts match' consume announced
wait $producer
checks=$((checks + 1))
grep -q '^stream `announced` finished: 1,000 samples' "$work/serve.out" ||
  fail "a stream that was read is not finished: $(cat "$work/serve.out")"
vanishes "an announced stream"

echo "-- ensure: one JSON object"
expect 0 '"word":"served"' ensure object synthetic:8 --samples 100 --idle-exit 60 --json
has_keys "$work/out" word stream text recipe
same "lines of ensure --json" 1 "$(grep -c . "$work/out")"
same "stream of ensure --json" '"object"' "$(value stream "$work/out")"
checks=$((checks + 1))
grep -q '"recipe":{.*"samples_per_epoch":100' "$work/out" || fail "ensure --json has no recipe"
checks=$((checks + 1))
tr '\0' ' ' <"/proc/$(cat "$BATCHCAST_DIR/object/lock")/cmdline" | grep -q -e --json && fail "serve got ensure's --json"
expect 1 '^\{.*"recipe":null.*"text":".*samples_per_epoch: .*"word":"mismatch"\}$' ensure object synthetic:8 --json
expect 2 '"word":"invalid"' ensure a/b synthetic:8 --json
expect 2 '"word":"invalid"' ensure never synthetic:8 --memory foo --json
expect 3 'Did you mean `object`, which is served' stop objct
expect 0 object stop object
vanishes "a stream that ensure --json started"

echo "-- ensure: time is up, and nobody reads"
mkfifo "$work/slow.toml"
answers 3 timeout 'does not serve it yet.*wait longer' slow "npy:$work/data/image.npy" --timeout 0.5 \
  --recipe "$work/slow.toml"
until_true pgrep -f -x ".*serve npy:$work/data/image.npy --stream slow .*" >/dev/null
pid=$(pgrep -f -x ".*serve npy:$work/data/image.npy --stream slow .*")
same "producers that go on" 1 "$(echo "$pid" | grep -c .)"
kill "$pid"
while kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
rm -r "$BATCHCAST_DIR/slow"
# What is to be compared hangs as it is opened.
"$batchcast" serve "npy:$work/data/image.npy" --stream held --idle-exit 60 >/dev/null 2>&1 &
expect 0 'samples' consume held --seconds 0.2
answers 3 timeout 'source is being opened' held "npy:$work/data/image.npy" --timeout 0.5 --recipe "$work/slow.toml"
mkfifo "$work/answer"
timeout 60 "$batchcast" ensure held "npy:$work/data/image.npy" --timeout -1 --recipe "$work/slow.toml" \
  >"$work/answer" 2>/dev/null &
ensure=$!
exec 8<"$work/answer"
sleep 0.3
checks=$((checks + 1))
kill -0 $ensure || fail "ensure does not wait"
exec 8<&-
wait $ensure
same "exit code of an ensure that nobody reads" 3 $?
# A reader that does not read.
exec 8<>"$work/answer"
head -c 65536 /dev/zero >&8
timeout 30 "$batchcast" ensure held "npy:$work/data/image.npy" --timeout 0.5 >"$work/answer" 2>/dev/null
same "exit code of an ensure whose reader does not read" 3 $?
timeout 30 "$batchcast" ensure held "npy:$work/data/image.npy" --timeout 0.5 --recipe "$work/slow.toml" \
  >"$work/answer" 2>/dev/null
same "exit code of the same that has no answer in time" 3 $?
exec 8<&-
expect 0 held stop held
vanishes "the stream that was compared"

echo "-- recipe --diff"
expect 0 'mnist and mnist are equal' recipe --diff mnist mnist
expect 1 'mode|stages' recipe --diff imagenet-train imagenet-eval
expect 1 '"differences":\["fields\[0\]' recipe --diff mnist cifar-train --json
for words in "--diff --json mnist tokens" "--json --diff mnist tokens" "mnist --diff tokens --json" \
  "mnist tokens --json --diff"; do
  # shellcheck disable=SC2086
  expect 1 '"equal":false' recipe $words
done
expect 2 'diff' recipe --diff mnist
expect 2 'diff' recipe mnist tokens
expect 2 'mnits' recipe --diff mnist mnits
expect 3 'no producer serves' recipe --diff mnist stream:nobody
cd "$work/data" || exit 1
expect 0 served ensure first npy:image.npy --recipe recipe.toml --idle-exit 60
expect 0 served ensure second npy:image.npy --recipe recipe.toml --idle-exit 60 --seed 1
expect 0 served ensure third synthetic:8 --idle-exit 60
expect 0 'are equal' recipe --diff recipe.toml stream:first
expect 1 '^seed: stream:first has 0, stream:second has 1$' recipe --diff stream:first stream:second
same "identities of two streams" 2 "$(grep -cE '^stream:(first|second): [0-9a-f]{32}$' "$work/out")"
expect 0 'are equal' recipe --diff stream:first stream:first
expect 1 'stream:first has' recipe --diff stream:first mnist
expect 3 'another' recipe --diff stream:third mnist
for one in first second third; do expect 0 $one stop $one; done
vanishes "the streams that were compared"

echo "-- a trainer inside a worker of Ray"
mkdir "$work/trial" "$work/node"
cp "$(command -v sleep)" "$work/node/raylet"
PWD="$work/data" CUDA_VISIBLE_DEVICES=4,5 "$work/node/raylet" 300 &
raylet=$!
until_true grep -qx raylet "/proc/$raylet/comm"
# in_worker VARIABLE... -- ARGUMENT...    as a trial runs it: in its directory, with its variables
in_worker() {
  set -- "RAY_RAYLET_PID=$raylet" CUDA_VISIBLE_DEVICES=5 OMP_NUM_THREADS=1 "$@"
  checks=$((checks + 1))
  (cd "$work/trial" && exec env "$@") >"$work/out" 2>"$work/err" || fail "in a worker: $*"
}
of_producer() { tr '\0' '\n' <"/proc/$(value pid "$work/listed")/$1" | sed -n "s/^$2//p"; }
lists_producer() { "$batchcast" ls "$1" --json >"$work/listed"; }
in_worker "PWD=$work/trial" "TUNE_ORIG_WORKING_DIR=$work/data" "$batchcast" ensure tuned npy:image.npy \
  --with-parent --idle-exit 60
lists_producer tuned
same "directory of a trial's producer" "$work/data" "$(readlink "/proc/$(value pid "$work/listed")/cwd")"
same "GPUs of a trial's producer" 4,5 "$(of_producer environ CUDA_VISIBLE_DEVICES=)"
same "threads of a trial's producer" "" "$(of_producer environ OMP_NUM_THREADS=)"
in_worker "PWD=$work/data" "$batchcast" ensure tuned "npy:$work/data/image.npy" --with-parent
expect 0 tuned stop tuned
# Ray Train has no such variable: the raylet's directory counts, or the one that a shell changed to
# before it started the worker.
(cd "$work/node" && PWD="$work/node" exec "$work/node/raylet" 300) &
other=$!
until_true grep -qx raylet "/proc/$other/comm"
in_worker "RAY_RAYLET_PID=$other" "PWD=$work/node" "$batchcast" ensure trained npy:../data/image.npy \
  --with-parent --idle-exit 60 --directory ../streams
lists_producer trained
same "directory of a rank's producer" "$work/node" "$(readlink "/proc/$(value pid "$work/listed")/cwd")"
expect 0 trained stop trained
in_worker "RAY_RAYLET_PID=$other" "PWD=$work/data" "$batchcast" ensure packaged npy:image.npy --with-parent \
  --idle-exit 60
expect 0 packaged stop packaged
kill "$other"
# By hand a path counts from where it was typed.
checks=$((checks + 1))
(cd "$work/trial" && RAY_RAYLET_PID=$raylet "$batchcast" ensure typed npy:image.npy) >"$work/out" 2>&1 &&
  fail "a path typed in a trial's directory was looked for elsewhere"
rm -r "$BATCHCAST_DIR/typed"
kill "$raylet"

echo "-- streams of Ray's nodes"
mkdir -m 700 "$BATCHCAST_DIR/ray-0123456789abcdef" "$BATCHCAST_DIR/ray-fedcba9876543210"
for node in "$BATCHCAST_DIR"/ray-*; do
  expect 0 served ensure same synthetic:8 --idle-exit 60 --directory "$node"
done
"$batchcast" ls --json >"$work/out"
for node in ray-0123456789abcdef ray-fedcba9876543210; do
  checks=$((checks + 1))
  grep -q "\"directory\":\"$BATCHCAST_DIR/$node/same\"" "$work/out" || fail "ls without $node"
done
expect 3 'BATCHCAST_DIR' stop same
for node in "$BATCHCAST_DIR"/ray-*; do
  checks=$((checks + 1))
  BATCHCAST_DIR=$node "$batchcast" stop same >"$work/out" 2>&1 || fail "stop in $node"
  until_true test ! -e "$node/same" && rm -r "$node"
done
vanishes "the streams of nodes"

finish
