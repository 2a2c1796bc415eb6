# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What Ray runs in its workers, which import this module without pytest."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import batchcast as bc
import ray
from ray import tune

COMMAND = os.environ["BATCHCAST_COMMAND"]


def node_id() -> str:
    return str(ray.get_runtime_context().get_node_id())


def listed() -> list[dict[str, Any]]:
    """The streams that a process of this node lists."""
    out = subprocess.check_output([COMMAND, "ls", "--json"], text=True)
    return list(json.loads(out))


def digest_of_epoch(consumer: bc.Consumer) -> tuple[int, str]:
    """Of all that one whole epoch gives."""
    consumer.batch_size = 1 + os.getpid() % 60
    epoch, digest = consumer.epoch, hashlib.sha256()
    samples: list[bytes] = []
    for batch in consumer:
        assert batch.epoch == epoch
        samples += [bytes(one) for one in batch["image"]]
    digest.update(b"".join(samples))
    return epoch, digest.hexdigest()


def start_of(config: dict[str, Any]) -> bc.Start:
    memory = config.get("memory", "4MiB")
    return bc.Start(config["source"], recipe=config["recipe"], memory=memory, idle_exit=60.0)


def is_first_time(config: dict[str, Any]) -> bool:
    """Once for each trial, also where its worker is killed afterwards."""
    try:
        Path(config["marks"], str(config["trial"])).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def wait_for_trials(config: dict[str, Any], own: str, wanted: int) -> None:
    """Short trials end before others begin, or all run on the node whose workers start first."""
    Path(config["marks"], f"has-begun-{own}").touch()
    until = time.monotonic() + 60
    while len(list(Path(config["marks"]).glob("has-begun-*"))) < wanted and time.monotonic() < until:
        time.sleep(0.05)


def sweep_trial(config: dict[str, Any]) -> None:
    """Reads one epoch. Some workers are killed in its middle, the first time."""
    wait_for_trials(config, node_id(), 3)
    with bc.Consumer("sweep", 16, start=start_of(config)) as consumer:
        if is_first_time(config) and config["trial"] in config["killed"]:
            assert consumer.next() is not None
            os.kill(os.getpid(), signal.SIGKILL)
        epoch, digest = digest_of_epoch(consumer)
        (stream,) = listed()
        producer = Path("/proc", str(stream["pid"]))
        raylet = Path("/proc", os.environ["RAY_RAYLET_PID"])
        environment = (producer / "environ").read_bytes().split(b"\0")
        names = {entry.partition(b"=")[0].decode() for entry in environment}
        tune.report(
            {
                "node": node_id(),
                "epoch": epoch,
                "digest": digest,
                "producer": stream["pid"],
                "directory": stream["directory"],
                "works_in": os.readlink(producer / "cwd"),
                "of_worker": sorted(names & {"CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS"}),
                "dies_as_raylet": (producer / "oom_score_adj").read_text()
                == (raylet / "oom_score_adj").read_text(),
            }
        )


def resuming_trial(config: dict[str, Any]) -> None:
    """Reads some epochs, with a checkpoint after each batch. Where it is killed, the checkpoint
    says where the next run of it begins."""
    cursor, seen, placement = 0, [], "host"
    if (checkpoint := tune.get_checkpoint()) is not None:
        with checkpoint.as_directory() as folder:
            state = json.loads(Path(folder, "state.json").read_text())
        cursor, seen = state["place"]["cursor"], state["seen"]
    batches = 0
    with bc.Consumer(
        config["stream"], 48, start=start_of(config), join="at", cursor=cursor, tail="keep"
    ) as consumer:
        if cursor:
            bc.check_same_samples(state["place"], consumer.checkpoint())
            (stream,) = [one for one in listed() if one["stream"] == config["stream"]]
            (own,) = [one for one in stream["consumers"] if one["pid"] == os.getpid()]
            placement = own["placement"]
        while consumer.epoch < config.get("epochs", 3):
            batch = consumer.next()
            if batch is None:
                continue
            seen.append([batch.position, [int(one) for one in batch.sample_ids]])
            del batch
            with tempfile.TemporaryDirectory() as folder:
                state = {"place": consumer.checkpoint(), "seen": seen}
                Path(folder, "state.json").write_text(json.dumps(state))
                tune.report(
                    {
                        "node": node_id(),
                        "batches": len(seen),
                        "seen": json.dumps(seen),
                        "placement": placement,
                    },
                    checkpoint=tune.Checkpoint.from_directory(folder),
                )
            batches += 1
            if batches == 1 and "lives" in config:
                tell_of_this_life(config)
            time.sleep(config.get("pause_s", 0))
            if batches == config.get("dies_after"):
                os.kill(os.getpid(), signal.SIGKILL)
            if config.get("waits_at") == len(seen):
                wait_for_the_end_of_this_node(config)


