# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Pixel stages and warps against torchvision and PIL: what they do with what they drew, and how what
they draw is distributed.

Usage: stage_oracle.py STAGE_PROBE [SEED]. Pixels are equal, but for gaussian_blur and elastic, whose
sums torchvision rounds otherwise: one level at most there, in one byte of ten thousand where it is
blurred and of a thousand where it is bent. A mask that is bent may have one pixel of a thousand from
next to its place.
"""
import io
import math
import sys

import numpy
import torch
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from torchvision.transforms import InterpolationMode, functional

from operation_oracle import inverse_matrix
from probe import Probe, pictures

RESAMPLING = {"nearest": Image.Resampling.NEAREST, "bilinear": Image.Resampling.BILINEAR,
              "bicubic": Image.Resampling.BICUBIC}
DRAWS = 4000
# Of equal distributions, one statistic in a million exceeds these.
KS_LIMIT = math.sqrt(-math.log(1e-6 / 2) / 2 / DRAWS)

failures = 0
counts = {}


def check(right, what):
    global failures
    if not right:
        failures += 1
        print(f"WRONG: {what}")


def compare(name, found, wanted, what, level=0, share=0.0):
    """Bytes that differ by up to a level may be that share of all."""
    counts[name] = counts.get(name, 0) + 1
    wanted = numpy.asarray(wanted).reshape(-1)
    if found.size != wanted.size:
        check(False, f"{name}: {what}: {found.size} bytes and not {wanted.size}")
        return
    off = abs(found.astype(int) - wanted)
    check(off.max() <= level and (off > 0).mean() <= share,
          f"{name}: {what}: {(off > 0).sum()} of {off.size} bytes, by up to {off.max()}")


def uniform(name, values, low, high):
    """Kolmogorov and Smirnov's test."""
    at = numpy.sort((numpy.array(values) - low) / (high - low))
    steps = numpy.arange(len(at) + 1) / len(at)
    distance = max((steps[1:] - at).max(), (at - steps[:-1]).max())
    check(distance < KS_LIMIT, f"{name} is not uniform from {low} to {high}: {distance:.4f}")


def evenly(name, values, choices):
    """Chi-square, by its cube's normal approximation (Wilson and Hilferty)."""
    found = [sum(value == choice for value in values) for choice in choices]
    check(sum(found) == len(values), f"{name} is something else than {choices}")
    mean, free = len(values) / len(choices), len(choices) - 1
    square = sum((count - mean) ** 2 / mean for count in found)
    deviation = ((square / free) ** (1 / 3) - (1 - 2 / (9 * free))) / math.sqrt(2 / (9 * free))
    check(deviation < 5, f"{name} is not drawn evenly: {found}")


def as_often(name, happened, p):
    mean = sum(happened) / len(happened)
    check(abs(mean - p) < 5 * math.sqrt(p * (1 - p) / len(happened)),
          f"{name} is done with the probability {mean}, not {p}")


def tones(probe, name, pixels, image):
    for stage, operate in {
            "solarize\", threshold = 77.5": lambda i: ImageOps.solarize(i, 77.5),
            "posterize\", bits = 3": lambda i: ImageOps.posterize(i, 3),
            "sharpness\", sharpness_factor = 2.5": lambda i: ImageEnhance.Sharpness(i).enhance(2.5),
            "autocontrast\"": ImageOps.autocontrast, "equalize\"": ImageOps.equalize,
            "invert\"": ImageOps.invert}.items():
        for sample_id in range(4):
            found, notes = probe.stage(f'stage = "{stage}', pixels, sample_id)
            key = stage.split('"')[0]
            wanted = operate(image) if notes[key] else image
            compare(key, found, wanted, f"{name}, {sample_id}")


def photometric(probe, name, pixels, image):
    stage = ('stage = "random_photometric_distort", brightness = [0.5, 1.5], hue = [-0.3, 0.3]')
    for sample_id in range(12):
        found, notes = probe.stage(stage, pixels, sample_id)
        wanted = image
        steps = ["brightness", "contrast", "saturation", "hue"]
        if not notes["contrast_first"]:
            steps = ["brightness", "saturation", "hue", "contrast"]
        for step in steps:
            if step in notes:
                wanted = getattr(functional, "adjust_" + step)(wanted, notes[step])
        wanted = numpy.asarray(wanted)
        if "channel_order" in notes and wanted.ndim == 3:
            wanted = wanted[:, :, [int(c) - 1 for c in str(int(notes["channel_order"]))]]
        compare("photometric", found, wanted, f"{name}, {sample_id}, {notes}")


