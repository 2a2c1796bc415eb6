#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh pictures_selftest.sh BATCHCAST    checks that docs/stage_pictures.py finds each planted fault, and says nothing of
# what the tree has
set -eu
batchcast=$1
docs=$(cd "$(dirname "$0")/../../docs" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fresh() {
  rm -rf "$work/docs"
  mkdir "$work/docs"
  cp -r "$docs"/*.py "$docs/recipes.md" "$docs/stages" "$docs/presets" "$work/docs"
}

# check NAME...: with the status of stage_pictures.py, which says what it found in $work/said
check() { /usr/bin/python3 -B "$work/docs/stage_pictures.py" --command "$batchcast" --check "$@" >"$work/said" 2>&1; }

# finds TEXT NAME...: that it objects, and says TEXT
finds() {
  text=$1
  shift
  if check "$@" || ! grep -qF "$text" "$work/said"; then
    failed=1
    echo "not found: $text"
    sed 's/^/  /' "$work/said"
  fi
  fresh
}

fresh
check || { failed=1 && cat "$work/said"; }

sed -i '/^!\[solarize\]/d' "$work/docs/recipes.md"
finds "solarize: recipes.md shows no picture of this stage"

cp "$work/docs/stages/solarize.webp" "$work/docs/stages/posterise.webp"
finds "stages/posterise.webp: recipes.md does not show it"

cp "$work/docs/stages/solarize.webp" "$work/docs/stages/to.webp"
printf '\n`{ stage = "to" }`\\\n![to](stages/to.webp)\n' >>"$work/docs/recipes.md"
finds "to: recipes.md shows a picture, and there is no such stage, or none that changes pictures"

rm "$work/docs/stages/solarize.webp"
finds "stages/solarize.webp: is missing"

sed -i 's/threshold = 128, p = 1 }`/threshold = 64, p = 1 }`/' "$work/docs/recipes.md"
finds 'stages/solarize.webp: does not show { stage = "solarize", threshold = 64, p = 1 }'

# A hut with a green roof: what a stage with other pixels would be.
sed -i 's/fill=(178, 44, 38)/fill=(44, 178, 38)/' "$work/docs/photograph.py"
finds "stages/decode.webp: looks otherwise now" decode

exit $failed
