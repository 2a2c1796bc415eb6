# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A DataLoader that every trainer shares: `python serve_loader.py`."""

import batchcast as bc
import torch
from torch.utils.data import DataLoader, TensorDataset

images = torch.rand(1000, 3, 8, 8)
dataset = TensorDataset(images, images.mean((1, 2, 3)))
# [snippet serve]
loader = DataLoader(dataset, batch_size=64, shuffle=True)

with bc.serve(loader, stream="shared", epochs=3, background=True):
    with bc.Consumer("shared", batch_size=100) as trainer:  # any process, any batch size
        for epoch in range(3):
            for batch in trainer:
                print(epoch, batch["image"].shape, batch["label"].mean())
# [snippet end]
