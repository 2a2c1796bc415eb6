# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-1.13 torch-2.11
"""Scripts written for TensorSocket, with its import changed."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import support

torch = pytest.importorskip("torch")


def test_a_training_script(serve: Callable[..., support.Served], tmp_path: Path) -> None:
    serve("synthetic:3x8x8", stream="tensorsocket-5555", samples=50, epochs=2, wait_for=1)
    wanted = support.dump("synthetic:3x8x8", 0, 100, tmp_path, samples=50)
    seen = []

    def train(inputs: Any, targets: Any) -> None:
        seen.append((inputs.clone(), targets.clone()))

    epochs = 2
    # [snippet consumer]
    from batchcast.tensorsocket import TensorConsumer

    data_loader = TensorConsumer(batch_size=16)
    for epoch in range(epochs):
        for batch_idx, (inputs, targets) in enumerate(data_loader):
            train(inputs, targets)
    # [snippet end]

    assert [len(inputs) for inputs, _ in seen] == [16, 16, 16, 2] * 2
    assert torch.equal(torch.cat([a for a, _ in seen]), torch.from_numpy(wanted["image"]))
    assert torch.equal(torch.cat([b for _, b in seen]), torch.from_numpy(wanted["label"]))
    assert (len(data_loader), data_loader.data_loader_len, data_loader.epoch) == (4, 4, 2)
    with pytest.raises(bc.StreamFinished):
        next(data_loader)


def test_names_and_arguments_are_those_of_0_0_5() -> None:
    consumer = bc.tensorsocket.TensorConsumer
    parameters = inspect.signature(consumer).parameters
    assert list(parameters)[:5] == ["port", "ack_port", "heart_ports", "unpack_fn", "batch_size"]
    defaults = [parameter.default for parameter in parameters.values()][:5]
    assert [defaults[0], defaults[1], defaults[2], defaults[4]] == [5555, 5556, (4444, 4445), 64]
    assert defaults[3]((1, 2)) == (1, 2)


def test_a_loop_that_was_left_goes_on(serve: Callable[..., support.Served]) -> None:
    serve("synthetic:8", stream="tensorsocket-7000", samples=40)
    with bc.tensorsocket.TensorConsumer(7000, batch_size=10, unpack_fn=lambda data: data[1]) as it:
        for labels in it:
            assert labels.dtype == torch.int64
            break
        assert (it.batch_count, it.batch_max, it.epoch) == (1, 0, 0)
        assert len(list(it)) == 3
        assert (it.batch_count, it.epoch) == (0, 1)
        assert len(list(it)) == 4


def test_a_batch_that_nothing_is_made_of_comes_again(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve("synthetic:8", stream="s", samples=40)
    wanted = support.dump("synthetic:8", 0, 40, tmp_path, samples=40)["label"]
    fails = False

    def unpack(data: Any) -> Any:
        if fails:
            raise MemoryError
        return data[1]

    with bc.tensorsocket.TensorConsumer("s", batch_size=10, unpack_fn=unpack) as it:
        seen = []
        for batch in range(4):
            fails = True
            for _ in range(2):
                with pytest.raises(MemoryError):
                    next(it)
                assert it.batch_count == batch
            fails = False
            seen.append(next(it).clone())
            assert it.batch_count == batch + 1
        with pytest.raises(StopIteration):
            next(it)
    assert torch.equal(torch.cat(seen), torch.from_numpy(wanted))


@pytest.mark.parametrize("access", ["shared", "private"])
def test_what_unpack_changed_in_place_before_it_failed_stays_changed(
    serve: Callable[..., support.Served], tmp_path: Path, access: str
) -> None:
    serve("synthetic:8", stream="s", samples=40)
    wanted = support.dump("synthetic:8", 0, 10, tmp_path, samples=40)["label"]
    failures = [MemoryError(), MemoryError()]

    def unpack(data: Any) -> Any:
        data[1].add_(1000)
        if failures:
            raise failures.pop()
        return data[1]

    with bc.tensorsocket.TensorConsumer("s", batch_size=10, unpack_fn=unpack, access=access) as it:
        for _ in range(2):
            with pytest.raises(MemoryError):
                next(it)
        assert next(it).tolist() == [label + 3000 for label in wanted.tolist()]


def test_any_stream_and_any_option(serve: Callable[..., support.Served]) -> None:
    serve("synthetic:8", stream="mine", samples=45)
    with bc.tensorsocket.TensorConsumer("mine", batch_size=10, tail="drop", name="one") as it:
        assert len(list(it)) == len(it) == 4
