# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Datasets for `bc.serve`, where Python finds the bytes and C++ decodes, augments and orders.

Each adapter imports its own package, and only when it is used.
"""

from __future__ import annotations

from ._hugging_face import HuggingFace
from ._lmdb import LMDB
from ._parquet import Parquet
from ._torchvision import Arrays, Torchvision

__all__ = ["LMDB", "Arrays", "HuggingFace", "Parquet", "Torchvision"]
