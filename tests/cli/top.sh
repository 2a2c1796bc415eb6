#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh top.sh BATCHCAST    `batchcast top`: plain text and JSON, and its screen on a real terminal, which tmux is.
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"
command -v tmux >/dev/null || { echo "no tmux: sh cmake/bootstrap.sh tests installs it"; exit 1; }

export XDG_CONFIG_HOME="$work/config" LC_ALL=C.UTF-8
unset NO_COLOR TMUX

terminal=0
screen() { TERM=screen tmux -S "$work/tmux$terminal" -f /dev/null "$@"; }
# The next terminal has another socket: a server that is still ending would take its session.
closes() {
  screen kill-server 2>/dev/null
  terminal=$((terminal + 1))
}
clean_up_screen() {
  closes
  clean_up
}
trap clean_up_screen EXIT

# opens WIDTH HEIGHT COMMAND    a terminal with a shell that runs it
opens() {
  closes
  screen new-session -d -x "$1" -y "$2" "sh -c '$3; echo code \$?; sleep 60'"
}
shown() { screen capture-pane -p; }
shows_now() { shown | grep -qE -e "$1"; }
# shows TEXT    waits until the terminal does
shows() {
  checks=$((checks + 1))
  until_true shows_now "$1" || fail "the screen does not show '$1': $(shown)"
}
hides() {
  checks=$((checks + 1))
  lacks() { ! shows_now "$pattern"; }
  pattern=$1
  until_true lacks || fail "the screen still shows '$1': $(shown)"
}
press() { screen send-keys "$@"; }

echo "-- no stream, a stream that is not there, users"
expect 0 '^no streams$' top --once --interval 0.1
expect 3 'no stream `nowhere` is served' top --stream nowhere --once --interval 0.1
expect 2 'interval' top --interval 0
expect 2 '`nan` must be a number of seconds from 0.1 to 3600' top --interval nan
expect 2 'count' top --count -1 --once
expect 2 'there is no option `--intervall`.*--interval' top --intervall 1
if [ "$(id -u)" = 0 ]; then
  expect 0 '.' top --all-users --once --interval 0.1
else
  expect 2 'for root' top --all-users --once
fi

echo "-- plain text and JSON"
serve synthetic:3x8x8 --stream images --dtype u8 --samples 1000000 --memory 4MiB --workers 1 --heads 1
until_true lists '"stream":"images"' || fail "no stream: $(cat "$work/serve.err")"
expect 3 'no stream `image` is served. Did you mean `images`' top --stream image --once --interval 0.1
for name in quick slow; do
  timeout 120 "$batchcast" consume images --name $name --batch-size 32 >/dev/null 2>&1 &
done
for name in quick slow; do
  until_true lists "\"name\":\"$name\"" || fail "no trainer"
done
! cat /proc/pressure/cpu >/dev/null 2>&1 || has_pressure=pressure
expect 0 '^images  running  epoch' top --once --interval 0.3
grep -q '^  quick  *host  *running  ' "$work/out" || fail "no line of a trainer"
grep -q 'samples wait for trainers' "$work/out" || fail "no ring"
expect 0 '"streams":\[\{' top --count 2 --interval 0.2 --json
same "lines of two looks" 2 "$(wc -l <"$work/out")"
has_keys "$work/out" time processors idle_processors limiter limiter_text saved_cpu_seconds uptime_seconds \
  waited_for_seconds wait_seconds reading_seconds making_seconds waiting_seconds cpu_seconds delivered used \
  worker_seconds ${has_pressure-}
TERM=dumb expect 0 '^images' top --count 1 --interval 0.1
# Without a terminal it prints until its reader goes.
timeout 20 "$batchcast" top --interval 0.1 2>/dev/null | head -n 3 >"$work/out"
same "lines into a pipe" 3 "$(wc -l <"$work/out")"

echo "-- the screen"
opens 110 30 "\"$batchcast\" top --interval 0.2"
shows '^batchcast top .* 1 stream, 2 trainers'
shows '^images  running'
shows '^  TRAINER .*SAMPLES/S'
shows '^  quick .*host .*running'
shows 'ring host \[.*\] +[0-9]+%'
shows 'F10 quit'
press F1
shows 'choose a stream or a trainer'
press Escape
shows '^images  running'
press F4 qui Enter
hides '^  slow '
shows 'filter: qui'
press F4 Escape
shows '^  slow '
press / slo
shows '^Search: slo'
press Enter
press Enter
shows '^producer    pid [0-9]+'
shows '^worker 0 '
press Escape
press Space
shows '^FROZEN'
press Space
hides '^FROZEN'

echo "-- sizes, redrawing, a stop by the terminal"
for size in 1x1 20x3 200x50 7x40 3x2 250x80 110x30; do
  screen resize-window -x "${size%x*}" -y "${size#*x}"
done
shows '^  quick .*host .*running'
press C-l
shows '^  quick .*host .*running'
press q
shows '^code 0$'
closes
screen new-session -d -x 100 -y 25 "sh -i"
press "\"$batchcast\" top --interval 0.2" Enter
shows '^images  running'
press C-z
shows 'Stopped|Suspended'
press fg Enter
shows '^images  running'
press C-c
hides '^images  running'

echo "-- it asks before it evicts, and keeps the order"
opens 110 30 "\"$batchcast\" top --interval 0.2"
shows '^  slow '
press P
press / slow Enter
press F9
shows 'Evict `slow` from stream `images`\? \[y/N\]'
press n
press F9
press y
hides '^  slow '
press F10
shows '^code 0$'
same "the order that is kept" '"rate"' "$(value sort "$XDG_CONFIG_HOME/batchcast/top.json")"

echo "-- terminals of other kinds, and one that closes"
opens 80 24 "LC_ALL=C NO_COLOR=1 LINES=5 COLUMNS=20 \"$batchcast\" top --interval 0.2"
shows '^images  running'
shows 'F10'
checks=$((checks + 1))
! shown | grep -q '[▁█]' || fail "not ASCII: $(shown)"
press q
shows '^code 0$'
for term in '' no-such-terminal dumb; do
  opens 100 30 "TERM=$term \"$batchcast\" top --count 2 --interval 0.1"
  shows '^code 0$'
  shows '^images  running'
done
opens 80 24 "echo \$\$ >$work/shell.pid; exec \"$batchcast\" top --interval 0.2"
shows '^images  running'
pid=$(cat "$work/shell.pid")
screen kill-server
gone() { ! kill -0 "$pid"; }
checks=$((checks + 1))
until_true gone || fail "it goes on without its terminal"

echo "-- producers that hang are asked at the same time"
touch "$work/not-theirs"
/usr/bin/python3 "$here/hostile_streams.py" "$BATCHCAST_DIR" "$work/not-theirs" 2>/dev/null &
hostile=$!
until_true test -e "$BATCHCAST_DIR/ready" || fail "no streams that hang"
began=$(date +%s%N)
expect 0 '"stream":"images"' ls --json
took_ms=$((($(date +%s%N) - began) / 1000000))
checks=$((checks + 2))
# One second for the eight that hang together, and a busy machine.
[ $took_ms -lt 6000 ] || fail "eight streams that hang hold ls up for $took_ms ms"
[ "$(grep -o '"state":"silent","stream":"hangs' "$work/out" | wc -l)" -eq 8 ] || fail "not eight that hang"
kill $hostile

expect 0 'is stopped' stop images
wait
finish
