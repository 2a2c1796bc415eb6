# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What tests of serving serve: images in folders and in memory, and what a stream of them has."""

from __future__ import annotations

import struct
import threading
import zlib
from pathlib import Path
from typing import Any

import batchcast as bc
import numpy as np


def png(pixels: np.ndarray[Any, Any]) -> bytes:
    """A PNG file of u8 pixels: [height, width, 3], or of gray [height, width]."""
    height, width = pixels.shape[:2]
    colour = 2 if pixels.ndim == 3 else 0
    rows = np.concatenate([np.zeros((height, 1), np.uint8), pixels.reshape(height, -1)], axis=1)

    def chunk(kind: bytes, data: bytes) -> bytes:
        return (
            struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows.tobytes()))
        + chunk(b"IEND", b"")
    )


def image_folder(folder: Path, classes: int = 2, each: int = 5) -> list[tuple[Path, int]]:
    """Files and labels, in the order in which an image folder has them."""
    random = np.random.default_rng(7)
    samples = []
    for label in range(classes):
        (folder / f"class{label}").mkdir(parents=True)
        for i in range(each):
            path = folder / f"class{label}" / f"{i}.png"
            size = random.integers(20, 40, 2)
            path.write_bytes(png(random.integers(0, 256, (*size, 3), dtype=np.uint8)))
            samples.append((path, label))
    return samples


RECIPE = """
[[field]]
name = "image"
stages = [
  { stage = "decode" },
  { stage = "random_resized_crop", size = 16 },
  { stage = "horizontal_flip" },
  { stage = "to", dtype = "f32", layout = "chw" },
]

[[field]]
name = "label"
"""


def recipe_file(folder: Path) -> str:
    path = folder / "recipe.toml"
    path.write_text(RECIPE)
    return str(path)


def epoch_of(consumer: bc.Consumer) -> dict[str, np.ndarray[Any, Any]]:
    """All samples of the next epoch, copied, by field."""
    batches: dict[str, list[np.ndarray[Any, Any]]] = {}
    while (batch := consumer.next()) is not None:
        for name in batch.keys():
            batches.setdefault(name, []).append(np.array(batch[name]))
        del batch
    return {name: np.concatenate(arrays) for name, arrays in batches.items()}


class Numbers:
    """Samples that know their number; one of them may fail."""

    def __init__(self, size: int = 50, bad: int = -1) -> None:
        self.size = size
        self.bad = bad

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: int) -> dict[str, Any]:
        if index == self.bad:
            raise KeyError(f"number {index}")
        return {"x": np.full((2, 3), index, np.float32), "label": index}


class Late:
    """A dataset whose sample 7 comes once there is a trainer: of a stream that it fails, one that
    comes later than half a second after that finds nothing."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset
        self.attached = threading.Event()

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        if index == 7:
            self.attached.wait(10)
        return self.dataset[index]


class Images:
    """Files of images as bytes in memory."""

    def __init__(self, samples: list[tuple[Path, int]]) -> None:
        self.samples = [(path.read_bytes(), label) for path, label in samples]

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> dict[str, Any]:
        image, label = self.samples[index]
        return {"image": image, "label": label}

    def fingerprint(self) -> str:
        return "images, version 1"
