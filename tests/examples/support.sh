# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# What the tests of the examples share: sourced with a function `end_all`, which ends what they started and gets
# the test's exit code. Works in $work, with streams in a directory of its own.

# Sockets have short names, so not below a $TMPDIR that may be long.
work=$(mktemp -d /tmp/batchcast-examples.XXXXXX)
mkdir -m 700 "$work/streams"
export BATCHCAST_DIR="$work/streams"

clean_up() {
  status=$?
  trap - EXIT INT TERM
  end_all "$status"
  rm -rf "$work"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# wrong TEXT...: what was expected and is not so; with the output that it was expected in.
wrong() {
  echo "wrong: $*" >&2
  [ ! -s "$work/own" ] || cat "$work/own" >&2
  exit 1
}
