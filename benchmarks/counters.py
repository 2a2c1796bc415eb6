#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What the numbers of a stream cost its producer: the processor time of a producer whose 20 trainers stand still,
without a view, and with `batchcast top` open. Usage: counters.py [--seconds N] [--trainers N] [--batchcast P]
[--baseline P], where the latter is the command of another version, for the first of these figures.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seconds", type=float, default=20)
parser.add_argument("--trainers", type=int, default=20)
parser.add_argument("--batchcast", default="build/release/batchcast")
parser.add_argument("--baseline")
options = parser.parse_args()


def cpu_ns_of(pid: int) -> int:
    """Of all threads, as the scheduler counts it."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as file:
            total += int(file.read().split()[0])
    return total


def percent_of(pid: int) -> float:
    before, began = cpu_ns_of(pid), time.monotonic()
    time.sleep(options.seconds)
    return (cpu_ns_of(pid) - before) / 1e7 / (time.monotonic() - began)


def measure(batchcast: str, with_view: bool) -> dict[str, float]:
    os.environ["BATCHCAST_DIR"] = tempfile.mkdtemp(prefix="batchcast-counters.")
    words = [batchcast, "serve", "synthetic:3x8x8", "--dtype", "u8", "--samples", "100000", "--stream", "s"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    producer = subprocess.Popen([*words, "--memory", "1MiB", "--workers", "1"], **quiet)
    while subprocess.run([batchcast, "ls", "s"], capture_output=True).returncode != 0:
        time.sleep(0.05)
    trainers = []
    for number in range(options.trainers):
        trainers.append(subprocess.Popen([batchcast, "consume", "s", "--name", f"trainer-{number}"], **quiet))
    while True:
        told = subprocess.run([batchcast, "ls", "s", "--json"], capture_output=True, text=True).stdout
        if len(json.loads(told)[0]["consumers"]) == options.trainers:
            break
    for trainer in trainers:
        trainer.send_signal(signal.SIGSTOP)
    time.sleep(2)
    figures = {"no_view_percent": percent_of(producer.pid)}
    if with_view:
        view = subprocess.Popen([batchcast, "top", "--json"], stdout=subprocess.DEVNULL)
        time.sleep(2)
        before, began = cpu_ns_of(view.pid), time.monotonic()
        figures["view_percent"] = percent_of(producer.pid)
        figures["top_percent"] = (cpu_ns_of(view.pid) - before) / 1e7 / (time.monotonic() - began)
        view.kill()
        view.wait()
    for child in [*trainers, producer]:
        child.kill()
        child.wait()
    return figures


figures = measure(options.batchcast, True)
if options.baseline:
    figures["baseline_percent"] = measure(options.baseline, False)["no_view_percent"]
for name, value in figures.items():
    print(f"{name:18} {value:.3f} % of a core")
print(json.dumps({"benchmark": "counters", "trainers": options.trainers, **figures}))
sys.exit(0)
