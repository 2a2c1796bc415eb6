# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""Trainers of language models on streams: batches and losses beside those of their own loaders.

All models are small and start from random weights. Nothing is loaded from the network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import batchcast as bc
import numpy as np
import pytest

import examples
import support

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from batchcast.huggingface import SharedTrainer  # noqa: E402

BUDGET = 512
STEPS = 8
WORDS = [f"word{i}" for i in range(60)]


def chats() -> list[tuple[str, str]]:
    """Questions and answers that repeat them, so that a model has something to learn."""
    rng = np.random.default_rng(4)
    texts = [" ".join(rng.choice(WORDS, rng.integers(1, 40))) for _ in range(200)]
    return [(text, text) for text in texts]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tokenizer that is trained here, and what it makes of the chats."""
    tokenizers = pytest.importorskip("tokenizers")
    path = tmp_path_factory.mktemp("chat")
    special = ["<unk>", "<pad>", "<eos>", "<user>", "<assistant>"]
    trained = tokenizers.Tokenizer(tokenizers.models.WordLevel(unk_token="<unk>"))
    trained.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    trained.train_from_iterator(
        (one for chat in chats() for one in chat),
        tokenizers.trainers.WordLevelTrainer(special_tokens=special, show_progress=False),
    )
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=trained, unk_token="<unk>", pad_token="<pad>", eos_token="<eos>"
    )
    tokenizer.save_pretrained(path)
    tokens: list[list[int]] = []
    masks: list[list[int]] = []
    for question, answer in chats():
        asked = tokenizer.encode(f"<user> {question} <assistant>")
        said = tokenizer.encode(f"{answer} <eos>")
        tokens.append(asked + said)
        masks.append([0] * len(asked) + [1] * len(said))
    np.save(path / "tokens.npy", np.concatenate(tokens).astype(np.int32))
    np.save(path / "loss_mask.npy", np.concatenate(masks).astype(np.uint8))
    np.save(path / "offsets.npy", np.cumsum([0] + [len(one) for one in tokens]))
    return path


def source_of(folder: Path) -> str:
    return "npy:" + ",".join(
        f"{part}={folder}/{part}.npy,{part}.offsets={folder}/offsets.npy"
        for part in ("tokens", "loss_mask")
    )


def samples_of(folder: Path) -> list[dict[str, list[int]]]:
    """The same texts as a dataset of transformers has them."""
    tokens, mask, offsets = (
        np.load(folder / f"{name}.npy") for name in ("tokens", "loss_mask", "offsets")
    )
    labels = np.where(mask == 1, tokens, -100)
    return [
        {"input_ids": tokens[begin:end].tolist(), "labels": labels[begin:end].tolist()}
        for begin, end in zip(offsets[:-1], offsets[1:])
    ]


@pytest.fixture
def stream(folder: Path, serve: Callable[..., support.Served]) -> str:
    serve(source_of(folder), stream="chat", order="reshuffle", seed=3)
    return "chat"


def ids_of_batches(stream: str, **cut: Any) -> list[list[int]]:
    """Which texts the first batches of that stream have."""
    with bc.Loader(stream, fields="sample_id", join="at", **cut) as loader:
        return [ids.tolist() for ids, _ in zip(loader, range(STEPS))]


def same(ours: dict[str, Any], theirs: dict[str, Any]) -> None:
    """Bit for bit, with dtypes."""
    assert sorted(ours) == sorted(theirs)
    for name, value in theirs.items():
        if isinstance(value, int):
            assert ours[name] == value and type(ours[name]) is int
        else:
            assert ours[name].dtype == value.dtype, name
            assert torch.equal(ours[name], value), name


def model() -> Any:
    torch.manual_seed(7)
    return transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=80, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=4, attn_implementation="sdpa",
        )
    )  # fmt: skip


def recording(trainer_class: Any) -> Any:
    """That class of trainers, whose objects keep all bits of the losses."""

    class Recording(trainer_class):  # type: ignore[misc]
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            self.losses: list[float] = []

        def training_step(self, *arguments: Any, **options: Any) -> Any:
            loss = super().training_step(*arguments, **options)
            self.losses.append(loss.item())
            return loss

    return Recording


class Stock:
    """Gives a trainer class the DataLoader that it would have, with batches of these texts."""

    samples: list[dict[str, list[int]]]
    batches: list[list[int]]

    def get_train_dataloader(self) -> Any:
        return torch.utils.data.DataLoader(
            self.samples, batch_sampler=self.batches, collate_fn=self.data_collator
        )


QUIET: dict[str, Any] = {
    "max_steps": STEPS,
    "learning_rate": 0.01,
    "report_to": [],
    "use_cpu": True,
    "disable_tqdm": True,
    "save_strategy": "no",
}


def flattening() -> Any:
    return transformers.DataCollatorWithFlattening(
        return_flash_attn_kwargs=True, return_seq_idx=True
    )


def test_batches_are_those_of_the_collator_of_transformers(folder: Path, stream: str) -> None:
    samples = samples_of(folder)
    batches = ids_of_batches(stream, budget=("tokens", BUDGET))
    with bc.Loader(stream, budget=("tokens", BUDGET), ragged="varlen", join="at") as loader:
        for ids, batch in zip(batches, loader):
            assert len(ids) > 2
            same(batch, flattening()([samples[i] for i in ids]))


def test_without_a_mask_all_tokens_are_labels(folder: Path, stream: str) -> None:
    samples = [{"input_ids": one["input_ids"]} for one in samples_of(folder)]
    batches = ids_of_batches(stream, budget=("tokens", BUDGET))
    with bc.Loader(
        stream, budget=("tokens", BUDGET), ragged="varlen", loss_mask=False, join="at"
    ) as loader:
        for ids, batch in zip(batches, loader):
            same(batch, flattening()([samples[i] for i in ids]))


@pytest.mark.parametrize("free", [True, False])
def test_batches_are_those_of_the_collator_of_trl(folder: Path, stream: str, free: bool) -> None:
    sft_trainer = pytest.importorskip("trl.trainer.sft_trainer")
    collator = sft_trainer.DataCollatorForLanguageModeling(
        pad_token_id=1, padding_free=free, pad_to_multiple_of=None if free else 8
    )
    samples = samples_of(folder)
    batches = ids_of_batches(stream, budget=("tokens", BUDGET))
    padded = {"ragged": "padded", "pad_token_id": 1, "pad_to_multiple_of": 8}
    form: dict[str, Any] = {"ragged": "varlen"} if free else padded
    with bc.Loader(stream, budget=("tokens", BUDGET), join="at", **form) as loader:
        for ids, batch in zip(batches, loader):
            same(batch, collator([samples[i] for i in ids]))


def test_losses_under_the_trainer_of_hugging_face(
    folder: Path, stream: str, tmp_path: Path
) -> None:
    pytest.importorskip("accelerate")
    Theirs = type("Theirs", (Stock, transformers.Trainer), {})
    Theirs.samples = samples_of(folder)
    Theirs.batches = ids_of_batches(stream, budget=("tokens", BUDGET))
    arguments = transformers.TrainingArguments(str(tmp_path), **QUIET)
    theirs = recording(Theirs)(model(), arguments, data_collator=flattening())
    theirs.train()
    with bc.Loader(stream, budget=("tokens", BUDGET), ragged="varlen", join="at") as loader:
        arguments = transformers.TrainingArguments(str(tmp_path), **QUIET)
        ours = recording(SharedTrainer)(model(), arguments, train_dataset=loader)
        ours.train()
    assert ours.losses == theirs.losses and len(ours.losses) == STEPS
    assert ours.losses[-1] < ours.losses[0]


def test_losses_under_trl(folder: Path, stream: str, tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    Theirs = type("Theirs", (Stock, trl.SFTTrainer), {})
    Theirs.samples = samples_of(folder)
    Theirs.batches = ids_of_batches(stream, budget=("tokens", BUDGET))
    Ours = type("Ours", (SharedTrainer, trl.SFTTrainer), {})
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    asked: dict[str, Any] = {
        "train_dataset": datasets.Dataset.from_dict({"input_ids": [[0]], "labels": [[0]]}),
        "processing_class": tokenizer,
    }

    def arguments() -> Any:
        return trl.SFTConfig(
            str(tmp_path), padding_free=True, max_length=None, bf16=False,
            dataset_kwargs={"skip_prepare_dataset": True}, **QUIET,
        )  # fmt: skip

    theirs = recording(Theirs)(model(), arguments(), **asked)
    theirs.train()
    with bc.Loader(stream, budget=("tokens", BUDGET), ragged="varlen", join="at") as loader:
        ours = recording(Ours)(model(), arguments(), **asked)
        ours.train_dataset = loader
        ours.train()
    assert ours.losses == theirs.losses and len(ours.losses) == STEPS
    assert ours.losses[-1] < ours.losses[0]


@pytest.mark.parametrize("by_trl", [False, True])
def test_a_checkpoint_goes_on_at_the_next_text(
    folder: Path, stream: str, tmp_path: Path, by_trl: bool
) -> None:
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    saved = QUIET | {"save_strategy": "steps", "save_steps": 4, "output_dir": str(tmp_path)}

    def trainer_of(loader: bc.Loader) -> Any:
        if not by_trl:
            arguments = transformers.TrainingArguments(**saved)
            return recording(SharedTrainer)(model(), arguments, train_dataset=loader)
        arguments = trl.SFTConfig(
            padding_free=True, max_length=None, bf16=False,
            dataset_kwargs={"skip_prepare_dataset": True}, **saved,
        )  # fmt: skip
        Ours = type("Ours", (SharedTrainer, trl.SFTTrainer), {})
        trainer = recording(Ours)(
            model(),
            arguments,
            train_dataset=datasets.Dataset.from_dict({"input_ids": [[0]], "labels": [[0]]}),
            processing_class=transformers.AutoTokenizer.from_pretrained(folder),
        )
        trainer.train_dataset = loader
        return trainer

    with bc.Loader(stream, budget=("tokens", BUDGET), ragged="varlen", join="at") as loader:
        whole = trainer_of(loader)
        whole.train()
    with bc.Loader(stream, budget=("tokens", BUDGET), ragged="varlen", join="at") as loader:
        resumed = trainer_of(loader)
        resumed.train(resume_from_checkpoint=str(tmp_path / "checkpoint-4"))
    assert resumed.losses == whole.losses[4:] and len(resumed.losses) == STEPS - 4


def get_batch(tokens: Any, starts: list[int], length: int) -> tuple[Any, Any]:
    """nanoGPT's, but that it is told where its runs start."""
    x = torch.stack([torch.from_numpy(tokens[i : i + length].astype(np.int64)) for i in starts])
    y = torch.stack(
        [torch.from_numpy(tokens[i + 1 : i + 1 + length].astype(np.int64)) for i in starts]
    )
    return x, y


