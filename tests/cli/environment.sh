#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh environment.sh BATCHCAST    the command where its surroundings are not as usual: closed or full streams,
# few threads and little address space, small files, other users, hang-ups, names with control characters,
# numbers that are none.
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"
escape=$(printf '\033')

# says TEXT FILE
says() {
  checks=$((checks + 1))
  grep -qE -e "$1" "$2" || fail "$2 says nothing like '$1'"
}

# silent_about TEXT FILE
silent_about() {
  checks=$((checks + 1))
  if grep -qE -e "$1" "$2"; then fail "$2 has '$1'"; fi
}

echo "-- closed standard streams"
"$batchcast" serve synthetic:8 --stream closed --samples 1000 --memory 1MiB --verbose <&- >&- 2>&- &
producer=$!
until_true test -S "$work/streams/closed/control" || fail "a producer without standard streams does not come up"
for fd in 0 1 2; do same "stream $fd of the producer" /dev/null "$(readlink /proc/$producer/fd/$fd)"; done
"$batchcast" consume closed --epochs 2 --verbose <&- >&- 2>&-
same "exit code of a consumer without standard streams" 0 $?
"$batchcast" consume closed --epochs 1 --json >&- 2>"$work/err"
same "exit code of a consumer without stdout" 0 $?
same "pid in the lock" "$producer" "$(cat "$work/streams/closed/lock")"
"$batchcast" stop closed >&-
same "exit code of stop without stdout" 0 $?
wait $producer
same "exit code of a producer without standard streams" 0 $?

echo "-- hang-ups"
"$batchcast" serve synthetic:8 --stream hangup --samples 1000 --memory 1MiB >"$work/serve.out" 2>"$work/serve.err" &
producer=$!
timeout 60 "$batchcast" consume hangup >"$work/consume.out" 2>"$work/consume.err" &
consumer=$!
until_true sh -c "'$batchcast' ls --json | grep -q '\"consumers\":\[{'"
kill -HUP $producer
wait $producer
same "exit code of SIGHUP" 0 $?
wait $consumer
same "exit code of its consumer" 4 $?
says 'its producer got SIGHUP' "$work/consume.err"
same "what SIGHUP leaves" "" "$(ls "$work/streams")"
(
  trap '' HUP
  exec "$batchcast" serve synthetic:8 --stream nohup --samples 1000 --memory 1MiB >"$work/serve.out" 2>&1
) &
producer=$!
until_true test -S "$work/streams/nohup/control"
kill -HUP $producer
sleep 0.5
expect 0 'receipts match' consume nohup --epochs 1
kill -TERM $producer
wait $producer
same "exit code of SIGTERM under nohup" 0 $?

echo "-- messages to a pipe that nobody reads"
mkfifo "$work/unread"
sleep 600 <"$work/unread" &
sleeper=$!
timeout 1 cat /dev/zero >"$work/unread"  # until it is full
BATCHCAST_PROGRESS_EVERY_S=0.01 "$batchcast" serve synthetic:8 --stream unread --samples 1000 --memory 1MiB \
  --verbose >"$work/serve.out" 2>"$work/unread" &
producer=$!
expect 0 'receipts match' consume unread --epochs 2
expect 0 'is stopped' stop unread
wait $producer
same "exit code of a producer whose messages nobody reads" 0 $?
kill $sleeper

echo "-- reports that cannot be written"
serve synthetic:8 --stream full --samples 1000 --memory 1MiB
until_true test -S "$work/streams/full/control"
for words in "ls --json" "ls" "recipe" "recipe imagenet-train --json" "doctor --json" "doctor" \
  "consume full --epochs 1 --json" "consume full --epochs 1" "bench ring --batches 100 --json" "--help" "--version" \
  "serve synthetic:8 --stream one --samples 10 --memory 1MiB --epochs 1 --linger 0 --json" \
  "ensure full synthetic:8 --samples 1000" "ensure full synthetic:9" "ensure full synthetic:9 --json" \
  "recipe --diff mnist tokens" "recipe --diff mnist tokens --json" "stop full --json"; do
  # Several words on purpose.
  # shellcheck disable=SC2086
  timeout 60 "$batchcast" $words >/dev/full 2>"$work/err"
  status=$?
  : >"$work/out"
  same "exit code of $words >/dev/full" 3 $status
  says 'could not be written to stdout|No space left on device' "$work/err"
