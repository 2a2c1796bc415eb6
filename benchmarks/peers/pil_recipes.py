# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Pillow and numpy alone, in one process without a loader: stages that torchvision does not have.

A photograph or its mask is read from its file, and becomes the array that a trainer gets.
"""

import functools
import pathlib
import random

import numpy
import peer
import PIL
from PIL import Image

LETTERBOX = 640
SMALLEST = (480, 480)  # height and width
CLASSES = 21
VOID = 255


SCALE = (1 / (255 * numpy.array(peer.STD))).astype(numpy.float32)
BIAS = (-numpy.array(peer.MEAN) / peer.STD).astype(numpy.float32)


def normalise(image, out):
    for plane, band, scale, bias in zip(out, image.split(), SCALE, BIAS):
        numpy.multiply(numpy.asarray(band), scale, out=plane)
        plane += bias


def letterbox(path, out):
    image = Image.open(path).convert("RGB")
    factor = min(LETTERBOX / image.width, LETTERBOX / image.height)
    width, height = round(image.width * factor), round(image.height * factor)
    canvas = Image.new("RGB", (LETTERBOX, LETTERBOX), (114, 114, 114))
    canvas.paste(image.resize((width, height), Image.BILINEAR),
                 ((LETTERBOX - width) // 2, (LETTERBOX - height) // 2))
    normalise(canvas, out)


def pad_if_smaller(path, out):
    image = Image.open(path).convert("RGB")
    height, width = SMALLEST
    canvas = Image.new("RGB", (max(width, image.width), max(height, image.height)))
    canvas.paste(image, (0, 0))
    left = random.randint(0, canvas.width - width)
    top = random.randint(0, canvas.height - height)
    normalise(canvas.crop((left, top, left + width, top + height)), out)


def centre(mask):
    height, width = SMALLEST[0] // 2, SMALLEST[1] // 2
    left, top = (mask.width - width) // 2, (mask.height - height) // 2
    return mask.crop((left, top, left + width, top + height))


IDS = [id + 1 if id + 1 < CLASSES else VOID for id in range(256)]


def map_ids(path, out):
    mask = Image.open(path.with_suffix(".png"))
    mask = Image.frombytes("L", mask.size, mask.tobytes())  # its ids, as levels
    out[...] = numpy.asarray(centre(mask).point(IDS))


@functools.cache
def ids_of_colours():
    """The quickest way in numpy: an id for each of 2**24 colours."""
    ids = numpy.full(1 << 24, VOID, numpy.uint8)
    for id in range(CLASSES):
        red, green, blue = ((37 * (3 * id + channel)) % 256 for channel in range(3))  # of make_variants.py
        ids[red << 16 | green << 8 | blue] = id
    return ids


def map_colors(path, out):
    pixels = numpy.asarray(centre(Image.open(path.with_suffix(".png")).convert("RGB"))).astype(numpy.uint32)
    keys = pixels[..., 0] << 16 | pixels[..., 1] << 8 | pixels[..., 2]
    out[...] = ids_of_colours()[keys]


IDS_SHAPE = (SMALLEST[0] // 2, SMALLEST[1] // 2)
# What makes a sample, its shape and its type.
RECIPES = {
    "letterbox": (letterbox, (3, LETTERBOX, LETTERBOX), numpy.float32),
    "pad_if_smaller": (pad_if_smaller, (3, *SMALLEST), numpy.float32),
    "map_ids": (map_ids, IDS_SHAPE, numpy.int64),
    "map_colors": (map_colors, IDS_SHAPE, numpy.int64),
}


def batches(chosen):
    random.seed(chosen.seed)
    paths = sorted(pathlib.Path(chosen.dir).glob("*/*.jpg"))
    make, shape, dtype = RECIPES[chosen.recipe]
    batch = numpy.empty((chosen.batch_size, *shape), dtype)  # every batch goes into the same memory
    while True:
        for place in batch:
            make(random.choice(paths), place)
        batch.reshape(len(batch), -1)[:, 0].sum()
        yield len(batch)


if __name__ == "__main__":
    options = peer.options(__doc__, values=[("--recipe", sorted(RECIPES))])
    peer.measure("pil", f"Pillow {PIL.__version__}, numpy {numpy.__version__}", options, batches(options))
