# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`bc.serve`: this process is the producer."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import _items
from ._looping import Looping
from ._names import checks_names
from ._options import arguments, check_count, check_numbers, refuse_dataset_options
from ._processes import Readers
from ._producer import BatchStream
from ._python_source import check_servable, is_indexed, is_torch_iterable, name_of, python_source
from ._serving import AskedToEnd, DatasetServing, LoaderServing, make_way, not_asked_to_end
from ._serving import Serving as Serving
from .errors import BadSample, Error, InvalidArgument


@checks_names
def serve(
    source: Any,
    *,
    stream: str,
    recipe: str | os.PathLike[str] | None = None,
    epochs: int | None = None,
    memory: int | str = "256MiB",
    background: bool = False,
    replace: bool = False,
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

    `replace` stops a stream of that name which this process serves, for a notebook's cell that runs
    again. One of another process is never replaced: StreamTaken.
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
    check_numbers(options)
    return serve_as(
        None, source, stream, options, epochs=epochs, background=background, replace=replace,
        fields=fields, batched=batched, processes=processes, directory=directory, progress=progress,
    )  # fmt: skip


def serve_as(
    location: str | None,
    source: Any,
    stream: str,
    options: dict[str, Any],
    *,
    epochs: int | None,
    background: bool,
    replace: bool = False,
    fields: Sequence[str] | None = None,
    batched: bool | None = None,
    processes: int = 0,
    directory: str | os.PathLike[str] | None = None,
    progress: bool | None = None,
    asked_to_end: AskedToEnd = not_asked_to_end,
) -> Serving:
    """`serve`, of a source that trainers know as `location`, a text that says where it is."""
    if not isinstance(stream, str):
        raise InvalidArgument(
            f"batchcast: stream is {_items.a_kind_of(stream)}; it is a name, such as \"train\"."
        )
    if isinstance(fields, str):
        raise InvalidArgument(f'batchcast: fields is a list of names, such as ("{fields}",).')
    check_count("epochs", epochs)
    check_count("processes", processes)
    if epochs is not None and epochs < 0:
        raise InvalidArgument(f"batchcast: epochs is {epochs}; 0 or None is: until it is stopped.")
    talks = progress if progress is not None else not background
    files = "" if directory is None else os.fspath(directory)
    if isinstance(source, str | os.PathLike):
        if fields is not None or batched is not None or processes != 0:
            raise InvalidArgument(
                "batchcast: fields, batched and processes are for datasets of Python's own."
            )
        words = arguments(os.fspath(source), stream, {**options, "epochs": epochs})
        make_way(stream, files, replace)
        return _waited_for(
            DatasetServing(
                stream, words, None, files, talks=talks, pure=True, asked_to_end=asked_to_end
            ),
            background,
        )
    check_servable(source)
    if batched is None:
        batched = not is_torch_iterable(source)
        is_dataset = is_indexed(source) and batched
    else:
        is_dataset = is_indexed(source) and not batched
    if is_dataset:
        try:
            return _serve_dataset(
                source, location or f"python:{name_of(source)}", stream,
                {**options, "epochs": epochs}, fields=fields, processes=processes,
                directory=files, talks=talks, background=background, replace=replace,
                asked_to_end=asked_to_end,
            )  # fmt: skip
        except (InvalidArgument, BadSample) as error:
            if not _decodes_images(source):
                raise
            raise type(error)(
                f"{error} This dataset decodes its images in Python; "
                "bc.sources.HuggingFace(dataset) gives a recipe their bytes."
            ) from error
    if processes != 0:
        raise InvalidArgument("batchcast: processes: not for a loader, which has workers itself.")
    return _serve_loader(
        source, location or name_of(source), stream, options, fields=fields,
        batched=batched, epochs=epochs, directory=files, talks=talks, background=background,
        replace=replace, asked_to_end=asked_to_end,
    )  # fmt: skip


def _serve_dataset(
    source: Any,
    location: str,
    stream: str,
    options: dict[str, Any],
    *,
    fields: Sequence[str] | None,
    processes: int,
    directory: str,
    talks: bool,
    background: bool,
    replace: bool,
    asked_to_end: AskedToEnd,
) -> Serving:
    readers = None
    if processes != 0:
        source = readers = Readers(source, processes)
    try:
        tries = 100 if options.get("on_bad_sample") == "substitute" else 1
        has_recipe = options.get("recipe") is not None
        samples, pure = python_source(source, fields, tries, has_recipe)
        words = arguments(location, stream, options)
        make_way(stream, directory, replace)
        serving = DatasetServing(
            stream, words, samples, directory, talks=talks, pure=pure, readers=readers,
            asked_to_end=asked_to_end,
        )  # fmt: skip
    except BaseException:  # its traceback may keep them for as long as the caller keeps it
        if readers is not None:
            readers.close()
        raise
    return _waited_for(serving, background)


def _decodes_images(source: Any) -> bool:
    """Whether it is a dataset of Hugging Face's that gives images, and not their files' bytes."""
    if not type(source).__module__.startswith("datasets."):
        return False
    features = getattr(source, "features", None) or {}
    return any(
        type(one).__name__ == "Image" and getattr(one, "decode", False) for one in features.values()
    )


def _waited_for(serving: DatasetServing, background: bool) -> Serving:
    if background:
        serving.watch()
        return serving
    try:
        serving.wait()
    except Error:
        raise
    except BaseException:  # Ctrl-C, above all
        serving.stop("its producer was interrupted")
        raise
    return serving


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
    background: bool,
    replace: bool,
    asked_to_end: AskedToEnd,
) -> Serving:
    refuse_dataset_options(options)
    once = iter(source) is source if not hasattr(type(source), "__len__") else False
    if once and epochs is None:
        epochs = 1
    if once and epochs != 1:
        raise InvalidArgument(
            f"batchcast: a {what} can be gone through only once. Serve it with epochs=1, or an "
            "object whose __iter__ begins anew."
        )
    batches = BatchStream(arguments(what, stream, options), directory, what, talks)
    looping = Looping(batches, source, what, fields=fields, batched=batched, epochs=epochs or 0)
    make_way(stream, directory, replace)
    serving = LoaderServing(stream, directory, batches, looping)
    if background:
        if why := asked_to_end():
            batches.stop(why)
        serving.begin()
        return serving
    serving.work()
    if serving.error is not None:
        raise serving.error
    return serving
