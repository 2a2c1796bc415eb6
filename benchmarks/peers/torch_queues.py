# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Batches of 64 f32 images of 3x224x224 through torch.multiprocessing's queues, one for each consumer: its
tensors lie in shared memory, and what crosses the queue is a handle. 16 batches in flight, never filled."""

import argparse
import json
import time

import peer
import torch
import torch.multiprocessing as mp


def consume(queue, begin, seconds, results):
    torch.set_num_threads(1)
    while time.time() < begin:
        queue.get()
    begin = now = time.monotonic()
    count = 0
    while now < begin + seconds:
        images, _ = queue.get()
        count += len(images)
        now = time.monotonic()
    results.put(count / (now - begin))
    while True:  # until it is ended: the others are still measured
        queue.get()


def produce(queues):
    image = torch.zeros(peer.BATCH, 3, peer.SIZE, peer.SIZE)
    label = torch.zeros(peer.BATCH, dtype=torch.int64)
    pool = [[image.clone().share_memory_(), label.clone().share_memory_()] for _ in range(16)]
    while True:
        for batch in pool:
            for queue in queues:
                queue.put(batch)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--consumers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--begin-at", type=float, required=True)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    context = mp.get_context("fork")
    results = context.SimpleQueue()
    queues = [context.Queue(16) for _ in range(chosen.consumers)]
    arguments = (chosen.begin_at, chosen.seconds, results)
    children = [context.Process(target=consume, args=(queue, *arguments), daemon=True) for queue in queues]
    children.append(context.Process(target=produce, args=(queues,), daemon=True))
    for child in children:
        child.start()
    rates = [results.get() for _ in queues]
    print(json.dumps({"peer": "torch queues", "version": f"torch {torch.__version__}",
                      "images_per_second": round(min(rates), 1)}))
    for child in children:
        child.kill()
