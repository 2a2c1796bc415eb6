# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Images in Parquet files."""

from __future__ import annotations

import collections
import glob
import hashlib
import json
import os
import threading
from collections.abc import Iterable
from typing import Any

from ..errors import BadDataset, InvalidArgument
from ._columns import Read, Rows, Wanted, checked, class_names_of, named_files
from ._packages import needed

_UNITS = {"KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}


def _bytes_in(text: int | str) -> int:
    if isinstance(text, int):
        return text
    number, unit = text[:-3], text[-3:]
    if unit not in _UNITS or not number.isdigit():
        raise InvalidArgument(f'batchcast: cache is "{text}"; write it as in "1GiB", or in bytes.')
    return int(number) * _UNITS[unit]


def _files(files: Any) -> list[str]:
    given = [files] if isinstance(files, str | os.PathLike) else list(files)
    found: list[str] = []
    for one in [str(os.fspath(file)) for file in given]:
        if os.path.isdir(one):
            inside = sorted(glob.glob(os.path.join(glob.escape(one), "*.parquet")))
        elif glob.has_magic(one) and not os.path.exists(one):
            inside = sorted(glob.glob(one))
        else:
            inside = [one]
        if not inside:
            raise BadDataset(f"batchcast: no Parquet file is at `{one}`")
        found += inside
    return found


def _footer(path: str) -> bytes:
    """What a file says of its columns, chunks and statistics, and how large it is."""
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 8))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(0, end - 8 - length))
        return end.to_bytes(8, "little") + file.read()


