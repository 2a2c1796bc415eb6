# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: ray
"""Trials of Ray Tune on several nodes: four raylets in this machine, each with its own streams."""

from __future__ import annotations

import ctypes
import json
import os
import random
import shutil
import subprocess
import tempfile
import threading
import time
import warnings
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ray = pytest.importorskip("ray")

from ray import tune  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

import batchcast as bc  # noqa: E402
import examples  # noqa: E402
import support  # noqa: E402
from batchcast import _ray  # noqa: E402

os.environ["BATCHCAST_COMMAND"] = support.COMMAND

import ray_trials  # noqa: E402

SAMPLES = 480
RECIPE = '[[field]]\nname = "image"\nstages = [{ stage = "to", dtype = "f32" }]\n'
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "disabled",
    "RAY_AIR_NEW_OUTPUT": "0",
    "TUNE_DISABLE_AUTO_CALLBACK_LOGGERS": "1",
    "RAY_DEDUP_LOGS": "0",
}


class Nodes:
    """A cluster, whose processes find streams, data and marks in directories of this run."""

    def __init__(self, home: Path) -> None:
        self.streams = home / "s"
        self.data = home / "data"
        self.results = home / "results"
        for folder in (self.streams, self.results):
            folder.mkdir(mode=0o700)
        pixels = np.arange(SAMPLES * 3 * 8 * 8, dtype=np.uint32)
        np.save(self.data / "image.npy", (pixels * 2654435761 >> 24).astype(np.uint8).reshape(-1, 3, 8, 8))
        (self.data / "recipe.toml").write_text(RECIPE)
        small = {"num_cpus": 2, "object_store_memory": 80 << 20}
        self.cluster = Cluster(
            initialize_head=True,
            head_node_args={**small, "include_dashboard": False, "resources": {"pair": 2, "first": 2}},
        )
        self.added = [
            self.cluster.add_node(**small, resources={"spare": 1}),
            self.cluster.add_node(**small, resources={"spare": 1}),
            # Ray Train takes workers with one address for those of one node.
            self.cluster.add_node(**small, resources={"pair": 2}, node_ip_address="127.0.0.2"),
        ]
        ray.init(address=self.cluster.address, logging_level="ERROR", log_to_driver=False)

    def directory_of(self, node_id: str) -> Path:
        return self.streams / f"ray-{node_id[:16]}"

    def run(
        self, trial: Any, trials: list[Any], resources: dict[str, Any], scheduler: Any = None, **config: Any
    ) -> Any:
        given = {"source": "npy:image.npy", "recipe": "recipe.toml", **config}
        given.setdefault("marks", tempfile.mkdtemp(dir=self.results))
        results = tune.Tuner(
            tune.with_resources(trial, resources),
            param_space={**given, "trial": tune.grid_search(trials)},
            tune_config=tune.TuneConfig(reuse_actors=True, scheduler=scheduler),
            run_config=tune.RunConfig(
                storage_path=str(self.results),
                failure_config=tune.FailureConfig(max_failures=config.get("failures", 3)),
                # A population copies a checkpoint that its writer may have left behind.
                checkpoint_config=tune.CheckpointConfig(num_to_keep=None if scheduler else 2),
                verbose=0,
            ),
        ).fit()
        assert [result.error for result in results] == [None] * len(trials)
        return [result.metrics for result in results]

    def stop_streams(self) -> None:
        for node in self.streams.glob("ray-*"):
            for stream in node.iterdir():
                subprocess.run(
                    [support.COMMAND, "stop", stream.name], capture_output=True, check=False,
                    env=dict(os.environ, BATCHCAST_DIR=str(node)),
                )  # fmt: skip

    def close(self) -> None:
        ray.shutdown()
        self.cluster.shutdown()
        self.stop_streams()


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    home = Path(tempfile.mkdtemp(prefix="ray.", dir="/tmp"))
    before = Path.cwd()
    with pytest.MonkeyPatch.context() as patch:
        for name in ("RAY_ADDRESS", "OMP_NUM_THREADS"):
            patch.delenv(name, raising=False)
        for name, value in {**QUIET, "BATCHCAST_DIR": str(home / "s"), "RAY_TMPDIR": str(home)}.items():
            patch.setenv(name, value)
        patch.setenv("PYTHONPATH", support.environment()["PYTHONPATH"])
        # The driver's directory, from which sources count.
        (home / "data").mkdir()
        os.chdir(home / "data")
        made = None
        try:
            made = Nodes(home)
            yield made
        finally:
            if made is not None:
                made.close()
            os.chdir(before)
            shutil.rmtree(home, ignore_errors=True)


