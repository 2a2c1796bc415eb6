# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Megatron-LM's indexed dataset, byte by byte as its writer writes it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

_CODES = {"uint8": 1, "int8": 2, "int16": 3, "int32": 4, "int64": 5, "uint16": 8}


def write_index(path: Path, dtype: Any, lengths: Any) -> None:
    """The .idx of documents that are one sequence each, with these lengths (i32)."""
    lengths = np.ascontiguousarray(lengths, dtype=np.int32)
    pointers = np.zeros(len(lengths), dtype=np.int64)
    if len(lengths) > 1:
        np.cumsum(lengths[:-1], dtype=np.int64, out=pointers[1:])
        pointers *= np.dtype(dtype).itemsize
    with open(path, "wb") as file:
        file.write(b"MMIDIDX\0\0")
        file.write(
            struct.pack("<QBQQ", 1, _CODES[np.dtype(dtype).name], len(lengths), len(lengths) + 1)
        )
        file.write(lengths.tobytes())
        file.write(pointers.tobytes())
        file.write(np.arange(len(lengths) + 1, dtype=np.int64).tobytes())
