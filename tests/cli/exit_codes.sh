#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh exit_codes.sh BATCHCAST    every command by the table of exit codes in docs/operating.md, class by class
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"
cd "$work" || exit 1
has_metrics=yes
! "$batchcast" metrics --listen 127.0.0.1:x 2>&1 | grep -q 'built without' || has_metrics=no

echo "-- 2: arguments that cannot be meant"
expect 2 'no command `sreve`' sreve
expect 2 'Usage:'
for command in $("$batchcast" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'); do
  expect 2 'no option `--nonsense`|no command `--nonsense`' "$command" --nonsense
done
for words in "bench ring" "bench latency" "bench pipeline" "bench share" "cache ls" "cache check"; do
  # shellcheck disable=SC2086
  expect 2 'no option `--nonsense`' $words --nonsense
done
for command in serve ensure tokenize stop set evict trace peek consume inspect check dump; do
  expect 2 'required|missing' "$command"
done
expect 2 'samples' serve synthetic:8 --stream s --samples many
expect 2 'stream' serve synthetic:8 --stream 'a/b' --samples 8
expect 2 'is given twice' set s workers=1 workers=2
expect 2 'NAME=VALUE' set s workers
expect 2 'seconds' top --interval 0
[ $has_metrics = no ] || expect 2 'there is no port' metrics --listen nonsense
expect 2 'time' trace s 10x
expect 2 'PNG' peek synthetic:8 --out x.jpg

echo "-- 3: what is not there, or cannot be had"
for words in "stop nowhere" "set nowhere workers=1" "evict nowhere a" "ls nowhere" "trace nowhere 1s" \
  "peek nowhere --out x.png" "consume nowhere --timeout 0" "top --once --stream nowhere" "inspect nowhere"; do
  # shellcheck disable=SC2086
  expect 3 'nowhere' $words
done
for command in inspect check; do expect 3 'nowhere' "$command" imagefolder:"$work/nowhere"; done
expect 3 'nowhere' dump imagefolder:"$work/nowhere" --out d --positions 0:4
expect 3 'nowhere' serve imagefolder:"$work/nowhere" --stream s
expect 3 'nowhere' ensure s imagefolder:"$work/nowhere"
expect 3 'nowhere' bench pipeline imagefolder:"$work/nowhere"
expect 3 'nowhere' cache ls "$work/nowhere"
expect 3 'nowhere' tokenize "$work/nowhere" --tokenizer "$work/nowhere" --out "$work/tokens"
expect 3 'listen|built without' metrics --listen 192.0.2.1:9
for words in ls "recipe --list" doctor "inspect synthetic:8" "serve --help"; do
  checks=$((checks + 1))
  # shellcheck disable=SC2086
  timeout 60 "$batchcast" $words >/dev/full 2>"$work/err"
  same "batchcast $words >/dev/full" 3 $?
done
serve synthetic:3x8x8 --stream images --samples 100000 --memory 1MiB
until_true lists '"stream":"images"' || fail "no stream: $(cat "$work/serve.err")"
expect 3 'images' serve synthetic:3x8x8 --stream images --samples 100000 --memory 1MiB
expect 3 'no consumer `nobody`' evict images nobody
expect 3 'batch' consume images --batch-size 10000000

echo "-- 1: what was found broken, or differs"
expect 1 '.' recipe --diff imagenet-train imagenet-eval
mkdir -p bad/a
printf 'no image' >bad/a/x.jpg
expect 1 'x.jpg' check imagefolder:"$work/bad" --recipe imagenet-eval
expect 1 'mismatch' ensure images synthetic:3x16x16 --samples 100000

echo "-- 4: a stream that ends in mid-way"
timeout 60 "$batchcast" consume images --name evicted >out1 2>&1 &
until_true lists '"name":"evicted"' || fail "no trainer"
trainer=$!
expect 0 'is evicted' evict images evicted
wait $trainer
same "a trainer that is evicted" 4 $?
timeout 60 "$batchcast" consume images >out1 2>&1 &
trainer=$!
until_true lists '"consumers":\[\{' || fail "no trainer"
expect 0 'is stopped' stop images
wait $trainer
same "a trainer of a stream that is stopped" 4 $?
serve_code() { timeout 60 "$batchcast" serve "$@" >"$work/serve.out" 2>"$work/serve.err"; }
serve_code imagefolder:"$work/bad" --recipe imagenet-eval --stream failing --memory 64MiB
same "serve of a dataset without a good sample" 4 $?

echo "-- 0: all well"
for words in --help --version ls "ls --json" "recipe --list" "inspect synthetic:8" "top --once --interval 0.1"; do
  # shellcheck disable=SC2086
  expect 0 '.' $words
done
expect 0 '.' recipe --diff imagenet-eval imagenet-eval
serve_code synthetic:8 --stream ends --samples 100 --epochs 1 --memory 1MiB --idle-exit 0.2
same "serve that nobody reads" 0 $?

echo "-- 128 + n: signals"
speaks() { grep -q . "$work/out" "$work/err"; }
ends_by() {
  signal=$1
  shift
  : >"$work/out"
  : >"$work/err"
  "$batchcast" "$@" >"$work/out" 2>"$work/err" &
  ended=$!
  until_true speaks || fail "batchcast $* says nothing"
  kill -"$signal" $ended
  wait $ended
}
ends_by INT top --json
same "Ctrl-C in top" 130 $?
ends_by TERM top --json
same "SIGTERM of top" 143 $?
if [ $has_metrics = yes ]; then
  ends_by INT metrics --listen 127.0.0.1:0
  same "Ctrl-C in metrics" 130 $?
  ends_by TERM metrics --listen 127.0.0.1:0
  same "SIGTERM of metrics" 143 $?
fi
ends_by INT serve synthetic:8 --stream ends --samples 100 --memory 1MiB
same "Ctrl-C in serve" 0 $?
finish
