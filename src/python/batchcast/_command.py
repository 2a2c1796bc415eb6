# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""The `batchcast` command inside the package."""

from __future__ import annotations

import os
import signal
import sys
from typing import NoReturn

from . import __path__ as _folders


def path() -> str | None:
    """The command's file; None where the package was built without it."""
    for folder in _folders:  # of an editable install, the checkout's and the built one
        command = os.path.join(folder, "bin", "batchcast")
        if os.access(command, os.X_OK):
            return command
    return None


def _is_handed_on(words: list[str]) -> bool:
    """Whether the command has left these words to Python: `serve`, a source, `--name=value`s."""
    if len(words) < 3 or words[0] != "serve" or "--help" in words:
        return False
    if any(word.startswith("--tokenizer") for word in words):  # the command makes a corpus first
        return False
    is_of_python = words[1].startswith(("python:", "huggingface:", "parquet:"))
    return is_of_python and all(word.startswith("--") for word in words[2:])


def _leave_at_signals() -> None:
    """Lets a signal end the process until the serving module is imported, which may take seconds.
    Nothing is lost by that. The command has blocked the signals: the interpreter's start is over
    now."""
    numbers = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
    for number in numbers:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda number, frame: os._exit(0))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


def main() -> NoReturn:
    """Becomes the command: its process is this one, so its signals and exit status are, too.

    It runs `serve` of a source that Python reads by itself: the command has handed it on.
    """
    if _is_handed_on(sys.argv[1:]):
        from . import _shell

        _shell.serve(sys.argv[2:])
    command = path()
    if command is None:
        sys.exit(
            f"batchcast: there is no command in {os.pathsep.join(_folders)}; "
            "it comes with `pip install` of a checkout or wheel"
        )
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; the command would inherit it
        signal.signal(ignored, signal.SIG_DFL)
    # Where the command needs a Python, it takes this one, which has the package.
    os.environ.setdefault("BATCHCAST_PYTHON", sys.executable)
    os.execv(command, ["batchcast", *sys.argv[1:]])


# This comes before `main`: what the package imports next may take seconds.
if sys.argv[:1] == ["-m"] and _is_handed_on(sys.argv[1:]):
    _leave_at_signals()
