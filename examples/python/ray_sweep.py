# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A sweep by Ray Tune over any number of nodes: `python ray_sweep.py FOLDER [TRIALS]`.

FOLDER has MNIST's or Fashion-MNIST's files, at the same path on each node. A node decodes once for
all trials that it has. RAY_ADDRESS says which cluster; without it Ray starts one on this machine.
"""

import os
import sys
import tempfile

from ray import tune

folder = os.path.abspath(sys.argv[1])
trials = int(sys.argv[2]) if len(sys.argv) > 2 else 8


# [snippet trial]
def trial(config):
    import torch

    import batchcast as bc

    # The first trial of a node starts its stream; those that come later find it.
    loader = bc.Loader(
        "train", config["batch_size"], start=bc.Start("idx:" + config["folder"], recipe="mnist")
    )
    model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=config["lr"])
    done = 0
    if (checkpoint := tune.get_checkpoint()) is not None:
        with checkpoint.as_directory() as saved:
            state = torch.load(os.path.join(saved, "state.pt"))
        model.load_state_dict(state["model"])
        loader.load_state_dict(state["loader"])  # the next samples are those after the checkpoint
        done = state["done"]
    for epoch in range(done, config["epochs"]):
        for images, labels in loader:
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with tempfile.TemporaryDirectory() as saved:
            state = {
                "model": model.state_dict(),
                "loader": loader.state_dict(),
                "done": epoch + 1,
            }
            torch.save(state, os.path.join(saved, "state.pt"))
            tune.report({"loss": loss.item()}, checkpoint=tune.Checkpoint.from_directory(saved))
    loader.close()
# [snippet end]

results = tune.Tuner(
    tune.with_resources(trial, {"cpu": 0.5}),
    param_space={
        "folder": folder,
        "epochs": 2,
        "lr": tune.loguniform(1e-3, 1e-1),
        "batch_size": tune.choice([64, 128, 256]),
    },
    tune_config=tune.TuneConfig(metric="loss", mode="min", num_samples=trials),
    run_config=tune.RunConfig(failure_config=tune.FailureConfig(max_failures=3)),
).fit()
best = results.get_best_result()
print(f"{len(results)} trials, {results.num_errors} failed; best loss {best.metrics['loss']:.3f}")
