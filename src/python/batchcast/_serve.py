# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`bc.serve`: this process is the producer."""

from __future__ import annotations

import atexit
import contextlib
import numbers
import os
import sys
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any

import numpy as np

from . import _items
from ._names import checks_names
from ._processes import Readers
from ._producer import BatchStream, DatasetStream, PythonSource
from .errors import BadSample, Error, InvalidArgument

_SLICE_MS = 20  # between two looks for Ctrl-C
_READERS_PATIENCE_MS = 200  # for processes that read a dataset
_PATIENCE_S = 0.5  # for a loader that is to stop, or a dataset that is being opened


class Serving:
    """A stream that this process serves. `stop()` ends it; so does the end of the process.

    As a context manager it is stopped where the block ends.
    """

    def __init__(self, stream: str) -> None:
        self._name = stream
        self._pid = os.getpid()
        _servings.add(self)

    @property
    def stream(self) -> str:
        """Its name."""
        return self._name

    @property
    def directory(self) -> str:
        """Where the stream's files are."""
        raise NotImplementedError

    @property
    def running(self) -> bool:
        """Whether it is not over yet."""
        raise NotImplementedError

    @property
    def error(self) -> BaseException | None:
        """What failed the stream, if anything did."""
        raise NotImplementedError

    @property
    def stats(self) -> dict[str, Any]:
        """How it stands: `state`, `epoch`, `published`, `samples_per_second`, `consumers`, …"""
        raise NotImplementedError

    def stop(self, reason: str = "its producer was told to stop") -> None:
        """Ends the stream: trainers get what is made, and then `Stopped` with this reason.

        Returns within a second, also where a dataset or a loader hangs; a warning then says where.
        In a forked child nothing happens.
        """
        if self._pid == os.getpid() and self.running:
            self._stop(_items.shown(reason))

    def _stop(self, reason: str) -> None:
        raise NotImplementedError

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the stream is over, at most so many seconds; whether it is.

        Raises what failed it. Ctrl-C ends the wait, not the stream.
        """
        end = None if timeout is None or timeout < 0 else time.monotonic() + timeout
        while not self._wait_slice(_left_ms(end)):
            if end is not None and time.monotonic() >= end:
                return False
        if self.error is not None:
            raise self.error
        return True

    def _wait_slice(self, at_most_ms: int) -> bool:
        raise NotImplementedError

    def __enter__(self) -> Serving:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.stop()

    def __del__(self) -> None:
        if "_name" in self.__dict__ and not sys.is_finalizing():
            self.stop("its producer was dropped")

    def __repr__(self) -> str:
        return f"<batchcast.Serving of stream `{self._name}`, {self.stats['state']}>"


# Those that may still run: daemon threads would be ended in the middle of things.
_servings: weakref.WeakSet[Serving] = weakref.WeakSet()


@atexit.register
def _stop_all() -> None:
    for serving in list(_servings):
        serving.stop("its producer's process ended")


def _left_ms(end: float | None) -> int:
    if end is None:
        return _SLICE_MS
    return max(0, min(_SLICE_MS, int(1000 * (end - time.monotonic())) + 1))


class _DatasetServing(Serving):
    """A dataset's samples, made by threads of C++."""

    def __init__(
        self,
        name: str,
        arguments: list[str],
        source: PythonSource | None,
        directory: str,
        *,
        talks: bool,
        pure: bool,
        readers: Readers | None = None,
    ) -> None:
        self._source = source
        self._readers = readers
        self._error: BaseException | None = None
        self._run = DatasetStream(arguments, source, directory, talks, pure)
        super().__init__(name)
        try:
            while not self._run.wait_opened(_SLICE_MS):
                pass
        except BaseException:
            self._run.ask_to_end("its producer was interrupted")
            raise
        if self.error is not None:
            raise self.error

    @property
    def directory(self) -> str:
        return self._run.directory

    @property
    def running(self) -> bool:
        return not self._run.wait_ended(0)

    @property
    def error(self) -> BaseException | None:
        if self._error is None and not self.running:
            try:
                self._run.raise_failure()
            except Exception as error:
                cause = None if self._source is None else self._source.first_failure
                if isinstance(error, BadSample) and cause is not None:
                    error.__cause__ = cause
                self._error = error
        return self._error

    @property
    def stats(self) -> dict[str, Any]:
        return self._run.stats()

    def _stop(self, reason: str) -> None:
        self._run.ask_to_end(reason)
        if self._readers is not None and not self._run.wait_ended(_READERS_PATIENCE_MS):
            self._readers.close()  # a worker that waits for one gets an error
        end = time.monotonic() + _PATIENCE_S
        while not self._wait_slice(_SLICE_MS):
            if time.monotonic() > end and not self._run.wait_opened(0):
                break  # its thread ends once that is through
        hangs = self._run.hangs or ("" if self._wait_slice(0) else "its dataset to be opened")
        if hangs:
            _warn(f"the end of stream `{self._name}` did not wait for {hangs}")

    def _wait_slice(self, at_most_ms: int) -> bool:
        is_over = self._run.wait_ended(at_most_ms)
        if is_over and self._readers is not None:
            self._readers.close()
        return is_over


