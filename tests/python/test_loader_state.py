# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-1.13 torch-2.11
"""A Loader's place in its stream: saved, loaded, refused."""

from __future__ import annotations

import json
import os
import pickle
import random
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

import batchcast as bc
import support

torch = pytest.importorskip("torch")
from batchcast import loader as loaders  # noqa: E402

SHAPE = "synthetic:3x8x8"


def test_it_goes_on_in_mid_epoch(serve: Callable[..., support.Served]) -> None:
    first = serve(SHAPE, samples=50, seed=3)
    with bc.Loader("s", 10, fields="sample_id") as loader:
        whole = [ids.tolist() for _ in range(2) for ids in loader]
    first.stop()

    serve(SHAPE, samples=50, seed=3)
    loader = bc.Loader("s", 10, fields="sample_id")
    next(iter(loader))  # an epoch that is left at once
    batches = iter(loader)
    seen = [next(batches).tolist() for _ in range(3)]
    assert seen == whole[5:8]
    saved = json.loads(json.dumps(loader.state_dict()))
    assert saved["epoch"] == 1
    loader.close()

    later = bc.Loader("s", 10, fields="sample_id")
    later.load_state_dict(saved)
    assert (later.epoch, later.cursor) == (1, 80)
    assert [ids.tolist() for ids in later] == whole[8:10]
    later.close()

    # Another batch size, loaded by one that has not attached yet.
    other = pickle.loads(pickle.dumps(bc.Loader("s", 7, fields="sample_id")))
    other.load_state_dict(saved)
    assert other.state_dict()["cursor"] == 80
    assert other._consumer is None
    assert sum((ids.tolist() for ids in other), []) == sum(whole[8:10], [])


def test_it_goes_back_within_a_loop(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=50)
    loader = bc.Loader("s", 10, fields="sample_id")
    batches = iter(loader)
    next(batches)
    saved = loader.state_dict()
    following = next(batches).tolist()
    loader.load_state_dict(saved)
    with pytest.raises(StopIteration):
        next(batches)
    del batches
    assert next(iter(loader)).tolist() == following
    # At the place where it is already, while a loop is under way: the rest is not let go.
    batches = iter(loader)
    next(batches)
    loader.load_state_dict(loader.state_dict())
    del batches
    assert loader.epoch == 1
    assert len(list(loader)) == 4


class Interrupted(Exception):
    pass


