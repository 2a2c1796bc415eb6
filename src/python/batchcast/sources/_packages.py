# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Packages that an adapter needs and the others do not."""

from __future__ import annotations

import importlib
from typing import Any


def needed(module: str, adapter: str) -> Any:
    """The module; raises ImportError, which says what to install, where it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"batchcast: sources.{adapter} needs the package {package}, which cannot be imported "
            f"({error}). Install it: `pip install {package}`."
        ) from error
