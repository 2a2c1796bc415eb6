# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""One producer serves a dataset to any number of trainers through shared memory."""

from __future__ import annotations

from . import errors
from ._consumer import Batch, Consumer, Field, Start, __version__, check_same_samples
from ._values import ConsumerStats, FieldSpec, Group
from .errors import *  # noqa: F403

__all__ = [
    "Batch",
    "Consumer",
    "ConsumerStats",
    "Field",
    "FieldSpec",
    "Group",
    "Start",
    "__version__",
    "check_same_samples",
    "errors",
]
