# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""The handles of streams that this process serves."""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any

from . import _items
from ._closed import ClosedByBlock
from ._looping import Looping, patience_s, tell_failure
from ._processes import Readers
from ._producer import BatchStream, DatasetStream, PythonSource, ServeOptions
from .errors import BadSample, Forked, StreamTaken

_FAREWELL_MS = 2000
_LONG_MS = (1 << 31) - 1
_SLICE_MS = 20  # between two looks for Ctrl-C
_READERS_PATIENCE_MS = 200  # for processes that read a dataset


AskedToEnd = Callable[[], str]
"""Why the stream is to end, or "". It is first called before there is a stream; from then on it
alone tells of signals, where it is `batchcast serve` that asks."""


def not_asked_to_end() -> str:
    return ""  # Ctrl-C raises, wherever it comes


class OfThisProcess:
    """An object that ends with the process that made it; forked children leave it alone."""

    def __init__(self) -> None:
        self._pid = os.getpid()
        _of_this_process[self] = None

    @property
    def _is_own(self) -> bool:
        return self._pid == os.getpid()

    def _end_with_process(self) -> None:
        """Called as the interpreter ends; daemon threads would be ended in the middle of things."""
        raise NotImplementedError


# In the order in which they were made.
_of_this_process: weakref.WeakKeyDictionary[OfThisProcess, None] = weakref.WeakKeyDictionary()


@atexit.register
def end_all() -> None:
    for one in reversed(list(_of_this_process)):
        if one._is_own:
            one._end_with_process()


class Serving(OfThisProcess, ClosedByBlock):
    """A stream that this process serves. `stop()` ends it; so does the end of the process.

    As a context manager it is stopped where the block ends. What failed it is raised there, unless
    the block raises or `wait` has raised it. In the background, it also prints a failure to stderr.
    """

    def __init__(self, options: ServeOptions) -> None:
        super().__init__()
        self._has_raised = False
        self._was_stopped = False
        self._name = options.stream
        self._place = _place_of(options.directory)

    @property
    def stream(self) -> str:
        """Its name."""
        return self._name

    @property
    def directory(self) -> str:
        """Where the stream's files are."""
        raise NotImplementedError

    @property
    def running(self) -> bool:
        """Whether it is not over yet. It is as soon as it failed."""
        raise NotImplementedError

    @property
    def error(self) -> BaseException | None:
        """What failed the stream, if anything did."""
        raise NotImplementedError

    @property
    def stats(self) -> dict[str, Any]:
        """How it stands: `state`, `epoch`, `published`, `samples_per_second`, `consumers`, …

        Raises Forked in a forked child: its stream is the parent's, and so are its locks.
        """
        raise NotImplementedError

    def set(self, **values: bool | int | float | str) -> None:
        """Changes the stream while it runs, as `batchcast set` does: `set(workers=4, ahead=3)`.

        What can be set: `workers`, `ahead`, `stall_timeout`, `on_stall`, `free_running` and
        `idle_exit`; a stream of batches has no `workers`. "default" is the value that the stream
        began with, and `workers="auto"` leaves their number to the producer. Where one value is
        refused, none is set. Raises InvalidArgument, and Forked in a forked child.
        """
        self._check_process()
        self._set([(name, _setting_text(value)) for name, value in values.items()])

    def _set(self, values: list[tuple[str, str]]) -> None:
        raise NotImplementedError

    def _check_process(self) -> None:
        if not self._is_own:
            raise Forked(
                f"batchcast: this process was forked from the one that serves stream `{self._name}`,"
                f" which alone knows how it stands."
            )

    def stop(self, reason: str = "its producer called stop()") -> None:
        """Ends the stream: trainers get what is made, and then `Stopped` with this reason.

        Returns within a second, also where a dataset or a loader hangs; a warning then says where.
        In a forked child nothing happens.
        """
        if self._is_own and not self._wait_slice(0):
            self._was_stopped = True
            self._stop(_items.shown(reason))

    def _stop(self, reason: str) -> None:
        raise NotImplementedError

    def wait(self, timeout: float | None = None) -> bool:
        """Waits until the stream is over, at most `timeout` seconds; returns whether it is.

        Raises what failed it. Ctrl-C ends the wait, not the stream.
        """
        end = None if timeout is None or timeout < 0 else time.monotonic() + timeout
        while not self._wait_slice(_left_ms(end)):
            if end is not None and time.monotonic() >= end:
                return False
        if self.error is not None:
            self._has_raised = True
            raise self.error
        return True

    def _wait_slice(self, at_most_ms: int) -> bool:
        raise NotImplementedError

    def _has_name(self, stream: str, place: str) -> bool:
        """Whether no other stream of that name can be served in that place until it is over."""
        is_it = (self._name, self._place) == (stream, place)
        return is_it and self._is_own and not self._was_stopped and not self._wait_slice(0)

    def _end_with_process(self) -> None:
        self.stop("its producer's process ended")

    def _leave_block(self) -> None:
        self.stop()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        super().__exit__(kind, error, trace)
        if kind is None and self._is_own and not self._has_raised and self.error is not None:
            self._has_raised = True
            raise self.error

    # Bound here: at the interpreter's end the module's names are gone before the last handle.
    def __del__(self, is_finalizing: Callable[[], bool] = sys.is_finalizing) -> None:
        if "_name" in self.__dict__ and not is_finalizing():
            self.stop("its producer was dropped")

    def __repr__(self) -> str:
        state = self.stats["state"] if self._is_own else "of the process that forked this one"
        return f"<batchcast.Serving of stream `{self._name}`, {state}>"


