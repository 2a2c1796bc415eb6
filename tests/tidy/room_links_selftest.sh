#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh room_links_selftest.sh NM ROOMS    takes DEPENDS out of ROOMS: room_links.py must object to each that is missed
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# misses ROOM DEPENDS: that room_links.py says so of a ROOM without this DEPENDS
misses() {
  awk -F '\t' -v OFS='\t' -v room="$1" -v gone="$2" \
    '$1 == room { sub("(^| )" gone "( |$)", " ", $2) } { print }' "$rooms" >"$work/rooms"
  if python3 "$here/room_links.py" "$nm" "$work/rooms" >"$work/said" ||
    ! grep -q "^$1 uses .*, which .*$2.* defines" "$work/said"; then
    failed=1
    echo "not found: $1 uses $2"
    cut -c -200 "$work/said"
  fi
}

nm=$1 rooms=$2
misses data/image data/codec
misses join core # by src/compiled/compiled_join.cpp
misses trainer delivery # and its Consumer would find no code for GPUs
misses trainer starting
exit $failed
