#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh finish_on_gpu.sh BATCHCAST [FOLDER]    `serve --finish-on-gpu`: what a trainer on the GPU gets is what `dump` makes
# of the whole recipe, over the libcuda.so.1 in FOLDER or this machine's own.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"
LD_LIBRARY_PATH=${2-}${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export LD_LIBRARY_PATH

samples=40
# Debian's, for which bootstrap.sh installs what it needs; elsewhere whichever is active.
python=/usr/bin/python3
"$python" -c 'import numpy, PIL' 2>/dev/null || python=python3
"$python" "$here/make_images.py" "$work/images" $samples || exit 1
images=imagefolder:$work/images
cat >"$work/recipe.toml" <<'RECIPE'
[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = [28, 32] },
  { stage = "horizontal_flip" },
  { stage = "to", dtype = "bf16" },
  { stage = "normalize", mean = [0.485, 0.456, 0.406], std = [0.229, 0.224, 0.225] },
]

[[field]]
name = "erased"
from = "image"
stages = [
  { stage = "decode" },
  { stage = "resize", size = [4, 4] },
  { stage = "to" },
  { stage = "random_erasing" },
]

[[field]]
name = "label"
RECIPE

expect 2 'place' serve "$images" --recipe "$work/recipe.toml" --stream s --finish-on-gpu
expect 2 'finish-on-gpu.*synthetic' serve synthetic:8 --stream s --place cuda:0 --finish-on-gpu
sed 's/"bf16"/"u8"/; /normalize/d' "$work/recipe.toml" >"$work/u8.toml"
expect 2 '`erased`: `random_erasing` works' serve "$images" --recipe "$work/u8.toml" --stream s --place cuda:0 \
  --finish-on-gpu

"$batchcast" dump "$images" --recipe "$work/recipe.toml" --seed 5 --positions 0:$((2 * samples)) \
  --out "$work/dump" --digest --json >"$work/dump.out" || exit 1
serve "$images" --recipe "$work/recipe.toml" --seed 5 --stream s --epochs 2 --place cuda:0 --finish-on-gpu --wait-for 3
for placement in cuda:0 host; do
  timeout 60 "$batchcast" consume s --placement $placement --batch-size 7 --digest --json --connect-timeout 20 \
    >"$work/$placement.out" 2>&1 &
done
expect 0 'verified' consume s --placement cuda:0 --batch-size 9 --verify --connect-timeout 20
wait
same "a trainer on the GPU" "$(value digests "$work/dump.out")" "$(value digests "$work/cuda:0.out")"
checks=$((checks + 1))
on_host=$(value digests "$work/host.out")
if [ -z "$on_host" ] || [ "$on_host" = "$(value digests "$work/dump.out")" ]; then
  fail "in host memory are no u8 pixels"
fi
checks=$((checks + 1))
grep -q 'field `image` is finished on the GPU' "$work/serve.err" || fail "serve does not say what is finished"
grep -q 'field `erased` stays on the CPU' "$work/serve.err" || fail "serve does not say what is not finished"

echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
