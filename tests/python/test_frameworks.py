# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""Under Lightning, Accelerate and the Trainer of Hugging Face: by the examples, which docs show."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import examples
import support

torch = pytest.importorskip("torch")

STEPS = 40  # 10,000 samples in batches of 256

# Options of a Lightning trainer that only trains.
QUIET: dict[str, Any] = {
    "accelerator": "cpu",
    "logger": False,
    "enable_checkpointing": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
}


def recorder(lightning: Any) -> Any:
    """A class of modules that keep the ids with which they were trained."""

    class Recorder(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)
            self.seen: list[int] = []

        def training_step(self, batch: Any, index: int) -> Any:
            values, ids = batch
            self.seen += ids.tolist()
            return self.layer(values).sum()

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    return Recorder


@examples.needs_fashion
def test_lightning(directory: Path) -> None:
    pytest.importorskip("lightning")
    with examples.started(directory):
        words = examples.run("lightning_trainer.py", str(examples.FASHION))
    assert words.startswith("235 steps")
    assert float(re.findall(r"accuracy ([0-9.]+)%", words)[0]) > 60


def test_lightning_saves_and_loads_the_place_in_mid_epoch(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    lightning = pytest.importorskip("lightning")
    serve("synthetic:8", samples=40, seed=1)

    class Recorder(recorder(lightning)):  # type: ignore[misc]
        def on_train_batch_end(self, outputs: Any, batch: Any, index: int) -> None:
            if self.trainer.global_step == 6:
                self.trainer.save_checkpoint(tmp_path / "half.ckpt")

    def fit(steps: int, path: str | None = None) -> list[int]:
        trainer = lightning.Trainer(max_steps=steps, **QUIET)
        module = Recorder()
        with bc.Loader("s", 10, fields=("image", "sample_id")) as loader:
            trainer.fit(module, loader, ckpt_path=path)
        return module.seen

    order = support.dump("synthetic:8", 0, 80, tmp_path, samples=40, seed=1)["sample_id"].tolist()
    assert fit(7) == order[:70]
    assert fit(8, str(tmp_path / "half.ckpt")) == order[60:80]


def test_lightning_overfits_on_a_list_and_is_refused_a_stream(
    serve: Callable[..., support.Served],
) -> None:
    lightning = pytest.importorskip("lightning")
    serve("synthetic:8", samples=40, seed=1)

    class Recorder(recorder(lightning)):  # type: ignore[misc]
        def validation_step(self, batch: Any, index: int) -> None:
            pass

    def fit(*batches: Any) -> list[int]:
        trainer = lightning.Trainer(overfit_batches=2, max_epochs=3, **QUIET)
        module = Recorder()
        trainer.fit(module, *batches)
        return module.seen

    with bc.Loader("s", 10, fields=("image", "sample_id")) as loader:
        batches = [[tensor.clone() for tensor in batch] for batch in itertools.islice(loader, 2)]
        few = torch.utils.data.DataLoader(batches, batch_size=None)
        refused = "overfit_batches.*stream `s`.*clone.*islice"
        with pytest.raises(bc.InvalidArgument, match=refused):
            fit(loader)
        with pytest.raises(bc.InvalidArgument, match=refused):
            fit(few, loader)
    seen = fit(few)
    assert len(seen) == 60 and seen[:20] == seen[20:40] == seen[40:]


@examples.needs_fashion
def test_accelerate(directory: Path) -> None:
    pytest.importorskip("accelerate")
    with examples.started(directory):
        words = examples.run("accelerate_trainer.py", examples.TEN_THOUSAND)
    assert words.startswith(f"{STEPS} steps")


def test_accelerate_takes_it_behind_a_dataloader(serve: Callable[..., support.Served]) -> None:
    accelerate = pytest.importorskip("accelerate")
    serve("synthetic:8", samples=40)
    with bc.Loader("s", 10, fields="sample_id") as loader:
        wrapped = torch.utils.data.DataLoader(loader, batch_size=None)
        prepared = accelerate.Accelerator(cpu=True).prepare(wrapped)
        ids = [batch.tolist() for batch in prepared]
    assert [len(batch) for batch in ids] == [10] * 4
    assert sorted(sum(ids, [])) == list(range(40))


@examples.needs_fashion
def test_the_trainer_of_hugging_face(directory: Path) -> None:
    pytest.importorskip("accelerate")
    pytest.importorskip("transformers")
    with examples.started(directory):
        words = examples.run("hf_trainer.py", examples.TEN_THOUSAND)
    assert f"{STEPS} steps" in words
