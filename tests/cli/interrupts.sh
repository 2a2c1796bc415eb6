#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh interrupts.sh BATCHCAST    what Ctrl-C ends, with which exit code, and what is left of it
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

# interrupted EXIT SIGNAL NAME CONDITION... -- COMMAND...: runs it, sends it the signal once the condition holds, and
# compares its exit code.
interrupted() {
  expected=$1
  signal=$2
  name=$3
  shift 3
  condition=
  while [ "$1" != -- ]; do
    condition="$condition $1"
    shift
  done
  shift
  : >"$work/err"  # what the one before said is not to be taken for this one's
  "$batchcast" "$@" >"$work/out" 2>>"$work/err" &
  pid=$!
  checks=$((checks + 1))
  # shellcheck disable=SC2086
  until_true $condition || fail "$name: what it waits for does not come"
  kill "-$signal" $pid
  until_true is_gone || kill -KILL $pid
  wait $pid
  same "exit code of $name after SIG$signal" "$expected" $?
}
is_gone() { ! grep -q '^State:.[^Z]' "/proc/$pid/status"; }
# Signals of a shell's background jobs are ignored unless a program takes them.
takes_interrupts() { grep -q '^SigBlk:.*[2367abefABEF]$' "/proc/$pid/status"; }

export BATCHCAST_PROGRESS_EVERY_S=0.05

echo "-- consume"
serve synthetic:8 --stream endless --samples 1000 --memory 1MiB
producer=$!
until_true lists '"stream":"endless"'
interrupted 130 INT consume grep -q 'samples/s' "$work/err" -- consume endless
checks=$((checks + 1))
grep -q 'missing 0, duplicated 0' "$work/out" || fail "an interrupted consume has no report"
interrupted 143 TERM consume grep -q 'samples/s' "$work/err" -- consume endless
interrupted 130 INT "consume that waits" grep -q 'waiting for a producer' "$work/err" -- \
  consume nobody --connect-timeout -1
kill -INT $producer
wait $producer
same "exit code of serve, which was told to end" 0 $?

echo "-- dump"
interrupted 130 INT dump grep -q 'of 1,000,000,000 samples' "$work/err" -- \
  dump synthetic:8 --positions 0:1000000000 --out "$work/dump"
same "what is left of a dump" "" "$(ls -d "$work/dump" 2>/dev/null)"
mkdir "$work/kept"
echo mine >"$work/kept/notes.txt"
interrupted 130 INT "dump into a directory that is there" grep -q 'of 1,000,000,000 samples' "$work/err" -- \
  dump synthetic:8 --positions 0:1000000000 --out "$work/kept" --force
same "what is left there" notes.txt "$(ls "$work/kept")"
mkdir -p "$work/images/class"
echo broken >"$work/images/class/0.jpg"
expect 3 '0.jpg' dump "imagefolder:$work/images" --recipe imagenet-eval --positions 0:1 --out "$work/failed"
same "what is left of a dump that failed" "" "$(ls -d "$work/failed" 2>/dev/null)"
expect 0 '100 samples' dump synthetic:8 --positions 0:100 --out "$work/whole"
same "files of a dump that was not interrupted" "draws.jsonl image.npy label.npy sample_id.npy" \
  "$(cd "$work/whole" && echo *)"

echo "-- check, peek and dump, where a file does not answer"
mkfifo "$work/slow.toml"
array=npy:$work/whole/image.npy
interrupted 130 INT check takes_interrupts -- check "$array" --recipe "$work/slow.toml"
interrupted 130 INT dump takes_interrupts -- \
  dump "$array" --recipe "$work/slow.toml" --positions 0:1 --out "$work/slow"
same "what is left of a dump that did not begin" "" "$(ls -d "$work/slow" 2>/dev/null)"
interrupted 130 INT peek takes_interrupts -- peek "$array" --recipe "$work/slow.toml" --out "$work/sheet.png"
same "what is left of a sheet" "" "$(ls "$work/sheet.png" 2>/dev/null)"

echo "-- bench"
TMPDIR=$work/temporary
export TMPDIR
mkdir "$TMPDIR"
has_directory() { ls "$TMPDIR" | grep -q .; }
interrupted 130 INT "bench ring" has_directory -- bench ring --batch-bytes 65536 --batches 1000000000 --consumers 2
same "what is left of bench ring" "" "$(ls "$TMPDIR")"
interrupted 130 INT "bench latency" has_directory -- bench latency --rounds 1000
same "what is left of bench latency" "" "$(ls "$TMPDIR")"
interrupted 130 INT "bench pipeline" has_directory -- bench pipeline synthetic:8 --samples 1000 --seconds 1000
same "what is left of bench pipeline" "" "$(ls "$TMPDIR")"
interrupted 130 INT "bench share" has_directory -- bench share synthetic:8 --samples 1000 --seconds 1000
same "what is left of bench share" "" "$(ls "$TMPDIR")"

finish