@pytest.fixture
def epochs(nodes: Nodes) -> dict[int, str]:
    """What every trial of an epoch has to see, by a consumer on no node of Ray."""
    start = bc.Start(f"npy:{nodes.data}/image.npy", recipe=f"{nodes.data}/recipe.toml", memory="4MiB")
    with bc.Consumer("expected", 16, directory=str(nodes.results), start=start) as consumer:
        return dict(ray_trials.digest_of_epoch(consumer) for _ in range(40))


def test_a_sweep_over_nodes_decodes_once_a_node(nodes: Nodes, epochs: dict[int, str]) -> None:
    trials = nodes.run(
        ray_trials.sweep_trial, list(range(16)), {"CPU": 1}, killed=[1, 4, 6, 11, 15]
    )
    assert len(trials) == 16
    producers = {(trial["node"], trial["producer"]) for trial in trials}
    of_nodes = {trial["node"] for trial in trials}
    assert len(of_nodes) >= 3, "trials went to too few nodes to tell"
    assert len(producers) == len(of_nodes), "a node had several producers"
    for trial in trials:
        assert trial["digest"] == epochs[trial["epoch"]]
        assert trial["directory"] == str(nodes.directory_of(trial["node"]) / "sweep")
        assert trial["works_in"] == str(nodes.data)
        assert trial["of_worker"] == []
        assert trial["dies_as_raylet"]
    # They stay for the next trials, and the driver's shell lists them.
    served = {one["directory"]: one["pid"] for one in ray_trials.listed()}
    for trial in trials:
        assert served[trial["directory"]] == trial["producer"]


def check_each_sample_once(trial: dict[str, Any], epochs: int = 3) -> None:
    position = 0
    ids: list[int] = []
    for begin, samples in json.loads(trial["seen"]):
        assert begin == position
        position += len(samples)
        ids += samples
    assert position == epochs * SAMPLES
    for epoch in range(epochs):
        assert sorted(ids[epoch * SAMPLES : (epoch + 1) * SAMPLES]) == list(range(SAMPLES))


def test_a_trial_that_was_killed_goes_on_at_its_checkpoint(nodes: Nodes) -> None:
    (trial,) = nodes.run(
        ray_trials.resuming_trial, [0], {"CPU": 1}, stream="resumed", dies_after=11
    )
    check_each_sample_once(trial)


def test_a_trial_comes_back_to_its_own_place_while_another_goes_on(nodes: Nodes) -> None:
    trials = nodes.run(
        ray_trials.trial_beside_another, [0, 1], {"CPU": 1, "first": 1}, stream="beside",
        dies_after=11, memory="256KiB",
    )  # fmt: skip
    back, other = sorted(trials, key=lambda trial: trial["config"]["trial"])
    assert back["node"] == other["node"]
    assert back["placement"].startswith("head")
    check_each_sample_once(back)


