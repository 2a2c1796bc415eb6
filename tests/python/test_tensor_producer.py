# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""TensorSocket's scripts on both sides: a producer and its trainers, each a process of its own."""

from __future__ import annotations

import functools
import inspect
import itertools
import multiprocessing
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import batchcast._tensor_producer
import support

torch = pytest.importorskip("torch")

EPOCHS = 3
# They import torch together, which takes longer than all else here.
processes = multiprocessing.get_context("fork")


def produce() -> None:
    """In the form of TensorSocket's own example, over a torch DataLoader."""
    from torch.utils.data import DataLoader, TensorDataset

    # It is over so quickly that a trainer that comes second would find it finished.
    batchcast._tensor_producer.TensorProducer = functools.partial(  # type: ignore[misc]
        batchcast._tensor_producer.TensorProducer, wait_for=2
    )
    epochs = EPOCHS
    dataset = TensorDataset(torch.arange(50 * 12).reshape(50, 3, 4).float(), torch.arange(50))
    data_loader = DataLoader(dataset, batch_size=8)
    # [snippet producer]
    from batchcast.tensorsocket import TensorProducer

    producer = TensorProducer(data_loader)
    for _ in range(epochs):
        for _ in producer:
            pass
    producer.join()
    # [snippet end]


def train(batch_size: int, told: Any, stops: Any) -> None:
    from batchcast.tensorsocket import TensorConsumer

    data_loader = TensorConsumer(batch_size=batch_size)
    for epoch in range(EPOCHS):
        labels, sizes = [], []
        for batch_idx, (input, target) in enumerate(data_loader):
            assert bool((input[:, 0, 0] == 12 * target).all()), "torn"
            assert batch_idx == len(sizes)
            labels += target.tolist()
            sizes.append(len(target))
            if stops is not None:
                stops.set()
                time.sleep(60)
        told.put((labels, sizes))


@pytest.fixture
def process(directory: Path) -> Iterator[Callable[..., Any]]:
    """process(function, *arguments): a child beside the test, killed after it."""
    children: list[Any] = []

    def start(function: Callable[..., None], *arguments: Any) -> Any:
        children.append(processes.Process(target=function, args=arguments))
        children[-1].start()
        return children[-1]

    yield start
    for one in children:
        one.kill()
        one.join()


def end_of(process: Any) -> int | None:
    process.join(20)
    return process.exitcode  # type: ignore[no-any-return]


def test_two_trainers_of_their_own_batch_sizes(process: Callable[..., Any]) -> None:
    told = {size: processes.Queue() for size in (16, 7)}
    trainers = [process(train, size, queue, None) for size, queue in told.items()]
    producer = process(produce)
    for size, queue in told.items():
        for _ in range(EPOCHS):
            labels, sizes = queue.get(timeout=20)
            assert labels == list(range(50))
            whole, rest = divmod(50, size)
            assert sizes == [size] * whole + [rest]
    assert [end_of(one) for one in (*trainers, producer)] == [0, 0, 0]


def test_a_trainer_that_is_killed_holds_up_nobody(process: Callable[..., Any]) -> None:
    stops, told = processes.Event(), processes.Queue()
    killed = process(train, 5, told, stops)
    trainer = process(train, 9, told, None)
    producer = process(produce)
    assert stops.wait(20)
    killed.kill()
    for _ in range(EPOCHS):
        assert told.get(timeout=20)[0] == list(range(50))
    assert [end_of(one) for one in (trainer, producer)] == [0, 0]