def _warn(text: str) -> None:
    warnings.warn(f"batchcast: {text}.", RuntimeWarning, stacklevel=4)


class _Looping:
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
        except Exception as error:
            self.fail(error)
        except BaseException as error:  # Ctrl-C, above all
            self.error = error  # before `ended`: wait() raises it
            self.stream.stop("its producer was interrupted")
            raise
        finally:
            with self._using:
                self.stream.close()
            self.ended.set()

    def fail(self, error: Exception) -> None:
        """Trainers are told of it."""
        self.error = error
        if not self.stream.over:
            self.stream.fail(f"{_items.reason(error)} ({self._place()})")

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
        if not self._using.acquire(timeout=_PATIENCE_S):
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


class _LoaderServing(Serving):
    """What a loader gives, copied into the ring by one thread."""

    def __init__(self, name: str, stream: BatchStream, looping: _Looping) -> None:
        self._stream = stream
        self._looping = looping
        super().__init__(name)

    def begin(self) -> None:
        threading.Thread(
            target=_work_in_thread,
            args=(self._looping,),
            name=f"bc-serve {self._name}",
            daemon=True,
        ).start()

    def work(self) -> None:
        self._looping.work()

    @property
    def directory(self) -> str:
        return self._stream.directory

    @property
    def running(self) -> bool:
        return not self._looping.ended.is_set()

    @property
    def error(self) -> BaseException | None:
        return self._looping.error

    @property
    def stats(self) -> dict[str, Any]:
        return self._stream.stats()

    def _stop(self, reason: str) -> None:
        self._stream.stop(reason)
        if self._looping.ended.wait(_PATIENCE_S):
            return
        left = "" if self._looping.leave() else ". Its files are there until that goes on"
        _warn(
            f"the end of stream `{self._name}` did not wait for its loader, which is "
            f"{self._looping.place_now()}{left}"
        )

    def _wait_slice(self, at_most_ms: int) -> bool:
        return self._looping.ended.wait(at_most_ms / 1000)


def _work_in_thread(looping: _Looping) -> None:
    with contextlib.suppress(BaseException):  # such as SystemExit: wait() raises it
        looping.work()


def _is_torch_iterable(source: object) -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and isinstance(source, data.IterableDataset)


def _is_indexed(source: object) -> bool:
    kind = type(source)
    return (
        hasattr(kind, "__getitem__")
        and hasattr(kind, "__len__")
        and not isinstance(source, Mapping)
    )


def _name_of(source: object) -> str:
    name = getattr(source, "name", None)
    return name if isinstance(name, str) and name else type(source).__name__


