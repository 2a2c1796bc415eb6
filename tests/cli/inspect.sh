#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh inspect.sh BATCHCAST    what a source, a recipe and a stream are said to consist of, and what stands below
# the pictures of `peek`.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

python=/usr/bin/python3
$python "$here/make_images.py" "$work/images" 30 || exit 1
images=imagefolder:$work/images

# holds WHAT CONDITION    of the JSON object `it` that the last command printed
holds() {
  checks=$((checks + 1))
  $python - "$work/out" "$2" <<'CHECK' >"$work/checked" 2>&1 || fail "$1: not so: $2: $(tail -n 1 "$work/checked")"
import json, sys
lines = open(sys.argv[1]).read().splitlines()
assert len(lines) == 1, lines
it = json.loads(lines[0])
passes = {one["name"]: one.pop("passes") for one in it.get("fields", [])}
sizes = {one["name"]: [one.pop(key) for key in ("scale", "kind")] for one in it.get("fields", [])}
origin = {one["name"]: [one.pop(key) for key in ("from", "draws", "views")] for one in it.get("fields", [])}
field = {one["name"]: one for one in it.get("fields", [])}
assert eval(sys.argv[2])
CHECK
}
keys='sorted(it) == ["axes", "classes", "fields", "identity", "joints", "kind", "name", "order", "remarks", "samples"]'
field_keys='all(sorted(one) == ["bytes", "dtype", "name", "shape", "stages"] for one in it["fields"])'

echo "-- inspect: a source"
expect 0 '"kind":"source"' inspect "$images" --json
holds "a source" "$keys and $field_keys and it['name'].startswith('imagefolder:')"
holds "a source" 'it["samples"] == 30 and it["order"] is None and len(it["identity"]) == 32'
holds "a source" 'it["joints"] == it["remarks"] == [] and origin["image"] == [None, None, None]'
holds "a source" 'it["classes"] == ["cat", "dog", "\u00fcnusual name"] and list(field) == ["image", "label"]'
holds "a source" 'field["image"] == {"name": "image", "dtype": "image", "shape": None, "bytes": None, "stages": []}'
holds "a source" 'field["label"] == {"name": "label", "dtype": "i64", "shape": [], "bytes": 8, "stages": []}'
expect 0 'classes +3: cat, dog, ünusual name' inspect "$images"
expect 0 '^image  encoded images' inspect "$images"
expect 0 '^image  u8 \[28,28\]  784 bytes' inspect idx:/usr/share/datasets/fashion-mnist

echo "-- inspect: what a recipe makes of a source"
expect 0 '"kind":"source"' inspect "$images" --recipe imagenet-train --seed 3 --shard 1/2 --json
holds "a recipe's fields" "$keys and $field_keys"
holds "a recipe's fields" 'passes["image"][0][:2] == ["decode", "random_resized_crop"] and passes["label"] == []'
holds "a recipe's fields" 'it["samples"] == 15 and it["order"] == {"mode": "reshuffle"} and len(it["classes"]) == 3'
holds "a recipe's fields" 'field["image"]["dtype"] == "f32" and field["image"]["shape"] == [3, 224, 224]'
holds "a recipe's fields" 'field["image"]["bytes"] == 602112 and field["image"]["stages"][1]["size"] == [224, 224]'
identity=$(value identity "$work/out")
expect 0 '"kind":"source"' inspect "$images" --recipe imagenet-train --seed 4 --json
checks=$((checks + 1))
[ "$identity" != "$(value identity "$work/out")" ] || fail "the seed is not in the identity"
expect 0 '"dtype":"u8"' inspect synthetic:3x8x8 --dtype u8 --samples 70 --order fixed --json
holds "a synthetic source" 'it["samples"] == 70 and it["order"] == {"mode": "fixed"} and it["classes"] == []'
expect 2 'recipe' inspect synthetic:3x8x8 --recipe mnist

