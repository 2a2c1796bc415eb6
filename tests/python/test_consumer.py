# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: numpy torch-1.13
"""What a consumer delivers, says and refuses."""

from __future__ import annotations

import collections.abc
import gc
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import types

import numpy as np
import pytest

import batchcast as bc
import support

SOURCE = "synthetic:3x8x8"


def test_values_are_those_of_dump(serve, tmp_path):
    serve(SOURCE, samples=100, epochs=2, wait_for=1, seed=3)
    expected = support.dump(SOURCE, 0, 200, tmp_path, samples=100, seed=3)
    got: dict[str, list] = {"image": [], "label": [], "sample_id": []}
    with bc.Consumer("s", 32) as consumer:
        while consumer.has_next_epoch():
            for batch in consumer:
                assert batch.position == sum(map(len, got["sample_id"]))
                for name in ("image", "label"):
                    got[name].append(batch[name].copy())
                got["sample_id"].append(batch.sample_ids.copy())
    assert [len(ids) for ids in got["sample_id"]] == [32, 32, 32, 4] * 2
    for name, parts in got.items():
        whole = np.concatenate(parts)
        assert whole.dtype == expected[name].dtype
        np.testing.assert_array_equal(whole, expected[name])


def test_each_dtype_is_numpys(serve, tmp_path):
    kinds = "uint8 int8 int16 int32 int64 uint16 uint32 uint64 float16 float32 float64 bool".split()
    arrays = {f"{kind}_": (np.arange(40).reshape(8, 5) % 3).astype(kind) for kind in kinds}
    for name, array in arrays.items():
        np.save(tmp_path / f"{name}.npy", array)
    serve("npy:" + ",".join(f"{tmp_path}/{name}.npy" for name in arrays), epochs=1)
    batch = bc.Consumer("s", 8).next()
    assert len(batch) == len(arrays)
    for name, array in zip(batch, arrays.values()):
        field = batch.field(name)
        assert batch[name].dtype == field.dtype == array.dtype
        assert batch[name].shape == field.shape == array.shape
        np.testing.assert_array_equal(batch[name], array[batch.sample_ids])
        np.testing.assert_array_equal(np.asarray(field), array[batch.sample_ids])


def test_bf16_needs_ml_dtypes(serve, monkeypatch):
    serve("synthetic:5", samples=8, epochs=1, dtype="bf16")
    batch = bc.Consumer("s", 8).next()
    monkeypatch.setitem(sys.modules, "ml_dtypes", None)  # as if it was not installed
    with pytest.raises(bc.InvalidArgument, match="pip install ml_dtypes"):
        batch["image"]
    # Any numpy type of two bytes stands for it.
    monkeypatch.setitem(sys.modules, "ml_dtypes", types.SimpleNamespace(bfloat16=np.float16))
    assert batch["image"].shape == (8, 5)
    assert batch["label"].shape == (8,)


def test_a_batch_is_a_mapping(serve):
    serve(SOURCE, samples=64, epochs=1)
    batch = bc.Consumer("s", 64).next()
    assert isinstance(batch, collections.abc.Mapping)
    assert list(batch) == batch.keys() == ["image", "label"] and len(batch) == 2
    assert set(dict(batch)) == {"image", "label"}
    assert [name for name, _ in batch.items()] == ["image", "label"]
    assert [array.shape for array in batch.values()] == [(64, 3, 8, 8), (64,)]
    assert "image" in batch and "imag" not in batch and 3 not in batch
    assert batch.get("imag") is None and batch.get("imag", 1) == 1
    assert batch.get("label").shape == (64,)
    assert (batch.size, batch.position, batch.epoch, batch.padding) == (64, 0, 0, 0)
    assert batch.placement == "host" and batch.keeps_writes and not batch.writable
    with pytest.raises(KeyError) as caught:
        batch["imag"]
    assert isinstance(caught.value, bc.InvalidArgument)
    assert str(caught.value).endswith("Did you mean `image`?")
    with pytest.raises(bc.UnknownField):
        batch.field("imag")
    with pytest.raises(TypeError):
        batch[3]
    with pytest.raises(TypeError):
        bc.Batch()


def test_arrays_are_read_only_and_private_ones_are_not(serve):
    serve(SOURCE, samples=64, epochs=1, wait_for=2)
    with bc.Consumer("s", 64, name="a") as shared:
        with bc.Consumer("s", 64, access="private") as private:
            for array in (shared_batch := shared.next()).values():
                assert not array.flags.writeable
                with pytest.raises(ValueError):
                    array[0] = 1
                with pytest.raises(ValueError):
                    array.flags.writeable = True
            batch = private.next()
            assert batch.writable
            batch["label"][:] = -1
            assert (batch["label"] == -1).all() and not (shared_batch["label"] == -1).any()


