#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Writes tests/data/source/megatron_golden with Megatron-LM's writer: `megatron-core`, here 0.16.1.

    python3 tests/oracle/megatron_golden.py FOLDER
"""

import pathlib
import sys

import numpy as np
import torch
from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

# The documents, and of each its sequences: tests have the same.
DOCUMENTS = [[[1, 2, 3], [4, 5]], [[]], [[60000]], [[7] * 5, [8], [9, 10]]]


def write(folder, dtype):
    prefix = folder / np.dtype(dtype).name
    builder = IndexedDatasetBuilder(f"{prefix}.bin", dtype=dtype)
    for document in DOCUMENTS:
        for sequence in document:
            builder.add_item(torch.tensor(sequence, dtype=torch.int64))
        builder.end_document()
    builder.finalize(f"{prefix}.idx")


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for dtype in (np.uint16, np.int32):
    write(folder, dtype)
