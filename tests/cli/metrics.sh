#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh metrics.sh BATCHCAST    `batchcast metrics`: where it listens, who gets which answer, how
# it ends.
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

if "$batchcast" metrics --listen 127.0.0.1:x 2>&1 | grep -q 'built without'; then
  echo "-- a build without metrics says so, and how to get them"
  words='built without metrics and the page. .*prometheus-cpp-dev and libmicrohttpd-dev.*BATCHCAST_METRICS=ON'
  expect 3 "$words" metrics --listen 127.0.0.1:0
  expect 3 "$words" metrics
  expect 3 "$words" top --web
  expect 0 '--listen' metrics --help
  expect 2 'there is no option `--lisen`.*--listen' metrics --lisen 127.0.0.1:0
  expect 0 '^no streams$' top --once --interval 0.1
  finish
  exit
fi

# asks PATH [TOKEN [METHOD [HOST]]]    one request, by Python: the status into $status, the body into $work/body
asks() {
  /usr/bin/python3 "$here/ask_http.py" "$port" "$@" 2>"$work/headers" >"$work/body"
  status=$(head -n 1 "$work/headers")
}
# answers STATUS PATTERN PATH...
answers() {
  checks=$((checks + 1))
  wanted=$1
  pattern=$2
  shift 2
  asks "$@"
  [ "$status" = "$wanted" ] || fail "$*: status $status instead of $wanted"
  grep -qE -e "$pattern" "$work/body" || fail "$*: the answer has nothing like '$pattern': $(head -c 300 "$work/body")"
}
header() {
  checks=$((checks + 1))
  grep -qiE -e "$1" "$work/headers" || fail "no header '$1': $(cat "$work/headers")"
}
# starts WORD...    an exporter; $port, $token and $exporter are its own
starts() {
  : >"$work/metrics.out"
  "$batchcast" metrics "$@" >"$work/metrics.out" 2>"$work/metrics.err" &
  exporter=$!
  until_true grep -q token= "$work/metrics.out" || fail "it does not start: $(cat "$work/metrics.err")"
  port=$(sed -n 's/.*127.0.0.1:\([0-9]*\)\/#.*/\1/p' "$work/metrics.out")
  token=$(sed -n 's/.*#token=//p' "$work/metrics.out")
}
# ends SIGNAL CODE
ends() {
  checks=$((checks + 1))
  kill -s "$1" "$exporter"
  wait "$exporter"
  same "the exit code after $1" "$2" "$?"
}

echo "-- what cannot be meant"
expect 2 'needs --listen ADDRESS:PORT' metrics
expect 2 'there is no port' metrics --listen 127.0.0.1
expect 2 'port is no number from 0 to 65535' metrics --listen 127.0.0.1:70000
expect 2 'IPv6 address stands in brackets' metrics --listen ::1:80
expect 2 'is no address of this machine' metrics --listen no.such.host.invalid:0
expect 3 'cannot listen at 203.0.113.1:0' metrics --listen 203.0.113.1:0
expect 2 'there is no option `--lisen`.*--listen' metrics --lisen 127.0.0.1:0
expect 2 'interval' metrics --listen 127.0.0.1:0 --interval 0
expect 2 '`nan` must be a number of seconds from 0.1 to 60' metrics --listen 127.0.0.1:0 --interval nan

echo "-- without a stream, a port that is taken, signals"
starts --listen 127.0.0.1:0
answers 200 '^batchcast_build_info\{version="[0-9.]+"\} 1$' /metrics
expect 3 "the port $port of 127.0.0.1 is taken by another process" metrics --listen "127.0.0.1:$port"
ends INT 130
starts --listen 127.0.0.1:0 --json
ends TERM 143
has_keys "$work/metrics.out" metrics page

echo "-- a stream, its trainers, who may ask for what"
serve synthetic:3x8x8 --stream images --dtype u8 --samples 1000000 --memory 4MiB --workers 1
until_true lists '"stream":"images"' || fail "no stream: $(cat "$work/serve.err")"
for name in quick slow; do
  timeout 120 "$batchcast" consume images --name $name --batch-size 32 >/dev/null 2>&1 &
