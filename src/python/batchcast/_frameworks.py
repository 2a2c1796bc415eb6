# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What frameworks want from a loader and a stream cannot do."""

from __future__ import annotations

import sys

from .errors import InvalidArgument

# The attribute of a loader that a framework asks for, and the framework's function that asks.
_MEANT = {
    ("sampler", "_resolve_overfit_batches"): "Lightning's overfit_batches wants the same batches in"
    " each epoch, and those of stream `{stream}` come in the order of each epoch. Keep the first"
    " few: batches = [[tensor.clone() for tensor in batch] for batch in itertools.islice(loader, 10)],"
    " and give Lightning DataLoader(batches, batch_size=None) instead of the loader. A stream whose"
    " order is sequential has the same batches in each epoch: limit_train_batches and"
    " limit_val_batches choose the first of them, without overfit_batches",
    ("dataset", "skip_first_batches"): "accelerate was asked to skip the batches before a"
    " checkpoint, and stream `{stream}` may be in any epoch. Resume with batchcast.huggingface.SharedTrainer,"
    " which keeps the loader's place in its checkpoints, or save loader.state_dict() yourself, load"
    " it, and set ignore_data_skip",
}
_FRAMES = 4  # in between there may be a property and a generator


def refuse_what_is_meant(stream: str, name: str) -> None:
    """Raises InvalidArgument where a framework asks for this attribute to do something that would
    train on other samples. Nothing else would tell the user."""
    askers = {asker: why for (asked, asker), why in _MEANT.items() if asked == name}
    frame = sys._getframe(1)
    for _ in range(_FRAMES):
        if frame.f_back is None or not askers:
            return
        frame = frame.f_back
        why = askers.get(frame.f_code.co_name)
        if why is not None:
            raise InvalidArgument(f"batchcast: {why.format(stream=stream)}.")
