# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Runs examples/python in this process, which has imported torch already."""

from __future__ import annotations

import contextlib
import io
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest

import support

FOLDER = support.ROOT / "examples/python"
FASHION = Path("/usr/share/datasets/fashion-mnist")
TEN_THOUSAND = f"{FASHION}?split=test"  # as the folder of an example that takes the smaller part

needs_fashion = pytest.mark.skipif(
    not FASHION.is_dir(), reason="the package dataset-fashion-mnist is not installed"
)


def run(name: str, *arguments: str) -> str:
    """What examples/python/NAME prints."""
    with (
        mock.patch.object(sys, "argv", [name, *arguments]),
        contextlib.redirect_stdout(io.StringIO()) as out,
    ):
        runpy.run_path(str(FOLDER / name), run_name="__main__")
    return out.getvalue()


@contextlib.contextmanager
def started(directory: Path) -> Iterator[None]:
    """Ends the producers that were started within."""
    try:
        yield
    finally:
        for stream in directory.iterdir():
            subprocess.run([support.COMMAND, "stop", stream.name], capture_output=True, check=False)
