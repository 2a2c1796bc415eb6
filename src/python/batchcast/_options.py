# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""The options of streams that Python serves: what is wrong with them, and as the command has them."""

from __future__ import annotations

import numbers
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from . import _items
from .errors import InvalidArgument

_FLAGS = {"free_running", "finish_on_gpu", "verbose"}
_LISTS = {"place", "host_field", "allow_uid"}
_NUMBERS = (
    "seed", "max_bad", "wait_for", "idle_exit", "linger", "ahead", "max_consumers", "stall_timeout",
    "samples",
)  # fmt: skip


def shortly(value: object) -> str:
    if value is None or isinstance(value, bool | int | float | str):
        return _items.shown(repr(value))[:80]
    return f"a {type(value).__qualname__}"


def check_count(name: str, value: object) -> None:
    is_count = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if value is not None and not is_count:
        raise InvalidArgument(
            f"batchcast: {name} is {shortly(value)}, and is to be a whole number."
        )


def check_numbers(options: Mapping[str, Any]) -> None:
    """The command has all its options as texts; in Python "12" is no number."""
    for name in _NUMBERS:
        if isinstance(options.get(name), str):
            raise InvalidArgument(
                f"batchcast: {name} is {shortly(options[name])}, a text, and is to be a number."
            )


def _argument(name: str, value: object) -> str:
    """A text or number, as the command takes it."""
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    is_number = isinstance(value, numbers.Real) and not isinstance(value, bool | np.bool_)
    if not is_number and not isinstance(value, str):
        raise InvalidArgument(
            f"batchcast: {name} is {shortly(value)}, and is to be a text or number."
        )
    text = str(value)
    if not text.strip() or text != _items.shown(text):
        why = "has bytes that no option can have" if text.strip() else "says nothing"
        raise InvalidArgument(f"batchcast: {name} is {shortly(value)}, which {why}.")
    return text


def arguments(source: str, stream: str, options: Mapping[str, Any]) -> list[str]:
    """What the command `batchcast serve` would be given."""
    words = [f"--stream={_argument('stream', stream)}"]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is None:
            continue
        if name in _FLAGS:
            if not isinstance(value, bool | np.bool_):
                raise InvalidArgument(f"batchcast: {name} is {shortly(value)}: True or False.")
            words += [option] if value else []
        elif name in _LISTS and isinstance(value, Iterable) and not isinstance(value, str):
            words += [f"{option}={_argument(name, one)}" for one in value]
        else:
            words.append(f"{option}={_argument(name, value)}")
    return [*words, "--", source]


# What only goes with samples that are made one by one.
_DATASET_OPTIONS = (
    "recipe", "seed", "shard", "order", "on_bad_sample", "max_bad", "bad_list", "finish_on_gpu",
    "dtype", "samples", "workers",
)  # fmt: skip


def refuse_dataset_options(options: dict[str, Any]) -> None:
    """Takes what only goes with samples made one by one out of `options`; all are to be None."""
    given = [name for name in _DATASET_OPTIONS if options.pop(name, None) is not None]
    if given:
        raise InvalidArgument(
            f"batchcast: {', '.join(given)}: not for a loader, which makes its batches itself. "
            "Serve its dataset instead, an object with __len__ and __getitem__."
        )
