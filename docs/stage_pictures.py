#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Draws the pictures of docs/recipes.md: of each stage into docs/stages, of presets into docs/presets.

The page says what they show: above ![solarize](stages/solarize.webp) stands the stage with its
parameters, and ![deit](presets/deit.webp) is the preset of that name. Left is the photograph, right of it
what `batchcast dump` makes of it in four epochs, or once where those are alike, at a third of its size.
The same page, photograph and stages give the same bytes with one release of Pillow and libwebp; those
that are checked in are of Pillow 9.4 and libwebp 1.2.4 (Debian 12).

Usage: stage_pictures.py [--check [NAME...]] [--command build/release/batchcast]
  --check   writes nothing: says which stage has no picture, which picture has no stage or shows another
            than the page says, and draws the pictures NAME again to compare their pixels
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tarfile
import tempfile

import numpy
from PIL import Image

from photograph import HEIGHT, WIDTH, mask, photograph

DOCS = pathlib.Path(__file__).resolve().parent
PAGE = DOCS / "recipes.md"
# They change types, shapes and ids, which no picture shows.
WITHOUT_PICTURE = ["map_colors", "map_ids", "multi_hot", "normalize", "reshape", "slice", "to"]
AFTER_TO = ["gaussian_noise", "random_erasing"]  # tensor stages
WHOLE = f'{{ stage = "center_crop", size = [{HEIGHT}, {WIDTH}] }}'  # says of decoded images that they have one size
SAMPLES = 4
SHRINK = 3  # a photograph's pixels become one of the picture's in each direction
GAP = 4
WIDTH_MAX = 700
BYTES_MAX = 15_000
QUALITIES = [66, 40, 20]  # the first that takes no more: noise does not go into few bytes
DESCRIPTION = 0x010E  # of EXIF: what the picture shows, as the page says it
MASK_COLOURS = numpy.full((256, 3), 255, numpy.uint8)
MASK_COLOURS[:5] = [(32, 36, 44), (240, 168, 40), (210, 50, 60), (150, 90, 190), (60, 160, 90)]
LOSS_MAX = 24  # levels by which WebP changes a block of pixels, but for this share of them:
LOST_MAX = 0.005

SHOWN = re.compile(r"^(?:`(.*)`.*\\\n)?!\[[^]]*\]\((stages|presets)/([\w-]+)\.webp\)$", re.MULTILINE)
LINKED = re.compile(r"\]\((?:stages|presets)/")


class Picture:
    """One that the page shows: a stage as its recipe has it, or a preset."""

    def __init__(self, recipe, folder, name):
        self.is_stage = folder == "stages"
        self.name = name
        self.recipe = recipe if self.is_stage else f"the preset {name}"
        self.path = DOCS / folder / f"{name}.webp"


def pictures_of(page):
    found = [Picture(*match) for match in SHOWN.findall(page)]
    if len(found) != len(LINKED.findall(page)):
        sys.exit(f"{PAGE}: a picture does not stand on a line of its own")
    for picture in found:
        if picture.is_stage and not picture.recipe.startswith(f'{{ stage = "{picture.name}"'):
            sys.exit(f"{PAGE}: above the picture of {picture.name} stands no recipe of it")
    return found


