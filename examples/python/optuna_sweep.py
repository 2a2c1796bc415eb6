# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A sweep by Optuna in four threads, over one stream: `python optuna_sweep.py FOLDER [TRIALS]`.

FOLDER has MNIST's or Fashion-MNIST's files. A trial that is pruned leaves the stream in mid-epoch;
the others notice nothing.
"""

import sys

import optuna
import torch

import batchcast as bc

folder = sys.argv[1]
trials = int(sys.argv[2]) if len(sys.argv) > 2 else 8


def make_model(trial):
    width = trial.suggest_int("width", 8, 64, log=True)
    return torch.nn.Sequential(
        torch.nn.Flatten(),
        torch.nn.Linear(784, width),
        torch.nn.ReLU(),
        torch.nn.Linear(width, 10),
    )


# [snippet objective]
def objective(trial):
    model = make_model(trial)
    lr = trial.suggest_float("lr", 1e-3, 1.0, log=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)
    right = seen = 0
    with bc.Loader(
        "sweep",
        batch_size=trial.suggest_categorical("batch_size", [64, 128, 256]),
        name=f"trial-{trial.number}",
        start=bc.Start("idx:" + folder, recipe="mnist", memory="64MiB"),
    ) as loader:
        for step, (images, labels) in enumerate(loader):
            scores = model(images)
            loss = torch.nn.functional.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            right += int((scores.argmax(1) == labels).sum())
            seen += len(labels)
            if step % 50 == 49:
                trial.report(right / seen, step)
                if trial.should_prune():
                    raise optuna.TrialPruned  # leaves the stream at once
    return right / seen


study = optuna.create_study(direction="maximize", pruner=optuna.pruners.MedianPruner(4, 0))
study.optimize(objective, n_trials=trials, n_jobs=4)  # four threads, four consumers
# [snippet end]

pruned = sum(trial.state == optuna.trial.TrialState.PRUNED for trial in study.trials)
print(f"{len(study.trials)} trials, {pruned} pruned; best {study.best_value:.1%}: {study.best_params}")
