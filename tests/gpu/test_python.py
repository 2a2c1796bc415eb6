# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Python trainers on a real GPU: torch, CuPy and JAX over a ring there.

gpu.sh runs these beside the fixtures of tests/python, with the machine's own driver.
"""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import batchcast as bc
import support

torch = pytest.importorskip("torch")

SHAPE = "synthetic:3x32x32"
SAMPLES = 6400
ON_GPU = {"samples": SAMPLES, "memory": "64MiB", "place": "cuda:0"}


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    assert torch.cuda.is_available(), "torch sees no GPU"
    yield
    torch.cuda.synchronize()  # what a test broke on the GPU is its own failure


@pytest.fixture
def wanted(directory: Path, tmp_path: Path) -> dict[str, Any]:
    """The first epoch, as `batchcast dump` makes it."""
    return support.dump(SHAPE, 0, SAMPLES, tmp_path, samples=SAMPLES)


def same(tensor: Any, wanted: Any, begin: int) -> bool:
    part = torch.from_numpy(wanted[begin : begin + len(tensor)])
    return bool(torch.equal(tensor.cpu(), part))


@pytest.mark.parametrize("access", ["shared", "private"])
def test_a_loader_gives_the_samples_of_dump(
    serve: Callable[..., support.Served], wanted: dict[str, Any], access: str
) -> None:
    serve(SHAPE, epochs=1, wait_for=1, host_field="label", **ON_GPU)
    loader = bc.Loader("s", 100, placement="cuda:0", access=access)
    kept, at = [], 0
    for images, labels in loader:
        assert images.is_cuda and not labels.is_cuda
        if at % 1000 == 0:
            kept.append((at, images))  # outlives its batch, the loader and the producer
        else:
            assert same(images, wanted["image"], at)
            images.zero_()  # the trainer's own memory
        assert same(labels, wanted["label"], at)
        at += len(images)
    assert at == SAMPLES
    loader.close()
    for begin, images in kept:
        assert same(images, wanted["image"], begin)


def test_batches_are_used_on_the_stream_that_is_current(
    serve: Callable[..., support.Served], wanted: dict[str, Any]
) -> None:
    serve(SHAPE, epochs=1, wait_for=1, **ON_GPU)
    loader = bc.Loader("s", 128, placement="cuda:0", fields="image")
    side = torch.cuda.Stream()
    sums, at = [], 0
    with torch.cuda.stream(side):
        for images in loader:
            torch.cuda._sleep(2_000_000)  # the kernels behind it come late: the ring has to wait
            sums.append((at, len(images), images.double().sum()))
            at += len(images)
    side.synchronize()
    for begin, size, total in sums:
        whole = float(wanted["image"][begin : begin + size].astype(np.float64).sum())
        assert abs(float(total) - whole) < 1e-6 * max(1.0, abs(whole))


def test_page_locked_batches_are_copied_beside_the_loop(
    serve: Callable[..., support.Served], wanted: dict[str, Any]
) -> None:
    serve(SHAPE, epochs=1, wait_for=1, samples=SAMPLES, memory="64MiB")
    loader = bc.Loader("s", 100, pin=True, fields=("image", "label"))
    at, there = 0, []
    for images, labels in loader:
        assert not images.is_cuda and images.is_pinned()
        there.append((at, images.to("cuda", non_blocking=True), labels.to("cuda", non_blocking=True)))
        at += len(images)
    assert at == SAMPLES
    for begin, images, labels in there:
        assert same(images, wanted["image"], begin) and same(labels, wanted["label"], begin)


def test_a_dataloader_around_it(
    serve: Callable[..., support.Served], wanted: dict[str, Any]
) -> None:
    serve(SHAPE, epochs=1, wait_for=1, samples=SAMPLES, memory="64MiB")
    loader = torch.utils.data.DataLoader(bc.Loader("s", 100), batch_size=None, pin_memory=True)
    at = 0
    for images, _ in loader:
        assert images.is_pinned() and same(images.cuda(), wanted["image"], at)
        at += len(images)
    assert at == SAMPLES


def test_torch_cupy_and_jax_read_a_field_in_place(
    serve: Callable[..., support.Served], wanted: dict[str, Any]
) -> None:
    serve(SHAPE, epochs=1, wait_for=1, **ON_GPU)
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    consumer = bc.Consumer("s", 64, placement="cuda:0")
    consumer.set_cuda_stream(torch.cuda.current_stream().cuda_stream)
    batch = consumer.next()
    assert batch is not None
    field = batch["image"]
    address = field.__cuda_array_interface__["data"][0]
    begin = batch.position

    tensor = torch.from_dlpack(field)
    assert tensor.data_ptr() == address and same(tensor, wanted["image"], begin)
    seen = ["torch"]
    try:
        import cupy
    except ImportError:
        cupy = None
    if cupy is not None:
        array = cupy.asarray(field)
        assert array.data.ptr == address
        np.testing.assert_array_equal(cupy.asnumpy(array), wanted["image"][begin : begin + 64])
        array = cupy.from_dlpack(field)
        np.testing.assert_array_equal(cupy.asnumpy(array), wanted["image"][begin : begin + 64])
        seen.append("CuPy")
        del array
    try:
        import jax
    except ImportError:
        jax = None
    if jax is not None and any(device.platform == "gpu" for device in jax.devices()):
        array = jax.dlpack.from_dlpack(field)
        np.testing.assert_array_equal(np.asarray(array), wanted["image"][begin : begin + 64])
        seen.append("JAX")
        del array
    print("> read in place by:", ", ".join(seen))
    host = np.from_dlpack(field, device="cpu") if np.__version__ >= "2.1" else None
    if host is not None:
        np.testing.assert_array_equal(host, wanted["image"][begin : begin + 64])
    del batch, field
    consumer.close()
    gc.collect()
    assert same(tensor, wanted["image"], begin)  # its memory is there until it goes


TRAINER = """
import batchcast as bc, sys, torch
loader = bc.Loader("s", 64, placement="cuda:0")
try:
    while True:
        for images, labels in loader:
            images.mul_(2)
            print(flush=True)
