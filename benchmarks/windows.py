# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""The measurements of windows.sh, which says what they are."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from typing import Any

import batchcast as bc
import numpy as np
import torch

COMMAND, ROUNDS = sys.argv[1], int(sys.argv[2])
ROWS, RUNS = 2048, 8
TOKENS = 64 << 20  # of an epoch
PIECE = 65_536


class Pieces:
    """A dataset of pieces of a text, as views of one array."""

    def __init__(self) -> None:
        self.tokens = np.arange(TOKENS, dtype=np.int32) % 50_257

    def __len__(self) -> int:
        return TOKENS // PIECE

    def __getitem__(self, index: int) -> dict[str, Any]:
        return {"tokens": self.tokens[index * PIECE : (index + 1) * PIECE]}


def serve() -> None:
    """In another process: serves until it is killed."""
    bc.serve(Pieces(), stream="windows", axes={"tokens": "tokens"}, memory="512MiB")


def rows_a_second(seconds: float, as_int64: bool) -> float:
    """One trainer's, of batches [8, 2048]. The first epoch fills caches."""
    window = ("tokens", ROWS, RUNS)
    with bc.Loader("windows", window=window, extra=int(as_int64), fields="tokens") as loader:
        for batches, tokens in enumerate(loader):
            if batches == 200:
                break
        rows = 0
        began = time.perf_counter()
        while time.perf_counter() < began + seconds:
            for tokens in loader:
                if as_int64:
                    whole = tokens.long()
                    inputs, _ = whole[:, :-1], whole[:, 1:]
                    rows += inputs.numel()
                else:
                    rows += tokens.numel()
                if time.perf_counter() >= began + seconds:
                    break
        return rows / (time.perf_counter() - began)


def get_batch(data: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """As nanoGPT's training loop does it, by its description: random places of a memmap, each cut
    to int64 by itself, inputs and targets."""
    places = torch.randint(len(data) - ROWS, (RUNS,))
    cut = [torch.from_numpy(data[i : i + ROWS + 1].astype(np.int64)) for i in places.tolist()]
    return torch.stack([one[:-1] for one in cut]), torch.stack([one[1:] for one in cut])


def get_batch_rows_a_second(path: str, seconds: float) -> float:
    rows = 0
    began = time.perf_counter()
    while time.perf_counter() < began + seconds:
        # Opened for each batch, as it is there, so that its pages do not pile up.
        data = np.memmap(path, dtype=np.uint16, mode="r")
        inputs, _ = get_batch(data)
        rows += inputs.numel()
    return rows / (time.perf_counter() - began)


def ring_rate(words: list[str]) -> float:
    batch_bytes = 64 * 4096 * 4
    run = [COMMAND, "bench", "ring", "--json", "--whole", "--consumers", "4"]
    run += ["--batch-bytes", str(batch_bytes), "--batches", "4000", *words]
    said = json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)
    if said["bad"]:
        sys.exit(f"wrong bytes: {said}")
    return float(said["batches_per_second"]) * batch_bytes


def in_python(seconds: float = 2) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BATCHCAST_DIR"] = folder
        path = os.path.join(folder, "tokens.bin")
        (np.arange(TOKENS, dtype=np.int64) % 50_257).astype(np.uint16).tofile(path)
        producer = subprocess.Popen([sys.executable, __file__, COMMAND, "0", "serve"])
        try:
            rounds = [
                (
                    rows_a_second(seconds, False),
                    rows_a_second(seconds, True),
                    get_batch_rows_a_second(path, seconds),
                )
                for _ in range(ROUNDS)
            ]
        finally:
            producer.kill()
            producer.wait()
    views, as_int64, by_memmap = (statistics.median(side) for side in zip(*rounds))
    over = statistics.median(b / c for _, b, c in rounds)
    print(f"views [8, 2048] {views / 1e6:8.1f} M rows/s")
    print(f"as int64        {as_int64 / 1e6:8.1f} M rows/s  get_batch {by_memmap / 1e6:.1f}  {over:.2f}x")
    return {"rows_per_second": views, "int64_over_get_batch": over}


def main() -> None:
    figures = in_python()
    pairs = [(ring_rate([]), ring_rate(["--axis", "--windows"])) for _ in range(ROUNDS)]
    figures["four_over_fixed"] = statistics.median(b / a for a, b in pairs)
    gib = [statistics.median(side) / 2**30 for side in zip(*pairs)]
    print(
        f"four trainers: fixed {gib[0]:.2f} GiB/s  windows {gib[1]:.2f} GiB/s"
        f"  windows / fixed {figures['four_over_fixed']:.2f}"
    )
    print(json.dumps({"machine": platform.node(), **figures}))


if __name__ == "__main__":
    serve() if sys.argv[3:] == ["serve"] else main()
