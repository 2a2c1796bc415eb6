# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-1.13 torch-2.11
"""Batches for language models that a Loader makes of tokens: every number, and what is refused."""

from __future__ import annotations

import pickle
from typing import Any

import batchcast as bc
import numpy as np
import pytest

torch = pytest.importorskip("torch")

LENGTHS = [3, 0, 7, 12, 1, 1, 30, 4, 9, 0, 2, 16, 5, 8, 0, 11]
FLAT = [
    "input_ids", "labels", "position_ids", "cu_seq_lens_q", "cu_seq_lens_k", "max_length_q",
    "max_length_k", "seq_idx",
]  # fmt: skip


class Texts:
    """Texts of LENGTHS; of each the loss mask leaves out every third token."""

    def __init__(self, dtype: Any = np.int32, masked: bool = True, lengths: Any = LENGTHS) -> None:
        self.dtype = dtype
        self.masked = masked
        self.all_lengths = lengths

    def __len__(self) -> int:
        return len(self.all_lengths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        rows = self.all_lengths[index]
        sample: dict[str, Any] = {"tokens": (100 * index + np.arange(rows)).astype(self.dtype)}
        if self.masked:
            sample["loss_mask"] = (np.arange(rows) % 3 != 2).astype(np.uint8)
        sample["weights"] = np.ones(rows, np.float32)
        sample["label"] = index
        return sample

    def lengths(self, axis: str) -> Any:
        return self.all_lengths if axis == "tokens" else None

    def text(self, index: int) -> tuple[list[int], list[int]]:
        """Its tokens, and its labels but for the first token's."""
        one = self[index]
        tokens = one["tokens"].tolist()
        mask = one["loss_mask"] if self.masked else np.ones(len(tokens))
        return tokens, [token if there else -100 for token, there in zip(tokens, mask)]

    def flat(self, ids: list[int]) -> dict[str, Any]:
        """The batch of these texts, made of lists."""
        texts = [self.text(i) for i in ids if self.all_lengths[i] > 0]
        sums = np.cumsum([0] + [len(tokens) for tokens, _ in texts]).tolist()
        longest = max(len(tokens) for tokens, _ in texts)
        return {
            "input_ids": [sum((tokens for tokens, _ in texts), [])],
            "labels": [sum(([-100, *labels[1:]] for _, labels in texts), [])],
            "position_ids": [sum((list(range(len(tokens))) for tokens, _ in texts), [])],
            "cu_seq_lens_q": sums,
            "cu_seq_lens_k": sums,
            "max_length_q": longest,
            "max_length_k": longest,
            "seq_idx": [sum(([i] * len(tokens) for i, (tokens, _) in enumerate(texts)), [])],
        }


def serve(texts: Texts | None = None, **options: Any) -> Any:
    texts = texts or Texts()
    on_axis = ("tokens", "loss_mask", "weights") if texts.masked else ("tokens", "weights")
    asked = {"epochs": 100, "order": "sequential", "memory": "1MiB", "rows": {"tokens": 4096}}
    asked |= {"wait_for": 1} | options
    return bc.serve(texts, stream="texts", background=True, axes={"tokens": on_axis}, **asked)


def lists(batch: dict[str, Any]) -> dict[str, Any]:
    return {k: v if isinstance(v, int) else v.tolist() for k, v in batch.items()}


DTYPES = [np.int32, np.int64, np.int16] + ([np.uint16] if hasattr(torch, "uint16") else [])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("masked", [True, False])
def test_texts_stand_one_after_the_other(directory: object, dtype: Any, masked: bool) -> None:
    texts = Texts(dtype, masked)
    with serve(texts, order="reshuffle", seed=5):
        with bc.Loader("texts", budget=("tokens", 40), ragged="varlen") as loader:
            with_ids = {name: name for name in (*FLAT, "sample_id")}
            seen = []
            assert len(loader) >= 3
            assert list(loader.peek()) == FLAT
            for batch in loader:
                assert list(batch) == FLAT
                for name in ("input_ids", "labels", "position_ids"):
                    assert batch[name].dtype == torch.int64 and batch[name].shape[0] == 1
                for name in ("cu_seq_lens_q", "cu_seq_lens_k", "seq_idx"):
                    assert batch[name].dtype == torch.int32
                seen.append(lists(batch))
        with bc.Loader(
            "texts", budget=("tokens", 40), ragged="varlen", fields=with_ids, join="at", cursor=0
        ) as loader:
            batches = [lists(batch) for batch in loader]
    ids = [batch.pop("sample_id") for batch in batches]
    assert sorted(sum(ids, [])) == list(range(len(LENGTHS)))
    assert batches == [texts.flat(some) for some in ids]
    assert seen == batches


def test_fields_choose_and_add(directory: object) -> None:
    texts = Texts()
    with serve(texts):
        names = ("targets", "label", "input_ids", "weights", "seq_idx", "sample_id")
        with bc.Loader("texts", budget="tokens=40", ragged="varlen", fields=names) as loader:
            for targets, label, tokens, weights, of, ids in loader:
                batch = texts.flat(ids.tolist())
                assert tokens.tolist() == batch["input_ids"] and of.tolist() == batch["seq_idx"]
                following = [*batch["labels"][0][1:], -100]
                assert targets.tolist() == [following]
                assert label.tolist() == ids.tolist()
                assert len(weights.values) == tokens.shape[1]
        with bc.Loader("texts", budget="tokens=40", ragged="varlen", fields="labels") as loader:
            copy = loader.peek()
            first = next(iter(loader))
            assert torch.equal(copy, first) and isinstance(first, torch.Tensor)


def test_names_of_fields_and_training_of_all_tokens(directory: object) -> None:
    class Named(Texts):
        def __getitem__(self, index: int) -> dict[str, Any]:
            one = super().__getitem__(index)
            return {"ids": one["tokens"], "assistant": one["loss_mask"], "label": index}

    def labels(**options: Any) -> list[Any]:
        with bc.Loader(
            "texts", budget="tokens=64", ragged="varlen", fields="labels", join="at", **options
        ) as loader:
            return [one.tolist() for one in loader]

    axes = {"tokens": ("ids", "assistant")}
    options: dict[str, Any] = {"epochs": 100, "order": "sequential", "wait_for": 1}
    with bc.serve(
        Named(), stream="texts", background=True, axes=axes, rows={"tokens": 4096}, **options
    ):
        masked = labels(tokens="ids", loss_mask="assistant")
        assert masked != labels(tokens="ids") == labels(tokens="ids", loss_mask=False)
        flat = sum((one[0] for one in masked), [])
        assert flat == sum((Texts().flat([i])["labels"][0] for i in range(16) if LENGTHS[i]), [])
        with pytest.raises(bc.InvalidArgument, match="no field `tokens`.*ids, assistant"):
            labels()
        with pytest.raises(bc.InvalidArgument, match="no field `asistant`.*assistant"):
            labels(tokens="ids", loss_mask="asistant")
    with serve(epochs=100):
        assert labels(loss_mask=False) != labels(loss_mask="loss_mask") == labels()


def test_tokens_of_64_bits_are_views_and_a_write_stays_here(directory: object) -> None:
    texts = Texts(np.int64)
    with serve(texts):
        with bc.Loader("texts", budget=("tokens", 64), ragged="varlen") as loader:
            batches = iter(loader)
            batch = next(batches)
            assert loader.consumer.stats.leases_held == 1
            batch["input_ids"][0, 0] = -1
            del batch
            next(batches)
        with bc.Loader("texts", budget=("tokens", 64), ragged="varlen", join="at") as loader:
            assert next(iter(loader))["input_ids"][0, 0] == 0
    with serve(Texts(np.int32)):
        with bc.Loader("texts", budget=("tokens", 64), ragged="varlen") as loader:
            batches = iter(loader)
            kept = next(batches)  # copies
            assert loader.consumer.stats.leases_held == 0 and kept["input_ids"].shape[1] > 9


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_windows(directory: object, dtype: Any) -> None:
    texts = Texts(dtype)
    tokens = np.array(sum((texts.text(i)[0] for i in range(16)), []))
    labels = np.array(sum((texts.text(i)[1] for i in range(16)), []))
    with serve(texts):
        with bc.Loader("texts", window=("tokens", 10, 2), ragged="varlen") as loader:
            at = 0
            for batch in loader:
                assert list(batch) == ["input_ids", "labels", "position_ids"]
                assert all(one.dtype == torch.int64 for one in batch.values())
                rows = slice(at, at + 10 * len(batch["labels"]))
                assert batch["input_ids"].flatten().tolist() == tokens[rows].tolist()
                assert batch["labels"].flatten().tolist() == labels[rows].tolist()
                assert batch["position_ids"].tolist() == [list(range(10))] * len(batch["labels"])
                at = rows.stop
            assert at == len(tokens) // 10 * 10
        names = ("input_ids", "targets", "offsets")
        with bc.Loader(
            "texts", window=("tokens", 10, 2), extra=1, ragged="varlen", fields=names, join="at"
        ) as loader:
            at = 0
            for inputs, targets, offsets in loader:
                rows = slice(at, at + 10 * len(inputs))
                assert inputs.flatten().tolist() == tokens[rows].tolist()
                assert targets.flatten().tolist() == labels[at + 1 : rows.stop + 1].tolist()
                assert offsets[-1] == 10 * len(inputs)
                at = rows.stop
            assert at == (len(tokens) - 1) // 10 * 10


def test_windows_have_targets_in_place_of_labels(directory: object) -> None:
    with serve():
        with bc.Loader("texts", window=("tokens", 10, 2), extra=1, ragged="varlen") as loader:
            assert list(next(iter(loader))) == ["input_ids", "targets", "position_ids"]
            loader.window = ("tokens", 6, 3)
            assert next(iter(loader))["targets"].shape == (3, 6)


@pytest.mark.parametrize("cut", [{"batch_size": 5}, {"budget": ("tokens", 40)}])
def test_padding(directory: object, cut: dict[str, Any]) -> None:
    texts = Texts()
    with serve(texts):
        with bc.Loader(
            "texts", ragged="padded", pad_token_id=9, pad_to_multiple_of=4, **cut,
            fields=dict,
        ) as loader:  # fmt: skip
            assert list(loader.peek()) == ["input_ids", "attention_mask", "labels"]
        names = ("sample_id", "input_ids", "attention_mask", "labels", "position_ids")
        with bc.Loader(
            "texts", ragged="padded", pad_token_id=9, pad_to_multiple_of=4, join="at", fields=names,
            **cut,
        ) as loader:  # fmt: skip
            seen = 0
            for ids, *values in loader:
                assert all(one.dtype == torch.int64 for one in values)
                tokens, there, labels, places = (one.tolist() for one in values)
                of = [texts.text(i) for i in ids.tolist()]
                most = -(-max(len(text) for text, _ in of) // 4) * 4
                for i, (text, label) in enumerate(of):
                    rest = most - len(text)
                    assert tokens[i] == text + [9] * rest
                    assert there[i] == [1] * len(text) + [0] * rest
                    assert labels[i] == label + [-100] * rest
                    assert places[i] == list(range(len(text))) + [0] * rest
                seen += len(ids)
            assert seen == len(LENGTHS)


def test_it_is_pickled_and_goes_on_at_a_checkpoint(directory: object) -> None:
    with serve(epochs=100):
        loader = bc.Loader("texts", budget=("tokens", 40), ragged="varlen")
        batches = iter(loader)
        next(batches)
        state = loader.state_dict()
        second = lists(next(batches))
        other = pickle.loads(pickle.dumps(loader))
        other.load_state_dict(state)
        assert lists(next(iter(other))) == second
        other.close()
        loader.close()


def test_a_budget_is_changed(directory: object) -> None:
    with serve():
        with bc.Loader("texts", budget=("tokens", 40), ragged="varlen") as loader:
            loader.budget = ("tokens", 64)
            assert max(batch["input_ids"].shape[1] for batch in loader) > 40
            with pytest.raises(bc.InvalidArgument, match="needs a budget"):
                loader.budget = None
            assert loader.budget == ("tokens", 64)
            assert list(next(iter(loader))) == FLAT


def test_a_batch_of_empty_texts_is_an_error(directory: object) -> None:
    with serve(Texts(lengths=[0, 0, 0])):
        with bc.Loader("texts", budget=("tokens", 40), ragged="varlen") as loader:
            with pytest.raises(bc.InvalidArgument, match="its 3 texts are empty"):
                next(iter(loader))


VARLEN: dict[str, Any] = {"ragged": "varlen", "budget": ("tokens", 40)}
WINDOW: dict[str, Any] = {"ragged": "varlen", "window": ("tokens", 10, 2)}
PADDED: dict[str, Any] = {"ragged": "padded", "batch_size": 4, "pad_token_id": 0}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ragged": "varlen"}, r'varlen" needs a budget, such as budget=\("tokens", 16384\), or a'),
        ({"ragged": "varlen", "batch_size": 8}, "varlen.*needs a budget.*fixed number of texts"),
        (VARLEN | {"pad_token_id": 0}, "pad_token_id is for ragged=.padded.*no padding"),
        (VARLEN | {"pad_value": 3}, 'pad_value and pad_to_multiple_of are for ragged="padded"'),
        (VARLEN | {"budget": ("rows", 40)}, "axis `rows`"),
        (VARLEN | {"budget": ("boxes", 40)}, "lie on the axis `tokens`.*cut by `boxes`"),
        (VARLEN | {"tokens": "token"}, "no field `token`.*Did you mean `tokens`"),
        (VARLEN | {"tokens": 3}, "tokens=3: it is the name of a field"),
        (VARLEN | {"tokens": "label"}, r"`label` of stream `texts` has the shape \[\]"),
        (VARLEN | {"tokens": "pairs"}, r"has the shape \['tokens', 2\].*one number for each row"),
        (VARLEN | {"tokens": "weights"}, "`weights` of stream `texts` is f32.*whole numbers"),
        (VARLEN | {"loss_mask": "classes"}, r"`classes`.*\['boxes'\].*`tokens` have \[tokens\]"),
        (VARLEN | {"loss_mask": "weights"}, "mask `weights` of stream `texts` is f32.*mask is u8"),
        (VARLEN | {"loss_mask": "los_mask"}, "no field `los_mask`.*loss_mask=False trains all"),
        (VARLEN | {"loss_mask": True}, "loss_mask=True: it is the name of a field, or False"),
        (VARLEN | {"fields": "attention_mask"}, "no `attention_mask` without padding"),
        (VARLEN | {"fields": ("input_ids", "label_ids")}, "no `label_ids`. Of tokens there are input_ids"),
        (WINDOW | {"fields": "seq_idx"}, "no `seq_idx` with a window.*`offsets`"),
        (WINDOW | {"fields": "targets"}, "no `targets` without.*extra=1"),
        (WINDOW | {"extra": 2}, "extra=2: with"),
        (PADDED | {"fields": "cu_seq_lens_q"}, 'no `cu_seq_lens_q` with padding: ragged="varlen"'),
        (PADDED | {"pad_token_id": -1}, "pad_token_id=-1: it is a whole number"),
        (PADDED | {"pad_token_id": 1.5}, "pad_token_id=1.5: it is a whole number"),
        ({"ragged": "padded", "window": ("tokens", 9, 2), "pad_token_id": 0}, "runs of a window"),
        ({"budget": ("tokens", 9), "tokens": "x"}, "tokens='x' is for batches of language models"),
        ({"batch_size": 4, "pad_token_id": 3}, "pad_token_id=3 is for batches of language models"),
        ({"batch_size": 4, "loss_mask": False}, "loss_mask=False is for batches of language"),
        ({"batch_size": 4, "fields": "input_ids"}, 'no field `input_ids`.*ragged="varlen" makes'),
        ({"batch_size": 4, "ragged": "varlens"}, "'flat', 'padded', 'nested', 'varlen'"),
    ],
)
def test_what_is_refused(directory: object, options: dict[str, Any], said: str) -> None:
    class Odd(Texts):
        def __getitem__(self, index: int) -> dict[str, Any]:
            more = {"pairs": np.zeros((self.all_lengths[index], 2), np.int32)}
            return super().__getitem__(index) | more | {"classes": np.zeros(3, np.int64)}

    axes = {"tokens": ("tokens", "loss_mask", "weights", "pairs"), "boxes": "classes"}
    with bc.serve(Odd(), stream="texts", background=True, axes=axes, rows={"tokens": 4096}):
        with pytest.raises(bc.Error, match=said):
            bc.Loader("texts", **options)


def test_a_stream_without_axes_is_refused(serve: Any) -> None:
    serve("synthetic:8", stream="fixed")
    with pytest.raises(bc.InvalidArgument, match="no field `tokens`.*No field is on an axis"):
        bc.Loader("fixed", 4, ragged="padded", pad_token_id=0)
    with pytest.raises(bc.Refused, match="no axis `tokens`.*samples have one shape"):
        bc.Loader("fixed", budget=("tokens", 40), ragged="varlen")
