# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-1.13 torch-2.11
"""Several loops over one Loader: which of them goes on, and what the others are told. A look at
what comes next."""

from __future__ import annotations

import itertools
import pickle
import random
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import batchcast as bc
import support

torch = pytest.importorskip("torch")
from batchcast import loader as loaders  # noqa: E402
from torch.utils.data import DataLoader  # noqa: E402

SHAPE = "synthetic:3x8x8"


def ids_loader(**options: Any) -> bc.Loader:
    return bc.Loader("s", options.pop("batch_size", 4), fields="sample_id", **options)


def refuses(batches: Iterator[Any]) -> None:
    """Asked for a batch, it says why there is none, and what else to do."""
    for _ in range(2):  # and stays so
        with pytest.raises(bc.InvalidArgument, match=r"`s` was replaced.*loader\.peek\(\)"):
            next(batches)


def place_of(loader: bc.Loader) -> Any:
    """All that a look has to leave as it is, but for how long was waited."""
    return loader.cursor, loader.epoch, loader.state_dict(), loader.stats


# -- a loop that another one replaced --------------------------------------------------------------


def test_a_look_with_iter_in_a_loop_is_no_silent_end(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=40)
    loader = ids_loader()
    seen = 0
    with pytest.raises(bc.InvalidArgument, match=r"loader\.peek\(\)"):
        for ids in loader:
            seen += len(ids)
            if seen == 12:
                next(iter(loader))
    assert seen == 12
    assert sorted(torch.cat(list(loader)).tolist()) == list(range(40))


def test_zip_with_itself_is_no_silent_end(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=40)
    loader = ids_loader()
    with pytest.raises(bc.InvalidArgument, match=r"loader\.peek\(\)"):
        list(zip(loader, loader))
    first, second = iter(loader), iter(loader)
    refuses(first)
    assert len(list(second)) == 10  # which is as if it were alone
    assert [len(pair) for pair in zip(loader, itertools.count())] == [2] * 10
    with ids_loader() as other:
        assert len(list(zip(loader, other))) == 10


def test_enumerate_islice_and_cycle_are_one_loop(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=40)
    loader = ids_loader()
    assert [i for i, _ in enumerate(loader)] == list(range(10))
    assert len(list(itertools.islice(loader, 3))) == 3
    epoch = loader.epoch
    assert len(list(itertools.islice(loader, len(loader)))) == 10
    assert loader.epoch == epoch + 1
    again = [ids.tolist() for ids in itertools.islice(itertools.cycle(loader), 25)]
    assert again == (again[:10] * 3)[:25]  # cycle keeps what the one loop gave
    # The part of one loop that is taken later on.
    batches = iter(loader)
    parts = [list(itertools.islice(batches, 4)) for _ in range(3)]
    assert [len(part) for part in parts] == [4, 4, 2]
    numbers = enumerate(loader)
    next(numbers)
    next(iter(loader))
    refuses(numbers)


def test_what_has_come_to_its_end_stops(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=40)
    loader = ids_loader()
    told = iter(loader)
    list(told)
    untold = iter(loader)
    assert len(list(itertools.islice(untold, 10))) == 10  # all, but it has not been told the end
    third = iter(loader)
    for over in (told, untold):
        with pytest.raises(StopIteration):
            next(over)
    assert len(list(third)) == 10
    loader.close()
    for options, batches in (({"drop_last": True}, 2), ({"tail": "pad"}, 3), ({}, 3)):
        with ids_loader(batch_size=16, **options) as loader:
            first = iter(loader)
            assert len(list(itertools.islice(first, batches))) == batches
            next(iter(loader))
            with pytest.raises(StopIteration):
                next(first)
            first = iter(loader)
            list(itertools.islice(first, batches - 1))
            next(iter(loader))
            refuses(first)


def test_close_leave_epoch_and_load_state_dict_stop_a_loop(
    serve: Callable[..., support.Served],
) -> None:
    serve(SHAPE, samples=40)

    def stops(end: Callable[[bc.Loader], Any], replaced: bool) -> None:
        with ids_loader() as loader:
            saved = loader.state_dict()
            batches = iter(loader)
            next(batches)
            end(loader) if end is not bc.Loader.load_state_dict else loader.load_state_dict(saved)
            if replaced:
                next(iter(loader))
            with pytest.raises(StopIteration):
                next(batches)

    stops(bc.Loader.close, False)
    for end in (lambda loader: loader.consumer.leave_epoch(), bc.Loader.load_state_dict):
        for replaced in (False, True):
            stops(end, replaced)


