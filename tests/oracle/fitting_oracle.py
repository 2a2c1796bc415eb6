# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Letterboxed and padded images, and masks whose ids come from tables, against Pillow.

Usage: fitting_oracle.py BATCHCAST [SEED]. Sizes and places of letterbox are those of Ultralytics' LetterBox,
pad_if_smaller those of torchvision's references/segmentation. All bytes are equal.
"""
import io
import pathlib
import random
import subprocess
import sys
import tarfile
import tempfile

import numpy
from PIL import Image

IMAGES = 24
CITYSCAPES = [7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33]
FILTERS = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC,
           "nearest": Image.Resampling.NEAREST}

failures = 0
compared = 0


def check(found, wanted, what):
    global failures, compared
    compared += 1
    if numpy.array_equal(found, wanted):
        return
    failures += 1
    print(f"WRONG: {what}: {found.shape} and {wanted.shape}" if found.shape != wanted.shape else
          f"WRONG: {what}: {(found != wanted).sum()} of {found.size}")


class Studio:
    def __init__(self, command, folder):
        self.command, self.folder = command, folder

    def pack(self, images, masks):
        with tarfile.open(self.folder / "a.tar", "w") as shard:
            for i, (image, mask) in enumerate(zip(images, masks)):
                for name, picture in ((f"{i:02}.image.png", image), (f"{i:02}.mask.png", mask)):
                    data = io.BytesIO()
                    picture.save(data, "PNG")
                    member = tarfile.TarInfo(name)
                    member.size = len(data.getvalue())
                    shard.addfile(member, io.BytesIO(data.getvalue()))

    def dumped(self, recipe):
        path = self.folder / "recipe.toml"
        path.write_text('[order]\nmode = "sequential"\n' + recipe)
        out = self.folder / "out"
        done = subprocess.run([self.command, "dump", f"webdataset:{self.folder}/a.tar", "--recipe", str(path),
                               "--out", str(out), "--positions", f"0:{IMAGES}"], capture_output=True, text=True,
                              check=False)
        if done.returncode != 0:
            sys.exit(done.stderr)
        made = {file.stem: numpy.load(file) for file in out.glob("*.npy")}
        for file in out.iterdir():
            file.unlink()
        out.rmdir()
        return made


def field(name, stages, decode="", layout="hwc", more=""):
    return f"""[[field]]
