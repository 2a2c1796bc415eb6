#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What `batchcast metrics` costs, with a stream of many trainers: how long a scrape and the page's data take, and the
processor time of the exporter while both are asked for. Usage: metrics.py [--seconds N] [--trainers N] [--batchcast P].
It needs the Python package, in whose processes the trainers are.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import urllib.parse

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seconds", type=float, default=30)
parser.add_argument("--trainers", type=int, default=1000)
parser.add_argument("--batchcast", default="build/release/batchcast")
parser.add_argument("--attach", nargs=2, type=int, metavar=("FROM", "TO"), help=argparse.SUPPRESS)
options = parser.parse_args()
trainers_of_a_process = 250


def attach(first: int, end: int) -> None:
    import batchcast as bc

    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    kept = [bc.Consumer("s", batch_size=1, name=f"trainer-{number}", pace="free") for number in range(first, end)]
    print(len(kept), flush=True)
    sys.stdin.read()


def cpu_ns_of(pid: int) -> int:
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
        except OSError:
            pass  # a thread of a connection that ended
    return total


def get(connection: http.client.HTTPConnection, path: str, token: str) -> bytes:
    connection.request("GET", path, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    body = answer.read()
    assert answer.status == 200
    return body


def ask(connection: http.client.HTTPConnection, path: str, token: str) -> float:
    began = time.perf_counter()
    assert b"trainer-0" in get(connection, path, token)
    return 1000 * (time.perf_counter() - began)


def measure() -> dict[str, float]:
    os.environ["BATCHCAST_DIR"] = tempfile.mkdtemp(prefix="batchcast-metrics.")
    words = [options.batchcast, "serve", "synthetic:3x8x8", "--dtype", "u8", "--samples", "100000", "--stream", "s"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    children = [subprocess.Popen([*words, "--memory", "1MiB", "--workers", "1", "--max-consumers", "1024"], **quiet)]
    while subprocess.run([options.batchcast, "ls", "s"], capture_output=True).returncode != 0:
        time.sleep(0.05)
    for first in range(0, options.trainers, trainers_of_a_process):
        end = min(options.trainers, first + trainers_of_a_process)
        children.append(subprocess.Popen([sys.executable, __file__, "--attach", str(first), str(end)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.DEVNULL))
    for child in children[1:]:
        child.stdout.readline()
    exporter = subprocess.Popen([options.batchcast, "metrics", "--listen", "127.0.0.1:0", "--json"],
                                stdout=subprocess.PIPE, text=True)
    children.append(exporter)
    address = urllib.parse.urlparse(json.loads(exporter.stdout.readline())["page"])
    token = address.fragment.removeprefix("token=")
    connection = http.client.HTTPConnection(address.hostname, address.port)
    took = {"/metrics": [], "/data": []}
    while any(b"trainer-0" not in get(connection, path, token) for path in took):
        time.sleep(0.1)  # it has not looked yet
    cpu, began = cpu_ns_of(exporter.pid), time.monotonic()
    while time.monotonic() < began + options.seconds:
        for path, times in took.items():
            times.append(ask(connection, path, token))
        time.sleep(0.2)
    seconds = time.monotonic() - began
    figures = {"asked_often_percent": (cpu_ns_of(exporter.pid) - cpu) / 1e7 / seconds}
    cpu, began = cpu_ns_of(exporter.pid), time.monotonic()
    while time.monotonic() < began + options.seconds:  # as one page and one Prometheus ask
        for path in took:
            took[path].append(ask(connection, path, token))
        time.sleep(2)
    figures["watched_percent"] = (cpu_ns_of(exporter.pid) - cpu) / 1e7 / (time.monotonic() - began)
    for path, times in took.items():
        times.sort()
        figures[f"{path[1:]}_median_ms"] = times[len(times) // 2]
        figures[f"{path[1:]}_p99_ms"] = times[len(times) * 99 // 100]
    for child in children:
        child.kill()
        child.wait()
    return figures


if options.attach:
    attach(*options.attach)
    sys.exit(0)
figures = measure()
for name, value in figures.items():
    print(f"{name:22} {value:.2f}")
print(json.dumps({"benchmark": "metrics", "trainers": options.trainers, **figures}))
