# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Windows as tensors: what a Loader makes of them."""

from __future__ import annotations

import pickle
from typing import Any

import batchcast as bc
import pytest

torch = pytest.importorskip("torch")

from test_windows import FIRST, ROWS, Counted, serve  # noqa: E402


def test_a_loader_gives_inputs_and_targets_as_views(directory: object) -> None:
    with serve():
        loader = bc.Loader("windows", window=("tokens", 8, 3), extra=1, fields="tokens")
        first = 0
        for tokens in loader:
            assert tokens.shape[1] == 9
            assert len(tokens) == 1 or tokens.stride() == (8, 1)
            assert torch.equal(tokens[:, :-1] + 1, tokens[:, 1:])
            assert tokens[0, 0] == first
            first += 8 * len(tokens)
        assert first == (ROWS - 1) // 8 * 8
        with pytest.raises(TypeError, match="max_steps"):
            len(loader)
        loader.close()


def test_the_length_of_an_epoch_is_known_where_lengths_are(directory: object) -> None:
    with serve(Counted(), epochs=2):
        with bc.Loader("windows", window=("tokens", 8, 3), extra=1, fields="tokens") as loader:
            for _ in range(2):
                assert len(loader) == 5
                assert len(list(loader)) == 5


def test_fields_are_those_of_the_axis_and_offsets(directory: object) -> None:
    with serve(epochs=5):
        with bc.Loader("windows", window=("tokens", 8, 3), fields=dict) as loader:
            batch = next(iter(loader))
            assert list(batch) == ["tokens", "pairs", "offsets"]
            assert batch["pairs"].shape == (3, 8, 2)
            assert batch["offsets"].dtype == torch.int64
            assert batch["offsets"].tolist() == [0, 3, 3, 10, 22, 23, 24]
        with pytest.raises(bc.InvalidArgument, match="axis `tokens` alone"):
            bc.Loader("windows", window=("tokens", 8, 3), fields="label")
        names = ("sample_id", "tokens", "offsets")
        with bc.Loader(
            "windows", window=("tokens", 8, 3), fields=names, offsets="i32"
        ) as loader:
            ids, tokens, offsets = next(iter(loader))
            assert offsets.dtype == torch.int32 and len(ids) == len(offsets) - 1
            assert torch.from_numpy(FIRST)[ids[0]] <= tokens[0, 0]


def state_after(loader: Any, batches: int) -> Any:
    loop = iter(loader)
    for _ in range(batches):
        tokens = next(loop)
    state = loader.state_dict()
    assert FIRST[state["cursor"]] + state["cursor_row"] == tokens[-1, -1] + 1
    return state


def test_a_loader_goes_on_at_a_row(directory: object) -> None:
    # The other trainer reads nothing, so the ring holds every place.
    with serve(epochs=3, wait_for=2), bc.Consumer("windows", window=("tokens", 1, 1)):
        loader = bc.Loader("windows", window=("tokens", 5, 2), fields="tokens")
        state = pickle.loads(pickle.dumps(state_after(loader, 3)))
        loader.load_state_dict(state)
        assert next(iter(loader))[0, 0] == 30
        loader.load_state_dict(state)
        loader.window = ("tokens", 3, 4)
        assert next(iter(loader)).tolist()[0] == [30, 31, 32]
        loader.window = None
        loader.batch_size = 2
        loader.close()
