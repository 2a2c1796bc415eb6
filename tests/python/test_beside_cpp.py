# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy torch-1.13
"""A C++ trainer and the extension module in one process, on the same stream."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np

import batchcast as bc
import support


def load_trainer() -> ctypes.CDLL:
    trainer = ctypes.CDLL(str(Path(support.COMMAND).parent / "tests/python/trainer.so"))
    trainer.trainer_attach.restype = ctypes.c_void_p
    trainer.trainer_attach.argtypes = [ctypes.c_char_p, ctypes.c_uint64]
    trainer.trainer_next.restype = ctypes.c_int64
    trainer.trainer_next.argtypes = [ctypes.c_void_p]
    trainer.trainer_write.restype = ctypes.c_uint64
    trainer.trainer_write.argtypes = [ctypes.c_void_p, ctypes.c_ubyte, ctypes.c_uint64]
    trainer.trainer_detach.argtypes = [ctypes.c_void_p]
    return trainer


def test_both_get_every_sample_and_keep_their_writes(serve, tmp_path):
    batch_size, batches, sample_bytes = 64, 10, 3 * 8 * 8
    samples = batch_size * batches
    serve("synthetic:3x8x8", dtype="u8", samples=samples, epochs=1, wait_for=2)
    dumped = support.dump("synthetic:3x8x8", 0, samples, tmp_path, dtype="u8", samples=samples)
    sums = dumped["image"].reshape(batches, -1).sum(axis=1, dtype=np.int64).tolist()

    cpp = load_trainer()
    handle = cpp.trainer_attach(b"s", batch_size)
    assert handle
    with bc.Consumer("s", batch_size, name="python") as consumer:

        def python_turn(mark: int) -> int:
            batch = consumer.next()
            image = batch["image"]
            total = int(image.sum(dtype=np.int64))
            ctypes.memset(image.ctypes.data, mark, sample_bytes)
            assert (image[0] == mark).all()
            return total

        def cpp_turn(mark: int) -> int:
            total = cpp.trainer_next(handle)
            assert cpp.trainer_write(handle, mark, sample_bytes) == sample_bytes
            return total

        for number, expected in enumerate(sums):
            turns = [python_turn, cpp_turn]
            for turn in turns if number % 2 == 0 else reversed(turns):
                assert turn(100 + number) == expected
        assert consumer.next() is None and cpp.trainer_next(handle) == -1
    cpp.trainer_detach(handle)
