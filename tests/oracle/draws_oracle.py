# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What `batchcast dump` says that each stage drew, done once more with PIL and torchvision: the
pixels are equal, bit for bit.

Usage: draws_oracle.py BATCHCAST [SEED]
"""
import sys
import tempfile

import numpy
from torchvision.transforms import InterpolationMode, autoaugment
from torchvision.transforms import functional as F

from operation_names import OUR_NAMES
from replay import CASES, Replay, check_old_keys, compare

TV_NAMES = {ours: theirs for theirs, ours in OUR_NAMES.items()}
IMAGES = 24


def operate(image, name, magnitude):
    if name == "solarize":
        magnitude *= 255  # v2 has a share of the levels
    return autoaugment._apply_op(image, TV_NAMES[name], magnitude, InterpolationMode.NEAREST, None)


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 31
    print(f"seed {seed}")
    rng = numpy.random.default_rng(seed)
    pixels = []
    for i in range(IMAGES):
        height, width = (int(side) for side in rng.integers(80, 130, 2))
        y, x = numpy.mgrid[0:height, 0:width]
        smooth = numpy.dstack([255 * x / width, 255 * y / height, 255 - 255 * x / width])
        noise = rng.integers(0, 256, (height, width, 3))
        pixels.append([noise, smooth, (smooth + noise) / 2][i % 3].astype(numpy.uint8))
    with tempfile.TemporaryDirectory() as folder:
        wrong, rows = compare(sys.argv[1], folder, pixels, Replay(F, operate))
    for one in wrong[:10]:
        print("WRONG:", one)
    check_old_keys(rows)
    print(f"{len(CASES) + 2} recipes, {IMAGES} images in 2 views: {len(wrong)} differ")
    return 1 if wrong else 0


sys.exit(main())