done
wait
"$batchcast" serve synthetic:8 --stream one --samples 10 --memory 1MiB --epochs 1 --linger 0 >/dev/full 2>"$work/err"
same "exit code of a serve whose log cannot be written" 0 $?

echo "-- numbers that are none"
for number in nan inf -inf -2 1e300 x "" "1 x" 0x; do
  for option in --connect-timeout --seconds --batch-size --epochs --cursor --spin; do
    case $option in --connect-timeout | --seconds) pattern='seconds|number' ;; *) pattern='number' ;; esac
    expect 2 "$pattern" consume nobody "$option" "$number"
  done
  for option in --linger --stall-timeout --idle-exit --epochs --samples --seed --wait-for --max-consumers; do
    expect 2 "$option" serve synthetic:8 --stream s "$option" "$number"
  done
  [ "$number" = 1e300 ] || expect 2 'timeout' ensure s synthetic:8 --timeout "$number"
  expect 2 'memory' serve synthetic:8 --stream s --memory "$number"
  expect 2 'workers' serve synthetic:8 --stream s --workers "$number"
  expect 2 'wait' peek nobody --out "$work/p.png" --wait "$number"
  expect 2 'seconds' bench pipeline synthetic:8 --seconds "$number"
done
expect 2 'stall-timeout' serve synthetic:8 --stream s --stall-timeout 1e7

