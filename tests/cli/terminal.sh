#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh terminal.sh BATCHCAST    what commands say while they run: the live line on a terminal, its plain form
# elsewhere, and what a stream at rest waits for.
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

# soon TEXT FILE    waits until it says so
soon() {
  checks=$((checks + 1))
  until_true grep -qE -e "$1" "$2" || fail "$2 does not say '$1': $(tail -n 3 "$2")"
}

# listed TEXT    waits until `ls --json` says so
listed() {
  checks=$((checks + 1))
  until_true lists "$1" || fail "ls does not say '$1': $("$batchcast" ls --json)"
}

# is_stopped PID    whether none of its threads runs any more: the signal is one thread's to tell the others
is_stopped() { [ -z "$(grep -L '^State:.T ' "/proc/$1"/task/*/status)" ]; }

echo "-- log lines above the live line, at every width"
widths="24 80 200"
for width in $widths; do
  timeout 120 /usr/bin/python3 "$here/terminal.py" "$batchcast" "$width" "live-$width" >"$work/shown.$width" 2>&1 &
  eval "shown_$width=$!"
done
for width in $widths; do
  eval "wait \$shown_$width"
  same "exit code of the look at $width columns" 0 $?
  cat "$work/shown.$width"
done

echo "-- a job in the background leaves the line on which the user types"
timeout 120 /usr/bin/python3 "$here/background.py" "$batchcast" behind >"$work/shown" 2>&1
same "exit code of the look at a job in the background" 0 $?
cat "$work/shown"

echo "-- without a terminal"
export BATCHCAST_PROGRESS_EVERY_S=0.05
serve synthetic:8 --stream plain --samples 1000000 --memory 1MiB --wait-for 2
producer=$!
soon 'starting .*waits for 2 consumers \(--wait-for 2;' "$work/serve.err"
: >"$work/first"
"$batchcast" consume plain --name first >"$work/first" 2>&1 &
first=$!
soon 'waits for 1 more consumer \(--wait-for 2;' "$work/serve.err"
"$batchcast" consume plain --name second >"$work/second" 2>&1 &
second=$!
soon 'running .*[0-9] samples/s  [0-9:]+ left  2 consumers' "$work/serve.err"
soon 'epoch [0-9]+  [0-9,]+ samples .*[0-9] samples/s  [0-9:]+ left  waited' "$work/first"
kill -STOP $first
listed '"name":"first"[^}]*"state":"stopped"'
listed '"name":"second"[^}]*"state":"running"'
soon 'limited by first \([0-9,]+ behind, stopped\)' "$work/serve.err"
ls_shows '^stopped: .*kill -CONT'
kill -CONT $first
listed '"name":"first"[^}]*"state":"running"'
kill -TERM $first $second
wait $first $second
soon 'running .*waits for a consumer, [0-9,]+ samples made$' "$work/serve.err"
same "lines that say nothing new" "" "$(uniq -d "$work/serve.err")"
kill -TERM $producer
wait $producer
serve synthetic:8 --stream made --samples 1000 --memory 1MiB --epochs 1 --linger 60
producer=$!
soon '^draining  every epoch is made  waits for a consumer, 1,000 samples in memory$' "$work/serve.err"
checks=$((checks + 1))
grep 'draining' "$work/serve.err" | grep -E '%|left' && fail "a stream whose samples are made is said to have work left"
expect 0 'receipts match' consume made
wait $producer
unset BATCHCAST_PROGRESS_EVERY_S

echo "-- a producer that does not answer"
: >"$work/held"
"$batchcast" serve synthetic:8 --stream held --samples 1000 --memory 1MiB >"$work/held" 2>&1 &
producer=$!
soon 'serving stream' "$work/held"
kill -STOP $producer
checks=$((checks + 1))
until_true is_stopped $producer || fail "a producer is not stopped"
expect 3 "process $producer, which is stopped .*kill -CONT $producer.* holds stream .held. and does not answer" \
  consume held --connect-timeout 0.2
expect 3 "process $producer, .*does not answer" peek held --wait 0.2 --out "$work/none.png"
expect 3 "process $producer, .*does not answer" ensure held synthetic:8 --samples 1000 --timeout 0.2
same "its word" timeout "$(head -n 1 "$work/out")"
expect 0 "held +$producer +silent" ls
kill -CONT $producer
expect 0 'receipts match' consume held --epochs 1
# An order waits for a producer that is late, longer than ls does.
kill -STOP $producer
until_true is_stopped $producer
(
  sleep 1.5
  kill -CONT $producer
) &
expect 0 'is stopped' stop held
wait $producer

echo "-- a trainer that waits for others to come"
serve synthetic:8 --stream awaited --samples 1000 --memory 1MiB --wait-for 3
until_true lists '"stream":"awaited"' || fail "no stream: $(cat "$work/serve.err")"
timeout 60 "$batchcast" consume awaited --verbose >/dev/null 2>"$work/held" &
soon 'has waited 2 s .* waits until 2 more trainers come \(wait_for\)' "$work/held"
expect 0 'waits for 2 more consumers' ls
expect 0 'is stopped' stop awaited
wait

finish
