#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
#
# sh pipeline.sh BATCHCAST    datasets through the command: serve, dump, check, peek, bench, and what wrong
# input gets.
set -u
batchcast=$1
here=$(cd "$(dirname "$0")" && pwd)
. "$here/support.sh"

fashion=idx:/usr/share/datasets/fashion-mnist
python=/usr/bin/python3
samples=60
$python "$here/make_images.py" "$work/images" $samples || exit 1
images=imagefolder:$work/images

cat >"$work/recipe.toml" <<'RECIPE'
[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 32 },
  { stage = "horizontal_flip" },
  { stage = "to", dtype = "f16" },
]

[[field]]
name = "label"
RECIPE

echo "-- sources that cannot be meant"
expect 2 'kind of dataset .*imagefolder' serve imagefoldr:/nowhere --stream s
expect 2 'read as `idx`: write `idx:/nowhere`.*synthetic' serve mnist:/nowhere --stream s
expect 2 'imagefolder:' serve "$work/images" --stream s
expect 2 'imagenet-train' serve "$images" --stream s
expect 3 'nowhere' serve imagefolder:/nowhere --recipe imagenet-train --stream s
mkdir -p "$work/empty"
expect 3 'empty' serve "imagefolder:$work/empty" --recipe imagenet-train --stream s
expect 2 'no dataset' check synthetic:8
expect 2 'dtype.*synthetic' serve "$images" --recipe imagenet-train --stream s --dtype u8
expect 2 'order.*recipe' serve "$images" --recipe imagenet-train --stream s --order fixed
expect 2 'recipe.*synthetic' serve synthetic:8 --recipe imagenet-train --stream s
expect 2 'below N' serve "$images" --recipe imagenet-train --stream s --shard 2/2
expect 2 'I/N' serve "$images" --recipe imagenet-train --stream s --shard half
expect 2 'workers.*auto' serve "$images" --recipe imagenet-train --stream s --workers many
expect 2 'substitute' serve "$images" --recipe imagenet-train --stream s --max-bad 3

echo "-- recipes that cannot be meant"
expect 2 'imagenet-train' serve "$images" --recipe imagenet-trian --stream s
sed 's/horizontal_flip/horizontal_flop/' "$work/recipe.toml" >"$work/wrong.toml"
expect 2 'wrong.toml:6.*horizontal_flip' serve "$images" --recipe "$work/wrong.toml" --stream s
sed 's/size = 32/sise = 32/' "$work/recipe.toml" >"$work/wrong.toml"
expect 2 'wrong.toml:5.*size' serve "$images" --recipe "$work/wrong.toml" --stream s
echo 'this is no TOML' >"$work/wrong.toml"
expect 2 'wrong.toml:1' serve "$images" --recipe "$work/wrong.toml" --stream s
sed 's/name = "label"/name = "lable"/' "$work/recipe.toml" >"$work/wrong.toml"
expect 2 'label.*from = "label"' serve "$images" --recipe "$work/wrong.toml" --stream s

echo "-- dump"
expect 2 'A:B' dump "$images" --recipe "$work/recipe.toml" --positions 1-2 --out "$work/dump"
expect 2 'below B' dump "$images" --recipe "$work/recipe.toml" --positions 9:3 --out "$work/dump"
expect 0 '"digests":\["[0-9a-f]{32}",null\]' dump "$images" --recipe "$work/recipe.toml" --seed 3 \
  --positions 0:$((samples + 5)) --out "$work/dump" --digest --json
