#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Checks the ring's algorithm: every run of the right protocol must be without error, searched to the end,
# and every broken one must be found out. Needs spin and a C compiler; see README.md.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
memory_limit_mib=1900
failures=0

for tool in spin "${CC:-cc}" gcc; do # spin itself calls gcc as its preprocessor
  command -v "$tool" >/dev/null 2>&1 || { echo "model: $tool is missing (apt install spin gcc)" >&2; exit 1; }
done

# search OPTIMISATION FILE SWITCHES...: leaves what the search said in $work/out
search() {
  optimisation=$1
  file=$2
  shift 2
  (
    cd "$work"
    rm -f pan pan.* out
    spin "$@" -a "$here/$file" >spin.out 2>&1 </dev/null &&
      "${CC:-cc}" "$optimisation" -w -DSAFETY -DCOLLAPSE -DMEMLIM=$memory_limit_mib -o pan pan.c >spin.out 2>&1
  ) || { echo "model: $file $* does not build:" >&2; cat "$work/spin.out" >&2; exit 1; }
  # -E: who waits for ever is judged by the model's own `Quiet`. -w: the hash table grows by itself.
  (cd "$work" && ./pan -E -m100000 -w22 >out 2>&1 </dev/null) || true
}

report() { # VERDICT EXPECTATION NAME
  states=$(sed -n 's/^ *\([0-9.e+]*\) states, stored.*/\1/p' "$work/out")
  seconds=$(sed -n 's/^pan: elapsed time \([0-9.e+-]*\) seconds.*/\1/p' "$work/out")
  printf '%-6s %-6s %10s states %6s s  %s\n' "$1" "$2" "${states:-?}" "${seconds:-0}" "$3"
  if [ "$1" = FAILED ]; then
    failures=$((failures + 1))
    sed 's/^/       | /' "$work/out" | head -n 30
  fi
}

incomplete() {
  grep -Eq 'Search not completed|max search depth too small|memory limit|out of memory|aborting' "$work/out"
}

right() {
  search -O2 "$@"
  if grep -q 'errors: 0$' "$work/out" && ! incomplete; then report ok right "$*"; else report FAILED right "$*"; fi
}

# Only an assertion about the protocol counts: a buffer that overflows would be the model's own mistake.
broken() {
  search -O0 "$@" # it is short, and compiling takes longer
  if grep -q 'errors: [1-9]' "$work/out" && grep -q 'assertion violated' "$work/out" &&
    ! grep -q 'assertion violated (buffer\[[^]]*\]\.size<' "$work/out"; then
    report ok broken "$*"
  else
    report FAILED broken "$*"
  fi
}

small='-DCAPACITY=1 -DSAMPLES=2'
every='-DDROPS -DLEAVES_EARLY'
# shellcheck disable=SC2086 # the lists are meant to be split
{
  right wake.pml
  right wake.pml $small -DPSO
  right wake.pml -DSAMPLES=2 -DWRITERS=2
  right wake.pml $small -DKILLS_CONSUMER=0 -DJOINS_LATE
  right wake.pml $small -DKILLS_CONSUMER=1
  right wake.pml $small -DKILLS_PRODUCER
  right wake.pml $small -DEVICTS=0
  broken wake.pml $small -DNO_FENCE_PRODUCER_FLAG
  broken wake.pml $small -DNO_FENCE_CONSUMER_FLAG
  broken wake.pml $small -DNO_SECOND_LOOK_CONSUMER
  broken wake.pml $small -DNO_FENCE_PRODUCER_SLEEP
  broken wake.pml $small -DNO_SECOND_LOOK_PRODUCER
  broken wake.pml $small -DNO_FENCE_RELEASE
  broken wake.pml $small -DSLEEP_ON_OLD_SLOWEST
  broken wake.pml $small -DKILLS_CONSUMER=0 -DNO_BUMP_ON_DEATH
  broken wake.pml $small -DKILLS_CONSUMER=0 -DJOINS_LATE -DNO_BUMP_ON_ADMISSION
  broken wake.pml $small -DEVICTS=0 -DNO_WAKE_ON_EVICTION

  right reuse.pml -DJOINS_LATE -DEVICTS $every
  right reuse.pml -DJOINS_LATE -DEVICTS $every -DPSO
  right reuse.pml -DJOINS_LATE -DKILLS $every -DPSO
  right reuse.pml -DFREE -DEVICTS $every -DPSO
  right reuse.pml -DFREE -DKILLS $every -DPSO
  right reuse.pml -DFREE -DCAPACITY=3 -DSAMPLES=5 $every -DPSO
  broken reuse.pml -DPUBLISH_BEFORE_BYTES
  broken reuse.pml -DRELEASE_EARLY
  broken reuse.pml -DFREE -DCLAIM_AFTER_BYTES
  broken reuse.pml -DFREE -DPSO -DNO_FENCE_AFTER_CLAIM
  broken reuse.pml -DFREE -DCHECK_BEFORE_BYTES
  broken reuse.pml -DFREE -DDROPS -DCLAIMED_FALLS
  broken reuse.pml -DDROPS -DHOLE_PUBLISHED
  broken reuse.pml -DLEAVES_EARLY -DNO_PUBLISHED_LIMIT
  broken reuse.pml -DEVICTS -DEVICT_WITHOUT_REVOKE
  broken reuse.pml -DEVICTS -DCHECK_BEFORE_BYTES
  broken reuse.pml -DJOINS_LATE -DADMIT_BY_PUBLISHED

  right rows.pml -DONE_CONSUMER -DWORKERS=2
  right rows.pml -DONE_CONSUMER -DPSO
  right rows.pml -DONE_CONSUMER -DLENGTHS=89 -DBUDGET_1=3
  right rows.pml -DONE_CONSUMER -DLENGTHS=73 -DARENA=4
  right rows.pml -DSAMPLES=2
  broken rows.pml -DONE_CONSUMER -DNO_ANNOUNCEMENT
  broken rows.pml -DONE_CONSUMER -DNO_FENCE_ANNOUNCEMENT
  broken rows.pml -DONE_CONSUMER -DNO_CUT_BEFORE_ANNOUNCED -DLENGTHS=89 -DBUDGET_1=3
  broken rows.pml -DONE_CONSUMER -DNO_PRIVATE
  broken rows.pml -DONE_CONSUMER -DNO_SECOND_LOOK
  broken rows.pml -DONE_CONSUMER -DNO_ROW_WAKE -DLENGTHS=73 -DARENA=4
  broken rows.pml -DONE_CONSUMER -DWORKERS=2 -DONE_PAIR
}

[ "$failures" -eq 0 ] || { echo "model: $failures of the runs above are not as they must be" >&2; exit 1; }
echo "model: all runs are as they must be"
