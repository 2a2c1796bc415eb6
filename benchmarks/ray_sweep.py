# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Four trials of Ray Tune on one node: batchcast, DataLoaders and Ray Data, on the same images.

    python ray_sweep.py FOLDER MODE [SECONDS]

FOLDER is an image folder. MODE is batchcast, joining, dataloader or raydata. With `joining` each trial
of batchcast begins once the one before reads, so that all but the first find their stream served, and
join where it is (`join="now"`). Each trial crops, flips and
normalises at 224 x 224, and counts the images that it gets within SECONDS, 20 unless said. They
begin together, once each has had a batch. Prints a line of JSON: images a second of all trials, and
each trial's seconds from its first line to its first batch.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from typing import Any

TRIALS = 4
BATCH = 64


def batches_of_batchcast(folder: str, **options: Any) -> Any:
    import batchcast as bc

    start = bc.Start(
        f"imagefolder:{folder}", recipe="imagenet-train", memory="512MiB", idle_exit=20.0
    )
    while True:
        with bc.Consumer("ray-sweep", BATCH, start=start, **options) as consumer:
            while True:
                for batch in consumer:
                    yield batch.size


def augmentation() -> Any:
    from torchvision import transforms

    return transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
        ]
    )


def batches_of_dataloader(folder: str) -> Any:
    from torch.utils.data import DataLoader
    from torchvision.datasets import ImageFolder

    loader = DataLoader(ImageFolder(folder, augmentation()), BATCH, shuffle=True, num_workers=1)
    while True:
        for images, _ in loader:
            yield len(images)


def batches_of_ray_data(folder: str) -> Any:
    import io

    import ray
    from PIL import Image

    made = augmentation()

    def decode(row: dict[str, Any]) -> dict[str, Any]:
        image = Image.open(io.BytesIO(row["bytes"])).convert("RGB")
        return {"image": made(image).numpy()}

    while True:
        dataset = ray.data.read_binary_files(folder).map(decode, num_cpus=0.5)
        for batch in dataset.iter_torch_batches(batch_size=BATCH):
            yield len(batch["image"])


MODES = {
    "batchcast": batches_of_batchcast,
    "joining": lambda folder: batches_of_batchcast(folder, join="now"),
    "dataloader": batches_of_dataloader,
    "raydata": batches_of_ray_data,
}


def trial(config: dict[str, Any]) -> None:
    from ray import tune

    if config["mode"] not in ("batchcast", "joining"):
        import torch
        import torchvision  # noqa: F401

        torch.set_num_threads(1)
    else:
        import batchcast  # noqa: F401
    if config["mode"] == "raydata":
        import ray.data  # noqa: F401
    while config["mode"] == "joining" and len(os.listdir(config["marks"])) < config["trial"]:
        time.sleep(0.02)
    began = time.perf_counter()
    batches = MODES[config["mode"]](config["folder"])
    next(batches)
    first = time.perf_counter() - began
    here = os.path.join(config["marks"], str(config["trial"]))
    with open(here, "w", encoding="ascii"):
        pass
    while len(os.listdir(config["marks"])) < TRIALS:  # the others read on meanwhile
        next(batches)
    count, began = 0, time.perf_counter()
    while (spent := time.perf_counter() - began) < config["seconds"]:
        count += next(batches)
    tune.report({"first_s": first, "images": count, "seconds": spent})


def main() -> None:
    import ray
    from ray import tune

    folder, mode = os.path.abspath(sys.argv[1]), sys.argv[2]
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 20.0
    home = tempfile.mkdtemp(prefix="ray.", dir="/tmp")
    os.environ["RAY_TMPDIR"] = home
    os.environ["BATCHCAST_DIR"] = os.path.join(home, "s")
    marks = os.path.join(home, "marks")
    os.mkdir(marks)
    ray.init(num_cpus=8, object_store_memory=512 << 20, include_dashboard=False, log_to_driver=False)
    try:
        results = tune.Tuner(
            tune.with_resources(trial, {"CPU": 0.5}),
            param_space={
                "mode": mode, "folder": folder, "marks": marks, "seconds": seconds,
                "trial": tune.grid_search(list(range(TRIALS))),
            },
            run_config=tune.RunConfig(storage_path=os.path.join(home, "results"), verbose=0),
        ).fit()  # fmt: skip
        got = [result.metrics for result in results]
        told = {
            "mode": mode,
            "ray": ray.__version__,
            "images_per_second": round(sum(one["images"] / one["seconds"] for one in got), 1),
            "first_batch_s": [round(one["first_s"], 3) for one in got],
        }
        print(json.dumps(told))
    finally:
        ray.shutdown()
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
