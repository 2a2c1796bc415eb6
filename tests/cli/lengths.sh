#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh lengths.sh BATCHCAST    sources and recipes whose samples differ in length: inspect, dump, check, peek, serve.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

python=/usr/bin/python3
$python "$here/make_images.py" "$work/images" 12 || exit 1
images=imagefolder:$work/images
$python - "$work" <<'ARRAYS' || exit 1
import sys
import numpy
random = numpy.random.default_rng(0)
lengths = random.integers(0, 6, 40)
offsets = numpy.concatenate(([0], numpy.cumsum(lengths)))
numpy.save(sys.argv[1] + "/boxes.npy", random.random((offsets[-1], 4), dtype=numpy.float32))
numpy.save(sys.argv[1] + "/classes.npy", random.integers(0, 9, offsets[-1]))
numpy.save(sys.argv[1] + "/offsets.npy", offsets)
numpy.save(sys.argv[1] + "/label.npy", numpy.arange(40))
numpy.arange(150000).astype(numpy.uint16).tofile(sys.argv[1] + "/tokens.bin")
ARRAYS
offsets=$work/offsets.npy
arrays=npy:boxes=$work/boxes.npy,boxes.offsets=$offsets,classes=$work/classes.npy,classes.offsets=$offsets
arrays=$arrays,$work/label.npy
tokens=tokens:$work/tokens.bin
cat >"$work/own.toml" <<'RECIPE'
[[field]]
name = "image"
axis = "pixels"
stages = [ { stage = "decode" }, { stage = "resize", size = 32 }, { stage = "horizontal_flip" } ]

[[field]]
name = "label"
RECIPE

echo "-- inspect"
expect 0 'axis +boxes: 0 to 5 rows a sample, [0-9.]+ on average, [0-9]+ in all' inspect "$arrays"
expect 0 'boxes +f32 \[boxes,4\] +16 bytes a row' inspect "$arrays"
expect 0 'tokens: 18,928 to 65,536 rows a sample, 50000.0 on average, 150,000 in all' inspect "$tokens"
expect 0 '"axes":\[\{"name":"tokens","rows":\{"max":65536,"mean":50000.0,"min":18928,"total":150000\}\}\]' \
  inspect "$tokens" --json
expect 0 'image +u8 \[pixels,3\]' inspect "$images" --recipe "$work/own.toml"
expect 0 'image_size +i32 \[2\]' inspect "$images" --recipe "$work/own.toml"
expect 0 '"axes":\[\{"name":"pixels","rows":null\}\]' inspect "$images" --recipe "$work/own.toml" --json
expect 0 'image +u8 \[pixels,3\]' inspect "$work/own.toml"
printf '[[field]]\nname = "tokens"\nstages = [ { stage = "to", dtype = "i32" } ]\n' >"$work/to.toml"
expect 2 'save the rows as the dtype that is wanted' inspect "$tokens" --recipe "$work/to.toml"
expect 0 '40 of 40 samples checked.*0 bad' check "$arrays"
expect 0 '0 bad' check "$images" --recipe "$work/own.toml"
expect 3 'last offset' inspect "npy:boxes=$work/label.npy,boxes.offsets=$offsets"

expect 3 'do not belong together. Name an array .* tokens.offsets=FILE' \
  inspect "npy:$work/classes.npy,$offsets"

echo "-- dump, and the same from what it wrote"
expect 0 'boxes.offsets.npy: where each sample.s rows begin on the axis `boxes`, i64 \[81\]' \
  dump "$arrays" --seed 3 --positions 0:80 --out "$work/dump" --digest
digest=$(sed -n 's/digest of epoch 0: //p' "$work/out")
checks=$((checks + 1))
$python - "$work" >"$work/out" 2>"$work/err" <<'CHECK' || fail "what dump wrote"
import sys
import numpy
load = lambda name: numpy.load(f"{sys.argv[1]}/{name}.npy")
offsets, ids = load("dump/boxes.offsets"), load("dump/sample_id").astype(int)
assert offsets.dtype == numpy.int64 and offsets.shape == (81,) and offsets[0] == 0
assert sorted(ids[:40]) == list(range(40)) and (ids[:40] != ids[40:]).any()
assert len(load("dump/boxes")) == len(load("dump/classes")) == offsets[-1] == 2 * load("offsets")[-1]
assert (load("dump/label") == ids).all()
for name in ("boxes", "classes"):
    for i, sample in enumerate(ids):
        begin, end = load("offsets")[sample : sample + 2]
        assert (load(f"dump/{name}")[offsets[i] : offsets[i + 1]] == load(name)[begin:end]).all(), i
CHECK
again=npy:boxes=$work/dump/boxes.npy,boxes.offsets=$work/dump/boxes.offsets.npy
expect 0 'samples +80' inspect "$again"
expect 0 '"offsets_file":"pixels.offsets.npy"' \
  dump "$images" --recipe "$work/own.toml" --positions 0:12 --out "$work/pixels" --json
