#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh stream.sh BATCHCAST [FOLDER]    one stream on a GPU and in host memory, its processes killed in mid-stream, over
# the libcuda.so.1 in FOLDER or this machine's own. Every byte of every batch is recomputed.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/cli/support.sh
. "$here/../cli/support.sh"
LD_LIBRARY_PATH=${2-}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

# consumer NAME ARGUMENT...: in the background; `ended` tells how it came out.
consumer() {
  name=$1
  shift
  "$batchcast" consume s --name "$name" --verify --json "$@" >"$work/$name.out" 2>"$work/$name.err" &
  echo $! >"$work/$name.pid"
}

# ended NAME EXIT: waits for it. Whoever runs this script has a time limit for all of it.
ended() {
  checks=$((checks + 1))
  wait "$(cat "$work/$1.pid")"
  status=$?
  [ $status -eq "$2" ] && return
  echo "FAILED: $1 ended with $status instead of $2"
  sed 's/^/  /' "$work/$1.out" "$work/$1.err"
  failures=$((failures + 1))
}

killed() {
  kill -KILL "$(cat "$work/$1.pid")"
  ended "$1" 137
}

# refused NAME: whether it ended without a report.
refused() {
  [ ! -s "$work/$1.out" ] || return 1
  case $(cut -d ' ' -f 3 "/proc/$(cat "$work/$1.pid")/stat" 2>/dev/null) in
    '' | Z) [ ! -s "$work/$1.out" ] ;;
    *) return 1 ;;
  esac
}

# attached NAME...: until the stream has them all, or a quarter of a minute is over. Where one was refused the stream
# would wait for it for ever: that is the end.
attached() {
  waited=0
  until [ "$("$batchcast" ls 2>/dev/null | grep -c lockstep)" -ge $# ]; do
    for name in "$@"; do
      if refused "$name"; then
        echo "FAILED: $name was refused"
        sed 's/^/  /' "$work/$name.err"
        "$batchcast" stop s >/dev/null
        wait
        exit 1
      fi
    done
    [ -d "/proc/$producer" ] || return
    sleep 0.1
    waited=$((waited + 1))
    [ $waited -lt 150 ] || return
  done
}

# serves ARGUMENT...: of a stream whose ring is far smaller than an epoch; sets `producer`.
serves() {
  "$batchcast" serve synthetic:3x32x32 --stream s --samples 20000 --memory 16MiB --place cuda:0 "$@" \
    >"$work/serve.out" 2>"$work/serve.err" &
  producer=$!
}

# ---- all kinds of consumers, every epoch whole

serves --epochs 2 --wait-for 5
consumer one --placement cuda:0 --batch-size 100
consumer two --placement cuda:0 --batch-size 37
consumer three --placement cuda:0 --batch-size 64 --access private
consumer host --batch-size 50
consumer pinned --pin --batch-size 61
attached one two three host pinned
for name in one two three host pinned; do ended $name 0; done
wait $producer || fail "the producer ended with $?: $(cat "$work/serve.err")"

# ---- the producer is killed while others read

serves --wait-for 3
consumer one --placement cuda:0 --batch-size 100
consumer two --placement cuda:0 --batch-size 37
consumer three --placement cuda:0 --batch-size 512
attached one two three
expect 0 'cuda:0' ls
sleep 1
kill -KILL $producer
wait $producer 2>/dev/null
# What they got was verified, and they say that the producer is gone.
for name in one two three; do ended $name 4; done

# ---- consumers are killed while copies run

serves --epochs 8 --wait-for 4
consumer one --placement cuda:0 --batch-size 100
consumer two --placement cuda:0 --batch-size 37
consumer three --placement cuda:0 --batch-size 64
consumer four --placement cuda:0 --batch-size 512
attached one two three four
killed three
killed four
for name in one two; do ended $name 0; done
wait $producer || fail "the producer ended with $?: $(cat "$work/serve.err")"

echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