def _setting_text(value: Any) -> str:
    """As the command line writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


def _place_of(directory: str) -> str:
    """Where streams lie for a caller who says this directory; "" for the usual places."""
    asked = directory or os.environ.get("BATCHCAST_DIR", "")
    return os.path.abspath(asked) if asked else ""


def own_servings(stream: str, directory: str) -> list[Serving]:
    """Those of this process that have this name, and have not been asked to end."""
    servings = [one for one in list(_of_this_process) if isinstance(one, Serving)]
    return [one for one in servings if one._has_name(stream, _place_of(directory))]


def taken_here(stream: str) -> StreamTaken:
    return StreamTaken(
        f"batchcast: stream `{stream}` is already served by this process. End it with `s.stop()`, s"
        f" being what bc.serve returned, or choose another name; bc.serve(..., replace=True) ends"
        f" it itself."
    )


def make_way(stream: str, directory: str, replaces: bool) -> None:
    """Stops what this process serves by that name; raises StreamTaken unless it is to."""
    for one in own_servings(stream, directory):
        if not replaces:
            raise taken_here(stream)
        one.stop("its producer was replaced by another of the same process")


def _left_ms(end: float | None) -> int:
    if end is None:
        return _SLICE_MS
    return max(0, min(_SLICE_MS, int(1000 * (end - time.monotonic())) + 1))


class DatasetServing(Serving):
    """A dataset's samples, made by threads of C++."""

    def __init__(
        self,
        options: ServeOptions,
        location: str,
        source: PythonSource | None,
        *,
        talks: bool,
        pure: bool,
        readers: Readers | None = None,
        asked_to_end: AskedToEnd,
    ) -> None:
        self._source = source
        self._readers = readers
        self._error: BaseException | None = None
        self._watching: threading.Thread | None = None
        asked_to_end()  # from here on an exception might drop the stream
        self._run = DatasetStream(options, location, source, talks, pure)
        super().__init__(options)
        try:
            while not self._run.wait_opened(_SLICE_MS):
                if why := asked_to_end():
                    self._run.ask_to_end(why)
            if why := asked_to_end():
                self._stop(why)  # which says what it did not wait for
            # One that fails at an early sample was open, however soon: `error` tells.
            failure = self.error if not self._run.directory else None
        except BaseException:
            self._run.ask_to_end("its producer was interrupted")
            raise
        if failure is not None:
            raise failure

    def watch(self) -> None:
        """Starts the thread that prints a failure to stderr."""
        self._watching = threading.Thread(
            target=_tell_failure_of,
            args=(self._run, self._name),
            name=f"bc-watch {self._name}",
            daemon=True,
        )
        self._watching.start()

    def _end_with_process(self) -> None:
        super()._end_with_process()
        if self._watching is not None:
            self._watching.join(patience_s)

    @property
    def directory(self) -> str:
        self._check_process()
        return self._run.directory

    @property
    def running(self) -> bool:
        return not self._run.wait_ended(0) and self._run.stats()["state"] != "failed"

    @property
    def error(self) -> BaseException | None:
        # One that failed still tells trainers that are just coming, for half a second.
        if self._error is None and not self.running and self._run.wait_ended(_FAREWELL_MS):
            try:
                _raise_failure_of(self._run)
            except Exception as error:
                cause = None if self._source is None else self._source.first_failure
                if isinstance(error, BadSample) and cause is not None:
                    error.__cause__ = cause
                self._error = error
        return self._error

    @property
    def stats(self) -> dict[str, Any]:
        self._check_process()
        return self._run.stats()

    def _set(self, values: list[tuple[str, str]]) -> None:
        self._run.set(values)

    def _stop(self, reason: str) -> None:
        self._run.ask_to_end(reason)
        if self._readers is not None and not self._run.wait_ended(_READERS_PATIENCE_MS):
            self._readers.close()  # a worker that waits for one gets an error
        end = time.monotonic() + patience_s
        while not self._wait_slice(_SLICE_MS):
            if time.monotonic() > end and not self._run.wait_opened(0):
                break  # its thread ends once that is through
        hangs = self._run.hangs or ("" if self._wait_slice(0) else "its dataset to be opened")
        if hangs:
            _warn(f"the end of stream `{self._name}` did not wait for {hangs}")

    def _wait_slice(self, at_most_ms: int) -> bool:
        is_over = self._run.wait_ended(at_most_ms)
        if is_over and self._readers is not None:
            self._readers.close()
        return is_over


