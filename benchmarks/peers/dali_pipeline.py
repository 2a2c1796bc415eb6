# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""DALI's CPU operators, put together as in its own ImageNet training example, without a GPU. The batch
is taken as DALI has it: the copy that its PyTorch iterator would add is left out."""

import nvidia.dali
import peer
from nvidia.dali import fn, types
from nvidia.dali.pipeline import pipeline_def


@pipeline_def(batch_size=peer.BATCH, device_id=None)
def training(folder, antialias):
    encoded, labels = fn.readers.file(file_root=folder, random_shuffle=True, name="reader")
    pixels = fn.decoders.image_random_crop(
        encoded, random_area=peer.AREA, random_aspect_ratio=peer.ASPECT, num_attempts=10
    )
    pixels = fn.resize(
        pixels, size=(peer.SIZE, peer.SIZE), interp_type=types.INTERP_LINEAR, antialias=antialias
    )
    pixels = fn.crop_mirror_normalize(
        pixels,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[255 * m for m in peer.MEAN],
        std=[255 * s for s in peer.STD],
        mirror=fn.random.coin_flip(probability=peer.FLIP),
    )
    return pixels, labels


def batches(chosen):
    pipeline = training(
        str(chosen.dir), not chosen.no_antialias, num_threads=chosen.workers, seed=chosen.seed
    )
    pipeline.build()
    while True:
        pixels = pipeline.run()[0].as_array()
        pixels[:, 0, 0, 0].sum()
        yield len(pixels)


if __name__ == "__main__":
    options = peer.options(__doc__, [("--no-antialias", "resize as OpenCV does: less work, other pixels")])
    peer.measure("dali", f"DALI {nvidia.dali.__version__}", options, batches(options))
