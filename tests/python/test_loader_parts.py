# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-1.13 torch-2.11
"""What scripts look up at a DataLoader: that a Loader gives it truly, and that the loops of scripts
that many copy work with a Loader in its place, in small."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import made_data
import support
from test_loader_state import in_ranks

torch = pytest.importorskip("torch")
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, Subset  # noqa: E402

SHAPE = "synthetic:3x8x8"


# -- what there is ---------------------------------------------------------------------------------


def test_lengths_are_those_of_the_stream(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=42)
    for options in ({}, {"drop_last": True}, {"tail": "pad"}):
        with bc.Loader("s", 8, fields="sample_id", **options) as loader:
            assert len(loader.dataset) == 42
            assert len(loader.sampler) == sum(len(ids) for ids in loader)
            loader.batch_size = 5
            assert len(loader.sampler) == sum(len(ids) for ids in loader)


@pytest.mark.parametrize("tail", ["keep", "drop", "pad"])
def test_a_rank_has_its_part_of_the_samples(
    serve: Callable[..., support.Served], tail: str
) -> None:
    serve(SHAPE, samples=29)

    def body(rank: int) -> tuple[int, int, int]:
        group = ("job", rank, 3)
        with bc.Loader("s", 4, fields="sample_id", group=group, tail=tail) as loader:
            return len(loader.dataset), len(loader.sampler), sum(len(ids) for ids in loader)

    wanted = {"keep": 9, "drop": 8, "pad": 12}[tail]
    assert in_ranks(3, body) == [(29, wanted, wanted)] * 3


def test_without_a_known_length_there_is_none(directory: Path) -> None:
    class Forever:
        def __iter__(self) -> Iterator[Any]:
            return iter([torch.arange(8)])

    with bc.serve(Forever(), stream="s", background=True):
        with bc.Loader("s", 8) as loader:
            for part in (loader.dataset, loader.sampler):
                with pytest.raises(TypeError, match="`s` have no length"):
                    len(part)
            assert not hasattr(loader.dataset, "classes")


def test_classes_are_those_of_the_source(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    made_data.image_folder(tmp_path / "images", classes=3)
    serve(f"imagefolder:{tmp_path / 'images'}", recipe=made_data.recipe_file(tmp_path))
    with bc.Loader("s", 4) as loader:
        dataset = loader.dataset
        assert dataset.classes == ["class0", "class1", "class2"]
        assert dataset.class_to_idx == {"class0": 0, "class1": 1, "class2": 2}
        assert dataset.class_names == loader.class_names == tuple(dataset.classes)
    serve(SHAPE, stream="t")
    with bc.Loader("t", 4) as loader:
        for name in ("classes", "class_to_idx", "class_names"):
            assert not hasattr(loader.dataset, name)
            with pytest.raises(AttributeError, match="`t` names no classes"):
                getattr(loader.dataset, name)


def test_the_other_attributes(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=40)
    loader = bc.Loader("s", 4)
    assert (loader.batch_sampler, loader.num_workers) == (None, 0)
    assert (loader.pin_memory, loader.drop_last) == (False, False)
    for options, drops in (
        ({"drop_last": True}, True), ({"tail": "drop"}, True), ({"tail": "pad"}, False)
    ):  # fmt: skip
        with bc.Loader("s", 4, **options) as other:
            assert other.drop_last is drops
    assert loader.sampler.set_epoch(7) is None and loader.epoch == 0
    for name in ("shuffle", "collate_fn", "generator"):
        assert not hasattr(loader, name)
    loader._options["pin"] = True  # there may be no GPU here
    assert loader.pin_memory is True
    loader.close()
    assert hasattr(loader, "dataset") and loader.num_workers == 0
    with pytest.raises(bc.InvalidArgument, match="closed"):
        len(loader.dataset)


def test_neither_part_has_samples(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=40)
    loader = bc.Loader("s", 4)
    for part, kind, instead in (
        (loader.dataset, "dataset", "the producer reads them.*`for batch in loader`"),
        (loader.sampler, "sampler", "`sample_id`.*`--order`"),
    ):
        assert not isinstance(part, (Dataset, IterableDataset, Sampler))
        for use in (iter, lambda part: part[0], list):
            with pytest.raises(TypeError, match=f"the {kind} of .*`s` has no samples.*{instead}"):
                use(part)
        assert repr(part) == f"<the {kind} of batchcast.Loader('s', batch_size=4)>"
    for of_it in (loader.dataset, Subset(loader.dataset, range(4))):
        with pytest.raises(TypeError, match="the producer reads them"):
            next(iter(DataLoader(of_it)))
    assert loader.epoch == 0 and len(list(loader)) == 10


def test_a_part_attaches_no_loader_before_it_is_asked(serve: Callable[..., support.Served]) -> None:
    import pickle

    serve(SHAPE, samples=40)
    loader = pickle.loads(pickle.dumps(bc.Loader("s", 4)))
    dataset, sampler = loader.dataset, loader.sampler
    assert loader._consumer is None
    assert (len(dataset), len(sampler)) == (40, 40)


# -- loops of scripts ------------------------------------------------------------------------------


def small_model(classes: int = 1000, values: int = 192) -> Any:
    return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(values, classes))


def test_as_mnist_trains_and_tests(serve: Callable[..., support.Served]) -> None:
    """pytorch/examples' mnist: progress by `dataset`, an average by it, a dry run that breaks."""
    serve(SHAPE, samples=42)
    serve(SHAPE, stream="test", samples=26)
    train, test = bc.Loader("s", 8), bc.Loader("test", 10, between_epochs="let_go")
    model = small_model()
    for epoch, is_dry in ((1, False), (2, True)):
        said = []
        for batch_idx, (data, target) in enumerate(train):
            loss = torch.nn.functional.cross_entropy(model(data), target % 1000)
            loss.backward()
            if batch_idx % 2 == 0:
                share, done = 100.0 * batch_idx / len(train), batch_idx * len(data)
                said.append(f"{epoch} [{done}/{len(train.dataset)} ({share:.0f}%)]")
                if is_dry:
                    break
        assert said == ["1 [0/42 (0%)]", "1 [16/42 (33%)]", "1 [32/42 (67%)]"] or is_dry
        correct = 0
        with torch.no_grad():
            for data, target in test:
                correct += model(data).argmax(1).eq(target % 1000).sum().item()
        assert 0 <= correct / len(test.dataset) <= 1
        assert len(test.dataset) == 26
    assert train.epoch == 2


