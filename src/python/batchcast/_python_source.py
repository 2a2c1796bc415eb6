# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Objects that `bc.serve` is given: which of them are datasets, and how C++ reads these."""

from __future__ import annotations

import numbers
import sys
import uuid
from collections.abc import Mapping, Sequence
from typing import Any

from . import _items
from ._producer import PythonSource
from .errors import BadSample, InvalidArgument


def is_torch_iterable(source: object) -> bool:
    data = sys.modules.get("torch.utils.data")
    return data is not None and isinstance(source, data.IterableDataset)


def is_indexed(source: object) -> bool:
    """Whether a sample can be had by its number."""
    kind = type(source)
    return (
        hasattr(kind, "__getitem__")
        and hasattr(kind, "__len__")
        and not isinstance(source, Mapping)
    )


def name_of(source: object) -> str:
    name = getattr(source, "name", None)
    return name if isinstance(name, str) and name else type(source).__name__


def check_servable(source: object) -> None:
    """Raises InvalidArgument for what is neither a dataset nor a loader."""
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
    if not is_indexed(source) and not hasattr(source, "__iter__"):
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
            f"batchcast: fingerprint() of the {name} gives {_items.shortly(told)}. It is to give a text "
            "or a whole number that is another one for other samples, such as a hexdigest() of "
            "what they are made of; None: the stream is not pure."
        )
    return _items.shown(told) if isinstance(told, str) else int(told)


def python_source(
    source: Any,
    fields: Sequence[str] | None,
    tries: int,
    has_recipe: bool,
    axes: Mapping[str, str] | None = None,
) -> tuple[PythonSource, bool]:
    """The source for C++, and whether it says what it consists of. `axes` has the axis of each
    field that lies on one."""
    axes = axes or {}
    name = name_of(source)
    size = _items.size_of(source, name)
    if size == 0:
        raise InvalidArgument(f"batchcast: the {name} is empty. There is nothing to serve.")
    for index in range(min(size, tries)):
        try:
            item = source[index]
            parts = _items.parts_of(item, fields, axes)
            break
        except Exception as error:
            if index + 1 < min(size, tries):
                continue
            kind = InvalidArgument if isinstance(error, _items.Unservable) else BadSample
            raise kind(
                f"batchcast: sample {index} of the {name}: {_items.reason(error)}."
            ) from error
    if axes:
        parts = _with_rows(source, item, parts, fields, axes)
    if not has_recipe:
        try:
            _items.refuse_bytes(item, parts, fields)
        except _items.Unservable as error:
            raise InvalidArgument(f"batchcast: sample {index} of the {name}: {error}") from None
    told = _fingerprint_of(source, name)
    is_pure = told is not None
    specs = [part.spec for part in parts]
    text = f"{size} {specs} {told if is_pure else uuid.uuid4()}"
    if axes:
        text += f" {[part.axis for part in parts]}"
    classes = _items.class_names_of(source, name)
    keys = [part.key for part in parts]
    lengths = _items.lengths_of(source, list(dict.fromkeys(axes.values())), size, name)
    on_axes = [part.axis for part in parts]
    return PythonSource(
        source, size, specs, keys, name, text, classes, on_axes, lengths
    ), is_pure


def _with_rows(
    source: Any,
    item: Any,
    parts: list[_items.Part],
    fields: Sequence[str] | None,
    axes: Mapping[str, str],
) -> list[_items.Part]:
    """The parts, with dtypes and shapes of rows from the first samples that have any."""
    missing = {part.name for part in parts if not _items.says_rows(item, part)}
    for index in range(1, min(len(source), _LOOKED_AT)):
        if not missing:
            break
        try:
            other = source[index]
            found = {part.name: part for part in _items.parts_of(other, fields, axes)}
            known = {name for name in missing if _items.says_rows(other, found[name])}
        except Exception:  # it is a bad sample, where the stream comes to it
            continue
        parts = [found[part.name] if part.name in known else part for part in parts]
        missing -= known
    return parts


_LOOKED_AT = 100  # samples, for one that has rows
