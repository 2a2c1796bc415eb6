# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Under Accelerate: `python accelerate_trainer.py FOLDER`, of MNIST's or Fashion-MNIST's files."""

import sys

import torch
from accelerate import Accelerator

import batchcast as bc

folder = sys.argv[1]
accelerator = Accelerator(cpu=True)
# [snippet loop]
loader = bc.Loader("mnist", batch_size=256, start=bc.Start("idx:" + folder, recipe="mnist"))
model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
model, optimizer = accelerator.prepare(model, optimizer)  # not the loader
for images, labels in loader:
    images, labels = images.to(accelerator.device), labels.to(accelerator.device)
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    accelerator.backward(loss)
    optimizer.step()
# [snippet end]
print(f"{loader.stats.batches} steps, loss {loss.item():.2f}")
