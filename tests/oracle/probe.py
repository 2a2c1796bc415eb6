# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Asks one stage_probe for what operations and stages make of images (serve.hpp)."""
import subprocess

import numpy


class Probe:
    def __init__(self, program):
        self.process = subprocess.Popen([program, "serve"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE)

    def _ask(self, words, pixels):
        self.process.stdin.write((words + "\n").encode() + pixels.tobytes())
        self.process.stdin.flush()
        head = self.process.stdout.readline().split()
        if not head:
            raise RuntimeError("the probe cannot do: " + words)
        made = numpy.frombuffer(self.process.stdout.read(int(head[0])), numpy.uint8)
        notes = {key.decode(): float(value) for key, value in zip(head[1::2], head[2::2])}
        return made, notes

    def operation(self, name, pixels, numbers=()):
        """What an operation makes of [height, width] or [height, width, 3]."""
        text = " ".join(repr(float(number)) for number in numbers)
        made, _ = self._ask(f"operation {name} {_shape(pixels)} {text}", pixels)
        return made.reshape(pixels.shape)

    def stage(self, stage, pixels, sample_id=0, is_mask=False):
        """What a stage makes of it, flat, and its notes."""
        return self._ask(f"stage {_shape(pixels)} {int(is_mask)} {sample_id} {stage}", pixels)

    def draws(self, sample_id, count):
        """What unit_f32() gives a stage."""
        made, _ = self._ask(f"draws {sample_id} {count}", numpy.empty(0, numpy.uint8))
        return made.view(numpy.float32)


def _shape(pixels):
    height, width = pixels.shape[:2]
    return f"{width} {height} {1 if pixels.ndim == 2 else 3}"


def pictures(rng):
    """Images that show where operations differ: RGB and gray, smooth, rough, small."""
    yield "noise", rng.integers(0, 256, (48, 64, 3)).astype(numpy.uint8)
    y, x = numpy.mgrid[0:90, 0:128]
    gradients = numpy.dstack([2 * x, y + x // 2, 255 - 2 * y]).astype(numpy.uint8)
    yield "gradients", gradients
    yield "dim", (gradients // 3 + 40).astype(numpy.uint8)
    yield "square", rng.integers(0, 256, (33, 33, 3)).astype(numpy.uint8)
    yield "one pixel", numpy.array([[[200, 17, 90]]], numpy.uint8)
    yield "two rows", rng.integers(0, 256, (2, 9, 3)).astype(numpy.uint8)
    # So long that PIL's fixed point strays from its sums.
    yield "wide", rng.integers(0, 256, (3, 1500, 3)).astype(numpy.uint8)
    yield "one level", numpy.full((12, 17, 3), 99, numpy.uint8)
    yield "extremes", rng.choice([0, 1, 254, 255], (30, 50, 3)).astype(numpy.uint8)
    yield "gray", rng.integers(0, 256, (41, 37)).astype(numpy.uint8)
    yield "gray gradient", gradients[:, :, 0].copy()
