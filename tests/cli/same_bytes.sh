#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh same_bytes.sh BATCHCAST    sample(recipe, position) is the same bytes whoever makes it: `dump` without a
# stream, producers with 1, 2 and 16 workers, a second run, and a producer that comes after a killed one.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)

. "$here/support.sh"

digests() { sed -n 's/.*"digests":\(\[[^]]*\]\).*/\1/p' "$1" | tail -n 1; }

/usr/bin/python3 "$here/make_images.py" "$work/images" 120 || exit 1
cat >"$work/recipe.toml" <<'RECIPE'
[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 64 },
  { stage = "horizontal_flip" },
  { stage = "color_jitter", brightness = 0.4, contrast = 0.4, saturation = 0.4, hue = 0.1 },
  { stage = "to", dtype = "f32" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
  { stage = "random_erasing", p = 0.5 },
]

[[field]]
name = "label"
RECIPE
source=imagefolder:$work/images
epochs=3

# serve_and_digest NAME WORKERS SOURCE: the digests of all epochs of a stream.
serve_and_digest() {
  timeout 120 "$batchcast" serve "$3" --recipe "$work/recipe.toml" --seed 5 --stream "$1" \
    --memory 16MiB --epochs $epochs --workers "$2" --wait-for 1 >"$work/$1.serve" 2>&1 &
  timeout 120 "$batchcast" consume "$1" --batch-size 17 --epochs $epochs --digest --json \
    --connect-timeout 20 >"$work/$1.out" 2>"$work/$1.err" || cat "$work/$1.err" "$work/$1.serve"
  wait
  digests "$work/$1.out"
}

"$batchcast" dump "$source" --recipe "$work/recipe.toml" --seed 5 --positions 0:$((120 * epochs)) \
  --out "$work/dump" --digest --json >"$work/dump.out" || exit 1
expected=$(digests "$work/dump.out")
[ -n "$expected" ] || fail "dump gives no digests"
for workers in 1 2 16; do
  same "$workers workers" "$expected" "$(serve_and_digest "w$workers" $workers "$source")"
done
same "another run" "$expected" "$(serve_and_digest again auto "$source")"

cp -r "$work/images" "$work/moved"
same "the same files elsewhere" "$expected" "$(serve_and_digest moved 2 "imagefolder:$work/moved")"

# A producer that is killed in mid-stream leaves nothing that the next one could trip over.
timeout 120 "$batchcast" serve "$source" --recipe "$work/recipe.toml" --seed 5 --stream restarted \
  --memory 16MiB --wait-for 1 >/dev/null 2>&1 &
first=$!
timeout 60 "$batchcast" consume restarted --batch-size 7 --epochs 1 --connect-timeout 20 \
  >"$work/first.out" 2>&1
# The child of `timeout` is the producer.
pkill -KILL -P $first
wait $first 2>/dev/null
same "after a killed producer" "$expected" "$(serve_and_digest restarted 2 "$source")"

"$batchcast" dump "$source" --recipe "$work/recipe.toml" --seed 6 --positions 0:$((120 * epochs)) \
  --out "$work/dump6" --digest --json >"$work/dump6.out" || exit 1
checks=$((checks + 1))
if [ "$(digests "$work/dump6.out")" = "$expected" ]; then
  fail "another seed gives the same bytes"
fi

finish
