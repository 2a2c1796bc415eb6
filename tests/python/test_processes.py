# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy torch-1.13
"""Several trainers, and processes that end at any moment."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import threading

import numpy as np
import pytest

import batchcast as bc
import support

SUM = """
import batchcast as bc, sys
consumer = bc.Consumer("s", int(sys.argv[1]), name=sys.argv[2], **eval(sys.argv[3] if sys.argv[3:] else "{}"))
print("attached")
total = samples = 0
while consumer.has_next_epoch():
    for batch in consumer:
        total += int(batch["label"].sum()) + int(batch.sample_ids.sum())
        samples += batch.size
        print(samples)
print("end", samples, total)
"""


def sums(tmp_path, samples: int, epochs: int) -> int:
    dumped = support.dump("synthetic:1", 0, samples * epochs, tmp_path, samples=samples)
    return int(dumped["label"].sum()) + int(dumped["sample_id"].sum())


def test_one_of_four_trainers_is_killed(serve, child, tmp_path):
    serve("synthetic:1", samples=2000, epochs=2, wait_for=4)
    children = [child(SUM, str(10 + 7 * i), f"t{i}") for i in range(4)]
    for one in children:
        assert one.line() == "attached"
    victim = children.pop()
    for _ in range(3):
        victim.line()
    victim.kill()
    expected = f"end 4000 {sums(tmp_path, 2000, 2)}"
    for one in children:
        code, out, err = one.finish()
        assert (code, err, out.splitlines()[-1]) == (0, "", expected)


def test_a_producer_is_killed(serve):
    served = serve("synthetic:1", samples=64, epochs=0, wait_for=2)
    with bc.Consumer("s", 64, on_producer_gone="error") as consumer:
        killer = threading.Timer(0.02, served.kill)
        killer.start()
        with pytest.raises(bc.ProducerGone, match="`s`"):
            consumer.next()
        killer.join()
        with pytest.raises(bc.StreamOver):
            consumer.next()


def test_a_producer_is_stopped(serve):
    served = serve("synthetic:1", samples=64, epochs=0, wait_for=2)
    with bc.Consumer("s", 64) as consumer:
        stopper = threading.Timer(0.02, served.stop)
        stopper.start()
        with pytest.raises(bc.Stopped):
            consumer.next()
        stopper.join()


def test_eviction(serve):
    serve("synthetic:1", samples=640, epochs=0)
    with bc.Consumer("s", 64, name="mine") as consumer:
        batch = consumer.next()
        array = batch["image"]
        subprocess.run(
            [support.COMMAND, "evict", "s", "mine", "--reason", "too slow"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        said = []
        for use in (
            batch.check,
            consumer.check,
            lambda: batch["image"],
            consumer.next,
            batch.release,
        ):
            with pytest.raises(bc.Revoked) as caught:
                use()
            said.append(str(caught.value))
        assert "too slow" in said[0]
        assert array.shape == (64, 1)  # its memory is there all the same


def test_several_consumers_in_threads(serve, tmp_path):
    serve("synthetic:1", samples=1000, epochs=2, wait_for=3)
    totals = {}

    def train(size):
        total = 0
        with bc.Consumer("s", size) as consumer:
            while consumer.has_next_epoch():
                for batch in consumer:
                    total += int(batch["label"].sum()) + int(batch.sample_ids.sum())
        totals[size] = total

    threads = [threading.Thread(target=train, args=(size,)) for size in (7, 64, 300)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == dict.fromkeys((7, 64, 300), sums(tmp_path, 1000, 2))


def test_a_forked_child_cannot_use_it(serve):
    serve("synthetic:1", samples=640, epochs=0)
    consumer = bc.Consumer("s", 64)
    batch = consumer.next()
    field = batch.field("image")
    expected = batch["image"].copy()
    loop = iter(consumer)
    next(loop)

    def child(pipe):
        said = []
        for use in (
            consumer.next,
            consumer.has_next_epoch,
            consumer.check,
            lambda: consumer.cursor,
            lambda: consumer.recipe,
            lambda: consumer.newest(1),
            lambda: batch["image"],
            lambda: batch.sample_ids,
            lambda: batch._writable_capsules((0,)),
            lambda: field.__dlpack__(),
            lambda: np.asarray(field),
            lambda: next(loop),
        ):
            try:
                use()
                said.append("nothing")
            except bc.Forked:
                said.append("Forked")
        repr(consumer), repr(batch)
        consumer.close()
        pipe.send(said)

    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(False)
    process = context.Process(target=child, args=(sender,))
    process.start()
    assert receiver.recv() == ["Forked"] * 12
    process.join()
    assert process.exitcode == 0
    np.testing.assert_array_equal(batch["image"], expected)
    assert consumer.stats.leases_held == 1
    assert next(loop).size == 64


def test_a_forked_childs_interpreter_ends_as_usual(serve):
    serve("synthetic:1", samples=640, epochs=0)
    run = support.python(
        """
