# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What a node pays for `--shard blocks`: the rate of a rank that has one column of four, beside that of a
trainer that has all samples.

    python blocks.py FOLDER [ROUNDS] [SECONDS]

FOLDER is an image folder, served as `imagenet-train` by two workers. Both streams are measured by turns,
each alone. Prints a line of JSON: samples a second of each round, and the median of the rounds' ratios.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import batchcast as bc

BATCH = 64
COMMAND = os.environ.get("BATCHCAST_COMMAND", "batchcast")


def rate_of(folder: str, seconds: float, words: tuple[str, ...], group: str | None) -> float:
    """Samples a second, from the second batch on."""
    with tempfile.TemporaryDirectory() as directory:
        process = subprocess.Popen(
            [COMMAND, "serve", f"imagefolder:{folder}", "--stream", "blocks", "--recipe", "imagenet-train",
             "--workers", "2", *words],
            env=dict(os.environ, BATCHCAST_DIR=directory), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            options = {} if group is None else {"group": group}
            with bc.Consumer("blocks", BATCH, directory=directory, connect_timeout=60, **options) as consumer:
                samples, began = 0, 0.0
                while began == 0.0 or time.monotonic() - began < seconds:
                    for batch in consumer:
                        now = time.monotonic()
                        if began == 0.0:
                            began = now
                        else:
                            samples += batch.size
                        if now - began >= seconds:
                            break
                return samples / (time.monotonic() - began)
        finally:
            process.terminate()
            process.wait()


def main() -> None:
    folder = sys.argv[1]
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 8
    plain, blocks = [], []
    for number in range(rounds):
        # Each goes first in half of the rounds.
        turns = [("plain", (), None), ("blocks", ("--shard", "blocks"), "node:0/1@1/4")]
        for name, words, group in turns if number % 2 == 0 else reversed(turns):
            (plain if name == "plain" else blocks).append(rate_of(folder, seconds, words, group))
    ratios = [one / other for one, other in zip(blocks, plain, strict=True)]
    print(
        json.dumps(
            {
                "plain": [round(one, 1) for one in plain],
                "blocks": [round(one, 1) for one in blocks],
                "ratio": round(statistics.median(ratios), 4),
            }
        )
    )


if __name__ == "__main__":
    main()
