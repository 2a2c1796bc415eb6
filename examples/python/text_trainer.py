# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Trains on text: `python text_trainer.py TRAIN.bin`, of u16 tokens as nanoGPT's prepare.py writes them.

The model looks one token back, which is enough to see that inputs and targets belong together.
"""

import sys

import torch

import batchcast as bc

file = sys.argv[1]
vocabulary = 256
# [snippet loader]
loader = bc.Loader(
    "text",
    batch_size=16,
    drop_last=True,  # all batches have one shape
    start=bc.Start(f"tokens:{file}?length=128", recipe="tokens"),
)
# [snippet end]
model = torch.nn.Embedding(vocabulary, vocabulary)
optimizer = torch.optim.SGD(model.parameters(), lr=50.0)
# [snippet loop]
for epoch in range(2):
    for inputs, targets in loader:  # i64 [16, 128] each; a target is the token after its input
        scores = model(inputs)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), targets.flatten())
        # [snippet end]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(f"{loader.stats.batches} batches of {tuple(inputs.shape)}, loss {loss.item():.2f}")
