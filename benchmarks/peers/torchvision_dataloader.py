# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""torchvision behind torch's DataLoader: v2 transforms on u8 tensors, which its documentation calls the
fastest way, worker processes that live on from epoch to epoch, and a sampler that never drains them."""

import peer
import torch
import torchvision
from torch.utils.data import DataLoader, RandomSampler
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2


def read(path):
    return decode_image(path, mode=ImageReadMode.RGB)


def one_thread(_):
    torch.set_num_threads(1)


def batches(chosen):
    torch.manual_seed(chosen.seed)
    torch.set_num_threads(1)
    transform = v2.Compose(
        [
            v2.RandomResizedCrop(peer.SIZE, peer.AREA, peer.ASPECT, antialias=True),
            v2.RandomHorizontalFlip(peer.FLIP),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(peer.MEAN, peer.STD),
        ]
    )
    images = torchvision.datasets.ImageFolder(chosen.dir, transform=transform, loader=read)
    loader = DataLoader(
        images,
        batch_size=chosen.batch_size,
        sampler=RandomSampler(images, num_samples=1 << 40),
        num_workers=chosen.workers,
        persistent_workers=True,
        worker_init_fn=one_thread,
    )
    for pixels, _ in loader:
        pixels[:, 0, 0, 0].sum().item()
        yield len(pixels)


if __name__ == "__main__":
    options = peer.options(__doc__)
    version = f"torchvision {torchvision.__version__}, torch {torch.__version__}"
    peer.measure("torchvision", version, options, batches(options))
