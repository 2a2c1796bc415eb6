# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""A job whose ranks are on several nodes (`serve --shard blocks`). Each node is a directory of streams on
this machine."""

from __future__ import annotations

import random
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import batchcast as bc
import support

SAMPLES = 103
BATCH = 4


class Nodes:
    """Each has a producer of the same data."""

    def __init__(self, folder: Path, count: int, *arguments: str) -> None:
        np.save(folder / "values.npy", np.arange(SAMPLES * 8, dtype=np.int64).reshape(SAMPLES, 8))
        self.source = f"npy:{folder / 'values.npy'}"
        self.folder = folder
        self.arguments = arguments
        self.directories = [folder / f"node{node}" for node in range(count)]
        for directory in self.directories:
            directory.mkdir(mode=0o700)
        self.served = [self.serve(node) for node in range(count)]

    def serve(self, node: int) -> support.Served:
        words = ["--shard", "blocks", "--seed", "7", "--memory", "4MiB", *self.arguments]
        log = self.folder / f"log{node}-{time.monotonic_ns()}"
        return support.Served(self.source, "job", words, log, BATCHCAST_DIR=str(self.directories[node]))

    def close(self) -> None:
        for served in self.served:
            served.kill()


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Callable[..., Nodes]]:
    made: list[Nodes] = []

    def make(count: int, *arguments: str) -> Nodes:
        made.append(Nodes(tmp_path, count, *arguments))
        return made[-1]

    yield make
    for one in made:
        one.close()


class Job:
    """Ranks, as many on each node as `columns` says. Each reads whole epochs in a thread."""

    def __init__(self, nodes: Nodes, columns: list[int], cursor: int | None = None, **options: Any) -> None:
        self.world = sum(columns)
        self.options = dict({"batch_size": BATCH, "connect_timeout": 60}, **options)
        if cursor is not None:
            self.options.update(join="at", cursor=cursor)
        self.places = [(node, rank) for node, own in enumerate(columns) for rank in range(own)]
        self.groups = [
            f"g{self.world}:{rank}/{columns[node]}@{sum(columns[:node])}/{self.world}"
            for node, rank in self.places
        ]
        self.nodes = nodes
        self.barrier = threading.Barrier(self.world)
        self.ids: dict[tuple[int, int], list[Any]] = {}  # by epoch and batch: the parts of all ranks
        self.cursors: list[list[int]] = [[] for _ in self.places]
        self.lengths: list[int | None] = [None for _ in self.places]
        self.errors: list[BaseException] = []
        self.checkpoint: dict[str, Any] = {}

    def _read(self, rank: int, batches: int | None, epochs: int, pause_s: float) -> None:
        try:
            directory = str(self.nodes.directories[self.places[rank][0]])
            options = dict(self.options, group=self.groups[rank], directory=directory)
            with bc.Consumer("job", **options) as consumer:
                left = batches if batches is not None else -1
                self.lengths[rank] = consumer.samples_per_epoch
                for _ in range(epochs):
                    for number, batch in enumerate(consumer):
                        with LOCK:
                            parts = self.ids.setdefault((batch.epoch, number), [])
                            parts.append(np.array(batch["sample_id"]).copy())
                        values = np.array(batch["values"] if "values" in batch else batch[0])
                        assert (values[:, 0] == np.array(batch["sample_id"]) * 8).all()
                        self.cursors[rank].append(consumer.cursor)
                        if rank == 0:
                            self.checkpoint = consumer.checkpoint()
                        time.sleep(pause_s)
                        left -= 1
                        if left == 0:  # a rank that leaves ends the epoch for the others
                            self.barrier.wait(timeout=60)
                            break
                    if left == 0:
                        break
        except BaseException as error:
            self.errors.append(error)

    def run(self, batches: int | None = None, epochs: int = 1, pause_s: float = 0) -> Job:
        threads = [
            threading.Thread(target=self._read, args=(rank, batches, epochs, pause_s), daemon=True)
            for rank in range(len(self.places))
        ]
        for thread in threads:
            thread.start()
        self.threads = threads
        return self

    def join(self) -> Job:
        for thread in self.threads:
            thread.join(timeout=90)
            assert not thread.is_alive()
        if self.errors:
            raise self.errors[0]
        assert len({tuple(cursors) for cursors in self.cursors}) == 1, self.cursors
        return self

    def batches(self) -> list[list[int]]:
        """Of the job, each sorted."""
        return [sorted(np.concatenate(self.ids[key]).tolist()) for key in sorted(self.ids)]


LOCK = threading.Lock()


def test_nodes_share_each_batch_of_one_node(nodes: Callable[..., Nodes]) -> None:
    made = nodes(3)
    over_three = Job(made, [2, 1, 1]).run(epochs=2).join()
    assert over_three.lengths == [50, 50, 25, 25]
    on_one = Job(made, [4, 0, 0]).run(epochs=2).join()
    # A job on one node has the same batches, and in the last one of an epoch what the world divides.
    assert over_three.batches() == on_one.batches()
    assert [len(batch) for batch in over_three.batches()[:7]] == [16] * 6 + [4]
    assert over_three.cursors == on_one.cursors
    # Every sample of an epoch but the last three of its order came once.
    for epoch in range(2):
        of_epoch = [i for (e, _), parts in over_three.ids.items() if e == epoch for i in np.concatenate(parts)]
        assert len(of_epoch) == len(set(of_epoch)) == 100


@pytest.mark.parametrize("seed", [random.SystemRandom().randrange(10**6) for _ in range(4)])
def test_a_checkpoint_is_good_for_any_nodes(nodes: Callable[..., Nodes], seed: int) -> None:
    chance = random.Random(seed)
    print(f"seed {seed}")
    made = nodes(3)
    cursor: int | None = None
    seen: list[int] = []
    for _ in range(3):
        columns = [chance.randint(1, 2), chance.randint(0, 2), chance.randint(0, 1)]
        job = Job(made, columns, cursor).run(batches=chance.randint(1, 2)).join()
        before, cursor = cursor or 0, job.cursors[0][-1]
        got = [int(i) for parts in job.ids.values() for i in np.concatenate(parts)]
        assert cursor - before == len(got)  # cursors count the samples of all nodes
        assert job.checkpoint["cursor"] == cursor
        seen += got
    last = Job(made, [1, 0, 0], cursor).run().join()
    seen += [int(i) for parts in last.ids.values() for i in np.concatenate(parts)]
    assert sorted(seen) == list(range(SAMPLES))


def test_the_identity_is_that_of_the_whole_stream(nodes: Callable[..., Nodes], tmp_path: Path) -> None:
    made = nodes(2)
    job = Job(made, [1, 1]).run(batches=1).join()
    log, where = tmp_path / "plain.log", str(made.directories[0])
    plain = support.Served(made.source, "plain", ["--seed", "7"], log, BATCHCAST_DIR=where)
    try:
        with bc.Consumer("plain", directory=where, connect_timeout=30) as consumer:
            bc.check_same_samples(job.checkpoint, consumer.checkpoint())
            assert consumer.identity == job.checkpoint["identity"]
            assert consumer.samples_per_epoch == consumer.cursors_per_epoch == SAMPLES
    finally:
        plain.kill()


def test_another_job_waits_and_is_told_why(nodes: Callable[..., Nodes]) -> None:
    made = nodes(1)
    directory = str(made.directories[0])
    with bc.Consumer("job", batch_size=4, group="one:0/1@0/2", directory=directory, connect_timeout=30):
        with pytest.raises(bc.Error, match=r"laid out for rank 0 of 2, and this rank is of rank 2 of 3.*one:0"):
            bc.Consumer("job", batch_size=4, group="two:0/1@2/3", directory=directory, connect_timeout=0.5)
        with pytest.raises(bc.Error, match="this consumer is of a job on this node alone"):
            bc.Consumer("job", batch_size=4, directory=directory, connect_timeout=0.5)
        # Of the same job another group may come, with batches of another size.
        with bc.Consumer("job", batch_size=3, group="more:0/1@0/2", directory=directory, connect_timeout=30):
            pass
    with bc.Consumer("job", batch_size=4, directory=directory, connect_timeout=30) as alone:
        assert alone.samples_per_epoch == SAMPLES
        assert sum(len(batch["sample_id"]) for batch in alone) == SAMPLES


def test_what_cannot_be_shared_over_nodes_is_refused(nodes: Callable[..., Nodes]) -> None:
    directory = str(nodes(1).directories[0])
    with pytest.raises(bc.Refused, match="has 1 of the 200 ranks of its job, and an epoch has only 103"):
        bc.Consumer("job", batch_size=4, group="many:0/1@0/200", directory=directory, connect_timeout=30)


def test_a_job_over_nodes_rides_through_deaths(nodes: Callable[..., Nodes]) -> None:
    made = nodes(2)
    undisturbed = Job(made, [2, 1], cursor=0).run(epochs=2).join()
    job = Job(made, [2, 1], cursor=0).run(epochs=2, pause_s=0.05)
    for _ in range(3):
        time.sleep(0.4)
        node = random.randrange(2)
        made.served[node].kill()
        made.served[node] = made.serve(node)
    assert job.join().batches() == undisturbed.batches()


def test_a_stream_is_started_by_the_ranks(tmp_path: Path) -> None:
    np.save(tmp_path / "values.npy", np.arange(SAMPLES * 8, dtype=np.int64).reshape(SAMPLES, 8))
    start = bc.Start(f"npy:{tmp_path / 'values.npy'}", arguments=("--shard", "blocks"), idle_exit=3)
    sums: list[list[int]] = []

    def train(node: int, rank: int) -> None:
        directory = tmp_path / f"node{node}"
        directory.mkdir(mode=0o700, exist_ok=True)
        group = f"job:{rank}/2@{2 * node}/4"
        with bc.Consumer(
            "job", batch_size=5, group=group, directory=str(directory), start=start, connect_timeout=60
        ) as consumer:
            ids = [int(i) for batch in consumer for i in np.array(batch["sample_id"])]
        with LOCK:
            sums.append(ids)

    threads = [threading.Thread(target=train, args=(i // 2, i % 2), daemon=True) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=90)
    for node in range(2):
        where = support.environment(BATCHCAST_DIR=str(tmp_path / f"node{node}"))
        subprocess.run([support.COMMAND, "stop", "job"], env=where, check=True, capture_output=True)
        support.until(lambda node=node: not (tmp_path / f"node{node}" / "job" / "lock").exists())
    assert sorted(len(ids) for ids in sums) == [25] * 4
    assert len({i for ids in sums for i in ids}) == 100


def test_a_loader_goes_on_with_the_state_of_other_nodes(nodes: Callable[..., Nodes]) -> None:
    pytest.importorskip("torch")
    made = nodes(2)
    states: list[dict[str, Any]] = []
    seen: list[int] = []
    meet = threading.Barrier(2)

    def train(node: int) -> None:
        directory = str(made.directories[node])
        options = {"fields": "sample_id", "directory": directory, "connect_timeout": 60}
        with bc.Loader("job", BATCH, group=f"job:0/1@{node}/2", **options) as loader:
            for number, ids in enumerate(loader, 1):
                with LOCK:
                    seen.extend(ids.tolist())
                if number == 5:
                    states.append(loader.state_dict())
                    meet.wait(timeout=60)
                    break

    threads = [threading.Thread(target=train, args=(node,), daemon=True) for node in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=90)
    assert states[0]["cursor"] == states[1]["cursor"] == 2 * 5 * BATCH
    assert states[0]["samples_per_epoch"] == SAMPLES
    with bc.Loader(
        "job", BATCH, fields="sample_id", directory=str(made.directories[1]), connect_timeout=60
    ) as alone:
        alone.load_state_dict(states[1])
        for ids in alone:
            seen.extend(ids.tolist())
    assert sorted(seen) == list(range(SAMPLES))
