# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""TensorSocket's example, with the import that is asked for: `tensorsocket` or `batchcast.tensorsocket`.

tensorsocket_example.py produce PACKAGE           a producer of the same batch again and again, for ever
tensorsocket_example.py consume PACKAGE           a trainer that reads one value of each sample
"""

import argparse
import importlib
import pathlib
import sys
import time

import torch

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import peer  # noqa: E402

SHAPE = (100, 200)  # of a sample, and 16 of them a batch, as its simple_producer.py has them
BATCH = 16


class Loader:
    """As a DataLoader that takes so many seconds for a batch, without a processor."""

    def __init__(self, batches, seconds):
        self.batches = batches
        self.seconds = seconds
        self.batch = (torch.rand((BATCH, *SHAPE)), torch.arange(BATCH))

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            if self.seconds:
                time.sleep(self.seconds)
            yield self.batch


def produce(package, chosen):
    loader = Loader(2000, chosen.loader_ms / 1000)
    producer = package.TensorProducer(loader, producer_batch_size=chosen.producer_batch_size)
    while True:
        for _ in producer:
            pass


def batches(package):
    data_loader = package.TensorConsumer(batch_size=BATCH)
    while True:
        for images, _ in data_loader:
            images[:, 0, 0].sum().item()
            yield len(images)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("produce", "consume"))
    parser.add_argument("package")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm-up", type=float, default=3)
    parser.add_argument("--begin-at", type=float)
    parser.add_argument("--loader-ms", type=float, default=0)
    parser.add_argument("--producer-batch-size", type=int, default=8)  # TensorSocket's own default
    chosen = parser.parse_args()
    chosen.workers = 0
    torch.set_num_threads(1)
    module = importlib.import_module(chosen.package)
    if chosen.what == "produce":
        produce(module, chosen)
    peer.measure(chosen.package, f"torch {torch.__version__}", chosen, batches(module))