echo "-- names with control characters"
printf '[[field]]\nname = "image"\nstages = [{ stage = "to", dtype = "f32" }]\n' >"$work/recipe.toml"
images="$work/images$escape[7m"
mkdir -p "$images/cat
dog$escape[2J"
echo "no image" >"$images/cat
dog$escape[2J/x$escape[1m
y.jpg"
for words in "check imagefolder:" "serve --stream names --memory 1MiB --recipe imagenet-eval imagefolder:"; do
  # shellcheck disable=SC2086
  timeout 60 "$batchcast" $words"$images" >"$work/out" 2>"$work/err"
  cat "$work/out" "$work/err" >"$work/said"
  silent_about "$escape" "$work/said"
  says 'cat\\ndog\\x1b\[2J/x\\x1b\[1m\\ny.jpg' "$work/said"
done
serve synthetic:8 --stream names --samples 1000 --memory 1MiB
until_true test -S "$work/streams/names/door"
cp "$work/recipe.toml" "$images/x.toml"
timeout 60 "$batchcast" ensure names "npy:$images/x" >"$work/said" 2>&1
same "exit code of ensure with such a source" 1 $?
timeout 60 "$batchcast" recipe --diff "$images/x.toml" "$images/x.toml" >>"$work/said" 2>&1
same "exit code of recipe --diff with such a file" 0 $?
silent_about "$escape" "$work/said"
same "lines that show such a name" 2 "$(grep -c 'images\\x1b\[7m/x' "$work/said")"
timeout 60 "$batchcast" consume names --name told >"$work/consume.out" 2>"$work/consume.err" &
consumer=$!
until_true sh -c "'$batchcast' ls --json | grep -q told"
expect 0 'is stopped' stop names --reason "over$escape[2J
and out"
wait $consumer
cat "$work/consume.out" "$work/consume.err" "$work/serve.err" >"$work/said"
silent_about "$escape" "$work/said"
says 'over\\x1b\[2J\\nand out' "$work/consume.err"
wait

echo "-- mistyped commands and options"
expect 2 'no command `srve`.*Did you mean `serve`' srve
expect 2 'no command `rnig`.*Did you mean `ring`' bench rnig
expect 2 'no option `--recepe`.*Did you mean `--recipe`' serve synthetic:8 --stream s --recepe mnist
expect 2 'no option `--steam`.*Did you mean `--stream`' serve synthetic:8 --steam s
expect 2 'no option `--jsn`.*Did you mean `--json`' ls --jsn
expect 2 'one argument too many' ls streams more
expect 2 'no option `--recepe`.*`--recipe`.*no option `--sead`.*`--seed`' serve synthetic:8 --stream s --recepe mnist \
  --sead=3
expect 2 'no option `--sead`.*no option `--recepe`' serve synthetic:8 --stream s --sead 3 --recepe mnist
expect 2 'no command' nonsense --help
expect 0 'Usage: batchcast serve' help serve
expect 0 'Usage: batchcast bench ring' help bench ring
expect 0 'serve' help
"$batchcast" help serve >"$work/out"
same "options of serve in the order in which they are declared" \
  "--recipe --seed --shard --on-bad-sample --memory --epochs --wait-for --workers --json --verbose" \
  "$(grep -oE '^  +(-[a-z], ?)?--[a-z-]+' "$work/out" | grep -oE -e '--[a-z-]+' |
    grep -xE -e '--(recipe|seed|shard|on-bad-sample|memory|epochs|wait-for|workers|json|verbose)' |
    tr '\n' ' ' | sed 's/ $//')"
expect 2 'Did you mean `serve`' help srve

echo "-- small files"
if ! command -v prlimit >/dev/null; then
  echo "no prlimit: not tested"
  finish
  exit
fi
for bytes in 0 65536; do
  timeout 60 prlimit --fsize=$bytes "$batchcast" serve synthetic:8 --stream small --memory 1MiB \
    >"$work/file" 2>"$work/said.small"
  same "exit code where files have at most $bytes bytes" 3 $?
done
prlimit --fsize=65536 "$batchcast" serve synthetic:8 --stream small --memory 1MiB 2>&1 | cat >"$work/said"
says 'ulimit -f' "$work/said"
same "what it leaves" "" "$(ls "$work/streams")"

if [ "$(id -u)" -ne 0 ] || ! command -v setpriv >/dev/null; then
  echo "not root, or no setpriv: other users are not tested"
  finish
  exit
fi
# Users that have no other process, and folders that they can reach: of the streams, and of the command,
# which need not lie where they can. Here it does not.
user=$((60000 + $$ % 1000 * 4))
chmod 755 "$work"
mkdir -m 755 "$work/theirs" "$work/for_all"
chown $user:$user "$work/theirs"
export BATCHCAST_DIR="$work/theirs"
mkdir -m 700 "$work/closed"
cp "$batchcast" "$work/closed/batchcast"
batchcast=$work/closed/batchcast
reachable=$work/for_all/batchcast
install -m 755 "$batchcast" "$reachable"
as() {
  uid=$1
  shift
  setpriv --reuid="$uid" --regid="$uid" --clear-groups "$@"
}
as $user timeout 60 "$batchcast" --version >"$work/out" 2>&1
same "exit code of a command that another user cannot reach" 126 $?

# limited RESOURCE    runs serve and the rest under it, as that user: well or with a named error
limited() {
  timeout -k 5 60 prlimit "$1" setpriv --reuid=$user --regid=$user --clear-groups "$reachable" serve synthetic:8 \
    --stream few --samples 1000 --memory $memory --epochs 1 --linger 0 --workers 2 >"$work/out" 2>"$work/err"
  status=$?
  checks=$((checks + 1))
  case $status in
    0) served=$((served + 1)) ;;
    3)
      refused=$((refused + 1))
      says 'ulimit -|[Mm]emory' "$work/err"
      silent_about 'serving stream' "$work/err"
      ;;
    127) ;;  # not even its libraries fit
    *) fail "serve under $1: exit code $status" ;;
  esac
}

# limits MIN RESOURCE...    some refuse it, MIN at least, and some let it pass
limits() {
  least=$1
  shift
  served=0
  refused=0
  for resource in "$@"; do limited "$resource"; done
  checks=$((checks + 1))
  [ $served -gt 0 ] && [ $refused -ge "$least" ] ||
    fail "of $# limits, $refused refused it and $served let it pass"
}

