# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Images in LMDB environments."""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from .._producer import is_image
from ..errors import BadDataset, InvalidArgument
from ._columns import checked
from ._packages import needed

Parse = Callable[[bytes, bytes], Any]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ValueError("a number that does not end")
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7


def parse_datum(data: bytes) -> dict[str, Any]:
    """Caffe's Datum: its fields 4 (data), 5 (label) and 7 (encoded), of which pixels are refused."""
    found: dict[int, Any] = {5: 0, 7: 0}
    at = 0
    while at < len(data):
        key, at = _varint(data, at)
        field, wire = key >> 3, key & 7
        if wire == 0:
            found[field], at = _varint(data, at)
        elif wire == 2:
            length, at = _varint(data, at)
            if length > len(data) - at:
                raise ValueError(f"it is cut off: field {field} has {length} bytes")
            found[field] = data[at : at + length]
            at += length
        elif wire == 5:
            at += 4
        else:
            raise ValueError(f"it is no Datum: field {field} has the wire type {wire}")
    if 4 not in found:
        raise ValueError("it is a Datum without data")
    if not found[7] and not is_image(found[4][:64]):
        raise ValueError("it is a Datum of pixels, not of an encoded image: give `parse`")
    label = found[5] - (1 << 64) if found[5] >> 63 else found[5]
    return {"image": found[4], "label": label}


def _is_datum(value: bytes) -> bool:
    try:
        parse_datum(value)
    except ValueError:
        return False
    return True


class _Environment:
    """One that is open: a process opens each file once. Usable in forked children, too."""

    def __init__(self, lmdb: Any, path: str) -> None:
        # Without its lock file, which may be on a disk that cannot be written, and which a fork
        # would make useless.
        self.lmdb = lmdb.open(
            path, subdir=os.path.isdir(path), readonly=True, lock=False, readahead=False
        )


_open: weakref.WeakValueDictionary[str, _Environment] = weakref.WeakValueDictionary()


def _opened(path: str) -> _Environment:
    lmdb = needed("lmdb", "LMDB")
    if not os.path.exists(path):
        raise BadDataset(f"batchcast: there is no {path}")
    place = os.path.realpath(path)
    environment = _open.get(place)
    if environment is None:
        try:
            environment = _open[place] = _Environment(lmdb, path)
        except lmdb.Error as error:
            raise BadDataset(f"batchcast: {path} cannot be opened by LMDB: {error}") from error
    return environment


class LMDB:
    """Images in an LMDB environment, a folder or a file; opened read-only.

        bc.serve(bc.sources.LMDB("bedroom_train_lmdb"), recipe="imagenet-train", stream="bedroom")

    It finds out how the samples lie there:

    - each value is an image's file, as LSUN has them. `label` is then a function of the key (bytes)
      that gives a number; without it there is no label;
    - each value is a Datum of Caffe's with an encoded image and a label;
    - `image-000000001`, `label-000000001` and so on up to `num-samples`, the label as a number in
      digits.

    Any other layout is read by `parse`, a function of key and value (bytes) that gives a sample: a
    dict of bytes, arrays and numbers. With it each key is a sample, in the order of the keys, but
    those in `skip`. What a function does is no part of the fingerprint: the stream is pure only
    where a `version` names it, to be changed with the function.

    Each thread has a read transaction of its own, for as long as it reads. Nothing may be written
    meanwhile: it is opened without a lock.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        label: Callable[[bytes], int] | None = None,
        parse: Parse | None = None,
        skip: tuple[bytes, ...] = (b"__keys__", b"__len__"),
        version: str | None = None,
    ) -> None:
        self.path = os.fspath(path)
        self.name = "LMDB"
        self._label = label
        self._has_functions = label is not None or parse is not None
        self._version = version
        self._local = threading.local()
        self._environment = _opened(self.path)
        self._env = self._environment.lmdb
        self._keys = []
        digest = hashlib.sha256()
        for key, size in self._entries():
            if key in skip:
                continue
            self._keys.append(key)
            digest.update(len(key).to_bytes(4, "little") + key + size.to_bytes(8, "little"))
        if not self._keys:
            raise BadDataset(f"batchcast: {self.path} holds nothing")
        self._digest = digest.hexdigest()
        self._read = self._reader(parse)

    def _entries(self) -> Iterator[tuple[bytes, int]]:
        """Each key, and how many bytes its value has; these are not read for it."""
        with self._env.begin(buffers=True) as transaction, transaction.cursor() as cursor:
            for key, value in cursor:
                yield bytes(key), len(value)

    def _value(self, key: bytes) -> bytes:
        transaction = getattr(self._local, "transaction", None)
        if transaction is None:
            transaction = self._local.transaction = self._env.begin()
        value = transaction.get(key)
        if value is None:
            raise KeyError(f"there is no key {key!r}")
        return bytes(value)

    def _reader(self, parse: Parse | None) -> Callable[[int], Any]:
        keys = self._keys
        if parse is not None:
            return lambda index: parse(keys[index], self._value(keys[index]))
        if b"num-samples" in keys:
            self._pairs = int(self._value(b"num-samples"))
            return self._read_pair
        first = self._value(keys[0])
        if is_image(first[:64]):
            return self._read_image
        if _is_datum(first):
            return lambda index: parse_datum(self._value(keys[index]))
        pickled = first[:1] == b"\x80"
        raise InvalidArgument(
            f"batchcast: {self.path}: the value of its first key, {keys[0][:40]!r}, begins with "
            f"{first[:16]!r}, which is no image"
            + (", but pickled. Unpickling runs whatever its writer wants" if pickled else "")
            + ". Say how to read a sample: sources.LMDB(…, parse=lambda key, value: {…})."
        )

    def _read_pair(self, index: int) -> dict[str, Any]:
        number = b"%09d" % (index + 1)
        sample: dict[str, Any] = {"image": self._value(b"image-" + number)}
        if self._label is not None:
            sample["label"] = self._label(self._value(b"label-" + number))
        else:
            sample["label"] = int(self._value(b"label-" + number))
        return sample

    def _read_image(self, index: int) -> dict[str, Any]:
        key = self._keys[index]
        sample: dict[str, Any] = {"image": self._value(key)}
        if self._label is not None:
            sample["label"] = self._label(key)
        return sample

    def __len__(self) -> int:
        return getattr(self, "_pairs", len(self._keys))

    def __getitem__(self, index: int) -> Any:
        return self._read(checked(index, len(self)))

    def name_of(self, index: int) -> str:
        """For messages: the file and the key."""
        key = b"image-%09d" % (index + 1) if hasattr(self, "_pairs") else self._keys[index]
        return f"{self.path}, key {key!r}"

    def fingerprint(self) -> str | None:
        """Of all keys, the sizes of their values, and how often the environment was written.

        None, so that the stream is not pure, where a function of the caller's reads them and no
        `version` says which function that is.
        """
        if self._version is None and self._has_functions:
            return None
        return f"lmdb {self._digest} {self._env.info()['last_txnid']} {self._version}"
