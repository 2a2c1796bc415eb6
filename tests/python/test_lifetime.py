# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What outlives what, and that nothing is left over."""

from __future__ import annotations

import gc
import os
import threading

import numpy as np
import pytest

import batchcast as bc
import support


def test_arrays_outlive_batch_consumer_and_producer(serve):
    served = serve("synthetic:3x8x8", samples=640, epochs=1, wait_for=1)
    consumer = bc.Consumer("s", 64)
    batch = consumer.next()
    arrays = [batch["image"], batch.sample_ids, np.from_dlpack(batch.field("image"))]
    arrays.append(arrays[0][5:, 1].T)
    expected = [array.copy() for array in arrays]
    del batch
    consumer.close()
    del consumer
    gc.collect()
    served.kill()
    for array, values in zip(arrays, expected):
        np.testing.assert_array_equal(array, values)


def test_a_ring_is_unmapped_with_its_last_array(serve):
    def mapped():
        with open("/proc/self/maps") as maps:
            return sum("memfd:" in line for line in maps)

    gc.collect()
    before = mapped()
    serve("synthetic:3x8x8", samples=640)  # without an end, which the first trainer's end would be
    consumer = bc.Consumer("s", 64)
    array = consumer.next()["image"]
    expected = array.copy()
    assert mapped() > before
    consumer.close()
    assert mapped() == before  # what is still shown became this process's own
    np.testing.assert_array_equal(array, expected)
    with bc.Consumer("s", 64) as consumer:
        array = consumer.next()["image"]
        assert mapped() > before
        del array
    assert mapped() == before


def test_samples_are_kept_until_the_last_array_is_gone(serve):
    serve("synthetic:1x64x64", samples=4096, epochs=2, memory="4MiB", wait_for=1)
    with bc.Consumer("s", 32) as consumer:
        batch = consumer.next()
        kept = batch["image"]
        expected = kept.copy()
        del batch
        position = 32
        while position < 3 * consumer.capacity:  # round the ring, beyond what is held
            position = consumer.next(timeout=10).position
        np.testing.assert_array_equal(kept, expected)
        del kept
        assert consumer.next(timeout=10).size == 32


def test_a_ring_for_one_batch_has_room_for_the_next(serve):
    serve("synthetic:1x64x64", samples=6400, epochs=2, memory="4MiB")
    with bc.Consumer("s") as consumer:
        consumer.batch_size = consumer.capacity * 2 // 3
        for batch in consumer:  # Python has the last one while the next is fetched
            assert batch.size > 0
        kept = []
        with pytest.raises(bc.RingTooSmall, match="`del` them at the end of the loop"):
            for batch in consumer:
                kept.append(batch)
        assert len(kept) == 3  # one in place, and two copies beside it
        position = kept[-1].position + kept[-1].size
        del batch, kept
        for batch in consumer:
            assert batch.position == position
            break


def usage() -> tuple[int, int, int]:
    """Of this process: resident KiB, descriptors, threads."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    own_kib = int(lines["RssAnon"].split()[0])
    return own_kib, len(os.listdir("/proc/self/fd")), int(lines["Threads"])


def test_nothing_grows_in_200_epochs(serve):
    serve("synthetic:3x8x8", samples=640, epochs=0)
    with bc.Consumer("s", 64) as consumer:

        def epochs(number):
            for _ in range(number):
                for batch in consumer:
                    for name in batch:
                        batch[name], np.from_dlpack(batch.field(name))
                    batch._writable_capsules(("image", "label"))
                consumer.stats, consumer.schema, consumer.recipe, consumer.checkpoint()
            gc.collect()
            return usage()

        before = epochs(20)
        after = epochs(200)
    assert after[1] <= before[1] and after[2] <= before[2]
    assert after[0] - before[0] < 512  # of a leaked object each batch 2,000 would be more


def test_attaching_again_and_again_leaves_nothing(serve):
    serve("synthetic:3x8x8", samples=640, epochs=0)

    def attach(times):
        for i in range(times):
            consumer = bc.Consumer("s", 64, log=print if i % 2 else None)
            array = consumer.next()["image"]
            if i % 3 == 0:
                consumer.close()
            with pytest.raises(TypeError):
                bc.Consumer("s", nonsense=i)
            del consumer, array
        gc.collect()
        return usage()

    before = attach(20)
    after = attach(60)
    assert after[1] <= before[1] and after[2] <= before[2]
    assert after[0] - before[0] < 512


AT_EXIT = {
    "objects of all kinds": """
