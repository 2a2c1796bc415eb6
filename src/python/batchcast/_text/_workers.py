# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Processes that tokenise pieces of a source, whose results come in the pieces' order."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import multiprocessing
import multiprocessing.connection
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import BadDataset, Error
from ._documents import Document, Documents, Encoder
from ._rows import BadRow, Piece, Source, columns_of

_BATCH_LETTERS = 1 << 18
_AHEAD = 4  # pieces a process, that wait for an earlier one
_PR_SET_PDEATHSIG = 1
_TOLD_MAX = 100


@dataclass
class Part:
    """What a piece gives to the rows of one split."""

    tokens: bytes = b""
    mask: bytes = b""
    lengths: bytes = b""
    trained: int = 0


@dataclass
class Result:
    parts: dict[str, Part] = field(default_factory=dict)
    rows: int = 0
    empty: int = 0
    bad: list[tuple[int, str]] = field(default_factory=list)  # place and reason
    bad_count: int = 0
    failure: str = ""


class _Out:
    def __init__(self) -> None:
        self.tokens: list[Any] = []
        self.masks: list[bytearray] = []
        self.lengths: list[int] = []
        self.trained = 0


class Maker:
    """What a process does with a piece."""

    def __init__(
        self, source: Source, documents: Documents, tokenizer: Any, dtype: Any, test: float
    ) -> None:
        self.source = source
        self.documents = documents
        self.encoder = Encoder(tokenizer, documents.has_mask)
        self.dtype = dtype
        self.test = test

    def make(self, piece: Piece) -> Result:
        result = Result()
        outs = {"train": _Out(), "test": _Out()}
        waiting: list[tuple[int, str, Document]] = []
        letters = 0
        for row in self.source.read(piece):
            result.rows += 1
            try:
                document = self.documents.of(columns_of(row))
                if not document.text.isascii():
                    document.text.encode()
            except UnicodeEncodeError:
                self._add_bad(result, row.place, "its text has half of a surrogate pair")
                continue
            except BadRow as bad:
                self._add_bad(result, row.place, str(bad))
                continue
            waiting.append((row.place, self._split_of(row.raw), document))
            letters += len(document.text)
            if letters >= _BATCH_LETTERS:
                self._encode(waiting, outs, result)
                waiting, letters = [], 0
        self._encode(waiting, outs, result)
        for split, out in outs.items():
            if out.lengths:
                result.parts[split] = self._part_of(out)
        return result

    def _encode(
        self, waiting: list[tuple[int, str, Document]], outs: dict[str, _Out], result: Result
    ) -> None:
        for (place, split, _), (ids, mask) in zip(
            waiting, self.encoder.encode([document for _, _, document in waiting])
        ):
            if not ids:
                result.empty += 1
                continue
            trained = len(ids) if mask is None else mask.count(1)
            if trained == 0:
                self._add_bad(result, place, "none of its tokens is trained")
                continue
            out = outs[split]
            out.trained += trained
            out.tokens.append(np.asarray(ids, dtype=self.dtype))
            out.lengths.append(len(ids))
            if mask is not None:
                out.masks.append(mask)

    def _split_of(self, raw: bytes) -> str:
        if self.test == 0:
            return "train"
        number = int.from_bytes(hashlib.blake2b(raw, digest_size=8).digest(), "little")
        return "test" if number < self.test * 2**64 else "train"

    def _part_of(self, out: _Out) -> Part:
        lengths = np.asarray(out.lengths, dtype=np.int64)
        return Part(
            np.concatenate(out.tokens).tobytes(),
            b"".join(out.masks),
            lengths.astype(np.int32).tobytes(),
            out.trained,
        )

    @staticmethod
    def _add_bad(result: Result, place: int, why: str) -> None:
        result.bad_count += 1
        if len(result.bad) < _TOLD_MAX:
            result.bad.append((place, why))


def _work(maker: Maker, pieces: list[Piece], orders: Any, owner: int) -> None:
    """The life of a process: piece after piece, until the pipe is closed."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number == signal.SIGINT else signal.SIG_DFL)
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != owner:
        os._exit(0)
    with contextlib.suppress(EOFError, OSError):
        while True:
            number = orders.recv()
            try:
                result = maker.make(pieces[number])
            except Exception as error:  # of files, Arrow and the tokenizer
                result = Result(failure=f"{type(error).__name__}: {error}")
            orders.send((number, result))
    os._exit(0)


class Workers:
    """Forked processes, which share the tokenizer's memory."""

    def __init__(self, maker: Maker, pieces: list[Piece], count: int) -> None:
        self._pieces = pieces
        self._maker = maker
        self._pipes: list[Any] = []
        self._processes: list[Any] = []
        context = multiprocessing.get_context("fork")
        for _ in range(count):
            here, there = context.Pipe()
            process = context.Process(
                target=_work, args=(maker, pieces, there, os.getpid()), daemon=True
            )
            process.start()
            there.close()
            self._pipes.append(here)
            self._processes.append(process)

    def results(self, first: int) -> Iterator[Result | None]:
        """The results of the pieces from `first` on; None, again and again, while none is ready."""
        next_order, due, count = first, first, len(self._pieces)
        ready: dict[int, Result] = {}
        idle = list(self._pipes)
        while due < count:
            while idle and next_order < count and next_order < due + _AHEAD * len(self._pipes):
                idle.pop().send(next_order)
                next_order += 1
            busy = [pipe for pipe in self._pipes if pipe not in idle]
            for pipe in multiprocessing.connection.wait(busy, 0.2):
                number, result = self._received(pipe)
                ready[number] = result
                idle.append(pipe)
            if due not in ready:
                yield None
            while due in ready:
                result = ready.pop(due)
                if result.failure:
                    piece = self._pieces[due]
                    where = self._maker.source.files[piece.file : piece.file + 1]
                    raise BadDataset(f"batchcast: {', '.join(where)}: {result.failure}")
                due += 1
                yield result

    def _received(self, pipe: Any) -> tuple[int, Result]:
        try:
            number, result = pipe.recv()
            return number, result
        except (EOFError, OSError):
            process = self._processes[self._pipes.index(pipe)]
            process.join(1)
            code = process.exitcode
            how = f"signal {-code}" if code is not None and code < 0 else f"code {code}"
            raise Error(
                f"batchcast: a process that tokenised has died ({how}). With signal 9 memory may have "
                "run out: take fewer of them, with --workers. The same command goes on from here."
            ) from None

    def close(self) -> None:
        for process in self._processes:
            process.kill()
        for process in self._processes:
            process.join()
        for pipe in self._pipes:
            pipe.close()
