# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`batchcast serve` of what Python reads: `python:`, `huggingface:` and `parquet:` sources."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

from . import __version__, _items, _serve, errors
from ._names import did_you_mean
from ._producer import ServeOptions, end_in_time, end_without_python

# As the command has them.
_EXIT_OK, _EXIT_USAGE, _EXIT_ENVIRONMENT, _EXIT_STREAM_ENDED = 0, 2, 3, 4
# How long the process may live after a signal, for any behaviour of Python. The times are for
# before there is a stream, while there is one, and after the last message.
_OPENING_MS, _SERVING_MS, _SAID_MS = 500, 3000, 1000
_SLICE_S = 0.05  # between two looks for a signal
_TRACEBACK_MAX = 20_000  # letters


class Asked(BaseException):
    """A signal asks this process to end."""


class _Signals:
    """SIGTERM, SIGINT and SIGHUP.

    Where they come they raise Asked, so that a source that hangs is left, until a stream is about to
    be made. From there on they are only noted: an exception between two steps might drop the
    stream's handle, and trainers would not hear why the stream ended.
    """

    def __init__(self) -> None:
        self._raise = True
        self.came: str | None = None
        self._own = [signal.SIGTERM, signal.SIGINT]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # else nohup
            self._own.append(signal.SIGHUP)

    def take(self) -> None:
        """From the first of them on, Asked may be raised."""
        os.register_at_fork(after_in_child=self._leave_to_child)
        for number in self._own:
            signal.signal(number, self._note)
        end_in_time(_EXIT_OK, _OPENING_MS)

    def _leave_to_child(self) -> None:
        """A process that a source forked may be terminated by it, as multiprocessing does. Ctrl-C,
        which all processes of a terminal get, is the parent's."""
        for number in self._own:
            if number != signal.SIGINT and signal.getsignal(number) == self._note:
                signal.signal(number, signal.SIG_DFL)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.came is None:  # what ends in order is not interrupted again
            self.came = signal.Signals(number).name
            if self._raise:
                raise Asked

    def asked_to_end(self) -> str:
        """Why the stream is to end, or "". From the first call on nothing is raised."""
        if self._raise:
            self._raise = False
            end_in_time(_EXIT_OK, _SERVING_MS)  # trainers may be there already
        return "" if self.came is None else f"its producer got {self.came}"

    def leave_to_c(self) -> None:
        """Python has nothing more to do with them. Those of a process that ends are its last, and
        come where no Python is any more, too."""
        for number in self._own:
            if signal.getsignal(number) == self._note:  # else the source took it
                signal.signal(number, signal.SIG_IGN)


def split_options(text: str) -> tuple[str, dict[str, str]]:
    """`DIR?split=train&label=fine` as `DIR` and its options. A `?` may be part of a path, too."""
    place, mark, tail = text.rpartition("?")
    if not mark or not tail.partition("=")[0].isidentifier() or "=" not in tail:
        return text, {}
    options = {}
    for one in tail.split("&"):
        name, equals, value = one.partition("=")
        if not equals or not name.isidentifier():
            raise errors.InvalidArgument(
                f"batchcast: `{one}` in `{text}` is no option. Write NAME=VALUE."
            )
        options[name] = value
    return place, options


def _is_module_itself(missing: str | None, module: str) -> bool:
    return missing is not None and (module + ".").startswith(missing + ".")


def _made(text: str, factory: Callable[..., Any], *places: Any, **options: Any) -> Any:
    """What the factory returns. Options that it does not take are the user's; what it raises itself
    is its own, also a TypeError."""
    try:
        signature = inspect.signature(factory)
    except (TypeError, ValueError):  # of C, and says nothing
        return factory(*places, **options)
    try:
        signature.bind(*places, **options)
    except TypeError as error:
        known = signature.parameters
        meant = "".join(did_you_mean(name, known) for name in options if name not in known)
        raise errors.InvalidArgument(f"batchcast: `{text}`: {error}.{meant}") from None
    return factory(*places, **options)


def _of_python(text: str) -> Any:
    place, options = split_options(text)
    name, colon, attribute = place.partition(":")
    if not colon or not name or not attribute:
        raise errors.InvalidArgument(
            f"batchcast: `python:{text}` names no factory. Write `python:MODULE:FACTORY`: FACTORY in "
            "MODULE returns a dataset or a loader."
        )
    try:
        found: Any = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if not _is_module_itself(error.name, name):
            raise
        raise errors.InvalidArgument(
            f"batchcast: there is no module `{name}` in {os.getcwd()}, nor where {sys.executable} "
            "looks for others."
        ) from None
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise errors.InvalidArgument(f"batchcast: module `{name}` has no `{attribute}`.")
        found = getattr(found, part)
    if not callable(found):
        if options:
            raise errors.InvalidArgument(f"batchcast: `{place}` is no function, and takes no options.")
        return found
    return _made(f"python:{text}", found, **options)


def _columns(options: dict[str, str]) -> dict[str, Any]:
    """`label=` is none."""
    return {name: value or None for name, value in options.items()}


def _of_hugging_face(text: str) -> Any:
    from . import sources

    place, options = split_options(text)
    return _made(f"huggingface:{text}", sources.HuggingFace, place, **_columns(options))


