# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""`SharedTrainer`: the Trainer of Hugging Face over a `Loader`.

Needs transformers, which nothing else of the package imports.
"""

from __future__ import annotations

import json
import os
from typing import Any

try:
    from transformers import Trainer
    from transformers.trainer_utils import get_last_checkpoint
except ImportError as error:
    raise ImportError(
        f"batchcast.huggingface needs transformers, which cannot be imported ({error})."
    ) from error

from .errors import InvalidArgument, StreamFinished
from .loader import Loader

__all__ = ["SharedTrainer"]

_PLACE = "batchcast_loader.json"  # in the folder of a checkpoint


def _saved_place(checkpoint: str) -> dict[str, Any]:
    """Reads what `SharedTrainer` wrote into a checkpoint. Raises InvalidArgument where it is
    missing."""
    try:
        with open(os.path.join(checkpoint, _PLACE)) as file:
            state: dict[str, Any] = json.load(file)
        if not isinstance(state, dict) or not isinstance(state.get("cursor"), int):
            raise ValueError("it holds no cursor")
    except FileNotFoundError:
        raise InvalidArgument(
            f"batchcast: checkpoint {checkpoint} has no {_PLACE}, so nothing says where in the"
            f" stream it was made: SharedTrainer writes that file, and no other Trainer does. The"
            f" stream may be in any epoch, so batches cannot be skipped instead. Load the model's"
            f" weights alone (from_pretrained), and train without resume_from_checkpoint."
        ) from None
    except ValueError as error:
        raise InvalidArgument(
            f"batchcast: {_PLACE} of checkpoint {checkpoint} is damaged: {error}. Resume from"
            f" another checkpoint."
        ) from error
    return state


def _behind_dropped_tail(loader: Loader, place: dict[str, Any]) -> dict[str, Any]:
    """The place, or the next epoch's beginning where the rest of this epoch makes no batch. The
    Trainer has counted that epoch already, and takes one without a batch for the stream's end."""
    samples = place.get("samples_per_epoch") or 0
    if samples == 0:
        return place
    world = max(1, loader.consumer._job_world)
    tail = loader._options.get("tail", "keep")
    # With a budget `tail` is `keep`.
    least = {"drop": (loader.batch_size or 1) * world, "keep": world, "pad": 1}[tail]
    left = samples - place["cursor"] % samples
    return place if left >= least else {**place, "cursor": place["cursor"] + left, "cursor_row": 0}


def _pass_what_a_window_drops(loader: Loader, place: dict[str, Any]) -> None:
    """The same with a window, of which only lengths say whether the rest of the epoch makes a
    batch: the next one shows it."""
    if loader.window is None:
        return
    try:
        batch = loader.consumer._peek(loader.timeout)
    except StreamFinished:
        return
    if batch.epoch > place.get("epoch", batch.epoch):
        loader.load_state_dict({**place, "cursor": batch.position, "cursor_row": 0})


class SharedTrainer(Trainer):  # type: ignore[misc]
    """A Trainer whose `train_dataset`, `eval_dataset` and datasets to predict may each be a Loader.

        loader = bc.Loader("imagenet", 64, fields={"pixel_values": "image", "labels": "label"})
        SharedTrainer(model, arguments, train_dataset=loader).train(resume_from_checkpoint=True)

    The loader's batches are taken as they are: its batch size counts, and
    `per_device_train_batch_size` is what the Trainer reports. Several ranks need its `group`.

    A checkpoint has the loader's place in its stream, and resuming continues at exactly the next
    sample, in mid-epoch too. The Trainer skips nothing: `ignore_data_skip` is set in its arguments.
    As always with that option, `epoch` counts the rest of the resumed epoch from its beginning.
    Gradients of an incomplete last accumulation in it go into the next step. A checkpoint without a
    place is refused, InvalidArgument.

    With other datasets it is a Trainer like any other.
    """

    _place: dict[str, Any] | None = None  # where to begin, while it resumes

    def train(
        self, resume_from_checkpoint: str | bool | None = None, *arguments: Any, **options: Any
    ) -> Any:
        """As the Trainer's. Raises RecipeMismatch and Refused as `Loader.load_state_dict` does."""
        if resume_from_checkpoint and isinstance(self.train_dataset, Loader):
            found: Any = resume_from_checkpoint
            if found is True:
                found = get_last_checkpoint(self.args.output_dir)
            if found is not None:  # else the Trainer says that there is none
                self._place = _saved_place(os.fspath(found))
        try:
            return super().train(resume_from_checkpoint, *arguments, **options)
        finally:
            self._place = None

    def get_train_dataloader(self) -> Any:
        loader = self.train_dataset
        if not isinstance(loader, Loader):
            return super().get_train_dataloader()
        self.args.ignore_data_skip = True  # before the Trainer looks how many batches to skip
        if self._place is not None:
            loader.load_state_dict(_behind_dropped_tail(loader, self._place))
            _pass_what_a_window_drops(loader, self._place)
        return loader

    def get_eval_dataloader(self, eval_dataset: Any = None) -> Any:
        chosen = self.eval_dataset if eval_dataset is None else eval_dataset
        if isinstance(chosen, str):
            chosen = self.eval_dataset[chosen]
        return chosen if isinstance(chosen, Loader) else super().get_eval_dataloader(eval_dataset)

    def get_test_dataloader(self, test_dataset: Any) -> Any:
        is_loader = isinstance(test_dataset, Loader)
        return test_dataset if is_loader else super().get_test_dataloader(test_dataset)

    def _save_rng_state(self, output_dir: str) -> None:
        """Saves the loader's place too. The Trainer calls it for each checkpoint that training can
        resume from, between two steps."""
        super()._save_rng_state(output_dir)
        if isinstance(self.train_dataset, Loader) and self.args.should_save:
            with open(os.path.join(output_dir, _PLACE), "w") as file:
                json.dump(self.train_dataset.state_dict(), file)
