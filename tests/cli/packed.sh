#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# Orders that fill a budget, by the command: what is refused, what inspect says, and what a trainer gets.
set -u
batchcast=$1
. "$(dirname "$0")/support.sh"

# Texts of 1 to 300 tokens; token i is its number. Two files that numpy would write, made with Python alone.
python3 - "$work" <<'PY'
import array, random, sys

random.seed(4)
offsets = [0]
for _ in range(3000):
    offsets.append(offsets[-1] + 1 + min(299, int(random.expovariate(1 / 60))))


def save(name, code, dtype, numbers):
    header = "{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }" % (dtype, len(numbers))
    header += " " * (117 - len(header)) + "\n"
    with open(f"{sys.argv[1]}/{name}.npy", "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode())
        file.write(array.array(code, numbers).tobytes())


save("tokens", "i", "<i4", list(range(offsets[-1])))
save("offsets", "q", "<i8", offsets)
PY
texts="npy:tokens=$work/tokens.npy,tokens.offsets=$work/offsets.npy"

echo "-- what is refused"
expect 2 'needs the budget of its trainers: --pack' inspect "$texts" --order packed
expect 2 'pack.*order' inspect "$texts" --pack tokens=1000
expect 2 'goes with --order packed' inspect "$texts" --order fixed --pack tokens=1000
expect 2 'AXIS=N' inspect "$texts" --order packed --pack tokens
expect 2 'among' inspect "$texts" --order packed --pack tokens=1000 --among 1
expect 2 'axis `words`.*has `tokens`' inspect "$texts" --order packed --pack words=1000
expect 2 'have one shape' inspect "npy:tokens=$work/tokens.npy" --order packed --pack tokens=1000
expect 2 'have one shape' inspect synthetic:3x8x8 --order packed
printf '[order]\nmode = "packed"\naxis = "tokens"\nbudget = 1000\namong = 1500\n' >"$work/packed.toml"
expect 2 'order.*recipe' inspect "$texts" --recipe "$work/packed.toml" --order packed --pack tokens=1000
sed '/budget/d' "$work/packed.toml" >"$work/wrong.toml"
expect 2 'wrong.toml:.*budget.*missing' inspect "$work/wrong.toml"
sed 's/packed"/fixed"/' "$work/packed.toml" >"$work/wrong.toml"
expect 2 'wrong.toml:3.*for the mode `packed` only' inspect "$work/wrong.toml"

echo "-- what inspect says"
expect 0 'order +packed  among 1500, axis "tokens", budget 1000' inspect "$work/packed.toml"
expect 0 'fill +9[89]\.[0-9] % of 1,000 rows; 9[0-7]\.[0-9] % after a shuffle' \
  inspect "$texts" --recipe "$work/packed.toml"
expect 0 '"shuffled":0.9' inspect "$texts" --recipe "$work/packed.toml" --json
recipe_identity=$(value identity "$work/out")
expect 0 '"among":1500' inspect "$texts" --order packed --pack tokens=1000 --among 1500 --json
same "a recipe's order and one of words" "$(value identity "$work/out")" "$recipe_identity"
expect 0 identity inspect "$texts" --order packed --pack tokens=1001 --among 1500 --json
[ "$(value identity "$work/out")" != "$recipe_identity" ] || fail "another budget has the same identity"
checks=$((checks + 1))
expect 0 'no better than a shuffle.*larger `among` than 16 may' \
  inspect "$texts" --order packed --pack tokens=8k --among 16
expect 0 'samples +1,000' inspect "$texts" --recipe "$work/packed.toml" --shard 1/3

echo "-- what a trainer gets"
# batches ORDER...: how many an epoch has for a budget of 1000
batches() {
  serve "$texts" --stream packed --memory 8MiB --epochs 1 --wait-for 1 "$@"
  timeout 60 "$batchcast" consume packed --budget tokens=1000 --json --timeout 30 >"$work/out" 2>"$work/err" ||
    fail "consume fails"
  wait
  value batches "$work/out"
}
least=$((($(python3 -c "print($(stat -c %s "$work/tokens.npy") - 128)") / 4 + 999) / 1000))
packed=$(batches --order packed --pack tokens=1000)
shuffled=$(batches --order reshuffle)
checks=$((checks + 2))
[ "$((packed * 98))" -le "$((least * 100))" ] || fail "$packed packed batches, where $least would do"
[ "$packed" -lt "$shuffled" ] || fail "$packed packed batches, $shuffled after a shuffle"

echo "-- ensure compares it"
serve "$texts" --stream same --memory 8MiB --recipe "$work/packed.toml"
until_true "$batchcast" ls same --json >"$work/out"
expect 0 'served' ensure same "$texts" --order packed --pack tokens=1000 --among 1500
expect 1 'order.budget: the stream has 1000, asked for 2048' \
  ensure same "$texts" --order packed --pack tokens=2k --among 1500
"$batchcast" stop same >/dev/null
wait
finish