class Studio:
    """The photograph as datasets, in a folder that goes away, and the command that makes samples of it."""

    def __init__(self, command, folder):
        self.command, self.folder = command, pathlib.Path(folder)

    def prepare(self):
        self.photograph = photograph()
        lake = self.folder / "photographs" / "lake"
        lake.mkdir(parents=True)
        self.photograph.save(lake / "lake.png")
        mask().save(self.folder / "mask.png")
        with tarfile.open(self.folder / "masked.tar", "w") as shard:
            shard.add(lake / "lake.png", "lake.jpg")  # as the preset calls it; what it is, its bytes say
            shard.add(self.folder / "mask.png", "lake.png")
        self.arrays("plain", self.photograph)
        self.arrays("small", self.photograph.resize((32, 32), Image.BOX, (48, 0, 336, 288)))

    def arrays(self, name, image):
        (self.folder / name).mkdir()
        numpy.save(self.folder / name / "image.npy", numpy.asarray(image)[None])
        numpy.save(self.folder / name / "label.npy", numpy.zeros(1, numpy.int64))

    def source(self, fields):
        """The dataset for a recipe: images as files where it decodes them, small ones where it crops those."""
        stages = fields[0]["stages"]
        if any(field["name"] == "mask" for field in fields):
            return f"webdataset:{self.folder}/masked.tar"
        if stages[0]["stage"] == "decode":
            return f"imagefolder:{self.folder}/photographs"
        name = "small" if any(stage.get("size") == [32, 32] for stage in stages) else "plain"
        return f"npy:{self.folder}/{name}/image.npy,{self.folder}/{name}/label.npy"

    def run(self, *arguments):
        done = subprocess.run([self.command, *arguments], capture_output=True, text=True, check=False)
        return done.returncode, done.stdout, done.stderr

    def need(self, *arguments):
        status, said, complaint = self.run(*arguments)
        if status != 0:
            sys.exit(complaint)
        return said

    def stage_names(self):
        """All of the catalogue, which the refusal of a stage that is nothing like any of them lists."""
        path = self.folder / "names.toml"
        path.write_text('[[field]]\nname = "image"\nstages = [{ stage = "............" }]\n')
        listed = re.search(r"There is ([\w, ]+)\.$", self.run("recipe", str(path))[2].strip())
        if listed is None:
            sys.exit("the refusal of an unknown stage does not list the stages")
        return listed[1].split(", ")

    def recipe(self, picture):
        """The file of the picture's recipe."""
        path = self.folder / f"{picture.name}.toml"
        if not picture.is_stage:
            path.write_text(self.need("recipe", picture.name))
            return str(path)
        order = [picture.recipe, '{ stage = "to", dtype = "u8", layout = "hwc" }']
        if picture.name in AFTER_TO:
            order = ['{ stage = "to" }', picture.recipe]
        if picture.name == "decode":
            order.insert(1, WHOLE)
        path.write_text(f'[[field]]\nname = "image"\nstages = [{", ".join(order)}]\n')
        return str(path)

    def images(self, picture):
        """What the recipe makes, sample by sample: a list of lists of images."""
        recipe = self.recipe(picture)
        fields = json.loads(self.need("recipe", recipe, "--json"))["fields"]
        fields = [field for field in fields if field.get("stages")]
        out = self.folder / "out" / picture.path.parent.name / picture.name
        self.need("dump", self.source(fields), "--recipe", recipe,
                  "--positions", f"0:{SAMPLES}", "--out", str(out))
        samples = [[] for _ in range(SAMPLES)]
        for field in fields:
            made = numpy.load(out / f"{field['name']}.npy")
            for sample, array in zip(samples, made):
                sample += pixels_of(array, field["stages"])
        return samples


def pixels_of(array, stages):
    """The images of a field: several where it has views or several crops."""
    to = next(stage for stage in stages if stage["stage"] == "to")
    if to["layout"] == "hw":
        return [Image.fromarray(MASK_COLOURS[array])]
    if to["layout"] == "chw":
        array = numpy.moveaxis(array, -3, -1)
    for stage in stages:
        if stage["stage"] == "normalize":
            array = array * numpy.array(stage["std"]) + numpy.array(stage["mean"])
    if to["dtype"] != "u8":
        array = array.astype(float) * 255
    array = numpy.clip(numpy.rint(array), 0, 255).astype(numpy.uint8)
    array = array.reshape(-1, *array.shape[-3:])
    return [Image.fromarray(numpy.broadcast_to(one, (*one.shape[:2], 3)).copy()) for one in array]


def alike(samples):
    return all(list(map(Image.Image.tobytes, one)) == list(map(Image.Image.tobytes, samples[0]))
               for one in samples)


