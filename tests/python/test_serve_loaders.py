# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""bc.serve of loaders: anything that gives batches, or samples, as long as `for` goes on."""

from __future__ import annotations

import collections
import contextlib
import gc
import multiprocessing
import os
import re
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import batchcast as bc
import made_data
import numpy as np
import pytest
import support
from batchcast import _items


class Batches:
    """A loader whose passes differ."""

    def __init__(self, batches: list[Any]) -> None:
        self.batches = batches
        self.passes = 0
        self.epochs: list[int] = []

    def __iter__(self) -> Iterator[Any]:
        self.passes += 1
        return iter(self.batches)

    def __len__(self) -> int:
        return len(self.batches)

    def set_epoch(self, epoch: int) -> None:
        self.epochs.append(epoch)


def served(source: Any, batch_size: int = 4, **options: Any) -> dict[str, np.ndarray[Any, Any]]:
    """The one epoch that a stream of it has."""
    options = {"epochs": 1, "memory": "1MiB"} | options
    with bc.serve(source, stream="s", background=True, **options) as serving:
        consumer = bc.Consumer("s", batch_size)
        epoch = made_data.epoch_of(consumer)
        del consumer
        assert serving.wait(10), serving
        assert serving.stats["state"] == "finished"
    return epoch


def failure_of(source: Any, **options: Any) -> BaseException:
    """What fails a stream, the same here and for a trainer that waits for more."""
    options = {"epochs": 1, "memory": "1MiB"} | options
    serving = bc.serve(source, stream="s", background=True, **options)
    with pytest.raises(BaseException) as raised:
        serving.wait(10)
    assert serving.error is raised.value
    return raised.value


PAIRS = [(np.full((3, 2), i, np.float32), np.arange(3) + 3 * i) for i in range(3)]
Pair = collections.namedtuple("Pair", ["x", "y"])


@pytest.mark.parametrize(
    ("batches", "options", "names"),
    [
        (PAIRS, {}, ["image", "label"]),
        ([list(pair) for pair in PAIRS], {}, ["image", "label"]),
        (PAIRS, {"fields": ("a", "b")}, ["a", "b"]),
        ([Pair(*pair) for pair in PAIRS], {}, ["x", "y"]),
        ([{"b": x, "a": y} for x, y in PAIRS], {}, ["b", "a"]),
        ([{"b": x, "c": "text", "a": y} for x, y in PAIRS], {"fields": ("b", "a")}, ["b", "a"]),
        ([(*pair, pair[1]) for pair in PAIRS], {}, ["field0", "field1", "field2"]),
    ],
)
def test_batches_become_samples_in_their_order(
    directory: Path, batches: list[Any], options: dict[str, Any], names: list[str]
) -> None:
    epoch = served(Batches(batches), **options)
    assert list(epoch) == names
    np.testing.assert_array_equal(epoch[names[0]], np.concatenate([x for x, _ in PAIRS]))
    np.testing.assert_array_equal(epoch[names[1]], np.arange(9))
    assert epoch[names[0]].dtype == np.float32 and epoch[names[1]].dtype == np.int64


@pytest.mark.parametrize("dtype", "?bBhHiIqQefd")
def test_every_dtype_of_a_stream_arrives(directory: Path, dtype: str) -> None:
    values = np.array([[0, 1], [1, 0], [1, 1]]).astype(dtype)
    strange = [
        values[:, ::-1],
        values.astype(values.dtype.newbyteorder(">")),
        np.asfortranarray(values),
    ]
    epoch = served(Batches(strange), fields=("x",))
    assert epoch["x"].dtype == values.dtype
    np.testing.assert_array_equal(epoch["x"], np.concatenate([values[:, ::-1], values, values]))


def test_lists_of_numbers_are_as_default_collate_has_them(directory: Path) -> None:
    epoch = served(Batches([{"i": [1, 2], "f": [0.5, 1], "b": [True, False]}]))
    assert {name: values.dtype.name for name, values in epoch.items()} == {
        "i": "int64",
        "f": "float64",
        "b": "bool",
    }


