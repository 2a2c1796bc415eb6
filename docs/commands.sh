#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Writes docs/commands.md, the reference of the command line, out of what `--help` of every command prints:
#   sh docs/commands.sh [BATCHCAST]           BATCHCAST: the command (build/release/batchcast)
#   sh docs/commands.sh --check [BATCHCAST]   writes nothing: says what differs, and ends with 1 if something does
set -eu
here=$(cd "$(dirname "$0")" && pwd)
check=no
if [ "${1-}" = --check ]; then
  check=yes
  shift
fi
batchcast=${1-$here/../build/release/batchcast}
page=$(mktemp)
trap 'rm -f "$page"' EXIT

. "$here/../cmake/help_pages.sh"

# section COMMAND...
section() {
  printf '\n## batchcast %s\n\n```text\n' "$*"
  "$batchcast" "$@" --help
  printf '```\n'
}

{
  echo "# The command line"
  echo
  echo "What every command says with \`--help\`. This page is generated: \`sh docs/commands.sh\`."
  echo
  echo '```text'
  "$batchcast" --help
  echo '```'
  each_command section
} >"$page"

if [ "$check" = yes ]; then
  diff -u "$here/commands.md" "$page" && exit 0
  echo "docs/commands.md is not what the command says: run sh docs/commands.sh" >&2
  exit 1
fi
cat "$page" >"$here/commands.md"
