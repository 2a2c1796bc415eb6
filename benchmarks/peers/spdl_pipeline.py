# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""SPDL: a pipeline of threads, as its documentation builds it. Crop, resize and flip are one FFmpeg filter
for each image; the batch is normalised at once."""

import importlib.metadata
import random

import numpy
import peer
import spdl.io
import torch
from spdl.pipeline import PipelineBuilder


def paths(chosen):
    order = random.Random(chosen.seed)
    images = sorted(str(path) for path in chosen.dir.glob("*/*.jpg"))
    while True:
        order.shuffle(images)
        yield from images


class Decoder:
    def __init__(self, seed):
        self._random = random.Random(seed)

    def __call__(self, path):
        packets = spdl.io.demux_image(path)
        x, y, width, height = peer.crop(self._random, packets.width, packets.height)
        # swscale widens its bilinear filter where it reduces: antialiased.
        steps = [f"crop={width}:{height}:{x}:{y}", f"scale={peer.SIZE}:{peer.SIZE}:flags=bilinear"]
        if self._random.random() < peer.FLIP:
            steps.append("hflip")
        return spdl.io.decode_packets(packets, filter_desc=",".join([*steps, "format=pix_fmts=rgb24"]))


class Batch:
    def __init__(self):
        self._mean = torch.tensor([255 * m for m in peer.MEAN]).view(1, 3, 1, 1)
        self._scale = torch.tensor([1 / (255 * s) for s in peer.STD]).view(1, 3, 1, 1)

    def __call__(self, frames):
        pixels = spdl.io.to_torch(spdl.io.convert_frames(frames)).permute(0, 3, 1, 2)
        pixels = pixels.to(torch.float32, memory_format=torch.contiguous_format)
        return pixels.sub_(self._mean).mul_(self._scale)


def batches(chosen):
    torch.set_num_threads(1)
    pipeline = (
        PipelineBuilder()
        .add_source(paths(chosen))
        .pipe(Decoder(chosen.seed), concurrency=chosen.workers)
        .aggregate(chosen.batch_size)
        .pipe(Batch())
        .add_sink(2)
        .build(num_threads=chosen.workers)
    )
    with pipeline.auto_stop():
        for pixels in pipeline:
            numpy.asarray(pixels)[:, 0, 0, 0].sum()
            yield len(pixels)


if __name__ == "__main__":
    options = peer.options(__doc__)
    peer.measure("spdl", f"SPDL {importlib.metadata.version('spdl')}", options, batches(options))
