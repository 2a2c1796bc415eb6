# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A loader that is served: its batches, epoch after epoch."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

from . import _items
from ._producer import BatchStream
from .errors import InvalidArgument

patience_s = 0.5  # for a thread that is to end


class Looping:
    """Goes through a loader, epoch after epoch. Its thread has no reference to the handle."""

    def __init__(
        self,
        stream: BatchStream,
        loader: Iterable[Any],
        what: str,
        *,
        fields: Sequence[str] | None,
        batched: bool,
        epochs: int,
    ) -> None:
        self.stream = stream
        self._loader = loader
        self._what = what
        self.fields = fields
        self._batched = batched
        self._epochs = epochs
        self._first: list[str] = []  # of the first batch, each field as a text
        self._epoch = self._batch = self._samples = 0
        self._since = time.monotonic()
        self._using = threading.Lock()  # of the stream
        self.ended = threading.Event()
        self.error: BaseException | None = None

    def work(self) -> None:
        """Until the stream is over. What goes wrong is in `error`."""
        try:
            while self._epochs == 0 or self._epoch < self._epochs:
                if not self._serve_epoch():
                    return
            self.drain()
        except BaseException as error:
            self.end_by(error)
            if not isinstance(error, Exception):
                raise
        finally:
            self.close()

    def end_by(self, error: BaseException) -> None:
        """Trainers are told what ends the stream."""
        self.error = error  # before `ended`: wait() raises it
        if not isinstance(error, Exception):  # Ctrl-C, above all
            self.stream.stop("its producer was interrupted")
        elif not self.stream.over:
            self.stream.fail(f"{_items.reason(error)} ({self._place()})")

    def close(self) -> None:
        """Any thread may: one that works on the stream is told to end that."""
        self.stream.close()
        self.ended.set()

    def _place(self) -> str:
        unit = "batch" if self._batched else "sample"
        return f"at {unit} {self._batch} of epoch {self._epoch} of the {self._what}"

    def place_now(self) -> str:
        return f"{self._place()} (for {time.monotonic() - self._since:.1f} s)"

    def _serve_epoch(self) -> bool:
        self.begin_epoch()
        for item in self._loader:
            if not self.append(item):
                return False
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
            columns = _items.columns_of(item, self.fields, self._batched)
            if len(columns[0][2]) == 0:
                return not self.stream.over
            if not self._first:
                self._first = [_items.text_of(column) for column in columns]
            _items.check_same(self._first, columns)
        except _items.Unservable as error:
            raise InvalidArgument(f"batchcast: {self._place()}: {error}") from error.__cause__
        with self._using:
            if not self.stream.append(columns):
                return False
        self._samples += len(columns[0][2])
        return True

    def drain(self) -> None:
        """Stays for trainers that still read, as long as `linger` says."""
        linger = self.stream.linger
        end = time.monotonic() + linger if linger >= 0 else float("inf")
        while time.monotonic() < end:
            with self._using:
                if self.stream.finish():
                    return

    def leave(self) -> bool:
        """Takes the stream away from a thread that sits in the loader. False where the stream is
        in use, perhaps by the caller: a handle may be collected in the middle of `append`."""
        if not self._using.acquire(timeout=patience_s):
            return False
        try:
            self.stream.close()
        finally:
            self._using.release()
        return True


def _set_epoch(loader: Any, epoch: int) -> None:
    """As a training loop calls it: for samplers and datasets that shuffle by it."""
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