name = "{name}"
from = "{name}.png"
{more}
stages = [{{ stage = "decode"{decode} }}, {stages} {{ stage = "to", dtype = "u8", layout = "{layout}" }}]
"""


def joined(stage):
    return (field("image", "") + field("mask", "", ', mode = "index"', "hw") +
            f'[[joint]]\nfields = ["image", "mask"]\nstages = [{stage}]\n')


def letterboxed(image, size, fill, center, scaleup, resample):
    height, width = size
    factor = min(height / image.height, width / image.width)
    factor = factor if scaleup else min(factor, 1.0)
    inner = (max(round(image.width * factor), 1), max(round(image.height * factor), 1))
    across, down = width - inner[0], height - inner[1]
    left = round(across / 2 - 0.1) if center else 0
    top = round(down / 2 - 0.1) if center else 0
    canvas = Image.new(image.mode, (width, height), (fill,) * 3 if image.mode == "RGB" else fill)
    canvas.paste(image if inner == image.size else image.resize(inner, resample), (left, top))
    return numpy.asarray(canvas)


def letterboxes(studio, images, masks, rng):
    for _ in range(12):
        size = (rng.randint(16, 300), rng.randint(16, 300))
        center, scaleup = rng.random() < 0.5, rng.random() < 0.7
        fill, mask_fill = rng.randint(0, 255), rng.randint(0, 255)
        name = rng.choice(list(FILTERS))
        stage = (f'{{ stage = "letterbox", size = [{size[0]}, {size[1]}], fill = {fill}, mask_fill = {mask_fill}, '
                 f'center = {str(center).lower()}, scaleup = {str(scaleup).lower()}, interpolation = "{name}" }}')
        made = studio.dumped(joined(stage))
        for i in range(IMAGES):
            what = f"{stage} of {images[i].size}"
            check(made["image"][i], letterboxed(images[i], size, fill, center, scaleup, FILTERS[name]), what)
            check(made["mask"][i], letterboxed(masks[i], size, mask_fill, center, scaleup, FILTERS["nearest"]),
                  f"{what}, of the mask")


def padded(image, size, fill):
    canvas = Image.new(image.mode, (max(size[1], image.width), max(size[0], image.height)),
                       (fill,) * 3 if image.mode == "RGB" else fill)
    canvas.paste(image, (0, 0))
    return numpy.asarray(canvas)


def paddings(studio, images, masks, rng):
    for _ in range(4):
        size = (rng.randint(16, 300), rng.randint(16, 300))
        fill, mask_fill = rng.randint(0, 255), rng.randint(0, 255)
        stage = (f'{{ stage = "pad_if_smaller", size = [{size[0]}, {size[1]}], fill = {fill}, '
                 f'mask_fill = {mask_fill} }}, {{ stage = "five_crop", size = 16 }}')
        made = studio.dumped(joined(stage))
        for i in range(IMAGES):
            for name, picture, by in (("image", images[i], fill), ("mask", masks[i], mask_fill)):
                whole = padded(picture, size, by)
                corners = [whole[:16, :16], whole[:16, -16:], whole[-16:, :16], whole[-16:, -16:]]
                check(made[name][i][:4], numpy.stack(corners), f"{stage} of the {name} of {picture.size}")


def tables(studio, masks, rng):
    crop = '{ stage = "center_crop", size = 16 },'
    plain = studio.dumped(field("mask", crop, ', mode = "index"', "hw"))["mask"]
    made = studio.dumped(field("mask", crop + '{ stage = "map_ids", ids = "cityscapes" },', ', mode = "index"', "hw"))
    lut = [CITYSCAPES.index(id) if id in CITYSCAPES else 255 for id in range(256)]
    for i in range(IMAGES):
        check(made["mask"][i], numpy.asarray(Image.fromarray(plain[i]).point(lut)), "map_ids of Cityscapes")
    palette = numpy.array(masks[0].getpalette()).reshape(-1, 3)
    ids = rng.sample(range(256), 40)
    to = [rng.randint(0, 254) for _ in ids]
    colors = ", ".join(str(list(map(int, palette[id]))) for id in ids)
    stage = f'{{ stage = "map_colors", colors = [{colors}], to = {to}, other = 255 }},'
    made = studio.dumped(field("mask", crop + stage, layout="hw", more='kind = "mask"'))
    lut = numpy.full(256, 255, numpy.uint8)
    lut[ids] = to
    # A crop pads small masks with black, which is a color of its palette's or none: never index 0.
    black = next((to[ids.index(id)] for id in ids if not palette[id].any()), 255)
    ones = studio.dumped(field("mask", '{ stage = "map_ids", ids = 0, to = [1], other = 1 },' + crop,
                               ', mode = "index"', "hw"))["mask"]
    for i in range(IMAGES):
        check(made["mask"][i], numpy.where(ones[i] == 1, lut[plain[i]], black), "map_colors")


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    print(f"fitting_oracle.py: seed {seed}", flush=True)
    rng, noise = random.Random(seed), numpy.random.default_rng(seed)
    images, masks = [], []
    palette = noise.permutation(1 << 24)[:256]
    palette = [int(level) for color in palette for level in (color >> 16, color >> 8 & 255, color & 255)]
    for _ in range(IMAGES):
        width, height = rng.randint(1, 400), rng.randint(1, 400)
        images.append(Image.fromarray(noise.integers(0, 256, (height, width, 3), numpy.uint8)))
        masks.append(Image.fromarray(noise.integers(0, 256, (height, width), numpy.uint8), "P"))
        masks[-1].putpalette(palette)
    with tempfile.TemporaryDirectory() as folder:
        studio = Studio(sys.argv[1], pathlib.Path(folder))
        studio.pack(images, masks)
        letterboxes(studio, images, masks, rng)
        paddings(studio, images, masks, rng)
        tables(studio, masks, rng)
    print(f"{compared} images compared: " + ("all as Pillow" if failures == 0 else f"{failures} differ"))
    return 1 if failures else 0


sys.exit(main())
