# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-1.13 torch-2.11
"""Ranks of one job: loaders without `group`, and what `"auto"` is."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
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


SPAWNED = """
import os, sys, torch.distributed as dist, batchcast as bc
rank, file = sys.argv[1:]
os.environ.update(LOCAL_RANK=rank, MASTER_ADDR="127.0.0.1", MASTER_PORT="40123")
dist.init_process_group("gloo", init_method="file://" + file, rank=int(rank), world_size=2)
with bc.Loader("s", 5, fields="sample_id", group="auto") as loader:
    ids = [one for batch in loader for one in batch.tolist()]
print("ids", *ids, flush=True)
dist.barrier()
"""


def test_auto_is_understood_where_lightning_spawns(
    serve: Callable[..., support.Served],
    launched: Callable[[dict[str, str]], None],
    child: Callable[..., support.Child],
    tmp_path: Path,
) -> None:
    """As its ddp_spawn does: torch.distributed alone knows the world."""
    serve(SHAPE, samples=20)
    ranks = [child(SPAWNED, str(rank), str(tmp_path / "store")) for rank in range(2)]
    lines = [process.line().split() for process in ranks]
    assert [len(line) for line in lines] == [11, 11], ranks[0].finish()
    assert sorted(int(one) for line in lines for one in line[1:]) == list(range(20))


OF_TORCH = """
import sys, torch.distributed as dist, batchcast as bc, batchcast._ranks as ranks
rank, file, machine = sys.argv[1:]
if machine: ranks._machine = lambda: machine
dist.init_process_group("gloo", init_method="file://" + file, rank=int(rank), world_size=2)
said = []
try:
    for _ in range(2):
        with bc.Loader("s", 5, fields="sample_id", group="auto",
                       log=lambda level, text: said.append(text)) as loader:
            ids = [one for batch in loader for one in batch.tolist()]
except bc.InvalidArgument as error:
    print(error, flush=True)
else:
    print(loader._options["group"], *[text for text in said if "`auto`" in text], flush=True)
    print(*ids, flush=True)
dist.barrier()
"""


def test_auto_is_what_torch_distributed_says_where_no_launcher_does(
    serve: Callable[..., support.Served],
    launched: Callable[[dict[str, str]], None],
    child: Callable[..., support.Child],
    tmp_path: Path,
) -> None:
    serve(SHAPE, samples=20)
    ranks = [child(OF_TORCH, str(rank), str(tmp_path / "store"), "") for rank in range(2)]
    lines = [process.line().split() for process in ranks]
    ids = [[int(one) for one in process.line().split()] for process in ranks]
    said = [line[4].split(":") for line in lines]  # group `auto` is NAME:RANK/WORLD: …
    assert [words[1] for words in said] == ["0/2", "1/2"], ranks[0].finish()
    assert said[0][0] == said[1][0] and said[0][0].startswith("torch-")
    assert [len(part) for part in ids] == [10, 10] and sorted(sum(ids, [])) == list(range(20))


def test_auto_on_several_machines_shows_the_group_to_write(
    serve: Callable[..., support.Served],
    launched: Callable[[dict[str, str]], None],
    child: Callable[..., support.Child],
    tmp_path: Path,
) -> None:
    serve(SHAPE, samples=20)
    ranks = [child(OF_TORCH, str(rank), str(tmp_path / "store"), f"m{rank}") for rank in range(2)]
    for process in ranks:
        said = process.line()
        assert "1 run on this machine" in said and 'group=("name", 0, 1)' in said, process.finish()


def test_auto_says_which_ranks_did_not_make_their_loader(
    launched: Callable[[dict[str, str]], None], tmp_path: Path, child: Callable[..., support.Child]
) -> None:
    code = OF_TORCH.replace('group="auto",', 'group="auto", connect_timeout=0.1,')
    code = code.replace("bc.InvalidArgument", "bc.Refused").replace("dist.barrier()", "input()")
    late = "import sys, torch.distributed as dist\nrank, file, _ = sys.argv[1:]\n"
    late += code.split("\n")[4] + "\ninput()\n"
    early = child(code, "0", str(tmp_path / "store"), "")
    child(late, "1", str(tmp_path / "store"), "")
    said = early.line()
    assert "has 2 ranks, and 1 of them made their loader" in said, early.finish()