def blurs(probe, name, pixels, rng):
    for sample_id in range(4):
        kernel = [int(2 * rng.integers(0, 12) + 1), int(2 * rng.integers(0, 8) + 1)]
        height, width = pixels.shape[:2]
        if kernel[0] // 2 >= width or kernel[1] // 2 >= height:
            continue
        stage = f'stage = "gaussian_blur", kernel_size = {kernel}, sigma = [0.1, 5]'
        found, notes = probe.stage(stage, pixels, sample_id)
        tensor = torch.from_numpy(pixels.reshape(height, width, -1).copy()).permute(2, 0, 1)
        wanted = functional.gaussian_blur(tensor, kernel, [notes["blur_sigma"]] * 2)
        compare("gaussian_blur", found, wanted.permute(1, 2, 0), f"{name}, {kernel}, {notes}",
                level=1, share=2 / pixels.size + 1e-4)


def pil_blurs(probe, name, pixels, image, rng):
    radii = [[0, 0], [0.1, 2], [0.1, 2], [0.1, 2], [2, 9], [9, 40], [40, 1000]]
    radii += [[exact, exact] for exact in (1.0, 2.0, 1e-3, float(rng.uniform(0, 3)))]
    for sample_id, radius in enumerate(radii):
        stage = f'stage = "pil_gaussian_blur", radius = {radius}'
        found, notes = probe.stage(stage, pixels, sample_id)
        wanted = image.filter(ImageFilter.GaussianBlur(notes["blur_radius"]))
        compare("pil_gaussian_blur", found, wanted, f"{name}, {notes}")


def jpegs(probe, name, pixels, image, rng):
    for sample_id in range(9):
        sampling = ["4:4:4", "4:2:2", "4:2:0"][sample_id % 3]
        low = int(rng.integers(1, 101))
        stage = f'stage = "jpeg", quality = [{low}, {int(rng.integers(low, 101))}], ' \
                f'sampling = "{sampling}"'
        found, notes = probe.stage(stage, pixels, sample_id)
        file = io.BytesIO()
        image.save(file, "JPEG", quality=int(notes["jpeg_quality"]), subsampling=sampling)
        compare("jpeg", found, Image.open(file), f"{name}, {stage}, {notes}")


def warp_cases(rng):
    """A stage, and what PIL does for its notes."""
    yield 'stage = "random_rotation", degrees = 200', lambda image, notes, r, fill: image.rotate(
        notes["angle"], r, fillcolor=fill)
    yield 'stage = "random_rotation", degrees = [80, 100], center = [3, 5.5]', \
        lambda image, notes, r, fill: image.rotate(notes["angle"], r, False, (3, 5.5),
                                                   fillcolor=fill)
    yield 'stage = "rotate", angle = 90', lambda image, notes, r, fill: image.rotate(
        90, r, fillcolor=fill)
    yield 'stage = "rotate", angle = -45', lambda image, notes, r, fill: image.rotate(
        -45, r, fillcolor=fill)
    angle, scale = float(rng.uniform(-90, 90)), float(rng.uniform(0.5, 2))
    fixed = (f'stage = "affine", angle = {angle}, scale = {scale}, translate = [3, -2.5], '
             'shear = [10, -20]')
    yield fixed, lambda image, notes, r, fill: image.transform(
        image.size, Image.Transform.AFFINE,
        inverse_matrix(image.size, angle, (3, -2.5), scale, (10, -20)), r, fillcolor=fill)

    def drawn(image, notes, r, fill):
        matrix = inverse_matrix(image.size, notes["angle"],
                                (notes["translate_x"], notes["translate_y"]), notes["scale"],
                                (notes["shear_x"], notes["shear_y"]))
        return image.transform(image.size, Image.Transform.AFFINE, matrix, r, fillcolor=fill)
    yield ('stage = "random_affine", degrees = 30, translate = [0.3, 0.2], scale = [0.5, 2], '
           'shear = [-10, 10, -20, 30]'), drawn
    yield 'stage = "random_affine", degrees = 0, translate = [0.5, 0.5]', drawn
    yield 'stage = "random_affine", degrees = 0, shear = 40', drawn

    def perspective(image, notes, r, fill):
        width, height = image.size
        if not notes["perspective"] or width == 1 or height == 1:
            return image
        corners = [[notes[f"{corner}_{axis}"] for axis in "xy"]
                   for corner in ("top_left", "top_right", "bottom_right", "bottom_left")]
        start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
        left, right = [], []
        for (x, y), (u, v) in zip(corners, start):
            left += [[x, y, 1, 0, 0, 0, -u * x, -u * y], [0, 0, 0, x, y, 1, -v * x, -v * y]]
            right += [u, v]
        if abs(numpy.linalg.det(numpy.array(left))) < 1e-6:
            return image
        matrix = numpy.linalg.solve(numpy.array(left), right).astype(numpy.float32)
        return image.transform(image.size, Image.Transform.PERSPECTIVE, matrix.tolist(), r,
                               fillcolor=fill)
    yield 'stage = "random_perspective"', perspective


