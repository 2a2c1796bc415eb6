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
  "$trainer" --role self_starter parent=$$ command="$batchcast" name="$name" idle_exit=1 "$@" \
    <&9 >"$work/train.$name" 2>"$work/train.$name.err" &
}

# says NAME PATTERN    waits until the trainer has said it
says() {
  checks=$((checks + 1))
  tries=0
  until grep -qsE -e "$2" "$work/train.$1"; do
    tries=$((tries + 1))
    if [ $tries -ge 200 ]; then
      cat "$work/train.$1" "$work/train.$1.err"
      fail "trainer $1 does not say '$2'"
      return
    fi
    sleep 0.1
  done
}

# Waits until nothing is left of any stream.
vanishes() {
  checks=$((checks + 1))
  for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    [ -n "$(ls "$BATCHCAST_DIR")" ] || return
    sleep 0.2
  done
  fail "$1: there is still $(ls "$BATCHCAST_DIR"/*)"
}

echo "-- one of four starts it"
for one in a b c d; do train $one source=synthetic:3x8x8; done
for one in a b c d; do says $one '^attached'; done
same "trainers that started it" 1 "$(grep -l '^starts' "$work"/train.? | grep -c .)"
checks=$((checks + 1))
grep -q 'serving stream `s`' "$BATCHCAST_DIR/s/serve.log" || fail "the log does not say that it serves"
# On a busy machine a producer may be too late to answer, and shown as silent.
for _ in 1 2 3 4 5 6 7 8 9 10; do
  "$batchcast" ls --json 2>&1 | grep -q '"state":"silent"' || break
done
expect 0 '"name":"a".*"name":"d"|"name":"d".*"name":"a"' ls --json
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
expect 0 'nobody was attached for 0.3 s' serve synthetic:8 --stream idle --idle-exit 0.3
expect 0 'nobody was attached for 0.3 s' serve synthetic:8 --stream idle --idle-exit 0.3 --wait-for 2
expect 0 'nobody was attached for 0.3 s' serve synthetic:8 --stream idle --idle-exit 0.3 --samples 100 --epochs 1
expect 2 'above 0' serve synthetic:8 --stream idle --idle-exit 0
serve synthetic:8 --stream idle --idle-exit 1
expect 0 'samples' consume idle --seconds 2
wait $!
same "exit code of an idle producer" 0 $?
vanishes "serve --idle-exit"

echo "-- nobody reads what serve says, and a log whose disk is full"
serve_unheard() { "$batchcast" serve synthetic:8 --stream unheard --idle-exit 1; }
serve_unheard >/dev/full 2>&1 &
expect 0 'samples' consume unheard --seconds 0.3
wait $!
same "exit code of a producer whose log cannot be written" 0 $?
vanishes "a producer whose log cannot be written"
serve_unheard 2>&1 | true &
expect 0 'samples' consume unheard --seconds 0.3
vanishes "a producer whose output nobody reads"

finish