echo "-- inspect: a recipe"
expect 0 '"kind":"recipe"' inspect imagenet-train --json
holds "a preset" "$keys and $field_keys and it['samples'] is None and it['identity'] is None"
holds "a preset" 'field["image"]["shape"] == [3, 224, 224] and it["order"] == {"mode": "reshuffle"}'
holds "a preset" 'field["label"] == {"name": "label", "dtype": None, "shape": None, "bytes": None, "stages": []}'
holds "a preset" 'origin == {"image": ["image", "sample", None], "label": ["label", "sample", None]}'
expect 0 '^image  f32 \[3,224,224\]  602,112 bytes$' inspect imagenet-train
expect 0 '^ +from image, draws sample$' inspect imagenet-train
expect 0 '^ +from image, draws own, 8 views$' inspect dino
expect 0 '^joint of image, mask: draws sample$' inspect voc-segmentation
expect 0 '^  random_crop  .*mask_fill 255' inspect voc-segmentation
expect 0 '"kind":"recipe"' inspect voc-segmentation --json
holds "a joint" 'origin["mask"] == ["png", "sample", None] and it["joints"][0]["fields"] == ["image", "mask"]'
holds "a joint" '[one["stage"] for one in it["joints"][0]["stages"]][:2] == ["random_resize", "horizontal_flip"]'
expect 0 '"kind":"source"' inspect "$images" --recipe dino --json
holds "views" 'origin["local"] == ["image", "own", 8] and it["joints"] == []'

cat >"$work/two.toml" <<'RECIPE'
[[field]]
name = "hr"
from = "image"
scale = 2
stages = [{ stage = "decode" }, { stage = "to" }]
[[field]]
name = "lr"
from = "image"
kind = "image"
stages = [{ stage = "decode" }, { stage = "to" }]
[[joint]]
fields = ["hr", "lr"]
stages = [{ stage = "random_crop", size = 8 }]
RECIPE
expect 0 '^ +from image, draws sample, scale 2$' inspect "$work/two.toml"
expect 0 '^ +from image, draws sample, kind image$' inspect "$work/two.toml"
expect 0 '"kind":"recipe"' inspect "$work/two.toml" --json
holds "a scale and a kind" 'sizes == {"hr": [2, None], "lr": [None, "image"]}'

echo "-- inspect, check, peek: a mean of bytes"
cat >"$work/bytes.toml" <<'RECIPE'
[[field]]
name = "image"
stages = [{ stage = "decode" }, { stage = "center_crop", size = 8 }, { stage = "to" },
  { stage = "normalize", mean = [123.675, 116.28, 103.53], std = [58.395, 57.12, 57.375] }]
RECIPE
remark='`normalize` of the field `image` has mean \[123.675, .*0 to 1. Divide by 255: mean = \[0.485, .*std = \[0.229'
expect 0 "$remark" inspect "$work/bytes.toml"
expect 0 "$remark" inspect "$images" --recipe "$work/bytes.toml"
expect 0 "$remark" check "$images" --recipe "$work/bytes.toml"
expect 0 "$remark" peek "$images" --recipe "$work/bytes.toml" --count 1 --out "$work/sheet.png"
expect 0 '"remarks":\["`normalize`' peek "$images" --recipe "$work/bytes.toml" --count 1 --out "$work/sheet.png" --json
expect 0 '"remarks":\[\]' check "$images" --recipe imagenet-eval --json
expect 0 '^label  as the source has it$' inspect imagenet-train
expect 0 'random_resized_crop  .*scale \[0.08' inspect imagenet-train
expect 0 'in one pass: decode, random_resized_crop, horizontal_flip, to, normalize$' inspect imagenet-train

echo "-- recipe: what no source makes good is refused"
# refused STAGES: of the recipe's only field, by `recipe` and `inspect`
refused() {
  printf '[[field]]\nname = "image"\nstages = [{ stage = "decode" }, { stage = "center_crop", size = 8 },\n%s]\n' "$1" \
    >"$work/refused.toml"
  expect 2 'refused.toml:' recipe "$work/refused.toml"
  expect 2 'refused.toml:' recipe "$work/refused.toml" --json
  expect 2 'refused.toml:' inspect "$work/refused.toml"
}
refused '{ stage = "random_choice", stages = [{ stage = "to" }] }'
refused '{ stage = "decode" }'
refused '{ stage = "to" }, { stage = "gaussian_blur", kernel_size = 3 }'
refused '{ stage = "to", layout = "hw" }'
refused '{ stage = "random_crop", size = 9 }'
printf '[[field]]\nname = "image"\nstages = [{ stage = "random_crop", size = 9 }]\n' >"$work/right.toml"
expect 0 'is a recipe' recipe "$work/right.toml"  # of arrays: their source says more
printf '[order]\nmode = "blocks"\n' >"$work/blocks.toml"
expect 0 'order +blocks  block_samples 256' inspect "$work/blocks.toml"
expect 0 'fields +each part' inspect "$work/blocks.toml"
cat >"$work/pair.toml" <<'RECIPE'
[[field]]
name = "image"
stages = [{ stage = "decode" }, { stage = "to" }]
[[field]]
name = "mask"
stages = [{ stage = "decode", mode = "index" }, { stage = "to", dtype = "i64", layout = "hw" }]
[[joint]]
fields = ["image", "mask"]
views = 2
stages = [{ stage = "random_crop", size = 8 }]
RECIPE
expect 0 '"kind":"recipe"' inspect "$work/pair.toml" --json
holds "the stages of a joint" 'field["image"]["shape"] == [2, 3, 8, 8] and field["mask"]["shape"] == [2, 8, 8]'
holds "the stages of a joint" '[s["stage"] for s in field["mask"]["stages"]] == ["decode", "random_crop", "to"]'
sed 's/"image", "mask"/"image", "masc"/' "$work/pair.toml" >"$work/wrong.toml"
expect 2 'wrong.toml:8: joint: `fields` names `masc`.*Did you mean `mask`' inspect "$work/wrong.toml"
expect 2 'recipe.*source' inspect mnist --seed 3
expect 2 'neither a preset' inspect no-such.toml