except bc.Error as gone:
    torch.cuda.synchronize()
    assert float(torch.ones(4, device="cuda").sum()) == 4
    print(type(gone).__name__)
"""


def test_the_producer_is_killed_while_trainers_run(
    serve: Callable[..., support.Served], child: Callable[..., support.Child]
) -> None:
    served = serve(SHAPE, wait_for=2, **ON_GPU)
    trainers = [child(TRAINER) for _ in range(2)]
    for trainer in trainers:
        for _ in range(50):
            assert trainer.line() == ""
    served.kill()
    for trainer in trainers:
        code, out, errors = trainer.finish()
        assert (code, out.split()) == (0, ["ProducerGone"]), errors


def test_a_trainer_that_is_killed_takes_nothing_from_the_others(
    serve: Callable[..., support.Served], child: Callable[..., support.Child], wanted: dict[str, Any]
) -> None:
    serve(SHAPE, epochs=1, wait_for=2, **ON_GPU)
    victim = child(TRAINER)
    loader = bc.Loader("s", 100, placement="cuda:0", fields="image")
    at = 0
    for images in loader:
        if at == 1000:
            victim.line()
            victim.kill()
        assert same(images, wanted["image"], at)
        at += len(images)
    assert at == SAMPLES


def test_a_ddp_rank_takes_the_gpu_of_its_local_rank(
    serve: Callable[..., support.Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(SHAPE, epochs=1, wait_for=1, **ON_GPU)
    monkeypatch.setenv("LOCAL_RANK", "0")
    with bc.Loader("s", 64, placement="cuda") as loader:
        assert next(iter(loader))[0].device == torch.device("cuda", 0)


def test_a_captured_graph_is_fed_from_the_ring(
    serve: Callable[..., support.Served], wanted: dict[str, Any]
) -> None:
    serve(SHAPE, epochs=1, wait_for=1, **ON_GPU)
    loader = bc.Loader("s", 64, placement="cuda:0", fields="image", drop_last=True)
    static = torch.zeros((64, 3, 32, 32), device="cuda")
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        static.sum()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    at = 0
    batches = iter(loader)
    next(batches)  # the mirror runs while the graph is captured
    with torch.cuda.graph(graph):
        total = static.double().sum()
    at = 64
    for images in batches:
        static.copy_(images)
        graph.replay()
        if at % 640 == 0:
            whole = float(wanted["image"][at : at + 64].astype(np.float64).sum())
            assert abs(float(total) - whole) < 1e-6 * max(1.0, abs(whole))
        at += 64


def test_epochs_leave_nothing_on_the_gpu(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, wait_for=1, **ON_GPU)
    loader = bc.Loader("s", 256, placement="cuda:0", fields="image")
    free, began = [], time.monotonic()
    for _ in range(20):
        for images in loader:
            images.add_(1)
        torch.cuda.synchronize()
        free.append(torch.cuda.mem_get_info()[0])
    assert free[-1] >= free[4] - (8 << 20), free
    print(f"> Python, one trainer: {20 * SAMPLES / 256 / (time.monotonic() - began):.0f} batches/s")
