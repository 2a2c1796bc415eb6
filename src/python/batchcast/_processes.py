# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Processes that read a dataset whose Python code takes longer than the GIL permits."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import multiprocessing.util
import os
import pickle
import queue
import signal
import sys
import threading
from collections.abc import Sequence
from multiprocessing.context import ForkProcess
from types import FrameType
from typing import Any

import numpy as np

from . import _items
from .errors import BadSample, InvalidArgument

_MOST = 256
_ERROR_MAX = 1 << 20  # bytes of an exception that goes to the process that serves


def _answer(dataset: Any, index: int) -> bytes:
    try:
        return pickle.dumps((dataset[index], None), protocol=5)
    except Exception as error:
        told = _items.reason(error)
        return pickle.dumps((None, (told, _packed(error, told))), protocol=5)
    except BaseException as error:  # SystemExit, above all: it is no end of the one that serves
        told = _items.reason(error)
        return pickle.dumps((None, (told, _packed(BadSample(told), told))), protocol=5)


def _packed(error: Exception, told: str) -> bytes:
    """What `_unpacked` makes the exception from again. One that cannot be sent as it is goes as one
    of its class, or of the nearest base that the other process has by its name, with its text."""
    try:
        packed = pickle.dumps(error, protocol=5)
        if len(packed) <= _ERROR_MAX and type(pickle.loads(packed)) is type(error):
            return packed
    except Exception:  # of its class's own making
        pass
    for kind in type(error).__mro__:
        try:
            packed = pickle.dumps((kind, told), protocol=5)
            _unpacked(packed)
            return packed
        except Exception:  # a class inside a function, or one that is made otherwise
            continue
    raise AssertionError("Exception itself goes")


def _unpacked(packed: bytes) -> Exception:
    made = pickle.loads(packed)
    if isinstance(made, tuple):
        kind, told = made
        made = kind.__new__(kind, told)  # its __init__ may take other arguments
        made.args = (told,)
    assert isinstance(made, Exception)
    return made


def _raised(told: str, packed: bytes) -> Exception:
    try:
        error = _unpacked(packed)
    except Exception:  # of a module that only the reader has
        error = BadSample(told)
    _items.tell_reason(error, told)
    return error


def _draw_anew() -> None:
    """Draws differently in each process: forked ones would all draw the same numbers."""
    np.random.seed(int.from_bytes(os.urandom(4), "little"))
    if (torch := sys.modules.get("torch")) is not None:
        torch.default_generator.seed()


def _not_heeded(number: int, frame: FrameType | None) -> None:
    """Programs do not inherit this, unlike SIG_IGN: a dataset may start and terminate them."""


def _read(
    dataset: Any,
    connection: multiprocessing.connection.Connection,
    of_others: Sequence[multiprocessing.connection.Connection],
) -> None:
    """Reads samples until the serving process is gone, or wants no more."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # of the whole group
        signal.signal(number, _not_heeded)  # the one that serves decides
    for other in of_others:
        other.close()
    _draw_anew()
    own = os.getpid()
    try:
        while True:
            index = connection.recv()
            answer = _answer(dataset, index)
            if os.getpid() != own:  # its answer would be taken for that of another sample
                text = f"batchcast: sample {index} forked as it was read, and the child came back "
                text += "from it. It ends here: only the first process reads.\n"
                os.write(2, text.encode())
                os._exit(3)
            connection.send_bytes(answer)
    except (EOFError, OSError):
        pass
    os._exit(0)  # without what the process that serves registered for its own end


class Readers:
    """A dataset whose items are read by forked processes, each a copy of this one. An exception for
    an item is raised here.

    A process that dies is not replaced, since a process with threads is no good to fork. Another
    one reads its sample. When none is left every sample is bad, and says so.
    """

    def __init__(self, dataset: Any, count: int) -> None:
        if not 1 <= count <= _MOST:
            raise InvalidArgument(f"batchcast: processes is {count}; it must be from 1 to {_MOST}.")
        self.dataset = dataset
        self.name = getattr(dataset, "name", None) or type(dataset).__name__
        self.class_names = getattr(dataset, "class_names", None)
        for own in ("fingerprint", "lengths", "name_of"):
            if callable(getattr(dataset, own, None)):
                setattr(self, own, getattr(dataset, own))
        self._idle: queue.SimpleQueue[_Reader | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._death = ""
        self.readers: list[_Reader] = []
        # This runs once there is no reference to the object. As the process ends, multiprocessing
        # sends its children a SIGTERM, which these ignore, and waits for them: this comes before.
        multiprocessing.util.Finalize(self, _end_all, args=(self.readers,), exitpriority=0)
        for _ in range(count):
            self.readers.append(_Reader(dataset, [one.connection for one in self.readers]))
        self._alive = count
        for one in self.readers:
            self._idle.put(one)

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        deaths, death = 0, ""
        while deaths < 2:  # a sample that ends two processes is bad
            reader = self._idle.get()
            if reader is None:
                self._idle.put(None)  # for the others that wait
                raise BadSample(self._none_left())
            try:
                reader.connection.send(index)
            except OSError:
                self._note_death(reader, f"before it was to read sample {index}")
                continue
            try:
                answer = reader.connection.recv_bytes()
            except (EOFError, OSError):
                death = self._note_death(reader, f"while it read sample {index}")
                deaths += 1
                continue
            except BaseException:  # no memory for it: what is left of the answer cannot be told
                reader.end()
                self._note_death(reader, f"as nothing could take its sample {index}")
                raise
            self._idle.put(reader)
            item, failure = pickle.loads(answer)
            if failure is not None:
                raise _raised(*failure)
            return item
        raise BadSample(death)

    def _none_left(self) -> str:
        if not self._death:
            return "the processes that read were stopped"
        count = len(self.readers)
        which = "the one process that reads" if count == 1 else f"all {count} processes that read"
        return f"{which} died, so it was not read; the last: {self._death}"

    def _note_death(self, reader: _Reader, when: str) -> str:
        death = f"reader process {reader.process.pid} {reader.death()} {when}"
        with self._lock:
            self._alive -= 1
            self._death = death
            if self._alive == 0:
                self._idle.put(None)
        return death

    def close(self) -> None:
        """Ends the processes; a thread that waits for one gets a bad sample."""
        _end_all(self.readers)


class _Reader:
    def __init__(self, dataset: Any, others: list[multiprocessing.connection.Connection]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        self.process: ForkProcess = context.Process(
            target=_read, args=(dataset, theirs, [*others, self.connection]), daemon=True
        )
        self.process.start()
        theirs.close()

    def death(self) -> str:
        self.process.join(1)
        code = self.process.exitcode
        if code is None:
            return "is not to be understood"
        if code >= 0:
            return f"ended ({code})"
        named = -code in signal.valid_signals() and -code < signal.SIGRTMIN
        return f"was killed by {signal.Signals(-code).name if named else f'signal {-code}'}"

    def end(self) -> None:
        if self.process.is_alive():
            self.process.kill()
            self.process.join(1)


def _end_all(readers: list[_Reader]) -> None:
    for one in readers:
        one.process.kill()
    for one in readers:
        one.end()