digest=$(sed -n 's/.*"digests":\["\([0-9a-f]*\)".*/\1/p' "$work/out")
expect 2 'not empty.*--force' dump "$images" --recipe "$work/recipe.toml" --positions 0:1 --out "$work/dump"
checks=$((checks + 1))
$python - "$work/dump" $samples >"$work/out" 2>"$work/err" <<'CHECK' || fail "what dump wrote"
import json, pathlib, sys
import numpy
folder, samples = pathlib.Path(sys.argv[1]), int(sys.argv[2])
image, label, ids = (numpy.load(folder / f"{name}.npy") for name in ("image", "label", "sample_id"))
assert image.shape == (samples + 5, 3, 32, 32) and image.dtype == numpy.float16, image
assert label.shape == (samples + 5,) and label.dtype == numpy.int64
assert sorted(ids[:samples]) == list(range(samples)) and ids.dtype == numpy.uint64
draws = [json.loads(line) for line in open(folder / "draws.jsonl")]
assert [draw["position"] for draw in draws] == list(range(samples + 5))
assert [draw["sample_id"] for draw in draws] == ids.tolist()
assert len({draw["path"] for draw in draws}) == samples
views = [draw["fields"]["image"]["views"] for draw in draws]
assert all(len(view) == 1 for view in views)
assert {view[0]["flip"] for view in views} == {True, False}
assert all(len(view[0]["crop"]) == 4 and min(view[0]["crop"][2:]) > 0 for view in views)
CHECK
expect 0 '^1 sample,' dump "$images" --recipe "$work/recipe.toml" --positions 0:1 --out "$work/dump" --force
sed 's/^name = "image"/&\nviews = 2/' "$work/recipe.toml" >"$work/views.toml"
expect 0 '^5 samples,' dump "$images" --recipe "$work/views.toml" --positions 0:5 --out "$work/dump" --force
checks=$((checks + 1))
$python - "$work/dump" >"$work/out" 2>"$work/err" <<'CHECK' || fail "what dump wrote of two views"
import json, pathlib, sys
import numpy
folder = pathlib.Path(sys.argv[1])
assert numpy.load(folder / "image.npy").shape == (5, 2, 3, 32, 32)
draws = [json.loads(line)["fields"]["image"]["views"] for line in open(folder / "draws.jsonl")]
assert all(len(views) == 2 and views[0]["crop"] != views[1]["crop"] for views in draws)
CHECK
expect 0 'digest of epoch 1: [0-9a-f]{32}' dump synthetic:3x8x8 --samples 100 --positions 100:200 \
  --out "$work/dump-synthetic" --digest

echo "-- serve, with the digests that dump has"
serve "$images" --recipe "$work/recipe.toml" --seed 3 --stream images --memory 1MiB --epochs 1 \
  --wait-for 2 --json
timeout 60 "$batchcast" consume images --batch-size 7 --digest --json >"$work/a" 2>/dev/null &
timeout 60 "$batchcast" consume images --batch-size 1 --digest --verify --json >"$work/b" 2>"$work/b.err"
same "exit code of consume --verify" 0 $?
wait
for consumer in a b; do
  same "digest of $consumer" "[\"$digest\"]" "$(value digests "$work/$consumer")"
  same "receipts of $consumer" '"match"' "$(value receipts "$work/$consumer")"
  same "samples of $consumer" $samples "$(value samples "$work/$consumer")"
done
same "torn of b" 0 "$(value torn "$work/b")"
same "verified bytes of b" $((samples * (3 * 32 * 32 * 2 + 16))) "$(value verified_bytes "$work/b")"
has_keys "$work/serve.out" stream state published seconds bad_samples drained
same "bad samples" 0 "$(value bad_samples "$work/serve.out")"

echo "-- a dataset without a recipe, and shards"
serve "$fashion" --stream fashion --epochs 1 --shard 3/4 --wait-for 1
expect 0 '"samples":15000' consume fashion --batch-size 256 --json
wait

echo "-- cursors that no stream has, and one at the limit"
far_cursors() {
  serve "$@" --stream far --memory 1MiB
  producer=$!
  for cursor in 4611686018427387904 9223372036854774000 9223372036854775000 9223372036854775774 \
    9223372036854775806 9223372036854775807; do
    for how in "--pace lockstep" "--pace free" "--between-epochs let-go"; do
      # shellcheck disable=SC2086
      expect 3 "$cursor.*from 0 to 4611686018427387903" consume far --join at --cursor $cursor $how
    done
  done
  expect 0 'receipts match' consume far --join at --cursor 4611686018427387903 --verify --epochs 2
  ls_shows '"state":"running"' --json
  kill -INT $producer && wait $producer
  same "exit code of a producer that was asked for the impossible" 0 $?
}
far_cursors synthetic:16x16 --samples 1000
far_cursors "$images" --recipe "$work/recipe.toml"

