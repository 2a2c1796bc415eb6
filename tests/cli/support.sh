# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What the tests of the command share: sourced with $batchcast set. Works in $work, with streams in a
# directory of its own, and cleans both up.

work=$(mktemp -d /tmp/batchcast-cli.XXXXXX)
mkdir -m 700 "$work/streams"
export BATCHCAST_DIR="$work/streams"
checks=0
failures=0

clean_up() {
  jobs -p >"$work/jobs"  # not $(jobs -p): dash lists no jobs to a subshell
  # shellcheck disable=SC2046
  kill $(cat "$work/jobs") 2>/dev/null
  wait
  rm -rf "$work"
}
trap clean_up EXIT
trap 'exit 1' INT TERM

fail() {
  failures=$((failures + 1))
  echo "FAILED: $1"
  [ ! -s "$work/out" ] || sed 's/^/  stdout: /' "$work/out"
  [ ! -s "$work/err" ] || sed 's/^/  stderr: /' "$work/err"
}

# expect EXIT TEXT ARGUMENT...    runs batchcast; TEXT is a pattern that what it prints must match.
expect() {
  expected=$1
  text=$2
  shift 2
  checks=$((checks + 1))
  timeout 60 "$batchcast" "$@" >"$work/out" 2>"$work/err"
  status=$?
  [ "$status" -eq "$expected" ] || fail "batchcast $*: exit code $status instead of $expected"
  cat "$work/out" "$work/err" | grep -qE -e "$text" || fail "batchcast $*: says nothing like '$text'"
}

# same NAME A B
same() {
  checks=$((checks + 1))
  [ "$2" = "$3" ] || fail "$1: '$2' and '$3' differ"
}

value() { sed -n "s/.*\"$1\":\(\"[^\"]*\"\|\[[^]]*\]\|[^,}]*\).*/\1/p" "$2" | tail -n 1; }

# What the last one wrote is gone before this one is asked what it wrote: a process in the background
# empties the files only once it runs.
serve() {
  : >"$work/serve.out"
  : >"$work/serve.err"
  timeout 120 "$batchcast" serve "$@" >"$work/serve.out" 2>"$work/serve.err" &
}

# until_true COMMAND...    waits for it, at most 20 seconds
until_true() {
  tries=0
  until "$@" 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 400 ] || return 1
    sleep 0.05
  done
}

# lists PATTERN    whether `ls --json` says so
lists() { "$batchcast" ls --json | grep -qE -e "$1"; }

# ls_shows PATTERN OPTION...    waits until ls says so: on a busy machine a producer is silent now and then
ls_says() { "$batchcast" ls "$@" >"$work/out" 2>"$work/err" && grep -qE -e "$pattern" "$work/out"; }
ls_shows() {
  pattern=$1
  shift
  checks=$((checks + 1))
  until_true ls_says "$@" || fail "ls $*: says nothing like '$pattern'"
}

# has_keys FILE KEY...
has_keys() {
  where=$1
  shift
  for key in "$@"; do
    checks=$((checks + 1))
    grep -q "\"$key\":" "$where" || fail "$where: no key $key"
  done
}

finish() {
  echo "$((checks - failures)) of $checks checks passed"
  [ "$failures" -eq 0 ]
}
