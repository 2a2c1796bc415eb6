# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A whole trainer: `python trainer.py STREAM`, of images of 28x28 and labels that are served:

    batchcast serve idx:FOLDER --recipe mnist --stream mnist
"""

import sys

import torch

import batchcast as bc

stream = sys.argv[1]
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train(images, labels):
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


# [snippet loader]
loader = bc.Loader(stream, batch_size=256)  # attaches to the stream
for epoch in range(2):
    for images, labels in loader:  # one epoch, as torch tensors, zero-copy
        train(images, labels)
# [snippet end]

with torch.no_grad():
    right = (model(images).argmax(1) == labels).float().mean()
print(f"{loader.stats.samples} samples, {right:.0%} of the last {len(labels)} are right")
