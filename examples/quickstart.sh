#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Installs what is missing, builds the batchcast command, serves Fashion-MNIST and trains nothing on it
# three times at once: three consumers with batch sizes of their own take the same samples from the same
# memory, make each of them again by themselves, and compare every byte. Ends by itself.
# With BATCHCAST_COMMAND set to a batchcast command, it installs and builds nothing and runs that.
set -eu
cd "$(dirname "$0")/.."

stream=quickstart-$$
dataset=/usr/share/datasets/fashion-mnist
epochs=5
seconds_max=30
names="large odd small"
batch_size_of() { case $1 in large) echo 256 ;; odd) echo 37 ;; small) echo 64 ;; esac; }

batchcast=${BATCHCAST_COMMAND-}
if [ -z "$batchcast" ]; then
  sh cmake/bootstrap.sh quickstart
  cmake --preset release >/dev/null
  cmake --build --preset release --target batchcast_cli
  batchcast=$PWD/build/release/batchcast
fi

# Sockets have short names, so not below a $TMPDIR that may be long.
work=$(mktemp -d /tmp/batchcast-quickstart.XXXXXX)
mkdir -m 700 "$work/streams"
export BATCHCAST_DIR="$work/streams"

clean_up() {
  status=$?
  trap - EXIT INT TERM
  for pid_file in "$work"/*.pid; do
    [ ! -e "$pid_file" ] || kill "$(cat "$pid_file")" 2>/dev/null || true
  done
  wait
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start NAME ARGUMENT...: runs batchcast in the background, its progress lines under that name.
# Leaves NAME.out, NAME.pid and, once it has ended, NAME.status.
start() {
  name=$1
  shift
  {
    "$batchcast" "$@" 2>&1 >"$work/$name.out" &
    echo $! >"$work/$name.pid"
    result=0
    wait $! || result=$?
    rm "$work/$name.pid"
    echo "$result" >"$work/$name.status"
  } | sed -u "s/^$name: //; s/^/$name: /" >&2 &
}

echo "Serving $epochs epochs of Fashion-MNIST, 60,000 images of 1x28x28 normalised floats, as $stream."
start serve serve "idx:$dataset" --recipe mnist --stream "$stream" --memory 64MiB --wait-for 3 \
  --epochs "$epochs" --seed 1
consumers=""
for name in $names; do
  start "$name" consume "$stream" --batch-size "$(batch_size_of "$name")" --name "$name" \
    --epochs "$epochs" --seconds "$seconds_max" --connect-timeout 10 --verify --json
  consumers="$consumers $!"
done
# One word for each consumer.
# shellcheck disable=SC2086
wait $consumers
# Where the machine was too slow for all epochs, the producer still waits for somebody to take them.
[ ! -e "$work/serve.pid" ] || "$batchcast" stop "$stream" 2>/dev/null >&2 || true
wait

failed=0
for name in serve $names; do
  result=$(cat "$work/$name.status" 2>/dev/null || echo "no status")
  [ "$result" = 0 ] && continue
  echo "$name failed ($result); its last line: $(tail -n 1 "$work/$name.out")" >&2
  failed=1
done

echo
for name in $names; do tail -n 1 "$work/$name.out"; done | awk '
  # The value of a key of a JSON object that is one line and holds no escaped quotes.
  function value(key) {
    if (!match($0, "\"" key "\" *: *(\"[^\"]*\"|[^,}]*)")) return "?"
    found = substr($0, RSTART, RLENGTH)
    sub(/^[^:]*: */, "", found)
    gsub(/"/, "", found)
    return found
  }
  BEGIN {
    row = "%-8s %5s %8s %8s %10s %7s %10s  %s\n"
    printf row, "consumer", "batch", "samples", "batches", "samples/s", "wait s", "verified",
           "receipts"
  }
  {
    printf row, value("consumer"), value("batch_size"), value("samples"), value("batches"),
           sprintf("%.0f", value("samples_per_second")), sprintf("%.2f", value("wait_seconds")),
           sprintf("%.2f GB", value("verified_bytes") / 1e9), value("receipts")
  }'
exit "$failed"
