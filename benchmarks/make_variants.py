#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Makes of the images that make_images.py drew others of the same content: progressive JPEGs, PNGs, WebPs,
or JPEGs of 12 megapixels; or puts beside each a mask of its size, as of a segmentation; or makes one array
of all, of 224 x 224 pixels.

Usage: make_variants.py FROM DIR FORM [--images N], where FORM is progressive, png, webp, large, masks or array.
"""

import argparse
import multiprocessing
import os
import pathlib
import sys

import make_images
import numpy
import PIL
from PIL import Image

VERSION = 1  # of what is made: a change of it changes this
LARGE = (4000, 3000)
BORDER = 5  # pixels
VOID = 255
GRAIN = 3  # levels: what enlarging has smoothed, a camera's sensor would not have


def enlarged(image, seed):
    pixels = numpy.asarray(image.resize(LARGE, Image.BICUBIC), numpy.float32)
    grain = numpy.random.default_rng(seed).standard_normal(pixels.shape, numpy.float32)
    return Image.fromarray(numpy.clip(pixels + GRAIN * grain + 0.5, 0, 255).astype(numpy.uint8))


def segmented(image, seed):
    """Twelve areas of 21 classes, of a palette, with borders of void as in Pascal VOC."""
    random = numpy.random.default_rng(seed)
    centres = random.uniform(0, 1, (12, 2)) * image.size
    classes = random.integers(0, 21, len(centres))
    y, x = numpy.mgrid[0 : image.height, 0 : image.width]
    far = numpy.stack([numpy.hypot(x - cx, y - cy) for cx, cy in centres])
    nearest = numpy.sort(far, axis=0)
    ids = classes[far.argmin(axis=0)].astype(numpy.uint8)
    ids[nearest[1] - nearest[0] < BORDER] = VOID
    mask = Image.fromarray(ids, "P")
    mask.putpalette([(37 * i) % 256 for i in range(768)])
    return mask


def make(task):
    source, target, form, seed = task
    image = Image.open(source).convert("RGB")
    if form == "masks":
        target.write_bytes(source.read_bytes())
        mask = target.with_suffix(".png")
        segmented(image, seed).save(mask, "PNG")
        return target.stat().st_size + mask.stat().st_size
    if form == "progressive":
        image.save(target, "JPEG", quality=make_images.QUALITY, progressive=True)
    elif form == "large":
        enlarged(image, seed).save(target, "JPEG", quality=make_images.QUALITY)
    elif form == "png":
        image.save(target, "PNG")
    else:
        image.save(target, "WEBP", quality=make_images.QUALITY)
    return target.stat().st_size


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("dir", type=pathlib.Path)
    parser.add_argument("form", choices=["progressive", "png", "webp", "large", "masks", "array"])
    parser.add_argument("--images", type=int, default=400)
    options = parser.parse_args()
    found = sorted(options.source.glob("*/*.jpg"))
    if not found or options.images < 1:
        sys.exit(f"make_variants: no */*.jpg in {options.source}, or none wanted")
    sources = found[:: max(1, len(found) // options.images)][: options.images]
    stamp = {"version": VERSION, "form": options.form, "images": len(sources), "pillow": PIL.__version__,
             "from": make_images.read_stamp(options.source)}
    done = make_images.read_stamp(options.dir)
    if done is not None and {**done, "bytes": None} == {**stamp, "bytes": None} and done.get("bytes"):
        return
    make_images.clear(options.dir)
    make_images.write_stamp(options.dir, stamp)  # without its size: begun, not done
    if options.form == "array":
        side = (224, 224)
        pixels = [numpy.asarray(Image.open(one).convert("RGB").resize(side, Image.BICUBIC)) for one in sources]
        numpy.save(options.dir / "image.npy", numpy.stack(pixels))
        make_images.write_stamp(options.dir, {**stamp, "bytes": (options.dir / "image.npy").stat().st_size})
        return
    ending = {"png": ".png", "webp": ".webp"}.get(options.form, ".jpg")
    tasks = []
    for seed, source in enumerate(sources):
        folder = options.dir / source.parent.name
        folder.mkdir(exist_ok=True)
        tasks.append((source, folder / (source.stem + ending), options.form, seed))
    with multiprocessing.Pool(len(os.sched_getaffinity(0))) as pool:
        total = sum(pool.imap_unordered(make, tasks, chunksize=4))
    make_images.write_stamp(options.dir, {**stamp, "bytes": total})
    print(f"{len(tasks)} images ({options.form}), {total / len(tasks) / 1000:.1f} KB each", file=sys.stderr)


if __name__ == "__main__":
    main()