done
for name in quick slow; do
  until_true lists "\"name\":\"$name\"" || fail "no trainer"
done
starts --listen 127.0.0.1:0 --interval 0.2 --consumers 1 --host-name metrics.example
answers 200 '^batchcast_stream_up\{stream="images"\} 1$' /metrics
header '^content-type: text/plain; version=0.0.4; charset=utf-8'
header '^cache-control: no-store'
answers 200 'consumer="other"' /metrics
answers 200 '<title>batchcast</title>' /
header "^content-security-policy: default-src 'none'"
answers 401 'token' /data
answers 401 'token' /data wrong
answers 200 '"stream":"images"' /data "$token"
has_keys "$work/body" history limiter limiter_text rings consumers wait_share lag_share idle_processors
answers 200 'PNG' "/sheet?stream=images" "$token"
header '^content-type: image/png'
answers 404 'nowhere' "/sheet?stream=nowhere" "$token"
answers 401 'token' "/sheet?stream=images"
answers 404 '/metrics for Prometheus' /nowhere "$token"
answers 405 'nothing is changed' /data "$token" POST
answers 405 'nothing is changed' /metrics "" OPTIONS
answers 403 'not known here' /metrics "" GET evil.example
answers 403 'not known here' / "" GET "127.0.0.1.evil.example:$port"
answers 200 'batchcast_stream_up' /metrics "" GET "metrics.example:$port"
asks /metrics "" HEAD
same "the status of HEAD" 200 "$status"
same "the body of HEAD" "" "$(cat "$work/body")"
checks=$((checks + 1))
! grep -qi 'access-control' "$work/headers" || fail "pages of other sites may read it"

echo "-- counters grow, a producer that is gone"
samples() { asks /metrics && sed -n 's/^batchcast_samples_total{stream="images"} //p' "$work/body"; }
before=$(samples)
grows() { [ "$(samples)" -gt "$before" ]; }
checks=$((checks + 1))
until_true grows || fail "samples do not grow: $before, $(samples)"
expect 0 'is stopped' stop images
wait_gone() { asks /metrics && ! grep -q 'batchcast_stream_up' "$work/body"; }
checks=$((checks + 1))
until_true wait_gone || fail "a stream that ended is still there: $(cat "$work/body")"
ends TERM 143

echo "-- a socket from systemd"
/usr/bin/python3 "$here/as_systemd.py" 1 "$batchcast" metrics >"$work/metrics.out" 2>"$work/metrics.err" &
exporter=$!
until_true grep -q token= "$work/metrics.out" || fail "it does not start: $(cat "$work/metrics.err")"
port=$(sed -n 's/.*127.0.0.1:\([0-9]*\)\/#.*/\1/p' "$work/metrics.out")
answers 200 'batchcast_build_info' /metrics
ends TERM 143
checks=$((checks + 3))
/usr/bin/python3 "$here/as_systemd.py" 2 "$batchcast" metrics 2>&1 | grep -q 'systemd gave 2 sockets' ||
  fail "two sockets are taken"
/usr/bin/python3 "$here/as_systemd.py" 1 "$batchcast" metrics --listen 127.0.0.1:0 2>&1 | grep -q 'names another one' ||
  fail "a socket and an address are taken"
/usr/bin/python3 "$here/as_systemd.py" 0 "$batchcast" metrics 2>&1 | grep -q 'is no socket that listens' ||
  fail "a file is taken for a socket"

echo "-- top --web"
"$batchcast" top --web >"$work/metrics.out" 2>"$work/metrics.err" &
exporter=$!
until_true grep -q token= "$work/metrics.out" || fail "top --web does not start: $(cat "$work/metrics.err")"
ends INT 130
expect 2 'web' top --web --once
expect 3 'no stream `nowhere` is served' top --web --stream nowhere

wait
finish
