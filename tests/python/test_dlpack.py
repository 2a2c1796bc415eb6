# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Fields in the hands of other frameworks."""

from __future__ import annotations

import ctypes
import gc

import numpy as np
import pytest

import batchcast as bc

NUMPY = tuple(int(part) for part in np.__version__.split(".")[:2])

pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
pointer_of.restype = ctypes.c_void_p
pointer_of.argtypes = [ctypes.py_object, ctypes.c_char_p]
name_of = ctypes.pythonapi.PyCapsule_GetName
name_of.restype = ctypes.c_char_p
name_of.argtypes = [ctypes.py_object]
rename = ctypes.pythonapi.PyCapsule_SetName
rename.argtypes = [ctypes.py_object, ctypes.c_char_p]
USED = b"used_dltensor"


class Versioned(ctypes.Structure):
    """The head of DLManagedTensorVersioned."""

    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
        ("flags", ctypes.c_uint64),
        ("data", ctypes.c_void_p),
    ]


class Legacy(ctypes.Structure):
    """DLManagedTensor."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device_type", ctypes.c_int32),
        ("device_id", ctypes.c_int32),
        ("dimensions", ctypes.c_int32),
        ("code", ctypes.c_uint8),
        ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)),
        ("byte_offset", ctypes.c_uint64),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.CFUNCTYPE(None, ctypes.c_void_p)),
    ]


@pytest.fixture
def consumer(serve):
    serve("synthetic:3x8x8", samples=640, epochs=1)
    with bc.Consumer("s", 64) as consumer:
        yield consumer


def test_a_field_is_like_an_array(consumer):
    batch = consumer.next()
    field = batch.field("image")
    assert (field.name, field.dtype, field.shape) == ("image", np.dtype("f4"), (64, 3, 8, 8))
    assert len(field) == 64 and "image f32 [3,8,8], 64 samples" in repr(field)
    assert field.__dlpack_device__() == (1, 0)
    interface = field.__array_interface__
    assert interface["data"] == (batch["image"].ctypes.data, True)
    assert interface["typestr"] == "<f4" and interface["strides"] is None
    assert not hasattr(field, "__cuda_array_interface__")
    same = np.asarray(field)
    assert same.ctypes.data == batch["image"].ctypes.data and not same.flags.writeable
    assert np.array(field).flags.writeable
    assert field.__array__("f8").dtype == np.float64
    with pytest.raises(ValueError):
        field.__array__("f8", copy=False)
    assert batch.field("sample_id").dtype == np.uint64


def test_numpy_takes_it_read_only(consumer):
    batch = consumer.next()
    array = np.from_dlpack(batch.field("image"))
    assert array.ctypes.data == batch["image"].ctypes.data
    assert not array.flags.writeable
    np.testing.assert_array_equal(array, batch["image"])


def test_only_the_newer_capsule_says_read_only(consumer):
    field = consumer.next().field("image")
    for version in (None, (0, 8)):
        assert name_of(field.__dlpack__(max_version=version)) == b"dltensor"
    for version in ((1, 0), (1, 3), (2, 0)):
        capsule = field.__dlpack__(max_version=version)
        assert name_of(capsule) == b"dltensor_versioned"
        tensor = Versioned.from_address(pointer_of(capsule, b"dltensor_versioned"))
        assert (tensor.major, tensor.flags) == (1, 1)
    assert name_of(field._writable_capsule()) == b"dltensor"


def test_shape_and_strides(consumer):
    field = consumer.next().field("image")
    capsule = field.__dlpack__()
    tensor = Legacy.from_address(pointer_of(capsule, b"dltensor"))
    assert tensor.shape[:4] == [64, 3, 8, 8] and tensor.strides[:4] == [192, 64, 8, 1]
    assert (tensor.device_type, tensor.code, tensor.bits, tensor.lanes) == (1, 2, 32, 1)


def test_copies_are_their_takers_own(consumer):
    batch = consumer.next()
    field = batch.field("image")
    capsule = field.__dlpack__(max_version=(1, 0), copy=True)
    tensor = Versioned.from_address(pointer_of(capsule, b"dltensor_versioned"))
    assert tensor.flags == 2 and tensor.data != batch["image"].ctypes.data
    values = (ctypes.c_float * batch["image"].size).from_address(tensor.data)
    np.testing.assert_array_equal(np.array(values[:]), batch["image"].ravel())
    legacy = field.__dlpack__(copy=True)
    assert Legacy.from_address(pointer_of(legacy, b"dltensor")).data != tensor.data
    assert consumer.stats.leases_held == 1
    del batch, field
    assert consumer.stats.leases_held == 0  # copies hold none


def test_what_cannot_be_is_a_buffer_error(consumer):
    field = consumer.next().field("image")
    for options in ({"stream": 1}, {"dl_device": (2, 0)}, {"dl_device": (3, 0)}):
        with pytest.raises(BufferError, match="^batchcast: "):
            field.__dlpack__(**options)
    assert name_of(field.__dlpack__(dl_device=(1, 0), copy=False)) == b"dltensor"
    with pytest.raises(TypeError):
        field.__dlpack__(1)


def test_capsules_keep_the_samples(consumer):
    def held():
        return consumer.stats.leases_held

    batch = consumer.next()
    field = batch.field("label")
    capsules = [field.__dlpack__(), field.__dlpack__(max_version=(1, 0)), field._writable_capsule()]
    del batch, field
    assert held() == 1
    while capsules:
        assert held() == 1
        capsules.pop()  # never taken: freed with the capsule
    assert held() == 0
    # Taken: freed by whoever took it, not with the capsule.
    capsule = consumer.next().field("label").__dlpack__()
    tensor = Legacy.from_address(pointer_of(capsule, b"dltensor"))
    rename(capsule, USED)
    del capsule
    assert held() == 1
    tensor.deleter(ctypes.addressof(tensor))
    assert held() == 0
    array = np.from_dlpack(consumer.next().field("label"))
    gc.collect()
    assert held() == 1
    del array
    assert held() == 0


def test_several_capsules_at_once(consumer):
    batch = consumer.next()
    capsules = batch._writable_capsules(("label", "image", 0))
    addresses = [Legacy.from_address(pointer_of(one, b"dltensor")).data for one in capsules]
    image, label = batch["image"].ctypes.data, batch["label"].ctypes.data
    assert addresses == [label, image, image]
    with pytest.raises(bc.UnknownField):
        batch._writable_capsules(("imag",))
    with pytest.raises(IndexError):
        batch._writable_capsules((7,))


def test_writable_capsules_are_copies_where_writes_would_not_stay(serve):
    serve("synthetic:3x8x8", samples=640, epochs=1)
    with bc.Consumer("s", 64, explain_faults=False) as consumer:
        batch = consumer.next()
        assert not batch.keeps_writes
        capsule = batch.field("label")._writable_capsule()
        tensor = Legacy.from_address(pointer_of(capsule, b"dltensor"))
        assert tensor.data != batch["label"].ctypes.data
        ctypes.memset(tensor.data, 0xFF, 8)
        assert tuple((ctypes.c_int64 * 2).from_address(tensor.data)) == (-1, batch["label"][1])


def test_padded_samples_have_their_stride(serve):
    # Odd bytes a sample: samples lie further apart where the ring would not fit otherwise.
    serve("synthetic:3x333x333", dtype="u8", samples=64, epochs=1, memory="32MiB")
    with bc.Consumer("s", 8) as consumer:
        batch = consumer.next()
        array = batch["image"]
        if array.flags.c_contiguous:
            pytest.skip("this ring lies close")
        assert array.strides[1:] == (333 * 333, 333, 1) and array.strides[0] > 3 * 333 * 333
        for other in (np.asarray(batch.field("image")), np.from_dlpack(batch.field("image"))):
            assert other.strides == array.strides
            np.testing.assert_array_equal(other, array)
        copied = batch.field("image").__dlpack__(copy=True)
        tensor = Legacy.from_address(pointer_of(copied, b"dltensor"))
        assert tensor.strides[0] == 3 * 333 * 333
        bytes_ = (ctypes.c_uint8 * array.size).from_address(tensor.data)
        np.testing.assert_array_equal(np.frombuffer(bytes_, np.uint8), array.ravel())


def test_torch_takes_it(consumer):
    torch = pytest.importorskip("torch")
    batch = consumer.next()
    expected = batch["image"].copy()
    for take in (
        lambda: torch.from_dlpack(batch.field("image")),
        lambda: torch.utils.dlpack.from_dlpack(batch.field("image")._writable_capsule()),
    ):
        tensor = take()
        assert tensor.data_ptr() == batch["image"].ctypes.data
        np.testing.assert_array_equal(tensor.numpy(), expected)
    del batch, take
    assert consumer.stats.leases_held == 1
    view = tensor[3:5].transpose(1, 2)
    del tensor
    assert consumer.stats.leases_held == 1
    np.testing.assert_array_equal(view.transpose(1, 2).numpy(), expected[3:5])
    del view
    assert consumer.stats.leases_held == 0


def test_a_write_through_a_tensor_stays_with_this_process(serve):
    torch = pytest.importorskip("torch")
    serve("synthetic:3x8x8", samples=640, epochs=1, wait_for=2)
    lines = []
    with bc.Consumer("s", 64, log=lambda *line: lines.append(line)) as writer:
        with bc.Consumer("s", 64) as reader:
            batch = writer.next()
            expected = batch["image"].copy()
            tensor = torch.utils.dlpack.from_dlpack(batch.field("image")._writable_capsule())
            tensor.add_(1)
            np.testing.assert_array_equal(tensor.numpy(), expected + 1)
            np.testing.assert_array_equal(batch["image"], expected + 1)
            np.testing.assert_array_equal(reader.next()["image"], expected)
            assert writer.next().writable  # from then on copies
            assert [level for level, _ in lines if level == "warning"] == ["warning"]
