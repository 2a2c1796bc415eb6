#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What sharing saves, as `batchcast top` says it, beside what separate producers really take.

One producer serves N trainers, then N producers serve one each, of the same images and recipe. The processor time
of the separate ones, as the kernel counts it for their processes, is compared with what the model said of the shared
one. Usage: saved.py IMAGES [--trainers N] [--epochs N] [--recipe R] [--batchcast P]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("images")
parser.add_argument("--trainers", type=int, default=3)
parser.add_argument("--epochs", type=int, default=2)
parser.add_argument("--recipe", default="imagenet-train")
parser.add_argument("--batchcast", default="build/release/batchcast")
options = parser.parse_args()


def command(*words: str) -> list[str]:
    return [options.batchcast, *words]


def stats_of(stream: str) -> dict[str, float]:
    told = subprocess.run(command("ls", stream, "--json"), capture_output=True, text=True, check=True)
    return dict(json.loads(told.stdout)[0])


def serve(stream: str, trainers: int) -> subprocess.Popen[bytes]:
    producer = subprocess.Popen(
        command("serve", f"imagefolder:{options.images}", "--recipe", options.recipe, "--stream", stream)
        + ["--memory", "64MiB", "--workers", "1", "--wait-for", str(trainers)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while subprocess.run(command("ls", stream), capture_output=True).returncode != 0:
        time.sleep(0.05)
    return producer


def train(stream: str, trainers: int) -> None:
    words = command("consume", stream, "--batch-size", "32", "--epochs", str(options.epochs))
    children = [subprocess.Popen(words, stdout=subprocess.DEVNULL) for _ in range(trainers)]
    for child in children:
        if child.wait() != 0:
            sys.exit("a trainer failed")


def cpu_at_end(producer: subprocess.Popen[bytes], stream: str) -> float:
    subprocess.run(command("stop", stream), stdout=subprocess.DEVNULL, check=True)
    usage = os.wait4(producer.pid, 0)[2]
    producer.returncode = 0
    return usage.ru_utime + usage.ru_stime


def main() -> int:
    os.environ["BATCHCAST_DIR"] = tempfile.mkdtemp(prefix="batchcast-saved.")
    producer = serve("shared", options.trainers)
    train("shared", options.trainers)
    time.sleep(0.5)  # the workers' times are counted five times a second
    stats = stats_of("shared")
    shared = cpu_at_end(producer, "shared")
    said = stats["cpu_seconds"] * stats["delivered"] / stats["samples"]
    separate = 0.0
    for number in range(options.trainers):
        producer = serve(f"alone-{number}", 1)
        train(f"alone-{number}", 1)
        separate += cpu_at_end(producer, f"alone-{number}")
    print(f"one producer for {options.trainers} trainers took {shared:.2f} s of processors")
    print(f"separate producers: the model says {said:.2f} s, measured {separate:.2f} s, {said / separate - 1:+.1%}")
    print(f"saved: the model says {said - stats['cpu_seconds']:.2f} s, measured {separate - shared:.2f} s")
    told = {"benchmark": "saved", "trainers": options.trainers}
    print(json.dumps(told | {"shared_s": shared, "said_s": said, "measured_s": separate}))
    return 0 if abs(said / separate - 1) <= 0.1 else 1


sys.exit(main())
