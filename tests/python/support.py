# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What the tests share: streams to attach to, other Python processes, and what a stream contains."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import batchcast as bc
import numpy as np

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ.get("BATCHCAST_TEST_COMMAND", str(ROOT / "build/release/batchcast"))


def environment(**changes: str) -> dict[str, str]:
    """Of a child process: this one's, with this one's modules."""
    env = dict(os.environ, **changes)
    env["PYTHONPATH"] = os.pathsep.join(
        [str(Path(__file__).parent), *(path for path in sys.path if path)]
    )
    return env


class Served:
    """A `batchcast serve` of this test."""

    def __init__(
        self, source: str, stream: str, arguments: Sequence[str], log: Path, **changes: str
    ) -> None:
        self.source = source
        self.stream = stream
        self.log = log
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                [COMMAND, "serve", source, "--stream", stream, *arguments],
                stdout=out,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                env=dict(os.environ, **changes),
            )

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        """SIGKILL; returns once the process is gone."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        """SIGTERM, as `batchcast stop` has it end."""
        self.process.terminate()
        self.process.wait(timeout=10)

    def wait(self, timeout: float = 30) -> int:
        """Its exit code, once it has ended by itself."""
        return self.process.wait(timeout=timeout)

    def output(self) -> str:
        return self.log.read_text(errors="replace")


def arguments_of(options: dict[str, Any]) -> list[str]:
    """`wait_for=2, free_running=True` as `--wait-for 2 --free-running`."""
    words = []
    for name, value in options.items():
        words.append("--" + name.replace("_", "-"))
        if value is not True:
            words.append(str(value))
    return words


def dump(source: str, begin: int, end: int, folder: Path, **options: Any) -> dict[str, Any]:
    """The samples at these positions as `batchcast dump` makes them, by field."""
    out = folder / f"dump-{begin}-{end}"
    subprocess.run(
        [COMMAND, "dump", source, "--positions", f"{begin}:{end}", "--out", str(out)]
        + arguments_of(options),
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return {path.stem: np.load(path) for path in out.glob("*.npy")}


def python(code: str, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs `code` in a Python like this one until it ends. Its output is text."""
    options.setdefault("timeout", 30)
    return subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        env=environment(),
        **options,
    )


class Child:
    """A Python process that runs `code` beside the test, and is killed with it."""

    def __init__(self, code: str, *arguments: str) -> None:
        self.errors = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [sys.executable, "-u", "-c", code, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env=environment(),
        )

    @property
    def pid(self) -> int:
        return self.process.pid

    def line(self) -> str:
        """The next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def tell(self, line: str = "") -> None:
        """Lets its `input()` return."""
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def interrupt(self) -> None:
        self.process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def finish(self, timeout: float = 30) -> tuple[int, str, str]:
        """Its exit code, what it printed since `line`, and its errors, once it has ended. Killed at
        the time-out."""
        assert self.process.stdout is not None
        killer = threading.Timer(timeout, self.process.kill)
        killer.start()
        out = self.process.stdout.read()
        code = self.process.wait()
        killer.cancel()
        self.errors.seek(0)
        return code, out, self.errors.read()

    def close(self) -> None:
        self.kill()
        for file in (self.process.stdin, self.process.stdout, self.errors):
            if file is not None:
                file.close()


def until(condition: Callable[[], bool], timeout: float = 30) -> None:
    """Waits for what only looking can tell."""
    deadline = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.002)


class Stopwatch:
    """The time that passes for this process and some others, without what their threads had to wait
    for a core: how busy the machine is says nothing of them."""

    def __init__(self, *others: int) -> None:
        self._pids = (os.getpid(), *others)
        self._waited_ns = self._waits_ns()
        self._begin = time.monotonic()

    def seconds(self, end: float | None = None) -> float:
        """Up to now, or to `end` by the monotonic clock."""
        passed = (time.monotonic() if end is None else end) - self._begin
        waited_ns = sum(
            ns - self._waited_ns.get(thread, 0) for thread, ns in self._waits_ns().items()
        )
        return passed - waited_ns / 1e9

    def _waits_ns(self) -> dict[Path, int]:
        """Of each thread, how long it was ready to run and did not, as the kernel has it."""
        waits = {}
        for pid in self._pids:
            for thread in Path(f"/proc/{pid}/task").glob("*"):
                with contextlib.suppress(OSError):  # it has ended, or the kernel does not count
                    waits[thread] = int((thread / "schedstat").read_text().split()[1])
        return waits


def is_in_a_call(consumer: Any) -> bool:
    """Whether another thread of this process waits in a call of the consumer."""
    try:
        consumer.cursor  # noqa: B018
    except bc.InvalidArgument:
        return True
    return False


def sleeps(pid: int, thread: int | None = None) -> bool:
    """Whether the (main) thread of a process sleeps, as the kernel has it."""
    stat = Path(f"/proc/{pid}/task/{thread or pid}/stat").read_text()
    return stat.rpartition(")")[2].split()[0] == "S"
