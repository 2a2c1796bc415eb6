# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Texts of different lengths, read in runs of one context length: `python windows.py`."""

import batchcast as bc
import numpy as np


class Texts:
    """A dataset: a sample is a dict, whose tokens are as many as the text has."""

    def __len__(self):
        return 200

    def __getitem__(self, index):
        return {"tokens": np.arange(index % 137, dtype=np.int32)}


# [snippet windows]
with bc.serve(Texts(), stream="texts", axes={"tokens": "tokens"}, epochs=2, background=True):
    with bc.Consumer("texts", window=("tokens", 64, 4), extra=1) as trainer:
        for epoch in range(2):
            for batch in trainer:
                tokens = batch["tokens"]  # [4, 65], a view of the ring
                inputs, targets = tokens[:, :-1], tokens[:, 1:]
                documents = len(batch.offsets()) - 1
                print(epoch, inputs.shape, "of", documents, "texts, from row", batch.row)
# [snippet end]
