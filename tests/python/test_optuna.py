# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""A sweep whose trials come and go in one stream."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import examples
import support

torch = pytest.importorskip("torch")
optuna = pytest.importorskip("optuna")


@examples.needs_fashion
def test_the_example(directory: Path) -> None:
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with examples.started(directory):
        words = examples.run("optuna_sweep.py", examples.TEN_THOUSAND, "12")
    assert words.startswith("12 trials")


def test_pruned_trials_vanish_in_mid_epoch(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    """Four at a time; every third leaves at its third batch. The others miss and repeat nothing."""
    serve("synthetic:3x8x8", samples=600, seed=2, memory="4MiB")
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    together = threading.Barrier(4)
    whole: dict[int, list[int]] = {}

    def objective(trial: Any) -> float:
        trial.suggest_float("lr", 0, 1)
        batch_size = 16 + trial.number
        with bc.Loader(
            "s", batch_size, fields="sample_id", name=f"trial-{trial.number}"
        ) as loader:
            if trial.number < 4:
                together.wait(timeout=10)
            for step, ids in enumerate(loader):
                if trial.number % 3 == 0 and step == 2:
                    raise optuna.TrialPruned
                whole.setdefault(trial.number, []).extend(ids.tolist())
            assert loader.stats.epochs_matched == 1
        return 0.0

    study = optuna.create_study()
    study.optimize(objective, n_trials=12, n_jobs=4)
    states = [trial.state for trial in sorted(study.trials, key=lambda trial: trial.number)]
    pruned = optuna.trial.TrialState.PRUNED
    complete = optuna.trial.TrialState.COMPLETE
    assert states == [pruned if i % 3 == 0 else complete for i in range(12)]
    for number, ids in whole.items():
        if number % 3 != 0:
            assert sorted(ids) == list(range(600))
