# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""Ranks that Lightning starts."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import examples
import support

pytest.importorskip("torch")
pytest.importorskip("lightning")


@pytest.fixture(autouse=True)
def started_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK"):
        monkeypatch.delenv(name, raising=False)


def run(script: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Both ranks, of which Lightning starts the second."""
    done = subprocess.run(
        [sys.executable, str(script), *arguments],
        capture_output=True,
        text=True,
        env=support.environment(OMP_NUM_THREADS="1"),
        timeout=100,
    )
    assert done.returncode == 0, done.stderr
    return done


@examples.needs_fashion
def test_two_ranks_share_each_batch(directory: Path) -> None:
    with examples.started(directory):
        done = run(examples.FOLDER / "lightning_ddp.py", str(examples.FASHION))
    ranks = sorted(re.findall(r"rank ([01]) of 2: (\d+) samples, accuracy ([0-9.]+)%", done.stdout))
    assert [rank[:2] for rank in ranks] == [("0", "30000"), ("1", "30000")], done.stdout
    assert ranks[0][2] == ranks[1][2] and float(ranks[0][2]) > 60
    assert "without `group`" not in done.stderr


EARLY = """
import lightning, torch, batchcast as bc
class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def training_step(self, batch, index):
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)
loader = bc.Loader("s", 5, fields="image")
lightning.Trainer(
    strategy="ddp", devices=2, max_epochs=1, accelerator="cpu", logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
).fit(Classifier(), loader)
"""


def test_an_earlier_loader_is_warned_of(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve("synthetic:8", samples=20)
    script = tmp_path / "early.py"
    script.write_text(EARLY)
    done = run(script)
    ranks = re.findall(r"batchcast: rank (\d) of 2 takes stream `s` without", done.stderr)
    assert sorted(ranks) == ["0", "1"]
    assert done.stderr.count('group="auto"), and make it in train_dataloader()') == 2
