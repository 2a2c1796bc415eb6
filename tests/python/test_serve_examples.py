# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Every program of examples/python that serves."""

from __future__ import annotations

import re
import subprocess
import threading
import zipfile
from pathlib import Path

import batchcast as bc
import made_data
import pytest

import examples
import support

TRAINER = Path(support.COMMAND).parent / "examples/example_05_libtorch_loop"


def test_a_dataset_of_ones_own(directory: Path, tmp_path: Path) -> None:
    samples = made_data.image_folder(tmp_path / "images")
    with zipfile.ZipFile(tmp_path / "images.zip", "w") as archive:
        for path, _ in samples:
            archive.write(path, f"{path.parent.name}/{path.name}")
    arguments = (str(tmp_path / "images.zip"), made_data.recipe_file(tmp_path))
    serving = threading.Thread(target=examples.run, args=("serve_own_dataset.py", *arguments))
    serving.start()
    with bc.Consumer("zipped", 4) as consumer:
        assert consumer.pure
        labels = made_data.epoch_of(consumer)["label"].tolist()
        assert sorted(labels) == sorted(label for _, label in samples)
        assert len(made_data.epoch_of(consumer)["label"]) == 10
    serving.join(10)
    assert not serving.is_alive()


def test_a_loader_for_all(directory: Path) -> None:
    pytest.importorskip("torch")
    words = examples.run("serve_loader.py").splitlines()
    assert len(words) == 30 and words[0].startswith("0 (100, 3, 8, 8)")


def test_texts_of_different_lengths(directory: Path) -> None:
    words = examples.run("ragged.py").splitlines()
    assert sum(int(line.split()[1]) for line in words) == 2 * 200
    assert all(int(line.split()[4]) <= 256 for line in words)


def test_windows_of_texts(directory: Path) -> None:
    words = examples.run("windows.py").splitlines()
    assert len(words) == 88 and all("64) of" in line for line in words)


def test_a_dataset_of_hugging_face(directory: Path, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    samples = made_data.image_folder(tmp_path / "images")
    dataset = datasets.Dataset.from_dict(
        {
            "image": [{"bytes": path.read_bytes(), "path": None} for path, _ in samples],
            "label": [label for _, label in samples],
        }
    )
    features = {"image": datasets.Image(), "label": datasets.ClassLabel(names=["a", "b"])}
    dataset.cast(datasets.Features(features)).save_to_disk(tmp_path / "saved")
    arguments = (str(tmp_path / "saved"), made_data.recipe_file(tmp_path))
    said: list[str] = []
    serving = threading.Thread(
        target=lambda: said.append(examples.run("serve_hugging_face.py", *arguments))
    )
    serving.start()
    with bc.Consumer("images", 4) as consumer:
        assert consumer.pure
        for _ in range(2):
            labels = made_data.epoch_of(consumer)["label"].tolist()
            assert sorted(labels) == sorted(label for _, label in samples)
    serving.join(10)
    assert said == ["10 images of 2 classes\n"]


@pytest.mark.skipif(not TRAINER.exists(), reason="the build found no libtorch")
def test_a_dataloader_for_a_trainer_in_cpp(directory: Path) -> None:
    pytest.importorskip("torch")
    with subprocess.Popen([TRAINER, "digits", "served"], stdout=subprocess.PIPE, text=True) as cpp:
        over = threading.Event()

        def end_producer() -> None:
            """It waits for this trainer, and would for ever."""
            stop = [support.COMMAND, "stop", "digits"]
            while cpp.wait() != 0 and not over.wait(0.2):
                subprocess.run(stop, capture_output=True, check=False)

        watch = threading.Thread(target=end_producer)
        watch.start()
        try:
            examples.run("serve_to_cpp.py")
            out, _ = cpp.communicate(timeout=20)
        finally:
            over.set()
            cpp.kill()
            watch.join()
    assert cpp.returncode == 0
    epochs = re.findall(r"(\d+) samples, ([0-9.]+)% right, loss ([0-9.]+)", out)
    assert [samples for samples, _, _ in epochs] == ["5000"] * 3
    losses = [float(loss) for _, _, loss in epochs]
    assert losses[2] < losses[1] < losses[0] and losses[2] < losses[0] / 2
    assert float(epochs[2][1]) > 90
