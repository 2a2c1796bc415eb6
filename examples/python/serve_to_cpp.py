# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A DataLoader for trainers in C++: `python serve_to_cpp.py`, and in another shell
`batchcast consume digits --batch-size 100`, or a program with libtorch that attaches to `digits`."""

import torch
from torch.utils.data import DataLoader, TensorDataset

import batchcast as bc

labels = torch.arange(1000) % 10
images = torch.rand(1000, 1, 28, 28) + labels[:, None, None, None]
# [snippet serve]
loader = DataLoader(TensorDataset(images, labels), batch_size=64, shuffle=True)

# Fields `image` f32 [1,28,28] and `label` i64, for any trainer that attaches to `digits`.
bc.serve(loader, stream="digits", epochs=3, wait_for=1)
# [snippet end]
