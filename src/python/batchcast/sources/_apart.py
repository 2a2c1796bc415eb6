# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A first look at files by a library that damaged ones may crash."""

from __future__ import annotations

import contextlib
import os
import pickle
import resource
import signal
import warnings
from collections.abc import Callable
from typing import NoReturn, TypeVar

from ..errors import Error

T = TypeVar("T")


class Crashed(Exception):
    """The process died, or raised what is no Error; the text says of what."""


def _work_and_leave(work: Callable[[], T], pipe: int) -> NoReturn:
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # what it dies of is told in an Error
        for number in (signal.SIGSEGV, signal.SIGBUS, signal.SIGABRT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        try:
            answer = pickle.dumps((work(), None), protocol=5)
        except Error as error:
            answer = pickle.dumps((None, error), protocol=5)
        except Exception as error:
            answer = pickle.dumps((None, Crashed(f"{type(error).__name__}: {error}")), protocol=5)
        with open(pipe, "wb") as out:
            out.write(answer)
        code = 0
    finally:
        os._exit(code)  # without what the parent registered for its own end


def apart(work: Callable[[], T]) -> T:
    """What `work` returns, or the Error that it raises, in a forked process. Raises Crashed where
    that dies of it."""
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
        with open(reading, "rb") as pipe, contextlib.suppress(EOFError, pickle.UnpicklingError):
            told = pickle.load(pipe)
    except BaseException:  # Ctrl-C, above all
        os.kill(child, signal.SIGKILL)
        raise
    finally:
        with contextlib.suppress(ChildProcessError):  # where nobody wants to know of children
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
