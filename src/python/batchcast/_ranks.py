# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Ranks of a data-parallel job that share a stream: what launchers and torch say about them."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

import torch.distributed as dist

# How the warning of ranks without `group` begins, for warnings.filterwarnings.
_BEGINS = "batchcast: rank"


def _is_initialised() -> bool:
    return bool(dist.is_available() and dist.is_initialized())


def _number(*names: str) -> int | None:
    """The first of these variables that is set; None where it is no number."""
    texts = [os.environ[name] for name in names if os.environ.get(name)]
    return int(texts[0]) if texts and texts[0].isdecimal() else None


def _place() -> tuple[int, int] | None:
    """Rank and world of this process's job, where it has several ranks."""
    if _is_initialised():
        rank, world = dist.get_rank(), dist.get_world_size()
    else:  # Lightning's own launcher sets no RANK
        said, size = _number("RANK", "LOCAL_RANK"), _number("WORLD_SIZE")
        if said is None or size is None:
            return None
        rank, world = said, size
    return (rank, world) if world > 1 else None


def _group_to_write() -> str:
    launched = os.environ.get("LOCAL_WORLD_SIZE") or os.environ.get("LOCAL_RANK")
    if launched:
        return 'group="auto"'
    return 'group=("NAME", torch.distributed.get_rank(), torch.distributed.get_world_size())'


def _is_lightnings() -> bool:
    has_lightning = "lightning.pytorch" in sys.modules or "pytorch_lightning" in sys.modules
    return has_lightning and not os.environ.get("LOCAL_WORLD_SIZE")


def warn_without_group(stream: str, batch_size: int, stacklevel: int) -> bool:
    """Warns where this process is one of several ranks, each of which would have all samples.
    Returns whether it did."""
    place = _place()
    if place is None:
        return False
    where = " and make it in train_dataloader()," if _is_lightnings() else ""
    warnings.warn(
        f"{_BEGINS} {place[0]} of {place[1]} takes stream `{stream}` without `group`: each rank"
        f" gets every sample, and all train on the same batches. Write bc.Loader({stream!r},"
        f" {batch_size}, {_group_to_write()}),{where} and each batch is cut among the ranks. If"
        f' each is to have all samples, write warnings.filterwarnings("ignore", "{_BEGINS}")'
        f" before.",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )
    return True


def group_of_spawned(group: Any) -> Any:
    """What `"auto"` means for a process that Lightning's launcher spawned or forked. The launcher
    sets LOCAL_RANK and where rank 0 is, and only torch.distributed knows the world. For others,
    `group`."""
    is_told = os.environ.get("WORLD_SIZE") or os.environ.get("LOCAL_WORLD_SIZE")
    rank, port = _number("LOCAL_RANK"), _number("MASTER_PORT")
    if group != "auto" or is_told or rank is None or port is None or not _is_initialised():
        return group
    if dist.get_rank() != rank:  # of several nodes, and nothing says how many ranks this one has
        return group
    return f"spawned-{port}", rank, dist.get_world_size()
