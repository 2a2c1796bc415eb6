#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What a trainer that starts again behind the others costs, and when it is with them again.

Four trainers read one stream. One is killed, and starts again 3,000 samples behind: a head gives it its samples. All
rates are differences of positions, as `batchcast ls` says them. Usage: heads.py SOURCE [--recipe R] [--workers N]
[--behind N] [--memory M] [--seconds S] [--catch-up X] [--take RATE] [--batchcast P]. SOURCE is as `batchcast serve`
takes it, such as a folder of photographs. With --take the three that go on take at most RATE samples a second each.
They are Python trainers then, and need the package batchcast.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("source")
parser.add_argument("--recipe", default="imagenet-train")
parser.add_argument("--workers", type=int, default=2)
parser.add_argument("--behind", type=int, default=3_000)
parser.add_argument("--memory", default="256MiB")
parser.add_argument("--seconds", type=float, default=10, help="how long rates are measured before and after")
parser.add_argument("--catch-up", default="0.7")
parser.add_argument("--take", type=float, help="samples a second of each that goes on, at most")
parser.add_argument("--batchcast", default="build/release/batchcast")
options = parser.parse_args()

STREAM = "heads-benchmark"
BATCH = 32
TRAINER = """
import sys, time, batchcast as bc
stream, name, batch, rate = sys.argv[1], sys.argv[2], int(sys.argv[3]), float(sys.argv[4])
due = time.monotonic()
with bc.Consumer(stream, batch, name=name) as consumer:
    while True:
        for _ in consumer:
            due = max(due + batch / rate, time.monotonic() - 1)
            time.sleep(max(0, due - time.monotonic()))
"""


def command(*words: str) -> list[str]:
    return [options.batchcast, *words]


def look() -> dict:
    told = subprocess.run(command("ls", STREAM, "--json"), capture_output=True, text=True, check=True)
    stream = dict(json.loads(told.stdout)[0])
    stream["now"] = time.monotonic()
    return stream


def of(stream: dict, name: str) -> dict | None:
    found = [one for one in stream["consumers"] if one["name"] == name]
    return found[-1] if found else None


def consume(name: str, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command("consume", STREAM, "--name", name, "--batch-size", str(BATCH), "--json", *words),
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def lead(name: str) -> subprocess.Popen[bytes]:
    if options.take is None:
        return consume(name)
    return subprocess.Popen([sys.executable, "-c", TRAINER, STREAM, name, str(BATCH), str(options.take)],
                            stdout=subprocess.DEVNULL)


def rate(before: dict, after: dict, name: str) -> float:
    one, other = of(before, name), of(after, name)
    if one is None or other is None:
        return 0.0
    return (other["position"] - one["position"]) / (after["now"] - before["now"])


def measured(seconds: float, name: str = "lead-0") -> float:
    before = look()
    time.sleep(seconds)
    return rate(before, look(), name)


with tempfile.TemporaryDirectory() as folder:
    os.environ["BATCHCAST_DIR"] = os.path.join(folder, "streams")
    recipe = ["--recipe", options.recipe] if options.recipe else []
    producer = subprocess.Popen(
        command("serve", options.source, *recipe, "--stream", STREAM, "--workers", str(options.workers), "--memory",
                options.memory, "--wait-for", "4", "--heads", "4", "--catch-up", options.catch_up, "--ahead", "0"),
        stderr=subprocess.DEVNULL)
    trainers = [lead(f"lead-{i}") for i in range(3)]
    late = consume("late")
    try:
        for _ in range(600):
            time.sleep(0.2)
            try:
                now = look()
            except (subprocess.CalledProcessError, IndexError):
                continue
            if now["published"] > options.behind + 500:
                break
        alone = measured(options.seconds)
        late.kill()
        late.wait()
        cursor = max(0, look()["position"] - options.behind)
        begun = time.monotonic()
        late = consume("late", "--join", "at", "--cursor", str(cursor))
        looks: list[dict] = []
        while time.monotonic() - begun < 600:
            now = look()
            trainer = of(now, "late")
            if trainer is not None and trainer["placement"].startswith("head"):
                looks.append(now)
            elif trainer is not None and looks:
                break
            time.sleep(0.1)
        back = time.monotonic() - begun
        meanwhile = rate(looks[0], looks[-1], "lead-0")
        its = rate(looks[0], looks[-1], "late")
        shares = [ring["work_share"] for one in looks for ring in one["rings"] if ring["placement"] == "head-1"]
        time.sleep(1)
        after = measured(options.seconds)
        bound = 1.2 * options.behind / (its - meanwhile) if its > meanwhile else float("inf")
        result = {
            "rate_before": alone, "rate_meanwhile": meanwhile, "rate_of_late": its, "rate_after": after,
            "seconds_to_return": back, "bound_seconds": bound, "kept_meanwhile": meanwhile / alone if alone else 0,
            "kept_after": after / alone if alone else 0, "head_share": statistics.median(shares),
        }
        for key, value in result.items():
            print(f"{key:20} {value:.3f}")
        print(json.dumps(result))
        if back > bound:
            print("it came back later than the bound", file=sys.stderr)
    finally:
        for one in [*trainers, late, producer]:
            one.terminate()
        for one in [*trainers, late, producer]:
            one.wait()
