# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""The length of an epoch of a stream, for a trainer or for a rank of a group."""

from __future__ import annotations

from ._consumer import Consumer


def samples_of_epoch(consumer: Consumer) -> int:
    """Samples of the stream's epoch, for all ranks together.

    Raises TypeError, as torch wants it, where the stream's producer does not know.
    """
    samples = consumer.samples_per_epoch
    if not samples:
        raise TypeError(
            f"the epochs of stream `{consumer.stream}` have no length that is known beforehand"
        )
    return samples


def batches_of_epoch(consumer: Consumer, batch_size: int, tail: str) -> int:
    """Batches of a whole epoch, for this rank of a group. Raises TypeError as above."""
    whole, last = _batches(consumer, samples_of_epoch(consumer), batch_size, tail)
    return whole + (last > 0)


def samples_of_rank(consumer: Consumer, batch_size: int, tail: str) -> int:
    """Samples in these batches, padding included. Raises TypeError as above."""
    whole, last = _batches(consumer, samples_of_epoch(consumer), batch_size, tail)
    return whole * batch_size + last


def is_batch_left(
    consumer: Consumer, epoch: int, batch_size: int | None, tail: str
) -> bool:
    """Whether that epoch has a batch after the cursor. True where its end is not known."""
    if not consumer.samples_per_epoch:
        return True
    left = (epoch + 1) * consumer.cursors_per_epoch - consumer.cursor
    if consumer.cursors_per_epoch != consumer.samples_per_epoch and consumer.group is not None:
        left = left // consumer._job_world * consumer.group.world  # of this node
    if batch_size is None:
        return left > 0
    return left > 0 and _batches(consumer, left, batch_size, tail) != (0, 0)


def _batches(consumer: Consumer, samples: int, batch_size: int, tail: str) -> tuple[int, int]:
    """The number of full batches in these samples, and the samples of a shorter or padded one."""
    world = 1 if consumer.group is None else consumer.group.world
    whole, rest = divmod(samples, batch_size * world)
    if rest == 0 or tail == "drop":
        return whole, 0
    # Each rank gets equally many samples of a short last batch.
    return whole, batch_size if tail == "pad" else rest // world