import batchcast as bc, gc, os, sys
consumer = bc.Consumer("s", 64)
batch = consumer.next()
array = batch["image"]
capsule = batch.field("image").__dlpack__()
loop = iter(consumer); next(loop)
if os.fork() == 0:
    del batch, capsule
    gc.collect()
    sys.exit(7)
assert os.waitstatus_to_exitcode(os.wait()[1]) == 7
assert consumer.next().size == 64 and consumer.stats.leases_held == 1, consumer.stats
assert array.sum() >= 0
print("ok")
"""
    )
    assert (run.stdout, run.stderr) == ("ok\n", "")


def test_a_child_forked_during_a_call_is_told_that_it_is_one(serve):
    serve("synthetic:1", wait_for=2)
    with bc.Consumer("s", 64) as consumer:
        waits = threading.Thread(target=consumer.next)
        waits.start()
        support.until(lambda: support.is_in_a_call(consumer))

        def child():
            for use in (consumer.next, lambda: consumer.cursor):
                try:
                    use()
                except bc.Forked:
                    continue
                os._exit(1)
            consumer.close()
            os._exit(0)

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        process.join()
        assert process.exitcode == 0
        with bc.Consumer("s", 64):
            waits.join()


def test_a_forked_child_may_attach(serve):
    serve("synthetic:1", samples=640, epochs=1, wait_for=2)
    with bc.Consumer("s", 64) as consumer:

        def child():
            with bc.Consumer("s", 64) as mine:
                total = sum(batch.size for batch in mine)
            os._exit(0 if total == 640 else 1)

        process = multiprocessing.get_context("fork").Process(target=child)
        process.start()
        assert sum(batch.size for batch in consumer) == 640
        process.join()
        assert process.exitcode == 0


def spawned(samples):
    with bc.Consumer("s", 64) as consumer:
        samples.put(sum(batch.size for batch in consumer))


def test_a_spawned_process(serve):
    serve("synthetic:1", samples=640, epochs=1, wait_for=2)
    context = multiprocessing.get_context("spawn")
    samples = context.SimpleQueue()
    process = context.Process(target=spawned, args=(samples,))
    process.start()
    with bc.Consumer("s", 64) as consumer:
        assert sum(batch.size for batch in consumer) == samples.get() == 640
    process.join()
    assert process.exitcode == 0


RANK = """
import batchcast as bc, sys
rank, how = int(sys.argv[1]), sys.argv[2]
group = {"tuple": ("g", rank, 2), "text": f"g:{rank}/2", "auto": "auto"}[how]
with bc.Consumer("s", 16, group=group) as consumer:
    assert consumer.group[1:] == (rank, 2) and consumer.group.rank == rank
    print([batch.position for batch in consumer])
