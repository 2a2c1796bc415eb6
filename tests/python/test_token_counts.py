# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""Texts that are too long, and where all tokens of an epoch are."""

from __future__ import annotations

import random
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import batchcast as bc
import numpy as np
import pytest

LIMIT = 40


class Texts:
    """Texts of random lengths; every third token is trained."""

    def __init__(self, folder: Path) -> None:
        self.seed = random.randrange(1 << 30)
        print(f"seed {self.seed}")  # pytest shows it where a test fails
        draw = np.random.default_rng(self.seed)
        self.lengths = draw.integers(1, 100, 300)
        offsets = np.concatenate(([0], np.cumsum(self.lengths)))
        tokens = np.arange(offsets[-1], dtype=np.int32)
        self.mask = (tokens % 3 == 0).astype(np.uint8)
        np.save(folder / "t.npy", tokens)
        np.save(folder / "m.npy", self.mask)
        np.save(folder / "o.npy", offsets)
        self.source = "npy:" + ",".join(
            f"{name}={folder}/{file}.npy,{name}.offsets={folder}/o.npy"
            for name, file in (("tokens", "t"), ("loss_mask", "m"))
        )

    def delivered(self, overlong: str) -> int:
        kept = {
            "truncate": np.minimum(self.lengths, LIMIT),
            "drop": self.lengths[self.lengths <= LIMIT],
            "split": self.lengths,
        }
        return int(kept[overlong].sum())


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Texts:
    return Texts(tmp_path_factory.mktemp("texts"))


@pytest.fixture(params=["truncate", "drop", "split"])
def served(request: pytest.FixtureRequest, texts: Texts) -> Iterator[tuple[str, Any]]:
    with bc.serve(
        texts.source, stream="counted", max_tokens=LIMIT, overlong=request.param, epochs=2,
        wait_for=4, background=True,
    ) as serving:  # fmt: skip
        yield request.param, serving


def test_all_tokens_are_accounted_for(texts: Texts, served: tuple[str, Any]) -> None:
    """Four trainers that cut the stream in other ways have all of its tokens, in both epochs."""
    overlong, serving = served
    cuts: list[dict[str, Any]] = [
        {"budget": ("tokens", 256), "ragged": "varlen"},
        {"budget": ("tokens", 16), "ragged": "padded", "pad_token_id": 0, "oversize": "truncate"},
        {"budget": ("tokens", 30), "ragged": "varlen", "oversize": "drop"},
        {"window": ("tokens", 32, 4), "ragged": "varlen"},
    ]
    loaders = [bc.Loader("counted", **cut) for cut in cuts]
    seen = [{"tokens": 0, "trained": 0, "padding": 0} for _ in cuts]
    for _ in range(2):
        for loop in zip_longest_loops(loaders):
            for place, batch in loop:
                count_in(seen[place], batch)
    per_epoch = texts.delivered(overlong)
    for loader, own in zip(loaders, seen):
        counts = loader.token_counts
        assert counts.delivered - counts.repeated + counts.truncated + counts.left_out == 2 * per_epoch
        assert counts.delivered == own["tokens"] and counts.trained == own["trained"]
        assert counts.trained + counts.masked == counts.delivered
        assert counts.padding == own["padding"]
        stats = loader.stats
        assert (stats.epochs_matched, stats.epochs_mismatched) == (2, 0)
        loader.close()
    told = serving.stats["tokens"]
    epoch = told["epoch"]
    assert epoch["read"] == int(texts.lengths.sum())
    assert epoch["read"] == epoch["delivered"] + epoch["truncated"] + epoch["dropped"]
    assert epoch["delivered"] == per_epoch
    assert told["made"] == 2 * per_epoch == told["trained"] + told["masked"]


GROUPS: dict[str, dict[str, Any]] = {
    "budget": {"budget": ("tokens", 128), "ragged": "varlen"},
    "dropped": {"budget": ("tokens", 30), "ragged": "varlen", "oversize": "drop"},
    "truncated": {"budget": ("tokens", 24), "ragged": "varlen", "oversize": "truncate"},
    "samples": {"batch_size": 7, "ragged": "padded", "pad_token_id": 0},
    "window": {"window": ("tokens", 32, 2), "ragged": "varlen"},
    "padded": {"window": ("tokens", 32, 2), "ragged": "varlen", "tail": "pad"},
}


