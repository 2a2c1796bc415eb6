# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Images in LMDB environments."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from .._names import checks_names
from .._producer import is_image
from ..errors import BadDataset, InvalidArgument
from ._apart import Crashed, Tick, apart
from ._columns import checked
from ._files import Maps, Watched, check_regular
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
    """An open environment: a process opens each file once. Forked children can use it, too."""

    def __init__(self, lmdb: Any, path: str) -> None:
        # It is opened without its lock file, which may be on a disk that cannot be written, and
        # which a fork would make useless.
        self.lmdb = lmdb.open(
            path, subdir=os.path.isdir(path), readonly=True, lock=False, readahead=False
        )


_open: weakref.WeakValueDictionary[tuple[int, int], _Environment] = weakref.WeakValueDictionary()
_opening = threading.Lock()


def _opened(lmdb: Any, path: str, data: str) -> _Environment:
    status = os.stat(data)
    place = status.st_dev, status.st_ino  # another file may take its name
    with _opening:
        environment = _open.get(place)
        if environment is None:
            try:
                environment = _open[place] = _environment(lmdb, path)
            except lmdb.Error as error:
                raise BadDataset(f"batchcast: {path} cannot be opened by LMDB: {error}") from error
    return environment


def _environment(lmdb: Any, path: str) -> _Environment:
    try:
        return _Environment(lmdb, path)
    except lmdb.Error:
        gc.collect()  # an unused one, of a file that lost its name, blocks it
    return _Environment(lmdb, path)


def _data_of(path: str) -> str:
    if not os.path.exists(path):
        raise BadDataset(f"batchcast: there is no {path}")
    data = os.path.join(path, "data.mdb") if os.path.isdir(path) else path
    check_regular(data)
    return data


class _Looked:
    """Entries of an environment that may be damaged, or be written to meanwhile.

    LMDB follows damaged pages anywhere, out of the file and its mapping. So an expendable process
    visits all of them first, and touches all values.
    """

    def __init__(self, path: str) -> None:
        lmdb = needed("lmdb", "LMDB")
        self._path = path
        data = _data_of(path)
        self._environment = _opened(lmdb, path, data)
        self._file = Watched(data)
        self.lmdb = self._environment.lmdb
        self._local = threading.local()

    def entries(self) -> list[tuple[bytes, int]]:
        """Each key, and how many bytes its value has."""
        done = threading.Event()
        threading.Thread(target=self._read_ahead, args=(done,), daemon=True).start()
        try:
            found = apart(self._look_through)
        except Crashed as how:
            raise BadDataset(
                f"batchcast: {self._path} is damaged or cut short: LMDB cannot go through its keys "
                f"({how}). Make it again."
            ) from None
        finally:
            done.set()
        Maps().note_map_of(self._file)
        self._file.check()
        return found

    def _read_ahead(self, done: threading.Event) -> None:
        """Reads the file into the kernel's cache. The map, which is for reading here and there,
        would wait for the disk at each page."""
        place = bytearray(4 << 20)
        with contextlib.suppress(OSError), open(self._file.path, "rb", buffering=0) as file:
            while not done.is_set() and file.readinto(place):
                pass

    def _look_through(self, tick: Tick) -> list[tuple[bytes, int]]:
        said = self.lmdb.stat()["entries"]
        found = []
        with self.lmdb.begin(buffers=True) as transaction, transaction.cursor() as cursor:
            if self.lmdb.open_db(txn=transaction).flags(transaction).get("dupsort"):
                raise InvalidArgument(
                    f"batchcast: {self._path} has several values for a key (dupsort), and a sample "
                    "is one. Make it again with a key for each."
                )
            had = 0
            for key, value in cursor:
                found.append((bytes(key), len(value)))
                had += transaction.get(key) is not None
                if had % 100 == 0:  # of a disk that has to be looked for each
                    tick()
                if len(found) > said:
                    break
        if len(found) != said or had != said:
            raise BadDataset(
                f"batchcast: {self._path} is damaged: it says that it has {said:,} keys, and "
                f"{'more' if len(found) > said else format(had, ',')} are found. Make it again."
            )
        return found

    def value(self, key: bytes) -> bytes:
        """Raises BadSample where a process has written to the file."""
        self._file.check()
        transaction = getattr(self._local, "transaction", None)
        if transaction is None:
            transaction = self._local.transaction = self.lmdb.begin(buffers=True)
        try:
            value = transaction.get(key)
            if value is None:
                raise KeyError(f"there is no key {key!r}")
            return bytes(value)
        finally:
            self._file.check()  # in place of what LMDB says of what it found


