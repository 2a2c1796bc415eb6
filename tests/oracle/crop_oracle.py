# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Where geometry stages place their boxes, against torchvision.

Usage: crop_oracle.py STAGE_PROBE [SEED]. Random boxes are compared by the two-sample
Kolmogorov-Smirnov test of everything that describes a box; what is not random must be equal.
"""
import math
import subprocess
import sys

import numpy
import torch
from PIL import Image
from torchvision.transforms import RandomCrop, RandomErasing, RandomResizedCrop
from torchvision.transforms import functional

BOXES = 20_000
# Of equal distributions, one statistic in a million exceeds this.
LIMIT = math.sqrt(-math.log(1e-6 / 2) / 2) * math.sqrt(2 / BOXES)

failures = 0


def check(right, what):
    global failures
    if not right:
        failures += 1
        print(f"WRONG: {what}")


def probe(*arguments):
    command = [sys.argv[1], *(str(a) for a in arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True).stdout


def placed(width, height, count, stage):
    lines = probe("place", width, height, count, stage).split()
    return numpy.array(lines, int).reshape(count, 10)


def distance(ours, theirs):
    """The Kolmogorov-Smirnov statistic: the largest distance of the distribution functions."""
    at = numpy.unique(numpy.concatenate([ours, theirs]))
    below_ours = numpy.searchsorted(numpy.sort(ours), at, side="right") / len(ours)
    below_theirs = numpy.searchsorted(numpy.sort(theirs), at, side="right") / len(theirs)
    return abs(below_ours - below_theirs).max()


def compare(name, ours, theirs):
    """Boxes as x, y, w, h."""
    worst = 0
    for what, value in {
            "x": lambda b: b[:, 0],
            "y": lambda b: b[:, 1],
            "width": lambda b: b[:, 2],
            "height": lambda b: b[:, 3],
            "area": lambda b: b[:, 2] * b[:, 3],
            "ratio": lambda b: b[:, 2] / numpy.maximum(b[:, 3], 1),
            "centre of x": lambda b: 2 * b[:, 0] + b[:, 2],
            "centre of y": lambda b: 2 * b[:, 1] + b[:, 3],
            "x + y": lambda b: b[:, 0] + b[:, 1],
    }.items():
        found = distance(value(ours), value(theirs))
        worst = max(worst, found)
        check(found < LIMIT, f"{name}: {what} is distributed otherwise: {found:.4f} > {LIMIT:.4f}")
    print(f"{name}: {len(ours)} and {len(theirs)} boxes, largest distance {worst:.4f}")


def random_resized_crops():
    # The last ones: no try fits, and some do.
    sizes = [(400, 400), (500, 375), (1000, 50), (300, 80)]
    for width, height in sizes:
        image = torch.empty(1, 1, 1).expand(3, height, width)
        theirs = []
        for _ in range(BOXES):
            i, j, h, w = RandomResizedCrop.get_params(image, [0.08, 1.0], [3 / 4, 4 / 3])
            theirs.append((j, i, w, h))
        ours = placed(width, height, BOXES, 'stage = "random_resized_crop", size = 224')[:, :4]
        compare(f"random_resized_crop of {width}x{height}", ours, numpy.array(theirs))


def random_crops():
    image = torch.empty(1, 1, 1).expand(3, 40, 50)
    theirs = []
    for _ in range(BOXES):
        i, j, h, w = RandomCrop.get_params(image, (32, 28))
        theirs.append((j, i, w, h))
    # With four pixels on each side, the image of 42x32 is the 50x40 that torchvision crops.
    ours = placed(42, 32, BOXES, 'stage = "random_crop", size = [32, 28], padding = 4')[:, 6:]
    compare("random_crop", ours + [4, 4, 0, 0], numpy.array(theirs))


def random_erasings():
    image = torch.empty(1, 1, 1).expand(3, 48, 20)
    theirs = []
    for _ in range(BOXES):
        i, j, h, w, _ = RandomErasing.get_params(image, (0.02, 0.5), (0.3, 3.3), [0])
        if (i, j, h, w) != (0, 0, 48, 20):
            theirs.append((j, i, w, h))
    lines = probe("erase", 3, 48, 20, BOXES,
                  'stage = "random_erasing", p = 1, scale = [0.02, 0.5]').splitlines()
    ours = numpy.array([line.split() for line in lines if line], int)
    check(abs(len(ours) - len(theirs)) < 0.01 * BOXES, "random_erasing gives up at another rate")
    compare("random_erasing", ours, numpy.array(theirs))


def resizes(rng):
    for _ in range(60):
        width, height = (int(side) for side in rng.integers(1, 700, 2))
        size = int(rng.integers(1, 300))
        max_size = size + int(rng.integers(1, 200)) if rng.random() < 0.5 else None
        wanted = functional._compute_resized_output_size((height, width), [size], max_size)
        stage = f'stage = "resize", size = {size}'
        if max_size is not None:
            stage += f", max_size = {max_size}"
        row = placed(width, height, 1, stage)[0]
        right = (row[5], row[4]) == (max(wanted[0], 1), max(wanted[1], 1))
        check(right, f"{stage} of {width}x{height}: {row[4]}x{row[5]} and not "
                     f"{wanted[1]}x{wanted[0]}")


def centre_crops(rng):
    for _ in range(60):
        width, height, crop_width, crop_height = (int(side) for side in rng.integers(1, 90, 4))
        # Each pixel says where it comes from; 0 is padding.
        y, x = numpy.mgrid[0:height, 0:width]
        pixels = numpy.dstack([x + 1, y + 1, 0 * x + 255]).astype(numpy.uint8)
        wanted = numpy.asarray(functional.center_crop(Image.fromarray(pixels),
                                                      (crop_height, crop_width)))
        stage = f'stage = "center_crop", size = [{crop_height}, {crop_width}]'
        bx, by, bw, bh, _, _, wx, wy, ww, wh = placed(width, height, 1, stage)[0]
        canvas = numpy.zeros((bh + 200, bw + 200, 3), numpy.uint8)
        canvas[100:100 + bh, 100:100 + bw] = pixels[by:by + bh, bx:bx + bw]
        found = canvas[100 + wy:100 + wy + wh, 100 + wx:100 + wx + ww]
        check(numpy.array_equal(found, wanted), f"{stage} of {width}x{height} is another part")


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    print(f"seed {seed}")
    torch.manual_seed(seed)
    torch.set_num_threads(1)
    random_resized_crops()
    random_crops()
    random_erasings()
    rng = numpy.random.default_rng(seed)
    resizes(rng)
    centre_crops(rng)
    print("all as torchvision" if failures == 0 else f"{failures} differ")
    return 1 if failures else 0


sys.exit(main())
