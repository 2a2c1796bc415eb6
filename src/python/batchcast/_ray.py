# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""In a worker of Ray: where its node's streams lie, and what its numbers of GPUs mean there."""

from __future__ import annotations

import ctypes
import os
import sys
import warnings
from typing import Any

from .errors import InvalidArgument

_DIGITS = 16  # of a node id: sockets need short paths
_PR_GET_CHILD_SUBREAPER = 37


def is_worker() -> bool:
    return "RAY_RAYLET_PID" in os.environ and _connected() is not None


def _connected() -> Any:
    """Ray, where this process is connected to it."""
    ray = sys.modules.get("ray")
    return ray if ray is not None and ray.is_initialized() else None


def settle() -> None:
    """Has BATCHCAST_DIR name the directory of this node's streams, for this process and those that
    it starts. Nodes may share what it named before."""
    base = os.environ.get("BATCHCAST_DIR")
    if not base or not is_worker():
        return
    node = f"ray-{_connected().get_runtime_context().get_node_id()[:_DIGITS]}"
    # A relative one counts from the driver's directory, as sources do.
    base = os.path.normpath(os.path.join(os.environ.get("TUNE_ORIG_WORKING_DIR", ""), base))
    if os.path.basename(base) != node:
        os.environ["BATCHCAST_DIR"] = os.path.join(base, node)


def gpu_of_node(number: int) -> int:
    """What the node calls the GPU with that number in this worker. A worker counts its own GPUs
    from 0, the producer all of the node."""
    return node_number(number, os.environ.get("CUDA_VISIBLE_DEVICES"), _of_raylet())


def node_number(number: int, own: str | None, of_node: str | None) -> int:
    if own is None:
        return number
    names = own.split(",")
    name = names[number] if number < len(names) else ""
    if of_node and name in of_node.split(","):
        return of_node.split(",").index(name)
    if not of_node and name.isdecimal():
        return int(name)
    raise InvalidArgument(
        f"batchcast: of the GPUs in CUDA_VISIBLE_DEVICES={own}, which number {number} has on this"
        f" node cannot be told. Name the GPUs to serve on, by the node's numbers:"
        f' arguments=("--place", "host,cuda:0").'
    )


def _of_raylet() -> str | None:
    """CUDA_VISIBLE_DEVICES as the process has it that starts the node's workers."""
    try:
        with open(f"/proc/{os.environ['RAY_RAYLET_PID']}/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return None
    for entry in entries:
        if entry.startswith(b"CUDA_VISIBLE_DEVICES="):
            return entry.partition(b"=")[2].decode()
    return None


def warn_of_end(stream: str) -> None:
    """Warns where what this worker starts will end with it: Ray then kills all that it started."""
    reaps = ctypes.c_int(0)
    ctypes.CDLL(None).prctl(_PR_GET_CHILD_SUBREAPER, ctypes.byref(reaps), 0, 0, 0)
    if reaps.value == 0:
        return
    warnings.warn(
        f"batchcast: if this worker starts the producer of stream `{stream}`, Ray ends that with"
        f" the worker, since RAY_kill_child_processes_on_worker_exit_with_raylet_subreaper is set."
        f" Other trials then wait until one of them has started the next one. Start the stream on"
        f" each node before, with `batchcast ensure`.",
        RuntimeWarning,
        stacklevel=2,
    )
