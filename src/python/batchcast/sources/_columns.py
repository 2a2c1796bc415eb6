# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Images and labels in columns of Arrow, as datasets, Parquet files and tables have them."""

from __future__ import annotations

import bisect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

import numpy as np

from ..errors import InvalidArgument

Read = Callable[[int], Any]


class Wanted:
    """Which columns become the parts of a sample, and what they are called."""

    def __init__(self, adapter: str, image: str | None, label: str | None) -> None:
        self.adapter = adapter
        self.columns = {
            part: column for part, column in (("image", image), ("label", label)) if column is not None
        }
        if not self.columns:
            raise InvalidArgument(f"batchcast: sources.{adapter}: image and label are both None.")

    def check(self, schema: Any, where: str) -> None:
        """Raises InvalidArgument where the Arrow schema lacks a column, or has a useless one."""
        for part, column in self.columns.items():
            if column not in schema.names:
                there = ", ".join(f"`{name}` ({schema.field(name).type})" for name in schema.names)
                raise InvalidArgument(
                    f"batchcast: {where} has no column `{column}`; it has {there}. Say which is the "
                    f'{part}: sources.{self.adapter}(…, {part}="NAME"), or {part}=None for none.'
                )
            if schema.names.count(column) > 1:
                raise InvalidArgument(
                    f"batchcast: {where} has several columns `{column}`. Give each another name."
                )
            why = _why_not(part, schema.field(column).type)
            if why:
                raise InvalidArgument(f"batchcast: column `{column}` of {where} is {why}.")

    def readers(self, column_of: Callable[[str], Any]) -> dict[str, Read]:
        """How to read a row's parts, for a run of rows. `column_of` has its columns as arrays,
        perhaps in chunks."""
        return {
            part: _reader(column_of(column), _image_reader if part == "image" else _label_reader)
            for part, column in self.columns.items()
        }


def _reader(column: Any, make: Callable[[Any], Read]) -> Read:
    chunks = getattr(column, "chunks", [column])
    reads = [make(chunk) for chunk in chunks]
    if len(reads) == 1:
        return reads[0]
    rows = Rows([len(chunk) for chunk in chunks])

    def read(row: int) -> Any:
        chunk, place = rows.place_of(row)
        return reads[chunk](place)

    return read


_TEXTS = ("string", "large_string", "string_view")
_BYTES = ("binary", "large_binary", "binary_view")


def _plain_kind(kind: Any) -> Any:
    """The type of the values of a dictionary-encoded column."""
    return kind.value_type if str(kind).startswith("dictionary<") else kind


def _has_bytes(kind: Any) -> bool:
    return str(_plain_kind(kind)) in _BYTES


def is_path(kind: Any) -> bool:
    return str(_plain_kind(kind)) in _TEXTS


def _fields_of(kind: Any) -> dict[str, Any]:
    if not str(kind).startswith("struct<"):
        return {}
    return {kind.field(i).name: kind.field(i).type for i in range(kind.num_fields)}


def _why_not(part: str, kind: Any) -> str:
    text = str(kind)
    if part == "image":
        if _has_bytes(kind) or _has_bytes(_fields_of(kind).get("bytes")) or is_path(kind):
            return ""
        return (
            f"{text}, and an image is the bytes of its file (binary, or a struct with `bytes`). "
            "Arrays are served by bc.serve itself: bc.serve(dataset.with_format('numpy'), …)"
        )
    if text in (*_TEXTS, *_BYTES):
        return f"{text}, and a label is a number: number the classes (dataset.class_encode_column)"
    if text.startswith(_NO_LABELS):
        return f"{text}, and a label is a number, or a list of them"
    return ""


_NO_LABELS = (
    "struct", "map", "dictionary", "null", "date", "time", "duration", "decimal", "interval",
    "month_", "fixed_size_binary", "extension",
)  # fmt: skip


def label_form(kind: Any) -> str:
    """What labels of a kind become: integers of any size and sign are the same."""
    text = str(kind)
    if text.startswith(("int", "uint")):
        return "int"
    return "list" if "list" in text.partition("<")[0] else text


def _image_reader(chunk: Any) -> Read:
    fields = _fields_of(chunk.type)
    if fields:
        flat = dict(zip(fields, chunk.flatten()))  # nulls of the struct are nulls of its fields
        contents, paths = flat["bytes"], flat.get("path")
    elif _has_bytes(chunk.type):
        contents, paths = chunk, None
    else:
        contents, paths = None, chunk

    def read(row: int) -> Any:
        value = None if contents is None else contents[row].as_py()
        if value is None and paths is not None:
            path = paths[row].as_py()
            return None if path is None else PurePath(path)
        return value

    return read


def named_files(paths: Iterable[str | None]) -> Iterator[bytes]:
    """The path, size and time of change of each file that a row names, for a fingerprint."""
    for path in paths:
        if path is None:
            continue
        try:
            status = os.stat(path)
        except OSError:
            told = "none"  # a bad sample
        else:
            told = f"{status.st_size} {status.st_mtime_ns}"
        yield f"{path}\0{told}\0".encode(errors="surrogateescape")


def paths_without_bytes(chunk: Any) -> Iterator[str | None]:
    """The paths in a chunk of images that have no bytes."""
    fields = _fields_of(chunk.type)
    if fields:
        flat = dict(zip(fields, chunk.flatten()))
        if "path" not in flat or flat["bytes"].null_count == 0:
            return
        has_bytes = flat["bytes"].is_valid()
        yield from (
            flat["path"][row].as_py() for row in range(len(chunk)) if not has_bytes[row].as_py()
        )
    elif not _has_bytes(chunk.type):
        yield from chunk.to_pylist()


def _label_reader(chunk: Any) -> Read:
    try:
        numbers = chunk.to_numpy(zero_copy_only=True)
    except Exception:  # booleans, lists, and where some are null
        if str(chunk.type) in ("halffloat", "float", "double"):  # as those without a null
            kind = chunk.type.to_pandas_dtype()
            return lambda row: _or_none(kind, chunk[row].as_py())
        return lambda row: _plain(chunk[row].as_py())
    if numbers.dtype.kind in "iu":
        return lambda row: int(numbers[row])
    return lambda row: numbers[row]


def _or_none(kind: Any, value: Any) -> Any:
    return None if value is None else kind(value)


def _plain(value: Any) -> Any:
    return np.asarray(value) if isinstance(value, list) else value


def class_names_of(features: Mapping[str, Any] | None, label: str | None) -> list[str]:
    """The names of a ClassLabel, as features of `datasets` in JSON have it."""
    feature = features.get(label or "") if isinstance(features, Mapping) else None
    names = feature.get("names") if isinstance(feature, Mapping) else None
    if isinstance(names, Mapping):  # as README files of the Hub have them
        if not all(str(key).isdecimal() for key in names):
            return []
        names = [names[key] for key in sorted(names, key=int)]
    return [str(name) for name in names] if isinstance(names, list | tuple) else []


class Rows:
    """Runs of rows one after another: which run has a row, and at which place."""

    def __init__(self, lengths: Sequence[int]) -> None:
        self._begins = [0]
        for length in lengths:
            self._begins.append(self._begins[-1] + length)

    def __len__(self) -> int:
        return self._begins[-1]

    def place_of(self, row: int) -> tuple[int, int]:
        run = bisect.bisect_right(self._begins, row) - 1
        return run, row - self._begins[run]


def checked(index: int, size: int) -> int:
    """A place from 0; raises IndexError beyond the end, as lists do."""
    place = index + size if index < 0 else index
    if not 0 <= place < size:
        raise IndexError(f"there is no sample {index}: there are {size}")
    return place