checks=$((checks + 1))
$python - "$work" >"$work/out" 2>"$work/err" <<'CHECK' || fail "what dump wrote of pixels"
import sys
import numpy
load = lambda name: numpy.load(f"{sys.argv[1]}/pixels/{name}.npy")
sizes = load("image_size")
assert sizes.dtype == numpy.int32 and sizes.shape == (12, 2) and (sizes.min(axis=1) == 32).all()
assert (sizes.prod(axis=1) == numpy.diff(load("pixels.offsets"))).all()
assert load("image").dtype == numpy.uint8 and load("image").shape == (sizes.prod(axis=1).sum(), 3)
CHECK

echo "-- peek"
expect 0 '"rows":\{"pixels":\[[0-9]+,[0-9]+,[0-9]+\]\}' \
  peek "$images" --recipe "$work/own.toml" --positions 0:3 --out "$work/sheet.png" --json
checks=$((checks + 1))
$python -c 'import sys; from PIL import Image; assert len(Image.open(sys.argv[1]).getcolors(1 << 24)) > 500' \
  "$work/sheet.png" >"$work/out" 2>"$work/err" || fail "the sheet of images that keep their sizes"
expect 2 'no field can be shown.*NAME_size' peek "$arrays" --out "$work/sheet.png"

echo "-- serve, with the digest that dump has"
serve "$arrays" --seed 3 --stream boxes --memory 1MiB --epochs 1 --wait-for 1 --json
expect 0 "\"digests\":\[\"$digest\"\]" consume boxes --budget boxes=20 --digest --verify --json
same "wrong samples" 0 "$(value torn "$work/out")"
rows=$($python -c "import numpy; print(numpy.load('$offsets')[-1])")
same "verified bytes, of all rows, labels and ids" $((rows * 24 + 40 * 16)) "$(value verified_bytes "$work/out")"
wait
expect 2 'verify makes whole samples again' consume boxes --window boxes=8x2 --verify
expect 2 'oversize drop is of samples beyond a --budget' consume boxes --oversize drop
expect 2 'extra 1 is rows.*--window tokens=2048x8' consume boxes --extra 1
expect 0 'digest of epoch 0' dump "$tokens" --positions 0:3 --out "$work/tokens" --digest
digest=$(sed -n 's/digest of epoch 0: //p' "$work/out")
serve "$tokens" --stream tokens --rows tokens=128K --epochs 1 --wait-for 1
expect 0 "\"digests\":\[\"$digest\"\]" consume tokens --budget tokens=65536 --digest --json
wait
expect 2 'has no room for one sample. The longest has 65,536 rows on the axis .tokens.: give the stream --memory' \
  serve "$tokens" --stream tokens --memory 64KiB
memory=$(sed -n 's/.*give the stream --memory \([0-9]*KiB\).*/\1/p' "$work/err")
serve "$tokens" --stream tokens --memory "$memory" --epochs 1 --wait-for 1
expect 0 'receipts match' consume tokens --batch-size 1 --epochs 1
wait
expect 2 'the longest sample has 5 rows on the axis `boxes`, and the ring has 3: an epoch .* --rows boxes=5\.$' \
  serve "$arrays" --stream boxes --rows boxes=3 --epochs 1
expect 4 'the ring has 3: the stream fails at the first sample that does not fit. Give the stream --rows boxes=5' \
  serve "$arrays" --stream boxes --rows boxes=3 --shard 0/1 --epochs 1
expect 0 'digest of epoch 1' dump "$images" --recipe "$work/own.toml" --positions 0:24 --out "$work/two" --digest
digest=$(sed -n 's/digest of epoch 0: //p' "$work/out")
serve "$images" --recipe "$work/own.toml" --stream images --memory 4MiB --epochs 1 --wait-for 1
expect 0 "\"digests\":\[\"$digest\"\]" consume images --batch-size 5 --digest --json
wait
serve "$images" --recipe "$work/own.toml" --stream images --memory 4MiB
expect 0 '"field":"image"' peek images --count 3 --out "$work/sheet.png" --json
expect 0 'pixels' inspect images
expect 0 '' stop images
wait
expect 2 'rings on GPUs' serve "$images" --recipe "$work/own.toml" --stream images --place cuda:0

echo "-- numbers that no ring has"
expect 2 'rows of the axis .boxes. are too many: the most is' \
  serve "$arrays" --stream boxes --rows boxes=1e30
expect 2 'rows of the axis .boxes. have to be a whole number' \
  serve "$arrays" --stream boxes --rows boxes=1.5

echo "-- the stash of samples whose lengths making tells"
expect 3 'stash of finished samples up to [0-9.]+ .iB, and .* left .*the stash less \(--stash\)' \
  serve "$images" --recipe "$work/own.toml" --stream stashed --memory 4MiB --stash 900TiB
serve "$images" --recipe "$work/own.toml" --stream stashed --memory 4MiB --epochs 1 --wait-for 1 --stash 0
expect 0 "\"digests\":\[\"$digest\"\]" consume stashed --batch-size 5 --digest --json
wait

finish
