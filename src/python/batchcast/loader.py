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
import re
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
from ._dataloader_parts import StreamDataset, StreamSampler, warn_of_second_batching
from ._epochs import batches_of_epoch, is_batch_left
from ._frameworks import refuse_what_is_meant
from ._language import TEXT_NAMES, TextForm
from ._names import did_you_mean, refuse_unknown
from ._ragged import RaggedForm
from ._ranks import group_of_torch, warn_without_group
from ._values import Padded, PaddedImages, Ragged, TokenCounts
from .errors import (
    Error,
    Forked,
    GpuUnavailable,
    InvalidArgument,
    Refused,
    StreamFinished,
    WrongType,
)

__all__ = ["Loader"]

SAMPLE_ID = "sample_id"
OFFSETS = "offsets"  # of the samples of a batch that a window cuts

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
    """The fields of its batches, in order and without sample_id, each with its dtype."""
    axis = None if consumer.window is None else consumer.window[0]
    return {
        field.name: field.dtype
        for field in consumer.schema
        if field.name != SAMPLE_ID and (axis is None or field.shape[:1] == (axis,))
    }


class _Tensors:
    """Makes the tensors of some fields. Throws InvalidArgument where torch has none for one."""

    def __init__(self, consumer: Consumer, names: Sequence[str], form: RaggedForm) -> None:
        self._names: tuple[str, ...] = ()
        self._form = form
        self._ragged: list[tuple[int, str]] = []  # places and names of fields on an axis
        self._images: list[tuple[int, str, str]] = []  # the same to pad, and where their sizes are
        axes = axes_of(consumer)
        self._bools: list[int] = []  # among the names; a torch that knows none takes bytes
        self._ids: list[int] = []  # where sample_id belongs, which is no int64
        self._offsets: list[int] = []  # where those of a window's samples belong
        window = consumer.window
        self._on_gpu = consumer.placement != "host"
        dtypes = dtypes_of(consumer)
        for place, name in enumerate(names):
            if name == SAMPLE_ID:
                self._ids.append(place)
                continue
            if name == OFFSETS and window is not None and name not in dtypes:
                self._offsets.append(place)
                continue
            self._check(consumer.stream, dtypes, name, window)
            self._check_dtype(consumer.stream, name, dtypes[name], axes[name])
            if dtypes[name] == "bool" and not _torch_takes("bool"):
                self._bools.append(len(self._names))
            if axes[name] is not None and window is None:
                form.check_pad_value(name, dtypes[name])
                size = sizes_of_images(consumer, name)
                if size is not None and form.pads:
                    self._images.append((place, name, size))
                else:
                    self._ragged.append((place, name))
            self._names += (name,)

    @staticmethod
    def _check(
        stream: str, dtypes: Mapping[str, str], name: str, window: tuple[str, int, int] | None
    ) -> None:
        if name not in dtypes:
            names = [*dtypes, SAMPLE_ID]
            if window is not None:
                names.append(OFFSETS)
                raise InvalidArgument(
                    f"batchcast: batches of stream `{stream}` have no field `{name}`: a window cuts"
                    f" them through samples, so they have the fields of the axis `{window[0]}`"
                    f" alone. They have {', '.join(names)}.{did_you_mean(name, names)}"
                )
            hint = did_you_mean(name, names)
            if name in TEXT_NAMES and not hint:
                hint = ' ragged="varlen" makes it of tokens.'
            raise InvalidArgument(
                f"batchcast: stream `{stream}` has no field `{name}`. It has {', '.join(names)}.{hint}"
            )

    @staticmethod
    def _check_dtype(stream: str, name: str, dtype: str, axis: str | None) -> None:
        if dtype == "bool" or _torch_takes(dtype):
            return
        cure = (
            'Convert it in the recipe, with the stage `to` (such as { stage = "to", dtype = "i64" })'
            if axis is None
            else f"Save its rows as i32 or i64, since no stage converts rows on the axis `{axis}`"
        )
        raise InvalidArgument(
            f"batchcast: field `{name}` of stream `{stream}` is {dtype}, for which torch"
            f" {torch.__version__} has no dtype. {cure}, or leave it out with `fields`."
        )

    def __call__(self, batch: Batch) -> list[torch.Tensor]:
        capsules = batch._writable_capsules(self._names, bool(self._bools))
        tensors = [from_dlpack(capsule) for capsule in capsules]
        if self._on_gpu and not batch.writable:
            # A write into the ring there would end the process's CUDA context.
            tensors = [tensor.clone() if tensor.is_cuda else tensor for tensor in tensors]
        for place in self._bools:
            tensors[place] = tensors[place].view(torch.bool)
        for place in sorted((*self._ids, *self._offsets)):
            made = self._form.offsets(batch) if place in self._offsets else _sample_ids(batch)
            tensors.insert(place, made)
        for place, name in self._ragged:
            tensors[place] = self._form(tensors[place], batch.offsets(name))
        for place, name, size in self._images:
            tensors[place] = self._form.images(tensors[place], batch.offsets(name), batch[size])
        return tensors


