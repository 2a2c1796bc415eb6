# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Without torch: softmax regression in numpy. `python numpy_trainer.py STREAM`, of images and labels:

    batchcast serve idx:FOLDER --recipe mnist --stream mnist
"""

import sys

import numpy as np

import batchcast as bc

stream = sys.argv[1]
weights = 0.0


def step(images, labels):
    """Returns how many it had right."""
    global weights
    pixels = images.reshape(len(images), -1)
    scores = pixels @ (weights + np.zeros((pixels.shape[1], 10), np.float32))
    shares = np.exp(scores - scores.max(1, keepdims=True))
    shares /= shares.sum(1, keepdims=True)
    shares[np.arange(len(labels)), labels] -= 1
    weights = weights - 0.01 * pixels.T @ shares / len(labels)
    return int((scores.argmax(1) == labels).sum())


# [snippet consumer]
with bc.Consumer(stream, batch_size=256) as consumer:
    for epoch in range(2):
        right = 0
        for batch in consumer:  # one epoch; a mapping of arrays over the ring, zero-copy
            right += step(batch["image"], batch["label"])
        print(f"epoch {epoch}: {right / consumer.samples_per_epoch:.1%} right")
# [snippet end]