def test_ranks_together_have_all_tokens(texts: Texts) -> None:
    """What no rank gets counts once, whatever cuts the batches."""
    with bc.serve(texts.source, stream="ranks", epochs=2, wait_for=len(GROUPS), background=True):
        with ThreadPoolExecutor(3 * len(GROUPS)) as threads:
            groups = {
                name: [threads.submit(rank_counts, name, rank) for rank in range(3)] for name in GROUPS
            }
    for name, ranks in groups.items():
        counts = [rank.result() for rank in ranks]
        accounted = sum(
            one.delivered - one.repeated + one.truncated + one.left_out for one in counts
        )
        assert accounted == 2 * int(texts.lengths.sum()), name
    assert sum(rank.result().left_out for rank in groups["dropped"]) > 0


def rank_counts(name: str, rank: int) -> Any:
    with bc.Loader("ranks", group=(name, rank, 3), **GROUPS[name]) as loader:
        for _ in range(2):
            for _ in loader:
                pass
        assert not loader.has_next_epoch()
        assert (loader.stats.epochs_matched, loader.stats.epochs_mismatched) == (2, 0)
        return loader.token_counts


def zip_longest_loops(loaders: list[Any]) -> Iterator[list[tuple[int, Any]]]:
    """One epoch of all of them, in turns: one that is far ahead would wait for the others."""
    loops = {place: iter(loader) for place, loader in enumerate(loaders)}
    while loops:
        batches = []
        for place, loop in list(loops.items()):
            batch = next(loop, None)
            if batch is None:
                del loops[place]
            else:
                batches.append((place, batch))
        yield batches


def count_in(seen: dict[str, int], batch: Any) -> None:
    ids = batch["input_ids"]
    if "attention_mask" in batch:
        there = batch["attention_mask"].bool()
        seen["padding"] += int((~there).sum())
        ids = ids[there]
    seen["tokens"] += ids.numel()
    seen["trained"] += int((ids % 3 == 0).sum())


def test_what_is_looked_at_counts_once(texts: Texts) -> None:
    with bc.serve(texts.source, stream="peeked", epochs=1, background=True):
        with bc.Loader("peeked", budget=("tokens", 512), ragged="varlen") as loader:
            loader.peek()
            assert loader.token_counts == (0,) * 7
            list(loader)
            counts = loader.token_counts
    assert counts.delivered == int(texts.lengths.sum())
    assert counts.trained == int(texts.mask.sum())


def test_a_stream_with_texts_that_are_too_long_does_not_begin(texts: Texts) -> None:
    with pytest.raises(bc.InvalidArgument, match=r"max_tokens = 40 tokens; the longest is `.*` with"):
        bc.serve(texts.source, stream="long", max_tokens=LIMIT, background=True)
    with pytest.raises(bc.InvalidArgument, match="max_tokens"):
        bc.serve(texts.source, stream="long", overlong="drop", background=True)


def test_datasets_in_python_say_their_lengths(texts: Texts) -> None:
    class Dataset:
        def lengths(self, axis: str) -> Any:
            return texts.lengths

        def __len__(self) -> int:
            return len(texts.lengths)

        def __getitem__(self, place: int) -> dict[str, Any]:
            return {"tokens": np.full(texts.lengths[place], place, np.int32)}

        def fingerprint(self) -> str:
            return "texts"

    axes = {"tokens": ("tokens",)}
    with bc.serve(
        Dataset(), axes=axes, stream="python-texts", max_tokens=LIMIT, overlong="split", epochs=1,
        background=True,
    ) as serving:  # fmt: skip
        consumer = bc.Consumer("python-texts", batch_size=8)
        counts = np.zeros(len(texts.lengths), np.int64)
        for batch in consumer:
            assert (batch["tokens"].lengths <= LIMIT).all()
            np.add.at(counts, batch["tokens"].values, 1)
        assert (counts == texts.lengths).all()
        assert serving.stats["tokens"]["epoch"]["split_documents"] == (texts.lengths > LIMIT).sum()


def test_a_name_that_is_none_is_refused_with_those_there_are(texts: Texts) -> None:
    fields = ("input_ids", "labelz")
    with bc.serve(texts.source, stream="named", background=True):
        with pytest.raises(bc.InvalidArgument) as refused:
            bc.Loader("named", budget=("tokens", 512), ragged="varlen", fields=fields)
    why = str(refused.value)
    assert "no `labelz`" in why and "Did you mean `labels`?" in why
    assert "position_ids" in why and "loss_mask" in why and "sample_id" in why
