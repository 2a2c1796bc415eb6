# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Ranks of a data-parallel job that share a stream: what launchers and torch say about them."""

from __future__ import annotations

import math
import os
import sys
import time
import warnings
from typing import Any

import torch.distributed as dist

from .errors import InvalidArgument, Refused

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
    if launched or _is_initialised():
        return 'group="auto"'
    return 'group=("NAME", torch.distributed.get_rank(), torch.distributed.get_world_size())'


def _is_lightnings() -> bool:
    has_lightning = "lightning.pytorch" in sys.modules or "pytorch_lightning" in sys.modules
    return has_lightning and not os.environ.get("LOCAL_WORLD_SIZE")


def warn_without_group(stream: str, batch_size: int | None, stacklevel: int) -> bool:
    """Warns where this process is one of several ranks, each of which would have all samples.
    Returns whether it did."""
    place = _place()
    if place is None:
        return False
    where = " and make it in train_dataloader()," if _is_lightnings() else ""
    warnings.warn(
        f"{_BEGINS} {place[0]} of {place[1]} takes stream `{stream}` without `group`: each rank"
        f" gets every sample, and all train on the same batches. Write bc.Loader({stream!r},"
        f" {batch_size or 'budget=…'}, {_group_to_write()}),{where} and each batch is cut among the ranks. If"
        f' each is to have all samples, write warnings.filterwarnings("ignore", "{_BEGINS}")'
        f" before.",
        RuntimeWarning,
        stacklevel=stacklevel + 1,
    )
    return True


def group_of_torch(group: Any, timeout: float | None, log: Any) -> Any:
    """What `"auto"` means for a process that torch.distributed alone knows as a rank, such as one
    of `mp.spawn` or of Lightning's launcher that spawns. For others, `group`."""
    if group != "auto" or not _is_initialised() or _has_launcher():
        return group
    rank, port = _number("LOCAL_RANK"), _number("MASTER_PORT")
    if rank is not None and rank == dist.get_rank() and port is not None:  # Lightning's
        return f"spawned-{port}", rank, dist.get_world_size()
    return _group_of_one_machine(timeout, log)


def _has_launcher() -> bool:
    """Whether variables say rank and world of this node, which the consumer reads."""
    names = (
        "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
        "SLURM_STEP_ID", "SLURM_STEPID",
    )  # fmt: skip
    if any(os.environ.get(name) for name in names):
        return True
    return bool(os.environ.get("LOCAL_RANK") and os.environ.get("WORLD_SIZE"))


def _machine() -> str:
    """This machine, until it boots again. Containers of one machine have it in common."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def _told_by_all(words: str, timeout: float | None) -> list[str]:
    """What all ranks say, by rank; of a rank, what it said first. Each writes it into torch's store
    and reads the others', which is no collective operation: nothing else that ranks do at this
    moment is mistaken for it. Raises Refused where ranks have not come within the time."""
    store = dist.distributed_c10d._get_default_store()
    rank, world = dist.get_rank(), dist.get_world_size()
    if store.add(f"batchcast/turn/{rank}", 1) == 1:
        store.set(f"batchcast/rank/{rank}", words)
        store.add("batchcast/ranks", 1)
    waits = timeout is None or timeout < 0
    until = math.inf if waits else time.monotonic() + float(timeout or 0)
    while (come := store.add("batchcast/ranks", 0)) < world:
        if time.monotonic() > until:
            raise Refused(
                f'batchcast: group="auto": torch.distributed says that the job has {world} ranks,'
                f" and {come} of them made their loader within {timeout:g} s (connect_timeout)."
                f" All ranks have to make it."
            )
        time.sleep(0.02)
    return [store.get(f"batchcast/rank/{i}").decode() for i in range(world)]


def _group_of_one_machine(timeout: float | None, log: Any) -> tuple[str, int, int]:
    """Rank and world as torch.distributed numbers them, and a name that rank 0 makes. Raises
    InvalidArgument where ranks run on several machines."""
    rank, world, machine = dist.get_rank(), dist.get_world_size(), _machine()
    name = f"torch-{os.getpid()}-{os.urandom(4).hex()}"
    told = [words.split(" ") for words in _told_by_all(f"{machine} {name}", timeout)]
    here = [i for i in range(world) if told[i][0] == machine]
    if len(here) != world:
        raise InvalidArgument(
            f'batchcast: group="auto": of the {world} ranks that torch.distributed numbers,'
            f" {len(here)} run on this machine, and each machine has a group. Start the job with"
            f" torchrun, which says so, or name the ranks of this machine as (name, rank, world):"
            f' group=("name", {here.index(rank)}, {len(here)}).'
        )
    name = told[0][1]
    if log is not None:
        log("info", f"group `auto` is {name}:{rank}/{world}: torch.distributed")
    return name, rank, world
