# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-1.13 torch-2.11
"""Ranks of one job whose loaders have no `group`, and those that Lightning starts."""

from __future__ import annotations

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import examples
import support

torch = pytest.importorskip("torch")

SHAPE = "synthetic:8"
TORCHRUN = {"RANK": "1", "WORLD_SIZE": "2", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
LIGHTNING = {
    "LOCAL_RANK": "1", "NODE_RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1",
    "MASTER_PORT": "40123",
}  # fmt: skip
_OF_RANKS = {*TORCHRUN, *LIGHTNING}


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, str]], None]:
    """Sets the variables of a launcher, and no others of any."""

    def launch(variables: dict[str, str]) -> None:
        for name in _OF_RANKS:
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    launch({})
    return launch


def warned_by(use: Callable[[], Any]) -> list[str]:
    """What is warned of ranks."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        use()
    said = [str(one.message) for one in caught if "`group`" in str(one.message)]
    where = {one.filename for one in caught if "`group`" in str(one.message)}
    assert where <= {__file__}  # of whoever makes the loader, or goes through it
    return said


def train_twice(**options: Any) -> None:
    with bc.Loader("s", 5, **options) as loader:
        for _ in range(2):
            for _ in loader:
                pass


@pytest.mark.parametrize("launcher", [TORCHRUN, LIGHTNING, {"RANK": "1", "WORLD_SIZE": "2"}])
def test_ranks_without_a_group_are_warned_of_once(
    serve: Callable[..., support.Served],
    launched: Callable[[dict[str, str]], None],
    launcher: dict[str, str],
) -> None:
    serve(SHAPE, samples=20)
    launched(launcher)
    said = warned_by(train_twice)
    assert len(said) == 1
    assert said[0].startswith("batchcast: rank 1 of 2 takes stream `s` without `group`")
    write = 'group="auto"' if "LOCAL_RANK" in launcher else 'group=("NAME", torch.distributed.get_rank(),'
    assert f"bc.Loader('s', 5, {write}" in said[0]
    silencing = re.search(r"warnings\.filterwarnings\([^)]*\)", said[0])
    assert silencing is not None

    def silenced() -> None:
        exec(silencing[0], {"warnings": warnings})
        train_twice()

    assert warned_by(silenced) == []


@pytest.mark.parametrize(
    ("launcher", "options"),
    [
        ({}, {}),
        ({"RANK": "0", "WORLD_SIZE": "1"}, {}),
        ({"WORLD_SIZE": "2"}, {}),
        ({"RANK": "one", "WORLD_SIZE": "2"}, {}),
        (TORCHRUN, {"between_epochs": "let_go"}),
        (TORCHRUN, {"group": ("alone", 0, 1)}),
    ],
)
def test_others_are_not_warned_of(
    serve: Callable[..., support.Served],
    launched: Callable[[dict[str, str]], None],
    launcher: dict[str, str],
    options: dict[str, Any],
) -> None:
    serve(SHAPE, samples=20)
    launched(launcher)
    assert warned_by(lambda: train_twice(**options)) == []


RANK = """
import sys, warnings, torch.distributed as dist, batchcast as bc
said = []
warnings.showwarning = lambda message, *rest: said.append(str(message))
rank, file = int(sys.argv[1]), sys.argv[2]
loader = bc.Loader("s", 5)
early = len(said)
dist.init_process_group("gloo", init_method="file://" + file, rank=rank, world_size=2)
for _ in range(2):
    for _ in loader: pass
print(early, len(said), said[0].split("`group`")[0])
"""


def test_a_loader_from_before_torch_knows_the_world_warns_at_its_first_loop(
    serve: Callable[..., support.Served],
    launched: Callable[[dict[str, str]], None],
    child: Callable[..., support.Child],
    tmp_path: Path,
) -> None:
    serve(SHAPE, samples=20)
    ranks = [child(RANK, str(rank), str(tmp_path / "store")) for rank in range(2)]
    for rank, process in enumerate(ranks):
        line = f"0 1 batchcast: rank {rank} of 2 takes stream `s` without"
        assert process.line().rstrip() == line, process.finish()


def test_auto_before_fit_says_where_loaders_are_made(
    serve: Callable[..., support.Served], launched: Callable[[dict[str, str]], None]
) -> None:
    serve(SHAPE, samples=20)
    with pytest.raises(bc.InvalidArgument, match=r"no launcher did.*in train_dataloader\(\)"):
        bc.Loader("s", 5, group="auto")


@examples.needs_fashion
def test_lightning_starts_two_ranks(
    directory: Path, launched: Callable[[dict[str, str]], None]
) -> None:
    pytest.importorskip("lightning")
    with examples.started(directory):
        done = subprocess.run(
            [sys.executable, str(examples.FOLDER / "lightning_ddp.py"), str(examples.FASHION)],
            capture_output=True,
            text=True,
            env=support.environment(OMP_NUM_THREADS="1"),
            timeout=90,
        )
    assert done.returncode == 0, done.stderr
    ranks = re.findall(r"rank ([01]) of 2: (\d+) samples, accuracy ([0-9.]+)%", done.stdout)
    assert sorted(ranks)[0][:2] == ("0", "30000") and sorted(ranks)[1][:2] == ("1", "30000")
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
    strategy="STRATEGY", devices=2, max_epochs=1, accelerator="cpu", logger=False,
    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
).fit(Classifier(), loader)
"""


def test_an_earlier_loader_is_warned_of_under_lightning(
    serve: Callable[..., support.Served],
    launched: Callable[[dict[str, str]], None],
    tmp_path: Path,
) -> None:
    pytest.importorskip("lightning")
    serve(SHAPE, samples=20)
    script = tmp_path / "early.py"
    script.write_text(EARLY.replace("STRATEGY", "ddp"))
    done = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True, text=True, env=support.environment(OMP_NUM_THREADS="1"), timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    ranks = re.findall(r"batchcast: rank (\d) of 2 takes stream `s` without", done.stderr)
    assert sorted(ranks) == ["0", "1"]
    assert done.stderr.count('group="auto"), and make it in train_dataloader()') == 2