def warps(probe, name, pixels, image, rng):
    for stage, operate in warp_cases(rng):
        for case in range(6):
            sample_id = int(rng.integers(0, 1 << 30))
            is_mask = pixels.ndim == 2 and case < 3
            word = list(RESAMPLING)[case % 3]
            fill = rng.integers(0, 256, 3).tolist()
            color = tuple(fill) if pixels.ndim == 3 else fill[0]
            text = (f'{stage}, interpolation = "{word}", mask_fill = {fill[2]}, '
                    f'fill = {fill if pixels.ndim == 3 else fill[0]}')
            found, notes = probe.stage(text, pixels, sample_id, is_mask)
            resampling = RESAMPLING["nearest" if is_mask else word]
            wanted = operate(image, notes, resampling, fill[2] if is_mask else color)
            compare(stage.split('"')[1], found, wanted, f"{name}, {text}, {sample_id}, {notes}")


def elastics(probe, name, pixels, rng):
    height, width = pixels.shape[:2]
    for case in range(6):
        alpha = [float(rng.uniform(0, 200)), float(rng.uniform(0, 200))]
        sigma = [float(rng.uniform(0.3, 4)), float(rng.uniform(0.3, 4))]
        kernels = [int(8 * s + 1) | 1 for s in sigma]
        if case == 0:
            sigma = [0.0, 0.0]
        elif max(kernels) // 2 >= min(height, width):
            continue
        is_mask = case == 1
        fill = int(rng.integers(0, 256))
        stage = f'stage = "elastic", alpha = {alpha}, sigma = {sigma}, fill = {fill}'
        found, _ = probe.stage(stage + f", mask_fill = {fill}", pixels, case, is_mask)
        draws = torch.from_numpy(probe.draws(case, 2 * height * width).copy())
        offsets = []
        for axis, noise in enumerate(draws.reshape(2, 1, 1, height, width) * 2 - 1):
            if sigma[axis] > 0:
                noise = functional.gaussian_blur(noise, [kernels[axis]] * 2, sigma)
            offsets.append(noise * alpha[axis] / [width, height][axis])
        field = torch.cat(offsets, 1).permute(0, 2, 3, 1)
        tensor = torch.from_numpy(pixels.reshape(height, width, -1).copy()).permute(2, 0, 1)
        mode = InterpolationMode.NEAREST if is_mask else InterpolationMode.BILINEAR
        wanted = functional.elastic_transform(tensor, field, mode, [float(fill)])
        compare("elastic", found, wanted.permute(1, 2, 0), f"{name}, {stage}, {case}",
                level=255 if is_mask else 1,
                share=2 / pixels.size + 1e-3)


