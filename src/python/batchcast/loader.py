# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`Loader`: a stream's batches as torch tensors, where a DataLoader stood.

Needs torch, 1.13 or later, which nothing else of the package imports.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import warnings
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

try:
    import torch
    from torch.utils.data import IterableDataset, get_worker_info
    from torch.utils.dlpack import from_dlpack
except ImportError as error:
    raise ImportError(
        f"batchcast.Loader needs torch, which cannot be imported ({error}). Without it,"
        f" batchcast.Consumer gives numpy arrays."
    ) from error

from ._closed import ClosedByBlock
from ._consumer import Batch, Consumer, Start, _option_names, check_same_samples
from ._dataloader_parts import StreamDataset, StreamSampler
from ._epochs import batches_of_epoch, is_batch_left
from ._frameworks import refuse_what_is_meant
from ._names import did_you_mean, refuse_unknown
from ._ranks import group_of_spawned, warn_without_group
from .errors import (
    Error,
    Forked,
    GpuUnavailable,
    InvalidArgument,
    Refused,
    StreamFinished,
)

__all__ = ["Loader"]

SAMPLE_ID = "sample_id"

_ORDER = (
    "the stream has another order in each epoch, the same for all trainers: say `--order`"
    " and `--seed` to `batchcast serve`, or `order` and `seed` to bc.serve"
)
_WORKERS = (
    "samples are made by the producer's workers: say `--workers` to `batchcast serve`, or `workers`"
    " to bc.serve"
)
_SAMPLES = (
    "what a sample is made into is the producer's business: say it in the recipe, or in the dataset"
    " that bc.serve is given; `fields` chooses what of it a batch has"
)
_PIN = "say pin=True, and pin_device=N for another GPU than the first"

# What a DataLoader has, and what replaces it here.
_OF_A_DATALOADER = {
    "dataset": "the producer reads it: bc.serve(dataset, stream=…) in another process, or `start`."
    " `class_names` and `consumer.schema` say what it has",
    "shuffle": _ORDER,
    "sampler": _ORDER + ". Ranks of one model: `group`",
    "batch_sampler": _ORDER + ". Ranks of one model: `group`",
    "generator": _ORDER,
    "in_order": _ORDER,
    "num_workers": _WORKERS,
    "persistent_workers": _WORKERS,
    "worker_init_fn": _WORKERS,
    "multiprocessing_context": _WORKERS,
    "prefetch_factor": "the ring holds what is made ahead, for all trainers: say `--memory` to"
    " `batchcast serve`, or `memory` to bc.serve",
    "collate_fn": _SAMPLES,
    "transform": _SAMPLES,
    "pin_memory": _PIN,
    "pin_memory_device": _PIN,
}


def _sample_ids(batch: Batch) -> torch.Tensor:
    return torch.from_numpy(batch.sample_ids.astype(np.int64))


def _torch_takes(dtype: str) -> bool:
    """Whether this torch makes tensors of that dtype by DLPack: tried, since versions differ."""
    if dtype == "bf16":
        return True  # numpy has none to try it with, and every torch has it
    like = np.dtype(np.bool_ if dtype == "bool" else f"{dtype[0]}{int(dtype[1:]) // 8}")
    try:
        from_dlpack(np.zeros(1, like).__dlpack__())
    except (RuntimeError, BufferError, TypeError):
        return False
    return True


def own_pinned_copies(options: dict[str, Any]) -> None:
    """Pinned batches as copies: torch may write into what it gets, and page-locked pages of the
    ring cannot become private. The GPU would still read the old pages."""
    if options.get("pin"):
        options["access"] = "private"


def dtypes_of(consumer: Consumer) -> dict[str, str]:
    """The fields of its stream, in order and without sample_id, each with its dtype."""
    return {field.name: field.dtype for field in consumer.schema if field.name != SAMPLE_ID}


