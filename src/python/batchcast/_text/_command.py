# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""The words of `batchcast tokenize`, what it shows, and how it ends."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from types import FrameType
from typing import Any, NoReturn

from .. import errors
from .._names import did_you_mean
from ._corpus import Corpus, Plan, counted

_EXIT_OK, _EXIT_USAGE, _EXIT_ENVIRONMENT = 0, 2, 3
_WORDS = (
    "tokenizer", "out", "under_key", "chat_template", "train_on", "no_eos", "test", "workers",
    "on_bad_sample", "json",
)  # fmt: skip
_LINES_S = 5.0  # between two lines where stderr is no terminal
_SHOWN_S = 0.5


class _Asked(BaseException):
    """A signal asks this process to end."""


class Progress:
    """Says how far the work has got: on one line of a terminal, else line by line. A trainer that waits for
    this process takes a line as a sign of life."""

    def __init__(self) -> None:
        self._terminal = sys.stderr.isatty()
        self._began = self._shown = time.monotonic()
        self._from = self._all = 0

    def begin(self, done: int, total: int) -> None:
        self._from, self._all = done, total
        self._began = self._shown = time.monotonic()

    def wait(self, share: float) -> None:
        """Another process does the work, and has got that far."""
        if self._is_due():
            self._print(f"tokenising: {share:.0%}, in another process")

    def _is_due(self) -> bool:
        now = time.monotonic()
        if now - self._shown < (_SHOWN_S if self._terminal else _LINES_S):
            return False
        self._shown = now
        return True

    def _print(self, line: str) -> None:
        _say(f"\r{line:<78}" if self._terminal else line + "\n", end="")

    def show(self, done: int, tokens: int) -> None:
        if not self._is_due():
            return
        now = self._shown
        rate = (done - self._from) / max(1e-9, now - self._began)
        left = "" if rate == 0 else f", {_time_text((self._all - done) / rate)} left"
        line = (
            f"tokenising: {done / max(1, self._all):.0%}, {tokens / 1e6:,.1f} M tokens, "
            f"{rate / 1e6:,.1f} MB/s{left}"
        )
        self._print(line)

    def end(self, done: int, tokens: int) -> None:
        if self._terminal:
            _say("\r" + " " * 78 + "\r", end="")


def _time_text(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _say(text: str, end: str = "\n") -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        print(text, end=end, file=sys.stderr, flush=True)


def _check_prefix(out: str) -> None:
    if out.endswith("/"):
        raise errors.InvalidArgument(
            f"batchcast: --out {out} names a folder. Name the corpus in it, such as --out {out}corpus."
        )
    stem, ending = os.path.splitext(out)
    if ending in (".bin", ".idx", ".json", ".loss_mask"):
        raise errors.InvalidArgument(
            f"batchcast: --out is how the names of all files begin. Write --out {stem}, which makes "
            f"{stem}.bin and {stem}.idx."
        )


def plan_of(words: list[str]) -> tuple[Plan, bool]:
    """What the words ask for, and whether the result is printed as JSON."""
    given: dict[str, Any] = {}
    for word in words[1:]:
        name, _, value = word.removeprefix("--").partition("=")
        name = name.replace("-", "_")
        if name not in _WORDS or not word.startswith("--"):
            raise errors.InvalidArgument(
                f"batchcast: tokenize has no option `{word}`.{did_you_mean(name, _WORDS)}"
            )
        given[name] = value
    for name in ("tokenizer", "out"):
        if not given.get(name):
            raise errors.InvalidArgument(f"batchcast: tokenize needs --{name}.")
    if "under_key" not in given:
        _check_prefix(given["out"])
    try:
        test, workers = float(given.get("test", 0)), int(given.get("workers", 0))
    except ValueError as error:
        raise errors.InvalidArgument(f"batchcast: tokenize: {error}.") from None
    if not 0 <= test < 1:
        raise errors.InvalidArgument("batchcast: --test is a part of the rows, from 0 to below 1.")
    plan = Plan(
        words[0], given["tokenizer"], given["out"], given.get("chat_template"),
        given.get("train_on", "assistant"), "no_eos" not in given, test,
        given.get("on_bad_sample", "error"), workers, "under_key" in given,
    )  # fmt: skip
    return plan, "json" in given


def _raise_asked(number: int, frame: FrameType | None) -> None:
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    raise _Asked(signal.Signals(number).name)


def _result_text(told: dict[str, Any], prefix: str) -> str:
    counts = told["counts"]
    lines = [
        f"{prefix}{ending}: {counted(counts[split + 'documents'], 'document')}, "
        f"{counted(counts[split + 'tokens'], 'token')}, of which {counts[split + 'trained']:,} are trained"
        for split, ending in (("", ""), ("test_", ".test"))
        if not split or counts["test_documents"]
    ]
    if counts["bad"]:
        lines.append(f"left out: {counted(counts['bad'], 'bad row')}")
    if counts["empty"]:
        lines.append(f"left out: {counted(counts['empty'], 'row')} without a token")
    return "\n".join(lines)


def _run(words: list[str]) -> int:
    plan, as_json = plan_of(words)
    corpus = Corpus(plan, lambda text: _say(f"batchcast: {text}"), Progress())
    told = corpus.make()
    if as_json:
        print(json.dumps({"prefix": corpus.prefix, **told}), flush=True)
    else:
        print(_result_text(told, corpus.prefix), flush=True)
    return _EXIT_OK


def _leave_torch_out(words: list[str]) -> None:
    """transformers imports torch where it finds it, which takes longer than all else of a start, and a
    tokenizer needs none of it. Only TRL does."""
    if "--chat-template=trl" not in words:
        sys.modules.setdefault("torch", None)  # type: ignore[arg-type]


def main() -> NoReturn:
    _leave_torch_out(sys.argv[1:])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, _raise_asked)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
    try:
        code = _run(sys.argv[1:])
    except _Asked as asked:
        _say(f"batchcast: ended by {asked}. The same command goes on from here.")
        code = 128 + int(signal.Signals[str(asked)])
    except errors.InvalidArgument as error:
        _say(str(error))
        code = _EXIT_USAGE
    except (errors.Error, ImportError) as error:
        _say(str(error))
        code = _EXIT_ENVIRONMENT
    except BrokenPipeError:
        code = _EXIT_ENVIRONMENT
    except OSError as error:
        _say(f"batchcast: {error}.")
        code = _EXIT_ENVIRONMENT
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.stdout.flush()
    os._exit(code)