"""


@pytest.mark.parametrize("how", [("tuple", "text"), ("auto", "auto")])
def test_two_ranks_share_each_batch(serve, child, monkeypatch, how):
    serve("synthetic:1", samples=96, epochs=1)
    ranks = []
    for rank in range(2):
        if how[rank] == "auto":  # as torchrun has it
            settings = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
            settings |= {"MASTER_ADDR": "localhost", "MASTER_PORT": 29500}
            settings |= {"TORCHELASTIC_RUN_ID": "g"}
            for name, value in settings.items():
                monkeypatch.setenv(name, str(value))
        ranks.append(child(RANK, str(rank), how[rank]))
    for rank, process in enumerate(ranks):
        assert process.finish() == (0, f"{[16 * (2 * k + rank) for k in range(3)]}\n", "")


def leave(rank, how, said):
    with bc.Consumer("s", 16, group=("g", rank, 2)) as consumer:

        def train():
            for batch in consumer:
                if rank == 0 and how == "break":
                    return
                if rank == 0 and how == "raise":
                    raise ValueError

        def generate():
            for batch in consumer:
                yield batch

        try:
            if how == "generator":
                for batch in generate():
                    if rank == 0:
                        break
            else:
                train()
            said[rank] = ("left at", consumer.epoch)
        except ValueError:
            said[rank] = ("raised in", consumer.epoch)
        except bc.GroupBroken:
            said[rank] = ("broken",)


@pytest.mark.parametrize("how", ["break", "raise", "generator"])
def test_leaving_a_loop_of_a_group(serve, how):
    # An epoch that no rank gets to the end of without the other.
    serve("synthetic:1", samples=200_000, epochs=2, memory="1MiB")
    said = {}
    ranks = [threading.Thread(target=leave, args=(rank, how, said)) for rank in range(2)]
    for thread in ranks:
        thread.start()
    for thread in ranks:
        thread.join()
    # By an exception the epoch is not left: the consumer goes, and breaks the group.
    if how == "raise":
        assert said == {0: ("raised in", 0), 1: ("broken",)}
    else:
        assert said == {0: ("left at", 1), 1: ("left at", 1)}


def test_a_loop_left_by_an_exception_leaves_its_epoch(serve):
    serve("synthetic:1", samples=96, epochs=2)
    with bc.Consumer("s", 16) as consumer:
        with pytest.raises(ValueError):
            for batch in consumer:
                raise ValueError
        assert consumer.cursor == 96


WRITE = """
import batchcast as bc, ctypes, faulthandler, sys
when = sys.argv[1]
if when == "before": faulthandler.enable()
consumer = bc.Consumer("s", 64, **eval(sys.argv[2]))
if when == "after": faulthandler.enable()
array = consumer.next()["label"]
for _ in range(20): consumer.next()
before = array.copy()
ctypes.memset(array.ctypes.data, 0xFF, 8)
assert array[0] == -1 and (array[1:] == before[1:]).all()
assert consumer.next().writable
print("private")
"""


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_write_by_ctypes_stays_private(serve, when):
    serve("synthetic:1", samples=6400, epochs=0, wait_for=2)
    with bc.Consumer("s", 64) as other:
        run = support.python(WRITE, when, "{}")
        assert run.stdout == "private\n", run.stderr
        assert run.stderr.startswith("batchcast: ") and run.stderr.count("\n") == 1, run.stderr
        assert (other.next()["label"] >= 0).all()


def test_a_write_that_cannot_stay_ends_the_process_with_a_message(serve):
    serve("synthetic:1", samples=6400, epochs=0)
    run = support.python(WRITE, "before", "{'explain_faults': False}")
    assert run.returncode == -11 and "Segmentation fault" in run.stderr


def test_faulthandler_still_reports_other_faults(serve):
    serve("synthetic:1", samples=64, epochs=0)
    run = support.python(
        """
import batchcast as bc, ctypes, faulthandler
faulthandler.enable()
consumer = bc.Consumer("s", 64)
batch = consumer.next()
ctypes.string_at(8)
"""
    )
    assert run.returncode == -11 and "Fatal Python error: Segmentation fault" in run.stderr
    assert "batchcast:" not in run.stderr
