# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A loader that is served: its batches, epoch after epoch."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import _items
from ._producer import BatchStream
from .errors import Error, InvalidArgument

patience_s = 0.5  # for a thread that is to end


def tell_failure(stream: str, reason: str) -> None:
    """Writes one line to stderr for a stream in the background; its handle may not be looked at."""
    if sys.stderr is None:
        return
    why = " ".join(reason.split())
    with contextlib.suppress(OSError, ValueError):  # closed
        print(f"batchcast: stream `{stream}` failed: {why}", file=sys.stderr, flush=True)


def end_iterator(iterator: object, loader: object) -> None:
    """Ends the worker processes of a torch DataLoader's iterator. Otherwise they live until any
    thread collects it. Persistent ones belong to the loader, and an iterator that is served to the
    caller. The thread that iterates calls this."""
    end_workers = getattr(iterator, "_shutdown_workers", None)
    is_kept = iterator is loader or getattr(iterator, "_persistent_workers", False)
    if callable(end_workers) and not is_kept:
        with contextlib.suppress(Exception):  # torch's own, after which there is nothing to do
            end_workers()


def clear_frames(error: BaseException | None) -> None:
    """Clears what the calls that led to an error held, such as the loader's iterator."""
    seen: list[BaseException] = []
    while error is not None and not any(error is one for one in seen):
        seen.append(error)
        traceback.clear_frames(error.__traceback__)
        error = error.__cause__ or error.__context__


class Looping:
    """Iterates over a loader, epoch after epoch. Its thread has no reference to the handle."""

    def __init__(
        self,
        stream: BatchStream,
        loader: Iterable[Any],
        what: str,
        *,
        fields: Sequence[str] | None,
        batched: bool,
        epochs: int,
        axes: Mapping[str, str] | None = None,
    ) -> None:
        self.stream = stream
        self._loader = loader
        self._iterator: Iterator[Any] | None = None
        self._what = what
        self.fields = fields
        self._batched = batched
        self._axes = axes
        self._epochs = epochs
        self._first: list[str] = []  # of the first batch, each field as a text
        self._epoch = self._batch = self._samples = 0
        self._since = time.monotonic()
        self._using = threading.Lock()  # of the stream
        self.ended = threading.Event()
        self.error: BaseException | None = None
        self.was_over = False  # the stream, when the loader met its error

    def work(self, name: str | None = None) -> None:
        """Runs until the stream is over. `error` has what went wrong.

        In the background, `name` is the stream's: a failure goes to stderr too.
        """
        try:
            while self._epochs == 0 or self._epoch < self._epochs:
                if not self._serve_epoch():
                    break
            else:
                self.drain()
            if self.stream.stats()["state"] == "failed":
                raise Error("batchcast: the stream failed; stderr says why.")
        except BaseException as error:
            was_over = self.stream.over
            self.end_by(error)
            # Trainers come first: a pipe without a reader may hold up the line.
            if name is not None and not was_over:
                tell_failure(name, self._reason(error))
            if not isinstance(error, Exception):
                raise
        finally:
            iterator, self._iterator = self._iterator, None
            end_iterator(iterator, self._loader)
            del iterator
            if name is not None:  # else the caller gets the error, perhaps to look at its frames
                clear_frames(self.error)
            self.close()

    def end_by(self, error: BaseException) -> None:
        """Ends the stream, so that trainers learn the error."""
        self.was_over = self.stream.over
        self.error = error  # before `ended`: wait() raises it
        if not isinstance(error, Exception):  # Ctrl-C, above all
            self.stream.stop("its producer was interrupted")
        elif not self.stream.over:
            self.stream.fail(self._reason(error))

    def close(self) -> None:
        """Any thread may call it: a thread that works on the stream then ends that."""
        self.stream.close()
        self.ended.set()

    def _reason(self, error: BaseException) -> str:
        return f"{_items.reason(error)} ({self._place()})"

    def _place(self) -> str:
        unit = "batch" if self._batched else "sample"
        return f"at {unit} {self._batch} of epoch {self._epoch} of the {self._what}"

    def place_now(self) -> str:
        return f"{self._place()} (for {time.monotonic() - self._since:.1f} s)"

    def _serve_epoch(self) -> bool:
        self.begin_epoch()
        self._iterator = iter(self._loader)
        for item in self._iterator:
            if not self.append(item):
                return False
        self._iterator = None
        return self.end_epoch()

    def begin_epoch(self) -> None:
        _set_epoch(self._loader, self._epoch)
        self._batch = self._samples = 0
        self._since = time.monotonic()

    def end_epoch(self) -> bool:
        """False once the stream is over."""
        if self._samples == 0:
            why = "There is nothing to serve."
            if self._epoch > 0:
                why = "If it can be gone through only once, serve it with epochs=1."
            raise InvalidArgument(
                f"batchcast: epoch {self._epoch} of the {self._what} has no sample. {why}"
            )
        with self._using:
            if self.stream.over:
                return False
            self.stream.end_epoch()
        self._epoch += 1
        return True

    def append(self, item: Any) -> bool:
        """Copies what the loader gave into the ring. False once the stream is over."""
        if not self._append(item):
            return False
        self._batch += 1
        self._since = time.monotonic()
        return True

    def _append(self, item: Any) -> bool:
        try:
            columns = _items.columns_of(item, self.fields, self._batched, self._axes)
            if columns[0].samples == 0:
                return not self.stream.over
            if not self._first:
                self._first = [_items.text_of(column) for column in columns]
            _items.check_same(self._first, columns)
        except _items.Unservable as error:
            raise InvalidArgument(f"batchcast: {self._place()}: {error}") from error.__cause__
        with self._using:
            if not self.stream.append([column[:] for column in columns]):
                return False
        self._samples += columns[0].samples
        return True

    def drain(self) -> None:
        """Stays for trainers that still read, for the time that `linger` says."""
        while True:
            with self._using:
                if self.stream.finish():
                    return

    def leave(self) -> bool:
        """Takes the stream away from a thread that hangs in the loader. False where the stream is
        in use, perhaps by the caller: a handle may be collected in the middle of `append`."""
        if not self._using.acquire(timeout=patience_s):
            return False
        try:
            self.stream.close()
        finally:
            self._using.release()
        return True


def _set_epoch(loader: Any, epoch: int) -> None:
    """Sets the epoch as a training loop does, for samplers and datasets that shuffle by it."""
    sampler = getattr(loader, "sampler", None)
    of_batches = getattr(loader, "batch_sampler", None)
    told: list[object] = []
    for one in (
        loader,
        getattr(loader, "dataset", None),
        sampler,
        of_batches,
        getattr(of_batches, "sampler", None),
    ):
        set_epoch = getattr(one, "set_epoch", None)
        if callable(set_epoch) and not any(one is other for other in told):
            told.append(one)
            set_epoch(epoch)