HOGWILD = """
import sys
import torch
import torch.multiprocessing as mp
import batchcast as bc

def train(rank, model, options):
    loader = bc.Loader("s", **options)
    for batch_idx, (data, target) in enumerate(loader):
        torch.nn.functional.cross_entropy(model(data), target % 10).backward()
        share = 100. * batch_idx / len(loader)
        print(f"{rank} [{batch_idx * len(data)}/{len(loader.dataset)} ({share:.0f}%)]", flush=True)

if __name__ == "__main__":
    mp.set_start_method("spawn", force=True)
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(192, 10))
    model.share_memory()
    process = mp.Process(target=train, args=(0, model, {"batch_size": 16}))
    process.start()
    process.join()
    train(1, model, {"batch_size": 40})
    sys.exit(process.exitcode)
"""


def test_as_hogwild_trains_in_a_process_of_its_own(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve(SHAPE, samples=40)
    script = tmp_path / "hogwild.py"
    script.write_text(HOGWILD)
    done = subprocess.run(
        [sys.executable, str(script)],
        env=support.environment(),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "0 [0/40 (0%)]", "0 [16/40 (33%)]", "0 [16/40 (67%)]", "1 [0/40 (0%)]"
    ]  # fmt: skip


def test_as_vae_averages_its_loss(serve: Callable[..., support.Served]) -> None:
    """pytorch/examples' vae: a sum over an epoch by `dataset`, the first test batch by its size."""
    serve(SHAPE, samples=42)
    loader = bc.Loader("s", 16)
    total = 0
    for i, (data, _) in enumerate(loader):
        total += len(data)
        if i == 0:
            n = min(data.size(0), 8)
            assert torch.cat([data[:n], data.view(16, 3, 8, 8)[:n]]).shape == (16, 3, 8, 8)
    assert total / len(loader.dataset) == 1


def test_as_imagenet_validates(serve: Callable[..., support.Served]) -> None:
    """pytorch/examples' imagenet: its progress counts a further batch where a rank's sampler leaves
    some of `dataset` out, which is then validated apart."""
    serve(SHAPE, samples=42)
    loader = bc.Loader("s", 16)
    leaves_some_out = len(loader.sampler) < len(loader.dataset)
    assert len(loader) + leaves_some_out == 3
    seen = 0
    for images, target in loader:
        images = images.to(torch.device("cpu"), non_blocking=True)
        seen += images.size(0)
    assert seen == len(loader.dataset)


def test_as_torchvisions_references_count(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    """The number of classes, a sampler that is told the epoch, an evaluation that compares what it
    saw with `dataset`, and a logger that is a generator around the loader."""
    made_data.image_folder(tmp_path / "images", classes=3)
    serve(f"imagefolder:{tmp_path / 'images'}", recipe=made_data.recipe_file(tmp_path))
    loader = bc.Loader("s", 4, drop_last=False)
    model = small_model(len(loader.dataset.classes), 3 * 16 * 16)

    def log_every(iterable: Any) -> Iterator[Any]:
        width = len(str(len(iterable)))
        for i, batch in enumerate(iterable):
            yield batch
            assert len(f"{i:{width}d}") == width

    for epoch in range(2):
        loader.sampler.set_epoch(epoch)
        for images, target in log_every(loader):
            torch.nn.functional.cross_entropy(model(images), target).backward()
        seen = 0
        with torch.inference_mode():
            for images, target in log_every(loader):
                images, target = images.to("cpu", non_blocking=True), target.to("cpu")
                seen += images.shape[0]
        assert hasattr(loader.dataset, "__len__") and len(loader.dataset) == seen == 15
    assert loader.epoch == 4


def test_as_timm_sets_epochs_and_counts_updates(serve: Callable[..., support.Served]) -> None:
    """timm's train.py: epochs are told to what has `set_epoch`, updates are counted by `len`."""
    serve(SHAPE, samples=42)
    loader = bc.Loader("s", 8, drop_last=True)
    model = small_model()
    for epoch in range(2):
        assert not hasattr(loader.dataset, "set_epoch")
        if hasattr(loader.batch_sampler, "set_epoch"):
            loader.batch_sampler.set_epoch(epoch)
        elif hasattr(loader.sampler, "set_epoch"):
            loader.sampler.set_epoch(epoch)
        accumulated, updates = 2, 0
        last = len(loader) - 1
        last_steps = len(loader) % accumulated
        for batch_idx, (images, target) in enumerate(loader):
            if batch_idx >= len(loader) - last_steps:
                accumulated = last_steps
            loss = torch.nn.functional.cross_entropy(model(images), target % 1000) / accumulated
            loss.backward()
            updates += batch_idx == last or (batch_idx + 1) % accumulated == 0
        assert (updates, batch_idx, loader.drop_last) == (3, 4, True)