echo "-- bad samples"
cp -r "$work/images" "$work/broken"
broken=$(find "$work/broken" -name '*.jpg' | sort | head -n 1)
head -c 300 "$broken" >"$work/short" && mv "$work/short" "$broken"
name=$(basename "$broken")
serve "imagefolder:$work/broken" --recipe "$work/recipe.toml" --stream bad --epochs 1 --wait-for 1
producer=$!
expect 4 "$name" consume bad --batch-size 8
wait $producer
same "exit code of a stream that failed" 4 $?
checks=$((checks + 1))
grep -q "$name" "$work/serve.err" || fail "serve does not name the broken file"
serve "imagefolder:$work/broken" --recipe "$work/recipe.toml" --stream bad --epochs 2 --wait-for 1 \
  --on-bad-sample substitute --bad-list "$work/bad.txt" --json
expect 0 'receipts match' consume bad --batch-size 8
wait
same "bad samples counted" 1 "$(value bad_samples "$work/serve.out")"
same "bad samples listed" 1 "$(grep -c "$name" "$work/bad.txt")"
same "different samples that stood in" 1 "$(value stand_ins "$work/serve.out")"
same "how often they did" 2 "$(value stand_in_times "$work/serve.out")"
for epochs in 1 3; do
  times=$([ $epochs -eq 1 ] && echo "1 time" || echo "$epochs times")
  serve "imagefolder:$work/broken" --recipe "$work/recipe.toml" --stream bad --epochs $epochs --wait-for 1 \
    --on-bad-sample substitute
  expect 0 'receipts match' consume bad --batch-size 8
  wait
  checks=$((checks + 1))
  grep -q ", 1 bad sample, for which 1 other stood in $times\$" "$work/serve.out" || fail "serve does not say $times"
done
serve "imagefolder:$work/broken" --recipe "$work/recipe.toml" --stream bad --epochs 1 --wait-for 1 \
  --on-bad-sample substitute --max-bad 0
producer=$!
expect 4 'more than 0' consume bad --batch-size 8
wait $producer
same "exit code of too many bad samples" 4 $?

echo "-- check"
expect 0 "$samples of $samples samples checked" check "$images"
expect 1 "$name: .+" check "imagefolder:$work/broken" --list "$work/list.txt"
same "samples listed" 1 "$(grep -c "$name" "$work/list.txt")"
expect 1 '"bad":1,' check "imagefolder:$work/broken" --recipe "$work/recipe.toml" --workers 2 --json
has_keys "$work/out" source samples checked seconds bad list sample_id name reason later remarks
# What the first epoch cannot show: images of 238 to 298 pixels before a crop of 240.
mkdir -p "$work/sizes/a"
/usr/bin/python3 - "$work/sizes/a" <<'IMAGES'
import sys
from PIL import Image
for i in range(2):
    Image.new("RGB", (400, 300 - i)).save(f"{sys.argv[1]}/{i}.png")
IMAGES
# sizes STAGES    of the recipe in $work/sizes.toml
sizes() {
  printf '[[field]]\nname = "image"\nstages = [{ stage = "decode" },\n%s,\n%s]\n' "$1" \
    '{ stage = "random_crop", size = 240 }' >"$work/sizes.toml"
}
resize='{ stage = "random_resize", min_size = 238, max_size = 299 }'
sizes "$resize"
expect 1 '`random_crop#0` .* may refuse 2 samples, such as a/0.png; .* 317 x 238 to 397 x 298 .* 240x240' \
  check "imagefolder:$work/sizes" --recipe "$work/sizes.toml"
expect 1 '"later":\[\{"field":"image","name":"a/0.png",.*"samples":2,"stage":"random_crop#0"' \
  check "imagefolder:$work/sizes" --recipe "$work/sizes.toml" --json
