# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Datasets of Hugging Face's library."""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
from typing import Any

import numpy as np

from .._names import checks_names
from ..errors import BadDataset, Error, InvalidArgument
from ._columns import Rows, Wanted, checked, class_names_of, named_files, paths_without_bytes
from ._files import Maps, Watched, check_all, check_regular
from ._packages import needed


def _loaded(place: str, split: str | None, where: str) -> Any:
    datasets = needed("datasets", "HuggingFace")
    try:
        return _load(datasets, place, split, where)
    except (Error, ImportError):
        raise
    except Exception as error:  # of datasets, its builders, Arrow and the Hub
        raise BadDataset(
            f"batchcast: {where} cannot be loaded by datasets: {type(error).__name__}: {error}"
        ) from error


def _check_saved(place: str) -> None:
    """Refuses a pipe: Arrow would wait for its other end, and hear no Ctrl-C."""
    for folder, _, names in os.walk(place):
        for path in (os.path.join(folder, name) for name in names):
            if path.endswith((".arrow", ".json")) and os.path.exists(path):
                check_regular(path)


def _load(datasets: Any, place: str, split: str | None, where: str) -> Any:
    for saved in ("state.json", "dataset_dict.json"):
        if os.path.isfile(os.path.join(place, saved)):
            _check_saved(place)
            return _one_split(datasets.load_from_disk(place), split, where)
    if not os.path.exists(place):  # a misspelt one would only show as errors of the network
        with contextlib.suppress(OSError, ValueError, AttributeError):  # stderr may be closed
            print(f"batchcast: no folder {where} here: asking the Hub", file=sys.stderr, flush=True)
    loaded = datasets.load_dataset(place, split=split)
    return loaded if split is not None else _one_split(loaded, split, where)


def _one_split(dataset: Any, split: str | None, where: str) -> Any:
    if not hasattr(dataset, "keys"):
        own = getattr(dataset, "split", None)
        if split is not None and str(own) != split:
            raise InvalidArgument(
                f"batchcast: {where} is one dataset, "
                + ("of no split's name" if own is None else f"the split `{own}`")
                + f", and not `{split}`. Leave split out to serve it."
            )
        return dataset
    there = ", ".join(f"`{name}`" for name in dataset)
    if split is None and len(dataset) == 1:
        split = next(iter(dataset))
    if split not in dataset:
        asked = "" if split is None else f", no `{split}`"
        raise InvalidArgument(
            f"batchcast: {where} has the splits {there}{asked}. Say which: "
            'sources.HuggingFace(…, split="train"), or `huggingface:…?split=train`.'
        )
    return dataset[split]


def _check(dataset: Any, where: str) -> None:
    if not hasattr(dataset, "data") or not hasattr(dataset, "features"):
        raise InvalidArgument(
            f"batchcast: {where} is of the type {type(dataset).__name__}, whose rows cannot be read by "
            "their number. Load the dataset without streaming, or serve it as a loader: "
            "bc.serve(dataset.batch(64), …)."
        )
    if dataset.format["type"] == "custom":
        raise InvalidArgument(
            f"batchcast: {where} has a transform (set_transform), which is not run: C++ decodes and "
            "augments. Write it as a recipe, and serve dataset.with_format(None)."
        )


def _addresses(columns: Any) -> list[int]:
    """Where the memory of arrays begins. Empty parts have no meaningful address."""
    buffers = [one for column in columns for one in column.buffers()]
    return [one.address for one in buffers if one is not None and one.size > 0]


def _check_batches(cut: Any, files: list[tuple[Watched, ...]], where: str) -> None:
    """Checks offsets, since Arrow follows them: damaged ones crash it. It reads no images."""
    begin = 0
    for batch, of_batch in zip(cut, files):
        try:
            batch.validate(full=True)
        except Exception as error:  # pyarrow's have no one base
            inside = f" ({', '.join(one.path for one in of_batch)})" if of_batch else ""
            raise BadDataset(
                f"batchcast: rows {begin} to {begin + len(batch) - 1} of {where}{inside} are damaged: "
                f"{error}. Write it again."
            ) from error
        check_all(of_batch)
        begin += len(batch)