def test_an_epoch_is_a_loop(serve):
    serve(SOURCE, samples=64, epochs=3, wait_for=1)
    with bc.Consumer("s", 16) as consumer:
        assert [batch.position for batch in consumer] == [0, 16, 32, 48]
        for batch in consumer:
            break
        del batch
        assert consumer.cursor == 128  # the rest was let go
        loop = iter(consumer)
        assert next(loop).epoch == 2
        later = iter(consumer)
        assert next(later).position == 144
        del loop  # the later loop goes on
        assert next(later).position == 160
        assert next(later).position == 176
        with pytest.raises(StopIteration):
            next(later)
        with pytest.raises(StopIteration):
            next(later)
        assert not consumer.has_next_epoch()
        with pytest.raises(bc.StreamFinished) as caught:
            consumer.next()
        assert isinstance(caught.value, bc.StreamOver)


def test_next_waits_so_long(serve):
    serve(SOURCE, samples=32, epochs=1, wait_for=2)
    with bc.Consumer("s", 32) as consumer:
        with pytest.raises(bc.Timeout, match="within 0.02 s") as caught:
            consumer.next(timeout=0.02)
        assert isinstance(caught.value, TimeoutError)
        with pytest.raises(bc.Timeout):
            consumer.next(0)
        with bc.Consumer("s", 32):
            assert consumer.next(timeout=10).size == 32
            assert consumer.next() is None


def test_batch_size_can_change(serve):
    serve(SOURCE, samples=64, epochs=1)
    with bc.Consumer("s") as consumer:
        consumer.batch_size = 10
        assert consumer.batch_size == 10 and consumer.next().size == 10
        with pytest.raises(bc.InvalidArgument):
            consumer.batch_size = 0
        with pytest.raises(bc.RingTooSmall):
            consumer.batch_size = 1 << 40
        with pytest.raises(TypeError):
            consumer.batch_size = "10"


def test_tails(serve):
    serve(SOURCE, samples=50, epochs=1, wait_for=2)
    with bc.Consumer("s", 32, tail="drop") as drop, bc.Consumer("s", 32, tail="pad") as pad:
        assert [batch.size for batch in drop] == [32]
        padded = [(batch.size, batch.padding, batch.writable) for batch in pad]
    assert padded == [(32, 0, False), (32, 14, True)]


def test_a_free_consumer_gets_copies(serve):
    serve(SOURCE, samples=64, epochs=1, free_running=True)
    with bc.Consumer("s", 64, pace="free") as consumer:
        batch = consumer.next()
        assert batch.writable and consumer.stats.leases_held == 0


def test_newest_looks_without_taking_part(serve):
    serve(SOURCE, samples=64, epochs=1, free_running=True)
    with bc.Consumer("s", observes=True) as consumer:
        support.until(lambda: consumer.newest(8) is not None)
        assert consumer.newest(8).size == 8
        with pytest.raises(bc.InvalidArgument, match="observes"):
            consumer.next()


def test_what_a_consumer_says(serve):
    serve(SOURCE, samples=64, epochs=1, wait_for=1)
    with bc.Consumer("s", 64, name="mine") as consumer:
        assert (consumer.name, consumer.stream, consumer.placement) == ("mine", "s", "host")
        assert consumer.schema == (("image", "f32", (3, 8, 8)), ("label", "i64", ()))
        assert consumer.schema[0].name == "image"
        assert consumer.group is None and consumer.pure and len(consumer.identity) == 32
        assert consumer.recipe["samples_per_epoch"] == consumer.samples_per_epoch == 64
        assert consumer.capacity >= 64 and isinstance(consumer.notes, str)
        assert "`mine`, epoch 0, position 0" in repr(consumer)
        batch = consumer.next()
        assert "64 samples from position 0: image f32 [3,8,8], label i64 []" in repr(batch)
        stats = consumer.stats
        assert (stats.samples, stats.batches, stats.leases_held) == (64, 1, 1)
        assert 0 < stats.attach_seconds < 30
        consumer.check()
    assert repr(consumer) == "<batchcast.Consumer of stream `s`, closed>"


def test_its_name_is_the_scripts(serve, monkeypatch):
    serve(SOURCE, samples=64)
    monkeypatch.setattr(sys, "argv", ["/home/me/träin it.py"])
    with bc.Consumer("s") as consumer:
        assert consumer.name.startswith("tr") and consumer.name.endswith("in?it.py")
    monkeypatch.setattr(sys, "argv", ["-c"])
    with bc.Consumer("s") as consumer:
        assert consumer.name.startswith("python")


