# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# A cgroup of memory and disk for one test; sourced after support.sh. It needs root, and skips with its reason
# elsewhere. `enter PID` puts a process there. The test's end removes it.
# shellcheck shell=sh disable=SC2034,SC2154 # what is set here is read by the tests, and the reverse

skip() {
  echo "skipped: $1"
  exit 77
}

name=batchcast-test-$$
mib=1048576
disk=$(stat -c '%Hd:%Ld' "$work")
root=/sys/fs/cgroup

# Both kinds have functions: limit BYTES, slow BYTES_A_SECOND, used.
number_in() { awk -v key="$2" '$1 == key { print $2 }' "$1"; }
if [ -d $root/memory ] && [ -d $root/blkio ]; then
  memory=$root/memory/$name
  groups="$memory $root/blkio/$name"
  limit() { echo "$1" >"$memory/memory.limit_in_bytes"; }
  slow() { echo "$disk $1" >"$root/blkio/$name/blkio.throttle.read_bps_device"; }
  used() { cat "$memory/memory.usage_in_bytes"; }
  inactive=total_inactive_file active=total_active_file
elif [ -e $root/cgroup.controllers ]; then
  memory=$root/$name
  groups=$memory
  echo '+memory +io' 2>/dev/null >$root/cgroup.subtree_control || skip "no cgroup can have limits here"
  limit() { echo "$1" >"$memory/memory.max"; }
  slow() { echo "$disk rbps=$1" >"$memory/io.max"; }
  used() { cat "$memory/memory.current"; }
  inactive=inactive_file active=active_file
else
  skip "this machine has no cgroups"
fi
enter() { for group in $groups; do echo "$1" >"$group/cgroup.procs" || return 1; done; }
remove() { for group in $groups; do [ ! -d "$group" ] || until_true rmdir "$group"; done; }

trap 'clean_up; remove' EXIT
for group in $groups; do mkdir "$group" 2>/dev/null || skip "this user makes no cgroups"; done
(slow $((4096 * mib)) && limit $((4096 * mib))) 2>/dev/null ||
  skip "the disk $disk cannot be made slow, or memory limited"
