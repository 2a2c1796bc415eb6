# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""The exceptions that batchcast throws on purpose. Names and texts are those of the C++ library.

The extension modules find these classes by their names. Each text says what happened, where, and
what to do about it.
"""

from __future__ import annotations

__all__ = [
    "Error", "InvalidArgument", "WrongType", "UnknownField", "SystemError", "OutOfMemory",
    "GpuUnavailable", "GpuError", "StreamNotFound", "StartFailed", "RecipeMismatch", "StreamTaken",
    "Refused", "RingTooSmall", "Revoked", "GroupBroken", "Missed", "BadSample", "BadDataset",
    "Forked", "ReceiptMismatch", "StreamOver", "StreamFinished", "Stopped", "StreamFailed",
    "ProducerGone", "Timeout",
]


class Error(RuntimeError):
    """Base of everything that batchcast throws on purpose."""


class InvalidArgument(Error, ValueError):
    """The caller asked for something impossible: a batch of zero, a bad name."""


class WrongType(InvalidArgument, TypeError):
    """An argument has a type that the call does not take."""


class UnknownField(InvalidArgument, KeyError):
    """A stream has no field of that name: what `batch[name]` raises, as mappings do."""

    def __str__(self) -> str:
        return Exception.__str__(self)


class SystemError(Error, OSError):
    """A system call failed; `errno` says how."""


class OutOfMemory(Error, MemoryError):
    """The memory asked for does not exist on this machine or in this cgroup."""


class GpuUnavailable(Error):
    """There is no usable GPU: no driver, or no such device; the text says which."""


class GpuError(Error):
    """A call of the CUDA driver failed; the text names it, the device and the driver's reason."""


class StreamNotFound(Error):
    """No producer of that name came up within the connect time-out."""


class StartFailed(Error):
    """`batchcast serve` could not be started: there is no such command, or it failed."""


class RecipeMismatch(Error):
    """The stream is served with another recipe than the one asked for; the text shows what differs."""


class StreamTaken(Error):
    """Another producer already serves that name."""


class Refused(Error):
    """The producer did not admit the consumer; the producer wrote the text."""


class RingTooSmall(Error):
    """A batch does not fit into the ring, or the leases held leave no room for the next one."""


class Revoked(Error):
    """The producer evicted this consumer. Its last batch may have been overwritten."""


class GroupBroken(Error):
    """A rank of this consumer's group left or died, so the group gets no further batch."""


class Missed(Error):
    """A consumer at `free` pace missed samples, and its options say on_miss="error"."""


class BadSample(Error):
    """A sample cannot be made: its file is broken, gone, or not what the recipe takes."""


class BadDataset(Error):
    """A dataset cannot be served: it is empty, or its index contradicts its files."""


class Forked(Error):
    """This process is a forked child of the one that attached."""


class ReceiptMismatch(Error):
    """An epoch that was delivered whole is not what the producer published."""


class StreamOver(Error):
    """Base of the ways in which a stream can be over."""


class StreamFinished(StreamOver):
    """Every epoch was made and delivered; there is no next one."""


class Stopped(StreamOver):
    """The producer was stopped in mid-stream."""


class StreamFailed(StreamOver):
    """The producer gave up; the producer wrote the text."""


class ProducerGone(StreamOver):
    """The producer's process is dead."""


class Timeout(Error, TimeoutError):
    """No batch came within the time-out that was asked for; the consumer stays as it was."""