class _Cache:
    """Row groups that were read, the last ones used, up to a number of bytes."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._start()

    def _start(self) -> None:
        self._mutex = threading.Lock()
        self._reading: dict[int, threading.Lock] = {}
        self._held: collections.OrderedDict[int, tuple[dict[str, Read], int]] = (
            collections.OrderedDict()
        )
        self._bytes = 0
        self._pid = os.getpid()

    def get(self, group: int, read: Any) -> dict[str, Read]:
        if self._pid != os.getpid():
            self._start()  # of a forked reader: locks may have been held
        with self._mutex:
            own = self._reading.setdefault(group, threading.Lock())
        with own:  # two threads do not read the same
            with self._mutex:
                if group in self._held:
                    self._held.move_to_end(group)
                    return self._held[group][0]
            readers, size = read(group)
            with self._mutex:
                self._held[group] = readers, size
                self._bytes += size
                while self._bytes > self._bytes_max and len(self._held) > 1:
                    self._bytes -= self._held.popitem(last=False)[1][1]
        return readers  # type: ignore[no-any-return]


class Parquet:
    """Images in Parquet files: as `datasets` writes them, or any column of bytes beside a label.

        bc.serve(bc.sources.Parquet("train-*.parquet"), recipe="imagenet-train", stream="train")

    `files` is a file, a pattern, a folder, or several of them; the samples are in the order of the
    files and of their rows. `image` is a column of bytes (`binary`), or of structs with `bytes` and
    `path`; `label` one of numbers. None leaves one out.

    Whole row groups are read, when a sample of them is asked for, and the last ones used are kept,
    up to `cache` bytes. Where the files are larger than that, a recipe's `order = "blocks"` takes
    neighbours together: otherwise most samples read a row group again.
    """

    def __init__(
        self,
        files: Any,
        image: str | None = "image",
        label: str | None = "label",
        *,
        cache: int | str = "1GiB",
    ) -> None:
        self._parquet = needed("pyarrow.parquet", "Parquet")
        self._wanted = Wanted("Parquet", image, label)
        self.files = _files(files)
        self.name = "Parquet"
        self._opened = [self._open(path) for path in self.files]
        groups = [
            (file, group)
            for file, opened in enumerate(self._opened)
            for group in range(opened.metadata.num_row_groups)
        ]
        self._groups = groups
        self._rows = Rows([self._opened[f].metadata.row_group(g).num_rows for f, g in groups])
        self._cache = _Cache(_bytes_in(cache))
        self._locks = [threading.Lock() for _ in self._opened]
        self._pid = os.getpid()
        self.class_names = class_names_of(self._features(), label)
        digest = hashlib.sha256()
        for path in self.files:
            digest.update(_footer(path))
        if label is not None:
            for file, group in groups:
                digest.update(self._labels(file, group, label))
        if image is not None:
            for file, group in groups:
                for told in named_files(self._paths(file, group, image)):
                    digest.update(told)
        self._digest = digest.hexdigest()

    def _open(self, path: str) -> Any:
        try:
            opened = self._parquet.ParquetFile(path, memory_map=True)
        except OSError as error:  # pyarrow's errors of files are of it, too
            raise BadDataset(f"batchcast: {path}: {error}") from error
        except ValueError as error:
            raise BadDataset(f"batchcast: {path} is no Parquet file: {error}") from error
        self._wanted.check(opened.schema_arrow, path)
        return opened

    def _labels(self, file: int, group: int, column: str) -> bytes:
        try:
            table = self._opened[file].read_row_group(group, columns=[column], use_threads=False)
        except OSError as error:
            raise BadDataset(f"batchcast: {self.files[file]}: {error}") from error
        labels = table.column(column)
        numbers = labels.to_numpy()
        is_plain = labels.null_count == 0 and numbers.dtype.kind in "biuf"
        return numbers.tobytes() if is_plain else repr(labels.to_pylist()).encode()

    def _paths(self, file: int, group: int, column: str) -> Iterable[str | None]:
        """Of a row group's images, those that only have a path. Their bytes are not read."""
        opened = self._opened[file]
        kind = opened.schema_arrow.field(column).type
        if str(kind) == "string":
            table = opened.read_row_group(group, columns=[column], use_threads=False)
            return table.column(column).to_pylist()  # type: ignore[no-any-return]
        told = opened.metadata.row_group(group)
        chunks = {told.column(i).path_in_schema: told.column(i) for i in range(told.num_columns)}
        if f"{column}.path" not in chunks:
            return ()
        statistics = chunks[f"{column}.bytes"].statistics
        if statistics is not None and statistics.has_null_count and statistics.null_count == 0:
            return ()
        # Some rows, or the statistics do not say. A path beside bytes changes nothing where it names no file.
        table = opened.read_row_group(group, columns=[f"{column}.path"], use_threads=False)
        paths = (row and row["path"] for row in table.column(column).to_pylist())
        return [path for path in paths if path is not None and os.path.exists(path)]

    def _features(self) -> Any:
        """What `datasets` has written beside the columns."""
        told = (self._opened[0].schema_arrow.metadata or {}).get(b"huggingface", b"{}")
        try:
            return json.loads(told).get("info", {}).get("features")
        except ValueError:
            return None

    def _read_group(self, number: int) -> tuple[dict[str, Read], int]:
        file, group = self._groups[number]
        if self._pid != os.getpid():
            self._locks = [threading.Lock() for _ in self._opened]
            self._pid = os.getpid()
        with self._locks[file]:
            columns = list(dict.fromkeys(self._wanted.columns.values()))
            # Without Arrow's threads, of which a forked process has none.
            table = self._opened[file].read_row_group(group, columns=columns, use_threads=False)
        chunks = {name: _one_chunk(table.column(name)) for name in columns}
        return self._wanted.readers(chunks.__getitem__), table.nbytes

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        group, place = self._rows.place_of(checked(index, len(self._rows)))
        readers = self._cache.get(group, self._read_group)
        return {part: read(place) for part, read in readers.items()}

    def name_of(self, index: int) -> str:
        """For messages: the file, and where in it."""
        group, place = self._rows.place_of(index)
        file, within = self._groups[group]
        return f"{self.files[file]}, row {place} of row group {within}"

    def fingerprint(self) -> str:
        """Of what the files say of themselves (sizes, columns, chunks and statistics), and of the
        labels, whose change a footer need not show; of files that rows only name, the paths, sizes
        and times of change."""
        return f"parquet {self._digest} {sorted(self._wanted.columns.items())}"


def _one_chunk(column: Any) -> Any:
    chunks: Iterable[Any] = column.chunks
    whole = list(chunks)
    return whole[0] if len(whole) == 1 else column.combine_chunks()
