# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A stream by the protocol of torchtitan's loaders: `python torchtitan_loop.py TOKENS.bin`, of u16.

Such a loader gives ({"input": …}, labels) without end, and has state_dict and load_state_dict, which
torchtitan puts into its checkpoints. Here a small loop stands for the trainer. It writes a checkpoint
in mid-epoch, from which a second trainer goes on at the next token.
"""

import io
import sys

import torch

import batchcast as bc


# [snippet loader]
class TokenLoader:
    """What torchtitan's BaseDataLoader asks for, over a stream."""

    def __init__(self, source, seq_len, local_batch_size):
        self.loader = bc.Loader(
            "titan", window=("tokens", seq_len, local_batch_size), extra=1, drop_last=True,
            ragged="varlen", fields=("input_ids", "targets", "position_ids"), start=bc.Start(source),
        )

    def __iter__(self):
        while True:
            for inputs, labels, positions in self.loader:
                yield {"input": inputs, "positions": positions}, labels

    def state_dict(self):
        return self.loader.state_dict()

    def load_state_dict(self, state):
        self.loader.load_state_dict(state)
# [snippet end]


def train(loader, model, steps, checkpoint=None, at=None):
    optimizer = torch.optim.SGD(model.parameters(), lr=50.0)
    batches = iter(loader)
    losses = []
    for step in range(steps):
        if step == at:
            state = {"model": model.state_dict(), "dataloader": loader.state_dict()}
            torch.save(state, checkpoint)
        inputs, labels = next(batches)
        scores = model(inputs["input"])
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), labels.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


source = f"tokens:{sys.argv[1]}"
checkpoint = io.BytesIO()
torch.manual_seed(0)
loader = TokenLoader(source, seq_len=64, local_batch_size=8)
losses = train(loader, torch.nn.Embedding(256, 256), 60, checkpoint, at=30)
loader.loader.close()

state = torch.load(io.BytesIO(checkpoint.getvalue()))
model = torch.nn.Embedding(256, 256)
model.load_state_dict(state["model"])
loader = TokenLoader(source, seq_len=64, local_batch_size=8)
loader.load_state_dict(state["dataloader"])
again = train(loader, model, 30)
print(f"loss {losses[0]:.2f} to {losses[-1]:.2f}; from the checkpoint the same: {again == losses[30:]}")
