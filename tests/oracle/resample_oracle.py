#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Compares the resampler with PIL, byte for byte: crops resized to random sizes with every filter, and padding as
numpy's modes define it. The test program reads one line for each case and the image's bytes from its standard
input, and writes the output's. It is told to resize as Pillow 13 where the Pillow that is installed is that or
later; releases before 13 were compared down to 9.4.

usage: resample_oracle.py RESAMPLE_PROGRAM [SEED [CASES]]"""

import random
import subprocess
import sys

import numpy
import PIL
from PIL import Image

PILLOW = tuple(int(part) for part in PIL.__version__.split(".")[:2])
FILTERS = [Image.NEAREST, Image.BILINEAR, Image.BICUBIC, Image.LANCZOS, Image.BOX]
NUMPY_MODES = ["constant", "edge", "reflect", "symmetric"]


def random_case(rng):
    """The image, and what is done to it, as the program's header line takes it."""
    long_side = rng.random() < 0.1
    width = rng.randint(1, 1500 if long_side else 120)
    height = rng.randint(1, 20 if long_side else 120)
    channels = rng.choice([1, 3])
    pixels = numpy.random.default_rng(rng.getrandbits(32)).integers(
        0, 256, (height, width, channels), dtype=numpy.uint8)
    if rng.random() < 0.2:
        pixels = (pixels > 127).astype(numpy.uint8) * 255
    box_width = rng.randint(1, width)
    box_height = rng.randint(1, height)
    box = (rng.randint(0, width - box_width), rng.randint(0, height - box_height), box_width,
           box_height)
    size = (rng.choice([1, box_width, rng.randint(1, 260)]),
            rng.choice([1, box_height, rng.randint(1, 260)]))
    padding = tuple(rng.randint(0, 9) for _ in range(4)) if rng.random() < 0.3 else (0, 0, 0, 0)
    mode = rng.randrange(4)
    flips = (rng.randrange(2), rng.randrange(2))
    interpolation = rng.choice([0, 1, 1, 2, 3, 4])
    return pixels, box, size, padding, mode, flips, interpolation


def takes_another_order(box, size):
    """Pillow 12.2 and 12.3 alone shrink what is more than 100 times as high as wide vertically first."""
    return (12, 2) <= PILLOW < (13, 0) and box[3] > 100 * box[2] and size[1] < box[3]


def mirrored(length, before, after, mode):
    """Which element stands where after padding in mode reflect or symmetric. numpy before 2.0 mirrors
    what it has padded so far, which is no longer periodic once a side is padded by more than there is."""
    positions = numpy.arange(-before, length + after)
    if NUMPY_MODES[mode] == "symmetric":
        positions %= 2 * length
        return numpy.minimum(positions, 2 * length - 1 - positions)
    positions %= max(1, 2 * length - 2)
    return numpy.minimum(positions, 2 * length - 2 - positions)


def pad(image, padding, mode):
    left, top, right, bottom = padding
    if NUMPY_MODES[mode] in ("reflect", "symmetric"):
        return image[mirrored(image.shape[0], top, bottom, mode)][
            :, mirrored(image.shape[1], left, right, mode)]
    return numpy.pad(image, ((top, bottom), (left, right), (0, 0)), mode=NUMPY_MODES[mode])


def by_pil(pixels, box, size, padding, mode, flips, interpolation):
    x, y, width, height = box
    image = Image.fromarray(pixels[:, :, 0] if pixels.shape[2] == 1 else pixels)
    image = image.crop((x, y, x + width, y + height)).resize(size, FILTERS[interpolation])
    out = numpy.asarray(image).reshape(size[1], size[0], pixels.shape[2])
    if any(padding):
        out = pad(out, padding, mode)
    if flips[0]:
        out = out[:, ::-1]
    if flips[1]:
        out = out[::-1]
    return out.tobytes()


def main():
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().getrandbits(32)
    cases = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    rng = random.Random(seed)
    made = [case for case in (random_case(rng) for _ in range(cases))
            if not takes_another_order(case[1], case[2])]
    request = b""
    expected = []
    for pixels, box, size, padding, mode, flips, interpolation in made:
        height, width, channels = pixels.shape
        numbers = (width, height, channels, *box, *size, *padding, mode, *flips, interpolation)
        request += " ".join(map(str, numbers)).encode() + b"\n" + pixels.tobytes()
        expected.append(by_pil(pixels, box, size, padding, mode, flips, interpolation))
    command = [program, "pillow-13"] if PILLOW >= (13, 0) else [program]
    answer = subprocess.run(command, input=request, stdout=subprocess.PIPE, check=True).stdout
    if len(answer) != sum(map(len, expected)):
        sys.exit(f"Pillow {PIL.__version__}, seed {seed}: {len(answer)} bytes instead of {sum(map(len, expected))}")
    at = 0
    for number, bytes_of_pil in enumerate(expected):
        ours = numpy.frombuffer(answer, numpy.uint8, len(bytes_of_pil), at).astype(int)
        wrong = numpy.abs(ours - numpy.frombuffer(bytes_of_pil, numpy.uint8))
        if wrong.any():
            sys.exit(f"Pillow {PIL.__version__}, seed {seed}, case {number} {made[number][1:]}: "
                     f"{(wrong > 0).sum()} of {wrong.size} bytes differ, by up to {wrong.max()}")
        at += len(bytes_of_pil)
    print(f"{len(made)} images equal those of Pillow {PIL.__version__}, {at} bytes (seed {seed})")


if __name__ == "__main__":
    main()
