# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""`serve` and `ensure` of texts: the corpus is made first, once, and trainers wait for it."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import batchcast as bc
import pytest

import support
import text_data


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("texts")
    text_data.save_tokenizer(folder / "tok")
    text_data.save_tokenizer(folder / "other", bos=False)
    rows = [text_data.chat(seed) for seed in range(30)]
    text_data.write_rows(folder / "chat.jsonl", rows)
    return folder


@pytest.fixture(autouse=True)
def surroundings(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BATCHCAST_PYTHON", sys.executable)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("PYTHONPATH", support.environment()["PYTHONPATH"])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


def trained(stream: str, folder: Path, **options: Any) -> int:
    """How many trained tokens a trainer reads that starts the stream."""
    start = bc.Start(
        f"jsonl:{folder}/chat.jsonl", epochs=1, idle_exit=5, command=support.COMMAND,
        arguments=[f"--tokenizer={folder}/{options.pop('tokenizer', 'tok')}", *options.pop("words", ())],
    )  # fmt: skip
    with bc.Consumer(stream, batch_size=4, start=start, **options) as consumer:
        return sum(int(batch["loss_mask"].values.sum()) for batch in consumer)


def test_trainers_start_a_stream_of_texts(folder: Path) -> None:
    first = trained("texts", folder)
    corpora = folder / "cache/batchcast/corpora"
    keys = os.listdir(corpora)
    assert len(keys) == 1 and (corpora / keys[0] / "corpus.bin").exists()
    made = (corpora / keys[0] / "corpus.bin").stat().st_mtime_ns
    assert first > 0 and trained("texts-again", folder) == first
    assert (corpora / keys[0] / "corpus.bin").stat().st_mtime_ns == made


def test_another_tokenizer_is_another_stream(folder: Path) -> None:
    start = bc.Start(
        f"jsonl:{folder}/chat.jsonl", idle_exit=60, command=support.COMMAND,
        arguments=[f"--tokenizer={folder}/tok"],
    )  # fmt: skip
    with bc.Consumer("texts-kept", batch_size=4, start=start):
        with pytest.raises(bc.RecipeMismatch, match="the stream has `megatron:"):
            trained("texts-kept", folder, tokenizer="other")
    subprocess.run([support.COMMAND, "stop", "texts-kept"], check=False)


def test_start_says_tokenizer_template_and_corpus(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text(text_data.TEMPLATE + "{{ eos_token }}")
    start = bc.Start(
        f"jsonl:{folder}/chat.jsonl", epochs=1, idle_exit=5, command=support.COMMAND,
        tokenizer=folder / "tok", corpus=tmp_path / "kept", chat_template=tmp_path / "t.jinja",
    )  # fmt: skip
    assert pickle.loads(pickle.dumps(start)).corpus == str(tmp_path / "kept")
    with bc.Consumer("texts-start", batch_size=4, start=start) as consumer:
        last = [int(batch["tokens"].values[-1]) for batch in consumer]
    assert set(last) == {1}  # the template's EOS
    assert list((tmp_path / "kept").glob("*/corpus.idx"))
    (tmp_path / "t.jinja").write_text(text_data.PLAIN_TEMPLATE)
    with pytest.raises(bc.InvalidArgument, match="no `{% generation %}`"):
        bc.Consumer("texts-start-bad", batch_size=4, start=start)
    with pytest.raises(bc.InvalidArgument, match="corpus: it needs `tokenizer`"):
        bc.Start(f"jsonl:{folder}/chat.jsonl", corpus=tmp_path / "kept")


def test_what_is_wrong_reaches_the_trainer(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(bc.InvalidArgument, match="no `{% generation %}`"):
        (tmp_path / "plain.jinja").write_text(text_data.PLAIN_TEMPLATE)
        trained("texts-bad", folder, words=[f"--chat-template={tmp_path}/plain.jinja"])
    with pytest.raises(bc.StartFailed, match="is no tokenizer's folder"):
        trained("texts-bad", folder, tokenizer=".")
    run = subprocess.run(
        [support.COMMAND, "serve", f"jsonl:{folder}/chat.jsonl", "--stream", "x"],
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert run.returncode == 2 and b"--tokenizer DIR" in run.stderr
    run = subprocess.run(
        [support.COMMAND, "serve", "idx:x", "--tokenizer", "t", "--stream", "x"],
        capture_output=True, timeout=60,
    )  # fmt: skip
    assert run.returncode == 2 and b"is of texts" in run.stderr
    run = subprocess.run(
        [support.COMMAND, "inspect", f"jsonl:{folder}/chat.jsonl"], capture_output=True, timeout=60
    )
    assert run.returncode == 2 and b"batchcast tokenize" in run.stderr


def test_serve_makes_the_corpus_where_it_is_told(folder: Path, tmp_path: Path) -> None:
    with open(tmp_path / "log", "wb") as log:
        serving = subprocess.Popen(
            [support.COMMAND, "serve", f"jsonl:{folder}/chat.jsonl", "--tokenizer", f"{folder}/tok",
             "--corpus", f"{tmp_path}/kept", "--train-on", "all", "--stream", "texts-told",
             "--epochs", "1"],
            stdout=log, stderr=log,
        )  # fmt: skip
    with bc.Consumer("texts-told", batch_size=4, connect_timeout=60) as consumer:
        batches = [(batch.size, "loss_mask" in batch) for batch in consumer]
    assert sum(size for size, _ in batches) == 30 and not any(masked for _, masked in batches)
    assert serving.wait(60) == 0, (tmp_path / "log").read_text()
    assert list((tmp_path / "kept").glob("*/corpus.idx"))


def test_the_time_out_begins_again_while_texts_are_tokenised(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A command that says how far it has got, for longer than a trainer would wait, which says so too."""
    slow = tmp_path / "batchcast"
    slow.write_text(
        "#!/bin/sh\n"
        "for i in 1 2 3 4 5 6 7 8 9 10; do echo 'tokenising: 10%, 1 M tokens' >&2; sleep 0.5; done\n"
        f'exec {support.COMMAND} "$@"\n'
    )
    slow.chmod(0o755)
    silent = tmp_path / "silent"
    silent.write_text(slow.read_text().replace("tokenising:", "working:"))
    silent.chmod(0o755)

    def read(command: Path, stream: str) -> int:
        start = bc.Start(
            "synthetic:4", epochs=1, idle_exit=5, command=str(command), arguments=["--samples=8"]
        )
        with bc.Consumer(stream, batch_size=4, start=start, connect_timeout=4) as consumer:
            return sum(batch.size for batch in consumer)

    assert read(slow, "texts-slow") == 8
    shown = capfd.readouterr().err.splitlines()
    assert shown.count("batchcast: stream `texts-slow`: tokenising: 10%, 1 M tokens") == 10
    with pytest.raises(bc.StreamNotFound):
        read(silent, "texts-silent")


def test_another_trainer_goes_on_when_the_first_is_killed(folder: Path, tmp_path: Path) -> None:
    rows = [text_data.chat(seed, letters=150) for seed in range(50)] * 30
    text_data.write_rows(tmp_path / "long.jsonl", rows)

    def ensure() -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [support.COMMAND, "ensure", "texts-long", f"jsonl:{tmp_path}/long.jsonl",
             "--tokenizer", f"{folder}/tok", "--corpus", str(tmp_path / "kept"), "--idle-exit", "2"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip

    first = ensure()
    threading.Event().wait(0.2)
    second = ensure()
    while first.poll() is None and not list(tmp_path.glob("kept/*/corpus.journal")):
        threading.Event().wait(0.02)
    first.kill()
    first.communicate()
    out, error = second.communicate(timeout=100)
    assert out.startswith(b"served"), (out, error)
    assert len(list(tmp_path.glob("kept/*/corpus.bin"))) == 1


def test_bc_serve_makes_the_corpus_too(folder: Path, tmp_path: Path) -> None:
    source = f"jsonl:{folder}/chat.jsonl"
    with bc.serve(
        source, tokenizer=str(folder / "tok"), corpus=tmp_path / "kept", stream="texts-served",
        epochs=1, background=True,
    ):  # fmt: skip
        consumer = bc.Consumer("texts-served", batch_size=4)
        assert sum(batch.size for batch in consumer) == 30
    assert list((tmp_path / "kept").glob("*/corpus.idx"))
    with pytest.raises(bc.InvalidArgument, match="Name a tokenizer"):
        bc.serve(source, stream="x")
    with pytest.raises(bc.InvalidArgument, match="is none"):
        bc.serve("idx:x", tokenizer="t", stream="x")
    with pytest.raises(bc.InvalidArgument, match="that a text names"):
        bc.serve([1, 2], tokenizer="t", stream="x")
    with pytest.raises(bc.errors.Error, match="is no tokenizer's folder"):
        bc.serve(source, tokenizer=str(tmp_path), stream="x")