echo "-- inspect: a stream"
serve "$images" --recipe imagenet-train --seed 3 --shard 1/2 --stream looked --memory 32MiB
producer=$!
expect 0 '"position":' peek looked --wait 30 --out "$work/sheet.png" --json
holds "labels of a stream" 'len(it["labels"]) == it["samples"] > 0'
holds "labels of a stream" 'set(it["labels"]) <= {"0 cat", "1 dog", "2 \u00fcnusual name"}'
for name in looked stream:looked; do
  expect 0 '"kind":"stream"' inspect $name --json
  of_stream=$(echo "$keys" | sed 's/"identity"/"heads", &/; s/"kind", /&"members", /')
  holds "a stream" "$of_stream and $field_keys and it['name'] == 'looked' and it['samples'] == 15"
  holds "a stream" 'field["image"]["bytes"] == 602112 and field["image"]["stages"][0]["stage"] == "decode"'
  holds "a stream" 'it["classes"] == ["cat", "dog", "\u00fcnusual name"] and it["order"] == {"mode": "reshuffle"}'
  same "identity of a stream and of what makes it" "$identity" "$(value identity "$work/out")"
done
expect 3 'Did you mean `looked`, which is served' inspect loked
expect 3 'waiting for .*`loked`. Did you mean `looked`' peek loked --wait 0.5 --out "$work/sheet.png"
expect 2 'stream.*recipe already' inspect looked --seed 3
expect 0 'is stopped' stop looked
wait $producer
expect 3 'no producer serves' inspect looked
expect 3 'Or is the preset `mnist` meant' inspect mnits
expect 2 'imagefolder:' inspect "$work/images"
expect 2 '`idx:/data`' inspect mnist:/data

echo "-- peek: letters"
$python - "$work/letters" <<'IMAGES'
import pathlib, sys
from PIL import Image
names = ["Golden retriever", "Ελληνικά", "犬と猫", "кот", "שלום a", "한글", "e\u0301clair", "عر", "x" * 99]
for name in names:
    (pathlib.Path(sys.argv[1]) / name).mkdir(parents=True)
    Image.new("RGB", (30, 20), "gray").save(pathlib.Path(sys.argv[1]) / name / "a.png")
IMAGES
# label_of POSITION LETTERS    as the sheet shows them, from left to right
label_of() {
  expect 0 '^1 sample from' peek "imagefolder:$work/letters" --recipe "$work/whole.toml" \
    --positions "$1:$(($1 + 1))" --out "$work/letters.png"
  checks=$((checks + 1))
  $python "$here/drawn_label.py" "$work/letters.png" 100 "$2" >"$work/out" 2>&1 ||
    fail "the label $2 is drawn otherwise"
}
printf '[order]\nmode = "sequential"\n[[field]]\nname = "image"\nstages = [{ stage = "decode" },
{ stage = "center_crop", size = 100 }]\n[[field]]\nname = "label"\n' >"$work/whole.toml"
label_of 0 "0 Golden retriev"
label_of 2 "2 xxxxxxxxxxxxxx"
label_of 3 "3 Ελληνικά"
label_of 4 "4 кот"
label_of 5 "5 םולש a"
label_of 6 "6 □□"
label_of 7 "7 犬と猫"
label_of 8 "8 한글"
# An accent that stands alone is on the letter before it.
label_of 1 "1 $(printf 'e\314\201')clair"
expect 0 'colours as before `normalize` of the field `image`' peek "$images" --recipe imagenet-eval --count 1 \
  --out "$work/sheet.png"
