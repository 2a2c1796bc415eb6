# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Images in Parquet files."""

from __future__ import annotations

import collections
import contextlib
import functools
import glob
import hashlib
import inspect
import json
import os
import threading
from collections.abc import Iterable
from typing import Any

from .._names import checks_names
from ..errors import BadDataset, BadSample, InvalidArgument
from ._apart import Crashed, Tick, apart
from ._columns import (
    Read,
    Rows,
    Wanted,
    checked,
    class_names_of,
    is_path,
    label_form,
    named_files,
)
from ._files import Watched, check_regular
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
    if not found:
        raise BadDataset("batchcast: sources.Parquet: the list of files is empty.")
    return found


def _footer(path: str) -> bytes:
    """What a file says about its columns, chunks and statistics, and how large it is."""
    with open(path, "rb") as file:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - 8))
        length = int.from_bytes(file.read(4), "little")
        file.seek(max(0, end - 8 - length))
        return end.to_bytes(8, "little") + file.read()


class _Cache:
    """Row groups that were read: the last ones used, up to a number of bytes."""

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
    `path`; `label` is one of numbers. None leaves one out.

    A whole row group is read when a sample of it is asked for. The last ones used are kept, up to
    `cache` bytes. Where the files are larger than that, use a recipe's `order = "blocks"`, which
    takes neighbours together: otherwise most samples read a row group again.
    """

    @checks_names
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
        self._watched: list[Watched] = []
        self._check_footers()
        self._opened = [self._open(path) for path in self.files]
        self._check_same_labels(label)
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
        if len(self._rows) == 0:
            raise BadDataset(f"batchcast: {_all(self.files)} no rows.")
        try:
            self._digest = self._digest_of(image, label)
        except BadSample as error:
            raise BadDataset(f"batchcast: {error}.") from error
        except Exception as error:  # of what the footers say of chunks
            raise BadDataset(
                f"batchcast: what {self.files[0]} and the files after it say of their columns cannot "
                f"be read: {_shortly(error)}. Write the damaged one again."
            ) from error

    def _digest_of(self, image: str | None, label: str | None) -> str:
        digest = hashlib.sha256()
        for path in self.files:
            digest.update(_footer(path))
        if label is not None:
            for number in range(len(self._groups)):
                digest.update(_bytes_of(self._table(number, [label]).column(label)))
        if image is not None:
            for number in range(len(self._groups)):
                for told in named_files(self._paths(number, image)):
                    digest.update(told)
        return digest.hexdigest()

    def _check_footers(self) -> None:
        """Checks the footers apart: Arrow ends the process for some that are damaged."""
        for path in self.files:
            check_regular(path)
        try:
            apart(functools.partial(self._look_at_footers, self.files))
        except Crashed:
            for path in self.files:
                try:
                    apart(functools.partial(self._look_at_footers, [path]))
                except Crashed as how:
                    raise BadDataset(
                        f"batchcast: {path} is damaged: Arrow cannot look at its footer ({how}). Write "
                        "it again."
                    ) from None

    def _look_at_footers(self, paths: list[str], tick: Tick) -> None:
        for path in paths:
            with contextlib.suppress(Exception):  # said when it is opened
                told = self._parquet.ParquetFile(path).metadata
                for group in range(told.num_row_groups):
                    tick()
                    chunks = told.row_group(group)
                    for column in range(chunks.num_columns):
                        repr(chunks.column(column))

    def _open(self, path: str) -> Any:
        """Opens without a map: looking at the map of a file that is cut short ends the process."""
        self._watched.append(Watched(path))
        kind = self._parquet.ParquetFile
        options = {"memory_map": False, "page_checksum_verification": True}  # where it has sums
        taken = inspect.signature(kind).parameters
        try:
            opened = kind(path, **{name: options[name] for name in options if name in taken})
            rows = [
                opened.metadata.row_group(group).num_rows
                for group in range(opened.metadata.num_row_groups)
            ]
            if min(rows, default=0) < 0 or sum(rows) != opened.metadata.num_rows:
                raise ValueError(f"its row groups have {sum(rows)} rows, and the file says "
                                 f"{opened.metadata.num_rows}")  # fmt: skip
            self._wanted.check(opened.schema_arrow, path)
        except InvalidArgument:
            raise
        except OSError as error:  # pyarrow's errors of files are of it, too
            raise BadDataset(f"batchcast: {path}: {error}") from error
        except Exception as error:  # pyarrow's have no one base
            raise BadDataset(f"batchcast: {path} is no Parquet file: {_shortly(error)}") from error
        return opened

    def _check_same_labels(self, label: str | None) -> None:
        if label is None or not self._opened:
            return
        kinds = [opened.schema_arrow.field(label).type for opened in self._opened]
        for path, kind in zip(self.files, kinds):
            if label_form(kind) != label_form(kinds[0]):
                raise InvalidArgument(
                    f"batchcast: column `{label}` is {kinds[0]} in {self.files[0]} and {kind} in "
                    f"{path}. All samples of a stream have one dtype: write one of them again."
                )

    def _table(self, number: int, columns: list[str]) -> Any:
        """The table of a row group. Raises BadSample."""
        file, group = self._groups[number]
        self._watched[file].check()
        try:
            table = self._read_columns(file, group, columns)
            rows = self._opened[file].metadata.row_group(group).num_rows
            if table.num_rows != rows:
                raise ValueError(f"it has {table.num_rows} rows, and the file says {rows}")
        except Exception as error:  # pyarrow's have no one base
            self._watched[file].check()
            raise BadSample(
                f"row group {group} of {self.files[file]} cannot be read: {_shortly(error)}. "
                "If the file is damaged, write it again"
            ) from error
        self._watched[file].check()
        return table

    def _read_columns(self, file: int, group: int, columns: list[str]) -> Any:
        """Reads without Arrow's threads, which a forked process does not have."""
        opened = self._opened[file]
        try:
            return opened.read_row_group(group, columns=columns, use_threads=False)
        except NotImplementedError:  # structs with more than 2 GiB of bytes: only in pieces
            pieces = opened.iter_batches(
                batch_size=256, row_groups=[group], columns=columns, use_threads=False
            )
            return needed("pyarrow", "Parquet").Table.from_batches(pieces)

    def _paths(self, number: int, column: str) -> Iterable[str | None]:
        """The paths of a row group's images that have no bytes. It does not read the bytes."""
        file, group = self._groups[number]
        opened = self._opened[file]
        if is_path(opened.schema_arrow.field(column).type):
            paths: list[str | None] = self._table(number, [column]).column(column).to_pylist()
            return paths
        told = opened.metadata.row_group(group)
        chunks = {told.column(i).path_in_schema: told.column(i) for i in range(told.num_columns)}
        if f"{column}.path" not in chunks:
            return ()
        statistics = chunks[f"{column}.bytes"].statistics
        if statistics is not None and statistics.has_null_count and statistics.null_count == 0:
            return ()
        # Some rows have paths, or the statistics do not say. A path beside bytes changes nothing
        # where it names no file.
        table = self._table(number, [f"{column}.path"])
        named = (row and row["path"] for row in table.column(column).to_pylist())
        return [path for path in named if path is not None and os.path.exists(path)]

    def _features(self) -> Any:
        """What `datasets` has written beside the columns."""
        told = (self._opened[0].schema_arrow.metadata or {}).get(b"huggingface", b"{}")
        try:
            return json.loads(told)["info"]["features"]
        except (ValueError, LookupError, TypeError):
            return None

    def _read_group(self, number: int) -> tuple[dict[str, Read], int]:
        file, _ = self._groups[number]
        if self._pid != os.getpid():
            self._locks = [threading.Lock() for _ in self._opened]
            self._pid = os.getpid()
        with self._locks[file]:
            table = self._table(number, list(dict.fromkeys(self._wanted.columns.values())))
        return self._wanted.readers(table.column), table.nbytes

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> dict[str, Any]:
        group, place = self._rows.place_of(checked(index, len(self._rows)))
        readers = self._cache.get(group, self._read_group)
        return {part: read(place) for part, read in readers.items()}

    def name_of(self, index: int) -> str:
        """The file, and the place in it, for messages."""
        group, place = self._rows.place_of(index)
        file, within = self._groups[group]
        return f"{self.files[file]}, row {place} of row group {within}"

    def fingerprint(self) -> str:
        """The fingerprint of what the files say about themselves (sizes, columns, chunks and
        statistics). It includes the labels, whose change a footer need not show. For files that
        rows only name, it also includes the paths, sizes and times of change."""
        return f"parquet {self._digest} {sorted(self._wanted.columns.items())}"


def _bytes_of(labels: Any) -> bytes:
    numbers = labels.to_numpy()
    is_plain = labels.null_count == 0 and numbers.dtype.kind in "biuf"
    return numbers.tobytes() if is_plain else repr(labels.to_pylist()).encode()


def _all(files: list[str]) -> str:
    others = f", and the {len(files) - 1} files after it, have" if len(files) > 1 else " has"
    return files[0] + others


def _shortly(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).rstrip('.')}"
