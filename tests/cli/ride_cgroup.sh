#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh ride_cgroup.sh BATCHCAST    the kernel kills a producer whose cgroup has no memory left, and its trainer rides. The
# cgroup is a real one, so that it needs root; it skips with its reason elsewhere.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/cli/support.sh
. "$here/support.sh"
# shellcheck source=tests/cli/cgroup.sh
. "$here/cgroup.sh"

source="synthetic:3x128x128 --samples 1000 --seed 4 --memory 32MiB"
digests_of() { python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["digests"])' "$1"; }
# inside COMMAND...: in the background, in the cgroup from its first instruction; sets `process`.
inside() {
  rm -f "$work/go"
  mkfifo "$work/go"
  # shellcheck disable=SC2016 # the child's
  sh -c 'read -r _ <"$0"; exec "$@"' "$work/go" "$@" >>"$work/inside" 2>&1 &
  process=$!
  enter $process || fail "the cgroup takes no process"
  echo >"$work/go"
}
worker() { cat "$work/streams/s/lock"; }
is_dead() { grep -q '^State:.Z' "/proc/$1/status" 2>/dev/null; }

# shellcheck disable=SC2086
{
"$batchcast" serve $source --stream calm --epochs 4 --wait-for 1 >/dev/null 2>&1 &
"$batchcast" consume calm --digest --json --connect-timeout 20 >"$work/calm" 2>/dev/null

inside timeout 120 "$batchcast" serve $source --stream s --wait-for 1 --keep-alive
"$batchcast" consume s --epochs 4 --digest --json --connect-timeout 20 >"$work/out64" 2>"$work/err64" &
trainer=$!
until_true sh -c "'$batchcast' ls s | grep -q '^ .*64'" || fail "the keeper says $(cat "$work/inside")"
}
kill -STOP $trainer # it does not end meanwhile
killed=$(worker)
keeper=$(awk '$1 == "PPid:" { print $2 }' "/proc/$killed/status")
kill -STOP "$keeper" # it starts no producer before there is memory again
echo 1000 >"/proc/$killed/oom_score_adj" # the first one that the kernel kills
limit $(($(used) + 16 * mib)) || fail "memory cannot be limited"
inside python3 -c 'import time; taken = bytearray(b"1" * (64 << 20)); time.sleep(60)'
taker=$process
until_true is_dead "$killed" || fail "the kernel kills no producer"
limit $((4096 * mib))
kill -KILL $taker 2>/dev/null
wait $taker 2>/dev/null
kill -CONT "$keeper"
until_true grep -q 'was killed by SIGKILL; it is started again' "$work/inside"
kill -CONT $trainer
wait $trainer || fail "the trainer of a producer without memory: $(cat "$work/err64")"
same "digests of a trainer whose producer had no memory" "$(digests_of "$work/calm")" "$(digests_of "$work/out64")"
[ "$(worker)" != "$killed" ] || fail "no other producer came"
"$batchcast" stop s >/dev/null
wait
finish
