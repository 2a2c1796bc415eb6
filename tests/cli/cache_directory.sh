#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh cache_directory.sh BATCHCAST    a cache in a directory: shared by streams, after restarts, kill -9, damage, a
# full disk; `batchcast cache`. Samples are the same throughout.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)

. "$here/support.sh"

. "$here/cache_support.sh"

dir=$work/cache
wanted_of 2

same "the first run" "$wanted" "$(cached first 2 2 --cache "64MiB:$dir")"
same "its entries" 96 "$(number entries "$work/first.serve")"
same "its hits" 96 "$(number hits "$work/first.serve")"
same "a second run" "$wanted" "$(cached second 2 2 --cache "64MiB:$dir")"
same "all from entries" 192 "$(number hits "$work/second.serve")"
same "nothing made again" 0 "$(number kept "$work/second.serve")"
same "mode of the directory" 700 "$(stat -c %a "$dir")"
expect 0 '96 JPEGs in' cache ls "$dir"
expect 0 '"damaged":0' cache check "$dir" --json

# A stream that is stopped gives the room back that its segment had in advance.
"$batchcast" serve "$source" --recipe imagenet-train --seed 5 --stream stopped --memory 64MiB \
  --free-running --cache "256MiB:$work/stopped" >/dev/null 2>&1 &
until_true sh -c "'$batchcast' inspect stopped --json | grep -q '\"entries\":96'"
same "what is in advance" 1 "$(find "$work/stopped" -name '*.segment' -size +4096k | wc -l)"
expect 0 'is stopped' stop stopped
wait $!
same "what is left of it" "" "$(find "$work/stopped" -name '*.segment' -size +4096k)"
same "its index" 1 "$(find "$work/stopped" -name '*.index' | wc -l)"

# Some bytes in the middle of the largest file, more than lie between two entries.
segment=$(find "$dir" -name '*.segment' -size +100k | head -n 1)
dd if=/dev/urandom of="$segment" bs=200 count=1 seek=500 conv=notrunc 2>/dev/null
expect 1 '[12] damaged' cache check "$dir"
for look in ls check clear; do
  expect 0 "batchcast cache $look /fast/cache" cache $look --help
done
same "with a damaged entry" "$wanted" "$(cached damaged 2 2 --cache "64MiB:$dir")"
checks=$((checks + 1))
case $(number kept "$work/damaged.serve") in
  1 | 2) ;;
  *) fail "the damaged entry is not made again" ;;
esac

expect 0 'removed' cache clear "$dir"
expect 0 ': 0 JPEGs in 0 bytes' cache ls "$dir"

# Commands that look make no file where no cache lies.
mkdir -m 700 "$work/other"
for command in ls check clear; do
  expect 2 'no cache lies in' cache $command "$work/other"
  same "files that cache $command made" "" "$(ls -A "$work/other")"
done

# A file that changed is read again; the others come from entries.
same "entries for a change" "$wanted" "$(cached before 2 2 --cache "64MiB:$dir")"
changed=$(find "$work/images" -name '*.jpg' | sort | head -n 1)
cp "$changed" "$work/kept.jpg"
cp "$(find "$work/images" -name '*.jpg' | sort | tail -n 1)" "$changed"
before=$wanted
wanted_of 2
[ "$wanted" != "$before" ] || fail "the changed file changes no sample"
same "with a changed file" "$wanted" "$(cached changed 2 2 --cache "64MiB:$dir")"
same "it alone is made again" 1 "$(number kept "$work/changed.serve")"
cp "$work/kept.jpg" "$changed"
wanted_of 2
"$batchcast" cache clear "$dir" >/dev/null

# Two streams at a time.
cached one 2 2 --cache "64MiB:$dir" >"$work/one.digests" &
both=$!
other=$(cached other 2 2 --cache "64MiB:$dir")
wait $both
same "one of two streams" "$wanted" "$(cat "$work/one.digests")"
same "the other one" "$wanted" "$other"
expect 0 '"entries":96' cache check "$dir" --json

# A producer that is killed while it fills: its ring is small, so that it is not far ahead of its consumer.
"$batchcast" cache clear "$dir" >/dev/null
for seconds in 0.005 0.01 0.02 0.04; do
  "$batchcast" serve "$source" --recipe imagenet-train --seed 5 --stream killed --memory 4MiB --workers 2 \
    --wait-for 1 --cache "64MiB:$dir" >/dev/null 2>&1 &
  producer=$!
  timeout 60 "$batchcast" consume killed --batch-size 1 --seconds $seconds --connect-timeout 20 >/dev/null 2>&1
  kill -KILL $producer
  wait $producer 2>/dev/null
  "$batchcast" cache check "$dir" --json >"$work/out" || fail "a killed producer leaves damage"
done
same "after killed producers" "$wanted" "$(cached survivor 2 2 --cache "64MiB:$dir")"
checks=$((checks + 1))
[ "$(number kept "$work/survivor.serve")" -lt 96 ] || fail "nothing is left of what killed producers kept"

# A budget for all, and a disk that is full.
same "a small budget" "$wanted" "$(cached small 2 2 --cache "300KiB:$work/small")"
grep -q '300.0 KiB of .* are full' "$work/small.serve" || fail "a full budget is not named"
same "what it takes" "" "$(find "$work/small" -name '*.segment' -size +300k)"
mkdir "$work/disk"
if mount -t tmpfs -o size=400k,mode=0700 none "$work/disk" 2>/dev/null; then
  same "a full disk" "$wanted" "$(cached full 2 2 --cache "64MiB:$work/disk/cache")"
  grep -q 'No space left on device' "$work/full.serve" || fail "a full disk is not named"
  umount "$work/disk"
else
  echo "cache_directory.sh: no full disk is tried, since this user may not mount one" >&2
fi

# A directory that is none, is open to others, or has to be named.
mkdir -m 755 "$work/open"
expect 2 'chmod 700' serve "$source" --recipe imagenet-train --stream x --cache "1GiB:$work/open"
if [ "$(id -u)" = 0 ]; then
  mkdir -m 700 "$work/theirs"
  chown 65534 "$work/theirs"
  expect 2 'belongs to the user 65534' serve "$source" --recipe imagenet-train --stream x --cache "1GiB:$work/theirs"
else
  echo "cache_directory.sh: no other user's directory is tried, since this user cannot make one" >&2
fi
expect 3 'cannot be made' serve "$source" --recipe imagenet-train --stream x --cache "1GiB:$work/a/b/c"
expect 3 'cannot be opened' cache ls "$work/nowhere"
expect 2 '' cache

finish
