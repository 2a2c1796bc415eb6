# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A Python trainer that takes batches of 64 of a stream as torch tensors, and does no more with them than
the peers do. `--touch` reads one value of every sample; without, a batch is only handed over."""

import argparse
import pathlib
import sys

import torch

import batchcast as bc

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import peer  # noqa: E402


def batches(loader, touch):
    while True:
        for images, _ in loader:
            if touch:
                images[:, 0, 0, 0].sum().item()
            yield len(images)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stream")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm-up", type=float, default=3)
    parser.add_argument("--begin-at", type=float)
    parser.add_argument("--touch", action="store_true")
    chosen = parser.parse_args()
    chosen.workers = 0
    torch.set_num_threads(1)
    trainer = bc.Loader(chosen.stream, peer.BATCH)
    version = f"batchcast {bc.__version__}, torch {torch.__version__}"
    peer.measure("batchcast", version, chosen, batches(trainer, chosen.touch))
