# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""The names of TensorSocket 0.0.5: a script that imports them from here needs no other change.

    from batchcast.tensorsocket import TensorProducer   # was: from tensorsocket import …
    from batchcast.tensorsocket import TensorConsumer

TensorSocket's port is a stream's name here: port 5555 is the stream `tensorsocket-5555`. No port is
opened.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from ._closed import ClosedByBlock
from ._consumer import Consumer
from ._epochs import batches_of_epoch

if TYPE_CHECKING:
    from ._tensor_producer import TensorProducer as TensorProducer

__all__ = ["TensorConsumer", "TensorProducer", "stream_of"]

# Names of TensorSocket's that have no counterpart, and why they need none.
_NEEDLESS = {
    "TensorPayload": "nothing is pickled. A batch's tensors are there as they are",
    "TensorPool": "the stream's ring holds the samples",
    "Heart": "the kernel says which trainers live",
    "HeartBeater": "the kernel says which trainers live",
}


def __getattr__(name: str) -> object:
    if name == "TensorProducer":  # which brings what a producer runs
        from ._tensor_producer import TensorProducer

        return TensorProducer
    if name in _NEEDLESS:
        raise ImportError(f"batchcast.tensorsocket has no {name}: {_NEEDLESS[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def stream_of(port: int | str) -> str:
    """The name of the stream that stands for a port; a text of no digits is a name already."""
    return port if isinstance(port, str) and not port.isdigit() else f"tensorsocket-{port}"


def unpack(data: tuple[Any, ...]) -> tuple[Any, ...]:
    """What `unpack_fn` is by default: the batch's tensors as they are."""
    return tuple(data)


class TensorConsumer(ClosedByBlock):
    """Takes batches of a stream as TensorSocket's class of that name takes them from its producer.

        data_loader = TensorConsumer(port=5555, batch_size=64)
        for epoch in range(epochs):
            for inputs, targets in data_loader:
                ...

    `unpack_fn` makes a batch of a tuple: the tensors of all fields, in the stream's order. Each
    epoch ends with StopIteration, and the next loop is the next epoch. A loop that was left early
    continues where it was, as TensorSocket's does. A batch of which `unpack_fn` makes nothing, or
    during which Ctrl-C came, comes again. If `unpack_fn` changed its tensors in place, it comes
    changed. Unlike there, a short last batch arrives, and after the last epoch StreamFinished is
    raised, where TensorSocket waits for ever. Make one for all epochs: each is another trainer, and
    begins where the stream is.

    `port` may also be the name of any stream. `ack_port` and `heart_ports` are accepted and have no
    meaning: the kernel says which trainers live. Further options are those of `Consumer`.
    """

    def __init__(
        self,
        port: int | str = 5555,
        ack_port: int = 5556,
        heart_ports: tuple[int, int] = (4444, 4445),
        unpack_fn: Callable[[tuple[Any, ...]], Any] = unpack,
        batch_size: int = 64,
        **options: Any,
    ) -> None:
        self.port = port
        self.ack_port = ack_port
        self.heart_ports = heart_ports
        self.unpack_fn = unpack_fn
        self.batch_size = batch_size
        self.consumer_id = uuid.uuid4()
        self.batch_count = 0  # of this epoch
        self.batch_max = -1
        self.epoch = 0
        options.setdefault("connect_timeout", None)  # as there, it waits for its producer
        # They need torch, which a producer may lack.
        from .loader import collation_of, dtypes_of, own_pinned_copies

        own_pinned_copies(options)
        self._tail = options.get("tail", "keep")
        self._consumer = Consumer(stream_of(port), batch_size, **options)
        self._collate = collation_of(self._consumer, tuple(dtypes_of(self._consumer)))

    def __iter__(self) -> Iterator[Any]:
        return self

    def __len__(self) -> int:
        """Batches of an epoch, with the short last one unless `tail` says otherwise."""
        return batches_of_epoch(self._consumer, self.batch_size, self._tail)

    def __next__(self) -> Any:
        batch = self._consumer._hold()
        if batch is None:
            self.batch_count = 0
            self.batch_max = -1
            self.epoch += 1
            raise StopIteration
        made = self.unpack_fn(tuple(self._collate(batch)))  # if this fails, the same batch again
        # Ctrl-C is raised after a call, and there is none from here on.
        self.batch_max = self.batch_count
        self.batch_count += 1
        self._consumer._delivered = True
        return made

    @property
    def data_loader_len(self) -> int:
        """The same as `len`: how the producer's loader cuts its batches does not matter."""
        return len(self)

    def close(self) -> None:
        """Leaves the stream. Tensors that were taken from it live on."""
        self._consumer.close()

    def _leave_block(self) -> None:
        self.close()