def _check_servable(source: object) -> None:
    if isinstance(source, type):
        raise InvalidArgument(
            f"batchcast: {source.__name__} is a class. Serve an object of it, "
            f"{source.__name__}(…)."
        )
    if isinstance(source, Mapping):
        raise InvalidArgument(
            "batchcast: a mapping is no dataset. Serve a torch TensorDataset of its arrays, or any "
            "object with __len__ and __getitem__ that gives one sample by its number."
        )
    if not _is_indexed(source) and not hasattr(source, "__iter__"):
        raise InvalidArgument(
            f"batchcast: {_items.a_kind_of(source)} cannot be served. Give serve() the text of a "
            "source (`imagefolder:DIR`), an object with __len__ and __getitem__, or a loader that "
            "can be gone through with `for`."
        )


def _fingerprint_of(source: object, name: str) -> str | int | None:
    told = _items.fingerprint_of(source, name)
    if told is None:
        return None
    if isinstance(told, bool) or not isinstance(told, str | numbers.Integral) or told == "":
        raise InvalidArgument(
            f"batchcast: fingerprint() of the {name} gives {_shortly(told)}. It is to give a text "
            "or a whole number that is another one for other samples, such as a hexdigest() of "
            "what they are made of; None: the stream is not pure."
        )
    return _items.shown(told) if isinstance(told, str) else int(told)


def _shortly(value: object) -> str:
    if value is None or isinstance(value, bool | int | float | str):
        return _items.shown(repr(value))[:80]
    return f"a {type(value).__qualname__}"


def _python_source(
    source: Any, fields: Sequence[str] | None, tries: int, has_recipe: bool
) -> tuple[PythonSource, bool]:
    """The source for C++, and whether it says what it consists of."""
    name = _name_of(source)
    size = _items.size_of(source, name)
    if size == 0:
        raise InvalidArgument(f"batchcast: the {name} is empty. There is nothing to serve.")
    for index in range(min(size, tries)):
        try:
            item = source[index]
            parts = _items.parts_of(item, fields)
            break
        except Exception as error:
            if index + 1 < min(size, tries):
                continue
            kind = InvalidArgument if isinstance(error, _items.Unservable) else BadSample
            raise kind(
                f"batchcast: sample {index} of the {name}: {_items.reason(error)}."
            ) from error
    if not has_recipe:
        try:
            _items.refuse_bytes(item, parts, fields)
        except _items.Unservable as error:
            raise InvalidArgument(f"batchcast: sample {index} of the {name}: {error}") from None
    told = _fingerprint_of(source, name)
    is_pure = told is not None
    specs = [part.spec for part in parts]
    text = f"{size} {specs} {told if is_pure else uuid.uuid4()}"
    classes = _items.class_names_of(source, name)
    keys = [part.key for part in parts]
    return PythonSource(source, size, specs, keys, name, text, classes), is_pure


_FLAGS = {"free_running", "finish_on_gpu", "verbose"}
_LISTS = {"place", "host_field", "allow_uid"}


