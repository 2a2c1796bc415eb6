# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-1.13 torch-2.11
"""Ranks of one model, started by torchrun as its users do, and by torch.multiprocessing."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import examples
import support

torch = pytest.importorskip("torch")


@examples.needs_fashion
def test_torchrun_with_gloo(directory: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node=2"]
    # With Python 3.11 torch 1.13 does not know its own word for no redirection.
    command += ["--redirects=1", "--tee=1", f"--log_dir={tmp_path}"]
    with examples.started(directory):
        done = subprocess.run(
            [*command, str(examples.FOLDER / "ddp.py"), examples.TEN_THOUSAND],
            capture_output=True,
            text=True,
            env=support.environment(OMP_NUM_THREADS="1"),
            timeout=120,
        )
    assert done.returncode == 0, done.stderr
    line = r"rank ([01]) of 2: 5000 samples, whose ids add up to (\d+); .* add up to (\S+)"
    ranks = re.findall(line, done.stdout)
    assert sorted(rank for rank, _, _ in ranks) == ["0", "1"], done.stdout
    assert sum(int(ids) for _, ids, _ in ranks) == 10000 * 9999 // 2
    assert ranks[0][2] == ranks[1][2]  # the same model on both


def take_part(rank: int, loader: Any, results: Any) -> None:
    results.put((rank, sum(len(batch) for batch in loader)))


def test_a_loader_goes_to_processes_that_are_spawned(serve: Callable[..., support.Served]) -> None:
    serve("synthetic:8", samples=20)
    context = torch.multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    loader = bc.Loader("s", 5, fields="sample_id", between_epochs="let_go")
    torch.multiprocessing.spawn(take_part, (loader, results), nprocs=1)
    assert results.get() == (0, 20)
