#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh cache.sh BATCHCAST    samples are the same with a cache and without; what `serve` says of it; what is refused.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)

. "$here/support.sh"

. "$here/cache_support.sh"

epochs=3
wanted_of $epochs

# 96 of the 120 images are JPEGs.
for workers in 1 2; do
  same "$workers workers" "$wanted" "$(cached "w$workers" $workers $epochs --cache 64MiB)"
  same "entries, $workers workers" 96 "$(number entries "$work/w$workers.serve")"
  same "hits, $workers workers" 192 "$(number hits "$work/w$workers.serve")"
done
same "a small one" "$wanted" "$(cached small 2 $epochs --cache 512KiB)"
grep -q '"stopped":"512.0 KiB are full"' "$work/small.serve" || fail "a full cache does not say so"
grep -q 'the cache keeps nothing more: 512.0 KiB are full' "$work/small.err" ||
  fail "serve does not say that it is full"

# Nothing is kept for an epoch that does not come.
cached once 1 1 --cache 64MiB >/dev/null
grep -q '"cache":null' "$work/once.serve" || fail "--epochs 1 has a cache"

# Two streams at a time, each with its own.
first=$(cached one 1 $epochs --cache 64MiB) &
second=$(cached other 2 $epochs --cache 64MiB)
wait
same "beside another stream" "$wanted" "$second"

"$batchcast" dump "$source" --recipe imagenet-train --seed 5 --positions 0:$((120 * epochs)) --cache 64MiB \
  --out "$work/dump2" --digest --json >"$work/dump2.out" || exit 1
same "dump with a cache" "$wanted" "$(digests "$work/dump2.out")"

# For people.
timeout 60 "$batchcast" serve "$source" --recipe imagenet-train --stream people --memory 64MiB --cache 64MiB \
  --epochs 2 --wait-for 1 >"$work/out" 2>"$work/err" &
timeout 60 "$batchcast" consume people --epochs 2 --connect-timeout 20 >/dev/null 2>&1
wait
checks=$((checks + 1))
line='cache: 96 JPEGs in .* times their files\), 80% of all images, 96 of 192 images from it \(50.0%\)'
grep -qE "$line" "$work/out" ||
  fail "the report has no line about the cache"

# A stream that goes on says how its cache does.
timeout 60 "$batchcast" serve "$source" --recipe imagenet-train --stream live --memory 64MiB --cache 64MiB \
  >/dev/null 2>&1 &
server=$!
timeout 60 "$batchcast" consume live --epochs 2 --connect-timeout 20 >/dev/null 2>&1
expect 0 'cache: 96 JPEGs in .* 80% of all images, .* s of processor time saved' inspect live
expect 0 '"cache":\{[^}]*"entries":96,' inspect live --json
expect 0 '"cache":\{[^}]*"cpu_seconds_saved":[0-9]' inspect live --json
"$batchcast" stop live >/dev/null
wait $server
timeout 60 "$batchcast" serve "$source" --recipe imagenet-train --stream live --memory 64MiB >/dev/null 2>&1 &
server=$!
timeout 60 "$batchcast" consume live --epochs 1 --connect-timeout 20 >/dev/null 2>&1
expect 0 '"kind":"stream"' inspect live --json
checks=$((checks + 1))
! grep -q '"cache"' "$work/out" || fail "a stream without a cache has one"
"$batchcast" stop live >/dev/null
wait $server

expect 2 'must be a size such as 8GiB' serve "$source" --recipe imagenet-train --stream x --cache lots
expect 2 'names no directory' serve "$source" --recipe imagenet-train --stream x --cache 1GiB:
expect 2 'made as they are' serve synthetic:4x4 --stream x --cache 1GiB
expect 3 'cache up to [0-9.]+ GiB, and .* left' serve "$source" --recipe imagenet-train --stream x --cache 900TiB

finish
