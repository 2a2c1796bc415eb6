# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Windows: runs of one number of rows, cut through samples of any length."""

from __future__ import annotations

import json
import subprocess
from typing import Any

import batchcast as bc
import numpy as np
import pytest
from support import COMMAND

LENGTHS = [3, 0, 7, 12, 1, 1, 30, 4, 9, 0, 2, 16, 5, 8, 0, 11]
ROWS = sum(LENGTHS)
FIRST = np.concatenate([[0], np.cumsum(LENGTHS)])


class Dataset:
    """Row r of the dataset has the token r."""

    def __len__(self) -> int:
        return len(LENGTHS)

    def __getitem__(self, index: int) -> dict[str, Any]:
        rows = np.arange(FIRST[index], FIRST[index + 1], dtype=np.int32)
        return {"tokens": rows, "pairs": np.stack([rows, -rows], 1), "label": index}


class Counted(Dataset):
    """One that says its lengths."""

    def lengths(self, axis: str) -> Any:
        return LENGTHS if axis == "tokens" else None

    def fingerprint(self) -> str:
        return "windows"


def serve(source: Any = None, **options: Any) -> Any:
    asked = {"epochs": 1, "memory": "1MiB", "rows": {"tokens": 128}, "wait_for": 1} | options
    axes = {"tokens": ("tokens", "pairs")}
    return bc.serve(
        source or Dataset(), stream="windows", background=True, axes=axes, order="sequential",
        **asked,
    )


def check(batch: Any, first: int, rows: int, extra: int) -> None:
    tokens = batch["tokens"]
    assert tokens.shape == (batch.size, rows + extra)
    begins = first + rows * np.arange(batch.size)
    np.testing.assert_array_equal(tokens, begins[:, None] + np.arange(rows + extra)[None])
    np.testing.assert_array_equal(batch["pairs"][..., 1], -tokens)
    offsets = batch.offsets()
    assert offsets[0] == 0 and offsets[-1] == batch.size * rows
    for sample, begin, end in zip(batch.sample_ids.tolist(), offsets[:-1], offsets[1:]):
        assert FIRST[sample] <= first + begin <= first + end <= FIRST[sample + 1]
    assert FIRST[batch.sample_ids[0]] + batch.row == first


@pytest.mark.parametrize("extra", [0, 1])
def test_batches_are_views_of_runs(directory: object, extra: int) -> None:
    with serve(epochs=2), bc.Consumer("windows", window=("tokens", 8, 3), extra=extra) as consumer:
        assert consumer.window == ("tokens", 8, 3)
        for epoch in range(2):
            first = 0
            for batch in consumer:
                assert batch.epoch == epoch
                check(batch, first, 8, extra)
                assert not batch["tokens"].flags.owndata and not batch.writable
                first += batch.size * 8
                with pytest.raises(bc.UnknownField, match="axis `tokens` alone"):
                    batch["label"]
                assert list(batch) == ["tokens", "pairs"]
            assert first == (ROWS - extra) // 8 * 8
        stats = consumer.stats
        assert stats.epochs_matched == 2
        assert stats.dropped_rows == 2 * (ROWS - first)


def test_a_checkpoint_has_a_row(directory: object) -> None:
    with serve(epochs=2):
        with bc.Consumer("windows", window="tokens=5x2") as consumer:
            first = 0
            for _ in range(3):
                check(consumer.next(), first, 5, 0)
                first += 10
            state = json.loads(json.dumps(consumer.checkpoint()))
            assert FIRST[state["cursor"]] + state["cursor_row"] == first
            consumer.window = ("tokens", 7, 1)
            check(consumer.next(), first, 7, 0)
            place = {"cursor": state["cursor"], "cursor_row": state["cursor_row"]}
            with bc.Consumer("windows", window=("tokens", 3, 4), join="at", **place) as other:
                check(other.next(), first, 3, 0)
            consumer.window = None
            consumer.batch_size = 1
            assert FIRST[consumer.next().position] >= first + 7


def test_the_command_takes_windows(directory: object) -> None:
    with serve(epochs=2):
        words = [COMMAND, "consume", "windows", "--window", "tokens=8x3", "--extra", "1", "--json"]
        said = json.loads(subprocess.run(words, check=True, capture_output=True).stdout)
        assert said["rows"] == 2 * ((ROWS - 1) // 8 * 8)
        assert said["dropped_rows"] == 2 * ROWS - said["rows"]
        assert said["receipts"] == "match" and said["epochs"] == 2
    with serve(wait_for=0):
        words = [COMMAND, "consume", "windows", "--window", "tokens=8x3", "--digest"]
        refused = subprocess.run(words, capture_output=True, text=True)
        assert refused.returncode != 0 and "--window" in refused.stderr


def test_wrong_windows_are_refused(directory: object) -> None:
    with serve(wait_for=0):
        with pytest.raises(bc.InvalidArgument, match="ROWSxRUNS"):
            bc.Consumer("windows", window="tokens=5")
        with pytest.raises(bc.WrongType, match="axis, rows, runs"):
            bc.Consumer("windows", window=("tokens", 5))  # type: ignore[arg-type]
        with pytest.raises(bc.WrongType, match=r"window\[1\] has to be an int, not float"):
            bc.Consumer("windows", window=("tokens", 5.0, 1))  # type: ignore[arg-type]
        with pytest.raises(bc.WrongType, match=r"budget\[0\] has to be a str, not int"):
            bc.Consumer("windows", budget=(5, "tokens"))  # type: ignore[arg-type]
        with pytest.raises(bc.WrongType, match="not one of 2 items"):
            bc.Consumer("windows", window=("tokens", 5))  # type: ignore[arg-type]
        for rows in (-5, 0, 1 << 63):
            with pytest.raises(bc.InvalidArgument, match=r"window\[1\]: .* is not from 1 to"):
                bc.Consumer("windows", window=("tokens", rows, 1))
        with pytest.raises(bc.InvalidArgument, match="extra is 1.* there is no window"):
            bc.Consumer("windows", extra=1)
        with pytest.raises(bc.RingTooSmall, match="--rows tokens=200 or more"):
            bc.Consumer("windows", window=("tokens", 100, 2))
        with pytest.raises(bc.InvalidArgument, match="choose one of them"):
            bc.Consumer("windows", window=("tokens", 5, 1), budget=("tokens", 5))
        with pytest.raises(bc.Refused, match="no row|no axis"):
            bc.Consumer("windows", window=("words", 5, 1))
