# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`bc.serve`: this process is the producer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from . import _ray
from ._items import axes_by_field
from ._looping import Looping
from ._processes import Readers
from ._producer import BatchStream, ServeOptions
from ._python_source import check_servable, is_indexed, is_torch_iterable, name_of, python_source
from ._serving import AskedToEnd, DatasetServing, LoaderServing, make_way, not_asked_to_end
from ._serving import Serving as Serving
from ._text._serving import tokenized
from .errors import BadSample, Error, InvalidArgument


def serve_as(
    location: str | None,
    source: Any,
    options: ServeOptions,
    asked_to_end: AskedToEnd = not_asked_to_end,
) -> Serving:
    """`serve`, of a source that trainers know as `location`, a text that says where it is."""
    _ray.settle()
    talks = not options.background if options.progress is None else options.progress
    if isinstance(source, str | os.PathLike):
        source = tokenized(os.fspath(source), options)
    elif options.tokenizer is not None:
        raise InvalidArgument(
            "batchcast: tokenizer is of texts that a text names, such as "
            'bc.serve("jsonl:chat/*.jsonl", tokenizer=DIR, …).'
        )
    if isinstance(source, str | os.PathLike):
        is_own = options.fields is not None or options.batched is not None
        if is_own or options.processes != 0 or options.axes is not None:
            raise InvalidArgument(
                "batchcast: fields, axes, batched and processes are for datasets of Python's own."
            )
        make_way(options.stream, options.directory, options.replace)
        return _waited_for(
            DatasetServing(
                options, os.fspath(source), None, talks=talks, pure=True, asked_to_end=asked_to_end
            ),
            options.background,
        )
    check_servable(source)
    if options.batched is None:
        batched = not is_torch_iterable(source)
        is_dataset = is_indexed(source) and batched
    else:
        batched = options.batched
        is_dataset = is_indexed(source) and not batched
    own_axes = getattr(source, "axes", None)  # of a dataset: what `serve` in a shell has no word for
    axes = axes_by_field(
        own_axes if options.axes is None and isinstance(own_axes, Mapping) else options.axes
    )
    if is_dataset:
        try:
            return _serve_dataset(
                source, location or f"python:{name_of(source)}", options, talks, asked_to_end, axes
            )
        except (InvalidArgument, BadSample) as error:
            if not _decodes_images(source):
                raise
            raise type(error)(
                f"{error} This dataset decodes its images in Python; "
                "bc.sources.HuggingFace(dataset) gives a recipe their bytes."
            ) from error
    if options.processes != 0:
        raise InvalidArgument("batchcast: processes: not for a loader, which has workers itself.")
    return _serve_loader(
        source, location or name_of(source), options, batched, talks, asked_to_end, axes
    )


def _serve_dataset(
    source: Any,
    location: str,
    options: ServeOptions,
    talks: bool,
    asked_to_end: AskedToEnd,
    axes: Mapping[str, str],
) -> Serving:
    readers = None
    if options.processes != 0:
        source = readers = Readers(source, options.processes)
    try:
        tries = 100 if options.on_bad_sample == "substitute" else 1
        has_recipe = options.recipe is not None
        samples, pure = python_source(source, options.fields, tries, has_recipe, axes)
        make_way(options.stream, options.directory, options.replace)
        serving = DatasetServing(
            options, location, samples, talks=talks, pure=pure, readers=readers,
            asked_to_end=asked_to_end,
        )  # fmt: skip
    except BaseException:  # its traceback may keep them for as long as the caller keeps it
        if readers is not None:
            readers.close()
        raise
    return _waited_for(serving, options.background)


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


def refuse_dataset_options(options: ServeOptions) -> None:
    """Raises InvalidArgument for what only goes with samples made one by one."""
    if given := options.given_for_samples():
        raise InvalidArgument(
            f"batchcast: {', '.join(given)}: not for a loader, which makes its batches itself. "
            "Serve its dataset instead, an object with __len__ and __getitem__."
        )


def _serve_loader(
    source: Any,
    what: str,
    options: ServeOptions,
    batched: bool,
    talks: bool,
    asked_to_end: AskedToEnd,
    axes: Mapping[str, str],
) -> Serving:
    refuse_dataset_options(options)
    epochs = options.epochs
    once = iter(source) is source if not hasattr(type(source), "__len__") else False
    if once and epochs is None:
        epochs = 1
    if once and epochs != 1:
        raise InvalidArgument(
            f"batchcast: a {what} can be gone through only once. Serve it with epochs=1, or an "
            "object whose __iter__ begins again."
        )
    batches = BatchStream(options, what, talks)
    looping = Looping(
        batches, source, what, fields=options.fields, batched=batched, epochs=epochs or 0, axes=axes
    )
    make_way(options.stream, options.directory, options.replace)
    serving = LoaderServing(options, batches, looping)
    if options.background:
        if why := asked_to_end():
            batches.stop(why)
        serving.begin()
        return serving
    serving.work()
    if serving.error is not None:
        raise serving.error
    return serving
