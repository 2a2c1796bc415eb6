# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Where rows of text come from, cut into pieces that processes read apart."""

from __future__ import annotations

import glob
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..errors import BadDataset, InvalidArgument
from ..sources._hugging_face import _loaded
from ..sources._packages import needed

_PIECE_BYTES = 1 << 20
_PIECE_ROWS = 1000  # of what has row numbers, not bytes
_PACKED = {b"\x1f\x8b": "gunzip", b"\x28\xb5": "unzstd", b"PK": "unzip"}
KINDS = ("jsonl", "text", "parquet", "huggingface")
_ENDINGS = {".jsonl": "jsonl", ".json": "jsonl", ".txt": "text", ".parquet": "parquet"}


class BadRow(Exception):
    """A row that makes no document. Its text is the reason alone."""


class OtherColumns(BadRow):
    """A row of which nothing says how it becomes a document. Others of its file are like it."""


@dataclass(frozen=True)
class Piece:
    """A part of a source that one process reads: bytes of a file, or rows."""

    file: int
    begin: int
    end: int
    weight: int  # bytes, of which progress is made


@dataclass
class Row:
    place: int  # offset in the file, or row: where a message can name it
    raw: bytes  # what the division into train and test goes by
    columns: dict[str, Any] | None = None  # None: `raw` is a line of JSON


@dataclass
class Source:
    """The files of one source. `read` may be called in any process after a fork."""

    spec: str
    kind: str
    place: str
    options: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)

    @property
    def weight(self) -> int:
        return sum(piece.weight for piece in self.pieces)

    def identity(self) -> list[list[Any]]:
        """Name, size, mtime and ctime of each file."""
        told = []
        for path in self.files:
            stat = os.stat(path)
            told.append([os.path.basename(path), stat.st_size, stat.st_mtime_ns, stat.st_ctime_ns])
        return told

    def read(self, piece: Piece) -> Iterator[Row]:
        raise NotImplementedError

    def name_of(self, piece: Piece, place: int) -> str:
        """A row's file and place, for messages."""
        return f"{self.files[piece.file]}, row {place}"


def _files_in(folder: str, kind: str) -> str:
    ending = next(ending for ending, one in _ENDINGS.items() if one == kind)
    return f"`{kind}:{folder.rstrip('/')}/*{ending}`"


def _meant(spec: str) -> str:
    """The source that a path without its kind may be; empty where that is not known."""
    path = spec.partition("?")[0]
    if os.path.isdir(os.path.expanduser(path)):
        return f" Is it {_files_in(path, 'jsonl')}?"
    kind = _ENDINGS.get(os.path.splitext(path)[1])
    return "" if kind is None else f" Is it `{kind}:{spec}`?"


def _listed(spec: str, kind: str, place: str) -> list[str]:
    files: list[str] = []
    for one in place.split(","):
        path = os.path.expanduser(one)
        if os.path.isdir(path):
            raise InvalidArgument(
                f"batchcast: `{spec}`: {path} is a folder. Name its files, such as {_files_in(path, kind)}."
            )
        found = sorted(glob.glob(path)) if glob.has_magic(path) and not os.path.exists(path) else [path]
        if not found:
            raise BadDataset(f"batchcast: {path}: no file is named like that.")
        files += found
    for path in files:
        if not os.path.isfile(path):
            raise BadDataset(f"batchcast: {path}: there is no such file.")
        with open(path, "rb") as file:
            tool = _PACKED.get(file.read(2))
        if tool is not None:
            raise BadDataset(f"batchcast: {path} is compressed. Unpack it: {tool} {path}")
    return files


class _Lines(Source):
    """Each line of a file is a row."""

    def open(self) -> None:
        self.files = _listed(self.spec, self.kind, self.place)
        for number, path in enumerate(self.files):
            size = os.path.getsize(path)
            for begin in range(0, size, _PIECE_BYTES):
                end = min(size, begin + _PIECE_BYTES)
                self.pieces.append(Piece(number, begin, end, end - begin))

    def read(self, piece: Piece) -> Iterator[Row]:
        """The lines that begin in the piece."""
        with open(self.files[piece.file], "rb") as file:
            if piece.begin > 0:
                file.seek(piece.begin - 1)
                file.readline()  # the line that began before, or the line feed alone
            while (place := file.tell()) < piece.end:
                line = file.readline()
                if not line:
                    return
                if place == 0 and line.startswith(b"\xef\xbb\xbf"):
                    line = line[3:]
                line = line.rstrip(b"\r\n")
                if line.strip():
                    yield self.row_of(place, line)

    def row_of(self, place: int, line: bytes) -> Row:
        return Row(place, line)

    def name_of(self, piece: Piece, place: int) -> str:
        lines = 1
        with open(self.files[piece.file], "rb") as file:
            while place > 0 and (block := file.read(min(place, 1 << 20))):
                lines += block.count(b"\n")
                place -= len(block)
        return f"{self.files[piece.file]}, line {lines}"


class _TextLines(_Lines):
    def row_of(self, place: int, line: bytes) -> Row:
        return Row(place, line, {"text": _decoded(line)})


