#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Makes the images that the figures are measured on: an image folder of JPEGs like photographs.

They have 400 to 640 pixels a side and quality 92, half of them 4:4:4 and half 4:2:0, and about 80 KB
each. What makes a decoder work is there in the mixture of a photograph: objects with soft edges, smooth
and busy areas, texture whose power falls with its frequency, colours that go together, and sensor noise
that grows with brightness. The same arguments give the same pixels.

Usage: make_images.py DIR [--images 2000] [--classes 10] [--seed 1] [--jobs N]
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import shutil
import sys

import numpy
import PIL
from PIL import Image, ImageDraw, ImageFilter

VERSION = 1  # of the images: a change of what is drawn changes it
QUALITY = 92
STAMP = ".batchcast-images.json"


def octaves(random, width, height, first, last, falloff):
    """Noise of several scales, octave `first` (2**first cells across) to `last`, with deviation 1."""
    total = numpy.zeros((height, width), numpy.float32)
    power = 0.0
    for octave in range(first, last + 1):
        cells = 2**octave
        grid_width = min(width, 2 + width * cells // 640)
        grid_height = min(height, 2 + height * cells // 640)
        grid = random.standard_normal((grid_height, grid_width), numpy.float32)
        if (grid_width, grid_height) != (width, height):
            grid = Image.fromarray(grid).resize((width, height), Image.BILINEAR)
        amplitude = falloff ** (octave - first)
        total += amplitude * numpy.asarray(grid)
        power += amplitude * amplitude
    return total / numpy.float32(power**0.5)


def palette(random):
    """A few colours around a common tint: a scene has one light."""
    tint = random.uniform(60, 190) + random.normal(0, 14, 3)
    return numpy.clip(tint + random.normal(0, 45, (16, 1)) + random.normal(0, 18, (16, 3)), 8, 247)


def outline(random, width, height):
    """An ellipse as a polygon, dented: a box for ImageDraw.polygon."""
    center = random.uniform(0, 1, 2) * (width, height)
    radii = random.uniform(0.04, 0.45, 2) * min(width, height)
    count = int(random.integers(3, 40))
    angles = numpy.sort(random.uniform(0, 2 * numpy.pi, count))
    dents = random.uniform(0.75, 1.0, count)
    x = center[0] + radii[0] * dents * numpy.cos(angles)
    y = center[1] + radii[1] * dents * numpy.sin(angles)
    return [(float(a), float(b)) for a, b in zip(x, y)]


def draw_scene(random, width, height):
    """Objects before a background: their colours, and how busy each surface is."""
    colours = palette(random)
    scene = Image.new("RGB", (width, height), tuple(int(c) for c in colours[0]))
    busy = Image.new("L", (width, height), int(random.integers(8, 140)))
    paint, mark = ImageDraw.Draw(scene), ImageDraw.Draw(busy)
    for _ in range(int(random.integers(8, 40))):
        shape = outline(random, width, height)
        colour = colours[random.integers(0, len(colours))]
        paint.polygon(shape, fill=tuple(int(c) for c in colour))
        mark.polygon(shape, fill=int(255 * random.beta(1.2, 2.2)))
    sharpness = random.uniform(0.5, 1.6)
    return (
        numpy.asarray(scene.filter(ImageFilter.GaussianBlur(sharpness)), numpy.float32),
        numpy.asarray(busy.filter(ImageFilter.GaussianBlur(2)), numpy.float32) / 255,
    )


def photograph(random):
    width, height = (int(side) for side in random.integers(400, 641, 2))
    scene, busy = draw_scene(random, width, height)
    shading = octaves(random, width, height, 1, 4, 0.6)
    texture = octaves(random, width, height, 4, 10, random.uniform(0.72, 0.92))
    warmth = octaves(random, width, height, 2, 7, 0.62)
    hue = octaves(random, width, height, 2, 7, 0.62)
    light = random.uniform(8, 26) * shading
    light += random.uniform(26, 70) * busy * texture
    light += random.normal(0, 30) * numpy.linspace(-1, 1, height, dtype=numpy.float32)[:, None]
    image = scene + light[:, :, None]
    strength = random.uniform(2, 9)
    image[:, :, 0] += strength * warmth
    image[:, :, 1] += 0.4 * strength * hue
    image[:, :, 2] -= strength * (warmth - 0.5 * hue)
    # Of the sensor: grain that a camera's demosaicing has spread over neighbours and channels.
    grain = random.standard_normal((height, width, 1), numpy.float32)
    grain = 0.7 * grain + 0.65 * random.standard_normal((height, width, 3), numpy.float32)
    deviation = random.uniform(0.8, 3.2)
    image += deviation * (0.6 + numpy.clip(image, 0, 255) / 320) * grain
    return Image.fromarray(numpy.clip(image + 0.5, 0, 255).astype(numpy.uint8))


def path_of(folder, index, classes):
    return folder / f"class_{index % classes:03}" / f"image_{index:06}.jpg"


def make(task):
    folder, index, classes, seed = task
    image = photograph(numpy.random.default_rng([seed, index]))
    subsampling = (index // classes) % 2 * 2  # 0: 4:4:4, 2: 4:2:0; both in every class
    path = path_of(folder, index, classes)
    image.save(path, quality=QUALITY, subsampling=subsampling)
    return path.stat().st_size


def read_stamp(folder):
    try:
        return json.loads((folder / STAMP).read_text())
    except (OSError, ValueError):
        return None


def write_stamp(folder, stamp):
    (folder / STAMP).write_text(json.dumps(stamp, sort_keys=True) + "\n")


def clear(folder):
    """Empties a folder that this script made; refuses any other that has something in it."""
    if folder.is_dir() and any(folder.iterdir()):
        if read_stamp(folder) is None:
            sys.exit(f"make_images: {folder} is not empty and not of this script; name another folder")
        for old in folder.glob("class_*"):
            shutil.rmtree(old)
    folder.mkdir(parents=True, exist_ok=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("--images", type=int, default=2000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    options = parser.parse_args()
    if options.images < 1 or options.classes < 1 or options.seed < 0 or options.jobs < 1:
        parser.error("--images, --classes and --jobs begin at 1, --seed at 0")
    return options


def main():
    options = parse()
    stamp = {
        "version": VERSION,
        "images": options.images,
        "classes": options.classes,
        "seed": options.seed,
        "numpy": numpy.__version__,
        "pillow": PIL.__version__,
    }
    done = read_stamp(options.dir)
    if done is not None and {**done, "bytes": None} == {**stamp, "bytes": None} and done.get("bytes"):
        print(f"{options.dir} is already there", file=sys.stderr)
        return
    clear(options.dir)
    write_stamp(options.dir, stamp)  # without its size: begun, not done
    for index in range(min(options.classes, options.images)):
        path_of(options.dir, index, options.classes).parent.mkdir()
    tasks = [(options.dir, i, options.classes, options.seed) for i in range(options.images)]
    with multiprocessing.Pool(options.jobs) as pool:
        total = sum(pool.imap_unordered(make, tasks, chunksize=8))
    write_stamp(options.dir, {**stamp, "bytes": total})
    print(f"{options.images} images, {total / options.images / 1000:.1f} KB each", file=sys.stderr)


if __name__ == "__main__":
    main()
