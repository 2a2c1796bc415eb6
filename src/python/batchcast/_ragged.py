# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What a Loader makes of fields on an axis. Needs torch."""

from __future__ import annotations

import math
import numbers
import re
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from ._language import TextForm
from ._values import Padded, PaddedImages, Ragged
from .errors import InvalidArgument

_FORMS = ("flat", "padded", "nested", "varlen")
_OFFSETS = {"i64": np.int64, "i32": np.int32}
_FLOATS = {
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
    "f64": torch.float64,
}
_NESTED_FROM = (2, 4)


def _torch_version() -> tuple[int, ...]:
    numbers = re.findall(r"\d+", torch.__version__)[:2]
    return tuple(int(number) for number in numbers)


def _holds(dtype: str, value: Any) -> bool:
    """Whether torch fills that dtype, such as "i32", with this number. An unsigned one takes -1 as
    its highest, so that ids and their mask are padded alike."""
    is_number = isinstance(value, numbers.Real)
    if not is_number:
        return False
    if dtype in _FLOATS:
        return not math.isfinite(value) or abs(value) <= torch.finfo(_FLOATS[dtype]).max
    if not math.isfinite(value) or value != int(value):
        return False
    if dtype == "bool":
        return True
    bits = int(dtype[1:])
    whole = int(value)
    if dtype[0] == "u":
        return abs(whole) < 1 << bits
    return -(1 << (bits - 1)) <= whole < 1 << (bits - 1)


class RaggedForm:
    """Makes of values and offsets what the loader was asked for. Can be pickled."""

    def __init__(
        self,
        form: str = "flat",
        pad_value: float = 0,
        pad_to_multiple_of: int = 1,
        offsets: str = "i64",
        text: TextForm | None = None,
    ) -> None:
        if form not in _FORMS:
            raise InvalidArgument(
                f"batchcast: ragged={form!r}: it is one of {', '.join(map(repr, _FORMS))}"
            )
        if offsets not in _OFFSETS:
            raise InvalidArgument(f"batchcast: offsets={offsets!r}: they are 'i64' or 'i32'")
        whole = isinstance(pad_to_multiple_of, int) and not isinstance(pad_to_multiple_of, bool)
        if not whole or pad_to_multiple_of < 1:
            raise InvalidArgument(
                f"batchcast: pad_to_multiple_of={pad_to_multiple_of!r}: it is a whole number from 1 on"
            )
        if form != "padded" and (pad_value != 0 or pad_to_multiple_of != 1):
            raise InvalidArgument(
                'batchcast: pad_value and pad_to_multiple_of are for ragged="padded": other forms'
                " have no padding"
            )
        if form == "nested" and _torch_version() < _NESTED_FROM:
            raise InvalidArgument(
                f'batchcast: ragged="nested" needs torch 2.4 or later, whose jagged layout it makes;'
                f' this is torch {torch.__version__}. Take "flat" or "padded".'
            )
        self.text = text  # where batches are those of a language model
        self._form = form
        self._pad_value = pad_value
        self._multiple = pad_to_multiple_of
        self._offsets = offsets

    def check_pad_value(self, name: str, dtype: str) -> None:
        """Of the field with that name. Throws InvalidArgument for what its dtype cannot hold."""
        if not self.pads or _holds(dtype, self._pad_value):
            return
        raise InvalidArgument(
            f"batchcast: pad_value={self._pad_value!r}, and the field `{name}` is {dtype}, which"
            " cannot hold it. Give a pad_value that each field on an axis can hold, or choose"
            " the others with `fields`."
        )

    @property
    def pads(self) -> bool:
        return self._form == "padded"

    def images(
        self, values: torch.Tensor, offsets: npt.NDArray[np.int64], sizes: npt.NDArray[np.int32]
    ) -> PaddedImages:
        """Of rows that are the pixels of images, one line after the other."""
        if (np.prod(sizes, axis=1, dtype=np.int64) != np.diff(offsets)).any():
            raise InvalidArgument("batchcast: the sizes of images do not have as many pixels as these.")
        most = sizes.max(axis=0, initial=0)
        height, width = (-(-int(side) // self._multiple) * self._multiple for side in most)
        shape = (len(sizes), height, width, *values.shape[1:])
        padded = torch.full(shape, self._pad_value, dtype=values.dtype, device=values.device)
        for image, (begin, end), (high, wide) in zip(
            padded, zip(offsets[:-1].tolist(), offsets[1:].tolist()), sizes.tolist()
        ):
            image[:high, :wide] = values[begin:end].view(high, wide, *values.shape[1:])
        dtype = _OFFSETS[self._offsets]
        return PaddedImages(padded, torch.from_numpy(sizes.astype(dtype)).to(values.device))

    def offsets(self, batch: Any) -> torch.Tensor:
        """Of a batch that a window cuts."""
        return torch.from_numpy(batch.offsets().astype(_OFFSETS[self._offsets], copy=False))

    def __call__(self, values: torch.Tensor, offsets: npt.NDArray[np.int64]) -> Any:
        if self._form == "padded":
            return self._padded(values, offsets)
        where = torch.from_numpy(offsets.astype(_OFFSETS[self._offsets], copy=False))
        where = where.to(values.device)
        if self._form == "nested":
            return torch.nested.nested_tensor_from_jagged(values, where)
        return Ragged(values, where)

    def _padded(self, values: torch.Tensor, offsets: npt.NDArray[np.int64]) -> Padded:
        lengths = np.diff(offsets)
        most = int(lengths.max(initial=0))
        most = -(-most // self._multiple) * self._multiple
        shape = (len(lengths), most, *values.shape[1:])
        padded = torch.full(shape, self._pad_value, dtype=values.dtype, device=values.device)
        if len(values) != 0:
            rows = np.arange(offsets[-1])
            samples = np.repeat(np.arange(len(lengths)), lengths)
            places = torch.from_numpy(samples * most + rows - np.repeat(offsets[:-1], lengths))
            padded.view(-1, *values.shape[1:]).index_copy_(0, places.to(values.device), values)
        dtype = _OFFSETS[self._offsets]
        return Padded(padded, torch.from_numpy(lengths.astype(dtype)).to(values.device))