class LoaderServing(Serving):
    """What a loader gives, copied into the ring by one thread."""

    def __init__(self, options: ServeOptions, stream: BatchStream, looping: Looping) -> None:
        self._stream = stream
        self._looping = looping
        super().__init__(options)

    def begin(self) -> None:
        threading.Thread(
            target=_work_in_thread,
            args=(self._looping, self._name),
            name=f"bc-serve {self._name}",
            daemon=True,
        ).start()

    def work(self) -> None:
        self._looping.work()

    @property
    def directory(self) -> str:
        return self._stream.directory

    @property
    def running(self) -> bool:
        return self._looping.error is None and not self._looping.ended.is_set()

    @property
    def error(self) -> BaseException | None:
        error = self._looping.error
        late = self._looping.was_over and self.stats["state"] == "stopped"
        if isinstance(error, Exception) and late:
            return None  # what the loader met after that
        return error

    @property
    def stats(self) -> dict[str, Any]:
        self._check_process()
        return self._stream.stats()

    def _set(self, values: list[tuple[str, str]]) -> None:
        self._stream.set(values)

    def _stop(self, reason: str) -> None:
        self._stream.stop(reason)
        if self._looping.ended.wait(patience_s):
            return
        left = "" if self._looping.leave() else ". Its files are there until that goes on"
        _warn(
            f"the end of stream `{self._name}` did not wait for its loader, which is "
            f"{self._looping.place_now()}{left}"
        )

    def _wait_slice(self, at_most_ms: int) -> bool:
        return self._looping.ended.wait(at_most_ms / 1000)


def _work_in_thread(looping: Looping, name: str) -> None:
    with contextlib.suppress(BaseException):  # such as SystemExit: wait() raises it
        looping.work(name)


def _tell_failure_of(run: DatasetStream, name: str) -> None:
    """Its thread has no reference to the handle."""
    try:
        while not run.wait_ended(_LONG_MS):
            pass
        _raise_failure_of(run)
    except Exception as error:
        tell_failure(name, _items.reason(error))


def _raise_failure_of(run: DatasetStream) -> None:
    """Once it is over. What a sample of one that was stopped met after that failed nothing, such as
    the end of the process that reads it."""
    if run.stats()["state"] != "stopped":
        run.raise_failure()


def _warn(text: str) -> None:
    warnings.warn(f"batchcast: {text}.", RuntimeWarning, stacklevel=4)