expect 0 '"undoes_normalize":true' peek "$images" --recipe imagenet-eval --count 1 --out "$work/sheet.png" --json
expect 0 '"undoes_normalize":false' peek "$images" --recipe "$work/whole.toml" --count 1 --out "$work/sheet.png" --json

echo "-- peek"
expect 0 '"labels":\["[012] (cat|dog|ünusual name)"' peek "$images" --recipe imagenet-eval --positions 0:4 \
  --out "$work/sheet.png" --json
expect 0 '"labels":\["label [0-9]+"' peek idx:/usr/share/datasets/fashion-mnist --positions 0:2 \
  --out "$work/sheet" --json
expect 0 '^1 sample from position 0' peek "$images" --recipe imagenet-eval --count 1 --out "$work/sheet.PNG"
cd "$work" || exit 1
expect 0 '^1 sample from position 0' peek 'imagefolder:images?allow_empty=true' --recipe imagenet-eval --count 1 \
  --out sheet.png

# shows SHEET CONDITION    of pixel(x, y) and part(sheet, number): the number-th of the pictures of 224 x 224
shows() {
  checks=$((checks + 1))
  $python - "$work/$1" "$2" <<'CHECK' >"$work/checked" 2>&1 || fail "$1: not so: $2: $(tail -n 1 "$work/checked")"
import sys
from PIL import Image
folder, name = sys.argv[1].rsplit("/", 1)
sheet = Image.open(sys.argv[1])
def part(name, number):
    left = 6 + 230 * number
    return list(Image.open(f"{folder}/{name}").crop((left, 6, left + 224, 230)).getdata())
def pixel(x, y):
    return sheet.getpixel((x, y))
assert eval(sys.argv[2])
CHECK
}
expect 0 '"views":2,' peek "$images" --recipe simclr --count 3 --out both.png --json
holds "views of samples" 'it["samples"] == len(it["labels"]) == 3 and it["width"] == 6 + 4 * 230'
for view in 0 1; do
  expect 0 "^1 sample from position 0" peek "$images" --recipe simclr --count 1 --view $view --out view$view.png
  shows both.png "part('both.png', $view) == part('view$view.png', 0)"
done
shows both.png "part('both.png', 0) != part('both.png', 1)"
serve "$images" --recipe simclr --stream twins --memory 64MiB
producer=$!
expect 0 '"views":2,' peek twins --wait 30 --count 1 --out twins.png --json
shows twins.png "part('twins.png', 0) != part('twins.png', 1) and len(set(part('twins.png', 1))) > 50"
expect 0 'is stopped' stop twins
wait $producer
expect 0 '^2 samples of 8 views from position 0' peek "$images" --recipe dino --field local --count 2 --out local.png
expect 0 '"views":8,' peek "$images" --recipe dino --field local --count 32 --out local.png --json
expect 2 '256 pictures at most, and 33 samples of 8 views are 264. Take 32 samples at most, or .*--view' \
  peek "$images" --recipe dino --field local --count 33 --out local.png
expect 0 '^33 samples from' peek "$images" --recipe dino --field local --count 33 --view 7 --out local.png
# 90 views of 8 x 8 pixels, and 320 of them.
for views in 9 32; do
  cat >"$work/views$views.toml" <<RECIPE
[[field]]
name = "image"
views = $views
stages = [{ stage = "decode" }, { stage = "resize", size = [8, 8] }, { stage = "ten_crop", size = 8 }]
RECIPE
done
expect 0 '^2 samples of 90 views from position 0' peek "$images" --recipe views9.toml --out many.png
expect 2 '1 sample of 320 views are 320. Take one of the views with --view' peek "$images" \
  --recipe views32.toml --out many.png
expect 0 '^32 samples from position 0' peek "$images" --recipe views32.toml --view 319 --out many.png
sed -e 's/"decode"/"decode", mode = "gray"/' -e 's/size = 8 }/size = 8 }, { stage = "to", layout = "hw" }/' \
  views9.toml >gray.toml