class Endless:
    """A loader that is its own iterator and gives batches for ever, with a length."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.id = 0

    def __len__(self) -> int:
        return self.batches

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        self.id += 1
        return self.id * torch.ones(4, 2), self.id * torch.ones(4)


@pytest.fixture
def consumer(directory: Path) -> Iterator[Callable[[], bc.Consumer]]:
    """Attached before there is a producer, as a trainer of another process would be."""
    made: list[bc.Consumer] = []

    def attach() -> None:
        made.append(bc.Consumer("tensorsocket-5555", 8))  # a process may have to start meanwhile

    thread = threading.Thread(target=attach)
    thread.start()

    def attached() -> bc.Consumer:
        thread.join()
        return made[0]

    yield attached
    made.clear()


def labels_of(consumer: bc.Consumer) -> list[float]:
    labels: list[float] = []
    for batch in consumer:
        labels += batch["label"].tolist()
    return labels


def served(producer: Any, epochs: int) -> Any:
    for _ in range(epochs):
        assert list(itertools.islice(producer, 10)) == [None] * len(producer)
    return producer


def test_an_endless_loader_has_epochs(consumer: Callable[[], bc.Consumer]) -> None:
    producer = bc.tensorsocket.TensorProducer(Endless(3), "5555", "5556", rubber_band_pct=0.2)
    assert (len(producer), producer.data_loader_len, producer.epoch) == (3, 3, 0)
    served(producer, 2)
    assert (producer.epoch, producer.index, producer.loader_batch_size) == (2, 0, 4)
    trainer = consumer()
    assert labels_of(trainer) == [1.0] * 4 + [2.0] * 4 + [3.0] * 4
    assert labels_of(trainer) == [4.0] * 4 + [5.0] * 4 + [6.0] * 4
    producer.join()
    assert producer.stats["state"] == "finished"
    with pytest.raises(bc.StreamFinished):
        trainer.next()
    with pytest.raises(bc.InvalidArgument, match="it was joined or failed"):
        next(producer)


def test_a_producer_that_is_joined_in_mid_epoch(consumer: Callable[[], bc.Consumer]) -> None:
    producer = bc.tensorsocket.TensorProducer(Endless(3))
    next(producer)
    producer.get_sample()
    trainer = consumer()
    producer.join()
    producer.join()
    with pytest.raises(bc.Stopped, match="in the middle of epoch 0"):
        labels_of(trainer)


def test_a_producer_that_another_thread_closes(directory: Path) -> None:
    for _ in range(5):
        batches = [(torch.zeros(1000, 64),)] * 50
        producer = bc.tensorsocket.TensorProducer(batches, "s", memory="4MiB")
        ended = threading.Event()

        def produce(producer: Any = producer, ended: Any = ended) -> None:
            while not producer._looping.ended.is_set():
                for _ in producer:
                    pass
            ended.set()

        threading.Thread(target=produce, daemon=True).start()
        trainer = bc.Consumer("s", 64, connect_timeout=10)
        for _ in range(20):
            assert trainer.next(10) is not None
        producer._looping.close()
        assert ended.wait(10)
        del trainer


def test_what_a_loader_raises_reaches_the_trainer(consumer: Callable[[], bc.Consumer]) -> None:
    def batches() -> Iterator[Any]:
        yield torch.zeros(8, 2), torch.zeros(8)
        raise KeyError("a file is gone")

    producer = bc.tensorsocket.TensorProducer(batches())
    next(producer)
    trainer = consumer()
    with pytest.raises(KeyError):
        next(producer)
    with pytest.raises(bc.StreamFailed, match="KeyError: 'a file is gone'.*batch 1 of epoch 0"):
        labels_of(trainer)


def test_a_stopped_stream_ends_every_loop(consumer: Callable[[], bc.Consumer]) -> None:
    producer = bc.tensorsocket.TensorProducer(Endless(1000), memory="64KiB")
    next(producer)
    trainer = consumer()
    stop = [support.COMMAND, "stop", "tensorsocket-5555"]
    told = subprocess.run(stop, check=True, capture_output=True, text=True).stdout
    assert f"is stopped; process {os.getpid()} still has its name" in told
    assert list(producer) == list(producer) == []
    with pytest.raises(bc.Stopped):
        labels_of(trainer)
    producer.join()


SCRIPT = """
import sys
import numpy as np
from batchcast.tensorsocket import TensorProducer

producer = TensorProducer([(np.zeros((8, 2)), np.arange(8))])
for _ in producer:
    pass
if len(sys.argv) > 1:
    raise SystemError("something else")
"""


def test_without_join_the_last_samples_arrive(
    child: Callable[..., support.Child], consumer: Callable[[], bc.Consumer]
) -> None:
    script = child(SCRIPT)
    assert labels_of(consumer()) == list(range(8))
    assert script.finish()[0] == 0


IN_A_FUNCTION = """
import numpy as np
from batchcast.tensorsocket import TensorProducer

def main():
    for _ in (producer := TensorProducer([(np.zeros((8, 2)), np.arange(8))])):
        pass

main()
print("left", flush=True)
"""


def test_without_join_a_function_drops_nothing(
    child: Callable[..., support.Child], consumer: Callable[[], bc.Consumer]
) -> None:
    script = child(IN_A_FUNCTION)
    assert script.line() == "left"  # trainers come later
    assert labels_of(consumer()) == list(range(8))
    assert script.finish()[0] == 0


BESIDE_A_THREAD = """
import threading, numpy as np
from batchcast.tensorsocket import TensorProducer

producer = TensorProducer([(np.zeros((8, 100)), np.arange(8))], memory="64KiB")
epochs = threading.Semaphore(0)

def produce():
    while True:
        for _ in producer:
            pass
        epochs.release()

