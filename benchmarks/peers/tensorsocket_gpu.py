# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""TensorSocket on a GPU: one producer, several consumers, a process each, batches of 64.

The producer's loader has one batch that lies on the GPU already, so that TensorSocket's own copy into its
pool stays there and no bus is in the way. Otherwise everything is as its README shows it: defaults for
both classes, consumers that iterate. Each consumer launches one kernel on each batch.
"""

import argparse
import json
import multiprocessing
import time

import torch
from tensorsocket import TensorConsumer, TensorProducer

BATCH = 64
WARM_UP = 1  # seconds, once everybody has had a batch


class Loader:
    """As a DataLoader of that many batches: the same one again and again."""

    def __init__(self, batch_bytes, batches):
        self.batch = torch.zeros((BATCH, batch_bytes // BATCH), dtype=torch.uint8, device="cuda")
        self.batches = batches

    def __len__(self):
        return self.batches

    def __iter__(self):
        for _ in range(self.batches):
            yield (self.batch,)


def produce(batch_bytes, ports):
    producer = TensorProducer(
        Loader(batch_bytes, 1_000_000), port=ports[0], ack_port=ports[1], heart_ports=ports[2:4]
    )
    while True:
        for _ in producer:
            pass


def consume(patience, seconds, ports, everybody, results):
    torch.cuda.init()
    batches = iter(TensorConsumer(port=ports[0], ack_port=ports[1], heart_ports=ports[2:4], batch_size=BATCH))
    touched = torch.zeros(1, dtype=torch.uint8, device="cuda")
    next(batches)
    everybody.wait(patience)
    begin_at = time.monotonic() + WARM_UP
    while time.monotonic() < begin_at:
        next(batches)
    taken = 0
    began = now = time.monotonic()
    while now < began + seconds:
        (batch,) = next(batches)
        touched.add_(batch[0, :1])
        taken += 1
        now = time.monotonic()
    torch.cuda.synchronize()
    results.put(taken / (now - began))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-bytes", type=int, default=38_535_168)
    parser.add_argument("--consumers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--patience", type=float, default=90, help="seconds until all have a batch")
    parser.add_argument("--port", type=int, default=24555, help="the first of four")
    chosen = parser.parse_args()
    ports = tuple(range(chosen.port, chosen.port + 4))
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    everybody = context.Barrier(chosen.consumers)
    processes = [context.Process(target=produce, args=(chosen.batch_bytes, ports), daemon=True)]
    for _ in range(chosen.consumers):
        arguments = (chosen.patience, chosen.seconds, ports, everybody, results)
        processes.append(context.Process(target=consume, args=arguments, daemon=True))
    for process in processes:
        process.start()
    limit = chosen.patience + WARM_UP + chosen.seconds + 30
    try:
        rates = [results.get(timeout=limit) for _ in range(chosen.consumers)]
    finally:
        for process in processes:
            process.kill()
    print(
        json.dumps(
            {
                "peer": "tensorsocket",
                "consumers": chosen.consumers,
                "batch_bytes": chosen.batch_bytes,
                "batches_per_second": round(min(rates), 2),
            }
        ),
        flush=True,
    )


if __name__ == "__main__":
    main()