def test_a_batch_that_no_tensors_are_made_of_comes_again(
    serve: Callable[..., support.Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(SHAPE, samples=50)
    loader = bc.Loader("s", 10, fields=("sample_id", "image"))
    wanted = [ids.tolist() for ids, _ in loader]
    loader.load_state_dict({**loader.state_dict(), "cursor": 0})
    made = loaders.from_dlpack

    def fails(capsule: Any) -> Any:
        raise MemoryError

    batches = iter(loader)
    seen = [next(batches)[0].tolist()]
    monkeypatch.setattr(loaders, "from_dlpack", fails)
    for _ in range(2):
        with pytest.raises(MemoryError):
            next(batches)
        assert (loader.cursor, loader.state_dict()["cursor"]) == (10, 10)
    monkeypatch.setattr(loaders, "from_dlpack", made)
    seen += [next(batches)[0].tolist() for _ in range(3)]
    assert (seen, loader.cursor) == (wanted[:4], 40)

    # The last of its epoch, in a loop that ends by that; the next loop goes on with it.
    monkeypatch.setattr(loaders, "from_dlpack", fails)
    with pytest.raises(MemoryError):
        next(batches)
    del batches
    monkeypatch.setattr(loaders, "from_dlpack", made)
    assert (loader.cursor, loader.epoch, loader.has_next_epoch()) == (40, 0, True)
    assert [ids.tolist() for ids, _ in loader] == wanted[4:]
    assert loader.stats.leases_held == 0


@pytest.mark.parametrize("kind", ["Loader", "TensorConsumer"])
def test_ctrl_c_while_a_batch_is_fetched_loses_none(
    serve: Callable[..., support.Served], kind: str
) -> None:
    serve(SHAPE, samples=20_000)
    seed = random.randrange(1 << 32)
    print("seed", seed)
    pauses = random.Random(seed)
    interruptions = 0
    for _ in range(40):  # a busy machine interrupts an epoch's fetches less often
        interruptions += interruptions_of_an_epoch(kind, 2000, pauses)
        if interruptions > 50:
            break
    assert interruptions > 50


def interruptions_of_an_epoch(kind: str, batches_in_all: int, pauses: random.Random) -> int:
    """A new trainer's, none of which loses a batch."""
    batches: Any
    if kind == "Loader":
        loader = bc.Loader("s", 10, fields="sample_id", timeout=20)
        batches, consumer = iter(loader), loader.consumer
    else:
        batches = bc.tensorsocket.TensorConsumer("s", batch_size=10)
        consumer = batches._consumer
    fetching = type(batches).__next__.__code__

    def interrupt(number: int, frame: FrameType | None) -> None:
        if taken >= batches_in_all:
            return
        signal.setitimer(signal.ITIMER_REAL, pauses.uniform(10e-6, 60e-6))
        while frame is not None:
            if frame.f_code is fetching:
                raise Interrupted
            frame = frame.f_back

    begin = consumer.cursor
    taken = interruptions = 0
    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 1e-3)
    try:
        while taken < batches_in_all:
            try:
                for _ in batches:
                    taken += 1
            except Interrupted:
                interruptions += 1
                assert consumer.cursor == begin + 10 * taken
                assert kind == "Loader" or batches.batch_count == taken
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    return interruptions


@pytest.mark.parametrize("tail, samples", [("keep", 26), ("pad", 25)])
def test_a_rank_that_makes_no_tensors_stays_in_step(
    serve: Callable[..., support.Served], monkeypatch: pytest.MonkeyPatch, tail: str, samples: int
) -> None:
    serve(SHAPE, samples=samples)
    made = loaders.from_dlpack
    fails = threading.local()

    def from_dlpack(capsule: Any) -> Any:
        if getattr(fails, "now", False):
            raise MemoryError
        return made(capsule)

    monkeypatch.setattr(loaders, "from_dlpack", from_dlpack)

    def body(rank: int) -> list[int]:
        begins = []
        with bc.Loader("s", 4, fields="image", group=("job", rank, 3), tail=tail) as loader:
            batches = iter(loader)
            for _ in range(len(loader)):
                fails.now = True
                with pytest.raises(MemoryError):
                    next(batches)
                begins.append(loader.state_dict()["cursor"])
                fails.now = False
                next(batches)
            assert next(batches, None) is None
        return begins

    assert in_ranks(3, body) == [[0, 12, 24] if tail == "pad" else [0, 12]] * 3


def test_a_new_one_at_its_place_stays_attached(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=50)
    loader = bc.Loader("s", 10)
    consumer = loader.consumer
    loader.load_state_dict(loader.state_dict())
    assert loader.consumer is consumer


@pytest.mark.parametrize("garbage", [None, 3, [1], "x", {}, {"cursor": "3"}, {"cursor": True}])
def test_what_is_no_state_is_refused(serve: Callable[..., support.Served], garbage: Any) -> None:
    serve(SHAPE, samples=10)
    with bc.Loader("s", 4) as loader:
        with pytest.raises(bc.InvalidArgument, match="no state of a Loader.*state_dict.. gave"):
            loader.load_state_dict(garbage)
        assert len(list(loader)) == 3


@pytest.mark.parametrize("cursor", [-1, "x", 5.5, None, 2**63])
def test_what_is_wrong_with_a_cursor_is_said(
    serve: Callable[..., support.Served], cursor: Any
) -> None:
    serve(SHAPE, samples=10)
    with bc.Loader("s", 4) as loader:
        with pytest.raises(bc.InvalidArgument, match=f"its cursor is {cursor!r}"):
            loader.load_state_dict({"cursor": cursor})


def test_other_samples_are_refused(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, stream="a", samples=50, seed=1)
    serve(SHAPE, stream="b", samples=50, seed=2)
    saved = bc.Loader("a", 10).state_dict()
    loader = bc.Loader("b", 10)
    with pytest.raises(bc.RecipeMismatch, match="stream `a`") as refused:
        loader.load_state_dict(saved)
    assert "They differ in `seed` (1 then, 2 now)." in str(refused.value)
    assert len(list(loader)) == 5  # it is as it was
    unused = pickle.loads(pickle.dumps(loader))
    unused.load_state_dict(saved)
    with pytest.raises(bc.RecipeMismatch, match="stream `a`"):
        iter(unused)
    loader.close()
    for state in ({}, {"cursor": "7"}):
        with pytest.raises(bc.InvalidArgument, match="no state of a Loader"):
            unused.load_state_dict(state)


def test_it_rides_through_its_producers_death(serve: Callable[..., support.Served]) -> None:
    options = dict(samples=40, seed=4, memory="1MiB", ahead=0)
    served = serve(SHAPE, **options)
    loader = bc.Loader("s", 16, fields="sample_id")
    for epoch in range(12):
        seen: list[int] = []
        for number, ids in enumerate(loader):
            assert len(ids) == (16 if number < 2 else 8)
            seen += ids.tolist()
            if epoch % 4 == 1 and number == 0:
                served.kill()
                served = serve(SHAPE, **options)
        assert sorted(seen) == list(range(40))
        assert loader.state_dict()["cursor"] == 40 * (epoch + 1)


def test_it_goes_on_with_the_next_producer(serve: Callable[..., support.Served]) -> None:
    first = serve(SHAPE, samples=40, seed=4, memory="1MiB", ahead=0, wait_for=2)
    options = dict(fields="sample_id", on_producer_gone="error")
    loader = bc.Loader("s", 10, **options)
    other = bc.Loader("s", 10, **options)  # holds the stream up at its first batches
    batches, held = iter(loader), iter(other)
    seen = next(batches).tolist()
    next(held)
    first.kill()
    with pytest.raises(bc.ProducerGone):
        while True:
            for ids in batches:
                seen += ids.tolist()
            batches = iter(loader)
    place = loader.state_dict()
    assert place["cursor"] == len(seen)
    other.close()
    serve(SHAPE, samples=40, seed=4)
    loader.load_state_dict(place)
    # What the first one had published was read to its end, wherever in an epoch that was.
    seen += sum((ids.tolist() for ids in loader), [])
    assert len(seen) % 40 == 0
    for epoch in range(0, len(seen), 40):
        assert sorted(seen[epoch : epoch + 40]) == list(range(40))


def test_a_trainer_that_is_run_again(serve: Callable[..., support.Served], tmp_path: Path) -> None:
    first = serve(SHAPE, stream="imagenet", samples=40, seed=7)
    wanted = support.dump(SHAPE, 0, 80, tmp_path, samples=40, seed=7)["image"]
    path = tmp_path / "checkpoint.pt"
    model = torch.nn.Linear(1, 1)
    epochs = 2
    seen: list[Any] = []

    def run(batches: int) -> None:
        def train(images: Any) -> None:
            if len(seen) == batches:
                raise Interrupted
            seen.append(images.clone())

        # [snippet resume]
        loader = bc.Loader("imagenet", batch_size=10)
        if os.path.exists(path):
            saved = torch.load(path)
            model.load_state_dict(saved["model"])
            try:
                loader.load_state_dict(saved["loader"])
            except bc.StreamFinished:
                sys.exit("the stream's last epoch is trained already: nothing is left")
        for epoch in range(loader.epoch, epochs):
            for images, labels in loader:
                train(images)
                saved = {"model": model.state_dict(), "loader": loader.state_dict()}
                torch.save(saved, path)  # in mid-epoch
        # [snippet end]
        loader.close()

    for batches in (2, 6, 9):
        if batches < 8:
            with pytest.raises(Interrupted):
                run(batches)
        else:
            run(batches)
    assert torch.equal(torch.cat(seen), torch.from_numpy(wanted))
    # Of a stream that ends with these epochs.
    first.kill()
    serve(SHAPE, stream="imagenet", samples=40, seed=7, epochs=epochs)
    with bc.Loader("imagenet", batch_size=10):  # else it may end as run(9) attaches anew
        with pytest.raises(SystemExit, match="nothing is left"):
            run(9)


def in_ranks(world: int, body: Callable[[int], Any]) -> list[Any]:
    """What `body` returns in each rank, a thread of its own."""
    results: list[Any] = [None] * world
    errors: list[BaseException] = []

    def run(rank: int) -> None:
        try:
            results[rank] = body(rank)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(world)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=30)
    if errors:
        raise errors[0]
    return results


