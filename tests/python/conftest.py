# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Fixtures: a directory for streams, streams in it, and processes that end with their test."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import support


@pytest.fixture
def directory(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the streams of this test are. Its path is short, as those of sockets have to be."""
    path = Path(tempfile.mkdtemp(prefix="bc-"))
    monkeypatch.setenv("BATCHCAST_DIR", str(path))
    monkeypatch.setenv("BATCHCAST_COMMAND", support.COMMAND)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def serve(directory: Path, tmp_path: Path) -> Iterator[Callable[..., support.Served]]:
    """serve("synthetic:3x8x8", stream="s", samples=640, epochs=1, wait_for=1): a `batchcast serve`
    of these arguments, killed after the test. Attaching waits until it is up."""
    served: list[support.Served] = []

    def start(source: str = "synthetic:3x8x8", stream: str = "s", **options: Any) -> support.Served:
        log = tmp_path / f"serve-{len(served)}.log"
        served.append(support.Served(source, stream, support.arguments_of(options), log))
        return served[-1]

    yield start
    for one in served:
        one.kill()


@pytest.fixture
def child(directory: Path) -> Iterator[Callable[..., support.Child]]:
    """child(code, *arguments): a Python process beside the test, killed after it."""
    children: list[support.Child] = []

    def start(code: str, *arguments: str) -> support.Child:
        children.append(support.Child(code, *arguments))
        return children[-1]

    yield start
    for one in children:
        one.close()


@pytest.fixture
def names() -> Iterator[str]:
    """Names for streams that differ."""
    return (f"s{i}" for i in itertools.count())