def test_closed_is_closed(serve):
    serve(SOURCE, samples=640, epochs=1)
    consumer = bc.Consumer("s", 64)
    batch = consumer.next()
    expected = batch["image"].copy()
    consumer.close()
    consumer.close()
    assert consumer.closed
    np.testing.assert_array_equal(batch["image"], expected)
    for use in (
        consumer.next,
        consumer.has_next_epoch,
        consumer.leave_epoch,
        consumer.check,
        consumer.checkpoint,
        lambda: consumer.cursor,
        lambda: consumer.stats,
        lambda: next(iter(consumer)),
        lambda: consumer.newest(1),
        lambda: consumer.set_cuda_stream(0),
    ):
        with pytest.raises(bc.InvalidArgument, match="of stream `s` is closed"):
            use()


@pytest.mark.filterwarnings("ignore:nanobind")
def test_objects_that_were_not_made_properly_are_refused(serve):
    serve(SOURCE, samples=64, epochs=1)
    for use in (iter, bc.Consumer.next, bc.Consumer.close, lambda one: one.cursor):
        with pytest.raises((TypeError, RuntimeError)):
            use(bc.Consumer.__new__(bc.Consumer))
    with pytest.raises((TypeError, RuntimeError)):
        bc.Batch.__new__(bc.Batch).keys()
    consumer = bc.Consumer("s", 64)
    with pytest.raises((TypeError, RuntimeError)):
        consumer.__init__("s", 64)
    assert consumer.next().size == 64


def test_a_released_batch_says_so(serve):
    serve(SOURCE, samples=640, epochs=1)
    with bc.Consumer("s", 64) as consumer:
        batch = consumer.next()
        other = batch.share()
        image = batch["image"]
        batch.release()
        batch.release()
        assert repr(batch) == "<batchcast.Batch, released>"
        for use in (
            lambda: batch["image"],
            lambda: batch.size,
            lambda: batch.keys(),
            lambda: batch.sample_ids,
            lambda: batch.check(),
            lambda: batch.share(),
            lambda: batch.field("image"),
        ):
            with pytest.raises(bc.InvalidArgument, match="was released"):
                use()
        assert other.size == 64 and consumer.stats.leases_held == 1
        del other, use
        assert consumer.stats.leases_held == 1  # the array's
        del image
        assert consumer.stats.leases_held == 0


def test_a_checkpoint_goes_on_where_it_was(serve, tmp_path):
    serve(SOURCE, samples=100, epochs=1)
    expected = support.dump(SOURCE, 0, 100, tmp_path, samples=100)["label"]
    with bc.Consumer("s", 30) as consumer:
        consumer.next()
        saved = json.loads(json.dumps(consumer.checkpoint()))
        with bc.Consumer("s", 30, join="at", cursor=saved["cursor"]) as resumed:
            bc.check_same_samples(saved, resumed.checkpoint())
            np.testing.assert_array_equal(resumed.next()["label"], expected[30:60])
            served = dict(resumed.checkpoint(), identity="0" * 32)
    with pytest.raises(bc.RecipeMismatch, match="position 30"):
        bc.check_same_samples(saved, served)
    with pytest.raises(TypeError, match="cursor has to be an int"):
        bc.check_same_samples(dict(saved, cursor="x"), served)


