#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Two versions of the command in turns, in what ring.sh and latency.sh measure: medians of both, and the median of
each round's ratio. The processor time of a run says more than its rate where other work disturbs the machine.
Usage: versions.py OLD NEW [--rounds N] [--batches N]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("old")
parser.add_argument("new")
parser.add_argument("--rounds", type=int, default=9)
parser.add_argument("--batches", type=int, default=200_000)
options = parser.parse_args()

RING = ["bench", "ring", "--batches", str(options.batches), "--json", "--consumers"]
CASES = {
    "ring, 1 consumer": [*RING, "1"],
    "ring, 4 consumers": [*RING, "4"],
    "latency": ["bench", "latency", "--rounds", "1", "--samples", "3000", "--json"],
}


def run(command: str, words: list[str]) -> dict[str, float]:
    """Its figures, with the processor seconds of all of its processes."""
    child = subprocess.Popen([command, *words], stdout=subprocess.PIPE)
    assert child.stdout is not None
    printed = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command} {' '.join(words)}: exit code {child.returncode}")
    figures = json.loads(printed.splitlines()[-1])
    figures["cpu_seconds"] = usage.ru_utime + usage.ru_stime
    return {name: value for name, value in figures.items() if isinstance(value, float)}


results = []
for case, words in CASES.items():
    rounds = []
    for number in range(options.rounds):
        order = [options.old, options.new] if number % 2 == 0 else [options.new, options.old]
        by_command = {command: run(command, words) for command in order}
        rounds.append((by_command[options.old], by_command[options.new]))
    for name in rounds[0][0]:
        if not name.endswith(("per_second", "_p50_us", "_p99_us", "cpu_seconds")):
            continue
        before = statistics.median(old[name] for old, _ in rounds)
        after = statistics.median(new[name] for _, new in rounds)
        ratios = sorted(new[name] / old[name] for old, new in rounds if old[name] > 0)
        ratio = statistics.median(ratios)
        print(f"{case:18} {name:20} {before:12.4g} {after:12.4g}  ratio {ratio:.3f} ({ratios[0]:.2f}-{ratios[-1]:.2f})")
        results.append({"case": case, "figure": name, "old": before, "new": after, "ratio": ratio})
print(json.dumps({"benchmark": "versions", "rounds": options.rounds, "results": results}))
