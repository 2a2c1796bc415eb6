# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What the peers' scripts share: options, crops, the clock, one line of JSON at the end.

Every peer decodes the images of an image folder in random order, does RandomResizedCrop(224), a
horizontal flip and ImageNet's normalisation to f32 CHW, and hands over batches of 64 (or of --batch-size).
"""

import argparse
import json
import math
import os
import pathlib
import time

SIZE = 224
BATCH = 64
MEAN = (0.485, 0.456, 0.406)
STD = (0.229, 0.224, 0.225)
AREA = (0.08, 1.0)
ASPECT = (3 / 4, 4 / 3)
FLIP = 0.5


def options(description, switches=(), values=()):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("dir", type=pathlib.Path, help="an image folder: one folder for each class")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm-up", type=float, default=3, help="seconds that do not count")
    parser.add_argument("--begin-at", type=float, help="the time (as of `date +%%s`) until which to warm up")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--batch-size", type=int, default=BATCH)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little") >> 1)
    for switch, meaning in switches:
        parser.add_argument(switch, action="store_true", help=meaning)
    for option, choices in values:
        parser.add_argument(option, choices=choices, default=choices[0])
    return parser.parse_args()


def crop(random, width, height):
    """x, y, width, height of a random crop, drawn as torchvision's RandomResizedCrop does."""
    for _ in range(10):
        area = random.uniform(*AREA) * width * height
        aspect = math.exp(random.uniform(math.log(ASPECT[0]), math.log(ASPECT[1])))
        w = round(math.sqrt(area * aspect))
        h = round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return random.randint(0, width - w), random.randint(0, height - h), w, h
    w = min(width, round(height * ASPECT[1]))
    h = min(height, round(width / ASPECT[0]))
    return (width - w) // 2, (height - h) // 2, w, h


def family():
    """This process and all below it."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue  # it has ended
            children.setdefault(parent, []).append(int(entry.name))
    found = [os.getpid()]
    for pid in found:
        found += children.get(pid, [])
    return found


def cpu_seconds(pids):
    ticks = 0
    for pid in pids:
        try:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def measure(name, version, chosen, batches):
    """`batches` yields, without end, how many samples each batch has. Processes with the same --begin-at
    and --seconds are measured in the same span of time."""
    batches = iter(batches)
    end = chosen.begin_at or time.time() + chosen.warm_up
    next(batches)
    if time.time() > end:
        raise SystemExit(f"{name}: the first batch came after --begin-at or --warm-up; give it more time")
    while time.time() < end:
        next(batches)
    pids = family()
    cpu = cpu_seconds(pids)
    begin = now = time.monotonic()
    images = 0
    while now < begin + chosen.seconds:
        images += next(batches)
        now = time.monotonic()
    result = {
        "peer": name,
        "version": version,
        "images_per_second": round(images / (now - begin), 1),
        "images": images,
        "seconds": round(now - begin, 3),
        "cpu_seconds": round(cpu_seconds(pids) - cpu, 2),
        "processes": len(pids),
        "workers": chosen.workers,
    }
    print(json.dumps(result), flush=True)