def test_refusals_name_what_is_near(directory):
    def refused(**options):
        with pytest.raises((TypeError, bc.InvalidArgument)) as caught:
            bc.Consumer("s", connect_timeout=0, **options)
        return str(caught.value)

    assert refused(batchsize=3).endswith("no argument `batchsize`. Did you mean `batch_size`?")
    assert refused(pace="fre").endswith('"lockstep" and "free". Did you mean `free`?')
    assert '"rewind", "next_epoch", "now" and "at"' in refused(join="here")
    assert r"pace: `a\x00\x1b` is none of its choices" in refused(pace="a\0\x1b")
    assert refused(batch_size="3") == "batchcast: batch_size has to be an int, not str"
    assert refused(batch_size=True) == "batchcast: batch_size has to be an int, not bool"
    assert "batch_size: `-1` must be a whole number, 1 or more." in refused(batch_size=-1)
    assert "batch_size: 18446744073709551616 is not from 1 to " in refused(batch_size=2**64)
    several = refused(batch_size=np.array([1, 2]))
    assert several == "batchcast: batch_size has to be an int, not numpy.ndarray"
    assert "batch_size: `0` must be a whole number, 1 or more." in refused(batch_size=0)
    assert "pin has to be a bool" in refused(pin="yes")
    assert "log has to be a callable" in refused(log=3)
    start = refused(start="imagefolder:x")
    assert 'start has to be a batchcast.Start, such as bc.Start("imagefolder:x"), not str' in start
    assert "name: this text has a lone surrogate" in refused(name="a\ud800")
    assert "directory: this path has a lone surrogate" in refused(directory="/a\ud800")
    assert r"`a\x00\x1b` is no placement" in refused(placement="a\0\x1b")
    assert "group has to be" in refused(group=3) and "group has to be" in refused(group=("a", 1))
    assert "rank" in refused(group=("a", 2, 2)) and "RANK" in refused(group="a:b")
    assert "allow_uids has to be a sequence" in refused(allow_uids="0")
    assert "cuda" in refused(placement="gpu")
    with pytest.raises(TypeError, match="`stream` is missing"):
        bc.Consumer()
    with pytest.raises(TypeError, match="first 2 arguments"):
        bc.Consumer("s", 3, "name")
    with pytest.raises(TypeError, match="given twice"):
        bc.Consumer("s", stream="s")
    with pytest.raises(bc.InvalidArgument):
        bc.Consumer("s/t")


def test_a_cursor_says_where_join_at_begins(directory):
    for join in ({}, {"join": "now"}):
        with pytest.raises(bc.InvalidArgument, match="cursor is 5, .* join `(rewind|now)` it has no"):
            bc.Consumer("s", connect_timeout=0, cursor=5, **join)
    with pytest.raises(bc.StreamNotFound):  # the signature's own
        bc.Consumer("s", connect_timeout=0, cursor=0)
    for cursor, why in ((-1, "`-1` must be a whole number, 0 or more"), (1 << 64, "16 is not from 0"), (True, "an int"),
                        ("3", "an int"), (1.5, "an int"), (None, "an int")):  # fmt: skip
        with pytest.raises((bc.InvalidArgument, TypeError), match=f"cursor.*{why}"):
            bc.Consumer("s", connect_timeout=0, join="at", cursor=cursor)


def test_no_stream_of_that_name(directory):
    begun = time.monotonic()
    with pytest.raises(bc.StreamNotFound, match="no producer serves a stream `s`"):
        bc.Consumer("s", connect_timeout=0.05)
    assert 0.05 <= time.monotonic() - begun < 2


def test_a_path_may_be_no_text(directory):
    with pytest.raises(bc.StreamNotFound, match=r"/no\\xff"):
        bc.Consumer("s", connect_timeout=0, directory=os.fsdecode(b"/no\xff"))


def test_system_errors_have_their_number(serve):
    serve(SOURCE)
    bc.Consumer("s").close()
    run = support.python(
        """
import batchcast as bc, errno, os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (os.dup(0), 1000))
try:
    bc.Consumer("s", connect_timeout=1)
except OSError as error:
    assert isinstance(error, bc.SystemError) and isinstance(error, bc.Error), type(error)
    assert error.errno == errno.EMFILE
    assert str(error).startswith("batchcast: "), error
    print("ok")
"""
    )
    assert run.stdout == "ok\n", run.stderr


def test_errors_are_below_the_usual_ones():
    assert issubclass(bc.InvalidArgument, ValueError)
    assert issubclass(bc.OutOfMemory, MemoryError)
    assert issubclass(bc.SystemError, OSError)
    assert issubclass(bc.Timeout, TimeoutError)
    assert issubclass(bc.ProducerGone, bc.StreamOver)
    for error in vars(bc.errors).values():
        if isinstance(error, type):
            assert issubclass(error, bc.Error) and error.__doc__


def test_log_hears_what_is_no_error(serve):
    lines: list[tuple[str, str]] = []
    consumers = []

    def attach():
        consumers.append(bc.Consumer("s", 64, log=lambda level, text: lines.append((level, text))))

    thread = threading.Thread(target=attach)
    thread.start()
    support.until(lambda: bool(lines))
    assert lines[0][0] == "info" and "waiting for a producer" in lines[0][1]
    serve(SOURCE, samples=64, epochs=1)
    thread.join()
    assert consumers.pop().next().size == 64


def test_a_log_that_raises_ends_nothing(serve, monkeypatch):
    unraisable = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    consumers = []

    def log(level, text):
        raise ValueError("no")

    thread = threading.Thread(target=lambda: consumers.append(bc.Consumer("s", 64, log=log)))
    thread.start()
    support.until(lambda: bool(unraisable))  # while it waits for a producer
    serve(SOURCE, samples=64, epochs=1)
    thread.join()
    assert consumers.pop().next().size == 64
    assert [one.exc_type for one in unraisable] == [ValueError]

    def leave(level, text):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        bc.Consumer("none", connect_timeout=30, log=leave)


