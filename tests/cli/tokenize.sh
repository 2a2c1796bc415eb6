#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# `batchcast tokenize`: what it refuses and how it says so, a full disk, Ctrl-C and going on, and what
# becomes of texts that are too long. $2: a Python with transformers.
set -u
batchcast=$1
python=${2:-python3}
. "$(dirname "$0")/support.sh"

"$python" -c 'import tokenizers, transformers' 2>/dev/null || {
  echo "skipped: $python has no transformers"
  exit 77
}
export BATCHCAST_PYTHON="$python" HF_HUB_OFFLINE=1 XDG_CACHE_HOME="$work/cache"
root=$(cd "$(dirname "$0")/../.." && pwd)

# tok: marks answers; plain: cannot mark them. chat.jsonl is small; long.jsonl has texts of 330 to 2,500 tokens.
PYTHONPATH="$root/tests/python" "$python" - "$work" <<'PY' || exit 1
import json, sys
from pathlib import Path

import text_data

work = Path(sys.argv[1])
text_data.save_tokenizer(work / "tok")
text_data.save_tokenizer(work / "plain", template=text_data.PLAIN_TEMPLATE)
rows = [text_data.chat(seed, letters=5 + seed * 7 % 40) for seed in range(60)]
text_data.write_rows(work / "chat.jsonl", rows)
rows = [text_data.chat(seed, letters=40 + 33 * (seed % 9)) for seed in range(40)]
text_data.write_rows(work / "long.jsonl", rows * 40)
PY
# What the last command says of trained tokens, in all its lines.
trained() {
  tr -d ',' <"$work/out" | sed -n 's/.*of which \([0-9]*\) are trained/\1/p' | awk '{ sum += $1 } END { print sum }'
}
chat="jsonl:$work/chat.jsonl"
tok="$work/tok"

echo "-- what is refused, and how it is said"
expect 2 '^batchcast: .*--tokenizer' tokenize "$chat" --out "$work/c"
expect 2 '^batchcast: .*--out' tokenize "$chat" --tokenizer "$tok"
expect 2 '^batchcast: .*Did you mean .*train-on' tokenize "$chat" \
  --tokenizer "$tok" --out "$work/c" --trainon all
expect 2 'assistant.*completion.*all' tokenize "$chat" --tokenizer "$tok" --out "$work/c" --train-on some
for share in 1.5 1 -1 x; do
  expect 2 "^batchcast: --test: .$share. must be a share, a number from 0 to below 1" \
    tokenize "$chat" --tokenizer "$tok" --out "$work/c" --test "$share"
done
expect 2 'Write --out c, which makes c.bin and c.idx' tokenize "$chat" --tokenizer "$tok" --out c.bin
expect 2 'names a folder.*--out c/corpus' tokenize "$chat" --tokenizer "$tok" --out c/
expect 2 '^batchcast: --tokenizer is there without its value. Write --tokenizer TEXT' \
  tokenize "$chat" --tokenizer --out "$work/c"
expect 3 '^batchcast: .*nowhere.* is no folder' tokenize "$chat" --tokenizer "$work/nowhere" --out "$work/c"
expect 3 "^batchcast: .*$work.* no tokenizer.json" tokenize "$chat" --tokenizer "$work" --out "$work/c"
expect 3 '^batchcast: .*none.jsonl: there is no such file' \
  tokenize "jsonl:$work/none.jsonl" --tokenizer "$tok" --out "$work/c"
expect 2 'jsonl:FILES' tokenize "json:$work/chat.jsonl" --tokenizer "$tok" --out "$work/c"
expect 2 "Is it .jsonl:$work/chat.jsonl.[?]" tokenize "$work/chat.jsonl" --tokenizer "$tok" --out "$work/c"
expect 2 "Is it .jsonl:$work/[*].jsonl.[?]" tokenize "$work" --tokenizer "$tok" --out "$work/c"
expect 2 "is a folder. Name its files, such as .text:$work/[*].txt" \
  tokenize "text:$work" --tokenizer "$tok" --out "$work/c"
expect 3 'line 1: it has no column .x., which [?]column=NAME says, and has .messages.[.]$' \
  tokenize "$chat?column=x" --tokenizer "$tok" --out "$work/c"
expect 2 'generation.*--chat-template FILE' tokenize "$chat" --tokenizer "$work/plain" --out "$work/c"
{ head -n 20 "$work/chat.jsonl"; echo '{"messages": [}'; tail -n 5 "$work/chat.jsonl"; } >"$work/broken.jsonl"
expect 3 'broken.jsonl, line 21: it is no JSON.*--on-bad-sample skip' \
  tokenize "jsonl:$work/broken.jsonl" --tokenizer "$tok" --out "$work/c"
expect 0 'left out: 1 bad row' \
  tokenize "jsonl:$work/broken.jsonl" --tokenizer "$tok" --out "$work/skipped" --on-bad-sample skip
expect 0 'held: [0-9]+ documents, [0-9,]+ tokens, of which [0-9,]+ are trained$' \
  tokenize "$chat" --tokenizer "$tok" --out "$work/held" --test 0.3
grep -q 'held.test: [0-9]* documents, [0-9,]* tokens, of which [0-9,]* are trained$' "$work/out" ||
  fail "the tokens of held-out rows are not said"
