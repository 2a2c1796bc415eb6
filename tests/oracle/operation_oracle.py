# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Operations that stages and augmentation policies are made of, byte for byte against PIL.

Usage: operation_oracle.py STAGE_PROBE [SEED].
"""
import math
import sys

import numpy
from PIL import Image, ImageEnhance, ImageOps, __version__

from probe import Probe, pictures

RESAMPLING = [Image.Resampling.NEAREST, Image.Resampling.BILINEAR, Image.Resampling.BICUBIC]


def lowered(level, addition, threshold):
    return min(255, max(0, level + addition)) if level < threshold else level


def in_place(rng):
    """Name, numbers, and what PIL does."""
    for name, enhance in [("brightness", ImageEnhance.Brightness),
                          ("contrast", ImageEnhance.Contrast), ("color", ImageEnhance.Color),
                          ("sharpness", ImageEnhance.Sharpness)]:
        for factor in [0.0, 1.0, 2.0, rng.uniform(0, 1), rng.uniform(1, 2), rng.uniform(2, 30)]:
            yield name, [factor], lambda image, e=enhance, f=factor: e(image).enhance(f)
    for bits in range(1, 9):
        yield "posterize", [bits], lambda image, b=bits: ImageOps.posterize(image, b)
    for threshold in [0, 1, 128, 255, 256, 99.5, rng.uniform(0, 256)]:
        yield "solarize", [threshold], lambda image, t=threshold: ImageOps.solarize(image, t)
    for addition in [0, 40, 110, -20]:
        yield "solarize_add", [addition, 128], lambda image, a=addition: image.point(
            [lowered(i, a, 128) for i in range(256)] * len(image.getbands()))
    yield "autocontrast", [], ImageOps.autocontrast
    yield "equalize", [], ImageOps.equalize
    yield "invert", [], ImageOps.invert


def rotation(image, rng):
    angle = float(rng.choice([rng.uniform(-400, 400), rng.integers(-8, 9) * 45.0, 1e-13, -1e-15]))
    numbers = [angle]
    center = None
    if rng.random() < 0.4:
        center = (rng.uniform(-9, 70), float(rng.integers(0, 40)))
        numbers += list(center)
    return "rotate", numbers, lambda r, fill: image.rotate(angle, r, False, center, fillcolor=fill)


def affine(image, rng):
    kind = rng.integers(0, 5)
    scale = rng.uniform(0.2, 3)
    matrix = [rng.normal(0, 1), rng.normal(0, 1), rng.uniform(-30, 60), rng.normal(0, 1),
              rng.normal(0, 1), rng.uniform(-30, 60)]
    if kind == 1:  # no rotation: another way in PIL
        matrix = [scale, 0, rng.uniform(-20, 20), 0, 1 / scale, rng.uniform(-20, 20)]
    if kind == 2:  # whole pixels
        matrix = [1, 0, float(rng.integers(-30, 30)), 0, 1, float(rng.integers(-30, 30))]
    if kind == 3:  # too far for its fixed point
        matrix[2] = rng.uniform(33000, 90000)
        matrix[0] = -matrix[2] / image.width
    if kind == 4:  # mirrored
        matrix = [-1, 0, image.width, 0, -1, image.height]
    return "affine", matrix, lambda r, fill: image.transform(
        image.size, Image.Transform.AFFINE, matrix, r, fillcolor=fill)


def perspective(image, rng):
    matrix = [1 + rng.normal(0, 0.3), rng.normal(0, 0.3), rng.uniform(-9, 9), rng.normal(0, 0.3),
              1 + rng.normal(0, 0.3), rng.uniform(-9, 9), rng.normal(0, 0.01),
              rng.normal(0, 0.01)]
    matrix = [float(numpy.float32(number)) for number in matrix]
    return "perspective", matrix, lambda r, fill: image.transform(
        image.size, Image.Transform.PERSPECTIVE, matrix, r, fillcolor=fill)


def inverse_matrix(size, angle, translate, scale, shear, center=None):
    """As torchvision writes it down (v2, _get_inverse_affine_matrix)."""
    turn, sx, sy = (math.radians(degrees) for degrees in (angle, *shear))
    x, y = center if center is not None else (size[0] * 0.5, size[1] * 0.5)
    a = math.cos(turn - sy) / math.cos(sy)
    b = -(a * math.tan(sx) + math.sin(turn))
    c = math.sin(turn - sy) / math.cos(sy)
    d = math.cos(turn) - c * math.tan(sx)
    m = [d / scale, -b / scale, 0.0, -c / scale, a / scale, 0.0]
    m[2] = x - m[0] * (x + translate[0]) - m[1] * (y + translate[1])
    m[5] = y - m[3] * (x + translate[0]) - m[4] * (y + translate[1])
    return m


def policy(image, rng):
    name = rng.choice(["shear_x", "shear_y", "translate_x", "translate_y"])
    magnitude = rng.uniform(-0.99, 0.99) if "shear" in name else rng.uniform(-40, 40)
    magnitude = float(rng.choice([magnitude, 0.0, 0.3]))
    along = name.endswith("y")
    amount = [0.0, 0.0]
    if "shear" in name:
        amount[along] = math.degrees(math.atan(magnitude))
        matrix = inverse_matrix(image.size, 0.0, [0, 0], 1.0, amount, (0, 0))
    else:
        amount[along] = int(magnitude)
        matrix = inverse_matrix(image.size, 0.0, amount, 1.0, [0.0, 0.0])
    return name, [magnitude], lambda r, fill: image.transform(
        image.size, Image.Transform.AFFINE, matrix, r, fillcolor=fill)


class Comparison:
    def __init__(self, probe):
        self.probe = probe
        self.counts = {}
        self.wrong = 0

    def compare(self, what, name, pixels, numbers, wanted):
        found = self.probe.operation(name, pixels, numbers)
        wanted = numpy.asarray(wanted)
        self.counts[name] = self.counts.get(name, 0) + 1
        if numpy.array_equal(found, wanted):
            return
        self.wrong += 1
        off = abs(found.astype(int) - wanted)
        print(f"WRONG: {what}, {name} {list(numbers)}: {(off > 0).sum()} of {off.size} bytes, by "
              f"up to {off.max()}")


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 22
    print(f"seed {seed}, Pillow {__version__}")
    rng = numpy.random.default_rng(seed)
    comparison = Comparison(Probe(sys.argv[1]))
    for what, pixels in pictures(rng):
        image = Image.fromarray(pixels)
        for name, numbers, operate in in_place(rng):
            comparison.compare(what, name, pixels, numbers, operate(image))
        for case in range(60):
            choose = [rotation, affine, perspective, policy][case % 4]
            name, numbers, operate = choose(image, rng)
            for i, resampling in enumerate(RESAMPLING):
                fill = [0, 0, 0] if rng.random() < 0.3 else rng.integers(0, 256, 3).tolist()
                color = tuple(fill) if pixels.ndim == 3 else fill[0]
                comparison.compare(what, name, pixels, [i, *fill, *numbers],
                                   operate(resampling, color))
    print(", ".join(f"{count} {name}" for name, count in comparison.counts.items()))
    print("all as PIL" if comparison.wrong == 0 else f"{comparison.wrong} differ")
    return 1 if comparison.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