class _Tensors:
    """Makes the tensors of some fields. Throws InvalidArgument where torch has none for one."""

    def __init__(self, consumer: Consumer, names: Sequence[str]) -> None:
        self._names: tuple[str, ...] = ()
        self._bools: list[int] = []  # among the names; a torch that knows none takes bytes
        self._ids: list[int] = []  # where sample_id belongs, which is no int64
        self._on_gpu = consumer.placement != "host"
        dtypes = dtypes_of(consumer)
        for place, name in enumerate(names):
            if name == SAMPLE_ID:
                self._ids.append(place)
                continue
            self._check(consumer.stream, dtypes, name)
            if dtypes[name] == "bool" and not _torch_takes("bool"):
                self._bools.append(len(self._names))
            self._names += (name,)

    @staticmethod
    def _check(stream: str, dtypes: Mapping[str, str], name: str) -> None:
        if name not in dtypes:
            names = [*dtypes, SAMPLE_ID]
            raise InvalidArgument(
                f"batchcast: stream `{stream}` has no field `{name}`. It has {', '.join(names)}."
                f"{did_you_mean(name, names)}"
            )
        dtype = dtypes[name]
        if dtype != "bool" and not _torch_takes(dtype):
            raise InvalidArgument(
                f"batchcast: field `{name}` of stream `{stream}` is {dtype}, for which torch"
                f" {torch.__version__} has no dtype. Convert it in the recipe, with the stage"
                f' `to` (such as {{ stage = "to", dtype = "i64" }}), or leave it out with `fields`.'
            )

    def __call__(self, batch: Batch) -> list[torch.Tensor]:
        capsules = batch._writable_capsules(self._names, bool(self._bools))
        tensors = [from_dlpack(capsule) for capsule in capsules]
        if self._on_gpu and not batch.writable:
            # A write into the ring there would end the process's CUDA context.
            tensors = [tensor.clone() if tensor.is_cuda else tensor for tensor in tensors]
        for place in self._bools:
            tensors[place] = tensors[place].view(torch.bool)
        for place in self._ids:
            tensors.insert(place, _sample_ids(batch))
        return tensors


def collation_of(consumer: Consumer, fields: Any) -> Callable[[Batch], Any]:
    """How a batch becomes what `fields` asks for (see Loader)."""
    if fields is None:
        fields = list(dtypes_of(consumer))[:2]
        if len(fields) == 1:
            fields = fields[0]
    elif fields is dict:
        fields = {name: name for name in dtypes_of(consumer)}
    if isinstance(fields, str):
        alone = _Tensors(consumer, (fields,))
        return lambda batch: alone(batch)[0]
    if isinstance(fields, Mapping):
        keys, tensors = list(fields), _Tensors(consumer, list(fields.values()))
        return lambda batch: dict(zip(keys, tensors(batch)))
    if isinstance(fields, Sequence) and fields and all(isinstance(name, str) for name in fields):
        return _Tensors(consumer, fields)
    raise InvalidArgument(
        f"batchcast: fields={fields!r}: it is the name of a field, several names, a dict of them by"
        f" the keys that you want, or `dict` itself for all"
    )


def _cloned(made: Any) -> Any:
    """Copies of the tensors of a batch, in the same form."""
    if isinstance(made, torch.Tensor):
        return made.clone()
    if isinstance(made, dict):
        return {key: tensor.clone() for key, tensor in made.items()}
    return [tensor.clone() for tensor in made]


def _refuse_names(given: Mapping[str, Any]) -> None:
    for name in given:
        if name in _OF_A_DATALOADER:
            raise InvalidArgument(
                f"batchcast: Loader() has no `{name}`: {_OF_A_DATALOADER[name]}."
            )
    own = set(inspect.signature(Loader.__init__).parameters) - {"self", "options"}
    refuse_unknown("Loader", given, sorted({*own, *_option_names()}))


def _check_seconds(name: str, seconds: Any) -> None:
    """Checks seconds as Consumer does: None and negative ones mean for ever."""
    if seconds is None:
        return
    if not hasattr(seconds, "__float__") and not hasattr(seconds, "__index__"):
        kind = type(seconds).__name__
        raise TypeError(f"batchcast: {name} has to be a number, not {kind}")
    if math.isnan(seconds):
        raise InvalidArgument(f"batchcast: {name}: nan is no number.")


def _why_replaced(stream: str) -> str:
    return (
        f"batchcast: this loop over stream `{stream}` was replaced before its end: another iter()"
        f" of the same loader began, and the rest of the epoch was skipped. A loader has one loop"
        f" at a time. loader.peek() shows the next batch and changes nothing. For two loops at a"
        f" time make two loaders."
    )