threading.Thread(target=produce, daemon=True).start()
epochs.acquire()
input()
"""


@pytest.mark.parametrize("trainers", [0, 1])
def test_a_daemon_thread_that_serves_is_not_waited_for(
    child: Callable[..., support.Child], trainers: int
) -> None:
    script = child(BESIDE_A_THREAD)
    made = [bc.Consumer("tensorsocket-5555", 8) for _ in range(trainers)]
    script.tell()
    code, _, error = script.finish()
    assert (code, error) == (0, "")
    for trainer in made:
        with pytest.raises(bc.Stopped, match="its producer's process ended"):
            while True:
                trainer.next()


def test_an_exception_ends_the_process(child: Callable[..., support.Child]) -> None:
    code, _, error = child(SCRIPT, "raise").finish()  # which waits for no trainer
    assert code == 1 and error.endswith("SystemError: something else\n")


def test_ctrl_c_ends_a_producer_that_waits(child: Callable[..., support.Child]) -> None:
    script = child(
        "import batchcast as bc, numpy as np\n"
        "batches = [(np.zeros((8, 1000)), np.arange(8))] * 1000\n"
        "producer = bc.tensorsocket.TensorProducer(batches, memory='1MiB')\n"
        "print('serving')\n"
        "for _ in producer: pass\n"
    )
    assert script.line() == "serving"
    support.until(lambda: support.sleeps(script.pid))
    script.interrupt()
    code, _, error = script.finish()
    assert code != 0 and error.endswith("KeyboardInterrupt\n")


def test_one_that_was_not_joined_keeps_its_name(directory: Path) -> None:
    TensorProducer = bc.tensorsocket.TensorProducer
    loader = [[torch.zeros(4, 2)]]
    producer = first = TensorProducer(loader, port="p", wait_for=0)
    list(producer)
    producer = TensorProducer(loader, port="p", wait_for=0)
    with pytest.raises(bc.StreamTaken, match=r"another TensorProducer of this process.*its join\(\)"):
        list(producer)
    with bc.Consumer("p", 4) as consumer:  # the first one's stream is as it was
        assert len(consumer.next()["data"]) == 4
    first.join()
    producer = TensorProducer(loader, port="p", wait_for=0, linger=0)
    list(producer)
    producer.join()
    with bc.serve(torch.zeros(9, 2), stream="q", background=True, memory="64KiB"):
        other = TensorProducer(loader, port="q", wait_for=0)
        with pytest.raises(bc.StreamTaken, match=r"by this process.*`s\.stop\(\)`"):
            list(other)


def test_what_has_no_counterpart_says_why(directory: Path) -> None:
    TensorProducer = bc.tensorsocket.TensorProducer
    with pytest.raises(ImportError, match="no TensorPayload: nothing is pickled"):
        from batchcast.tensorsocket import TensorPayload  # noqa: F401
    with pytest.raises(bc.InvalidArgument, match="pack_fn has no counterpart.*collate_fn"):
        TensorProducer([], pack_fn=lambda data: data)
    with pytest.raises(bc.InvalidArgument, match="recipe: not for a loader"):
        TensorProducer([], recipe="mnist")
    with pytest.raises(bc.InvalidArgument, match="rubber_band_pct is -1"):
        TensorProducer([], rubber_band_pct=-1)
    with pytest.raises(TypeError, match="no argument `zzz`.$"):
        TensorProducer([], zzz=3)
    with pytest.raises(TypeError, match=r"TensorProducer\(\).*`feilds`. Did you mean `fields`"):
        TensorProducer([], feilds=("x",))
    with pytest.raises(bc.InvalidArgument, match="wait_for has to be an int, not str"):
        TensorProducer([], wait_for="2")
    with pytest.raises(bc.InvalidArgument, match="on_stall"):
        TensorProducer([], on_stall="sometimes")
    with pytest.raises(bc.InvalidArgument, match="`field1` cannot be served"):
        next(TensorProducer([(torch.zeros(2), ["a", "b"], torch.zeros(2))]))
    with pytest.raises(bc.InvalidArgument, match="epoch 0 of the list has no sample"):
        next(TensorProducer([]))


def test_names_and_arguments_are_those_of_0_0_5() -> None:
    parameters = inspect.signature(bc.tensorsocket.TensorProducer).parameters
    defaults = {name: one.default for name, one in list(parameters.items())[1:8]}
    assert next(iter(parameters)) == "data_loader"
    assert callable(defaults.pop("pack_fn"))
    assert defaults == {
        "port": 5555,
        "ack_port": 5556,
        "heart_ports": (4444, 4445),
        "rubber_band_pct": 0.005,
        "consumer_max_buffer_size": 10,
        "producer_batch_size": 8,
    }


@pytest.mark.parametrize(
    ("options", "batches"),
    [({}, 16), ({"consumer_max_buffer_size": 20}, 20), ({"rubber_band_pct": 4.5}, 18)],
)
def test_the_ring_holds_what_trainers_may_be_apart(
    directory: Path, options: dict[str, Any], batches: int
) -> None:
    batch = torch.zeros(4, 1 << 20)  # 16 MiB, of which 16 make up the least
    producer = bc.tensorsocket.TensorProducer([batch] * 4, wait_for=0, **options)
    next(producer)
    with bc.Consumer("tensorsocket-5555", 1) as trainer:
        assert 4 * batches - 2 <= trainer.capacity < 4 * batches + 4
    producer.join()


def test_memory_says_how_large_the_ring_is(directory: Path) -> None:
    producer = bc.tensorsocket.TensorProducer([torch.zeros(4, 1 << 10)], wait_for=0, memory="64KiB")
    next(producer)
    with bc.Consumer("tensorsocket-5555", 1) as trainer:
        assert trainer.capacity <= 16
    producer.join()
