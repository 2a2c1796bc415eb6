# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A first look at files by a library that damaged files may crash."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import select
import signal
import warnings
from collections.abc import Callable
from typing import NoReturn, TypeVar

from ..errors import Error

T = TypeVar("T")
Tick = Callable[[], object]
"""To be called again and again by work that goes on: each call takes a system call's time."""

_SIGN = b"."  # of life; no pickle begins with it
_SILENCE_S = 30.0
_SLICES = 30


class Crashed(Exception):
    """The process died, hung, or raised something other than Error; the text says why."""


def _work_and_leave(work: Callable[[Tick], T], pipe: int) -> NoReturn:
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # an Error says what it dies of
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        try:
            answer = pickle.dumps((work(lambda: os.write(pipe, _SIGN)), None), protocol=5)
        except Error as error:
            answer = pickle.dumps((None, error), protocol=5)
        except Exception as error:
            answer = pickle.dumps((None, Crashed(f"{type(error).__name__}: {error}")), protocol=5)
        with open(pipe, "wb") as out:
            out.write(answer)
        code = 0
    finally:
        os._exit(code)  # without what the parent registered for its own end


def _told(pipe: int) -> bytes:
    """Everything that the process writes, until it ends."""
    waiting = select.poll()
    waiting.register(pipe, select.POLLIN)
    told: list[bytes] = []
    # It waits in slices: both may be stopped together, as by Ctrl-Z, and that is no silence.
    while any(waiting.poll(_SILENCE_S / _SLICES * 1000) for _ in range(_SLICES)):
        piece = os.read(pipe, 1 << 20)
        if not piece:
            return b"".join(told)
        if not told:
            piece = piece.lstrip(_SIGN)
        if piece:
            told.append(piece)
    raise Crashed(f"no progress in {_SILENCE_S:g} s")


def apart(work: Callable[[Tick], T]) -> T:
    """Returns what `work` returns in a forked process, or raises its Error. Raises Crashed where
    that process dies of it, or hangs: neither a tick nor the end came within 30 s."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child starts no thread
        child = os.fork()
    if child == 0:
        os.close(reading)
        _work_and_leave(work, writing)
    os.close(writing)
    status, told = 0, None
    try:
        with contextlib.suppress(EOFError, pickle.UnpicklingError):
            told = pickle.loads(_told(reading))
    except BaseException:  # Ctrl-C, above all
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        os.close(reading)
        with contextlib.suppress(ChildProcessError):  # where SIGCHLD is ignored
            status = os.waitpid(child, 0)[1]
    if told is None:
        raise Crashed(_how_it_ended(status))
    answer, error = told
    if error is not None:
        raise error
    return answer  # type: ignore[no-any-return]


def _how_it_ended(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return signal.Signals(-code).name if code < 0 else f"its end ({code})"
