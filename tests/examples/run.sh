#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh run.sh BIN_DIR    runs the README's producer with two of its consumers, as its reader would, and then
# the source of one's own
set -eu

bin=$1
work=$(mktemp -d /tmp/batchcast-examples.XXXXXX)
trap 'kill $producer $other 2>/dev/null || true; rm -rf "$work"' EXIT
producer=""
other=""
mkdir -m 700 "$work/streams"
export BATCHCAST_DIR="$work/streams"

timeout 60 "$bin/example_01_producer" examples &
producer=$!
timeout 60 "$bin/example_02_consumer" examples 100 >"$work/other" &
other=$!
timeout 60 "$bin/example_02_consumer" examples 37 | tee "$work/own"
wait "$other"
wait "$producer"
# Whole epochs, whichever of the two came first.
grep -q 'with matching receipts' "$work/own"
grep -q 'with matching receipts' "$work/other"

timeout 60 "$bin/example_03_own_source" waves &
producer=$!
timeout 60 "$bin/example_03_own_source" waves look | tee "$work/own"
wait "$producer"
grep -q 'with matching receipts' "$work/own"

fashion=/usr/share/datasets/fashion-mnist
[ -d "$fashion" ] || { echo "without dataset-fashion-mnist"; exit 1; }
timeout 60 "$bin/example_04_serve_dataset" "idx:$fashion" mnist fashion 2 &
producer=$!
timeout 60 "$bin/example_02_consumer" fashion 64 | tee "$work/own"
wait "$producer"
grep -q '2 epochs with matching receipts' "$work/own"