def distributions(probe):
    pixels = numpy.zeros((20, 30, 3), numpy.uint8)

    def drawn(stage, keys):
        rows = [probe.stage(stage, pixels, sample_id)[1] for sample_id in range(DRAWS)]
        return {key: [row[key] for row in rows if key in row] for key in keys}

    found = drawn('stage = "random_affine", degrees = [-30, 60], translate = [0.2, 0.5], '
                  'scale = [0.5, 2], shear = [-10, 20, 5, 6]',
                  ["angle", "translate_x", "translate_y", "scale", "shear_x", "shear_y"])
    uniform("the angle", found["angle"], -30, 60)
    uniform("the scale", found["scale"], 0.5, 2)
    uniform("the shear along x", found["shear_x"], -10, 20)
    uniform("the shear along y", found["shear_y"], 5, 6)
    # Rounded: the outermost whole numbers come half as often.
    for key, most in {"translate_x": 6, "translate_y": 10}.items():
        inner = [value for value in found[key] if abs(value) < most]
        evenly(key, inner, range(1 - most, most))
        as_often(key + " at the rim", [abs(value) == most for value in found[key]], 1 / (2 * most))
    found = drawn('stage = "random_rotation", degrees = 5, p = 0.3', ["angle"])
    as_often("random_rotation", [True] * len(found["angle"])
             + [False] * (DRAWS - len(found["angle"])), 0.3)
    found = drawn('stage = "random_perspective", distortion_scale = 0.6, p = 1',
                  ["top_left_x", "top_right_y", "bottom_right_x", "bottom_left_y"])
    # int(0.6 × 15) + 1 columns and int(0.6 × 10) + 1 rows.
    evenly("top_left_x", found["top_left_x"], range(10))
    evenly("top_right_y", found["top_right_y"], range(7))
    evenly("bottom_right_x", found["bottom_right_x"], range(20, 30))
    evenly("bottom_left_y", found["bottom_left_y"], range(13, 20))
    found = drawn('stage = "random_photometric_distort"',
                  ["brightness", "contrast", "saturation", "hue", "contrast_first",
                   "channel_order"])
    for key, (low, high) in {"brightness": (0.875, 1.125), "contrast": (0.5, 1.5),
                             "saturation": (0.5, 1.5), "hue": (-0.05, 0.05)}.items():
        as_often(key, [True] * len(found[key]) + [False] * (DRAWS - len(found[key])), 0.5)
        values = found[key]
        check(low <= min(values) and max(values) <= high, f"{key} beyond {low} to {high}")
        check(abs(numpy.mean(values) - (low + high) / 2)
              < 5 * (high - low) / math.sqrt(12 * len(values)), f"{key} is not uniform")
    as_often("contrast_first", found["contrast_first"], 0.5)
    evenly("channel_order", found["channel_order"], [123, 132, 213, 231, 312, 321])
    found = drawn('stage = "gaussian_blur", kernel_size = 3, sigma = [0.5, 1.5]', ["blur_sigma"])
    uniform("blur_sigma", found["blur_sigma"], 0.5, 1.5)
    found = drawn('stage = "pil_gaussian_blur", p = 0.3', ["blur_radius"])["blur_radius"]
    as_often("pil_gaussian_blur", [True] * len(found) + [False] * (DRAWS - len(found)), 0.3)
    check(min(found) >= 0.1 and max(found) <= 2, "blur_radius beyond 0.1 to 2")
    check(abs(numpy.mean(found) - 1.05) < 5 * 1.9 / math.sqrt(12 * len(found)),
          "blur_radius is not uniform")
    for stage in ["autocontrast", "equalize", "invert"]:
        as_often(stage, drawn(f'stage = "{stage}"', [stage])[stage], 0.5)


def main():
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 23
    print(f"seed {seed}")
    torch.set_num_threads(1)
    rng = numpy.random.default_rng(seed)
    probe = Probe(sys.argv[1])
    for name, pixels in pictures(rng):
        image = Image.fromarray(pixels)
        tones(probe, name, pixels, image)
        photometric(probe, name, pixels, image)
        blurs(probe, name, pixels, rng)
        pil_blurs(probe, name, pixels, image, rng)
        jpegs(probe, name, pixels, image, rng)
        warps(probe, name, pixels, image, rng)
        elastics(probe, name, pixels, rng)
    distributions(probe)
    print(", ".join(f"{count} {name}" for name, count in counts.items()))
    print("all as torchvision" if failures == 0 else f"{failures} differ")
    return 1 if failures else 0


sys.exit(main())
