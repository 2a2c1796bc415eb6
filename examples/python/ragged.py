# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Texts of different lengths, cut to a budget of tokens: `python ragged.py`."""

import batchcast as bc
import numpy as np


class Texts:
    """A dataset: a sample is a dict, whose tokens are as many as the text has."""

    def __len__(self):
        return 200

    def __getitem__(self, index):
        tokens = np.arange(index % 37, dtype=np.int32)
        return {"tokens": tokens, "label": index % 5}


# [snippet ragged]
with bc.serve(Texts(), stream="texts", axes={"tokens": "tokens"}, epochs=2, background=True):
    with bc.Consumer("texts", budget=("tokens", 256)) as trainer:
        for epoch in range(2):
            for batch in trainer:
                values, offsets = batch["tokens"]  # views of the ring: nothing is padded
                lengths = batch["tokens"].lengths
                print(epoch, batch.size, "texts of", len(values), "tokens, the longest", lengths.max())
# [snippet end]
