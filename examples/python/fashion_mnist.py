# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Trains and tests on Fashion-MNIST: `python fashion_mnist.py FOLDER`, with its four files in FOLDER.

Any number of these may run side by side, with different options: they take the same two streams,
which the first one starts.
"""

import argparse

import torch

import batchcast as bc

options = argparse.ArgumentParser()
options.add_argument("folder", help="of train-images-idx3-ubyte and so on, .gz or not")
options.add_argument("--epochs", type=int, default=2)
options.add_argument("--batch-size", type=int, default=128)
options.add_argument("--lr", type=float, default=0.002)
options = options.parse_args()

# [snippet streams]
# The first trainer starts a process that serves each. A ring may be smaller than an epoch.
train = bc.Loader(
    "fashion-train",
    options.batch_size,
    start=bc.Start("idx:" + options.folder, recipe="mnist", memory="16MiB"),
)
# Trainers test at different times: between its loops this one holds no other up.
test = bc.Loader(
    "fashion-test",
    500,
    between_epochs="let_go",
    start=bc.Start("idx:" + options.folder + "?split=test", recipe="mnist", memory="16MiB"),
)
# [snippet end]

torch.manual_seed(1)
model = torch.nn.Sequential(
    torch.nn.Flatten(),
    torch.nn.Linear(784, 64),
    torch.nn.ReLU(),
    torch.nn.Linear(64, 10),
)
optimizer = torch.optim.Adam(model.parameters(), lr=options.lr)

for epoch in range(options.epochs):
    for images, labels in train:
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    right = 0
    with torch.no_grad():
        for images, labels in test:
            right += int((model(images).argmax(1) == labels).sum())
    print(f"epoch {epoch}: {right / 100:.1f}% of the test images are right", flush=True)
