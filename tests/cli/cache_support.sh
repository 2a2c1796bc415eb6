# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# For tests of caches: 120 images, 96 of them JPEGs, and streams of them. Sourced behind support.sh.

digests() { sed -n 's/.*"digests":\(\[[^]]*\]\).*/\1/p' "$1" | tail -n 1; }
# number KEY FILE: of the object `cache` that `serve` prints
number() { sed -n "s/.*\"cache\":{[^}]*\"$1\":\([0-9.e+-]*\).*/\1/p" "$2" | tail -n 1; }

/usr/bin/python3 "$here/make_images.py" "$work/images" 120 || exit 1
source=imagefolder:$work/images

# wanted_of EPOCHS: their digests, from the recipe
wanted_of() {
  rm -rf "$work/dump"
  "$batchcast" dump "$source" --recipe imagenet-train --seed 5 --positions 0:$((120 * $1)) \
    --out "$work/dump" --digest --json >"$work/dump.out" || exit 1
  wanted=$(digests "$work/dump.out")
  [ -n "$wanted" ] || fail "dump gives no digests"
  sleep 2.1 # a file that has just changed is not kept, and only time makes it older
}

# cached NAME WORKERS EPOCHS OPTION...: the digests of a stream with a cache, whose report is in NAME.serve
cached() {
  name=$1 workers=$2 count=$3
  shift 3
  timeout 120 "$batchcast" serve "$source" --recipe imagenet-train --seed 5 --stream "$name" \
    --memory 64MiB --epochs "$count" --workers "$workers" --wait-for 1 --json "$@" \
    >"$work/$name.serve" 2>"$work/$name.err" &
  timeout 120 "$batchcast" consume "$name" --batch-size 17 --epochs "$count" --digest --json \
    --connect-timeout 20 >"$work/$name.out" 2>>"$work/$name.err" || cat "$work/$name.err"
  wait
  digests "$work/$name.out"
}
