# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""nanoGPT's loop over a stream: `python nanogpt.py TRAIN.bin`, of u16 tokens as its prepare.py writes
them.
"""

import sys

import torch
from torch.nn import functional

import batchcast as bc

block_size, batch_size, vocabulary = 64, 8, 256


class GPT(torch.nn.Module):
    """As small as it gets: one block of attention."""

    def __init__(self, width=32, heads=4):
        super().__init__()
        self.heads = heads
        self.tokens = torch.nn.Embedding(vocabulary, width)
        self.places = torch.nn.Embedding(block_size, width)
        self.to_heads = torch.nn.Linear(width, 3 * width)
        self.to_scores = torch.nn.Linear(width, vocabulary)

    def forward(self, idx, targets):
        x = self.tokens(idx) + self.places(torch.arange(idx.shape[1]))
        parts = self.to_heads(x).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + functional.scaled_dot_product_attention(*parts, is_causal=True).transpose(1, 2).flatten(2)
        scores = self.to_scores(x)
        return scores, functional.cross_entropy(scores.flatten(0, 1), targets.flatten())


# [snippet get_batch]
loader = bc.Loader(
    "pretraining", window=("tokens", block_size, batch_size), extra=1, drop_last=True,
    ragged="varlen", fields=("input_ids", "targets"), start=bc.Start(f"tokens:{sys.argv[1]}"),
)


def batches():
    while True:
        yield from loader  # one epoch


get_batch = batches().__next__
# [snippet end]
torch.manual_seed(0)
model = GPT()
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
losses = []
# [snippet loop]
for step in range(60):
    x, y = get_batch()  # i64 [8, 64] each; y is the token after each of x
    scores, loss = model(x, y)
    # [snippet end]
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(f"{len(losses)} steps, loss {losses[0]:.2f} to {losses[-1]:.2f}")