if prlimit --as=$((400 << 20)) "$batchcast" --version >/dev/null 2>&1; then
  echo "-- few threads"
  memory=128MiB  # whose pages a thread is still filling in once the others are there
  limits 3 --nproc=1 --nproc=2 --nproc=3 --nproc=4 --nproc=5 --nproc=6 --nproc=7 --nproc=8 --nproc=9 --nproc=10 \
    --nproc=11 --nproc=12
  echo "-- little address space"
  memory=1MiB
  # Steps of 6 MiB over three times 64 MiB, which glibc reserves for a thread's heap: with a heap for every
  # thread 1 step of 10 served, and then found no room for its workers.
  sizes=""
  for mib in 70 80 90 100 110 120 130 140 150 160 170 180 190 $(seq 200 6 400) 2048; do
    sizes="$sizes --as=$((mib << 20))"
  done
  # shellcheck disable=SC2086
  limits 1 $sizes
  timeout 60 prlimit --as=$((1536 << 20)) "$batchcast" serve synthetic:8 --stream few --memory 1GiB \
    >"$work/out" 2>"$work/err"
  same "exit code of a ring beyond the address space" 3 $?
  says 'less \(--memory\)' "$work/err"
  timeout 60 prlimit --nproc=1 setpriv --reuid=$user --regid=$user --clear-groups "$reachable" ensure few synthetic:8 \
    >"$work/out" 2>"$work/err"
  same "exit code of ensure without threads" 3 $?
  same "its word" failed "$(head -n 1 "$work/out")"
else
  echo "a build with sanitizers takes threads and address space of its own: limits are not tested"
fi

echo "-- other users"
as $user timeout 60 "$reachable" serve synthetic:8 --stream shared --samples 1000 --memory 1MiB \
  --allow-uid $((user + 1)) >"$work/serve.out" 2>"$work/serve.err" &
until_true test -S "$work/theirs/shared/control" || fail "the shared stream does not come up: $(cat "$work/serve.err")"
as $user timeout 60 "$reachable" serve synthetic:8 --stream own --samples 1000 --memory 1MiB >/dev/null 2>&1 &
until_true test -S "$work/theirs/own/control" || fail "the own stream does not come up"
pid=$(cat "$work/theirs/shared/lock")

# of UID EXIT TEXT ARGUMENT...
of() {
  of=$1
  expected=$2
  text=$3
  shift 3
  checks=$((checks + 1))
  as "$of" timeout 60 "$reachable" "$@" >"$work/out" 2>"$work/err"
  status=$?
  [ "$status" -eq "$expected" ] || fail "user $of, $*: exit code $status instead of $expected"
  cat "$work/out" "$work/err" | grep -qE -e "$text" || fail "user $of, $*: says nothing like '$text'"
}
of $((user + 1)) 0 "shared +$pid +foreign" ls
silent_about 'dead' "$work/out"
of $((user + 1)) 3 "no permission" stop shared
of $((user + 1)) 3 "no permission" evict shared somebody
of $((user + 1)) 0 "receipts match" consume shared --epochs 1 --allow-uid $user
of $((user + 2)) 3 "does not admit user $((user + 2))" consume shared --allow-uid $user --connect-timeout 0.3
of $((user + 2)) 3 "no permission to reach" consume own --connect-timeout 0.3
of $((user + 2)) 3 "no permission" stop own
of $((user + 2)) 3 "no producer serves" consume nobody --connect-timeout 0.3
chmod 711 "$work/theirs"
of $((user + 1)) 0 "no permission to list" ls
of $((user + 1)) 3 "no permission" stop shared
chmod 755 "$work/theirs"
# Both producers with their threads, a `timeout` for each, and ls itself.
own_pid=$(cat "$work/theirs/own/lock")
have_their_pages() { ! grep -qsx bc-populate "/proc/$pid"/task/*/comm "/proc/$own_pid"/task/*/comm; }
until_true have_their_pages || fail "a ring's pages are not all there"
tasks=$(($(ls "/proc/$pid/task" | wc -l) + $(ls "/proc/$own_pid/task" | wc -l) + 3))
for n in $tasks $((tasks + 1)); do
  timeout 60 prlimit --nproc=$n setpriv --reuid=$user --regid=$user --clear-groups "$reachable" ls \
    >"$work/out" 2>"$work/err"
  same "exit code of ls with $n processes" 3 $?
  says 'ulimit -u' "$work/err"
done
kill -KILL "$pid"
until_true sh -c "! kill -0 $pid"
of $((user + 1)) 0 "^shared: dead" ls
of $((user + 1)) 3 "is dead" stop shared
of $user 0 "is stopped" stop own
wait

finish
