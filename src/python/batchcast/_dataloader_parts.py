# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What training scripts look up at a DataLoader, its dataset and its sampler, for a Loader.

Neither is a class of torch: code that takes a Dataset or a Sampler would read samples through it,
and here the producer does that.
"""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, NoReturn

from ._epochs import samples_of_epoch, samples_of_rank

if TYPE_CHECKING:
    from .loader import Loader


class _Part:
    """Asks the loader at each call. A loader that is not attached yet attaches at the first."""

    __slots__ = ("_loader",)

    _what = ""
    _instead = ""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader

    def __iter__(self) -> NoReturn:
        self._refuse()

    def __getitem__(self, index: Any) -> NoReturn:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise TypeError(
            f"batchcast: {self._what} of the loader of stream `{self._loader._stream}` has no"
            f" samples: {self._instead}"
        )

    def __repr__(self) -> str:
        return f"<{self._what} of {self._loader!r}>"


class StreamDataset(_Part):
    """What is known about the samples: how many an epoch has, and what their labels stand for."""

    __slots__ = ()

    _what = "the dataset"
    _instead = (
        "the producer reads them. `for batch in loader` gives them in the stream's order. For"
        " single samples, or parts of it, open the dataset itself."
    )

    def __len__(self) -> int:
        """Samples of the stream's epoch. Raises TypeError where its producer does not know."""
        return samples_of_epoch(self._loader.consumer)

    @property
    def class_names(self) -> tuple[str, ...]:
        """As `Loader.class_names`; raises AttributeError without names."""
        names = self._loader.class_names
        if names is None:
            raise AttributeError(
                f"batchcast: the source of stream `{self._loader._stream}` names no classes"
            )
        return names

    @property
    def classes(self) -> list[str]:
        """The names by label, as torchvision's datasets have them."""
        return list(self.class_names)

    @property
    def class_to_idx(self) -> dict[str, int]:
        """The labels by name, as torchvision's datasets have them."""
        return {name: label for label, name in enumerate(self.class_names)}


class StreamSampler(_Part):
    """The share of an epoch that this trainer, or this rank, gets."""

    __slots__ = ()

    _what = "the sampler"
    _instead = (
        "the producer draws the order of each epoch. With `sample_id` among `fields` batches have"
        " the indices; `--order` and `--seed` of `batchcast serve` choose another order."
    )

    def __len__(self) -> int:
        """Samples in all batches of an epoch, padding included. Raises TypeError where the
        stream's producer does not know."""
        loader = self._loader
        if loader._sized_by is None:
            raise TypeError(
                "the samples that a rank gets with a budget or a window are not known beforehand: they depend on"
                " the lengths of samples"
            )
        return samples_of_rank(loader.consumer, loader._sized_by, loader._tail)

    def set_epoch(self, epoch: int) -> None:
        """Does nothing, as `Loader.set_epoch`: it is for loops that call it."""


def warn_of_second_batching(stream: str) -> bool:
    """Warns where the caller's caller is a DataLoader that makes batches of the loader's batches.
    Returns whether it did. Only the frame of torch's fetcher says so: torch calls nothing else."""
    frame = sys._getframe(2)
    fetcher = frame.f_locals.get("self")
    is_torch = str(frame.f_globals.get("__name__")).startswith("torch.utils.data.")
    if not is_torch or not getattr(fetcher, "auto_collation", False):
        return False
    level = 4  # of the line that goes through the DataLoader
    outer = frame.f_back
    while outer is not None and str(outer.f_globals.get("__name__")).startswith("torch."):
        level += 1
        outer = outer.f_back
    warnings.warn(
        f"batchcast: a DataLoader makes batches of the batches of stream `{stream}`, so that its"
        f" tensors have one dimension more. No DataLoader is needed: `for batch in loader` gives"
        f" the batches. Where a framework wants one, write DataLoader(loader, batch_size=None).",
        RuntimeWarning,
        stacklevel=level,
    )
    return True
