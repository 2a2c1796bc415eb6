#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A sweep in Python on one GPU: several trainers of a ResNet-18 at once, fed from the same JPEGs.

Each way of feeding them has its turn, round by round: a batch that lies on the GPU already (what the GPU
could take), a stream that is served on the GPU, a stream in host memory out of which each trainer copies
page-locked batches, and a DataLoader of each trainer's own, with the same crops, flips and normalisation.
Prints images a second, of all trainers together, then one line of JSON.

Usage: gpu_sweep.py IMAGES --batchcast COMMAND [--trainers 4] [--seconds 10] [--warm-up 10] [--rounds 3]
       [--ways WAY ...]
"""

import argparse
import json
import multiprocessing
import os
import pathlib
import queue
import statistics
import subprocess
import sys
import tempfile
import time

BATCH = 128
CLASSES = 1000
WARM_UP = 10  # batches, after which all begin together
STREAM = "gpu-sweep"
PATIENCE = 240  # seconds until all trainers have begun
WAYS = ("resident", "batchcast-gpu", "batchcast-pin", "dataloader")


def resident():
    import torch

    images = torch.randn(BATCH, 3, 224, 224, device="cuda")
    labels = torch.randint(CLASSES, (BATCH,), device="cuda")
    while True:
        yield images, labels


def streamed(**options):
    import batchcast as bc

    loader = bc.Loader(STREAM, BATCH, drop_last=True, connect_timeout=120, **options)
    while True:
        yield from loader


def dataloader(folder, workers):
    import torch
    from torchvision import datasets, transforms

    recipe = transforms.Compose([
        transforms.RandomResizedCrop(224),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    ])
    loader = torch.utils.data.DataLoader(
        datasets.ImageFolder(folder, recipe), BATCH, shuffle=True, drop_last=True, pin_memory=True,
        num_workers=workers, persistent_workers=True, prefetch_factor=4, multiprocessing_context="fork",
    )  # fmt: skip
    while True:
        yield from loader


def batches(way, folder, workers):
    if way == "resident":
        return resident()
    if way == "batchcast-gpu":
        return streamed(placement="cuda:0")
    if way == "batchcast-pin":
        return streamed(pin=True)
    return dataloader(folder, workers)


def train(way, chosen, workers, everybody, results):
    feed = batches(way, chosen.images, workers)
    if way == "dataloader":
        next(feed)  # its workers are forked before this process has anything to do with CUDA
    import torch
    import torchvision

    torch.backends.cudnn.benchmark = True
    model = torchvision.models.resnet18(num_classes=CLASSES).cuda().to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        images, labels = (part.cuda(non_blocking=True) for part in next(feed))
        with torch.autocast("cuda", torch.bfloat16):
            loss = torch.nn.functional.cross_entropy(model(images.to(memory_format=torch.channels_last)), labels)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()

    for _ in range(WARM_UP):
        step()
    torch.cuda.synchronize()
    everybody.wait(PATIENCE)

    def go_on_for(seconds):
        """Images a second."""
        began, taken = time.monotonic(), 0
        while time.monotonic() < began + seconds:
            step()
            taken += BATCH
            if taken % (8 * BATCH) == 0:
                torch.cuda.synchronize()  # what was not trained does not count
        torch.cuda.synchronize()
        return taken / (time.monotonic() - began)

    go_on_for(chosen.warm_up)  # until what was made beforehand is used up
    results.put(go_on_for(chosen.seconds))
    results.close()
    results.join_thread()
    os._exit(0)  # a DataLoader's workers are not waited for


def producer(chosen, way, log):
    command = [chosen.batchcast, "serve", f"imagefolder:{chosen.images}", "--recipe", "imagenet-train"]
    command += ["--stream", STREAM, "--memory", "4GiB"]
    if way == "batchcast-gpu":
        command += ["--place", "cuda:0", "--finish-on-gpu"]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=log)


def all_of(results, processes, served, log):
    """One result of each trainer. Ends the program if a trainer or the producer ends before."""
    found = []
    deadline = time.monotonic() + PATIENCE + 120
    while len(found) < len(processes):
        try:
            found.append(results.get(timeout=1))
        except queue.Empty:
            gone = [process.exitcode for process in processes if process.exitcode not in (None, 0)]
            if gone or time.monotonic() > deadline or (served is not None and served.poll() is not None):
                log.seek(0)
                why = "the producer or a trainer ended, or took too long"
                sys.exit(f"gpu_sweep.py: {why}\n{log.read()[-2000:]}")
    return found


def turn(chosen, way):
    """Images a second of all trainers."""
    context = multiprocessing.get_context("spawn")
    everybody = context.Barrier(chosen.trainers)
    results = context.Queue()
    workers = max(1, len(os.sched_getaffinity(0)) // chosen.trainers)
    log = tempfile.TemporaryFile("w+")
    served = producer(chosen, way, log) if way.startswith("batchcast") else None
    arguments = (way, chosen, workers, everybody, results)
    trainers = [context.Process(target=train, args=arguments) for _ in range(chosen.trainers)]
    try:
        for trainer in trainers:
            trainer.start()
        return sum(all_of(results, trainers, served, log))
    finally:
        for trainer in trainers:
            trainer.kill()
            trainer.join()
        if served is not None:
            served.terminate()
            served.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("images", type=pathlib.Path, help="an image folder: one folder for each class")
    parser.add_argument("--batchcast", required=True, help="the command")
    parser.add_argument("--trainers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm-up", type=float, default=10, help="seconds that do not count")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=WAYS)
    chosen = parser.parse_args()
    rates = {way: [] for way in chosen.ways}
    with tempfile.TemporaryDirectory(prefix="bc-") as directory:
        os.environ["BATCHCAST_DIR"] = directory
        for _ in range(chosen.rounds):
            for way in chosen.ways:
                rates[way].append(turn(chosen, way))
                print(f"{way:14} {rates[way][-1]:10.0f} images/s", file=sys.stderr, flush=True)
    print(json.dumps({
        "benchmark": "gpu_sweep", "trainers": chosen.trainers, "cores": len(os.sched_getaffinity(0)),
        "rounds": chosen.rounds,
        "images_per_second": {way: statistics.median(found) for way, found in rates.items()},
    }))  # fmt: skip


if __name__ == "__main__":
    main()
