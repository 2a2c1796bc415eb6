# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
# environments: torch-2.11
"""`batchcast tokenize`: rows of text become Megatron-LM's indexed dataset."""

from __future__ import annotations

import gzip
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import batchcast as bc
import numpy as np
import pytest

import support
import text_data
from batchcast._text._corpus import Corpus, Plan
from batchcast._text._indexed import write_index

GOLDEN = support.ROOT / "tests/data/source/megatron_golden"


class NoProgress:
    def begin(self, done: int, total: int) -> None:
        pass

    def show(self, done: int, tokens: int) -> None:
        pass

    def wait(self, share: float) -> None:
        pass

    def end(self, done: int, tokens: int) -> None:
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("tokenizers")


@pytest.fixture(scope="module")
def tokenizer(folder: Path) -> Any:
    return text_data.save_tokenizer(folder / "tok")


def corpus(folder: Path, source: str, out: Path, **options: Any) -> tuple[Corpus, list[str]]:
    said: list[str] = []
    plan = Plan(source, str(options.pop("tokenizer", folder / "tok")), str(out), workers=2, **options)
    return Corpus(plan, said.append, NoProgress()), said


def made(folder: Path, source: str, out: Path, **options: Any) -> dict[str, Any]:
    return corpus(folder, source, out, **options)[0].make()


def documents(prefix: Path, split: str = "") -> list[tuple[list[int], list[int] | None]]:
    """Tokens and mask of each document, by Megatron's index."""
    told = json.loads(Path(f"{prefix}{split}.json").read_text())
    index = Path(f"{prefix}{split}.idx").read_bytes()
    count = int.from_bytes(index[18:26], "little")
    lengths = np.frombuffer(index, np.int32, count, 34)
    tokens = np.fromfile(f"{prefix}{split}.bin", told["dtype"])
    mask_file = Path(f"{prefix}{split}.loss_mask")
    mask = np.fromfile(mask_file, np.uint8) if mask_file.exists() else None
    ends = np.cumsum(lengths)
    return [
        (
            tokens[end - length : end].tolist(),
            None if mask is None else mask[end - length : end].tolist(),
        )
        for end, length in zip(ends, lengths)
    ]


def why_not(folder: Path, source: str, out: Path, **options: Any) -> str:
    with pytest.raises((bc.errors.Error, ImportError)) as refused:
        made(folder, source, out, **options)
    return str(refused.value)


def test_index_is_what_megatron_lm_writes(tmp_path: Path) -> None:
    rows = [[1, 2, 3], [60000], [7, 8]]
    lengths = [len(row) for row in rows]
    for name in ("uint16", "int32"):
        write_index(tmp_path / "i.idx", np.dtype(name), lengths)
        ours = (tmp_path / "i.idx").read_bytes()
        golden = (GOLDEN / f"{name}.idx").read_bytes()
        assert ours[:18] == golden[:18]  # the rest is of other documents
    core = pytest.importorskip(
        "megatron.core.datasets.indexed_dataset", reason="megatron-core is not installed"
    )
    torch = pytest.importorskip("torch")
    for dtype in (np.uint16, np.int32):
        builder = core.IndexedDatasetBuilder(str(tmp_path / "m.bin"), dtype=dtype)
        for row in rows:
            builder.add_document(torch.tensor(row), [len(row)])
        builder.finalize(str(tmp_path / "m.idx"))
        write_index(tmp_path / "i.idx", dtype, lengths)
        assert (tmp_path / "i.idx").read_bytes() == (tmp_path / "m.idx").read_bytes()
        expected = b"".join(np.array(row, dtype).tobytes() for row in rows)
        assert expected == (tmp_path / "m.bin").read_bytes()


def test_index_of_the_golden_documents(tmp_path: Path) -> None:
    """Megatron-LM wrote documents of several sequences; those of ours are one each."""
    golden = (GOLDEN / "int32.idx").read_bytes()
    sequences = int.from_bytes(golden[18:26], "little")
    lengths = np.frombuffer(golden, np.int32, sequences, 34)
    write_index(tmp_path / "i.idx", np.int32, lengths)
    ours = (tmp_path / "i.idx").read_bytes()
    tables = 34 + 12 * sequences  # lengths and pointers
    assert ours[34:tables] == golden[34:tables]