def panels(studio, picture):
    """The photograph, and what becomes of it: as many samples as make four images."""
    samples = studio.images(picture)
    if alike(samples):
        samples = samples[:1]
    made = [image for sample in samples for image in sample]
    count = max(SAMPLES, len(samples[0]))
    if picture.is_stage:
        return [image.reduce(SHRINK) for image in [studio.photograph, *made[:count]]]
    tallest = max(image.height for image in made)
    shown = [studio.photograph.reduce(SHRINK)]
    scale = HEIGHT / SHRINK / tallest
    for image in made[:count]:
        size = (round(image.width * scale), round(image.height * scale))
        shown.append(image.resize(size, Image.BOX))
    return shown


def strip(images):
    width = sum(image.width for image in images) + GAP * (len(images) - 1)
    height = max(image.height for image in images)
    drawn = Image.new("RGBA", (width, height))  # between them the page shows
    left = 0
    for image in images:
        drawn.paste(image, (left, (height - image.height) // 2))
        left += image.width + GAP
    return drawn


def write(picture, drawn):
    said = Image.Exif()
    said[DESCRIPTION] = picture.recipe
    picture.path.parent.mkdir(exist_ok=True)
    for quality in QUALITIES:
        drawn.save(picture.path, quality=quality, method=6, exif=said)
        size = picture.path.stat().st_size
        if size <= BYTES_MAX and drawn.width <= WIDTH_MAX:
            return size
    return sys.exit(f"{picture.path}: {size} bytes, {drawn.width} pixels wide")


def differences(pictures, names):
    """Between the stages, the page and the folders."""
    shown = [picture.path for picture in pictures]
    stages = [picture.name for picture in pictures if picture.is_stage]
    wanted = [name for name in names if name not in WITHOUT_PICTURE]
    found = [f"{name}: recipes.md shows no picture of this stage" for name in wanted if name not in stages]
    found += [f"{name}: recipes.md shows a picture, and there is no such stage, or none that changes pictures"
              for name in stages if name not in wanted]
    found += [f"{path}: is shown {shown.count(path)} times" for path in set(shown) if shown.count(path) > 1]
    files = [path for folder in ("stages", "presets") for path in (DOCS / folder).glob("*")]
    found += [f"{path}: recipes.md does not show it" for path in files if path not in shown]
    for picture in pictures:
        if not picture.path.exists():
            found.append(f"{picture.path}: is missing")
        elif Image.open(picture.path).getexif().get(DESCRIPTION) != picture.recipe:
            found.append(f"{picture.path}: does not show {picture.recipe}")
    return found


def blocks(image):
    """Colours of 4 x 4 pixels each, in which WebP's losses are small."""
    return numpy.asarray(image.convert("RGB").reduce(4), float)


def has_changed(path, now):
    kept = Image.open(path).convert("RGBA")
    if kept.size != now.size:
        return True
    seen = numpy.asarray(now.getchannel("A").reduce(4)) == 255
    off = numpy.abs(blocks(kept) - blocks(now)).max(axis=2)[seen]
    return (off > LOSS_MAX).mean() > LOST_MAX


def check(studio, pictures, again):
    found = differences(pictures, studio.stage_names())
    found += [f"{name}: recipes.md shows no such picture" for name in again
              if name not in [picture.name for picture in pictures]]
    if again:
        studio.prepare()
    for picture in pictures:
        if picture.name in again and picture.path.exists():
            if has_changed(picture.path, strip(panels(studio, picture))):
                found.append(f"{picture.path}: looks otherwise now")
    for line in found:
        print(line, file=sys.stderr)
    if found:
        print(f"run {DOCS / 'stage_pictures.py'}, which draws what recipes.md says", file=sys.stderr)
    return 1 if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--check", nargs="*", metavar="NAME")
    parser.add_argument("--command", default=DOCS.parent / "build" / "release" / "batchcast")
    options = parser.parse_args()
    pictures = pictures_of(PAGE.read_text())
    with tempfile.TemporaryDirectory(prefix="batchcast-pictures.") as folder:
        studio = Studio(options.command, folder)
        if options.check is not None:
            return check(studio, pictures, options.check)
        studio.prepare()
        sizes = [write(picture, strip(panels(studio, picture))) for picture in pictures]
    print(f"{len(sizes)} pictures, {sum(sizes)} bytes, the largest {max(sizes)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
