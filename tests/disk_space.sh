#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh disk_space.sh FOLDER MIB    says how much of the disk FOLDER's builds and tests will still take, of MIB with what
#                                lies there already. Exit code 1 where there is clearly less.
set -u
folder=$1
needed=$2
there=$(du -sm "$folder/build" 2>/dev/null | cut -f 1)
needed=$((needed > ${there:-0} ? needed - ${there:-0} : 0))
free=$(df -Pm "$folder" | awk 'NR == 2 { print $4 }')
echo "disk: builds, environments and tests below $folder take about $needed MiB more; $free MiB are free"
[ "$free" -lt "$needed" ] || exit 0
echo "run.sh: there is too little room on the disk of $folder: about $needed MiB are needed, and $free MiB are free." \
  "Free some, or move the checkout to a larger disk." >&2
exit 1
