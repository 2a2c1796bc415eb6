#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh heads.sh BATCHCAST    a stream with a head: what `ls`, `inspect`, `top` and `trace` say of it
set -u
batchcast=$1
# shellcheck source=tests/cli/support.sh
. "$(dirname "$0")/support.sh"

# holds WHAT CONDITION    of the JSON value `it` that the last command printed
holds() {
  checks=$((checks + 1))
  python3 - "$work/out" "$2" <<'CHECK' >"$work/checked" 2>&1 || fail "$1: not so: $2: $(tail -n 1 "$work/checked")"
import json, sys
it = json.load(open(sys.argv[1]))
assert eval(sys.argv[2])
CHECK
}

echo "-- a trainer of a head, which is stopped for the most time and so comes no nearer"
serve synthetic:3x32x32 --stream s --dtype u8 --samples 5000 --memory 1MiB --head-memory 2MiB --workers 1
"$batchcast" consume s --name first --batch-size 32 --seconds 60 >/dev/null 2>&1 &
passed() { "$batchcast" ls s --json >"$work/out" && [ "$(value published "$work/out")" -gt 4000 ]; }
until_true passed || fail "the stream does not go on"
"$batchcast" consume s --name late --join at --cursor 100 --batch-size 32 --seconds 60 >/dev/null 2>&1 &
late=$!
while kill -STOP $late && sleep 0.2 && kill -CONT $late && sleep 0.02; do :; done 2>/dev/null &
ls_shows '^  \(ring, [0-9]+% of the work, 2\.?[0-9]* MiB\) .*head-1' s
ls_shows '^  late .*head-1' s
ls_shows '^head: a ring at another place' s
ls_shows '^  first .*host' s
expect 0 'head-1' ls s --json
holds "rings" '[ring["placement"] for ring in it[0]["rings"]] == ["host", "head-1"]'
holds "trainers" '[ring["trainers"] for ring in it[0]["rings"]] == [1, 1]'
holds "memory" 'it[0]["rings"][0]["memory"] < it[0]["rings"][1]["memory"] < 3 << 20'
worked() { "$batchcast" ls s --json >"$work/out" && grep -qE '"work_share":(0\.[1-9]|1)' "$work/out"; }
until_true worked || fail "no share of the work"
holds "shares" 'abs(sum(ring["work_share"] for ring in it[0]["rings"]) - 1) < 0.01'
holds "places" '{one["name"]: one["placement"] for one in it[0]["consumers"]} == {"first": "host", "late": "head-1"}'
expect 0 '^  head-1    1 trainer, 2\.?[0-9]* MiB, [0-9]+% of the work$' inspect s
expect 0 '"heads":' inspect s --json
holds "heads" '[(one["placement"], one["trainers"]) for one in it["heads"]] == [("head-1", 1)]'

echo "-- its trace"
expect 0 'spans' trace s 1s --out "$work/t.json"
checks=$((checks + 1))
python3 - "$work/t.json" >"$work/out" 2>&1 <<'CHECK' || fail "the trace lacks the head's trainer"
import json, sys
events = json.load(open(sys.argv[1]))["traceEvents"]
names = {(one["name"], one["pid"], one["tid"]): one["args"]["name"] for one in events if one["ph"] == "M"}
print(sorted(set(names.values())))
steps = {}
for one in events:
    if one["ph"] == "X" and one["name"] == "step":
        name = names["thread_name", one["pid"], one["tid"]]
        steps[name] = steps.get(name, 0) + one["args"]["released"]
print(steps)
assert min(steps["late"], steps["first"]) >= 32, steps
rings = {names["thread_name", one["pid"], one["tid"]] for one in events
         if one["ph"] == "X" and names["process_name", one["pid"], 0] == "ring"}
assert rings >= {"head-1"}, rings
CHECK
expect 0 'is stopped' stop s
wait

echo "-- a trainer that comes to the leading ring has not left"
serve synthetic:3x32x32 --stream m --dtype u8 --samples 5000 --memory 1MiB --head-memory 2MiB --workers 1 --verbose
"$batchcast" consume m --name first --batch-size 32 --seconds 60 >/dev/null 2>&1 &
passed() { "$batchcast" ls m --json >"$work/out" && [ "$(value published "$work/out")" -gt 4000 ]; }
until_true passed || fail "the stream does not go on"
"$batchcast" consume m --name late --join at --cursor 2000 --batch-size 32 --seconds 60 >/dev/null 2>&1 &
moved() { grep -q '`late` holds nothing of its earlier ring any more' "$work/serve.err"; }
until_true moved || fail "it does not come to the leading ring: $(cat "$work/serve.err")"
checks=$((checks + 1))
grep -q '`late` goes on in the leading ring from position' "$work/serve.err" || fail "no line says that it came"
checks=$((checks + 1))
if grep -q '`late` is gone' "$work/serve.err"; then fail "it is said to be gone: $(cat "$work/serve.err")"; fi
expect 0 'is stopped' stop m
finish