class _Loop(Iterator[Any]):
    """The batches of one epoch.

    Dropping it in mid-epoch skips the rest. The consumer's iterator does that: unlike Python code,
    it sees an exception on its way out. So nothing here may stand between its end and that
    iterator's: no `__del__`, no generator.
    """

    __slots__ = ("__weakref__", "_collate", "_loader", "batches", "was_replaced")

    def __init__(self, loader: Loader, consumer: Consumer) -> None:
        self._loader = loader
        self._collate = loader._collation
        self.batches: Any = iter(consumer)  # nothing once the loop is over
        self.was_replaced = False  # by another loop, before this one's end

    def __iter__(self) -> _Loop:
        return self

    def __next__(self) -> Any:
        batches = self.batches
        loader = self._loader
        if batches is None:
            if self.was_replaced:
                raise InvalidArgument(_why_replaced(loader._stream))
            raise StopIteration
        if loader._uses_gpu:
            loader._follow_stream()
        made = self._collate(batches.hold(loader.timeout))  # if this fails, the same batch again
        batches.delivered = True  # Ctrl-C is raised after a call, and there is none from here on
        return made


class Loader(ClosedByBlock, IterableDataset):  # type: ignore[misc]
    """A stream's batches as torch tensors: an iterable that replaces a DataLoader.

        loader = bc.Loader("imagenet", batch_size=256)
        for epoch in range(90):
            for images, labels in loader:
                ...

    Each `for` is one epoch, and gives what a DataLoader with its default collation would. That is a
    list of two tensors, of the stream's first two fields, or the tensor alone where it has one.

    `fields` chooses others:

    - a name (`"image"`) gives that tensor alone;
    - several names (`("image", "mask", "sample_id")`) give a list;
    - `dict` gives a dict of all fields;
    - a dict (`{"pixel_values": "image", "labels": "label"}`) gives one with these keys.

    `sample_id` is the sample's index in the dataset, int64.

    `drop_last` leaves out the short last batch of each epoch, as `tail="drop"` does. `timeout` is
    in seconds, for each batch: `Timeout` is raised, after which the same loop continues. All other
    options are those of `Consumer`, by the same names.

    The tensors show the ring's memory, without a copy, and keep their place in it until the last
    view is gone. They may outlive the loader. A write stays in this process. With `pin` they are
    private copies in page-locked memory, for any `access`. Without a GPU `pin` warns and does
    nothing.

    A loader has one loop at a time: a second `iter()` replaces the first, which then raises
    InvalidArgument. `peek()` shows the next batch and changes nothing.

    It attaches at once, so that a wrong name raises at once. A pickled one attaches again where it
    is first used, as another trainer. Use it from one thread at a time, and in no worker of a
    DataLoader: wrap it as `DataLoader(loader, batch_size=None, num_workers=0)`.
    """

    def __init__(
        self,
        stream: str,
        batch_size: int,
        *,
        fields: str | Sequence[str] | Mapping[str, str] | type[dict[Any, Any]] | None = None,
        drop_last: bool = False,
        timeout: float | None = None,
        start: Start | None = None,
        group: str | tuple[str, int, int] | None = None,
        between_epochs: Literal["hold", "let_go"] = "hold",
        placement: str = "host",
        pin: bool = False,
        name: str | None = None,
        access: Literal["shared", "private"] = "shared",
        directory: str | os.PathLike[str] | None = None,
        connect_timeout: float | None = 30.0,
        **options: Any,
    ) -> None:
        _refuse_names(options)
        _check_seconds("timeout", timeout)
        options.update(
            start=start, group=group, between_epochs=between_epochs, placement=placement, pin=pin,
            name=name, access=access, directory=directory, connect_timeout=connect_timeout,
        )  # fmt: skip
        if drop_last:
            options["tail"] = "drop"
        self._stream = stream
        self._fields = fields
        self._batch_size = batch_size
        self._options = options
        self.timeout = timeout
        self._resume: dict[str, Any] | None = None
        self._start_detached()
        self._attach()
        self._warn_of_ranks()

    # -- attaching ---------------------------------------------------------------------------------

    def _start_detached(self) -> None:
        self._consumer: Consumer | None = None
        self._closed = False
        self._loop: weakref.ref[_Loop] | None = None
        self._uses_gpu = False
        self._has_warned_of_ranks = False

    def _attach(self) -> Consumer:
        options = dict(self._options)
        resume = self._resume
        if resume is not None:
            options.update(join="at", cursor=resume["cursor"])
        if str(options.get("placement", "host")) != "host" and not torch.cuda.is_available():
            raise GpuUnavailable(
                f"batchcast: placement={options['placement']!r}: torch {torch.__version__} sees no"
                f" GPU (torch.cuda.is_available() is False)"
            )
        options["group"] = group_of_spawned(options.get("group"))
        consumer = self._make_consumer(options)
        try:
            if resume is not None:
                check_same_samples(resume, consumer.checkpoint(), options.get("log"))
            self._collation = collation_of(consumer, self._fields)
        except BaseException:
            consumer.close()
            raise
        self._pid = os.getpid()
        self._uses_gpu = consumer.placement != "host" or bool(options.get("pin"))
        self._device = options.get("pin_device", 0)
        if consumer.placement != "host":
            self._device = int(consumer.placement.rpartition(":")[2])
        self._consumer, self._resume = consumer, None  # last, and at once: Ctrl-C loses no place
        return consumer

    def _warn_of_ranks(self) -> None:
        """Warns once, where ranks of one job would train on the same samples. A loader with
        `let_go` is for tests, of which each rank may have all samples."""
        has_part = self._options.get("group") or self._options.get("between_epochs") == "let_go"
        if not has_part and not self._has_warned_of_ranks:
            said = warn_without_group(self._stream, self._batch_size, stacklevel=3)
            self._has_warned_of_ranks = said

    def _make_consumer(self, options: dict[str, Any]) -> Consumer:
        """Takes `pin` out of the options where there is no GPU."""
        pinned = dict(options)
        own_pinned_copies(pinned)
        try:
            return Consumer(self._stream, self._batch_size, **pinned)
        except GpuUnavailable as error:
            if not options.get("pin") or torch.cuda.is_available():
                raise
            warnings.warn(
                f"batchcast: pin=True: there is no GPU ({str(error).removeprefix('batchcast: ')})."
                f" The batches of stream `{self._stream}` are not page-locked.",
                RuntimeWarning,
                stacklevel=4,
            )
        options["pin"] = False
        return Consumer(self._stream, self._batch_size, **options)

    @property
    def _attached(self) -> Consumer:
        """The consumer; attaches where it is not attached yet, or no longer."""
        if get_worker_info() is not None:
            raise InvalidArgument(
                f"batchcast: the loader of stream `{self._stream}` is used in a worker of a"
                f" DataLoader. Say num_workers=0: its samples are made by the producer's workers,"
                f" and it takes them without a copy where it is used."
            )
        if self._closed:
            raise InvalidArgument(f"batchcast: the loader of stream `{self._stream}` is closed")
        if self._consumer is None:
            return self._attach()
        if self._pid != os.getpid():
            raise Forked(
                f"batchcast: the loader of stream `{self._stream}` was attached by process"
                f" {self._pid}, and this is a forked child of it. Make the Loader in the child, or"
                f" start the child with the method `spawn` (and in a DataLoader say num_workers=0)."
            )
        return self._consumer

    def _end_loop(self, by_another: bool = False) -> None:
        """Ends the loop that is under way, and skips what is left of its epoch."""
        loop = None if self._loop is None else self._loop()
        if loop is not None and loop.batches is not None:
            loop.was_replaced = by_another and self._has_more(loop.batches)
            loop.batches = None

    def _has_more(self, batches: Any) -> bool:
        """Whether these batches of the loop that is under way are not at their epoch's end."""
        if batches.over:
            return False
        consumer = self._consumer
        try:
            if consumer is None or consumer.closed:
                return False
            if batches.epoch is None:
                return True
            if batches.epoch != consumer.epoch:
                return False
            return is_batch_left(consumer, batches.epoch, self._batch_size, self._tail)
        except Error:  # in a call, in another thread
            return True

    def _detach(self) -> None:
        consumer = self._consumer
        if consumer is not None and self._pid == os.getpid():
            try:
                consumer.close()
            except BaseException:
                if consumer.closed:  # else it was refused: it is in a call, of any thread
                    self._consumer = None
                raise
        self._consumer = None
        self._end_loop()  # afterwards: in a group, leaving an epoch is something else

    def _follow_stream(self) -> None:
        """Uses batches on the stream that is current when they are asked for."""
        if self._consumer is not None and torch.cuda.is_available():
            current = torch.cuda.current_stream(self._device)
            self._consumer.set_cuda_stream(current.cuda_stream)

    def close(self) -> None:
        """Leaves the stream, for good. Tensors that were taken from it live on."""
        self._detach()
        self._closed = True

    def _leave_block(self) -> None:
        self.close()

    def __getstate__(self) -> dict[str, Any]:
        return {
            "stream": self._stream,
            "fields": self._fields,
            "batch_size": self._batch_size,
            "options": self._options,
            "timeout": self.timeout,
            "resume": self._resume,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name if name == "timeout" else "_" + name, value)
        self._start_detached()

    def __repr__(self) -> str:
        return f"batchcast.Loader({self._stream!r}, batch_size={self._batch_size})"

    # -- a DataLoader's side -----------------------------------------------------------------------

    def __iter__(self) -> Iterator[Any]:
        """One epoch. It replaces the loop before it and skips what is left of that loop's epoch. If
        that loop is asked for another batch, it raises InvalidArgument."""
        consumer = self._attached
        self._end_loop(by_another=True)
        loop = _Loop(self, consumer)
        self._loop = weakref.ref(loop)
        self._warn_of_ranks()
        return loop

    def __len__(self) -> int:
        """Batches of a whole epoch; for a rank of a group, its batches.

        Raises TypeError, as torch wants it, where the stream's producer does not know.
        """
        return batches_of_epoch(self._attached, self._batch_size, self._tail)

    @property
    def _tail(self) -> str:
        tail: str = self._options.get("tail", "keep")
        return tail

    @property
    def dataset(self) -> StreamDataset:
        """The number of samples (`len`), and `classes`, `class_to_idx` and `class_names` where the
        source names them. It has no samples: the producer reads them."""
        refuse_what_is_meant(self._stream, "dataset")
        return StreamDataset(self)

    @property
    def sampler(self) -> StreamSampler:
        """`len` is the samples that this rank gets in an epoch; `set_epoch` does nothing."""
        refuse_what_is_meant(self._stream, "sampler")
        return StreamSampler(self)

    @property
    def batch_sampler(self) -> None:
        """None: the stream has its samples in order, and each trainer cuts its batches."""
        return None

    @property
    def num_workers(self) -> int:
        """0: the producer's workers make the samples."""
        return 0

    @property
    def pin_memory(self) -> bool:
        """Whether batches lie in page-locked memory: the option `pin`."""
        return bool(self._options.get("pin"))

    @property
    def drop_last(self) -> bool:
        """Whether the short last batch of an epoch is left out, by that option or by `tail`."""
        return self._tail == "drop"

    def __getitem__(self, index: Any) -> NoReturn:
        raise TypeError(
            f"a Loader cannot be indexed: `for batch in loader` is one epoch, and"
            f" next(iter(loader)) one batch. Stream `{self._stream}` has its samples in its order"
        )

    if not TYPE_CHECKING:  # checkers would take any name for an attribute

        def __getattr__(self, name: str) -> Any:
            refuse_what_is_meant(self.__dict__.get("_stream", ""), name)
            hint = _OF_A_DATALOADER.get(name)
            why = "" if hint is None else f": {hint}"
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{why}")

    def set_epoch(self, epoch: int) -> None:
        """Does nothing: it is for loops that call it.

        Each epoch of a stream has another order, drawn from its seed; every trainer sees the same.
        `epoch` says which epoch comes next; `load_state_dict` begins at another place.
        """

    # -- checkpoints -------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Where the next batch begins, in mid-epoch too, and which samples that place counts.

        It has plain numbers and texts: store it beside the model, as JSON if you like. It is good
        for another batch size, and in a group for all its ranks and for another number of them.
        """
        if self._consumer is None and self._resume is not None:
            return dict(self._resume)
        consumer = self._attached
        return {**consumer.checkpoint(), "epoch": consumer.epoch}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continues where `state_dict` was taken: the next loop is the rest of that epoch.

        Raises RecipeMismatch where the stream that is served now has other samples. Raises Refused
        where other trainers are attached and the ring has lost that place; the loader then keeps
        its present place. In a group all ranks load. A loop that is under way is over.

        It stays attached meanwhile, so that a stream with an end does not end because it has no
        trainer. Where it cannot, as a rank, with `between_epochs="let_go"` or on a GPU, it attaches
        again.
        """
        cursor = state.get("cursor") if isinstance(state, Mapping) else None
        if not isinstance(cursor, int) or isinstance(cursor, bool) or cursor < 0:
            what = f"it is {state!r:.60}"
            if isinstance(state, Mapping):
                is_there = "cursor" in state
                what = f"its cursor is {cursor!r:.60}" if is_there else "it has no cursor"
            raise InvalidArgument(
                f"batchcast: this is no state of a Loader: {what}. A state is the dict that"
                f" state_dict() gave."
            )
        if self._consumer is not None:
            consumer = self._attached
            keeps_place = self._options.get("between_epochs") != "let_go"
            stays = keeps_place and self._loop is None and consumer.cursor == state["cursor"]
            # One that moves is checked again where it attaches, and warns there.
            log = self._options.get("log") if stays else lambda level, text: None
            check_same_samples(dict(state), consumer.checkpoint(), log)
            if stays:
                return
            if self._moves_to(cursor):
                check_same_samples(dict(state), consumer.checkpoint(), self._options.get("log"))
            else:
                self._attach_anew_at(state)
        else:
            self._resume = dict(state)

    def peek(self) -> Any:
        """A copy of the next batch, in the form that the loop gives. At the end of an epoch it is
        the first batch of the next one.

        It changes nothing: the loop continues with that batch, and cursor, epoch, stats and
        checkpoints stay as they are. It waits as the loop does, at most `timeout`, and raises
        StreamFinished where no batch follows. A loader with between_epochs="let_go" joins the
        stream for the call if it is between its loops, and stands there afterwards.
        """
        consumer = self._attached
        if self._uses_gpu:
            self._follow_stream()
        batch = consumer._peek(self.timeout)
        made = self._collation(batch)
        return made if consumer._delivered else _cloned(made)  # else it is the loop's next

    def _moves_to(self, cursor: int) -> bool:
        """Moves the consumer, which stays attached; returns whether it is there now."""
        consumer, before = self._attached, self.state_dict()
        try:
            moved = consumer._move_to(cursor)
        except (Refused, StreamFinished):
            raise  # it is where it was
        except BaseException:  # Ctrl-C while the producer has the question
            self._detach()
            self._resume = before
            raise
        if moved:
            self._end_loop()
        return moved

    def _attach_anew_at(self, state: Mapping[str, Any]) -> None:
        before = self.state_dict()
        try:
            # Its place has to be free before a place further back is available.
            self._detach()
            self._resume = dict(state)
            self._attach()
        except BaseException as error:
            self._resume = before if self._consumer is None else None
            # A rank would wait for the others.
            if isinstance(error, Refused) and self._options.get("group") is None:
                with contextlib.suppress(Error):  # else the next use says it
                    self._attach()
            raise

    # -- the consumer's side -----------------------------------------------------------------------

    def has_next_epoch(self) -> bool:
        """Whether another epoch follows. Waits until that is known."""
        return self._attached.has_next_epoch()

    @property
    def consumer(self) -> Consumer:
        """The consumer, for everything else. Batches taken from it directly are missing from the
        loop."""
        return self._attached

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """What the labels stand for, as the stream's source names them; None without names."""
        return self._attached.class_names

    @property
    def batch_size(self) -> int:
        """Samples of a batch, of this rank; may be set between two batches."""
        return self._batch_size

    @batch_size.setter
    def batch_size(self, batch_size: int) -> None:
        self._attached.batch_size = batch_size
        self._batch_size = batch_size

    @property
    def cursor(self) -> int:
        """The position after the last sample delivered."""
        return self._attached.cursor

    @property
    def epoch(self) -> int:
        """The epoch that the next batch belongs to."""
        return self._attached.epoch

    @property
    def stats(self) -> Any:
        """What `Consumer.stats` says: samples, batches, waits and the like."""
        return self._attached.stats
