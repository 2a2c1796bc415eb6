# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""TensorSocket's producer, over a stream of batches."""

from __future__ import annotations

import inspect
import math
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from . import _items
from ._looping import Looping, end_iterator
from ._names import refuse_unknown
from ._producer import BatchStream, ServeOptions, _option_names
from ._serve import refuse_dataset_options
from ._serving import OfThisProcess, own_servings, taken_here
from .errors import InvalidArgument, StreamTaken
from .tensorsocket import stream_of

_MIB = 1 << 20
_RING_MIN = 256 * _MIB
_RING_MAX = 1024 * _MIB

# What `bc.serve` takes and a TensorProducer says itself, or has no use for.
_OWN = {"source", "stream", "epochs", "background", "batched", "replace"}


# A function that ends without `join` drops nothing that trainers have not read: the script's end
# waits for them.
_served: set[TensorProducer] = set()


def pack(data: tuple[Any, ...]) -> tuple[Any, ...]:
    """What `pack_fn` is by default: the batch's tensors as they are."""
    return tuple(data)


def _check_names(options: dict[str, Any]) -> None:
    own = set(inspect.signature(TensorProducer).parameters) - {"options"}
    names = set(_option_names()) - _OWN
    refuse_unknown("TensorProducer", options, sorted(own | names))


def _length_of(loader: Any) -> int | None:
    return len(loader) if hasattr(type(loader), "__len__") else None