def test_a_loop_that_failed_stops(
    serve: Callable[..., support.Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(SHAPE, samples=40, epochs=1, wait_for=1)
    loader = bc.Loader("s", 4, fields="image")
    with monkeypatch.context() as patched:

        def fails(capsule: Any) -> Any:
            raise MemoryError

        batches = iter(loader)
        next(batches)
        patched.setattr(loaders, "from_dlpack", fails)
        with pytest.raises(MemoryError):
            next(batches)
    assert len(list(batches)) == 9  # the same loop goes on
    after = iter(loader)
    with pytest.raises(bc.StreamFinished):
        next(after)
    iter(loader)
    with pytest.raises(StopIteration):
        next(after)


def test_closed_generators_disturb_nobody(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=40)
    loader = ids_loader()

    def batches() -> Iterator[Any]:
        yield from loader

    left = batches()
    next(left)
    left.close()
    assert len(list(batches())) == 10
    first, second = batches(), batches()
    next(first)
    next(second)
    with pytest.raises(bc.InvalidArgument, match=r"loader\.peek\(\)"):
        next(first)
    assert len(list(second)) == 9
    first = batches()
    next(first)
    next(batches())
    first.close()  # asks for nothing


def test_a_new_loop_after_an_exception_whose_frames_live(
    serve: Callable[..., support.Served],
) -> None:
    serve(SHAPE, samples=40)
    loader = ids_loader()
    try:
        for _ in loader:
            raise KeyError("mine")
    except KeyError as error:
        kept = error  # with the frame, and so the loop's iterator
    assert len(list(loader)) == 10
    assert traceback.format_exception(KeyError, kept, kept.__traceback__)
    try:
        for _ in (ids for ids in loader):
            raise KeyError("mine")
    except KeyError as error:
        kept = error
        assert len(list(loader)) == 10
    assert sorted(torch.cat(list(loader)).tolist()) == list(range(40))
    del kept


def test_tqdm_is_one_loop(serve: Callable[..., support.Served]) -> None:
    tqdm = pytest.importorskip("tqdm").tqdm
    serve(SHAPE, samples=40)
    loader = ids_loader()
    for _ in range(2):
        bar = tqdm(loader, disable=None, file=sys.stderr)
        assert (bar.total, len(list(bar))) == (10, 10)
    with pytest.raises(bc.InvalidArgument, match=r"loader\.peek\(\)"):
        for _ in tqdm(loader, file=sys.stderr):
            next(iter(loader))


@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_dataloader_around_it(serve: Callable[..., support.Served], batch_size: Any) -> None:
    serve(SHAPE, samples=40)
    loader = ids_loader()
    wrapped = DataLoader(loader, batch_size=batch_size)
    for _ in range(2):
        assert sorted(torch.cat([ids.flatten() for ids in wrapped]).tolist()) == list(range(40))
    first = iter(wrapped)
    next(first)
    assert len(next(iter(loader)).flatten()) == 4
    with pytest.raises(bc.InvalidArgument, match=r"loader\.peek\(\)"):
        next(first)
    with pytest.raises(bc.InvalidArgument, match=r"loader\.peek\(\)"):
        for _ in wrapped:
            next(iter(wrapped))


@pytest.mark.parametrize("options", [{}, {"batch_size": 2}, {"batch_size": None}])
def test_a_dataloader_that_makes_batches_of_batches_is_warned_of_once(
    serve: Callable[..., support.Served], options: dict[str, Any]
) -> None:
    serve(SHAPE, samples=40)
    wrapped = DataLoader(ids_loader(), **options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shapes = [tuple(next(iter(wrapped)).shape) for _ in range(2)]
    said = [one for one in caught if "makes batches of the batches" in str(one.message)]
    if options.get("batch_size", 1) is None:
        assert shapes == [(4,)] * 2 and not said
        return
    assert shapes == [(options.get("batch_size", 1), 4)] * 2
    (one,) = said
    assert one.filename == __file__ and one.category is RuntimeWarning
    assert "batch_size=None" in str(one.message) and "No DataLoader is needed" in str(one.message)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in ids_loader():  # as itself, it is none
            break


def test_iter_never_raises_it(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=40)
    loader = ids_loader()
    loops = [iter(loader) for _ in range(5)]
    for loop in loops[:-1]:
        refuses(loop)
    for loop in loops[:-1]:
        assert iter(loop) is loop
    assert len(list(loops[-1])) == 10
    assert pickle.loads(pickle.dumps(loader)).batch_size == 4


# -- a look ----------------------------------------------------------------------------------------


def test_peek_is_the_next_batch_and_changes_nothing(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=42)
    loader = bc.Loader("s", 4, fields=("sample_id", "image"))
    before = loader.state_dict()
    looks = [loader.peek()]
    assert (loader.cursor, loader.epoch, loader.stats.batches) == (0, 0, 0)
    assert loader.state_dict() == before
    batches = iter(loader)
    for i in range(11):
        place = place_of(loader)
        looks.append(loader.peek())
        assert place_of(loader) == place
        assert loader.stats.leases_held == min(i, 1)
        batch = next(batches)
        for look in (looks[-1], looks[0])[: 2 if i == 0 else 1]:
            assert type(look) is type(batch)
            assert all(torch.equal(mine, theirs) for mine, theirs in zip(look, batch))
    # All batches are there, and the loop has not been told.
    place = place_of(loader)
    first = loader.peek()
    assert place_of(loader) == place
    with pytest.raises(StopIteration):
        next(batches)
    assert (loader.epoch, loader.stats.epochs_matched) == (1, 1)  # nothing was counted twice
    assert torch.equal(loader.peek()[0], first[0])
    for ids, _ in loader:
        assert torch.equal(ids, first[0])
        break


def test_a_write_into_a_look_is_nobodys(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=40)
    for fields in ("image", ("image", "label"), dict):
        with bc.Loader("s", 4, fields=fields) as loader:
            look = loader.peek()
            parts = look.values() if isinstance(look, dict) else look
            for tensor in [look] if fields == "image" else parts:
                tensor.zero_()
            again, batch = loader.peek(), next(iter(loader))
            image = {"image": lambda b: b, dict: lambda b: b["image"]}.get(fields, lambda b: b[0])
            assert image(batch).any() and torch.equal(image(again), image(batch))
            assert loader.stats.leases_held == 0  # nor the batch of the loop that was left


def test_a_look_at_a_batch_that_could_not_be_made(
    serve: Callable[..., support.Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(SHAPE, samples=40)
    loader = bc.Loader("s", 4, fields="image", access="private")
    batches = iter(loader)
    next(batches)
    with monkeypatch.context() as patched:

        def fails(capsule: Any) -> Any:
            raise MemoryError

        patched.setattr(loaders, "from_dlpack", fails)
        with pytest.raises(MemoryError):
            next(batches)
        with pytest.raises(MemoryError):
            loader.peek()
    place = place_of(loader)
    look = loader.peek()
    wanted = look.clone()
    look.zero_()
    assert place_of(loader) == place
    assert torch.equal(next(batches), wanted)


@pytest.mark.parametrize("tail", ["keep", "drop", "pad"])
def test_looks_anywhere(serve: Callable[..., support.Served], tail: str) -> None:
    serve(SHAPE, samples=30)
    seed = random.randrange(1 << 32)
    print("seed", seed)
    draws = random.Random(seed)
    look = None
    with ids_loader(batch_size=7, tail=tail) as loader:
        for _ in range(60):
            left_after = draws.randrange(6)
            for i, ids in enumerate(loader):
                assert look is None or torch.equal(look, ids)
                look = None
                if i == left_after:
                    break
                if draws.random() < 0.7:
                    place = place_of(loader)
                    look = loader.peek()
                    assert place_of(loader) == place
            if i == left_after:
                look = loader.peek() if draws.random() < 0.5 else None
            if draws.random() < 0.3:
                loader.batch_size, look = draws.randrange(1, 30), None
        assert loader.stats.epochs_mismatched == 0


def test_a_look_ends_with_the_stream_and_its_timeout(serve: Callable[..., support.Served]) -> None:
    serve(SHAPE, samples=8, epochs=1, wait_for=2)
    loader = ids_loader(timeout=0.02)
    with pytest.raises(bc.Timeout):
        loader.peek()
    with ids_loader():
        loader.timeout = 10
        batches = iter(loader)
        assert torch.equal(loader.peek(), next(batches))
        next(batches)
        with pytest.raises(bc.StreamFinished):
            loader.peek()
        with pytest.raises(StopIteration):
            next(batches)
    loader.close()
    with pytest.raises(bc.InvalidArgument, match="closed"):
        loader.peek()


def test_a_look_of_one_that_lets_go(
    serve: Callable[..., support.Served], tmp_path: Path
) -> None:
    serve(SHAPE, samples=40)
    order = support.dump(SHAPE, 0, 40, tmp_path, samples=40)["sample_id"].tolist()
    loader = ids_loader(between_epochs="let_go")
    assert loader.peek().tolist() == order[:4]
    with ids_loader() as other:  # which it does not hold up
        other.load_state_dict({**other.state_dict(), "cursor": 0})
        assert len(list(other)) == len(list(other)) == 10
    assert len(list(loader)) == 10
    # One that is to begin at a place does, after a look too.
    loader.close()
    saved = None
    with ids_loader() as other:
        for _ in other:
            saved = other.state_dict()
            break
    with ids_loader(between_epochs="let_go") as loader:
        loader.load_state_dict(saved)
        look = loader.peek()
        assert torch.equal(look, next(iter(loader)))


def test_a_look_at_a_stream_of_unknown_length(directory: Path) -> None:
    def batches() -> Iterator[Any]:
        for i in range(5):
            yield torch.arange(4 * i, 4 * i + 4)

    class Forever:
        def __iter__(self) -> Iterator[Any]:
            return batches()

    with bc.serve(Forever(), stream="s", background=True, wait_for=1):
        with bc.Loader("s", 8) as loader:
            for _ in range(3):
                look = loader.peek()
                sizes = []
                for batch in loader:
                    assert look is None or torch.equal(look, batch)
                    look = loader.peek()
                    if len(batch) == 4:  # the last: the look is the next epoch's first
                        assert torch.equal(look, torch.arange(8))
                    sizes.append(len(batch))
                assert sizes == [8, 8, 4]
            for _ in loader:
                break
            assert torch.equal(loader.peek(), torch.arange(8))
            assert [len(batch) for batch in loader] == [8, 8, 4]


def test_a_look_of_a_rank_is_its_part(serve: Callable[..., support.Served]) -> None:
    from test_loader_state import in_ranks

    serve(SHAPE, samples=26)

    def body(rank: int) -> list[list[int]]:
        seen = []
        with ids_loader(group=("job", rank, 2)) as loader:
            for _ in range(2):
                look = loader.peek()
                for ids in loader:
                    assert look is None or torch.equal(look, ids)
                    seen.append(ids.tolist())
                    look = loader.peek()
        return seen

    first, second = in_ranks(2, body)
    for epoch in range(2):
        ids = sum(first[4 * epoch : 4 * epoch + 4] + second[4 * epoch : 4 * epoch + 4], [])
        assert sorted(ids) == list(range(26))


# -- under Lightning -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [
        {"num_sanity_val_steps": 2},
        {"num_sanity_val_steps": -1},
        {"limit_train_batches": 3, "limit_val_batches": 2},
        {"limit_train_batches": 0.5, "limit_val_batches": 1.0, "val_check_interval": 2},
        {"max_steps": 7},
        {"fast_dev_run": 2},
    ],
)
def test_lightning_cuts_loops_short(
    serve: Callable[..., support.Served], limits: dict[str, Any]
) -> None:
    lightning = pytest.importorskip("lightning")
    serve("synthetic:8", samples=40)
    serve("synthetic:8", samples=12, stream="test")

    class Module(lightning.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(8, 1)
            self.trained: list[int] = []

        def training_step(self, batch: Any, index: int) -> Any:
            values, ids = batch
            self.trained += ids.tolist()
            return self.layer(values).sum()

        def validation_step(self, batch: Any, index: int) -> None:
            assert len(batch[1]) == 4

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    options = {"max_epochs": 2, "num_sanity_val_steps": 0, **limits}
    trainer = lightning.Trainer(
        **options,
        accelerator="cpu",
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    module = Module()
    fields = ("image", "sample_id")
    with bc.Loader("s", 4, fields=fields) as train:
        with bc.Loader("test", 4, fields=fields, between_epochs="let_go") as test:
            trainer.fit(module, train, test)
            if not limits.keys() & {"fast_dev_run", "limit_train_batches", "max_steps"}:
                assert sorted(module.trained) == sorted([*range(40)] * 2)
            assert module.trained
            trainer.validate(module, test, verbose=False)
