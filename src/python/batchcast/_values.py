# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What consumers tell about themselves, as named tuples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


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
    shape: tuple[int | str, ...]
    """Of a field on an axis, the axis's name comes first."""


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
    oversized: int
    """Samples with more rows than the budget."""
    dropped_rows: int
    """With a window: rows that are in no run. An epoch's last ones may have been extra rows."""
    rows: int
    """Delivered on the axis of budget or window, else on the stream's first. At `lockstep` pace."""
    repeated_rows: int
    """Of these, those that fill a batch (tail = pad)."""
    truncated_rows: int
    """Behind the budget, with oversize = truncate."""
    left_out_rows: int
    """Of samples and runs that no batch has."""


class TokenCounts(NamedTuple):
    """What a Loader gave of the tokens of texts, and what became of the others.

    Of whole epochs, delivered - repeated + truncated + left_out are the tokens of the stream.
    """

    delivered: int
    trained: int
    """Of these, by the loss mask."""
    masked: int
    repeated: int
    """Of the delivered ones, those that fill a batch (tail = pad)."""
    truncated: int
    """Behind the budget, with oversize = truncate."""
    left_out: int
    """Of texts and runs that no batch has: dropped at an epoch's end, beyond the budget, or left."""
    padding: int
    """Not of the stream: in lines of ragged="padded"."""


class Ragged(NamedTuple):
    """A field on an axis: the rows of all samples, without a gap, and where each sample's begin.

    Both are of one kind: numpy arrays of a Consumer's batch, tensors of a Loader's.
    """

    values: Any
    """All rows: [rows, ...]."""
    offsets: Any
    """One more than there are samples: sample i has values[offsets[i]:offsets[i + 1]]."""

    @property
    def lengths(self) -> Any:
        """How many rows each sample has."""
        return self.offsets[1:] - self.offsets[:-1]

    def samples(self) -> Iterator[Any]:
        """The rows of each sample, views of `values`."""
        for begin, end in zip(self.offsets[:-1], self.offsets[1:]):
            yield self.values[int(begin) : int(end)]


class Padded(NamedTuple):
    """A copy of a field on an axis, in which each sample is as long as the longest."""

    values: Any
    """[samples, most rows, ...]"""
    lengths: Any
    """How many of its rows each sample has; the others are padding."""


class PaddedImages(NamedTuple):
    """A copy of images that keep their sizes, each in a corner of one as large as the batch's largest."""

    values: Any
    """[samples, most height, most width, channels], of a mask without channels one extent less."""
    sizes: Any
    """[samples, 2]: height and width of each image; all else is padding."""
