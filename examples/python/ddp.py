# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""One model, trained data-parallel by processes that share each batch of one stream. With MNIST's or
Fashion-MNIST's files in FOLDER:

    torchrun --nproc-per-node 2 ddp.py FOLDER

The first rank of a node starts the stream there; all begin at the same sample, once the last has
come. On several nodes each has its ranks' part of every batch: see examples/cluster.
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
    start=bc.Start("idx:" + folder, recipe="mnist", arguments=("--shard", "blocks")),
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
# No all_reduce of these, so close to the end. A thread of gloo may be the last to drop a tensor,
# and with torch 2.11 it then needs the GIL if Python knows that tensor. A thread that asks for the
# GIL while the interpreter ends takes the process with it ("terminate called without an active
# exception"), and destroy_process_group() does not end the threads of a group that a DDP model has
# used. The tensors that DDP itself reduces are unknown to Python.
total = sum(float(parameter.detach().sum()) for parameter in model.parameters())
print(
    f"rank {dist.get_rank()} of {dist.get_world_size()}: {len(ids)} samples, whose ids add up to"
    f" {ids.sum()}; parameters add up to {total:.6f}",
    flush=True,
)
loader.close()
dist.destroy_process_group()