class LMDB:
    """Images in an LMDB environment, a folder or a file; opened read-only.

        bc.serve(bc.sources.LMDB("bedroom_train_lmdb"), recipe="imagenet-train", stream="bedroom")

    It finds out how the samples lie there:

    - Each value is an image's file, as LSUN has them. `label` is then a function of the key (bytes)
      that gives a number; without it there is no label.
    - Each value is a Datum of Caffe's with an encoded image and a label.
    - There are `image-000000001`, `label-000000001` and so on up to `num-samples`, the label as a
      number in digits.

    `parse` reads any other layout: a function of key and value (bytes) that gives a sample, a dict
    of bytes, arrays and numbers. With it each key is a sample, in the order of the keys, except for
    those in `skip`. What a function does is no part of the fingerprint: the stream is pure only
    where a `version` names it. Change the version with the function.

    Each thread that reads has a read transaction meanwhile. No process may write to the
    environment, which is opened without a lock: from then on every sample is bad. On opening, a
    separate process reads all of it, so that a damaged file is an error and no crash.
    """

    @checks_names
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
        self._looked = _Looked(self.path)
        self._keys = []
        digest = hashlib.sha256()
        for key, size in self._looked.entries():
            if key in skip:
                continue
            self._keys.append(key)
            digest.update(len(key).to_bytes(4, "little") + key + size.to_bytes(8, "little"))
        if not self._keys:
            raise BadDataset(f"batchcast: {self.path} holds nothing")
        self._digest = digest.hexdigest()
        self._read = self._reader(parse)

    def _reader(self, parse: Parse | None) -> Callable[[int], Any]:
        keys = self._keys
        if parse is not None:
            return lambda index: parse(keys[index], self._looked.value(keys[index]))
        if b"num-samples" in keys:
            self._pairs = self._number_of_pairs(self._looked.value(b"num-samples"))
            return self._read_pair
        first = self._looked.value(keys[0])
        if is_image(first[:64]):
            return self._read_image
        if _is_datum(first):
            return lambda index: parse_datum(self._looked.value(keys[index]))
        pickled = first[:1] == b"\x80"
        raise InvalidArgument(
            f"batchcast: {self.path}: the value of its first key, {keys[0][:40]!r}, begins with "
            f"{first[:16]!r}, which is no image"
            + (", but pickled. Unpickling runs any code that its writer chose" if pickled else "")
            + ". Say how to read a sample: sources.LMDB(…, parse=lambda key, value: {…})."
        )

    def _number_of_pairs(self, said: bytes) -> int:
        images = sum(key.startswith(b"image-") for key in self._keys)
        number = int(said) if said.strip().isdigit() else 0
        if not 0 < number <= images:
            raise BadDataset(
                f"batchcast: {self.path}: num-samples is {said[:40]!r}, and there are {images} keys "
                "`image-…`. Make it again, or say how to read a sample with `parse`."
            )
        return number

    def _read_pair(self, index: int) -> dict[str, Any]:
        number = b"%09d" % (index + 1)
        sample: dict[str, Any] = {"image": self._looked.value(b"image-" + number)}
        if self._label is not None:
            sample["label"] = self._label(self._looked.value(b"label-" + number))
        else:
            sample["label"] = int(self._looked.value(b"label-" + number))
        return sample

    def _read_image(self, index: int) -> dict[str, Any]:
        key = self._keys[index]
        sample: dict[str, Any] = {"image": self._looked.value(key)}
        if self._label is not None:
            sample["label"] = self._label(key)
        return sample

    def __len__(self) -> int:
        return getattr(self, "_pairs", len(self._keys))

    def __getitem__(self, index: int) -> Any:
        return self._read(checked(index, len(self)))

    def name_of(self, index: int) -> str:
        """The file and the key, for messages."""
        key = b"image-%09d" % (index + 1) if hasattr(self, "_pairs") else self._keys[index]
        return f"{self.path}, key {key!r}"

    def fingerprint(self) -> str | None:
        """The fingerprint of all keys, the sizes of their values, and how often the environment was
        written.

        None, so that the stream is not pure, where a function of the caller's reads them and no
        `version` says which function that is.
        """
        if self._version is None and self._has_functions:
            return None
        return f"lmdb {self._digest} {self._looked.lmdb.info()['last_txnid']} {self._version}"
