#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh cache_cgroup.sh BATCHCAST    a cache in memory stops filling where its entries push the files out of the page
# cache. Memory and disk are those of a real cgroup, so that it needs root; it skips with its reason elsewhere.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)

. "$here/support.sh"

# shellcheck source=tests/cli/cgroup.sh
. "$here/cgroup.sh"
cached() { echo $(($(number_in "$memory/memory.stat" $inactive) + $(number_in "$memory/memory.stat" $active))); }

# 600 files of 140 kB.
/usr/bin/python3 - "$work/images" <<'MAKE' || exit 1
import pathlib
import sys

import numpy
from PIL import Image

random = numpy.random.default_rng(3)
folder = pathlib.Path(sys.argv[1]) / "all"
folder.mkdir(parents=True)
for i in range(20):
    pixels = random.integers(0, 256, (90, 90, 3), dtype=numpy.uint8)
    noise = random.integers(-12, 13, (720, 720, 3))
    large = numpy.asarray(Image.fromarray(pixels).resize((720, 720), Image.BICUBIC)).astype(int)
    Image.fromarray((large + noise).clip(0, 255).astype(numpy.uint8)).save(folder / f"{i:04}.jpg", quality=82)
MAKE
for copy in $(seq 29); do
  for file in "$work"/images/all/00[01][0-9].jpg; do cp "$file" "${file%.jpg}-$copy.jpg"; done
done
sleep 2.1 # a file that has just changed is not kept, and only time makes it older
files=$(find "$work/images" -type f -exec cat {} + | wc -c)
forget_files() {
  /usr/bin/python3 - "$work/images" <<'FORGET'
import os
import pathlib
import sys

for path in pathlib.Path(sys.argv[1]).rglob("*.jpg"):
    file = os.open(path, os.O_RDONLY)
    os.fsync(file)
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(file)
FORGET
}

# stream NAME BYTES: a stream in the cgroup. Its files lie in the page cache when it begins. Once its ring is full, the
# cgroup has BYTES left for files and entries, and the disk gives 2 MiB a second. Its report is in $work/out.
cat >"$work/child.sh" <<'CHILD'
read -r _
find "$images" -type f -exec cat {} + >/dev/null
exec timeout 120 "$@"
CHILD
is_full() { "$batchcast" inspect "$1" --json | grep -q '"misses":1[0-9][0-9]'; }
says_that_it_stops() { grep -q 'keeps nothing more' "$work/err"; }
stream() {
  forget_files
  mkfifo "$work/go.$1"
  images=$work/images sh "$work/child.sh" "$batchcast" serve "imagefolder:$work/images" --recipe imagenet-train \
    --stream "$1" --memory 64MiB --epochs 2 --workers 1 --cache $((files * 4 / 5)) \
    <"$work/go.$1" >"$work/out" 2>"$work/err" &
  server=$!
  enter $server
  echo >"$work/go.$1"
  until_true is_full "$1" || fail "$1: the stream makes no samples"
  entries=$("$batchcast" inspect "$1" --json | sed -n 's/.*"cache":{[^}]*"bytes":\([0-9]*\).*/\1/p')
  slow $((2 * mib))
  limit $(($(used) - $(cached) - entries + $2)) || fail "$1: memory cannot be limited"
  timeout 120 "$batchcast" consume "$1" --epochs 1 --connect-timeout 20 >"$work/consume" 2>&1 &
  until_true says_that_it_stops || fail "$1: the cache does not stop"
  slow $((4096 * mib))
  limit $((4096 * mib))
  "$batchcast" stop "$1" >/dev/null
  wait
  checks=$((checks + 1))
}

line='the cache keeps nothing more: its [0-9.]+ MiB push the other files out of the page cache. To read these again'
stream tight "$files"
grep -qE "$line costs [0-9]+ s an epoch, and its entries save [0-9]+ s" "$work/err" ||
  fail "a cache that pushes files out of memory goes on"
stream wide $((4 * files))
grep -q 'the cache keeps nothing more: .* are full' "$work/err" || fail "a cache beside which files have room stops"

finish