def axes_of(consumer: Consumer) -> dict[str, str | None]:
    """The axis of each field of its stream; None of one whose samples have one shape."""
    return {
        field.name: field.shape[0] if field.shape and isinstance(field.shape[0], str) else None
        for field in consumer.schema
    }


def sizes_of_images(consumer: Consumer, name: str) -> str | None:
    """The field beside it with heights and widths, where its rows are pixels of images."""
    for field in consumer.schema:
        if field.name == f"{name}_size" and field.dtype == "i32" and field.shape == (2,):
            return field.name
    return None


def _tensors_of(
    consumer: Consumer, names: Sequence[str], form: RaggedForm
) -> Callable[[Batch], list[Any]]:
    if form.text is None:
        return _Tensors(consumer, names, form)
    return form.text.batches(consumer, names, lambda rest: _Tensors(consumer, rest, form))


def collation_of(
    consumer: Consumer, fields: Any, form: RaggedForm | None = None
) -> Callable[[Batch], Any]:
    """How a batch becomes what `fields` asks for (see Loader)."""
    form = form or RaggedForm()
    if form.text is not None and (fields is None or fields is dict):
        fields = {name: name for name in form.text.default_names(consumer)}
    elif fields is None:
        fields = list(dtypes_of(consumer))[:2]
        if len(fields) == 1:
            fields = fields[0]
    elif fields is dict:
        fields = {name: name for name in dtypes_of(consumer)}
        if consumer.window is not None:
            fields.setdefault(OFFSETS, OFFSETS)
    if isinstance(fields, str):
        alone = _tensors_of(consumer, (fields,), form)
        return lambda batch: alone(batch)[0]
    if isinstance(fields, Mapping):
        names = list(fields.values())
    elif isinstance(fields, Sequence):
        names = list(fields)
    else:
        names = []
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgument(
            f"batchcast: fields={fields!r}: it is the name of a field, several names, a dict of"
            f" them by the keys that you want, or `dict` itself for all"
        )
    tensors = _tensors_of(consumer, names, form)
    if isinstance(fields, Mapping):
        keys = list(fields)
        return lambda batch: dict(zip(keys, tensors(batch)))
    return tensors


def _cloned(made: Any) -> Any:
    """Copies of the tensors of a batch, in the same form."""
    if isinstance(made, torch.Tensor):
        return made.clone()
    if isinstance(made, int):
        return made
    if isinstance(made, Ragged | Padded | PaddedImages):
        return type(made)(*(_cloned(one) for one in made))
    if isinstance(made, dict):
        return {key: _cloned(tensor) for key, tensor in made.items()}
    return [_cloned(tensor) for tensor in made]


def _refuse_names(given: Mapping[str, Any]) -> None:
    for name in given:
        if name in _OF_A_DATALOADER:
            raise InvalidArgument(
                f"batchcast: Loader() has no `{name}`: {_OF_A_DATALOADER[name]}."
            )
    own = set(inspect.signature(Loader.__init__).parameters) - {"self", "options"}
    refuse_unknown("Loader", given, sorted({*own, *_option_names()}))


