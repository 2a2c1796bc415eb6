# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Batches on GPUs, with the tests' own driver in place of CUDA's."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import support

FAKE = os.environ.get("BATCHCAST_TEST_FAKE_CUDA", str(support.ROOT / "build/release/tests/fake_cuda"))


@pytest.fixture
def gpus(directory, monkeypatch):
    if not (Path(FAKE) / "libcuda.so.1").exists():
        pytest.skip("the tests' own driver is not built")
    monkeypatch.setenv("LD_LIBRARY_PATH", FAKE)
    monkeypatch.setenv("BATCHCAST_FAKE_CUDA", "devices=2 memory=256M delay_us=20")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


ON_GPU = """
import batchcast as bc, ctypes, numpy as np, sys
expected = np.load(sys.argv[1])
consumer = bc.Consumer("s", 64, placement="cuda:0")
consumer.set_cuda_stream(1)
assert consumer.placement == "cuda:0"
batch = consumer.next()
assert batch.placement == "cuda:0"
field = batch["image"]
assert isinstance(field, bc.Field) and isinstance(batch["label"], np.ndarray)
assert batch.sample_ids.shape == (64,)
assert field.__dlpack_device__() == (2, 0) and batch.field("label").__dlpack_device__() == (1, 0)
interface = field.__cuda_array_interface__
assert interface["shape"] == (64, 3, 8, 8) and interface["typestr"] == "<f4", interface
assert interface["data"][1] is True and interface["version"] == 3 and interface["stream"] == 1
assert not hasattr(field, "__array_interface__")

def refused(error, use):
    try:
        use()
    except error as raised:
        assert str(raised).startswith("batchcast: "), raised
    else:
        raise AssertionError("nothing was raised")

refused(TypeError, lambda: np.array(field))
refused(BufferError, lambda: field.__dlpack__(stream=0))
refused(BufferError, lambda: field.__dlpack__(dl_device=(2, 1)))
refused(BufferError, lambda: field.__dlpack__(dl_device=(1, 0), copy=False))
refused(BufferError, lambda: field.__dlpack__(copy=True))
batch.use(2)
capsules = [field.__dlpack__(stream=stream) for stream in (None, -1, 1, 2)]
capsules += batch._writable_capsules(("image", "label"))

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
def head(capsule):  # data, device type and number
    address = pointer_of(capsule, b"dltensor")
    return (ctypes.c_uint64.from_address(address).value,
            *(ctypes.c_int32 * 2).from_address(address + 8))

for capsule in capsules[:-1]:
    assert head(capsule) == (interface["data"][0], 2, 0)
assert head(capsules[-1])[1:] == (1, 0)

copied = field.__dlpack__(dl_device=(1, 0))
address, *device = head(copied)
assert device == [1, 0]
values = np.array((ctypes.c_float * expected.size).from_address(address)).reshape(expected.shape)
np.testing.assert_array_equal(values, expected)
del batch, field, capsules, capsule, copied
consumer.close()
print("ok")
"""


def test_fields_on_a_gpu(gpus, serve, tmp_path):
    serve("synthetic:3x8x8", samples=640, epochs=1, place="cuda:0", host_field="label")
    support.dump("synthetic:3x8x8", 0, 64, tmp_path, samples=640)
    run = support.python(ON_GPU, str(tmp_path / "dump-0-64" / "image.npy"))
    assert (run.stdout, run.stderr) == ("ok\n", "")


def test_pinned_batches_are_host_memory(gpus, serve):
    serve("synthetic:3x8x8", samples=640, epochs=1)
    run = support.python(
        """
import batchcast as bc, numpy as np
with bc.Consumer("s", 64, pin=True) as consumer:
    batch = consumer.next()
    field = batch.field("image")
    assert field.__dlpack_device__() == (1, 0)
    np.testing.assert_array_equal(np.from_dlpack(field), batch["image"])
print("ok")
"""
    )
    assert (run.stdout, run.stderr) == ("ok\n", "")


PINNED = """
import batchcast as bc, numpy as np, sys, torch
from batchcast.tensorsocket import TensorConsumer
if sys.argv[1] == "loader":
    trainer = bc.Loader("s", 64, pin=True)
    collate = trainer._collation
else:
    trainer = TensorConsumer("s", batch_size=64, pin=True)
    collate = trainer._collate
batch = trainer._consumer.next()
assert batch.keeps_writes  # else a tensor of it would be a copy that is not page-locked
images = collate(batch)[0]
assert images.data_ptr() == batch["image"].__array_interface__["data"][0]
images.zero_()
print("ok")
"""


@pytest.mark.parametrize("trainer", ["loader", "tensorsocket"])
@pytest.mark.parametrize("in_place", [0, 1])
def test_pinned_tensors_may_be_written(gpus, serve, monkeypatch, in_place, trainer):
    pytest.importorskip("torch")
    monkeypatch.setenv("BATCHCAST_FAKE_CUDA", f"memory=256M read_only_register={in_place}")
    serve("synthetic:3x8x8", samples=640, epochs=1)
    run = support.python(PINNED, trainer)
    assert (run.stdout, run.stderr) == ("ok\n", "")


BOOLEANS = """
import batchcast as bc, ctypes, torch, types
from batchcast import loader as loaders
torch.cuda.is_available = lambda: True  # torch itself has nothing to do with the tests' driver
torch.cuda.current_stream = lambda device: types.SimpleNamespace(cuda_stream=1)
pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
class OnGpu:
    is_cuda = True
    def __init__(self, capsule):
        address = pointer_of(capsule, b"dltensor")  # data, device, dimensions, then the dtype
        device = ctypes.c_int32.from_address(address + 8).value
        self.told = [device, *(ctypes.c_uint8 * 2).from_address(address + 20)]
    def clone(self):
        return self
    def view(self, dtype):
        self.told.append(dtype)
        return self
loader = bc.Loader("s", 64, placement="cuda:0")
loaders.from_dlpack = OnGpu
image, label = next(iter(loader))
print(image.told, label.told)
"""


def test_booleans_on_a_gpu_are_bytes_where_torch_takes_none(gpus, serve):
    torch = pytest.importorskip("torch")
    serve("synthetic:3x8x8", samples=64, dtype="bool", place="cuda:0", host_field="label")
    run = support.python(BOOLEANS)
    takes = tuple(int(part) for part in torch.__version__.split(".")[:2]) >= (2, 0)
    image = "[2, 6, 8]" if takes else "[2, 1, 8, torch.bool]"
    assert (run.stdout, run.stderr) == (f"{image} [1, 0, 64]\n", "")
