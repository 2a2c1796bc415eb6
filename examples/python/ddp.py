# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""One model, trained data-parallel by processes that share each batch of one stream. With MNIST's or
Fashion-MNIST's files in FOLDER:

    torchrun --nproc-per-node 2 ddp.py FOLDER

The first rank to come starts the stream; all begin at the same sample, once the last has come.
"""

import sys

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

import batchcast as bc

folder = sys.argv[1]
dist.init_process_group("gloo")
# [snippet loader]
loader = bc.Loader(
    "mnist-ddp",
    batch_size=128,  # of each rank
    group="auto",  # rank and world as torchrun numbers them
    fields=("image", "label", "sample_id"),
    start=bc.Start("idx:" + folder, recipe="mnist"),
)
# [snippet end]
torch.manual_seed(1)
model = DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10))
)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
ids = []
for images, labels, sample_ids in loader:
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ids.append(sample_ids)

ids = torch.cat(ids)
sums = torch.stack([ids.sum(), torch.tensor(len(ids))])
dist.all_reduce(sums)
total = sum(float(parameter.sum()) for parameter in model.parameters())
print(
    f"rank {dist.get_rank()} of {dist.get_world_size()}: {len(ids)} of {sums[1]} samples, whose ids add"
    f" up to {sums[0]}; parameters add up to {total:.6f}",
    flush=True,
)
loader.close()
dist.destroy_process_group()