class _TextFiles(Source):
    """Each file is a row."""

    def open(self) -> None:
        self.files = _listed(self.spec, self.kind, self.place)
        begin = weight = 0
        for number, path in enumerate(self.files):
            weight += os.path.getsize(path)
            if weight >= _PIECE_BYTES or number + 1 == len(self.files):
                self.pieces.append(Piece(begin, begin, number + 1, weight))
                begin, weight = number + 1, 0

    def read(self, piece: Piece) -> Iterator[Row]:
        for number in range(piece.begin, piece.end):
            with open(self.files[number], "rb") as file:
                raw = file.read()
            if raw.strip():
                yield Row(number, raw, {"text": _decoded(raw)})

    def name_of(self, piece: Piece, place: int) -> str:
        return self.files[place]


class _Parquet(Source):
    def open(self) -> None:
        arrow = needed("pyarrow.parquet", "Parquet")
        self.files = _listed(self.spec, self.kind, self.place)
        for number, path in enumerate(self.files):
            try:
                told = arrow.ParquetFile(path).metadata
            except Exception as error:  # pyarrow's have no one base
                raise BadDataset(f"batchcast: {path} is no Parquet file: {error}") from error
            for group in range(told.num_row_groups):
                weight = told.row_group(group).total_byte_size
                self.pieces.append(Piece(number, group, group + 1, weight))

    def read(self, piece: Piece) -> Iterator[Row]:
        arrow = needed("pyarrow.parquet", "Parquet")
        file = arrow.ParquetFile(self.files[piece.file])
        before = sum(file.metadata.row_group(group).num_rows for group in range(piece.begin))
        table = file.read_row_group(piece.begin, use_threads=False)
        for number, columns in enumerate(table.to_pylist()):
            yield Row(before + number, _raw_of(columns), columns)


class _HuggingFace(Source):
    def open(self) -> None:
        split = self.options.get("dataset_split")
        self.dataset = _loaded(self.place, split, f"`{self.place}`").with_format(None)
        self.files = [one["filename"] for one in self.dataset.cache_files]
        rows = len(self.dataset)
        size = max(1, int(self.dataset.data.nbytes / max(1, rows)))
        for begin in range(0, rows, _PIECE_ROWS):
            end = min(rows, begin + _PIECE_ROWS)
            self.pieces.append(Piece(0, begin, end, (end - begin) * size))

    def identity(self) -> list[list[Any]]:
        return [*super().identity(), ["rows", len(self.dataset), self.dataset._fingerprint]]

    def read(self, piece: Piece) -> Iterator[Row]:
        columns = self.dataset[piece.begin : piece.end]
        for number in range(piece.end - piece.begin):
            row = {name: values[number] for name, values in columns.items()}
            yield Row(piece.begin + number, _raw_of(row), row)

    def name_of(self, piece: Piece, place: int) -> str:
        return f"{self.place}, row {place}"


def _raw_of(columns: dict[str, Any]) -> bytes:
    return json.dumps(columns, sort_keys=True, ensure_ascii=False, default=repr).encode(
        errors="surrogatepass"
    )


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None  # columns_of says why


def columns_of(row: Row) -> dict[str, Any]:
    """The row's columns. Raises BadRow."""
    try:
        text = row.raw.decode() if row.columns is None or row.columns.get("text", "") is None else ""
    except UnicodeDecodeError as error:
        raise BadRow(f"its byte {error.start + 1} is no UTF-8") from None
    if row.columns is not None:
        return row.columns
    try:
        columns = json.loads(text)
    except ValueError as error:
        raise BadRow(f"it is no JSON: {error}") from None
    except RecursionError:
        raise BadRow("its JSON is nested too deeply") from None
    if not isinstance(columns, dict):
        raise BadRow(f"it is JSON of a {type(columns).__name__}, and a row is an object")
    return columns


_ALLOWED = {
    "jsonl": ["column", "split"],
    "text": ["by", "split"],
    "parquet": ["column", "split"],
    "huggingface": ["column", "split", "dataset_split"],
}


def open_rows(spec: str) -> Source:
    """The source that `spec` names. Raises InvalidArgument and BadDataset."""
    from .._names import did_you_mean
    from .._shell import split_options

    kind, colon, rest = spec.partition(":")
    if kind not in KINDS or not colon or not rest:
        raise InvalidArgument(
            f"batchcast: `{spec}` is no source of texts. Write one of jsonl:FILES, text:FILES, "
            f"parquet:FILES and huggingface:DIR.{_meant(spec)}"
        )
    place, options = split_options(rest)
    for name in options:
        if name not in _ALLOWED[kind]:
            raise InvalidArgument(
                f"batchcast: `{kind}:` has no option `{name}`.{did_you_mean(name, _ALLOWED[kind])}"
                f" There are {', '.join(_ALLOWED[kind])}."
            )
    if options.get("split", "train") not in ("train", "test"):
        raise InvalidArgument(f"batchcast: `{spec}`: split is train or test.")
    if options.get("by", "file") not in ("file", "line"):
        raise InvalidArgument(f"batchcast: `{spec}`: by is file or line.")
    makes: dict[str, Any] = {"jsonl": _Lines, "parquet": _Parquet, "huggingface": _HuggingFace}
    makes["text"] = _TextLines if options.get("by") == "line" else _TextFiles
    source: Any = makes[kind](spec, kind, place, options)
    source.open()
    opened: Source = source
    if opened.weight == 0:
        raise BadDataset(f"batchcast: `{spec}` has no rows: its files are empty.")
    return opened