def test_chat_is_what_transformers_makes(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    rows = [text_data.chat(seed, turns=1 + seed % 3) for seed in range(40)]
    rows[3]["messages"].insert(0, {"role": "system", "content": "grüße 🙂"})
    source = text_data.write_rows(tmp_path / "chat.jsonl", rows)
    told = made(folder, source, tmp_path / "out")
    found = documents(tmp_path / "out")
    assert len(found) == told["documents"] == 40
    for row, (tokens, mask) in zip(rows, found):
        expected = tokenizer.apply_chat_template(
            row["messages"], return_dict=True, return_assistant_tokens_mask=True
        )
        assert tokens == expected["input_ids"]
        assert mask == expected["assistant_masks"]
        assert tokens.count(tokenizer.bos_token_id) == 1  # the template's; no second one
    assert told["counts"]["trained"] == sum(sum(mask or ()) for _, mask in found)
    assert told["dtype"] == "uint16"


def test_train_on_completion_is_the_last_answer(
    folder: Path, tokenizer: Any, tmp_path: Path
) -> None:
    row = text_data.chat(1, turns=2)
    source = text_data.write_rows(tmp_path / "chat.jsonl", [row])
    made(folder, source, tmp_path / "out", train_on="completion")
    tokens, mask = documents(tmp_path / "out")[0]
    prompt = tokenizer.apply_chat_template(
        row["messages"][:-1], return_dict=True, add_generation_prompt=True
    )["input_ids"]
    assert mask == [0] * len(prompt) + [1] * (len(tokens) - len(prompt))
    made(folder, source, tmp_path / "all", train_on="all")
    assert documents(tmp_path / "all") == [(tokens, None)]


def test_plain_text_ends_with_eos(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    texts = [text_data.words(20, seed) for seed in range(5)] + ["ends </s>"]
    source = text_data.write_rows(tmp_path / "p.jsonl", [{"body": text} for text in texts])
    made(folder, source + "?column=body", tmp_path / "out")
    found = documents(tmp_path / "out")
    for text, (tokens, mask) in zip(texts, found):
        expected = tokenizer(text)["input_ids"]
        if expected[-1] != tokenizer.eos_token_id:
            expected.append(tokenizer.eos_token_id)
        assert (tokens, mask) == (expected, None)
    made(folder, source + "?column=body", tmp_path / "bare", eos=False)
    assert documents(tmp_path / "bare")[0][0] == tokenizer(texts[0])["input_ids"]
    text_data.save_tokenizer(folder / "no_eos", eos=False)
    no_eos = str(folder / "no_eos")
    why = why_not(folder, source + "?column=body", tmp_path / "none", tokenizer=no_eos)
    assert "no EOS" in why and "--no-eos" in why
    made(folder, source + "?column=body", tmp_path / "none", tokenizer=no_eos, eos=False)


def test_other_forms_of_chats(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    chat = [{"role": "user", "content": "ab cd"}, {"role": "assistant", "content": "ef"}]
    expected = tokenizer.apply_chat_template(
        chat, return_dict=True, return_assistant_tokens_mask=True
    )
    wanted = [(expected["input_ids"], expected["assistant_masks"])]
    sharegpt = {"conversations": [{"from": "human", "value": "ab cd"}, {"from": "gpt", "value": "ef"}]}
    alpaca = {"instruction": "ab cd", "input": "", "output": "ef"}
    pair = {"prompt": chat[:1], "completion": chat[1:]}
    for number, row in enumerate((sharegpt, alpaca)):
        source = text_data.write_rows(tmp_path / f"{number}.jsonl", [row])
        made(folder, source, tmp_path / f"{number}")
        assert documents(tmp_path / f"{number}") == wanted
    made(folder, text_data.write_rows(tmp_path / "pair.jsonl", [pair]), tmp_path / "pair")
    tokens, mask = documents(tmp_path / "pair")[0]
    assert tokens == wanted[0][0]
    assert mask == wanted[0][1]
    texts = {"prompt": "ab cd ", "completion": "ef"}
    made(folder, text_data.write_rows(tmp_path / "texts.jsonl", [texts]), tmp_path / "texts")
    tokens, mask = documents(tmp_path / "texts")[0]
    assert tokens == [*tokenizer("ab cd ef")["input_ids"], tokenizer.eos_token_id]
    assert mask is not None and 1 < sum(mask) < len(mask) and mask[-1] == 1 and mask[0] == 0


def test_tools_and_arguments_of_the_template(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    row: dict[str, Any] = text_data.chat(1)
    tools = [{"type": "function", "function": {"name": "f", "parameters": {}}}]
    expected = tokenizer.apply_chat_template(
        row["messages"], tools=tools, shout="HEY", return_dict=True
    )["input_ids"]
    for number, given in enumerate((tools, json.dumps(tools))):
        source = text_data.write_rows(
            tmp_path / f"{number}.jsonl",
            [{**row, "tools": given, "chat_template_kwargs": {"shout": "HEY"}}],
        )
        made(folder, source, tmp_path / f"{number}")
        assert documents(tmp_path / f"{number}")[0][0] == expected


def test_a_template_that_cannot_mark_is_refused_with_cures(
    folder: Path, tokenizer: Any, tmp_path: Path
) -> None:
    text_data.save_tokenizer(folder / "plain", template=text_data.PLAIN_TEMPLATE)
    source = text_data.write_rows(tmp_path / "chat.jsonl", [text_data.chat(1)])
    plain = {"tokenizer": str(folder / "plain")}
    why = why_not(folder, source, tmp_path / "out", **plain)
    for word in ("generation", "--chat-template FILE", "trl", "--train-on completion", "all"):
        assert word in why
    (tmp_path / "t.jinja").write_text(text_data.TEMPLATE)
    made(folder, source, tmp_path / "out", chat_template=str(tmp_path / "t.jinja"), **plain)
    made(folder, source, tmp_path / "tok")
    assert documents(tmp_path / "out") == documents(tmp_path / "tok")
    made(folder, source, tmp_path / "last", train_on="completion", **plain)
    text_data.save_tokenizer(folder / "none", template=None)
    assert "no chat template" in why_not(
        folder, source, tmp_path / "none", tokenizer=str(folder / "none")
    )


def test_a_training_template_of_trl_is_a_cure(folder: Path, tmp_path: Path) -> None:
    """In a process like that of `tokenize`, which leaves torch out where TRL is not asked for."""
    templates = pytest.importorskip("trl.chat_template_utils")
    shipped = Path(templates.__file__).parent / "chat_templates"
    tokenizer = text_data.save_tokenizer(
        folder / "llama3", template=(shipped / "llama3.jinja").read_text()
    )
    row = text_data.chat(1, turns=2)
    source = text_data.write_rows(tmp_path / "chat.jsonl", [row])
    words = (source, f"--tokenizer={folder}/llama3", f"--out={tmp_path}/out")
    assert "cannot mark" in imported(*words)[1]
    with_trl, said = imported(*words, "--chat-template=trl")
    assert "1 document," in said and {"torch", "transformers.utils"} <= with_trl
    expected = tokenizer.apply_chat_template(
        row["messages"], return_dict=True, return_assistant_tokens_mask=True,
        chat_template=templates.get_training_chat_template(tokenizer),
    )  # fmt: skip
    assert documents(tmp_path / "out") == [(expected["input_ids"], expected["assistant_masks"])]
    without = imported(source, f"--tokenizer={folder}/llama3", f"--out={tmp_path}/all", "--train-on=all")[0]
    assert "transformers.utils" in without and "torch" not in without


def imported(*words: str) -> tuple[set[str], str]:
    """The modules that the process imports, and what it says beside that."""
    run = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "batchcast._text", *words],
        env=support.environment(PYTHONPATH=os.pathsep.join(filter(None, sys.path))),
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    lines = run.stderr.splitlines()
    names = {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}
    said = [line for line in lines if not line.startswith("import time:")]
    return names, "\n".join([run.stdout, *said])


BAD = {
    "it is no JSON": b'{"messages": [}',
    "its byte 15 is no UTF-8": b'{"messages": "\xff"}',
    "a row is an object": b"[1, 2]",
    "none of `messages`": b'{"question": "x", "answer": "y"}',
    "no `role`": b'{"messages": [{"content": "x"}]}',
    "empty one": b'{"messages": []}',
    "none of its tokens is trained": b'{"messages": [{"role": "user", "content": "x"}]}',
    "there is no such role": b'{"messages": [{"role": "nobody", "content": "x"}]}',
    "surrogate": b'{"messages": [{"role": "user", "content": "\\ud800"}]}',
    "is from `alien`": b'{"conversations": [{"from": "alien", "value": "x"}]}',
}


@pytest.mark.parametrize("why", BAD)
def test_a_bad_row_is_named_by_file_and_line(
    folder: Path, tokenizer: Any, tmp_path: Path, why: str
) -> None:
    good = json.dumps(text_data.chat(1)).encode()
    if b"conversations" in BAD[why]:
        turns = [{"from": "human", "value": "ab"}, {"from": "gpt", "value": "cd"}]
        good = json.dumps({"conversations": turns}).encode()
    path = tmp_path / "chat.jsonl"
    path.write_bytes(b"\xef\xbb\xbf" + good + b"\n\n  \r\n" + good + b"\r\n" + BAD[why] + b"\n" + good)
    told = why_not(folder, f"jsonl:{path}", tmp_path / "out")
    assert f"{path}, line 5: " in told and why in told and "--on-bad-sample skip" in told
    left = made(folder, f"jsonl:{path}", tmp_path / "out", on_bad_sample="skip")
    assert left["documents"] == 3 and left["counts"]["bad"] == 1 and left["counts"]["rows"] == 4
    assert why in left["left_out"][0]


def test_a_first_row_that_is_bad(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "x"}\n' + json.dumps(text_data.chat(1)) + "\n")
    told = why_not(folder, f"jsonl:{path}", tmp_path / "out")
    assert f"{path}, line 1: " in told and "`question`" in told and "?column=NAME" in told
    assert made(folder, f"jsonl:{path}", tmp_path / "out", on_bad_sample="skip")["documents"] == 1


def test_sources_that_cannot_be_read(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (tmp_path / "empty.jsonl").touch()
    assert "no rows" in why_not(folder, f"jsonl:{tmp_path}/empty.jsonl", out)
    (tmp_path / "blank.jsonl").write_text("\n \n")
    assert "no rows" in why_not(folder, f"jsonl:{tmp_path}/blank.jsonl", out)
    assert "no file is named" in why_not(folder, f"jsonl:{tmp_path}/*.txt", out)
    assert "is a folder" in why_not(folder, f"jsonl:{tmp_path}", out)
    with gzip.open(tmp_path / "a.jsonl.gz", "wb") as file:
        file.write(b"{}")
    assert "gunzip" in why_not(folder, f"jsonl:{tmp_path}/a.jsonl.gz", out)
    assert "jsonl:FILES" in why_not(folder, f"json:{tmp_path}/a", out)
    source = text_data.write_rows(tmp_path / "chat.jsonl", [text_data.chat(1)])
    assert "Did you mean `column`" in why_not(folder, source + "?colum=x", out)
    assert "no column `x`" in why_not(folder, source + "?column=x", out)
    (tmp_path / "dir").mkdir()
    assert "no tokenizer.json" in why_not(folder, source, out, tokenizer=str(tmp_path / "dir"))
    (tmp_path / "dir/tokenizer.json").write_text("{}")
    assert "cannot be loaded" in why_not(folder, source, out, tokenizer=str(tmp_path / "dir"))
    assert "is no folder" in why_not(folder, source, out, tokenizer=str(tmp_path / "not/there"))


def test_held_out_rows_go_by_a_hash_of_the_row(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    rows = [{"text": text_data.words(5, seed)} for seed in range(600)]
    source = text_data.write_rows(tmp_path / "p.jsonl", rows)
    told = made(folder, source, tmp_path / "out", test=0.2)
    train, test = documents(tmp_path / "out"), documents(tmp_path / "out", ".test")
    assert len(train) == told["documents"] and len(test) == told["counts"]["test_documents"]
    assert 60 < len(test) < 180 and len(train) + len(test) == 600
    # A row stays on its side in another order, and among others.
    again = text_data.write_rows(tmp_path / "q.jsonl", rows[::-1][:300])
    made(folder, again, tmp_path / "again", test=0.2)
    held = {tuple(tokens) for tokens, _ in test}
    assert {tuple(tokens) for tokens, _ in documents(tmp_path / "again", ".test")} <= held
    assert not {tuple(tokens) for tokens, _ in documents(tmp_path / "again")} & held


def test_parquet_huggingface_and_text_files(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    import datasets

    rows = [text_data.chat(seed, turns=1 + seed % 2) for seed in range(30)]
    source = text_data.write_rows(tmp_path / "chat.jsonl", rows)
    made(folder, source, tmp_path / "jsonl")
    dataset = datasets.Dataset.from_list(rows)
    dataset.to_parquet(str(tmp_path / "chat.parquet"), batch_size=7)
    dataset.save_to_disk(str(tmp_path / "saved"))
    made(folder, f"parquet:{tmp_path}/chat.parquet", tmp_path / "parquet")
    made(folder, f"huggingface:{tmp_path}/saved", tmp_path / "saved_out")
    assert documents(tmp_path / "parquet") == documents(tmp_path / "jsonl")
    assert documents(tmp_path / "saved_out") == documents(tmp_path / "jsonl")
    (tmp_path / "a.txt").write_text("ab cd\nef\n")
    (tmp_path / "b.txt").write_text("gh\n")
    made(folder, f"text:{tmp_path}/*.txt", tmp_path / "files")
    eos = tokenizer.eos_token_id
    assert documents(tmp_path / "files") == [
        ([*tokenizer(text)["input_ids"], eos], None) for text in ("ab cd\nef\n", "gh\n")
    ]
    made(folder, f"text:{tmp_path}/*.txt?by=line", tmp_path / "lines")
    assert documents(tmp_path / "lines") == [
        ([*tokenizer(text)["input_ids"], eos], None) for text in ("ab cd", "ef", "gh")
    ]
    (tmp_path / "b.txt").write_bytes(b"ab\xff")
    assert "b.txt: its byte 3 is no UTF-8" in why_not(
        folder, f"text:{tmp_path}/*.txt", tmp_path / "bad"
    )


def test_the_key_stands_for_all_that_decides(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    source = text_data.write_rows(tmp_path / "chat.jsonl", [text_data.chat(1)])

    def key(**options: Any) -> str:
        return corpus(folder, options.pop("source", source), tmp_path / "x", **options)[0].key

    keys = [key(), key(train_on="all"), key(test=0.5), key(on_bad_sample="skip")]
    (tmp_path / "t.jinja").write_text(text_data.TEMPLATE + " ")
    keys.append(key(chat_template=str(tmp_path / "t.jinja")))
    text_data.save_tokenizer(folder / "bare", bos=False)
    keys.append(key(tokenizer=str(folder / "bare")))
    assert key() == keys[0]
    text_data.write_rows(tmp_path / "chat.jsonl", [text_data.chat(1)])  # as before, but later
    keys.append(key())
    assert len(set(keys)) == len(keys)


def test_a_corpus_is_made_once_and_never_written_over(
    folder: Path, tokenizer: Any, tmp_path: Path
) -> None:
    source = text_data.write_rows(tmp_path / "chat.jsonl", [text_data.chat(1)])
    made(folder, source, tmp_path / "out")
    before = os.stat(tmp_path / "out.bin").st_mtime_ns
    again, said = corpus(folder, source, tmp_path / "out")
    again.make()
    assert "is there already" in said[0]
    assert os.stat(tmp_path / "out.bin").st_mtime_ns == before
    assert "another --out" in why_not(folder, source, tmp_path / "out", train_on="all")
    below, _ = corpus(folder, source, tmp_path / "dir", under_key=True)
    below.make()
    assert (tmp_path / "dir" / below.key / "corpus.bin").exists()


def test_a_source_that_changes_meanwhile_is_noticed(
    folder: Path, tokenizer: Any, tmp_path: Path
) -> None:
    source = text_data.write_rows(tmp_path / "chat.jsonl", [text_data.chat(1)])
    making, _ = corpus(folder, source, tmp_path / "out")
    text_data.write_rows(tmp_path / "chat.jsonl", [text_data.chat(1), text_data.chat(2)])
    with pytest.raises(bc.errors.BadDataset, match="were changed while"):
        making.make()
    assert not (tmp_path / "out.bin").exists()


def test_disk_space_is_looked_at_first(
    folder: Path, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = text_data.write_rows(tmp_path / "chat.jsonl", [text_data.chat(1)] * 100)
    making, _ = corpus(folder, source, tmp_path / "out")
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("U", (), {"free": 100})())
    with pytest.raises(bc.errors.Error, match=r"0\.0 MB free, and the corpus takes about 0\.0 MB"):
        making.make()
    assert not (tmp_path / "out.journal").exists()


def test_what_was_made_says_how_much_room_the_rest_needs(
    folder: Path, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("batchcast._text._rows._PIECE_BYTES", 1 << 16)
    rows = [text_data.chat(seed, letters=300) for seed in range(20)] * 20
    source = text_data.write_rows(tmp_path / "chat.jsonl", rows)

    class Asked(Exception):
        pass

    class EndsInTheMiddle(NoProgress):
        def show(self, done: int, tokens: int) -> None:
            if done > 600_000:
                raise Asked

    making, _ = corpus(folder, source, tmp_path / "out")
    making._progress = EndsInTheMiddle()
    with pytest.raises(Asked):
        making.make()
    there = sum(path.stat().st_size for path in tmp_path.glob("out.*.part"))
    usage = type("U", (), {"free": 1})()
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    making, _ = corpus(folder, source, tmp_path / "out")
    with pytest.raises(bc.errors.Error, match=r"what is left of the corpus takes about .* MB") as refused:
        making.make()
    needed = float(str(refused.value).partition("takes about ")[2].split()[0])
    usage.free = 1 << 40
    assert making.make()["documents"] == 400
    whole = sum((tmp_path / f"out.{ending}").stat().st_size for ending in ("bin", "loss_mask"))
    assert needed == pytest.approx((whole - there) / 1e6, rel=0.1, abs=0.1)


# ---- processes


def command(folder: Path, source: str, out: Path, *words: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [support.COMMAND, "tokenize", source, "--tokenizer", str(folder / "tok"), "--out", str(out),
         "--workers", "2", *words],
        env=support.environment(BATCHCAST_PYTHON=sys.executable),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def ended(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    out, error = process.communicate(timeout=100)
    return process.returncode, out.decode(), error.decode()


def files_of(prefix: Path) -> dict[str, bytes]:
    names = (".bin", ".idx", ".loss_mask", ".test.bin", ".test.idx", ".test.loss_mask")
    return {name: Path(f"{prefix}{name}").read_bytes() for name in names}


def long_source(path: Path, rows: int) -> str:
    line = [json.dumps(text_data.chat(seed, letters=150)) + "\n" for seed in range(50)]
    draw = random.Random(5)
    path.write_text("".join(draw.choice(line) for _ in range(rows)))
    return f"jsonl:{path}"


def lines_in(journal: Path) -> int:
    return journal.read_text().count("\n") if journal.exists() else 0


def wait_for_journal(prefix: Path, lines: int, process: subprocess.Popen[bytes]) -> None:
    while process.poll() is None and lines_in(Path(f"{prefix}.journal")) < lines:
        time.sleep(0.01)


def test_killed_runs_go_on_and_the_result_is_the_same(
    folder: Path, tokenizer: Any, tmp_path: Path
) -> None:
    source = long_source(tmp_path / "chat.jsonl", 4000)
    code, out, error = ended(command(folder, source, tmp_path / "whole", "--test", "0.1"))
    assert code == 0, error
    assert "documents" in out
    went_on = 0
    for how in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        before = max(1, lines_in(tmp_path / "cut.journal"))
        process = command(folder, source, tmp_path / "cut", "--test", "0.1")
        wait_for_journal(tmp_path / "cut", before + 1, process)
        process.send_signal(how)
        code, _, error = ended(process)
        went_on += "going on at" in error
        if code == 0:
            break
        assert code == (-9 if how == signal.SIGKILL else 128 + how), error
        if how != signal.SIGKILL:
            assert "The same command goes on from here" in error
    assert went_on > 0
    code, _, error = ended(command(folder, source, tmp_path / "cut", "--test", "0.1"))
    assert code == 0, error
    assert files_of(tmp_path / "cut") == files_of(tmp_path / "whole")
    left = {path.name for path in tmp_path.glob("cut.*")} - {"cut.lock"}
    assert not {name for name in left if name.endswith((".part", ".journal"))}


def test_a_run_that_was_killed_as_it_finished_is_finished(
    folder: Path, tokenizer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = text_data.write_rows(tmp_path / "c.jsonl", [text_data.chat(s) for s in range(50)])
    made(folder, source, tmp_path / "whole", test=0.3)
    replace = os.replace
    for at in range(8):
        calls = []

        def dies(*paths: Any, at: int = at, calls: list[Any] = calls) -> None:
            if len(calls) == at:
                raise KeyboardInterrupt
            calls.append(paths)
            replace(*paths)

        monkeypatch.setattr(os, "replace", dies)
        with pytest.raises(KeyboardInterrupt):
            made(folder, source, tmp_path / f"cut{at}", test=0.3)
        monkeypatch.setattr(os, "replace", replace)
        made(folder, source, tmp_path / f"cut{at}", test=0.3)
        assert files_of(tmp_path / f"cut{at}") == files_of(tmp_path / "whole")


def test_two_at_once_make_one(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    source = long_source(tmp_path / "chat.jsonl", 1200)
    first = command(folder, source, tmp_path / "out", "--json")
    wait_for_journal(tmp_path / "out", 1, first)
    first.send_signal(signal.SIGSTOP)
    second = command(folder, source, tmp_path / "out", "--json")
    assert second.stderr is not None
    waits = b""
    while b"waiting for it" not in waits:
        read = os.read(second.stderr.fileno(), 4096)
        assert read, waits
        waits += read
    first.send_signal(signal.SIGCONT)
    one, other = ended(first), ended(second)
    assert one[0] == other[0] == 0, (one, other)
    assert json.loads(one[1]) == json.loads(other[1])
    assert "is there already" in other[2]


def test_the_command_refuses_what_it_cannot_mean(folder: Path, tmp_path: Path) -> None:
    def refused(*words: str, **environment: str) -> tuple[int, str]:
        run = subprocess.run(
            [support.COMMAND, "tokenize", *words],
            env=support.environment(
                **{"BATCHCAST_PYTHON": sys.executable, "HF_HUB_OFFLINE": "1", **environment}
            ),
            capture_output=True, timeout=60,
        )  # fmt: skip
        return run.returncode, run.stderr.decode()

    asked = ("jsonl:x", "--tokenizer", "t", "--out", "o")
    assert refused("jsonl:x", "--out", "o")[0] == 2
    code, error = refused(*asked, "--train-on", "answers")
    assert code == 2 and "assistant" in error
    code, error = refused(*asked, "--test", "2")
    assert code == 2 and "--test" in error
    code, error = refused(*asked)
    assert code == 3 and "tokenizer" in error
    code, error = refused(*asked, BATCHCAST_PYTHON="/usr/bin/nopython")
    assert code == 2 and "BATCHCAST_PYTHON" in error


def test_a_python_without_tokenizers_is_refused_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "tokenizers.py").write_text("raise ImportError('not here')")
    env = support.environment()
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), env["PYTHONPATH"]])
    run = subprocess.run(
        [sys.executable, "-m", "batchcast._text", "jsonl:x", "--tokenizer=t", "--out=o"],
        env=env, capture_output=True, timeout=60,
    )  # fmt: skip
    assert run.returncode == 3
    assert b"pip install transformers" in run.stderr and b"BATCHCAST_PYTHON" in run.stderr


def test_a_corpus_is_served(folder: Path, tokenizer: Any, tmp_path: Path) -> None:
    rows = [text_data.chat(seed) for seed in range(20)]
    source = text_data.write_rows(tmp_path / "chat.jsonl", rows)
    told = made(folder, source, tmp_path / "out", test=0.3)
    for split, name in (("", "train"), (".test", "test")):
        expected = documents(tmp_path / "out", split)
        with bc.serve(
            f"megatron:{tmp_path}/out?split={name}", stream=f"text-{name}", order="sequential",
            epochs=1, background=True,
        ):  # fmt: skip
            consumer = bc.Consumer(f"text-{name}", batch_size=1)
            read = [
                (batch["tokens"].values.tolist(), batch["loss_mask"].values.tolist())
                for batch in consumer
            ]
        assert read == expected
    assert told["counts"]["documents"] + told["counts"]["test_documents"] == 20