def test_a_trial_that_copies_another_goes_on_with_its_samples(nodes: Nodes) -> None:
    from ray.tune.schedulers import PopulationBasedTraining

    seed = int(os.environ.get("BATCHCAST_TEST_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}")
    random.seed(seed)  # the scheduler draws from it
    scheduler = PopulationBasedTraining(
        time_attr="training_iteration", perturbation_interval=3, quantile_fraction=0.25,
        metric="score", mode="max", hyperparam_mutations={"score": lambda: random.random()},
    )  # fmt: skip
    trials = nodes.run(
        ray_trials.trial_of_a_population, [0, 1, 2, 3], {"CPU": 0.5, "first": 0.5}, scheduler,
        score=tune.uniform(0, 1), stream="population", memory="256KiB",
    )  # fmt: skip
    for trial in trials:
        check_each_sample_once(trial, 1)
    assert any(len(trial["line"]) > 1 for trial in trials), "no trial copied another one"


class Removal(threading.Thread):
    """Takes away without grace the node that a trial names."""

    def __init__(self, nodes: Nodes, marks: Path) -> None:
        super().__init__(daemon=True)
        self.nodes, self.note, self.removed = nodes, marks / "ends", ""
        self.start()

    def run(self) -> None:
        while not self.note.exists():
            time.sleep(0.05)
        self.removed = self.note.read_text()
        (node,) = (one for one in self.nodes.added if one.node_id == self.removed)
        self.nodes.cluster.remove_node(node, allow_graceful=False)


def test_a_trial_goes_on_at_its_checkpoint_on_another_node(nodes: Nodes, tmp_path: Path) -> None:
    removal = Removal(nodes, tmp_path)
    (trial,) = nodes.run(
        ray_trials.resuming_trial, [0], {"CPU": 1, "spare": 1}, stream="moved", waits_at=13,
        marks=str(tmp_path),
    )  # fmt: skip
    assert removal.removed not in ("", trial["node"])
    check_each_sample_once(trial)


class Storm:
    """Takes away one node after the other, each at a random moment of a trial's life there."""

    def __init__(self, nodes: Nodes, seed: int) -> None:
        self.nodes, self.random = nodes, random.Random(seed)
        self.there: dict[str, Any] = {}
        self.killed: list[str] = []
        self.add()
        self.add()

    def add(self) -> None:
        """Only on the main thread: Ray sets signal handlers."""
        node = self.nodes.cluster.add_node(
            num_cpus=1, object_store_memory=80 << 20, resources={"storm": 1}
        )
        self.there[node.node_id] = node

    def kill_nodes_of(self, trial: Future[Any], lives: Path, kills: int) -> None:
        while len(self.killed) < kills and not trial.done():
            for life in lives.glob("life-*"):
                node = life.read_text()
                life.unlink()
                time.sleep(self.random.random())
                self.nodes.cluster.remove_node(self.there.pop(node), allow_graceful=False)
                self.killed.append(node)
                self.add()
            time.sleep(0.05)

    def end(self) -> None:
        for node in self.there.values():
            self.nodes.cluster.remove_node(node)


def test_a_trial_outlives_its_nodes(nodes: Nodes, tmp_path: Path) -> None:
    kills = int(os.environ.get("BATCHCAST_TEST_NODE_KILLS", "5"))
    seed = int(os.environ.get("BATCHCAST_TEST_SEED", random.randrange(1 << 32)))
    print(f"seed {seed}")
    epochs = kills // 2 + 2
    storm = Storm(nodes, seed)
    with ThreadPoolExecutor(1) as executor:
        trial = executor.submit(
            nodes.run, ray_trials.resuming_trial, [0], {"CPU": 1, "storm": 1}, stream="stormy",
            epochs=epochs, pause_s=0.2, lives=str(tmp_path), failures=kills,
        )  # fmt: skip
        storm.kill_nodes_of(trial, tmp_path, kills)
        (told,) = trial.result()
    storm.end()
    assert len(set(storm.killed)) == kills and told["node"] not in storm.killed
    check_each_sample_once(told, epochs)


def test_a_producer_that_ray_ends_with_its_worker_is_started_again(nodes: Nodes) -> None:
    reaping = {"RAY_kill_child_processes_on_worker_exit_with_raylet_subreaper": "true"}
    node = nodes.cluster.add_node(
        num_cpus=1, object_store_memory=80 << 20, resources={"reaps": 2}, env_vars=reaping
    )
    config = {
        "source": f"npy:{nodes.data}/image.npy", "recipe": f"{nodes.data}/recipe.toml",
        "stream": "reaped",
    }  # fmt: skip
    first, other = (ray_trials.Reader.options(resources={"reaps": 1}).remote() for _ in range(2))
    producer = ray.get(first.begin.remote(config))
    assert ray.get(other.begin.remote(config)) == producer
    first.__ray_terminate__.remote()
    until = time.monotonic() + 60
    while Path(f"/proc/{producer}").exists():
        assert time.monotonic() < until, "Ray did not end the producer with its worker"
        time.sleep(0.05)
    told = ray.get(other.rest.remote())
    check_each_sample_once(told, 2)
    assert told["producer"] != producer
    nodes.cluster.remove_node(node)


def test_ranks_of_ray_train_share_the_batches_of_their_nodes(nodes: Nodes, tmp_path: Path) -> None:
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    TorchTrainer(
        ray_trials.rank_of_a_job,
        train_loop_config={
            "source": "npy:image.npy", "recipe": "recipe.toml", "marks": str(tmp_path)
        },
        scaling_config=ScalingConfig(num_workers=4, resources_per_worker={"CPU": 1, "pair": 1}),
        run_config=RunConfig(storage_path=str(nodes.results)),
    ).fit()  # fmt: skip
    ranks = [json.loads((tmp_path / f"rank-{rank}").read_text()) for rank in range(4)]
    assert len({rank["node"] for rank in ranks}) == 2
    assert [rank["group"][1:] for rank in ranks] == [[0, 2], [1, 2], [0, 2], [1, 2]]
    assert {rank["works_in"] for rank in ranks} == {str(nodes.data)}
    assert {len(part) for rank in ranks for part in rank["ids"]} == {20}
    ids = [one for rank in ranks for part in rank["ids"] for one in part]
    assert sorted(ids) == list(range(SAMPLES))


def test_a_job_over_three_nodes_goes_on_over_two(nodes: Nodes, tmp_path: Path) -> None:
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchTrainer

    # Ray Train takes workers with one address for those of one node.
    added = [
        nodes.cluster.add_node(
            num_cpus=2, object_store_memory=80 << 20, resources={"job": places},
            node_ip_address=f"127.0.0.{3 + number}",
        )
        for number, places in enumerate((2, 1, 1))
    ]  # fmt: skip

    def run(workers: int, cursor: int, batches: int) -> list[dict[str, Any]]:
        marks = tmp_path / str(workers)
        marks.mkdir()
        TorchTrainer(
            ray_trials.rank_over_nodes,
            train_loop_config={
                "source": "npy:image.npy", "recipe": "recipe.toml", "marks": str(marks),
                "cursor": cursor, "batches": batches,
            },
            scaling_config=ScalingConfig(num_workers=workers, resources_per_worker={"CPU": 1, "job": 1}),
            run_config=RunConfig(storage_path=str(nodes.results)),
        ).fit()  # fmt: skip
        return [json.loads((marks / f"rank-{rank}").read_text()) for rank in range(workers)]

    four = run(4, 0, 2)
    assert len({rank["node"] for rank in four}) == 3
    assert sorted(rank["world"] for rank in four) == [1, 1, 2, 2]
    assert {rank["saved"]["cursor"] for rank in four} == {2 * 4 * 20}
    nodes.cluster.remove_node(added.pop(), allow_graceful=False)
    three = run(3, 2 * 4 * 20, 1000)
    assert len({rank["node"] for rank in three}) == 2
    bc.check_same_samples(four[0]["saved"], three[0]["saved"])
    ids = [one for rank in four + three for one in rank["ids"]]
    # 320 samples were left, of which 318 fill rows of three.
    assert len(ids) == len(set(ids)) == SAMPLES - 2
    assert {len(rank["ids"]) for rank in three} == {106}
    for node in added:
        nodes.cluster.remove_node(node)


@examples.needs_fashion
def test_the_example_of_a_sweep(nodes: Nodes) -> None:
    assert "2 trials, 0 failed" in examples.run("ray_sweep.py", examples.TEN_THOUSAND, "2")


@pytest.mark.parametrize(
    ("own", "of_node", "number"),
    [(None, None, 1), ("3,1", None, 1), ("5", "4,5,7", 1), ("GPU-b,GPU-a", "GPU-a,GPU-b", 0)],
)
def test_the_number_that_a_node_gives_to_a_workers_gpu(
    own: str | None, of_node: str | None, number: int
) -> None:
    place = {None: 1, "3,1": 1, "5": 0, "GPU-b,GPU-a": 1}[own]
    assert _ray.node_number(place, own, of_node) == number


@pytest.mark.parametrize(("own", "of_node"), [("GPU-a", None), ("1", "4,5"), ("", None)])
def test_a_gpu_whose_number_cannot_be_told(own: str, of_node: str | None) -> None:
    with pytest.raises(bc.InvalidArgument, match="--place"):
        _ray.node_number(0, own, of_node)


def test_a_worker_that_ray_ends_with_all_it_started_is_warned() -> None:
    def set_subreaper(on: int) -> None:
        assert ctypes.CDLL(None).prctl(36, on, 0, 0, 0) == 0  # PR_SET_CHILD_SUBREAPER

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        _ray.warn_of_end("s")
    set_subreaper(1)
    try:
        with pytest.warns(RuntimeWarning, match="`s`, Ray ends that with the worker"):
            _ray.warn_of_end("s")
    finally:
        set_subreaper(0)