sizes '{ stage = "random_resize", min_size = 240, max_size = 299 }'
expect 0 ' 0 bad$' check "imagefolder:$work/sizes" --recipe "$work/sizes.toml"
sizes '{ stage = "random_apply", p = 0.001, stages = [{ stage = "random_short_side", min_size = [200, 300] }] }'
expect 2 'samples would differ' check "imagefolder:$work/sizes" --recipe "$work/sizes.toml"
sizes '{ stage = "random_short_side", p = 0.001, min_size = [200, 300] }, { stage = "color_jitter" }'
expect 1 'random_crop#0.*266 x 200 to 400 x 300 pixels' check "imagefolder:$work/sizes" --recipe "$work/sizes.toml"
sizes '{ stage = "scale_jitter", target_size = [300, 400], scale_range = [0.7, 2] }'
expect 1 'random_crop#0.* may refuse' check "imagefolder:$work/sizes" --recipe "$work/sizes.toml"
sizes '{ stage = "pad", padding = 20 }, { stage = "random_resize", min_size = 200, max_size = 212 },
  { stage = "pad", padding = 15 }'
expect 1 'such as a/0.png' check "imagefolder:$work/sizes" --recipe "$work/sizes.toml"
sizes '{ stage = "random_resize", min_size = 200, max_size = 210 }'
expect 1 '^a/0.png: ' check "imagefolder:$work/sizes" --recipe "$work/sizes.toml"
checks=$((checks + 1))
! grep -q 'in a later epoch' "$work/out" || fail "what every epoch refuses is said to fail later"
expect 3 'nowhere' check imagefolder:/nowhere

echo "-- peek"
# picture NAME: a picture of some size that is not all of one colour.
picture() {
  checks=$((checks + 1))
  $python -c 'import sys; from PIL import Image
image = Image.open(sys.argv[1]); image.load()
assert image.mode == "RGB" and min(image.size) > 50 and len(set(image.getdata())) > 50, image' \
    "$1" >"$work/out" 2>"$work/err" || fail "the picture $1"
}
expect 0 '16 samples' peek "$images" --recipe imagenet-train --positions 8:24 --out "$work/sheet.png"
picture "$work/sheet.png"
expect 2 'cannot|can be shown' peek "$images" --recipe imagenet-train --field label --out "$work/no.png"
expect 2 'at most' peek "$images" --recipe imagenet-train --positions 0:1000 --out "$work/no.png"
expect 3 'no producer' peek nobody --wait 0.2 --out "$work/no.png"
serve "$fashion" --recipe mnist --stream peeked --memory 4MiB --epochs 1
expect 0 "32 samples" peek peeked --wait 30 --out "$work/stream.png"
picture "$work/stream.png"
same "epochs that a peek moves" 0 "$("$batchcast" ls --json | sed -n 's/.*"epoch":\([0-9]*\).*/\1/p')"
expect 0 '"samples":60000' consume peeked --batch-size 256 --json
wait

echo "-- the end within a second"
# ends_soon NAME PID    within a second, where nothing else keeps the processors busy
ends_soon() {
  checks=$((checks + 1))
  pkill -INT -P "$2"
  started=$(date +%s%N)
  wait "$2"
  same "exit code of $1" 0 $?
  [ $(($(date +%s%N) - started)) -lt 3000000000 ] || fail "$1: takes too long to end"
}
serve "$images" --recipe imagenet-train --stream interrupted
producer=$!
timeout 60 "$batchcast" consume interrupted --epochs 2 >/dev/null 2>&1
ends_soon "a served dataset" $producer
same "what is left of it" "" "$(find "$work/streams" ! -type d ! -name failure ! -name '.*.ended')"
# An image that takes seconds on a fast machine, also after another one's failure.
mkdir -p "$work/large/class"
$python -c 'import sys; from PIL import Image
Image.MAX_IMAGE_PIXELS = None
Image.new("L", (13000, 13000)).save(sys.argv[1], compress_level=1)' "$work/large/class/0.png" || exit 1
blur='{ stage = "gaussian_blur", kernel_size = 101, sigma = [30.0, 30.0] },'
whole="{ stage = \"resize\", size = [8000, 8000] }, $blur $blur $blur { stage = \"resize\", size = [64, 64] }"
sed "s/{ stage = \"random_resized_crop\", size = 32 }/$whole/" "$work/recipe.toml" >"$work/whole.toml"
serve "imagefolder:$work/large" --recipe "$work/whole.toml" --stream slow
producer=$!
until_true grep -q 'serving stream' "$work/serve.err" || fail "a stream of large images does not come up"
sleep 0.5
ends_soon "a worker in the middle of a sample" $producer
same "what is left of it" "" "$(find "$work/streams" ! -type d ! -name failure ! -name '.*.ended')"
echo nothing >"$work/large/class/1.png"
(printf '[order]\nmode = "sequential"\n'; cat "$work/whole.toml") >"$work/in_order.toml"
expect 4 "not waiting for a worker" serve "imagefolder:$work/large" --recipe "$work/in_order.toml" --stream broken \
  --workers 2
