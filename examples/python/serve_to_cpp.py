# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A DataLoader for trainers in C++: `python serve_to_cpp.py`, and in another shell, before or after,
`build/release/examples/example_05_libtorch_loop digits served`, or `batchcast consume digits`."""

import torch
from torch.utils.data import DataLoader, Dataset

import batchcast as bc

# The bars of a pocket calculator's digits: top, bottom, left, right of 28 x 28 pixels.
BARS = {
    "a": (4, 7, 9, 19),
    "b": (5, 14, 18, 21),
    "c": (14, 23, 18, 21),
    "d": (21, 24, 9, 19),
    "e": (14, 23, 7, 10),
    "f": (5, 14, 7, 10),
    "g": (12, 15, 9, 19),
}
LIT = ("abcdef", "bc", "abdeg", "abcdg", "bcfg", "acdfg", "acdefg", "abc", "abcdefg", "abcdfg")


# [snippet dataset]
class Digits(Dataset):
    """Drawn once. Each request moves and dims one, and covers it with noise."""

    def __init__(self, samples):
        self.samples = samples
        self.drawn = torch.zeros(10, 1, 28, 28)
        for digit, bars in enumerate(LIT):
            for top, bottom, left, right in (BARS[bar] for bar in bars):
                self.drawn[digit, 0, top:bottom, left:right] = 1

    def __len__(self):
        return self.samples

    def transform(self, image):  # any Python code
        down, right = torch.randint(-2, 3, (2,)).tolist()
        image = image.roll((down, right), (1, 2)) * (0.5 + 0.5 * torch.rand(1))
        return image + 0.2 * torch.randn(image.shape)

    def __getitem__(self, index):
        label = index % 10
        return self.transform(self.drawn[label]), label


# [snippet end]

if __name__ == "__main__":
    # [snippet serve]
    loader = DataLoader(Digits(5000), batch_size=100, shuffle=True, num_workers=2)

    # Fields `image` f32 [1,28,28] and `label` i64, for any trainer that attaches to `digits`.
    bc.serve(loader, stream="digits", epochs=3, wait_for=1)
    # [snippet end]
