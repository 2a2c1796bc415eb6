# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""torchvision's v2 transforms on u8 tensors, as its reference scripts put them together for other recipes
than crops: behind torch's DataLoader, as torchvision_dataloader.py."""

import pathlib

import peer
import torch
import torchvision
from torch.utils.data import DataLoader, Dataset, RandomSampler
from torchvision import tv_tensors
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import InterpolationMode, v2

import torchvision_dataloader

SEGMENTED = (480, 480)
VOID = 255


def crop_and_flip(*between, after=(), interpolation=InterpolationMode.BILINEAR):
    return v2.Compose(
        [
            v2.RandomResizedCrop(peer.SIZE, peer.AREA, peer.ASPECT, interpolation=interpolation, antialias=True),
            v2.RandomHorizontalFlip(peer.FLIP),
            *between,
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(peer.MEAN, peer.STD),
            *after,
        ]
    )


def simclr():
    jitter = v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    blur = v2.RandomApply([v2.GaussianBlur(23, (0.1, 2.0))], p=0.5)
    one = v2.Compose(
        [
            v2.RandomResizedCrop(peer.SIZE, peer.AREA, peer.ASPECT, antialias=True),
            v2.RandomHorizontalFlip(peer.FLIP),
            jitter,
            v2.RandomGrayscale(0.2),
            blur,
            v2.ToDtype(torch.float32, scale=True),
        ]
    )
    return lambda image: torch.stack([one(image), one(image)])


def evaluation():
    return v2.Compose(
        [
            v2.Resize(256, antialias=True),
            v2.CenterCrop(peer.SIZE),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(peer.MEAN, peer.STD),
        ]
    )


RECIPES = {
    "train": crop_and_flip,
    "eval": evaluation,
    "jitter_erasing": lambda: crop_and_flip(v2.ColorJitter(0.4, 0.4, 0.4, 0.1), after=(v2.RandomErasing(0.25),)),
    "rand_augment": lambda: crop_and_flip(v2.RandAugment()),
    "trivial_augment_wide": lambda: crop_and_flip(v2.TrivialAugmentWide()),
    "simclr": simclr,
    # DeiT turns and shears bicubically, which torchvision has not for tensors: less work here.
    "deit": lambda: crop_and_flip(
        v2.RandAugment(2, 9, interpolation=InterpolationMode.BILINEAR),
        after=(v2.RandomErasing(0.25),),
        interpolation=InterpolationMode.BICUBIC,
    ),
}


class Pairs(Dataset):
    """Photographs and masks of the same names, side by side."""

    def __init__(self, folder):
        self.photographs = sorted(pathlib.Path(folder).glob("*/*.jpg"))
        self.transform = v2.Compose(
            [
                v2.RandomResizedCrop(SEGMENTED, (0.25, 1.0), antialias=True),
                v2.RandomHorizontalFlip(peer.FLIP),
                v2.ToDtype({tv_tensors.Image: torch.float32, tv_tensors.Mask: torch.int64, "others": None}, scale=True),
                v2.Normalize(peer.MEAN, peer.STD),
            ]
        )

    def __len__(self):
        return len(self.photographs)

    def __getitem__(self, at):
        photograph = self.photographs[at]
        image = tv_tensors.Image(decode_image(photograph, mode=ImageReadMode.RGB))
        mask = tv_tensors.Mask(decode_image(photograph.with_suffix(".png"), mode=ImageReadMode.GRAY)[0])
        return self.transform(image, mask)


def dataset(chosen):
    if chosen.recipe == "segmentation":
        return Pairs(chosen.dir)
    return torchvision.datasets.ImageFolder(
        chosen.dir, transform=RECIPES[chosen.recipe](), loader=torchvision_dataloader.read
    )


def batches(chosen):
    torch.manual_seed(chosen.seed)
    torch.set_num_threads(1)
    images = dataset(chosen)
    loader = DataLoader(
        images,
        batch_size=chosen.batch_size,
        sampler=RandomSampler(images, num_samples=1 << 40),
        num_workers=chosen.workers,
        persistent_workers=True,
        worker_init_fn=torchvision_dataloader.one_thread,
    )
    for pixels, _ in loader:
        pixels.view(len(pixels), -1)[:, 0].sum().item()
        yield len(pixels)


if __name__ == "__main__":
    options = peer.options(__doc__, values=[("--recipe", sorted([*RECIPES, "segmentation"]))])
    version = f"torchvision {torchvision.__version__}, torch {torch.__version__}"
    peer.measure("torchvision", version, options, batches(options))
