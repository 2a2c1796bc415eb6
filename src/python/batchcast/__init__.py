# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""One producer serves a dataset to any number of trainers through shared memory."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING

from . import _command, _consumer, errors
from ._consumer import Batch, Consumer, Field, Start, check_same_samples
from ._consumer import version as __version__
from ._values import ConsumerStats, FieldSpec, Group, Padded, PaddedImages, Ragged, TokenCounts
from .errors import *  # noqa: F403

if TYPE_CHECKING:
    from . import huggingface as huggingface
    from . import sources as sources
    from . import tensorsocket as tensorsocket
    from ._producer import serve as serve
    from .loader import Loader as Loader

__all__ = [
    "Batch",
    "Consumer",
    "ConsumerStats",
    "Field",
    "FieldSpec",
    "Group",
    "Padded",
    "PaddedImages",
    "Ragged",
    "Start",
    "TokenCounts",
    "__version__",
    "check_same_samples",
    "errors",
]
__all__ += errors.__all__

# These are loaded on first use, by the module that has them: they bring torch, or the producer's
# libraries.
_lazy = {
    "Loader": "loader", "huggingface": "huggingface", "serve": "_producer", "sources": "sources",
    "tensorsocket": "tensorsocket",
}  # fmt: skip

if not TYPE_CHECKING:  # they would take any name for one of these

    def __getattr__(name: str) -> object:
        if name not in _lazy:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module = importlib.import_module(f".{_lazy[name]}", __name__)
        value: object = module if name == _lazy[name] else getattr(module, name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    """The names that the package offers, for help() and its like."""
    from importlib.util import find_spec

    needs = {"Loader": "torch", "huggingface": "transformers"}
    missing = {name for name, package in needs.items() if find_spec(package) is None}
    return sorted({*globals(), *_lazy} - missing)


if (_path := _command.path()) is not None:
    _consumer._note_command(_path)
if sys.executable:  # an embedded interpreter may have none
    _consumer._note_python(sys.executable)