held=$(trained)
expect 0 '' tokenize "$chat" --tokenizer "$tok" --out "$work/all" --train-on all
expect 0 'delivered +([0-9,]+) tokens: \1 trained, 0 masked' inspect "megatron:$work/all"
expect 0 '' tokenize "$chat" --tokenizer "$tok" --out "$work/both"
same "trained tokens of both splits" "$held" "$(trained)"
mkdir "$work/locked" && chmod 500 "$work/locked"
if [ ! -w "$work/locked" ]; then
  expect 3 '^batchcast: .*locked' tokenize "$chat" --tokenizer "$tok" --out "$work/locked/c"
fi
expect 3 '^batchcast: .*chat.jsonl: the corpus cannot be written there.*--out' \
  tokenize "$chat" --tokenizer "$tok" --out "$work/chat.jsonl/c"
for told in "$work/out" "$work/err"; do
  checks=$((checks + 1))
  ! grep -q Traceback "$told" || fail "a traceback"
done
[ ! -e "$work/c.idx" ] || fail "a run that failed left an index"

echo "-- a full disk"
# A file may have no more than that, which Python meets as an error of writing.
(
  ulimit -f 300
  exec timeout 100 "$batchcast" tokenize "jsonl:$work/long.jsonl" --tokenizer "$tok" --out "$work/full"
) >"$work/out" 2>"$work/err"
same "exit code of a full disk" $? 3
grep -q '^batchcast: .*full.*The same command goes on' "$work/err" || fail "a full disk says something else"
expect 0 'full: 1,600 documents' tokenize "jsonl:$work/long.jsonl" --tokenizer "$tok" --out "$work/full"

echo "-- Ctrl-C, and going on"
timeout -s KILL 100 "$batchcast" tokenize "jsonl:$work/long.jsonl" --tokenizer "$tok" --out "$work/again" \
  --workers 1 >"$work/out" 2>"$work/err" &
running=$!
until_true test -s "$work/again.bin.part"
kill -INT "$(cat "/proc/$running/task/$running/children" | cut -d ' ' -f 1)"
wait "$running"
same "exit code of Ctrl-C" $? 130
grep -q 'ended by SIGINT. The same command goes on from here' "$work/err" || fail "Ctrl-C says something else"
expect 0 'again: 1,600 documents' tokenize "jsonl:$work/long.jsonl" --tokenizer "$tok" --out "$work/again"
for ending in bin idx loss_mask; do
  cmp -s "$work/again.$ending" "$work/full.$ending" || fail "$ending differs after Ctrl-C"
  checks=$((checks + 1))
done

echo "-- texts that are too long"
corpus="megatron:$work/full"
expect 2 'have more than max_tokens = 900 tokens; the longest is .full\[[0-9]+\]. with [0-9]+.*overlong' \
  serve "$corpus" --stream texts --max-tokens 900
expect 2 '^batchcast: --overlong needs --max-tokens, which is not given[.]' inspect "$corpus" --overlong drop
expect 2 '^batchcast: --max-tokens is there without its value. Write --max-tokens N' \
  serve "$corpus" --stream texts --max-tokens --overlong split
expect 0 '"truncated":0' inspect "$corpus" --json --seed 1
read_in_all=$(value read "$work/out")
for overlong in truncate drop split; do
  expect 0 '"read"' inspect "$corpus" --json --max-tokens 900 --overlong "$overlong"
  same "$overlong: tokens read" "$(value read "$work/out")" "$read_in_all"
  same "$overlong: where they are" \
    "$(($(value delivered "$work/out") + $(value truncated "$work/out") + $(value dropped "$work/out")))" \
    "$read_in_all"
  same "$overlong: trained and masked" \
    "$(($(value trained "$work/out") + $(value masked "$work/out")))" "$(value delivered "$work/out")"
done
delivered=$(value delivered "$work/out")
trained=$(value trained "$work/out")
printf 'max_tokens = 900\noverlong = "split"\n' >"$work/split.toml"
serve "$corpus" --recipe "$work/split.toml" --stream texts --epochs 2 --wait-for 3 --json \
  --memory 32MiB --rows tokens=300k
expect_tokens() {
  checks=$((checks + 1))
  timeout 60 "$batchcast" consume texts --epochs 2 --json "$@" >"$work/consume.$1" 2>"$work/consume.err" ||
    { cat "$work/consume.err"; fail "consume $*"; }
}
expect_tokens --budget tokens=2000 &
first=$!
expect_tokens --window tokens=512x4 &
second=$!
expect_tokens --batch-size 7
wait "$first" "$second"
wait
for how in --budget --window --batch-size; do
  told="$work/consume.$how"
  same "$how: receipts" "$(value receipts "$told")" '"match"'
  came=$(($(value delivered "$told") - $(value repeated "$told")))
  passed=$(($(value truncated "$told") + $(value left_out "$told")))
  same "$how: tokens of both epochs" $((came + passed)) $((2 * delivered))
done
same "trained, of all batches" "$(value trained "$work/consume.--budget")" "$((2 * trained))"
same "made, as serve says" "$(value made "$work/serve.out")" "$((2 * delivered))"
same "trained, as serve says" "$(value trained "$work/serve.out")" "$((2 * trained))"

finish