expect 0 '^1 sample of 90 views from' peek "$images" --recipe gray.toml --count 1 --out many.png
expect 2 'field `image` has no view 2: its views are 0 to 1' peek "$images" --recipe simclr --view 2 --out no.png
expect 2 'has no view 1: it has one .* without --view' peek "$images" --recipe imagenet-eval --view 1 --out no.png
expect 2 'view' peek "$images" --recipe simclr --view first --out no.png
expect 2 'no field `imgae`. The fields are .* Did you mean `image`' peek "$images" --recipe imagenet-eval \
  --field imgae --out no.png
expect 2 'field `label` cannot be shown as a picture: it takes .*label' peek "$images" --recipe imagenet-eval \
  --field label --out no.png

# Ids 0, 1, 2 and 255, a quarter of the image each, and levels of 16 bits.
$python - "$work" <<'SAMPLES' || exit 1
import io, sys, tarfile
import numpy
from PIL import Image
ids = numpy.kron(numpy.array([[0, 1], [2, 255]], numpy.uint8), numpy.ones((48, 48), numpy.uint8))
mask = Image.fromarray(ids, "P")
mask.putpalette([0] * 768)
files = {"jpg": (Image.new("RGB", (96, 96), "white"), "JPEG"), "png": (mask, "PNG"),
         "depth.png": (Image.fromarray((ids > 0).astype(numpy.int32) * 1000 + 500), "PNG")}
with tarfile.open(sys.argv[1] + "/masks.tar", "w") as tar:
    for ending, (image, form) in files.items():
        data = io.BytesIO()
        image.save(data, form)
        entry = tarfile.TarInfo("0." + ending)
        entry.size = len(data.getvalue())
        tar.addfile(entry, io.BytesIO(data.getvalue()))
SAMPLES
cat >"$work/masks.toml" <<'RECIPE'
[[field]]
name = "mask"
from = "png"
views = 2
stages = [{ stage = "decode", mode = "index" }, { stage = "center_crop", size = 96 },
          { stage = "to", dtype = "i64", layout = "hw" }]
[[field]]
name = "depth"
from = "depth.png"
stages = [{ stage = "decode", mode = "keep", channels = 1, bits = 16 }, { stage = "center_crop", size = 96 },
          { stage = "to", dtype = "i32", layout = "hw" }]
RECIPE
expect 0 '"field":"mask",.*"views":2,' peek webdataset:masks.tar --recipe masks.toml --count 1 --field mask \
  --out ids.png --json
for x in 6 108; do
  shows ids.png "[pixel($x + a, 6 + b) for b in (5, 90) for a in (5, 90)] == \
    [(0, 0, 0), (128, 0, 0), (0, 128, 0), (224, 224, 192)]"
done
# A large one is shown smaller, and no mixture of two colours is taken for another id.
head -n 6 masks.toml | sed 's/"center_crop", size = 96/"resize", size = [398, 398]/' >large.toml
expect 0 '^1 sample of 2 views' peek webdataset:masks.tar --recipe large.toml --count 1 --field mask --out large.png
shows large.png "{pixel(6 + a, 6 + b) for a in range(199) for b in range(199)} == \
  {(0, 0, 0), (128, 0, 0), (0, 128, 0), (224, 224, 192)}"
expect 0 '^1 sample from' peek webdataset:masks.tar --recipe masks.toml --count 1 --field depth --out depth.png
shows depth.png "pixel(11, 11) == (0, 0, 0) and pixel(96, 11) == (255, 255, 255)"
expect 0 '"field":"image"' peek webdataset:masks.tar --recipe voc-segmentation --count 1 --out voc.png --json
expect 0 '"field":"mask"' peek webdataset:masks.tar --recipe voc-segmentation --count 1 --field mask \
  --out voc.png --json
for ending in jpg JPEG webp gif; do
  expect 2 'PNG.*write --out .*sheet.png' peek "$images" --recipe imagenet-eval --out "$work/sheet.$ending"
  checks=$((checks + 1))
  [ ! -e "$work/sheet.$ending" ] || fail "peek wrote sheet.$ending"
done

# What a cache would do.
expect 0 'JPEGs in .* are kept, in 1.[0-9]* times .* for all samples' inspect "$images" --cache
expect 0 'one worker: [0-9,]+ samples/s from files, [0-9,]+ while it fills' inspect "$images" --recipe imagenet-train \
  --cache
expect 0 '"size_ratio":1[.]' inspect "$images" --recipe imagenet-train --cache --json
expect 2 'goes with a source of files' inspect imagenet-train --cache

finish