def _of_parquet(text: str) -> Any:
    from . import sources

    place, options = split_options(text)
    return _made(f"parquet:{text}", sources.Parquet, place.split(","), **_columns(options))


def open_source(text: str) -> Any:
    """The dataset or loader that a source's text means."""
    kind, _, rest = text.partition(":")
    if not rest:
        raise errors.InvalidArgument(f"batchcast: `{text}` does not say what it is to read.")
    make = {"python": _of_python, "huggingface": _of_hugging_face, "parquet": _of_parquet}[kind]
    return make(rest)


def _options_of(words: list[str]) -> ServeOptions:
    """What the command hands on. It has checked all, but may be of another version."""
    try:
        return ServeOptions.of_words(words)
    except errors.InvalidArgument as error:
        raise errors.InvalidArgument(
            f"{error} This is the package batchcast {__version__} of {sys.executable}; a command "
            "`batchcast` of another version may have options that it does not know."
        ) from None


def _report(serving: _serve.Serving, seconds: float) -> Iterator[str]:
    stats = serving.stats
    yield f"stream `{serving.stream}` {stats['state']}: {stats['published']:,} samples"
    yield f" in {seconds:.1f} s, waited {stats['space_wait_seconds']:.1f} s for space"
    if stats["unread"] and stats["state"] not in ("stopped", "failed"):
        yield f", the last {stats['unread']:,} read by no consumer"
    if stats["bad_samples"]:
        yield f", {_counted(stats['bad_samples'], 'bad sample')}"
    if stats["stand_in_times"]:
        yield f", for which {_counted(stats['stand_ins'], 'other')} stood in"
        yield f" {_counted(stats['stand_in_times'], 'time')}"


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _opened(text: str) -> Any:
    owner = os.getpid()
    try:
        return open_source(text)
    finally:
        if os.getpid() != owner:
            _say(
                f"batchcast: `{text}` forked, and the child came back from it. It ends here: only "
                "the first process serves."
            )
            os._exit(_EXIT_ENVIRONMENT)


def _begun(text: str, words: list[str], signals: _Signals) -> _serve.Serving:
    options = _options_of(words)
    return _serve.serve_as(text, _opened(text), options, signals.asked_to_end)


def _wait_for(serving: _serve.Serving, signals: _Signals) -> None:
    try:
        while not serving.wait(_SLICE_S):
            if why := signals.asked_to_end():
                serving.stop(why)
                if serving.error is not None:  # before the signal; trainers got it
                    raise serving.error
                return
    except errors.Error:
        raise
    except SystemExit as left:  # a loader's own
        raise _Failed(f"called sys.exit({left.code!r}) while it was served") from left
    except Exception as error:  # a loader's own
        raise _Failed(f"failed while it was served: {_shown(error)}") from error


def _attend(serving: _serve.Serving, text: str, begin: float, signals: _Signals) -> int:
    """Attends to the stream until it is over. Returns the exit code: that of a failure, even if
    others follow."""
    end_in_time(_EXIT_OK, _SERVING_MS)
    try:
        _wait_for(serving, signals)
    except BaseException as error:
        return _tell(error, text, _EXIT_STREAM_ENDED)
    try:
        print("".join(_report(serving, time.monotonic() - begin)), flush=True)
    except (OSError, ValueError):  # its reader may be gone, or the source closed it
        sys.stdout = None
    return _EXIT_OK


class _Failed(Exception):
    """What the source did, after its name."""


def _shown(error: BaseException) -> str:
    try:
        return _items.cut(repr(error))
    except Exception:
        return type(error).__name__


def _say(text: str) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):  # a source may close it
        print(_items.shown(text), file=sys.stderr, flush=True)


def _tell(error: BaseException, text: str, code: int = _EXIT_ENVIRONMENT) -> int:
    """Says what went wrong, with the traceback of what is not ours. Returns the exit code."""
    if code == _EXIT_ENVIRONMENT and isinstance(error, errors.InvalidArgument):
        code = _EXIT_USAGE
    end_in_time(code, _SERVING_MS)  # a signal from here on makes no success of it
    cause = error.__cause__ if isinstance(error, _Failed) else error
    if isinstance(cause, Exception) and not isinstance(cause, errors.Error):
        _say(_items.cut("".join(traceback.format_exception(cause)).rstrip(), _TRACEBACK_MAX))
    if isinstance(error, errors.Error | ImportError):
        _say(str(error))
        return code
    said = f"cannot be opened: {_shown(error)}"
    if isinstance(error, _Failed):
        said = str(error)
    elif isinstance(error, SystemExit):
        said = f"called sys.exit({error.code!r}) while it was opened, and gave nothing to serve."
    _say(f"batchcast: `{text}` {said}")
    return code


def serve(words: list[str]) -> NoReturn:
    """`batchcast serve` with these words, the source first; ends the process as the command would."""
    signals = _Signals()
    code = _EXIT_OK
    begin = time.monotonic()
    try:
        try:
            signals.take()
            serving = _begun(words[0], words[1:], signals)
        except BaseException as error:
            # After a signal the exception may be what the source made of that while it was opened.
            if not signals.asked_to_end():
                code = _tell(error, words[0])
        else:
            code = _attend(serving, words[0], begin, signals)
    except Asked:  # just as it failed
        pass
    signals.leave_to_c()
    end_without_python(code, _SAID_MS)
    sys.exit(code)