def trial_of_a_population(config: dict[str, Any]) -> None:
    """Reads an epoch, with a checkpoint after each batch. A trial that copies another one goes on
    with that one's samples, and says from whom it has them."""
    own = tune.get_context().get_trial_id()
    cursor, seen, line = 0, [], [own]
    if (checkpoint := tune.get_checkpoint()) is not None:
        with checkpoint.as_directory() as folder:
            state = json.loads(Path(folder, "state.json").read_text())
        cursor, seen = state["place"]["cursor"], state["seen"]
        line = state["line"] + ([own] if state["line"][-1] != own else [])
    else:
        wait_for_trials(config, own, 4)
    with bc.Consumer(
        config["stream"], 48, start=start_of(config), join="at", cursor=cursor, tail="keep"
    ) as consumer:
        for batch in consumer:
            seen.append([batch.position, [int(one) for one in batch.sample_ids]])
            del batch
            time.sleep(0.1)  # as training does: the others come that far as well
            with tempfile.TemporaryDirectory() as folder:
                state = {"place": consumer.checkpoint(), "seen": seen, "line": line}
                Path(folder, "state.json").write_text(json.dumps(state))
                told = {"score": config["score"], "seen": json.dumps(seen), "line": line}
                tune.report(told, checkpoint=tune.Checkpoint.from_directory(folder))


def tell_of_this_life(config: dict[str, Any]) -> None:
    """The node that this run of the trial has, for the test that takes it away."""
    written = Path(config["lives"], f"written-{os.getpid()}")
    written.write_text(node_id())
    written.rename(Path(config["lives"], f"life-{os.getpid()}"))


def trial_beside_another(config: dict[str, Any]) -> None:
    """Trial 0 is killed, and comes back from its checkpoint. Trial 1 goes on meanwhile."""
    ended = Path(config["marks"], "ended")
    if config["trial"] == 0:
        try:
            resuming_trial(config)
        finally:
            ended.touch()
        return
    with bc.Consumer(config["stream"], 48, start=start_of(config)) as consumer:
        while not ended.exists():
            while consumer.next() is not None:
                if consumer.epoch >= 3:
                    time.sleep(0.02)  # far enough: the ring has lost the other's place
    tune.report({"node": node_id(), "seen": "[]"})


def wait_for_the_end_of_this_node(config: dict[str, Any]) -> None:
    """The first time; the test reads its name and takes it away."""
    if is_first_time(config):
        Path(config["marks"], "written").write_text(node_id())
        Path(config["marks"], "written").rename(Path(config["marks"], "ends"))
        time.sleep(3600)


def rank_of_a_job(config: dict[str, Any]) -> None:
    """One rank of a job over nodes: each node has a shard, of which its ranks share the batches."""
    start = bc.Start(
        config["source"], recipe=config["recipe"], memory="4MiB", idle_exit=60.0,
        arguments=("--shard", "auto"),
    )  # fmt: skip
    with bc.Consumer("parts", 20, group="auto", start=start) as consumer:
        ids = [[int(one) for one in batch.sample_ids] for batch in consumer]
        (stream,) = [one for one in listed() if one["stream"] == "parts"]
        works_in = os.readlink(f"/proc/{stream['pid']}/cwd")
        told = {"node": node_id(), "ids": ids, "works_in": works_in, "group": list(consumer.group)}
    Path(config["marks"], f"rank-{os.environ['RANK']}").write_text(json.dumps(told))


def tell_and_meet(marks: str, told: dict[str, Any]) -> None:
    """Waits for all ranks: one that leaves ends the epoch for the others."""
    own = Path(marks, f"written-{os.environ['RANK']}")
    own.write_text(json.dumps(told))
    own.rename(Path(marks, f"rank-{os.environ['RANK']}"))
    until = time.monotonic() + 60
    while len(list(Path(marks).glob("rank-*"))) < int(os.environ["WORLD_SIZE"]):
        assert time.monotonic() < until, "ranks are missing"
        time.sleep(0.02)


def rank_over_nodes(config: dict[str, Any]) -> None:
    """One rank of a job of which each node makes what its ranks get. It reads some batches from a
    cursor on."""
    start = bc.Start(
        config["source"], recipe=config["recipe"], memory="4MiB", idle_exit=60.0,
        arguments=("--shard", "blocks"),
    )  # fmt: skip
    place = {"join": "at", "cursor": config["cursor"]} if config["cursor"] else {}
    with bc.Consumer("over-nodes", 20, group="auto", start=start, **place) as consumer:
        ids: list[int] = []
        for number, batch in enumerate(consumer, 1):
            ids += [int(one) for one in batch.sample_ids]
            told = {
                "node": node_id(), "ids": ids, "saved": consumer.checkpoint(),
                "world": consumer.group.world,
            }  # fmt: skip
            if number == config["batches"]:
                tell_and_meet(config["marks"], told)
                return
        tell_and_meet(config["marks"], told)


@ray.remote(num_cpus=0)
class Reader:
    """Attaches in `begin`, and reads two epochs from the stream's beginning in `rest`."""

    def begin(self, config: dict[str, Any]) -> int:
        self.stream = config["stream"]
        self.consumer = bc.Consumer(self.stream, 48, start=start_of(config), join="at", cursor=0)
        return self.producer()

    def producer(self) -> int:
        (stream,) = [one for one in listed() if one["stream"] == self.stream]
        return int(stream["pid"])

    def rest(self) -> dict[str, Any]:
        seen = []
        while self.consumer.epoch < 2:
            for batch in self.consumer:
                seen.append([batch.position, [int(one) for one in batch.sample_ids]])
        return {"seen": json.dumps(seen), "producer": self.producer()}