@pytest.mark.parametrize(
    "tail, samples, sizes",
    [
        ("keep", 27, [4, 4, 1]),
        ("keep", 26, [4, 4]),
        ("drop", 27, [4, 4]),
        ("pad", 25, [4, 4, 4]),
    ],
)
def test_the_ranks_of_a_group_share_each_batch(
    serve: Callable[..., support.Served], tail: str, samples: int, sizes: list[int]
) -> None:
    serve(SHAPE, samples=samples)

    def body(rank: int) -> tuple[int, list[list[int]]]:
        group = ("job", rank, 3)
        with bc.Loader("s", 4, fields="sample_id", group=group, tail=tail) as loader:
            return len(loader), [ids.tolist() for ids in loader]

    parts = in_ranks(3, body)
    for length, batches in parts:
        assert length == len(sizes)
        assert [len(ids) for ids in batches] == sizes
    seen = sum((ids for _, batches in parts for ids in batches[:2]), [])
    assert len(set(seen)) == len(seen) == 24


def test_a_group_goes_on_in_mid_epoch_with_another_world(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve(SHAPE, samples=24, seed=5)
    order = support.dump(SHAPE, 0, 24, tmp_path, samples=24, seed=5)["sample_id"].tolist()
    together = threading.Barrier(2)

    def begin(rank: int) -> dict[str, Any]:
        with bc.Loader("s", 4, fields="sample_id", group=("job", rank, 2)) as loader:
            batches = iter(loader)
            next(batches)
            together.wait(timeout=10)
            return loader.state_dict()

    states = in_ranks(2, begin)
    assert states[0]["cursor"] == states[1]["cursor"] == 8

    def go_on(rank: int) -> list[int]:
        with bc.Loader("s", 4, fields="sample_id", group=("again", rank, 3)) as loader:
            loader.load_state_dict(states[0])
            return sum((ids.tolist() for ids in loader), [])

    # Of the 16 that are left, one batch of twelve, and one each of the last four.
    assert sorted(sum(in_ranks(3, go_on), [])) == sorted(order[8:23])


def test_an_exception_in_a_rank_lets_go_of_nothing(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=24)

    def body(rank: int) -> list[int]:
        sizes = []
        with bc.Loader("s", 4, fields="sample_id", group=("job", rank, 2)) as loader:
            try:
                for ids in loader:
                    sizes.append(len(ids))
                    if rank == 1:
                        raise KeyError("mine")
            except KeyError:
                sizes += [len(ids) for ids in loader]
        return sizes

    assert in_ranks(2, body) == [[4, 4, 4]] * 2


def test_an_exception_through_a_generator_ends_the_epoch_of_all_ranks(
    serve: Callable[..., support.Served],
) -> None:
    serve(SHAPE, samples=100_000, memory="1MiB")  # its end is not in the ring yet
    left, seen = threading.Event(), threading.Event()

    def body(rank: int) -> tuple[int, int]:
        batches = 0
        with bc.Loader("s", 4, fields="sample_id", group=("job", rank, 2)) as loader:
            try:
                for _ in (ids for ids in loader):  # as tqdm does it
                    batches += 1
                    if rank == 1:
                        raise KeyError("mine")
                    assert left.wait(timeout=10)
            except KeyError:
                left.set()
                assert seen.wait(timeout=10)
            seen.set()
            return batches, loader.epoch

    others, mine = in_ranks(2, body)
    assert mine == (1, 1)
    assert others[0] < 12_500 and others[1] == 1


class Unnamed(list):  # type: ignore[type-arg]
    """Samples without a fingerprint."""


def test_another_producer_of_a_stream_that_is_not_pure_is_warned_of(directory: Path) -> None:
    def serve_it() -> Any:
        samples = Unnamed({"x": torch.tensor(i)} for i in range(12))
        return bc.serve(samples, stream="s", order="sequential", memory="1MiB", background=True)

    said: list[tuple[str, str]] = []

    def loader() -> bc.Loader:
        return bc.Loader("s", 4, fields="x", log=lambda level, text: said.append((level, text)))

    def warnings() -> list[str]:
        return [text for level, text in said if level == "warning"]

    with serve_it():
        with loader() as first:
            for _ in first:
                saved = first.state_dict()
                break
        with loader() as same:
            same.load_state_dict(saved)
            assert same.cursor == saved["cursor"] == 4
    assert warnings() == []
    with serve_it():
        with loader() as attached:
            assert attached.epoch == 0
            attached.load_state_dict(saved)
            assert attached.cursor == 4
            assert len(warnings()) == 1 and "position 4, of another producer" in warnings()[0]
            with loader() as later:  # as long as the other one holds the place
                later.load_state_dict(saved)
                assert later.consumer.cursor == 4
    assert len(warnings()) == 2


@pytest.mark.parametrize("holds", [False, True])
def test_a_loader_that_was_refused_keeps_its_place(
    serve: Callable[..., support.Served], holds: bool
) -> None:
    serve(SHAPE, samples=4000, memory="64KiB", heads=1)
    loader = bc.Loader("s", 10, fields=("sample_id", "image"))
    other = bc.Loader("s", 10, fields="sample_id")  # else the stream would go back
    batches, others = iter(loader), iter(other)
    next(batches), next(others)
    early = loader.state_dict()
    assert loader.consumer.capacity < 200
    for _ in range(30):
        last = next(batches)
        next(others)
    if not holds:
        del last  # else it becomes the trainer's own
    for _ in range(2):
        with pytest.raises(bc.Refused, match="position 10 is no longer in the ring"):
            loader.load_state_dict(early)
        assert loader.state_dict()["cursor"] == 310
    following = next(others).tolist()
    assert next(batches)[0].tolist() == following and loader.cursor == 320


def test_a_loader_gets_an_early_state_from_a_head_while_another_goes_on(
    serve: Callable[..., support.Served],
) -> None:
    serve(SHAPE, samples=4000, memory="64KiB")
    loader = bc.Loader("s", 10, fields="sample_id")
    other = bc.Loader("s", 10, fields="sample_id")
    batches, others = iter(loader), iter(other)
    seen = [(next(batches).tolist(), next(others).tolist()) for _ in range(31)]
    state = {**loader.state_dict(), "cursor": 10}
    loader.load_state_dict(state)
    again = iter(loader)
    for own, theirs in seen[1:]:
        assert own == theirs
        assert next(again).tolist() == own
        next(others)
    assert loader.cursor == 310


def test_a_stream_does_not_end_while_a_state_is_loaded(
    serve: Callable[..., support.Served],
) -> None:
    served = serve(SHAPE, samples=50, epochs=1)
    with bc.Loader("s", 10, fields="sample_id") as loader:
        consumer, name = loader.consumer, loader.consumer.name
        batches = iter(loader)
        wanted = [next(batches).tolist()]
        saved = loader.state_dict()
        wanted += [next(batches).tolist() for _ in range(3)]
        for _ in range(20):
            loader.load_state_dict(saved)
            assert next(batches, None) is None and loader.cursor == 10
            batches = iter(loader)
            assert [next(batches).tolist() for _ in range(3)] == wanted[1:]
        assert loader.consumer is consumer and consumer.name == name
        with pytest.raises(bc.StreamFinished):
            loader.load_state_dict({**saved, "cursor": 50})
        assert len(list(batches)) == 1 and loader.cursor == 50  # and its loop goes on
        assert loader.stats.epochs_mismatched == 0
    assert served.wait() == 0


def test_states_at_random_places_of_a_stream(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve(SHAPE, samples=200, seed=6, memory="64KiB")
    order = support.dump(SHAPE, 0, 1000, tmp_path, samples=200, seed=6)["sample_id"].tolist()
    seed = random.randrange(1 << 32)
    print("seed", seed)
    places = random.Random(seed)
    with bc.Loader("s", 10, fields="sample_id") as loader:
        saved, consumer = loader.state_dict(), loader.consumer
        for _ in range(50):
            cursor = places.randrange(900)  # most of which the ring has lost, or not made
            loader.load_state_dict({**saved, "cursor": cursor})
            assert (loader.cursor, loader.epoch) == (cursor, cursor // 200)
            seen: list[int] = []
            for ids in loader:
                seen += ids.tolist()
                if places.random() < 0.2:
                    break
            del ids
            assert seen == order[cursor : cursor + len(seen)]
        assert loader.consumer is consumer and loader.stats.epochs_mismatched == 0
