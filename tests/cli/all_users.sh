#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh all_users.sh BATCHCAST    `top` and `metrics` with --all-users: root sees two users' streams, and what a hostile
# user puts beside them costs nothing but that user's row.
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
[ "$(id -u)" = 0 ] || { echo "SKIPPED: only root may become other users"; exit 77; }
. "$here/support.sh"
python=/usr/bin/python3

# Users of nobody else on this machine, and copies of what they run, which they reach.
user=61701
other=61702
theirs=/tmp/batchcast-$user
others=/tmp/batchcast-$other
[ ! -e $theirs ] && [ ! -e $others ] || { echo "$theirs or $others is there already"; exit 1; }
clean_up_users() {
  # shellcheck disable=SC2046
  kill -KILL $(pgrep -U $user,$other) 2>/dev/null
  clean_up
  rm -rf $theirs $others
}
trap clean_up_users EXIT
chmod 755 "$work"
cp "$batchcast" "$work/batchcast"
cp "$here/hostile_streams.py" "$work/hostile_streams.py"
as() {
  uid=$1
  shift
  env -u BATCHCAST_DIR -u XDG_RUNTIME_DIR setpriv --reuid="$uid" --regid="$uid" --clear-groups timeout 120 "$@"
}
served_there() { [ -S "$1/control" ]; }

for uid in $user $other; do
  as $uid "$work/batchcast" serve synthetic:3x8x8 --stream of-$uid --dtype u8 --samples 100000 --memory 1MiB \
    >"$work/serve.$uid" 2>&1 &
  until_true served_there /tmp/batchcast-$uid/of-$uid || fail "no stream of $uid: $(cat "$work/serve.$uid")"
done
as $user "$work/batchcast" consume of-$user --name theirs >/dev/null 2>&1 &

echo "-- streams of two users, beside root's"
serve synthetic:3x8x8 --stream of-root --dtype u8 --samples 100000 --memory 1MiB
until_true lists '"stream":"of-root"' || fail "no stream of root"
sees() {
  "$batchcast" top --all-users --once --interval 0.2 --json >"$work/out" 2>"$work/err" && grep -qE "$1" "$work/out"
}
checks=$((checks + 1))
until_true sees '"name":"theirs"' || fail "root does not see a trainer of $user"
for stream in of-$user of-$other of-root; do
  checks=$((checks + 1))
  grep -q "\"stream\":\"$stream\"" "$work/out" || fail "root does not see $stream"
done
expect 0 "^of-$user +\(?$user|^of-$user" top --all-users --once --interval 0.2
checks=$((checks + 1))
"$batchcast" top --once --interval 0.2 --json >"$work/out" 2>"$work/err"
! grep -q "of-$user" "$work/out" || fail "without --all-users root sees others' streams"
as $user "$work/batchcast" top --all-users --once >"$work/out" 2>&1
same "the exit code for who is not root" 2 $?

echo "-- what a hostile user puts there"
touch "$work/not-theirs"
as $other $python "$work/hostile_streams.py" $others "$work/not-theirs" 2>"$work/hostile.err" &
until_true test -e $others/ready || fail "the hostile streams are not there: $(cat "$work/hostile.err")"
began=$(date +%s%N)
expect 0 "of-$user" top --all-users --once --interval 0.2 --json
took_ms=$((($(date +%s%N) - began) / 1000000))
checks=$((checks + 1))
# Two looks, each with a second for all that hang; and a busy machine.
[ $took_ms -lt 6000 ] || fail "eight streams that hang hold a look up for $took_ms ms"
checks=$((checks + 1))
$python - "$work/out" $user $other <<'CHECK' || fail "hostile answers"
import json, sys
streams = {one["stream"]: one for one in json.loads(open(sys.argv[1]).readlines()[-1])["streams"]}
assert streams["of-" + sys.argv[2]]["samples"] > 0
assert streams["of-" + sys.argv[3]]["samples"] >= 0
assert not {"linked", "file", "link"} & {name for name, one in streams.items() if one["state"] == "running"}, streams
for name, one in streams.items():
    if name.startswith("hangs"):
        assert one["state"] == "silent", one
text = open(sys.argv[1]).read()
assert "\x1b" not in text, "a terminal would obey it"
CHECK
for words in "top --all-users --once --interval 0.2"; do
  checks=$((checks + 1))
  # shellcheck disable=SC2086
  timeout 60 "$batchcast" $words >"$work/out" 2>"$work/err"
  ! grep -q "$(printf '\033')" "$work/out" || fail "$words: a stranger's control characters reach the terminal"
done
checks=$((checks + 1))
[ ! -s "$work/not-theirs" ] || fail "a link of another user was followed"

echo "-- metrics of all users"
if ! "$batchcast" metrics --listen 127.0.0.1:x 2>&1 | grep -q 'built without'; then
  timeout 60 "$batchcast" metrics --all-users --listen 127.0.0.1:0 --interval 0.2 \
    >"$work/metrics.out" 2>"$work/metrics.err" &
  until_true grep -q token= "$work/metrics.out" || fail "it does not start: $(cat "$work/metrics.err")"
  port=$(sed -n 's/.*127.0.0.1:\([0-9]*\)\/#.*/\1/p' "$work/metrics.out")
  scraped() { $python "$here/ask_http.py" "$port" /metrics 2>/dev/null >"$work/body" && grep -q "$1" "$work/body"; }
  for uid in $user $other; do
    checks=$((checks + 1))
    until_true scraped "batchcast_samples_total{.*user=\"$uid\"" ||
      fail "no metrics of user $uid: $(head -c 600 "$work/body")"
  done
fi
finish