import sys
batch = consumer.next()
array = batch["image"]
capsule = batch.field("image").__dlpack__()
loop = iter(consumer)
next(loop)

class Node: pass
node = Node()  # a cycle
node.self, node.consumer, node.batch = node, bc.Consumer("s", 64, log=print), consumer.next()

def fail():
    for batch in consumer:
        raise ValueError(batch)
try:
    fail()
except ValueError as error:
    kept = error
""",
    "a thread that waits": """
import threading
def wait():
    try:
        consumer.next()
    finally:
        print("came back")
threading.Thread(target=wait, daemon=True).start()
while True:  # until it is in the call
    try:
        consumer.cursor
    except bc.InvalidArgument:
        break
""",
    "a thread in its log": """
import threading, time
entered = threading.Event()
def log(level, text):
    entered.set()
    while True: time.sleep(1e-4)
threading.Thread(target=lambda: bc.Consumer("none", log=log), daemon=True).start()
entered.wait()
""",
    "a thread whose log raises": """
import sys, threading, time
entered = threading.Event()
def log(level, text):
    raise ValueError
def hook(unraisable):
    entered.set()
    while True: time.sleep(1e-4)
sys.unraisablehook = hook
threading.Thread(target=lambda: bc.Consumer("none", log=log), daemon=True).start()
entered.wait()
""",
    "threads that take batches": """
import threading
go = threading.Event()
def take():
    mine = bc.Consumer("s", 1, log=print)
    go.set()
    while True:
        batch = mine.next()
threads = [threading.Thread(target=take, daemon=True) for _ in range(3)]
for thread in threads: thread.start()
go.wait()
""",
}


@pytest.mark.parametrize("what", AT_EXIT)
def test_the_interpreter_ends_with(serve, what):
    serve("synthetic:1", samples=640, wait_for=2 if what == "a thread that waits" else 1)
    run = support.python(
        "import batchcast as bc\nconsumer = bc.Consumer('s', 64)\n" + AT_EXIT[what]
    )
    # What is kept when a loop was left is warned of.
    lines = [line for line in run.stderr.splitlines() if " batches of stream `s`" not in line]
    assert (run.returncode, lines) == (0, [])
    assert "came back" not in run.stdout


def test_a_deleter_works_after_the_interpreters_end(serve):
    serve("synthetic:1", samples=640, epochs=0)
    run = support.python(
        """
import batchcast as bc, ctypes
consumer = bc.Consumer("s", 64)
capsule = consumer.next().field("image").__dlpack__()
address = ctypes.pythonapi.PyCapsule_GetPointer
address.restype, address.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
managed = address(capsule, b"dltensor")
deleter = ctypes.c_void_p.from_address(managed + 56).value
ctypes.pythonapi.PyCapsule_SetName(ctypes.py_object(capsule), b"used_dltensor")
libc = ctypes.CDLL(None)
said = ctypes.create_string_buffer(b"deleted\\n")
# exit() calls the last one first, once Python is gone.
libc.__cxa_atexit(ctypes.cast(libc.puts, ctypes.c_void_p), said, None)
libc.__cxa_atexit(ctypes.c_void_p(deleter), ctypes.c_void_p(managed), None)
ctypes.pythonapi.Py_IncRef(ctypes.py_object(said))
"""
    )
    assert (run.returncode, run.stderr, run.stdout.strip()) == (0, "", "deleted")


def test_deleters_run_on_any_thread_without_the_gil(serve):
    torch = pytest.importorskip("torch")
    serve("synthetic:3x8x8", samples=640, epochs=0)
    with bc.Consumer("s", 64) as consumer:
        tensors = [torch.from_dlpack(consumer.next().field("image")) for _ in range(3)]
        threads = [threading.Thread(target=tensors.pop) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert consumer.stats.leases_held == 0
