"""Streams that this process serves: what `batchcast.serve` is made of."""

from collections.abc import Sequence
from typing import Any

import numpy.typing


class PythonSource:
    """A dataset in Python, read by C++ threads."""

    def __init__(self, items: object, size: int, specs: list[tuple[str, str, str, list[int]]], keys: list[object], name: str, fingerprint: str, class_names: list[str]) -> None: ...

    @property
    def first_failure(self) -> BaseException | None:
        """What the first sample raised that could not be read."""

    def longest_read(self) -> str:
        """The sample that has been read for the longest time; empty if none is."""

def is_image(encoded: bytes) -> bool:
    """Whether these bytes begin as a JPEG, PNG or WebP file."""

class DatasetStream:
    """A dataset that threads of this process serve as a stream."""

    def __init__(self, arguments: Sequence[str], source: PythonSource | None, directory: str, talks: bool, pure: bool) -> None: ...

    def wait_opened(self, timeout_ms: int) -> bool:
        """Whether the stream is there, or over."""

    def wait_ended(self, timeout_ms: int) -> bool:
        """Whether the stream is over."""

    def ask_to_end(self, why: str) -> None: ...

    def raise_failure(self) -> None:
        """Raises what failed the stream, if anything did."""

    @property
    def hangs(self) -> str:
        """What the end did not wait for."""

    @property
    def directory(self) -> str: ...

    def stats(self) -> dict[str, Any]: ...

class BatchStream:
    """A stream of batches that Python makes."""

    def __init__(self, arguments: Sequence[str], directory: str, served_from: str, talks: bool) -> None: ...

    def append(self, columns: list[tuple[str, str, numpy.typing.NDArray[Any]]]) -> bool:
        """
        Copies a batch, each field's name, dtype and array, into the ring. False once the stream is over.
        """

    def end_epoch(self) -> None: ...

    def finish(self) -> bool:
        """
        Once every epoch is appended, to be called until it is True: consumers have drained the stream, did not within `linger`, or it was ended.
        """

    @property
    def over(self) -> bool: ...

    def stop(self, why: str) -> None: ...

    def fail(self, why: str) -> None: ...

    def close(self) -> None: ...

    @property
    def directory(self) -> str: ...

    def stats(self) -> dict[str, Any]: ...

class ZerosWhereCut:
    """
    While it exists, reading between these addresses what was cut off a mapped file gives zeros, and ends no process.
    """

    def __init__(self, begin: int, end: int) -> None: ...

    @staticmethod
    def go_on() -> None:
        """
        Before such a look: others (faulthandler) may have taken the signal since.
        """

def end_in_time(exit_code: int, patience_ms: int) -> None:
    """
    From now on SIGINT, SIGTERM and SIGHUP, beside what their handlers in Python do, end the process with this code where it has not ended by itself so long after the first of them, and after this call.
    """

def end_without_python(exit_code: int, patience_ms: int) -> None:
    """
    As end_in_time, for a process that has nothing left to do but to end. Before, its handlers in Python of these signals are to be set to SIG_IGN: from this call on until the process is gone the signals have no other effect.
    """