class Writable:
    """Memory of an array, for writing, as the Loader's tensors have it."""

    def __init__(self, array):
        address, _ = array.__array_interface__["data"]
        self.array = array
        self.__array_interface__ = array.__array_interface__ | {"data": (address, False)}


def test_what_interrupts_a_log_loses_no_batch(serve):
    serve(SOURCE, samples=640, epochs=1, wait_for=1)

    def log(level, text):
        if "wrote into a batch" in text:
            raise KeyboardInterrupt

    positions = []
    interrupts = 0
    with bc.Consumer("s", 64, log=log) as consumer:
        while len(positions) < 10:
            try:
                batch = consumer.next()
            except KeyboardInterrupt:
                interrupts += 1
                continue
            positions.append(batch.position)
            if len(positions) == 1:
                np.asarray(Writable(batch["image"]))[:] = 0
    assert positions == list(range(0, 640, 64)) and interrupts == 1


def test_a_log_that_knows_its_consumer_is_collected(serve):
    serve(SOURCE, samples=64, epochs=1)

    class Holder:
        def log(self, level, text):
            pass

    holder = Holder()
    holder.consumer = bc.Consumer("s", log=holder.log)
    gone = []
    import weakref

    weakref.finalize(holder, gone.append, True)
    del holder
    gc.collect()
    assert gone == [True]


def test_the_first_trainer_starts_the_producer(directory):
    start = bc.Start(SOURCE, seed=3, memory="32MiB", epochs=1, idle_exit=30, arguments=("--samples", "64"))
    assert start.memory == 32 << 20 and start.arguments == ("--samples", "64")
    assert repr(start).startswith(f"Start('{SOURCE}', recipe='', seed=3, memory=33554432")
    try:
        with bc.Consumer("s", 64, start=start) as consumer:
            assert consumer.recipe["seed"] == 3
            with pytest.raises(bc.RecipeMismatch):
                bc.Consumer("s", 64, start=bc.Start(SOURCE, seed=4, arguments=["--samples", "64"]))
            assert consumer.next().size == 64
        with pytest.raises(bc.StartFailed, match="no such"):
            bc.Consumer("t", start=bc.Start("idx:/no/such/folder"))
        with pytest.raises(bc.StartFailed):
            bc.Consumer("t", start=bc.Start(SOURCE, command="/no/such/command"))
    finally:
        subprocess.run([support.COMMAND, "stop", "s"], capture_output=True)


def test_start_refuses_what_cannot_be():
    assert bc.Start("s:1").memory == 256 << 20 and bc.Start("s:1", memory=123).memory == 123
    assert bc.Start("s:1", memory="1.5g").memory == 3 << 29
    assert bc.Start("s:1", idle_exit=None).idle_exit == -1
    with pytest.raises(bc.InvalidArgument, match="write 256MiB"):
        bc.Start("s:1", memory="much")
    with pytest.raises(TypeError, match="Did you mean `wait_for`"):
        bc.Start("s:1", waitfor=2)
    with pytest.raises(TypeError, match="`source` is missing"):
        bc.Start()
    with pytest.raises(TypeError, match="arguments has to be a str, not int"):
        bc.Start("s:1", arguments=[3])


def test_a_start_can_be_pickled():
    given: dict[str, object] = {
        "recipe": os.fsdecode(b"r\xff.toml"),
        "seed": 3,
        "memory": 5 << 20,
        "epochs": 2,
        "wait_for": 4,
        "idle_exit": None,
        "arguments": ["--samples", "64"],
        "command": "/usr/bin/true",
        "tokenizer": "tok",
        "chat_template": "trl",
        "corpus": "kept",
    }
    start = bc.Start("s:1", **given)
    made, arguments = pickle.loads(pickle.dumps(start)).__reduce__()
    assert (made, arguments) == start.__reduce__()
    given |= {"idle_exit": -1, "arguments": ("--samples", "64")}
    assert list(arguments) == ["s:1", *given.values()]


def test_help_reads_well():
    import pydoc

    pydoc.render_doc(bc, renderer=pydoc.plaintext)  # also where there is no torch
    text = pydoc.render_doc(bc.Consumer, renderer=pydoc.plaintext)
    for word in ("connect_timeout: Seconds", "next(self, timeout: float | None = None)", "cursor"):
        assert word in text
