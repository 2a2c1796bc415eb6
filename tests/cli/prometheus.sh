#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh prometheus.sh BATCHCAST    a Prometheus scrapes `batchcast metrics`, and answers every query of the dashboard.
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
for tool in prometheus promtool; do
  command -v $tool >/dev/null || { echo "SKIPPED: no $tool; sh cmake/bootstrap.sh operate installs it"; exit 77; }
done
. "$here/support.sh"
if "$batchcast" metrics --listen 127.0.0.1:x 2>&1 | grep -q 'built without'; then
  echo "SKIPPED: this build has no metrics"
  exit 77
fi

echo "-- a stream, the exporter, Prometheus with the scrape configuration of the docs"
# One place: a trainer that changes its ring is another consumer, and what it had since the last look is in no series.
serve synthetic:3x8x8 --stream images --dtype u8 --samples 1000000 --memory 4MiB --workers 1 --heads 1
until_true lists '"stream":"images"' || fail "no stream: $(cat "$work/serve.err")"
for name in quick slow '"na\me" {x="y"}'; do
  timeout 200 "$batchcast" consume images --name "$name" --batch-size 32 >/dev/null 2>&1 &
done
for name in '"name":"quick"' '"name":"slow"' 'na..me'; do
  until_true lists "$name" || fail "no trainer"
done
"$batchcast" metrics --listen 127.0.0.1:0 --interval 0.2 --consumers 2 >"$work/metrics.out" 2>"$work/metrics.err" &
exporter=$!
until_true grep -q token= "$work/metrics.out" || fail "no exporter: $(cat "$work/metrics.err")"
port=$(sed -n 's/.*127.0.0.1:\([0-9]*\)\/#.*/\1/p' "$work/metrics.out")

checks=$((checks + 1))
/usr/bin/python3 "$here/ask_http.py" "$port" /metrics 2>"$work/headers" >"$work/scraped"
promtool check metrics <"$work/scraped" >"$work/out" 2>&1 || fail "promtool check metrics complains"
same "what promtool says of the metrics" "" "$(cat "$work/out")"
{
  printf 'global:\n  scrape_interval: 1s\n'
  sed "s/127.0.0.1:9764/127.0.0.1:$port/" "$root/docs/operate/prometheus.yml"
} >"$work/prometheus.yml"
checks=$((checks + 1))
promtool check config "$work/prometheus.yml" >"$work/out" 2>&1 || fail "promtool check config complains"

own_port=$(/usr/bin/python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" \
  --web.listen-address="127.0.0.1:$own_port" >"$work/prometheus.log" 2>&1 &
prometheus=$!
/usr/bin/python3 "$here/ask_prometheus.py" "$own_port" "$root/docs/operate/grafana.json" >"$work/asked" 2>&1
status=$?
cat "$work/asked"
same "the exit code of the queries" 0 "$status"
[ "$status" = 0 ] || tail -n 5 "$work/prometheus.log"

"$batchcast" stop images >/dev/null 2>&1
kill "$exporter" "$prometheus"
wait "$exporter" "$prometheus"
finish