def _argument(name: str, value: object) -> str:
    """A text or number, as the command takes it."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not is_number and not isinstance(value, str):
        raise InvalidArgument(
            f"batchcast: {name} is {_shortly(value)}, and is to be a text or number."
        )
    text = str(value)
    if not text.strip() or text != _items.shown(text):
        why = "has bytes that no option can have" if text.strip() else "says nothing"
        raise InvalidArgument(f"batchcast: {name} is {_shortly(value)}, which {why}.")
    return text


def _arguments(source: str, stream: str, options: Mapping[str, Any]) -> list[str]:
    """What the command `batchcast serve` would be given."""
    arguments = [f"--stream={_argument('stream', stream)}"]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None:
            continue
        if name in _FLAGS:
            if not isinstance(value, bool | np.bool_):
                raise InvalidArgument(f"batchcast: {name} is {_shortly(value)}: True or False.")
            arguments += [option] if value else []
        elif name in _LISTS and isinstance(value, Iterable) and not isinstance(value, str):
            arguments += [f"{option}={_argument(name, one)}" for one in value]
        else:
            arguments.append(f"{option}={_argument(name, value)}")
    return [*arguments, "--", source]


# What only goes with samples that are made one by one.
_DATASET_OPTIONS = (
    "recipe", "seed", "shard", "order", "on_bad_sample", "max_bad", "bad_list", "finish_on_gpu",
    "dtype", "samples", "workers",
)  # fmt: skip


def refuse_dataset_options(options: dict[str, Any]) -> None:
    """Takes what only goes with samples made one by one out of `options`; all are to be None."""
    given = [name for name in _DATASET_OPTIONS if options.pop(name, None) is not None]
    if given:
        raise InvalidArgument(
            f"batchcast: {', '.join(given)}: not for a loader, which makes its batches itself. "
            "Serve its dataset instead, an object with __len__ and __getitem__."
        )


def _serve_loader(
    source: Any,
    what: str,
    stream: str,
    options: dict[str, Any],
    *,
    fields: Sequence[str] | None,
    batched: bool,
    epochs: int | None,
    directory: str,
    talks: bool,
) -> _LoaderServing:
    refuse_dataset_options(options)
    once = iter(source) is source if not hasattr(type(source), "__len__") else False
    if once and epochs is None:
        epochs = 1
    if once and epochs != 1:
        raise InvalidArgument(
            f"batchcast: a {what} can be gone through only once. Serve it with epochs=1, or an "
            "object whose __iter__ begins anew."
        )
    batches = BatchStream(_arguments(what, stream, options), directory, what, talks)
    looping = _Looping(batches, source, what, fields=fields, batched=batched, epochs=epochs or 0)
    return _LoaderServing(stream, batches, looping)


@checks_names
def serve(
    source: Any,
    *,
    stream: str,
    recipe: str | os.PathLike[str] | None = None,
    epochs: int | None = None,
    memory: int | str = "256MiB",
    background: bool = False,
    fields: Sequence[str] | None = None,
    batched: bool | None = None,
    processes: int = 0,
    seed: int | None = None,
    shard: str | None = None,
    order: str | None = None,
    workers: int | str | None = None,
    on_bad_sample: str | None = None,
    max_bad: int | None = None,
    bad_list: str | os.PathLike[str] | None = None,
    wait_for: int = 0,
    idle_exit: float | None = None,
    linger: float | None = None,
    ahead: int = 2,
    free_running: bool = False,
    max_consumers: int = 64,
    on_stall: str = "report",
    stall_timeout: float = 60,
    place: Sequence[str] = (),
    device_memory: int | str | None = None,
    host_field: Sequence[str] = (),
    finish_on_gpu: bool | None = None,
    huge_pages: str = "auto",
    allow_uid: Sequence[int] = (),
    dtype: str | None = None,
    samples: int | None = None,
    directory: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    verbose: bool = False,
) -> Serving:
    """Serves `source` as a stream that any number of trainers attach to by its name.

    `source` is one of

    - a text, `imagefolder:DIR`, `webdataset:a-{000..099}.tar`, …: what `batchcast serve` takes;
    - a dataset: an object with `__len__` and `__getitem__` whose samples are dicts, tuples or
      single values of bytes, arrays, tensors and numbers. C++ threads read it, in an order of each
      epoch's own, and do what `recipe` says. With a method `fingerprint()` the stream is pure;
    - a loader: a torch DataLoader, or anything that `for` goes through and that gives batches. Each
      pass is an epoch. Generators are gone through once. `batched=False`: it gives samples.

    `processes` forks so many processes that read a dataset, for one whose own Python code takes
    long; 0: threads of this process read it.

    `fields` says how the values of a tuple are called (by default `data` for one, `image` and
    `label` for two, else `field0`, `field1`, …), and which keys of a dict are served. Numbers
    become i64, f64 and bool, as torch's default_collate has them.

    The other options are those of the command `batchcast serve`, by their names; times are in
    seconds. `epochs` None or 0: until it is stopped.

    Blocks until the epochs are made and trainers have them, with a line of progress on stderr;
    Ctrl-C stops the stream and raises KeyboardInterrupt. With `background=True` it returns once a
    dataset is opened; the handle's `stop()`, or the end of the process, ends the stream.
    """
    options: dict[str, Any] = {
        "recipe": None if recipe is None else os.fspath(recipe),
        "memory": memory, "seed": seed, "shard": shard, "order": order, "workers": workers,
        "on_bad_sample": on_bad_sample, "max_bad": max_bad,
        "bad_list": None if bad_list is None else os.fspath(bad_list),
        "wait_for": wait_for, "idle_exit": idle_exit, "linger": -1 if linger is None else linger,
        "ahead": ahead, "free_running": free_running, "max_consumers": max_consumers,
        "on_stall": on_stall, "stall_timeout": stall_timeout, "place": place,
        "device_memory": device_memory, "host_field": host_field, "finish_on_gpu": finish_on_gpu,
        "huge_pages": huge_pages, "allow_uid": allow_uid, "dtype": dtype, "samples": samples,
        "verbose": verbose,
    }  # fmt: skip
    return serve_as(
        None, source, stream, options, epochs=epochs, background=background, fields=fields,
        batched=batched, processes=processes, directory=directory, progress=progress,
    )  # fmt: skip


def serve_as(
    location: str | None,
    source: Any,
    stream: str,
    options: dict[str, Any],
    *,
    epochs: int | None,
    background: bool,
    fields: Sequence[str] | None = None,
    batched: bool | None = None,
    processes: int = 0,
    directory: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
) -> Serving:
    """`serve`, of a source that trainers know as `location`, a text that says where it is."""
    if not isinstance(stream, str):
        raise InvalidArgument(
            f"batchcast: stream is {_items.a_kind_of(stream)}; it is a name, such as \"train\"."
        )
    if isinstance(fields, str):
        raise InvalidArgument(f'batchcast: fields is a list of names, such as ("{fields}",).')
    _check_count("epochs", epochs)
    _check_count("processes", processes)
    if epochs is not None and epochs < 0:
        raise InvalidArgument(f"batchcast: epochs is {epochs}; 0 or None is: until it is stopped.")
    talks = progress if progress is not None else not background
    files = "" if directory is None else os.fspath(directory)
    if isinstance(source, str | os.PathLike):
        if fields is not None or batched is not None or processes != 0:
            raise InvalidArgument(
                "batchcast: fields, batched and processes are for datasets of Python's own."
            )
        arguments = _arguments(os.fspath(source), stream, {**options, "epochs": epochs})
        return _wait_for(
            lambda: _DatasetServing(stream, arguments, None, files, talks=talks, pure=True),
            background,
        )
    _check_servable(source)
    if batched is None:
        batched = not _is_torch_iterable(source)
        is_dataset = _is_indexed(source) and batched
    else:
        is_dataset = _is_indexed(source) and not batched
    if not is_dataset:
        if processes != 0:
            raise InvalidArgument(
                "batchcast: processes: not for a loader, which has workers itself."
            )
        serving = _serve_loader(
            source, location or _name_of(source), stream, options, fields=fields,
            batched=batched, epochs=epochs, directory=files, talks=talks,
        )  # fmt: skip
        if background:
            serving.begin()
            return serving
        serving.work()
        if serving.error is not None:
            raise serving.error
        return serving
    readers = None
    if processes != 0:
        source = readers = Readers(source, processes)
    tries = 100 if options.get("on_bad_sample") == "substitute" else 1
    has_recipe = options.get("recipe") is not None
    python_source, pure = _python_source(source, fields, tries, has_recipe)
    location = location or f"python:{_name_of(source)}"
    arguments = _arguments(location, stream, {**options, "epochs": epochs})
    return _wait_for(
        lambda: _DatasetServing(
            stream, arguments, python_source, files, talks=talks, pure=pure, readers=readers
        ),
        background,
    )


def _check_count(name: str, value: object) -> None:
    is_count = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if value is not None and not is_count:
        raise InvalidArgument(
            f"batchcast: {name} is {_shortly(value)}, and is to be a whole number."
        )


def _wait_for(begin: Callable[[], Serving], background: bool) -> Serving:
    serving = begin()
    if background:
        return serving
    try:
        serving.wait()
    except Error:
        raise
    except BaseException:  # Ctrl-C, above all
        serving.stop("its producer was interrupted")
        raise
    return serving
