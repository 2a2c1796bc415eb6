# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""DALI's CPU operators, put together as in its own ImageNet training example, without a GPU. The batch
is taken as DALI has it: the copy that its PyTorch iterator would add is left out. With --jitter colours change
and a rectangle is erased, as torchvision's ColorJitter(0.4, 0.4, 0.4, 0.1) and RandomErasing(0.25) do; with
--eval the shorter side becomes 256 and the centre is taken; with --rand-augment and --trivial-augment DALI's own of
these names come after the flip."""

import math

import nvidia.dali
import peer
from nvidia.dali import fn, types
from nvidia.dali import math as dali_math
from nvidia.dali.auto_aug import rand_augment, trivial_augment
from nvidia.dali.pipeline import pipeline_def

RESIZED = 256


def normalised(pixels, **options):
    return fn.crop_mirror_normalize(
        pixels,
        dtype=types.FLOAT,
        output_layout="CHW",
        mean=[255 * m for m in peer.MEAN],
        std=[255 * s for s in peer.STD],
        **options,
    )


def jittered(pixels):
    """One pass over the pixels; the order of the four is DALI's."""
    return fn.color_twist(
        pixels,
        brightness=fn.random.uniform(range=(0.6, 1.4)),
        contrast=fn.random.uniform(range=(0.6, 1.4)),
        saturation=fn.random.uniform(range=(0.6, 1.4)),
        hue=fn.random.uniform(range=(-36.0, 36.0)),
    )


def erased(pixels):
    area = fn.random.uniform(range=(0.02, 0.33))
    ratio = dali_math.exp(fn.random.uniform(range=(math.log(0.3), math.log(3.3))))
    height = dali_math.min(dali_math.sqrt(area * ratio), 1.0)
    width = dali_math.min(dali_math.sqrt(area / ratio), 1.0)
    chosen = fn.cast(fn.random.coin_flip(probability=0.25), dtype=types.FLOAT)
    top = fn.random.uniform(range=(0.0, 1.0)) * (1.0 - height)
    left = fn.random.uniform(range=(0.0, 1.0)) * (1.0 - width)
    return fn.erase(
        pixels,
        anchor=fn.stack(top, left),
        shape=fn.stack(height * chosen, width * chosen),
        axis_names="HW",
        normalized=True,
    )


@pipeline_def(device_id=None)
def training(folder, antialias, jitter):
    encoded, labels = fn.readers.file(file_root=folder, random_shuffle=True, name="reader")
    pixels = fn.decoders.image_random_crop(
        encoded, random_area=peer.AREA, random_aspect_ratio=peer.ASPECT, num_attempts=10
    )
    pixels = fn.resize(
        pixels, size=(peer.SIZE, peer.SIZE), interp_type=types.INTERP_LINEAR, antialias=antialias
    )
    if jitter:
        pixels = jittered(pixels)
    pixels = normalised(pixels, mirror=fn.random.coin_flip(probability=peer.FLIP))
    return erased(pixels) if jitter else pixels, labels


@pipeline_def(device_id=None, enable_conditionals=True)
def augmented(folder, antialias, trivial):
    encoded, labels = fn.readers.file(file_root=folder, random_shuffle=True, name="reader")
    pixels = fn.decoders.image_random_crop(
        encoded, random_area=peer.AREA, random_aspect_ratio=peer.ASPECT, num_attempts=10
    )
    pixels = fn.resize(
        pixels, size=(peer.SIZE, peer.SIZE), interp_type=types.INTERP_LINEAR, antialias=antialias
    )
    pixels = fn.flip(pixels, horizontal=fn.random.coin_flip(probability=peer.FLIP))
    if trivial:
        pixels = trivial_augment.trivial_augment_wide(pixels, shape=(peer.SIZE, peer.SIZE))
    else:
        pixels = rand_augment.rand_augment(pixels, n=2, m=9, shape=(peer.SIZE, peer.SIZE))
    return normalised(pixels), labels


@pipeline_def(device_id=None)
def evaluation(folder, antialias):
    encoded, labels = fn.readers.file(file_root=folder, name="reader")
    pixels = fn.resize(
        fn.decoders.image(encoded),
        resize_shorter=RESIZED,
        interp_type=types.INTERP_LINEAR,
        antialias=antialias,
    )
    return normalised(pixels, crop=(peer.SIZE, peer.SIZE)), labels


def batches(chosen):
    settings = {"batch_size": chosen.batch_size, "num_threads": chosen.workers, "seed": chosen.seed}
    folder, antialias = str(chosen.dir), not chosen.no_antialias
    if chosen.eval:
        pipeline = evaluation(folder, antialias, **settings)
    elif chosen.rand_augment or chosen.trivial_augment:
        pipeline = augmented(folder, antialias, chosen.trivial_augment, **settings)
    else:
        pipeline = training(folder, antialias, chosen.jitter, **settings)
    pipeline.build()
    while True:
        pixels = pipeline.run()[0].as_array()
        pixels[:, 0, 0, 0].sum()
        yield len(pixels)


if __name__ == "__main__":
    options = peer.options(
        __doc__,
        [
            ("--no-antialias", "resize as OpenCV does: less work, other pixels"),
            ("--train", "random resized crops and flips: the default"),
            ("--jitter", "those, with other colours and a rectangle erased"),
            ("--eval", "the centre of the whole image"),
            ("--rand-augment", "those of --train, and two of rand_augment's operations"),
            ("--trivial-augment", "those of --train, and one of trivial_augment_wide's operations"),
        ],
    )
    peer.measure("dali", f"DALI {nvidia.dali.__version__}", options, batches(options))
