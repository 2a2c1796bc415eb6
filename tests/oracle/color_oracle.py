# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Colours that pixel stages make, byte for byte against torchvision on PIL's images.

Usage: color_oracle.py STAGE_PROBE [SEED]. The stages draw and say what they drew; torchvision's
functions then do the same.
"""
import subprocess
import sys

import numpy
from PIL import Image
from torchvision.transforms import functional

ADJUST = {
    "1": ("brightness", functional.adjust_brightness),
    "2": ("contrast", functional.adjust_contrast),
    "3": ("saturation", functional.adjust_saturation),
    "4": ("hue", functional.adjust_hue),
}


def pictures(rng):
    yield "noise", rng.integers(0, 256, (48, 64, 3)).astype(numpy.uint8)
    y, x = numpy.mgrid[0:90, 0:128]
    yield "gradients", numpy.dstack([2 * x, y + x // 2, 255 - 2 * y]).astype(numpy.uint8)
    nearly_gray = rng.integers(0, 254, (40, 40, 1)) + rng.integers(0, 3, (40, 40, 3))
    yield "nearly gray", nearly_gray.astype(numpy.uint8)
    yield "one pixel", numpy.array([[[200, 17, 90]]], numpy.uint8)
    yield "extremes", rng.choice([0, 1, 254, 255], (30, 50, 3)).astype(numpy.uint8)


def paint(pixels, sample_id, stage):
    height, width, _ = pixels.shape
    command = [sys.argv[1], "paint", str(width), str(height), str(sample_id), stage]
    done = subprocess.run(command, input=pixels.tobytes(), stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=True)
    notes = dict(line.split() for line in done.stderr.decode().splitlines())
    return numpy.frombuffer(done.stdout, numpy.uint8), notes


def jittered(pixels, notes):
    image = Image.fromarray(pixels)
    for digit in notes["jitter_order"]:
        key, adjust = ADJUST[digit]
        if key in notes:
            image = adjust(image, float(notes[key]))
    return image


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 21
    print(f"seed {seed}")
    rng = numpy.random.default_rng(seed)
    stages = [
        'stage = "color_jitter", brightness = 0.4, contrast = 0.4, saturation = 0.4, hue = 0.1',
        'stage = "color_jitter", brightness = [0, 3], contrast = [0, 3], saturation = [0, 3], '
        'hue = 0.5',
        'stage = "color_jitter", contrast = 0.8, hue = [-0.5, -0.2]',
    ]
    compared = wrong = 0
    for name, pixels in pictures(rng):
        cases = [(stage, sample_id) for stage in stages for sample_id in range(12)]
        cases += [(f'stage = "grayscale", channels = {channels}', 0) for channels in (1, 3)]
        for stage, sample_id in cases:
            found, notes = paint(pixels, sample_id, stage)
            if "grayscale" in stage:
                channels = int(stage[-1])
                wanted = functional.to_grayscale(Image.fromarray(pixels), channels)
            else:
                wanted = jittered(pixels, notes)
            wanted = numpy.asarray(wanted).reshape(-1)
            compared += 1
            if not numpy.array_equal(found, wanted):
                wrong += 1
                same_size = found.size == wanted.size
                most = abs(found.astype(int) - wanted).max() if same_size else "size"
                print(f"WRONG: {name}, sample {sample_id}, {stage}, {notes}: off by {most}")
    print(f"{compared} images compared, {wrong} differ")
    return 1 if wrong else 0


sys.exit(main())
