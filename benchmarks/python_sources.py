# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Producers in Python for python.sh, and what they are compared with.

python_sources.py memory DIR STREAM       serves the images of a folder as bytes in memory
python_sources.py save DIR SAVED          writes them as a dataset of Hugging Face's library
python_sources.py huggingface SAVED STREAM  serves that
python_sources.py dataloader SAVED        measures that behind torch's DataLoader, with two worker processes
python_sources.py loader DIR STREAM       serves a DataLoader of the images, with one worker process
python_sources.py iterate DIR             measures that DataLoader by itself
"""

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent / "peers"))
import peer  # noqa: E402

RECIPE = "imagenet-train"


def image_files(folder):
    classes = sorted(one for one in pathlib.Path(folder).iterdir() if one.is_dir())
    return [(path, label) for label, one in enumerate(classes) for path in sorted(one.iterdir())]


class InMemory:
    """JPEG files as bytes objects."""

    def __init__(self, folder):
        self.samples = [{"image": path.read_bytes(), "label": label} for path, label in image_files(folder)]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        return self.samples[index]

    def fingerprint(self):
        return "images in memory"


def serve(source, chosen, **options):
    import batchcast as bc

    bc.serve(source, stream=chosen.second, memory="1GiB", wait_for=chosen.wait_for, progress=False, **options)


def save(chosen):
    import datasets

    if os.path.exists(os.path.join(chosen.second, "state.json")):
        return
    samples = image_files(chosen.first)
    labels = [label for _, label in samples]
    features = {
        "image": datasets.Image(),
        "label": datasets.ClassLabel(num_classes=max(labels) + 1),
    }
    images = [{"bytes": path.read_bytes(), "path": None} for path, _ in samples]
    made = datasets.Dataset.from_dict({"image": images, "label": labels}, datasets.Features(features))
    made.save_to_disk(chosen.second)


def one_thread(_):
    import torch

    torch.set_num_threads(1)


def torch_loader(dataset, workers):
    import torch
    from torch.utils.data import DataLoader, RandomSampler

    torch.set_num_threads(1)
    return DataLoader(
        dataset,
        batch_size=peer.BATCH,
        sampler=RandomSampler(dataset, num_samples=1 << 40),
        num_workers=workers,
        persistent_workers=True,
        worker_init_fn=one_thread,
    )


def dataloader(chosen):
    """As the library's documentation has it: PIL images, torchvision's transforms, set_transform."""
    import datasets
    from torchvision import transforms

    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(peer.SIZE, peer.AREA, peer.ASPECT),
            transforms.RandomHorizontalFlip(peer.FLIP),
            transforms.ToTensor(),
            transforms.Normalize(peer.MEAN, peer.STD),
        ]
    )

    def augment(rows):
        rows["image"] = [transform(image.convert("RGB")) for image in rows["image"]]
        return rows

    dataset = datasets.load_from_disk(chosen.first).with_transform(augment)
    chosen.workers = 2

    def batches():
        for batch in torch_loader(dataset, chosen.workers):
            batch["image"][:, 0, 0, 0].sum().item()
            yield len(batch["image"])

    peer.measure("datasets", f"datasets {datasets.__version__}", chosen, batches())


def jpeg_loader(folder):
    import torchvision
    import torchvision_dataloader
    from torchvision.transforms import v2

    import torch

    transform = v2.Compose(
        [
            v2.RandomResizedCrop(peer.SIZE, peer.AREA, peer.ASPECT, antialias=True),
            v2.RandomHorizontalFlip(peer.FLIP),
            v2.ToDtype(torch.float32, scale=True),
            v2.Normalize(peer.MEAN, peer.STD),
        ]
    )
    read = torchvision_dataloader.read
    return torch_loader(torchvision.datasets.ImageFolder(folder, transform=transform, loader=read), 1)


def iterate(chosen):
    chosen.workers = 1

    def batches():
        for pixels, _ in jpeg_loader(chosen.first):
            pixels[:, 0, 0, 0].sum().item()
            yield len(pixels)

    peer.measure("torchvision", "a DataLoader", chosen, batches())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what")
    parser.add_argument("first")
    parser.add_argument("second", nargs="?")
    parser.add_argument("--wait-for", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warm-up", type=float, default=3)
    parser.add_argument("--begin-at", type=float)
    chosen = parser.parse_args()
    if chosen.what == "memory":
        serve(InMemory(chosen.first), chosen, recipe=RECIPE, workers=2)
    elif chosen.what == "huggingface":
        import batchcast as bc

        serve(bc.sources.HuggingFace(chosen.first), chosen, recipe=RECIPE)
    elif chosen.what == "loader":
        serve(jpeg_loader(chosen.first), chosen)
    else:
        {"save": save, "dataloader": dataloader, "iterate": iterate}[chosen.what](chosen)


if __name__ == "__main__":
    main()
