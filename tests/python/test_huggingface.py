# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""SharedTrainer: checkpoints in mid-epoch, and what resumes from them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import support

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("accelerate")
from batchcast.huggingface import SharedTrainer  # noqa: E402

SHAPE = "synthetic:8"
SAMPLES = 40
FIELDS = {"values": "image", "ids": "sample_id"}


class Model(torch.nn.Module):  # type: ignore[misc, name-defined]
    """Notes which samples it is trained on."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.seen: list[int] = []
        self.tested: list[int] = []

    def forward(self, values: Any, ids: Any) -> Any:
        (self.seen if self.training else self.tested).extend(ids.tolist())
        scores = self.layer(values)
        return {"loss": scores.square().mean(), "logits": scores}


class Unshared(transformers.Trainer):  # type: ignore[misc, name-defined]
    """What one writes oneself."""

    def get_train_dataloader(self) -> Any:
        return self.train_dataset


class StopsAt(transformers.TrainerCallback):  # type: ignore[misc, name-defined]
    def __init__(self, step: int) -> None:
        self._step = step

    def on_step_end(self, args: Any, state: Any, control: Any, **others: Any) -> None:
        control.should_training_stop = state.global_step >= self._step


def train(
    out: Path,
    dataset: Any,
    *,
    kind: Any = SharedTrainer,
    resume: Any = None,
    stops_at: int | None = None,
    **options: Any,
) -> list[int]:
    """The samples that it was trained on."""
    arguments = transformers.TrainingArguments(
        str(out), num_train_epochs=3, per_device_train_batch_size=4, report_to=[], use_cpu=True,
        disable_tqdm=True, save_strategy="steps", **{"save_steps": 1, **options},
    )  # fmt: skip
    callbacks = [] if stops_at is None else [StopsAt(stops_at)]
    model = Model()
    kind(model, arguments, train_dataset=dataset, callbacks=callbacks).train(
        resume_from_checkpoint=resume
    )
    return model.seen


def order_of(folder: Path, begin: int, end: int) -> list[int]:
    dumped = support.dump(SHAPE, begin, end, folder, samples=SAMPLES, seed=1)
    return list(dumped["sample_id"].tolist())


@pytest.mark.parametrize(("step", "resume"), [(13, True), (13, "checkpoint-12"), (10, True)])
def test_it_goes_on_at_the_next_sample(
    serve: Callable[..., support.Served], tmp_path: Path, step: int, resume: Any
) -> None:
    first = serve(SHAPE, samples=SAMPLES, seed=1)
    order = order_of(tmp_path, 0, 3 * SAMPLES)
    with bc.Loader("s", 4, fields=FIELDS) as loader:
        assert train(tmp_path / "out", loader, stops_at=step) == order[: 4 * step]
    first.stop()
    serve(SHAPE, samples=SAMPLES, seed=1)
    at = step
    if resume is not True:
        at = int(resume.rpartition("-")[2])
        resume = str(tmp_path / "out" / resume)
    with bc.Loader("s", 4, fields=FIELDS) as loader:
        assert train(tmp_path / "out", loader, resume=resume) == order[4 * at :]


def test_epochs_whose_tail_is_dropped_and_accumulated_gradients(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve(SHAPE, samples=SAMPLES, seed=1)
    order = order_of(tmp_path, 0, 3 * SAMPLES)
    kept = [one for epoch in range(3) for one in order[40 * epoch : 40 * epoch + 36]]
    options = {"gradient_accumulation_steps": 2}  # three batches of 12, two steps an epoch
    with bc.Loader("s", 12, fields=FIELDS, drop_last=True) as loader:
        assert train(tmp_path / "out", loader, stops_at=2, **options) == kept[:36]
        # At an epoch's end, in its middle, and again.
        later = train(tmp_path / "out", loader, resume=True, stops_at=3, **options)
        assert later == kept[36:60]
        assert train(tmp_path / "out", loader, resume=True, **options) == kept[60:]


def test_a_trainer_that_would_skip_batches_is_refused(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve(SHAPE, samples=SAMPLES, seed=1)
    with bc.Loader("s", 4, fields=FIELDS) as loader:
        train(tmp_path, loader, kind=Unshared, stops_at=13)
        before = loader.cursor
        with pytest.raises(bc.InvalidArgument, match="stream `s`.*huggingface.SharedTrainer"):
            train(tmp_path, loader, kind=Unshared, resume=True)
        assert loader.cursor == before
        with pytest.raises(AttributeError):
            loader.datasets  # one that asks for anything else is told as ever


def test_a_checkpoint_without_a_place_is_refused(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve(SHAPE, samples=SAMPLES, seed=1)
    with bc.Loader("s", 4, fields=FIELDS) as loader:
        train(tmp_path, loader, kind=Unshared, stops_at=3)
        before = loader.cursor
        with pytest.raises(bc.InvalidArgument, match="checkpoint-3 has no batchcast_loader.json"):
            train(tmp_path, loader, resume=True)
        for text in ("{", "[]", "{}"):
            (tmp_path / "checkpoint-3" / "batchcast_loader.json").write_text(text)
            with pytest.raises(bc.InvalidArgument, match="of checkpoint .*checkpoint-3 is damaged"):
                train(tmp_path, loader, resume=True)
        assert loader.cursor == before
        with pytest.raises(ValueError, match="No valid checkpoint"):
            train(tmp_path / "elsewhere", loader, resume=True)


def test_a_checkpoint_of_other_samples_is_refused(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve(SHAPE, samples=SAMPLES, seed=1)
    serve(SHAPE, stream="t", samples=SAMPLES, seed=2)
    with bc.Loader("s", 4, fields=FIELDS) as loader:
        train(tmp_path, loader, stops_at=3)
    saved = json.loads((tmp_path / "checkpoint-3" / "batchcast_loader.json").read_text())
    assert saved["cursor"] == 12 and saved["stream"] == "s"
    with bc.Loader("t", 4, fields=FIELDS) as other, pytest.raises(bc.RecipeMismatch):
        train(tmp_path, other, resume=True)


def test_loaders_evaluate_and_predict(serve: Callable[..., support.Served], tmp_path: Path) -> None:
    serve(SHAPE, samples=SAMPLES, seed=1)
    arguments = transformers.TrainingArguments(
        str(tmp_path), per_device_eval_batch_size=4, report_to=[], use_cpu=True, disable_tqdm=True
    )
    model = Model()
    with bc.Loader("s", 4, fields=FIELDS, between_epochs="let_go") as loader:
        trainer = SharedTrainer(model, arguments, eval_dataset={"test": loader})
        assert trainer.get_eval_dataloader("test") is loader
        assert "eval_test_runtime" in trainer.evaluate()
        assert sorted(model.tested) == list(range(SAMPLES))
        assert trainer.predict(loader).predictions[-1].shape == (SAMPLES, 1)


def test_other_datasets_are_as_with_any_trainer(tmp_path: Path) -> None:
    dataset = [{"values": torch.ones(8), "ids": torch.tensor(i)} for i in range(SAMPLES)]
    whole = train(tmp_path / "whole", dataset, data_seed=3)
    first = train(tmp_path / "parts", dataset, data_seed=3, stops_at=13)
    later = train(tmp_path / "parts", dataset, data_seed=3, resume=True)
    assert first + later == whole
    assert not list(tmp_path.rglob("batchcast_loader.json"))
