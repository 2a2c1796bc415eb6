# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Files that lie in this process's memory, or are read piece by piece, and that must not change.

The kernel ends a process that looks at mapped memory whose file was cut short (SIGBUS). Here it
finds zeros, and the dataset that looked asks afterwards whether the file is what it was.
"""

from __future__ import annotations

import bisect
import contextlib
import mmap
import os
import stat
from collections.abc import Iterable

from .._producer import ZerosWhereCut
from ..errors import BadDataset, BadSample


def check_regular(path: str) -> None:
    """Raises BadDataset unless it is a regular file: others may never give a byte."""
    try:
        status = os.stat(path)
    except OSError as error:
        raise BadDataset(f"batchcast: {path}: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        kind = "a folder" if stat.S_ISDIR(status.st_mode) else "no regular file"
        raise BadDataset(f"batchcast: {path} is {kind}, and a file is wanted there")


class Watched:
    """A file that no process is to write into. A file that takes its name is another one."""

    def __init__(self, path: str) -> None:
        self.path = path
        status = os.stat(path)
        self._place = status.st_dev, status.st_ino
        self.size = status.st_size
        self._changed_ns = status.st_mtime_ns
        self._mapped: dict[int, ZerosWhereCut] = {}

    def is_mapped(self, begin: int, end: int) -> None:
        """Sets where the file is mapped. A change does not end the process any more."""
        if begin not in self._mapped:
            self._mapped[begin] = ZerosWhereCut(begin, end)

    def check(self) -> None:
        """Raises BadSample where it was written into. Call it before and after each look at the
        file."""
        if self._mapped:
            ZerosWhereCut.go_on()
        try:
            status = os.stat(self.path)
        except OSError:
            return  # removed: what is open or mapped stays
        if (status.st_dev, status.st_ino) != self._place:
            return
        if status.st_size == self.size and status.st_mtime_ns == self._changed_ns:
            return
        how = "was written to"
        if status.st_size < self.size:
            how = f"was cut short, from {self.size:,} bytes to {status.st_size:,},"
        raise BadSample(
            f"{self.path} {how} while it was served. Serve it again; to replace a file, rename a "
            "new one to its name"
        )


def check_all(files: Iterable[Watched]) -> None:
    for one in files:
        one.check()


class Maps:
    """What lies where in this process's memory, as the kernel shows it now."""

    def __init__(self) -> None:
        self._begins: list[int] = []
        self._ends: list[tuple[int, int, int, str]] = []
        self._watched: dict[str, Watched | None] = {}
        with contextlib.suppress(OSError), open("/proc/self/maps", "rb") as file:
            for line in file:
                self._note(line)

    def _note(self, line: bytes) -> None:
        words = line.rstrip(b"\n").split(maxsplit=5)
        if len(words) < 6 or words[4] == b"0":
            return  # no file's
        begin, end = (int(one, 16) for one in words[0].split(b"-"))
        path = os.fsdecode(words[5].replace(b"\\012", b"\n"))
        self._begins.append(begin)
        self._ends.append((end, int(words[2], 16), int(words[4]), path))

    def _file_at(self, address: int) -> Watched | None:
        """The file at that place; None where there is none, or one that has no name any more.
        Raises BadDataset where it is shorter than it was when it was mapped."""
        place = bisect.bisect_right(self._begins, address) - 1
        if place < 0 or address >= self._ends[place][0]:
            return None
        end, offset, inode, path = self._ends[place]
        if path not in self._watched:
            self._watched[path] = _watched(path, inode)
        watched = self._watched[path]
        if watched is None:
            return None
        begin = self._begins[place]
        watched.is_mapped(begin, end)
        if watched.size <= offset + end - begin - mmap.PAGESIZE:
            raise BadDataset(
                f"batchcast: {path} was cut short after it was opened: it has {watched.size:,} "
                "bytes. Write it again, and open it then."
            )
        return watched

    def files_at(self, addresses: Iterable[int]) -> tuple[Watched, ...]:
        """The files that lie there, mapped as far as they reach."""
        found = {one.path: one for one in map(self._file_at, addresses) if one is not None}
        return tuple(found.values())

    def note_map_of(self, file: Watched) -> None:
        """Notes a file that is mapped further than it reaches."""
        path = os.path.realpath(file.path)
        for begin, (end, _, _, mapped) in zip(self._begins, self._ends):
            if mapped == path:
                file.is_mapped(begin, end)


def _watched(path: str, inode: int) -> Watched | None:
    try:
        status = os.stat(path)
        # Memory of a device has a path, too, and its size says nothing.
        is_it = status.st_ino == inode and stat.S_ISREG(status.st_mode)
        return Watched(path) if is_it else None
    except OSError:
        return None
