# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""make_images.py DIR COUNT: a small image folder of three classes and formats, always the same."""

import pathlib
import sys

import numpy
from PIL import Image

root, count = pathlib.Path(sys.argv[1]), int(sys.argv[2])
random = numpy.random.default_rng(7)
for i in range(count):
    folder = root / ("cat", "dog", "ünusual name")[i % 3]
    folder.mkdir(parents=True, exist_ok=True)
    width, height = random.integers(40, 200, 2)
    coarse = random.integers(0, 256, (height // 8 + 2, width // 8 + 2, 3), dtype=numpy.uint8)
    image = Image.fromarray(coarse).resize((int(width), int(height)), Image.BICUBIC)
    if i % 10 == 8:
        image.save(folder / f"{i:04}.png")
    elif i % 10 == 9:
        image.save(folder / f"{i:04}.webp", quality=80)
    else:
        image.save(folder / f"{i:04}.jpg", quality=90, subsampling=i % 3)