def _check_stream(stream: Any) -> None:
    """Refuses what is no name, such as the dataset that a DataLoader would take here."""
    if not isinstance(stream, str):
        kind = "None" if stream is None else type(stream).__name__
        raise WrongType(
            f"batchcast: stream has to be a str, the name of a stream, not {kind}. To serve a"
            f" dataset or a loader under a name, call bc.serve(…, stream=NAME) in one process."
        )


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

    `ragged` says what becomes of a field on an axis, of which samples have different numbers of
    rows:

    - `"flat"`: `Ragged(values, offsets)`, the rows of all samples over the ring's memory;
    - `"padded"`: `Padded(values, lengths)`, a copy, filled up with `pad_value` to the longest sample
      of the batch, rounded up to a multiple of `pad_to_multiple_of`. Of images that keep their sizes,
      `PaddedImages(values, sizes)`: [B, H, W, C], as high and as wide as the largest, and the height
      and width of each;
    - `"nested"`: a nested tensor of torch's layout `jagged` over the ring's memory, for torch 2.4 or
      later;
    - `"varlen"`, with a budget: what language models take that need no padding, a dict as
      transformers' DataCollatorWithFlattening makes it. All texts stand one after the other in
      `input_ids`, `labels` (-100 for a text's first token, and where the loss mask is 0; never
      shifted) and `position_ids`, i64 [1, n]; `cu_seq_lens_q` and `cu_seq_lens_k`, i32;
      `max_length_q` and `max_length_k`, ints; `seq_idx`, i32 [1, n]. With a window `input_ids`,
      `labels` and `position_ids` are [runs, rows]; with `extra=1` too, `targets`, the next tokens,
      takes the place of `labels`. `fields` chooses among these and the stream's fields, and adds
      `targets`;
    - `"padded"` with a `pad_token_id`: `input_ids`, `attention_mask` and `labels`, i64, each text a
      line that is filled up.

    The last two are made of the field `tokens` (that of this name) and of `loss_mask` (that of this
    name, where the stream has one; False trains all tokens).

    `offsets` is their dtype, `"i64"` or `"i32"`. With `budget=("tokens", 16384)` a batch has as many
    whole samples as fit, and `batch_size`, if given, is the most of them.

    With `window=("tokens", 2048, 8)` each batch is 8 runs of 2048 consecutive rows, cut through
    samples: tensors [8, 2048] over the ring's memory, of the fields of that axis alone. With
    `extra=1` they are [8, 2049], and each run ends with the row after it: `[:, :-1]` and `[:, 1:]`
    are inputs and targets. The name `offsets` is that of the samples of a batch: where they begin
    among its rows, run after run; `sample_id` has theirs.

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
        batch_size: int | None = None,
        *,
        fields: str | Sequence[str] | Mapping[str, str] | type[dict[Any, Any]] | None = None,
        drop_last: bool = False,
        timeout: float | None = None,
        ragged: Literal["flat", "padded", "nested", "varlen"] = "flat",
        pad_value: float = 0,
        pad_to_multiple_of: int = 1,
        pad_token_id: int | None = None,
        tokens: str | None = None,
        loss_mask: str | Literal[False] | None = None,
        offsets: Literal["i64", "i32"] = "i64",
        budget: tuple[str, int] | str | None = None,
        window: tuple[str, int, int] | str | None = None,
        extra: int = 0,
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
        _check_stream(stream)
        _check_seconds("timeout", timeout)
        options.update(
            start=start, group=group, between_epochs=between_epochs, placement=placement, pin=pin,
            name=name, access=access, directory=directory, connect_timeout=connect_timeout,
        )  # fmt: skip
        if drop_last:
            options["tail"] = "drop"
        if budget is not None:
            options["budget"] = budget
        if window is not None or extra != 0:
            options.update(window=window, extra=extra)
        text = TextForm.of(ragged, tokens, loss_mask, pad_token_id, pad_to_multiple_of, extra)
        if text is not None:
            text.check_cut(budget, window)
        if budget is None and window is None and batch_size is None:
            raise TypeError(
                "batchcast: Loader() needs a batch_size, or for a stream with axes a budget such as"
                ' budget=("tokens", 16384), or a window such as window=("tokens", 2048, 8)'
            )
        self._form = RaggedForm(ragged, pad_value, pad_to_multiple_of, offsets, text)
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
        self._has_warned_of_batching = False

    def _attach(self) -> Consumer:
        options = dict(self._options)
        resume = self._resume
        if resume is not None:
            row = resume.get("cursor_row", 0)  # older states have none
            options.update(join="at", cursor=resume["cursor"], cursor_row=row)
        names_gpu = re.fullmatch(r"cuda(:[0-9]+)?", str(options.get("placement", "host")))
        if names_gpu and not torch.cuda.is_available():  # other words: Consumer refuses them
            raise GpuUnavailable(
                f"batchcast: placement={options['placement']!r}: torch {torch.__version__} sees no"
                f" GPU (torch.cuda.is_available() is False)"
            )
        options["group"] = group_of_torch(
            options.get("group"), options.get("connect_timeout"), options.get("log")
        )
        consumer = self._make_consumer(options)
        try:
            if resume is not None:
                check_same_samples(resume, consumer.checkpoint(), options.get("log"))
            self._collation = collation_of(consumer, self._fields, self._form)
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
        if self._batch_size is not None:
            pinned["batch_size"] = self._batch_size
        own_pinned_copies(pinned)
        try:
            return Consumer(self._stream, **pinned)
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
        pinned["pin"] = False
        pinned["access"] = options["access"]
        return Consumer(self._stream, **pinned)

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
            return is_batch_left(consumer, batches.epoch, self._sized_by, self._tail)
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
            "form": self._form,
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
        self._check_uses(consumer)
        self._end_loop(by_another=True)
        loop = _Loop(self, consumer)
        self._loop = weakref.ref(loop)
        self._warn_of_ranks()
        if not self._has_warned_of_batching:
            self._has_warned_of_batching = warn_of_second_batching(self._stream)
        return loop

    def _check_uses(self, consumer: Consumer) -> None:
        """Refuses options that would change nothing in the epoch that begins. They are looked at here,
        since a budget may be set between two epochs."""
        oversize = self._options.get("oversize", "error")
        if oversize != "error" and consumer.budget is None:
            raise InvalidArgument(
                f"batchcast: oversize={oversize!r} is of samples beyond a budget, and the loader of"
                f" stream `{self._stream}` has none: give it one, such as"
                ' budget=("tokens", 16384), or leave oversize away'
            )
        if self._form.pads and not any(axes_of(consumer).values()):
            raise InvalidArgument(
                f'batchcast: ragged="padded": no field of stream `{self._stream}` is on an axis, so'
                " there is nothing to pad. Leave ragged, pad_value and pad_to_multiple_of away."
            )

    def __len__(self) -> int:
        """Batches of a whole epoch; for a rank of a group, its batches. With a budget, those of the
        current epoch, which differ.

        Raises TypeError, as torch wants it, where the stream's producer does not know.
        """
        if self._sized_by is None:
            batches = self._attached.batches_of_epoch()
            if batches is not None:
                return batches
            raise TypeError(
                f"the number of batches of stream `{self._stream}` with a budget or a window is not"
                f" known beforehand: it depends on the lengths of samples, which its producer does not"
                f" know. Tell the framework how many steps to make (max_steps of transformers and"
                f" Lightning)"
            )
        return batches_of_epoch(self._attached, self._sized_by, self._tail)

    @property
    def _sized_by(self) -> int | None:
        """The samples of a batch; None with a budget or a window, where they differ."""
        by_rows = self._options.get("budget") is not None or self._options.get("window") is not None
        return None if by_rows else self._batch_size

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
        where other trainers are attached, the ring has lost that place and no head can have it
        (`heads=1`, a GPU, no memory); the loader then keeps its present place. In a group all
        ranks load. A loop that is under way is over.

        It stays attached meanwhile, so that a stream with an end does not end because it has no
        trainer. Where it cannot, as a rank, with `between_epochs="let_go"` or on a GPU, it attaches
        again.
        """
        cursor = state.get("cursor") if isinstance(state, Mapping) else None
        if not isinstance(cursor, int) or isinstance(cursor, bool) or not 0 <= cursor < 2**63:
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
            place = (state["cursor"], state.get("cursor_row", 0))
            is_there = (consumer.cursor, consumer.cursor_row) == place
            stays = keeps_place and self._loop is None and is_there
            # One that moves is checked again where it attaches, and warns there.
            log = self._options.get("log") if stays else lambda level, text: None
            check_same_samples(dict(state), consumer.checkpoint(), log)
            if stays:
                return
            if self._moves_to(cursor, state.get("cursor_row", 0)):
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
        with contextlib.nullcontext() if self._form.text is None else self._form.text.unseen():
            made = self._collation(batch)
        return made if consumer._delivered else _cloned(made)  # else it is the loop's next

    def _moves_to(self, cursor: int, row: int) -> bool:
        """Moves the consumer, which stays attached; returns whether it is there now."""
        consumer, before = self._attached, self.state_dict()
        try:
            moved = consumer._move_to(cursor, row)
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
    def batch_size(self) -> int | None:
        """Samples of a batch, of this rank; may be set between two batches. With a budget the most
        samples, or None."""
        return self._batch_size

    @batch_size.setter
    def batch_size(self, batch_size: int) -> None:
        self._attached.batch_size = batch_size
        self._batch_size = batch_size

    @property
    def budget(self) -> tuple[str, int] | None:
        """The axis and the rows that a batch has at most; may be set between two batches."""
        return self._attached.budget

    @budget.setter
    def budget(self, budget: tuple[str, int] | str | None) -> None:
        consumer, before = self._attached, self.budget
        if self._form.text is not None:
            self._form.text.check_cut(budget, consumer.window)
        consumer.budget = budget
        try:
            self._collation = collation_of(consumer, self._fields, self._form)
        except InvalidArgument:
            consumer.budget = before
            raise
        self._options["budget"] = budget

    @property
    def window(self) -> tuple[str, int, int] | None:
        """The axis, the rows of a run and the runs of a batch; may be set between two batches. The
        next one begins where the last one ended."""
        return self._attached.window

    @window.setter
    def window(self, window: tuple[str, int, int] | str | None) -> None:
        consumer, before = self._attached, self.window
        if self._form.text is not None:
            self._form.text.check_cut(consumer.budget, window)
        consumer.window = window
        try:
            self._collation = collation_of(consumer, self._fields, self._form)
        except InvalidArgument:
            consumer.window = before
            raise
        self._options["window"] = window

    @property
    def cursor(self) -> int:
        """The position after the last sample delivered."""
        return self._attached.cursor

    @property
    def cursor_row(self) -> int:
        """With a window: inside the sample at `cursor`, the row after the last one delivered."""
        return self._attached.cursor_row

    @property
    def epoch(self) -> int:
        """The epoch that the next batch belongs to."""
        return self._attached.epoch

    @property
    def stats(self) -> Any:
        """What `Consumer.stats` says: samples, batches, waits and the like."""
        return self._attached.stats

    @property
    def token_counts(self) -> TokenCounts:
        """With ragged="varlen", or "padded" and a pad_token_id: what became of the tokens so far."""
        if self._form.text is None:
            raise InvalidArgument(
                'batchcast: token_counts is of batches of language models: say ragged="varlen", or'
                ' ragged="padded" with a pad_token_id'
            )
        stats, seen = self.stats, self._form.text.counts
        return TokenCounts(
            stats.rows, stats.rows - seen.masked, seen.masked, stats.repeated_rows,
            stats.truncated_rows, stats.left_out_rows, seen.padding,
        )  # fmt: skip
