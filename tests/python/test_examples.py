# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Every program of examples/python that needs no framework besides torch or numpy."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import examples
import support


def share_of(words: str) -> float:
    """The last percentage in a text."""
    return float(re.findall(r"([0-9.]+)%", words)[-1])


def test_every_example_is_run() -> None:
    tests = Path(__file__).parent.glob("test_*.py")
    text = "".join(path.read_text() for path in tests)
    for example in examples.FOLDER.glob("*.py"):
        assert f'"{example.name}"' in text


@examples.needs_fashion
def test_numpy_alone(serve: Callable[..., support.Served]) -> None:
    serve(f"idx:{examples.TEN_THOUSAND}", stream="mnist", recipe="mnist", epochs=2, wait_for=1)
    words = examples.run("numpy_trainer.py", "mnist")
    assert words.startswith("epoch 0")
    assert share_of(words) > 70


@examples.needs_fashion
def test_the_trainer_of_eight_lines(serve: Callable[..., support.Served]) -> None:
    pytest.importorskip("torch")
    serve(f"idx:{examples.TEN_THOUSAND}", stream="mnist", recipe="mnist", epochs=2, wait_for=1)
    words = examples.run("trainer.py", "mnist")
    assert words.startswith("20000 samples")
    assert share_of(words) > 60


def test_text_of_tokens(directory: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    file = tmp_path / "train.bin"
    tokens = np.arange(20 * 16 * 128 + 900, dtype=np.uint16) % 100  # each one says the next
    file.write_bytes(tokens.tobytes())
    with examples.started(directory):
        words = examples.run("text_trainer.py", str(file))
    assert words.startswith("40 batches of (16, 128), loss 0.")


@examples.needs_fashion
def test_fashion_mnist_on_streams_that_it_starts(directory: Path) -> None:
    pytest.importorskip("torch")
    with examples.started(directory):
        words = examples.run("fashion_mnist.py", str(examples.FASHION), "--epochs", "1")
    assert share_of(words) > 70
