# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""One stage alone, as PIL, timm or torchvision's v2 transforms do it: on images of 224 x 224 that lie in
memory, in one thread, without a loader. DIR has image.npy, of make_variants.py."""

import io
import random

import numpy
import peer
import PIL
from PIL import Image, ImageFilter

QUALITY = (30, 95)


def pil_blur(image):
    return image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2.0)))


def pil_jpeg(image):
    file = io.BytesIO()
    image.save(file, "JPEG", quality=random.randint(*QUALITY))
    made = Image.open(file)
    made.load()
    return made


def timm_policy(words):
    from timm.data import auto_augment

    hparams = {"img_mean": (124, 116, 104), "interpolation": Image.BICUBIC}
    if words.startswith("rand"):
        return auto_augment.rand_augment_transform(words, hparams)
    if words.startswith("augmix"):
        return auto_augment.augment_and_mix_transform(words, {**hparams, "translate_pct": 0.3})
    return auto_augment.auto_augment_transform(words, hparams)


def torchvision_stage(name):
    from torchvision.transforms import v2

    return v2.JPEG(QUALITY) if name == "jpeg" else v2.GaussianNoise(0.0, 0.1)


STAGES = {
    "pil": {"pil_gaussian_blur": lambda: pil_blur, "jpeg": lambda: pil_jpeg},
    "timm": {
        "timm_rand_augment": lambda: timm_policy("rand-m9-mstd0.5"),
        "timm_auto_augment": lambda: timm_policy("original-mstd0.5"),
        "timm_aug_mix": lambda: timm_policy("augmix-m5-w4-d2"),
    },
    "torchvision": {name: lambda name=name: torchvision_stage(name) for name in ("jpeg", "gaussian_noise")},
}


def batches(chosen, images):
    stage = STAGES[chosen.library][chosen.stage]()
    at = 0
    while True:
        for _ in range(chosen.batch_size):
            stage(images[at % len(images)])
            at += 1
        yield chosen.batch_size


def main():
    stages = sorted({name for stages in STAGES.values() for name in stages})
    chosen = peer.options(__doc__, values=[("--library", sorted(STAGES)), ("--stage", stages)])
    random.seed(chosen.seed)
    numpy.random.seed(chosen.seed)
    images = [Image.fromarray(one) for one in numpy.load(chosen.dir / "image.npy")]
    version = f"Pillow {PIL.__version__}"
    if chosen.library == "torchvision":
        import torch
        import torchvision
        from torchvision.transforms.v2.functional import pil_to_tensor

        torch.set_num_threads(1)
        version = f"torchvision {torchvision.__version__}, torch {torch.__version__}"
        images = [pil_to_tensor(one) for one in images]
    peer.measure(chosen.library, version, chosen, batches(chosen, images))


if __name__ == "__main__":
    main()
