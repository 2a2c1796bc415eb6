# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""A data-parallel job on two nodes, as examples/cluster starts it. Both nodes are this machine: each has
a directory of streams to itself, and torchrun meets torchrun on loopback."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import examples
import support

pytest.importorskip("torch")
yaml = pytest.importorskip("yaml")

CLUSTER = support.ROOT / "examples/cluster"
DDP = examples.FOLDER / "ddp.py"
NODES = 2
TORCHRUN = f"""#!/bin/sh
exec {sys.executable} -m torch.distributed.run --redirects=1 --tee=1 --log-dir="$BATCHCAST_DIR.logs" "$@"
"""
SCONTROL = """#!/bin/sh
[ "$*" = "show hostnames node[0-1]" ] || exit 1
printf '127.0.0.1\\nnode1\\n'
"""
# One task on each node, with what Slurm sets for it.
SRUN = """#!/bin/sh
for node in 0 1; do
  SLURM_STEP_ID=0 SLURM_NODEID=$node SLURM_LOCALID=0 SLURM_STEP_NUM_NODES=2 \\
    SLURM_STEP_TASKS_PER_NODE='1(x2)' BATCHCAST_DIR="$BATCHCAST_DIR/node$node" "$@" &
  tasks="${tasks-} $!"
done
for task in $tasks; do wait "$task" || exit 1; done
"""


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[list[Path]]:
    """Their directories of streams; producers in them are stopped."""
    folders = [tmp_path / f"node{node}" for node in range(NODES)]
    for folder in folders:
        folder.mkdir(mode=0o700)
    yield folders
    for folder in folders:
        with contextlib.suppress(OSError):
            where = dict(os.environ, BATCHCAST_DIR=str(folder))
            subprocess.run(
                [support.COMMAND, "stop", "mnist-ddp"], env=where, capture_output=True, check=False
            )


def programs(folder: Path, **scripts: str) -> str:
    """A PATH that begins with these."""
    folder.mkdir()
    for name, script in scripts.items():
        (folder / name).write_text(script)
        (folder / name).chmod(0o700)
    return f"{folder}:{os.environ['PATH']}"


def judge(printed: Sequence[str], ranks_of_a_node: int) -> None:
    """Every sample of the epoch came once over all nodes, in equal parts, and one model was trained."""
    line = r"rank (\d+) of (\d+): (\d+) samples, whose ids add up to (\d+); .* add up to (\S+)"
    ranks = [rank for text in printed for rank in re.findall(line, text)]
    world = NODES * ranks_of_a_node
    assert sorted(int(rank[0]) for rank in ranks) == list(range(world)), printed
    assert {int(rank[1]) for rank in ranks} == {world}
    assert [int(rank[2]) for rank in ranks] == [10000 // world] * world
    assert sum(int(rank[3]) for rank in ranks) == 10000 * 9999 // 2
    assert len({rank[4] for rank in ranks}) == 1, ranks


@examples.needs_fashion
def test_a_job_of_slurm(tmp_path: Path, nodes: list[Path]) -> None:
    script = (CLUSTER / "slurm.sh").read_text().replace(":29500", f":{free_port()}")
    (tmp_path / "slurm.sh").write_text(script)
    path = programs(tmp_path / "bin", srun=SRUN, scontrol=SCONTROL, torchrun=TORCHRUN)
    job = {
        "SLURM_JOB_ID": "42", "SLURM_JOB_NUM_NODES": "2", "SLURM_NNODES": "2",
        "SLURM_JOB_NODELIST": "node[0-1]", "SLURM_GPUS_ON_NODE": "2", "SLURM_NODEID": "0",
        "PET_LOCAL_ADDR": "127.0.0.1",  # the name of a machine that tests run on need not resolve
    }  # fmt: skip
    done = subprocess.run(
        ["bash", str(tmp_path / "slurm.sh"), str(DDP), examples.TEN_THOUSAND],
        env=support.environment(PATH=path, BATCHCAST_DIR=str(tmp_path), **job),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    judge([done.stdout], 2)


def pod(manifest: dict[str, object], index: int) -> tuple[list[str], dict[str, str]]:
    """Command and variables of the Pod with that index, as Kubernetes makes them of the manifest."""
    (job,) = manifest["spec"]["replicatedJobs"]  # type: ignore[index]
    job = job["template"]["spec"]
    assert job["completions"] == job["parallelism"] == NODES and job["completionMode"] == "Indexed"
    (container,) = job["template"]["spec"]["containers"]
    annotation = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    variables = {"JOB_COMPLETION_INDEX": str(index)}
    for one in container["env"]:
        if "value" in one:
            variables[one["name"]] = one["value"]
        else:
            assert one["valueFrom"]["fieldRef"]["fieldPath"] == annotation
            variables[one["name"]] = str(index)
    return container["command"], variables


@examples.needs_fashion
def test_a_jobset(tmp_path: Path, nodes: list[Path]) -> None:
    manifest = yaml.safe_load((CLUSTER / "jobset.yaml").read_text())
    path = programs(tmp_path / "bin", torchrun=TORCHRUN)
    port = str(free_port())
    pods = []
    for index, folder in enumerate(nodes):
        command, variables = pod(manifest, index)
        # The name of the first Pod: JobSet, replicated Job, Job, Pod; the JobSet's name is the domain's.
        name = manifest["metadata"]["name"]
        first = f"{name}-{manifest['spec']['replicatedJobs'][0]['name']}-0-0.{name}"
        assert variables["PET_MASTER_ADDR"] == first and variables["PET_NPROC_PER_NODE"] == "8"
        assert command[:2] == ["torchrun", "/app/ddp.py"]
        variables |= {"PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": port, "PET_NPROC_PER_NODE": "1"}
        pods.append(
            subprocess.Popen(
                [command[0], str(DDP), examples.TEN_THOUSAND],
                env=support.environment(PATH=path, BATCHCAST_DIR=str(folder), **variables),
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    try:
        said = [one.communicate(timeout=120) for one in pods]
    finally:
        for one in pods:
            one.kill()
    assert [one.returncode for one in pods] == [0] * NODES, said
    judge([out for out, _ in said], 1)