class TensorProducer(OfThisProcess):
    """Serves what a data loader gives, as TensorSocket's class of that name does.

        producer = TensorProducer(data_loader)
        for _ in range(epochs):
            for _ in producer:
                pass
        producer.join()

    Each `for` is an epoch of the stream, and each of its steps copies one batch of the loader into
    the ring as soon as there is room. The first step waits until a trainer is attached. Unlike in
    TensorSocket the short last batch is served too, and every trainer gets every sample. A trainer
    that comes later begins at the start of an epoch. `join` waits until the trainers have the last
    batch, even if the first trainer still has to come. A script that ends without it waits as well,
    unless an exception ended it or a daemon thread still serves. Then trainers get `Stopped`.

    A loader that is its own iterator and has a length gives that many batches an epoch.

    `port` may also be the name of a stream, for `bc.Loader`, a trainer in C++, or any other.
    `ack_port` and `heart_ports` are accepted and have no meaning: the kernel says which trainers
    live. `rubber_band_pct`, `consumer_max_buffer_size` and `producer_batch_size` say how many
    batches trainers may be apart. The ring holds as many as the largest of them says, between 256
    MiB and 1 GiB of them. `memory` says it in bytes instead. Further options are those of
    `bc.serve` that go with a loader, such as `fields`, `place` and `on_stall`; `wait_for` is 1 by
    default.
    """

    def __init__(
        self,
        data_loader: Iterable[Any],
        port: int | str = 5555,
        ack_port: int | str = 5556,
        heart_ports: tuple[int, int] = (4444, 4445),
        rubber_band_pct: float = 0.005,
        pack_fn: Callable[[tuple[Any, ...]], Any] = pack,
        consumer_max_buffer_size: int = 10,
        producer_batch_size: int = 8,
        *,
        memory: int | str | None = None,
        fields: Sequence[str] | None = None,
        directory: str | os.PathLike[str] | None = None,
        progress: bool = False,
        **options: Any,
    ) -> None:
        if pack_fn is not pack:
            raise InvalidArgument(
                "batchcast: pack_fn has no counterpart: it prepares tensors for being pickled, and "
                "nothing is pickled here. Change batches in the loader (its collate_fn) or in the "
                "trainer (TensorConsumer's unpack_fn)."
            )
        _check_names(options)
        if not rubber_band_pct >= 0:
            raise InvalidArgument(
                f"batchcast: rubber_band_pct is {rubber_band_pct}, and is to be 0 or more."
            )
        self.port = port
        self.ack_port = ack_port
        self.heart_ports = heart_ports
        self.rubber_band_pct = rubber_band_pct
        self.pack_fn = pack_fn
        self.consumer_max_buffer_size = consumer_max_buffer_size
        self.producer_batch_size = producer_batch_size
        self.loader_batch_size = 0
        self.epoch = 0
        self.index = 0  # of the next batch in this epoch
        self.data_loader = data_loader
        self.data_loader_iter: Iterator[Any] | None = None
        self._stream = stream_of(port)
        self._options = {
            "stream": self._stream, "fields": fields, "directory": directory, "wait_for": 1,
            **options,
        }  # fmt: skip
        self._directory = ServeOptions(**self._options).directory
        self._memory = memory
        self._progress = progress
        self._looping = Looping(
            self._batch_stream(_RING_MIN if memory is None else memory),
            data_loader, type(data_loader).__name__, fields=fields, batched=True, epochs=0,
        )  # fmt: skip
        self._begin_epoch()  # worker processes of a loader start now, as they do there
        super().__init__()

    def _batch_stream(self, memory: int | str) -> BatchStream:
        what = type(self.data_loader).__name__
        options = ServeOptions(**self._options, memory=memory)
        refuse_dataset_options(options)
        return BatchStream(options, what, self._progress)

    @property
    def data_loader_len(self) -> int:
        """The same as `len`."""
        return len(self)

    @property
    def stats(self) -> dict[str, Any]:
        """How the stream stands: `state`, `epoch`, `published`, `consumers`, …"""
        return self._looping.stream.stats()

    def __len__(self) -> int:
        """Batches an epoch: the loader's length."""
        return len(self.data_loader)  # type: ignore[arg-type]

    def __iter__(self) -> Iterator[None]:
        return self

    def __next__(self) -> None:
        self.get_sample()

    def get_sample(self) -> None:
        """Serves the loader's next batch; raises StopIteration where the epoch ends.

        In a stream that was stopped (by `batchcast stop`, for one) every epoch ends at once. What
        the loader raises is passed on, and trainers learn it too.
        """
        if self._looping.ended.is_set():
            if self._looping.error is not None or self._was_joined:
                raise InvalidArgument(
                    f"batchcast: stream `{self._stream}` is over, since it was joined or failed, or "
                    "was interrupted. Serve more with another TensorProducer."
                )
            raise StopIteration
        self._served_by = threading.current_thread()
        _served.add(self)
        try:
            self._step()
        except StopIteration:
            raise
        except BaseException as error:
            self._looping.end_by(error)
            self._end_iterator()
            self._looping.close()
            _served.discard(self)
            raise

    _was_joined = False
    _served_by: threading.Thread | None = None

    def _begin_epoch(self) -> None:
        self._looping.begin_epoch()
        self.data_loader_iter = iter(self.data_loader)
        of_itself: object = self.data_loader_iter
        self._batches_max = _length_of(self.data_loader) if of_itself is self.data_loader else None

    def _step(self) -> None:
        if self.data_loader_iter is None:
            self._begin_epoch()
        assert self.data_loader_iter is not None
        try:
            if self.index == self._batches_max:
                raise StopIteration
            batch = next(self.data_loader_iter)
        except StopIteration:
            self._end_epoch()
            raise
        if self.loader_batch_size == 0:
            self._measure(batch)
        if not self._append(batch):
            self._end_iterator()
            self._looping.close()
            raise StopIteration
        self.index += 1

    def _append(self, batch: Any) -> bool:
        try:
            return self._looping.append(batch)
        except StreamTaken as error:
            if own_servings(self._stream, self._directory):
                raise taken_here(self._stream) from error
            if not any(one._holds(self._stream, self._directory) for one in list(_served)):
                raise
            raise StreamTaken(
                f"batchcast: stream `{self._stream}` is still served by another TensorProducer of "
                "this process, which lives until it is joined, even after `del` of its name. Call its "
                "join() before this one begins: it waits until the trainers have all of it. Or choose "
                "another port."
            ) from error

    def _holds(self, stream: str, directory: str) -> bool:
        is_it = (self._stream, self._directory) == (stream, directory)
        return is_it and self.index + self.epoch > 0 and not self._looping.ended.is_set()

    def _end_iterator(self) -> None:
        iterator, self.data_loader_iter = self.data_loader_iter, None
        end_iterator(iterator, self.data_loader)

    def _end_epoch(self) -> None:
        self.data_loader_iter = None
        self.index = 0
        if self._looping.end_epoch():
            self.epoch += 1
        else:
            self._looping.close()

    def _measure(self, batch: Any) -> None:
        """The first batch decides how large the ring is."""
        try:
            columns = _items.columns_of(batch, self._looping.fields, True)
        except _items.Unservable:
            return  # told where it is served
        self.loader_batch_size = columns[0].samples
        if self._memory is not None:
            return
        size = sum(column.array.nbytes for column in columns)
        batches = max(self.consumer_max_buffer_size, self.producer_batch_size)
        batches = max(batches, math.ceil(self.rubber_band_pct * (_length_of(self.data_loader) or 0)))
        # The ring holds at least four batches, however large they are.
        self._looping.stream = self._batch_stream(
            max(_RING_MIN, min(batches * size, _RING_MAX), 4 * size)
        )

    def join(self) -> None:
        """Waits until the trainers have all that was served, and ends the stream.

        In mid-epoch it stops the stream instead: trainers get what was served of the epoch, and
        then `Stopped`.
        """
        _served.discard(self)
        if self._looping.ended.is_set() or not self._is_own:
            return
        self._was_joined = True
        if self.index > 0 or self.epoch == 0:
            self._stop(f"its producer ended in the middle of epoch {self.epoch}")
            if self._served_by in (None, threading.current_thread()):
                self._end_iterator()
            return
        try:
            self._looping.drain()
        finally:
            self._looping.close()

    def _stop(self, reason: str) -> None:
        self._looping.stream.stop(reason)
        self._looping.close()

    def _end_with_process(self) -> None:
        thread = self._served_by
        # A daemon thread would run on for as long as this waited for trainers.
        goes_on = thread is not None and thread is not threading.current_thread() and thread.is_alive()
        if not goes_on and not hasattr(sys, "last_type"):
            self.join()
        elif not self._looping.ended.is_set():
            self._stop("its producer's process ended")

    def __repr__(self) -> str:
        return f"batchcast.TensorProducer({self._stream!r}, epoch {self.epoch}, batch {self.index})"