same "what failed it" 1 "$(grep -c '1.png.*cannot be made' "$work/err")"
same "what is left of it" "" "$(find "$work/streams" ! -type d ! -name failure ! -name '.*.ended')"
expect 0 'served no more\. Its last producer .* failed .*1\.png.*cannot be made.* is removed\.' stop broken
same "what is left of a failed stream" "" "$(ls -d "$work"/streams/broken* 2>/dev/null)"
expect 3 'no stream' stop broken

echo "-- tokens and labels as other tools write them"
$python - "$work" <<'MAKE' || exit 1
import io, sys, tarfile
import numpy
work = sys.argv[1]
numpy.arange(400, 500, dtype="u4").tofile(f"{work}/wide.bin")
numpy.save(f"{work}/wide.npy", numpy.arange(400, 500, dtype="u4"))
numpy.savez(f"{work}/wide.npz", tokens=numpy.arange(400, 500, dtype="u4"))
members = [("0.cls", "dog"), ("1.cls", "cat"), ("1.json", '{"class": "owl"}'), ("0.json", '{"class": "ant"}')]
with tarfile.open(f"{work}/unsorted.tar", "w") as tar:
    for name, text in members:
        member = tarfile.TarInfo(name)
        member.size = len(text)
        tar.addfile(member, io.BytesIO(text.encode()))
MAKE
expect 0 'every second token is 0.*dtype=u32' check "tokens:$work/wide.bin?length=8"
expect 0 '12 of 12 samples checked' check "tokens:$work/wide.npy?length=8"
expect 3 'a zip archive.*np.save' check "tokens:$work/wide.npz?length=8"
expect 2 'aws s3 sync' check 'webdataset:s3://bucket/a.tar'
printf '[order]\nmode = "sequential"\n[[field]]\nname = "label"\n[[field]]\nname = "bird"\nfrom = "json:/class"\n' \
  >"$work/labels.toml"
shards="webdataset:$work/unsorted.tar"
expect 2 'labels=names' check "$shards" --recipe "$work/labels.toml"
expect 0 'side by side.*tar --sort=name' check "$shards?labels=names" --recipe "$work/labels.toml"
expect 0 'samples' dump "$shards?labels=names" --recipe "$work/labels.toml" --positions 0:2 --out "$work/labels"
checks=$((checks + 1))
$python -c 'import numpy, sys
label, bird = (numpy.load(f"{sys.argv[1]}/{name}.npy").tolist() for name in ("label", "bird"))
assert (label, bird) == ([1, 0], [0, 1]), (label, bird)' "$work/labels" >"$work/out" 2>"$work/err" ||
  fail "labels that are names"

echo "-- names that are no UTF-8"
named="$work/$(printf 'n\377')"
ln -s "$work/images" "$named"
expect 0 '"samples_per_epoch":' dump "imagefolder:$named" --recipe imagenet-train --positions 0:2 \
  --out "$work/named" --json
expect 0 '"bad":0' check "imagefolder:$named" --json

echo "-- benchmarks"
expect 0 '"samples_per_second":' bench pipeline "$images" --recipe imagenet-train --workers 1 --seconds 0.5 --json
has_keys "$work/out" samples_per_second samples seconds cpu_seconds stages read make wait
expect 0 'total_samples_per_second' bench share "$images" --recipe imagenet-train --workers 1 --consumers 2 \
  --batch-size 8 --seconds 0.5 --json
has_keys "$work/out" total_samples_per_second consumers samples_per_second cpu_seconds private_bytes \
  producer_cpu_seconds
same "consumers" 2 "$(grep -o '"private_bytes"' "$work/out" | grep -c .)"

finish