@pytest.fixture
def binary(tmp_path: Path) -> Path:
    file = tmp_path / "train.bin"
    (np.random.default_rng(3).integers(0, 50, 20_000).cumsum() % 120).astype(np.uint16).tofile(file)
    return file


def test_losses_on_windows_are_those_of_nanogpts_batches(
    binary: Path, serve: Callable[..., support.Served]
) -> None:
    serve(f"tokens:{binary}", stream="pretraining", order="sequential")
    tokens = np.fromfile(binary, np.uint16)

    def losses(batches: Iterator[tuple[Any, Any]]) -> list[float]:
        torch.manual_seed(1)
        layers = torch.nn.Sequential(torch.nn.Embedding(120, 16), torch.nn.Linear(16, 120))
        optimizer = torch.optim.AdamW(layers.parameters(), lr=0.01)
        found = []
        for x, y in batches:
            loss = torch.nn.functional.cross_entropy(layers(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            found.append(loss.item())
        return found

    def theirs() -> Iterator[tuple[Any, Any]]:
        for first in range(0, 20 * 4 * 32, 4 * 32):
            yield get_batch(tokens, [first + 32 * run for run in range(4)], 32)

    def ours() -> Iterator[tuple[Any, Any]]:
        names = ("input_ids", "targets")
        with bc.Loader(
            "pretraining", window=("tokens", 32, 4), extra=1, ragged="varlen", fields=names
        ) as loader:
            for (x, y), (their_x, their_y) in zip(loader, theirs()):
                same({"x": x, "y": y}, {"x": their_x, "y": their_y})
                yield x, y

    assert losses(ours()) == losses(theirs())


def losses_in(words: str) -> tuple[float, float]:
    first, last = re.findall(r"loss ([0-9.]+) to ([0-9.]+)", words)[0]
    return float(first), float(last)


@pytest.mark.parametrize("name", ["fine_tune_hf.py", "fine_tune_trl.py"])
def test_examples_of_fine_tuning(folder: Path, directory: Path, name: str) -> None:
    pytest.importorskip("trl")
    with examples.started(directory):
        words = examples.run(name, str(folder))
    assert "20 steps" in words
    first, last = losses_in(words)
    assert last < first - 0.1


def test_the_example_of_nanogpt(binary: Path, directory: Path) -> None:
    with examples.started(directory):
        words = examples.run("nanogpt.py", str(binary))
    first, last = losses_in(words)
    assert words.startswith("60 steps") and last < first - 0.1


def test_the_example_of_torchtitan(binary: Path, directory: Path) -> None:
    with examples.started(directory):
        words = examples.run("torchtitan_loop.py", str(binary))
    first, last = losses_in(words)
    assert last < first - 0.1 and words.endswith("the same: True\n")
