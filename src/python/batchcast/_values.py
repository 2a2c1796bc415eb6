# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What consumers tell about themselves, as named tuples."""

from __future__ import annotations

from typing import NamedTuple


class Group(NamedTuple):
    """The ranks of one data-parallel job on this machine, which share each batch of a stream."""

    name: str
    rank: int
    world: int


class FieldSpec(NamedTuple):
    """A field of a stream: its name, the type of its elements, the shape of one sample."""

    name: str
    dtype: str
    """As the stream writes it: u8, i64, f32, bf16, bool, and so on."""
    shape: tuple[int, ...]


class ConsumerStats(NamedTuple):
    """What a consumer got so far, and how long it waited for it."""

    samples: int
    batches: int
    skipped: int
    """Samples lost to the producer at `free` pace."""
    waits: int
    wait_seconds: float
    attach_seconds: float
    """From the call to the first batch, without a start."""
    late_wakeups: int
    epochs_matched: int
    """Whole epochs whose receipt was the producer's."""
    epochs_mismatched: int
    epochs_unknown: int
    """Epochs not delivered whole."""
    leases_held: int
