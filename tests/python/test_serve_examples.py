# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Every program of examples/python that serves."""

from __future__ import annotations

import threading
import zipfile
from pathlib import Path

import batchcast as bc
import pytest

import datasets
import examples


def test_a_dataset_of_ones_own(directory: Path, tmp_path: Path) -> None:
    samples = datasets.image_folder(tmp_path / "images")
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for path, _ in samples:
            archive.write(path, f"{path.parent.name}/{path.name}")
    arguments = (str(tmp_path / "images.zip"), datasets.recipe_file(tmp_path))
    serving = threading.Thread(target=examples.run, args=("serve_own_dataset.py", *arguments))
    serving.start()
    with bc.Consumer("zipped", 4) as consumer:
        assert consumer.pure
        labels = datasets.epoch_of(consumer)["label"].tolist()
        assert sorted(labels) == sorted(label for _, label in samples)
        assert len(datasets.epoch_of(consumer)["label"]) == 10
    serving.join(10)
    assert not serving.is_alive()


def test_a_loader_for_all(directory: Path) -> None:
    pytest.importorskip("torch")
    words = examples.run("serve_loader.py").splitlines()
    assert len(words) == 30 and words[0].startswith("0 (100, 3, 8, 8)")