def _indices_of(dataset: Any, maps: Maps, rows: int, where: str) -> Any:
    """The order that `shuffle`, `select` or `filter` gave, copied: a cache's file may hold it."""
    if dataset._indices is None:
        return None
    column = dataset._indices.table.column(0)
    files = maps.files_at(_addresses(column.chunks))
    indices = np.array(column.to_numpy())
    check_all(files)
    if len(indices) > 0 and int(indices.max()) >= rows:
        raise BadDataset(
            f"batchcast: the order of {where} is damaged: it has the row {int(indices.max())}, and "
            f"there are {rows}. Write it again."
        )
    return indices


class HuggingFace:
    """A dataset of Hugging Face's `datasets`: images as the bytes of their files, and labels.

        bc.serve(bc.sources.HuggingFace("food101", split="train"),
                 recipe="imagenet-train", stream="food")

    `dataset` is a `datasets.Dataset`, a folder that its `save_to_disk` wrote, or what
    `load_dataset` takes: a name on the Hub, a folder of Parquet files or of images. `split` chooses
    where there are several.

    `image` and `label` name columns; None leaves one out. It decodes nothing: the bytes come
    straight out of Arrow, from mapped files too, in the order that `shuffle` or `select` gave.
    Where a row has only a path, the file is read. The label is a number or a list of numbers; names
    of a ClassLabel become the stream's. The fingerprint is that of the dataset, with the sizes and
    times of change of files that rows only name.
    """

    @checks_names
    def __init__(
        self,
        dataset: Any,
        image: str | None = "image",
        label: str | None = "label",
        *,
        split: str | None = None,
    ) -> None:
        wanted = Wanted("HuggingFace", image, label)
        where = "the dataset"
        if isinstance(dataset, str | os.PathLike):
            place = os.fspath(dataset)
            where = f"`{place}`"
            dataset = _loaded(place, split, where)
        else:
            dataset = _one_split(dataset, split, where)
        _check(dataset, where)
        table = dataset.data.table
        wanted.check(table.schema, where)
        self.dataset = dataset
        self.name = "HuggingFace"
        feature = dataset.features.get(label) if label is not None else None
        self.class_names = class_names_of({"": {"names": getattr(feature, "names", None)}}, None)
        self._columns = sorted(wanted.columns.items())
        # Columns of one table may be cut differently.
        cut = table.select(list(dict.fromkeys(wanted.columns.values()))).to_batches()
        self._rows = Rows([len(batch) for batch in cut])
        maps = Maps()
        self._files = [maps.files_at(_addresses(batch.columns)) for batch in cut]
        _check_batches(cut, self._files, where)
        self._read = [wanted.readers(batch.column) for batch in cut]
        self._told = ""
        if image is not None:
            named = (paths_without_bytes(batch.column(image)) for batch in cut)
            told = list(named_files(path for paths in named for path in paths))
            if told:
                self._told = " " + hashlib.sha256(b"".join(told)).hexdigest()
        self._indices = _indices_of(dataset, maps, len(self._rows), where)
        self._size = len(self._rows) if self._indices is None else len(self._indices)
        if self._size == 0:
            raise BadDataset(f"batchcast: {where} has no rows.")

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = checked(index, self._size)
        if self._indices is not None:
            row = int(self._indices[row])
        run, place = self._rows.place_of(row)
        check_all(self._files[run])
        try:
            return {part: read(place) for part, read in self._read[run].items()}
        finally:
            check_all(self._files[run])  # in place of what Arrow says of what it found

    def name_of(self, index: int) -> str:
        """Where the sample is, for messages."""
        return f"row {index} of the dataset"

    def fingerprint(self) -> str:
        """The dataset's fingerprint, which any change to it changes, and the columns. For files
        that rows only name, also their paths, sizes and times of change."""
        return f"huggingface {self.dataset._fingerprint} {self._columns}{self._told}"