def test_a_short_last_batch_and_a_sample_id_of_its_own(directory: Path) -> None:
    ids = [np.array([7, 3, 5]), np.array([1])]
    batches = [{"x": 2 * one, "sample_id": one} for one in ids]
    with bc.serve(Batches(batches), stream="s", epochs=1, memory="1MiB", background=True):
        consumer = bc.Consumer("s", 3)
        sizes = []
        while (batch := consumer.next()) is not None:
            sizes.append(batch.size)
            np.testing.assert_array_equal(batch["x"] // 2, np.asarray(batch.sample_ids))
            del batch
        assert sizes == [3, 1]
        del consumer


def test_each_pass_is_an_epoch_and_set_epoch_is_called(directory: Path) -> None:
    loader = Batches([np.arange(4)])
    loader.dataset = loader  # type: ignore[attr-defined]
    with bc.serve(loader, stream="s", epochs=3, memory="1MiB", background=True) as serving:
        consumer = bc.Consumer("s", 4)
        for _ in range(3):
            assert len(made_data.epoch_of(consumer)["data"]) == 4
        del consumer
        assert serving.wait(10)
    assert loader.epochs == [0, 1, 2] and loader.passes == 3


def test_a_generator_is_gone_through_once(directory: Path) -> None:
    epoch = served((x for x in PAIRS), epochs=None)
    assert len(epoch["label"]) == 9
    with pytest.raises(bc.InvalidArgument, match="a generator can be gone through only once"):
        bc.serve((x for x in PAIRS), stream="s", epochs=2, memory="1MiB", background=True)


@pytest.mark.parametrize("linger", [0, 0.05])
def test_the_time_to_linger_counts_once_its_trainers_are_there(
    directory: Path, linger: float
) -> None:
    serving = bc.serve(
        (x for x in PAIRS), stream="s", wait_for=1, linger=linger, memory="1MiB", background=True
    )
    assert not serving.wait(0.5) and serving.stats["state"] == "starting"
    with bc.Consumer("s", 4) as consumer:
        assert len(made_data.epoch_of(consumer)["label"]) == 9
        assert not consumer.has_next_epoch()
    assert serving.wait(10) and serving.error is None


@pytest.mark.parametrize("options", [{"linger": 0.05}, {"linger": 0}, {"idle_exit": 0.05}])
def test_a_stream_that_nobody_comes_to_ends(directory: Path, options: dict[str, Any]) -> None:
    wait_for = 1 if "idle_exit" in options else 0
    serving = bc.serve(
        iter(PAIRS), stream="s", wait_for=wait_for, memory="1MiB", background=True, **options
    )
    assert serving.wait(10) and serving.error is None


@pytest.mark.parametrize("reads", ["before", "after"])
def test_without_a_time_to_linger_a_stream_that_was_read_is_finished(
    directory: Path, reads: str
) -> None:
    may_end = threading.Event()

    def loader() -> Iterator[Any]:
        yield np.zeros(4)
        may_end.wait(10)

    serving = bc.serve(
        loader(), stream="s", wait_for=1, linger=0, memory="1MiB", background=True
    )
    with bc.Consumer("s", 4) as consumer:
        if reads == "after":
            may_end.set()
        assert consumer.next() is not None
        may_end.set()
        assert consumer.next() is None
        with pytest.raises(bc.StreamFinished):
            consumer.next()
    assert serving.wait(10) and serving.stats["published"] == 4


def test_batched_says_what_items_are(directory: Path) -> None:
    epoch = served(iter([(np.zeros(2), 1), (np.ones(2), 2)]), epochs=None, batched=False)
    assert epoch["image"].shape == (2, 2) and epoch["label"].tolist() == [1, 2]
    epoch = served(list(PAIRS), batched=True)  # a list would be a dataset
    assert epoch["label"].tolist() == list(range(9))


@pytest.mark.parametrize(
    ("batches", "text"),
    [
        ([(np.zeros((2, 3)), [1, 2]), (np.zeros((2, 4)), [1, 2])],
         r"batch 1 of epoch 0 of the Batches: it has `image f64 \[4\]`, and the first one had `image f64 \[3\]`"),
        ([{"a": np.zeros(2)}, {"a": np.zeros(2), "b": np.zeros(2)}], r"batch 1 .* also has `b f64 \[\]`"),
        ([{"a": np.zeros(2), "b": np.zeros(2)}, {"a": np.zeros(2)}], r"batch 1 .* lacks `b f64 \[\]`"),
        ([np.zeros(2), np.zeros(2, np.int32)], r"`data i32 \[\]`, and the first one had `data f64"),
        ([{"a": [[1, 2], [3]]}], "batch 0 of epoch 0 .* field `a` cannot be served: it is no array"),
        ([{"a": np.array([1, "x"], object)}], "field `a` cannot be served: it is objects"),
        ([{"a": ["x", "y"]}], "field `a` cannot be served: it is text"),
        ([{"a": np.zeros(2, complex)}], "field `a` cannot be served: it is complex"),
        ([{"a": None}], "field `a` cannot be served: it is None"),
        ([{"a": np.ma.masked_array(np.zeros(2), [True, False])}],
         r"field `a` cannot be served: it is a masked array, .* Give filled\(\) of it, or the mask"),
        ([{"a\0\x1b": np.zeros(2)}], r"field `a\\x00\\x1b` has a blank or unprintable character"),
        ([{"x" * 5000: np.zeros(2)}], r"field `x{63}…` has a name of more than"),
        ([{"a\ud800": np.zeros(2)}], r"the name of its field 'a\\ud800' has a lone surrogate"),
        ([{"a": object()}], "field `a` cannot be served: it is an object: give"),
        ([{"a": 1}], "the first dimension counts the samples"),
        ([(np.zeros(2), np.zeros(3))], "2 samples of field `image` and 3 of `label`"),
        ([{}], "it has no field"),
        ([], "epoch 0 of the Batches has no sample. There is nothing to serve"),
        ([np.zeros((0, 3))], "epoch 0 of the Batches has no sample"),
        ([{"a": np.zeros(2), "sample_id": np.zeros(2)}], "field `sample_id` cannot be served"),
        ([{"a": np.zeros((2, 0))}], "a"),
    ],
)  # fmt: skip
def test_what_cannot_be_served_is_named(directory: Path, batches: list[Any], text: str) -> None:
    error = failure_of(Batches(batches))
    assert isinstance(error, bc.InvalidArgument)
    with pytest.raises(bc.InvalidArgument, match=text):
        raise error


def test_what_a_loader_raises_fails_the_stream_for_all(directory: Path) -> None:
    attached = threading.Event()

    def loader() -> Iterator[Any]:
        yield np.zeros(4)
        attached.wait()
        raise KeyError("gone")

    serving = bc.serve(loader(), stream="s", memory="1MiB", background=True)
    consumer = bc.Consumer("s", 4)
    assert consumer.next() is not None
    attached.set()
    with pytest.raises(
        bc.Error,
        match=r"KeyError: 'gone' .*test_serve_loaders.py:\d+ in loader.*batch 1 of epoch 0 of the generator",
    ):
        consumer.next()
    with pytest.raises(KeyError, match="gone"):
        serving.wait(10)
    with pytest.raises(KeyError, match="gone"):
        bc.serve(loader(), stream="t", memory="1MiB")


def test_what_ends_a_loaders_thread_is_there_before_its_end(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    goes_on = threading.Event()

    def loader() -> Iterator[Any]:
        yield np.zeros(4)
        goes_on.wait()
        raise SystemExit(3)

    serving: Any = bc.serve(loader(), stream="s", memory="1MiB", background=True)
    at_end = []
    ended = serving._looping.ended
    set_ended = ended.set
    monkeypatch.setattr(ended, "set", lambda: (at_end.append(serving.error), set_ended()))
    goes_on.set()
    with pytest.raises(SystemExit):
        serving.wait(10)
    assert at_end == [serving.error]


def test_the_text_of_an_exception_is_cut(directory: Path, capfd: Any) -> None:
    raises = threading.Event()

    def loader() -> Iterator[Any]:
        yield np.zeros(4)
        raises.wait(10)
        raise ValueError("begin" + 50_000_000 * "x")

    serving = bc.serve(loader(), stream="s", memory="1MiB", background=True)
    with bc.Consumer("s", 4) as consumer:
        assert consumer.next() is not None
        raises.set()
        with pytest.raises(bc.StreamFailed, match="ValueError: beginx+… .cut: it has 50,000,005"):
            consumer.next()
    with pytest.raises(ValueError) as raised:
        serving.wait(10)
    assert len(str(raised.value)) == 50_000_005  # here it is the loader's own
    for thread in threading.enumerate():  # it tells stderr
        if thread.name == "bc-serve s":
            thread.join(30)
    told = capfd.readouterr().err
    assert "(cut: it has 50,000,005 letters) (at " in told and len(told) < 10_000


def test_an_exception_without_utf_8_reaches_the_trainer(directory: Path) -> None:
    raises = threading.Event()

    def loader() -> Any:
        yield {"x": np.arange(4)}
        raises.wait(10)
        raise ValueError("in " + os.fsdecode(b"\xff.jpg"))

    serving = bc.serve(loader(), stream="s", memory="1MiB", background=True)
    consumer = bc.Consumer("s", 4)
    assert consumer.next() is not None
    raises.set()
    with pytest.raises(bc.StreamFailed, match=r"ValueError: in \\udcff.jpg"):
        consumer.next()
    with pytest.raises(ValueError, match="in"):
        serving.wait(10)


def test_options_that_are_not_for_loaders_are_refused(directory: Path) -> None:
    with pytest.raises(bc.InvalidArgument, match="recipe, seed: not for a loader"):
        bc.serve(iter(PAIRS), stream="s", recipe="mnist", seed=3, memory="1MiB", background=True)
    for source, text in (
        (3, "batchcast: an int cannot be served"),
        (None, "batchcast: None cannot be served"),
        ({"a": 1}, "a mapping is no dataset"),
        (Batches, "Batches is a class"),
        ([], "empty"),
    ):
        with pytest.raises(bc.InvalidArgument, match=text):
            bc.serve(source, stream="s", memory="1MiB", background=True)
    with pytest.raises(bc.InvalidArgument, match="fields has to be a sequence"):
        bc.serve(iter(PAIRS), stream="s", fields="image", memory="1MiB", background=True)


def test_a_loader_that_hangs_does_not_hold_stop_up(directory: Path) -> None:
    inside, goes_on = threading.Event(), threading.Event()

    def loader() -> Iterator[Any]:
        yield np.zeros(4)
        inside.set()
        goes_on.wait()
        yield np.zeros(4)

    serving = bc.serve(loader(), stream="s", wait_for=1, memory="1MiB", background=True)
    consumer = bc.Consumer("s", 4)
    assert consumer.next() is not None
    assert inside.wait(10)  # a trainer may have a batch before its loader is asked for the next
    watch = support.Stopwatch()
    with pytest.warns(
        RuntimeWarning, match="did not wait for its loader, which is at batch 1 of epoch 0"
    ):
        serving.stop("enough")
    assert watch.seconds() < 1
    with pytest.raises(bc.Error, match="enough"):
        consumer.next()
    del consumer
    assert len(served(iter(PAIRS), epochs=None)["label"]) == 9  # its name is free
    goes_on.set()
    assert serving.wait(10)


def test_a_loader_that_fails_once_its_stream_is_stopped_fails_nothing(
    directory: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    inside, has_handle = threading.Event(), threading.Event()

    def loader() -> Iterator[Any]:
        yield np.zeros(4)
        inside.set()
        has_handle.wait(10)  # its thread may be here before `serve` returns
        support.until(lambda: serving.stats["state"] == "stopped")
        raise ValueError("its file is closed")

    with bc.serve(loader(), stream="s", memory="1MiB", background=True) as serving:
        has_handle.set()
        assert inside.wait(10)
    assert serving.wait(10) and serving.error is None
    assert "closed" not in capfd.readouterr().err


def test_a_stopped_loader_is_asked_for_no_more(directory: Path) -> None:
    asked = []

    def loader() -> Iterator[Any]:
        while True:
            asked.append(1)
            yield np.zeros(1000)

    serving = bc.serve(loader(), stream="s", memory="64KiB", background=True)
    support.until(lambda: serving.stats["published"] > 0)
    serving.stop()
    assert serving.wait(10)  # `stop` may be the sooner, where the machine is busy
    count = len(asked)
    assert not serving.running and serving.error is None and count == len(asked)


BLOCKING = """
import sys, time, itertools, numpy as np, batchcast as bc
def loader():
    yield np.zeros(4)
    if sys.argv[1] == "loader":
        time.sleep(60)
    while True:
        yield np.zeros(4)
try:
    bc.serve(loader(), stream="s", memory="64KiB")
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
    raise
"""


@pytest.mark.parametrize("where", ["loader", "ring"])
def test_ctrl_c_stops_a_blocking_serve(child: Callable[..., support.Child], where: str) -> None:
    process = child(BLOCKING, where)
    consumer = bc.Consumer("s", 4)
    assert consumer.next() is not None
    support.until(lambda: support.sleeps(process.pid))
    watch = support.Stopwatch(process.pid)
    process.interrupt()
    assert watch.seconds(float(process.line())) < 0.2
    code, _, err = process.finish()
    assert code != 0 and "KeyboardInterrupt" in err and "It is not pure" in err
    with pytest.raises(bc.Error, match="its producer was interrupted"):
        while True:
            consumer.next()


@pytest.mark.parametrize("where", ["loader", "ring"])
def test_the_interpreters_end_stops_a_loader_in_the_background(
    child: Callable[..., support.Child], where: str
) -> None:
    code = BLOCKING.partition("try:")[0]
    process = child(
        f"{code}h = bc.serve(loader(), stream='s', memory='64KiB', background=True)\ninput()", where
    )
    consumer = bc.Consumer("s", 4)
    assert consumer.next() is not None
    process.tell()
    code_, _, err = process.finish()
    assert code_ == 0, err
    with pytest.raises(bc.Error, match="its producer's process ended"):
        while True:
            consumer.next()


def test_a_dropped_handle_stops_its_loader(directory: Path) -> None:
    serving = bc.serve(Batches(PAIRS), stream="s", memory="1MiB", background=True)
    consumer = bc.Consumer("s", 3)
    del serving
    gc.collect()
    with pytest.raises(bc.Error, match="its producer was dropped"):
        while True:
            consumer.next()


def _resident() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def test_many_epochs_do_not_grow(directory: Path) -> None:
    batches = [np.zeros((64, 256), np.float32) for _ in range(8)]
    with bc.serve(Batches(batches), stream="s", memory="1MiB", background=True):
        consumer = bc.Consumer("s", 64)
        begin = 0
        for epoch in range(200):
            while consumer.next() is not None:
                pass
            if epoch == 20:
                begin = _resident()
        assert _resident() - begin < 8 << 20
        del consumer


def test_what_a_worker_of_torchs_raised_is_told_once(directory: Path) -> None:
    data = pytest.importorskip("torch.utils.data")

    class Broken(data.Dataset):
        def __len__(self) -> int:
            return 4

        def __getitem__(self, index: int) -> Any:
            try:
                raise KeyError(index)
            except KeyError:
                raise OSError("no disk\nhere")

    with pytest.raises(OSError, match="in DataLoader worker process 0") as raised:
        bc.serve(data.DataLoader(Broken(), num_workers=1), stream="s", memory="64KiB", wait_for=0)
    told = _items.reason(raised.value)
    pattern = r"OSError: no disk\nhere \(at .*test_serve_loaders.py:\d+ in __getitem__, called at "
    assert re.match(pattern + r".*fetch.py:\d+ in .*, in DataLoader worker process 0\)$", told), told
    assert told.count("in fetch") == 1 and "Traceback" not in told and "KeyError" not in told


def test_torch_loaders_are_served_as_they_are(directory: Path) -> None:
    torch = pytest.importorskip("torch")
    from torch.utils.data import DataLoader, DistributedSampler, IterableDataset, TensorDataset

    images = torch.arange(40, dtype=torch.float32).reshape(10, 4).requires_grad_()
    dataset = TensorDataset(images.detach(), torch.arange(10))
    epoch = served(DataLoader(dataset, batch_size=3, num_workers=1))
    assert epoch["label"].tolist() == list(range(10))
    np.testing.assert_array_equal(epoch["image"], images.detach().numpy())

    sampler = DistributedSampler(dataset, 1, 0, seed=3)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler)
    with bc.serve(loader, stream="s", epochs=2, memory="1MiB", background=True):
        consumer = bc.Consumer("s", 5)
        served_order = [made_data.epoch_of(consumer)["label"].tolist() for _ in range(2)]
        del consumer
    expected = []
    for one in range(2):
        sampler.set_epoch(one)
        expected.append([int(i) for i in sampler])
    assert served_order == expected and expected[0] != expected[1]

    class Samples(IterableDataset):  # type: ignore[misc, type-arg]
        def __iter__(self) -> Iterator[Any]:
            yield from ((torch.full((2,), float(i)), i) for i in range(5))

    assert served(Samples())["label"].tolist() == list(range(5))


def test_torch_tensors_of_every_kind(directory: Path) -> None:
    torch = pytest.importorskip("torch")
    plain = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    batch = {
        "grad": plain.clone().requires_grad_(),
        "transposed": plain.t().contiguous().t(),
        "bool": plain > 3,
        "half": plain.half(),
        "list": [plain[0], plain[1], plain[2]],
    }
    epoch = served(Batches([batch]), batch_size=3)
    for name in ("grad", "transposed", "list", "half"):
        np.testing.assert_array_equal(epoch[name], plain.numpy())
    np.testing.assert_array_equal(epoch["bool"], plain.numpy() > 3)
    with bc.serve(
        Batches([plain.bfloat16()]), stream="s", epochs=1, memory="1MiB", background=True
    ):
        with bc.Consumer("s", 3) as consumer:
            batch = consumer.next()
            assert batch is not None and torch.equal(
                torch.from_dlpack(batch.field("data")), plain.bfloat16()
            )
            del batch
    for tensor, text in (
        (plain.to_sparse(), "a sparse tensor"),
        (torch.zeros(3, device="meta"), "meta device"),
        (torch.zeros(3, dtype=torch.complex64), "complex"),
    ):
        assert text in str(failure_of(Batches([tensor])))


WITH_WORKERS = """
import multiprocessing, os, time, numpy as np, batchcast as bc
from torch.utils.data import DataLoader
class Squares:
    def set_epoch(self, epoch):
        self.epoch = epoch
    def __len__(self):
        return 64
    def __getitem__(self, i):
        if self.epoch == 1 and i >= 8:  # of the third batch on, which both workers have at once
            os.write(1, b"hangs\\n")
            time.sleep(60)
        return i * i
loader = DataLoader(Squares(), batch_size=4, num_workers=2)
handle = bc.serve(loader, stream="s", memory="64KiB", background=True)
os.read(0, 1)  # input() has a lock, which the workers would inherit
pids = " ".join(str(one.pid) for one in multiprocessing.active_children())
os.write(1, f"{pids}\\n".encode())  # in one piece: the workers write there too
os.read(0, 1)
"""


def test_workers_that_outlive_their_producer_do_not_keep_its_name(
    child: Callable[..., support.Child],
) -> None:
    pytest.importorskip("torch")
    process = child(WITH_WORKERS)
    with bc.Consumer("s", 4) as consumer:
        made_data.epoch_of(consumer)  # the workers of the next one are forked beside the stream
        batch = consumer.next()
        assert batch is not None
        del batch
        process.tell()
        lines = [process.line() for _ in range(3)]
    workers = [int(pid) for line in lines if line != "hangs" for pid in line.split()]
    assert len(workers) == lines.count("hangs") == 2
    process.kill()
    try:
        epoch = served(iter(PAIRS), epochs=None)
        support.until(lambda: all(support.sleeps(pid) for pid in workers))  # they are still there
    finally:
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    assert len(epoch["label"]) == 9


AT_EXIT = """
import torch, numpy as np, batchcast as bc
def loader():
    while True:
        yield np.zeros(4)
handle = bc.serve(loader(), stream="s", memory="64KiB", background=True)
"""


def test_a_handle_may_be_there_after_its_module(directory: Path) -> None:
    pytest.importorskip("torch")  # with it, modules are taken down in another order
    done = support.python(AT_EXIT)
    assert done.returncode == 0 and "Exception ignored" not in done.stderr, done.stderr


class Broken:
    """A dataset that fails, or a loader, which gives what `broken` does. Not before `may`."""

    def __init__(self, may: threading.Event | None = None) -> None:
        self.may = may

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> Any:
        if index >= 16:
            if self.may is not None:
                self.may.wait(10)
            raise ValueError("broken\nhere")
        return np.zeros(4)


def broken(batches: int = 0, may: threading.Event | None = None) -> Iterator[Any]:
    for _ in range(batches):
        yield np.zeros(4)
    if may is not None:
        may.wait(10)
    raise ValueError("broken\nhere")


@pytest.mark.parametrize("source", [broken, lambda: broken(3), Broken])
def test_a_failure_in_the_background_is_told(
    directory: Path, capfd: pytest.CaptureFixture[str], source: Callable[[], Any]
) -> None:
    with pytest.raises((ValueError, bc.BadSample), match="broken"):  # noqa: SIM117
        with bc.serve(source(), stream="s", memory="1MiB", background=True) as serving:
            support.until(lambda: not serving.running)
            error = serving.error
            assert error is not None
    # A thread of the stream tells. What it wrote while capfd is read would be lost.
    for thread in threading.enumerate():
        if thread.name in ("bc-serve s", "bc-watch s"):
            thread.join(30)
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and err.startswith("batchcast: stream `s` failed: "), err
    assert "ValueError: broken" in err and "here (at " in err


def test_a_failure_that_was_raised_is_not_raised_again(directory: Path) -> None:
    with bc.serve(broken(), stream="s", memory="1MiB", background=True) as serving:
        with pytest.raises(ValueError, match="broken"):
            serving.wait(10)
    with pytest.raises(KeyError, match="own"):  # noqa: SIM117
        with bc.serve(broken(), stream="s", memory="1MiB", background=True) as serving:
            support.until(lambda: not serving.running)
            raise KeyError("own")


def test_a_stream_that_failed_does_not_run(directory: Path) -> None:
    for source in (Broken, lambda may: broken(3, may)):
        attached = threading.Event()
        serving = bc.serve(
            source(attached), stream="s", memory="1MiB", wait_for=1, background=True,
        )  # fmt: skip
        with pytest.raises(bc.StreamFailed), bc.Consumer("s", 4) as consumer:
            attached.set()
            while True:
                consumer.next()
        assert not serving.running and serving.error is not None
        serving.stop()


@pytest.mark.parametrize("ends_by", ["failure", "stop"])
def test_workers_of_a_loader_end_with_the_stream(directory: Path, ends_by: str) -> None:
    data = pytest.importorskip("torch.utils.data")
    gc.collect()
    gc.disable()  # it would end them too, in any thread
    try:
        source = Broken() if ends_by == "failure" else range(1 << 20)
        loader = data.DataLoader(source, batch_size=4, num_workers=2)
        serving = bc.serve(loader, stream="s", memory="64KiB", background=True)
        if ends_by == "stop":
            support.until(lambda: serving.stats["published"] > 0)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch's workers may take longer than `stop` waits
                serving.stop()
            assert serving.wait(10)
        else:
            with pytest.raises(ValueError, match="broken"):
                serving.wait(10)
        support.until(lambda: not multiprocessing.active_children())
        assert serving.error is None or not _iterators_in(serving.error)
    finally:
        gc.enable()


def _iterators_in(error: BaseException) -> list[Any]:
    """What its frames hold of a DataLoader."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    held = [value for frame in frames for value in frame.f_locals.values()]
    return [value for value in held if hasattr(value, "_shutdown_workers")]
