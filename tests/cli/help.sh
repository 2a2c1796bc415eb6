#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh help.sh BATCHCAST    what the command says of itself: --help, docs/commands.md, the man page, completion
set -u
batchcast=$1

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$here/support.sh"

commands_of() { "$batchcast" "$@" --help | sed -n 's/^  \([a-z][a-z-]*\)  .*/\1/p'; }

# page COMMAND...: it has help, no line of which has more than 80 columns: bytes but for UTF-8's continuations.
page() {
  expect 0 "^Usage: batchcast $*" "$@" --help
  checks=$((checks + 1))
  LC_ALL=C tr -d '\200-\277' <"$work/out" | awk 'length > 80 { wide = 1; print } END { exit wide }' ||
    fail "batchcast $* --help: lines of more than 80 columns"
}

echo "-- help fits a terminal of 80x24, and every command has a page"
page
same "lines of --help beyond 24" "" "$(tail -n +25 "$work/out")"
commands=$(commands_of)
for command in serve ensure stop evict ls peek consume recipe check dump doctor bench; do
  checks=$((checks + 1))
  echo "$commands" | grep -qx "$command" || fail "--help: no command $command"
done
for command in $commands; do
  page "$command"
  for part in $(commands_of "$command"); do
    page "$command" "$part"
  done
done
expect 0 '^  --memory TEXT +Bytes .*\(default$' serve --help
expect 0 '^  --on-stall \{report,evict,own-place\}$' serve --help
expect 0 '^  --max-consumers N +Places for consumers \(default 64; from 1 to 1024\)$' serve --help
expect 0 '^  --stream TEXT +Name of the stream \(required\)$' serve --help
expect 0 '^Usage: batchcast evict \[OPTIONS\] STREAM CONSUMER$' evict --help

echo "-- help on a narrow terminal"
for width in 60 45; do
  for words in "" serve ensure stop ls peek consume inspect recipe check dump doctor bench "bench pipeline"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    /usr/bin/python3 "$here/narrow_help.py" "$batchcast" "$width" $words >"$work/out" 2>&1 ||
      fail "batchcast $words --help on $width columns"
  done
done

echo "-- docs/commands.md"
checks=$((checks + 1))
sh "$root/docs/commands.sh" --check "$batchcast" >"$work/out" 2>"$work/err" || fail "docs/commands.md is old"

echo "-- the man page"
sh "$root/cmake/man_page.sh" "$batchcast" "$work/batchcast.1"
for command in $commands; do
  checks=$((checks + 1))
  grep -qx "\.SS batchcast $command" "$work/batchcast.1" || fail "the man page has nothing on $command"
done
for option in $("$batchcast" serve --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p'); do
  checks=$((checks + 1))
  grep -qF ".B $(echo "$option" | sed 's/-/\\-/g')" "$work/batchcast.1" || fail "the man page lacks $option"
done
if command -v groff >/dev/null; then
  same "what groff says" "" "$(groff -K utf8 -T utf8 -man -ww "$work/batchcast.1" 2>&1 >"$work/page")"
fi

echo "-- completion for bash"
# completed WORD...: what bash would offer for the last of them, one a line.
completed() {
  PATH=$(dirname "$batchcast"):$PATH bash -c '
    . "$1"
    shift
    COMP_WORDS=(batchcast "$@")
    COMP_CWORD=$#
    _batchcast
    printf "%s\n" "${COMPREPLY[@]}"' _ "$root/src/cli/batchcast_completion.sh" "$@"
}
serve synthetic:8 --stream running --samples 100 --memory 1MiB
timeout 60 "$batchcast" consume running --name reader >/dev/null 2>&1 &
until_true lists '"name":"reader"'
# A dead producer's stream cannot be consumed: it is not offered, but to `stop`, which clears it, and to `ls`.
"$batchcast" serve synthetic:8 --stream killed --samples 100 --memory 1MiB >/dev/null 2>&1 &
killed=$!
until_true test -S "$work/streams/killed/door"
kill -KILL $killed
wait $killed 2>/dev/null
same "commands with c" "consume check cache" "$(completed c | xargs)"
same "commands of bench" "pipeline" "$(completed bench p | xargs)"
same "options of serve with --me" "--memory" "$(completed serve --me | xargs)"
same "choices of --on-stall" "report evict own-place" "$(completed serve --on-stall '' | xargs)"
same "choices behind =" "drop" "$(completed consume running --tail = d | xargs)"
same "streams behind = and its value" "running" "$(completed consume --tail = drop r | xargs)"
same "presets" "cifar-train cifar-eval cifar-autoaugment cifar-autoaugment-eval" \
  "$(cd "$work" && completed serve x --recipe cifar | xargs)"
same "streams to stop" "killed running" "$(completed stop '' | sort | xargs)"
same "streams to list" "killed running" "$(completed ls '' | sort | xargs)"
same "options of consume with --ti" "--timeout" "$(completed consume --ti | xargs)"
same "what a value's option has two names for" "" "$(completed consume --connect-timeout r | xargs)"
same "the same by the other name" "" "$(completed consume --timeout r | xargs)"
same "streams behind options" "running" "$(completed consume --batch-size 64 --verify r | xargs)"
same "streams to look at" "running" "$(completed peek r | xargs)"
same "no streams where a dataset is served" "" "$(completed serve r | xargs)"
same "consumers" "reader" "$(completed evict running '' | xargs)"
timeout 60 "$batchcast" consume running --name "\$(echo>$work/ran)" >/dev/null 2>&1 &
until_true lists '"name":"[$][(]echo>'
same "a consumer that is called as a command" "\\\$\\(echo\\>$work/ran\\)" "$(completed evict running '$')"
same "what completion ran" "" "$(ls "$work/ran" 2>/dev/null)"
expect 0 'is stopped' stop running

finish
