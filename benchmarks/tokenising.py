#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Tokenising beside `datasets.map(num_proc)` with the same tokenizer.

    PYTHONPATH=build/release/python python3 benchmarks/tokenising.py [MEGABYTES] [PROCESSES]

It needs datasets, tokenizers and transformers. Both read one JSONL file of plain text, in interleaved rounds,
and write tokens to disk. Importing is left out on both sides, starting processes is not.
"""

import json
import os
import random
import resource
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"

import datasets
import pyarrow.compute
from batchcast._text._corpus import Corpus, Plan
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import AutoTokenizer, PreTrainedTokenizerFast

ROUNDS = 3


class Silent:
    def begin(self, done, total):
        pass

    show = end = begin

    def wait(self, share):
        pass


def make(folder, megabytes):
    draw = random.Random(7)
    letters = "eeeetttaaoinshrdlucmwfgypbvk"
    words = ["".join(draw.choice(letters) for _ in range(draw.randint(1, 10))) for _ in range(8000)]

    def text(number):
        return " ".join(draw.choice(words) for _ in range(number))

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=8000, special_tokens=["</s>"], show_progress=False)
    tokenizer.train_from_iterator([text(1000) for _ in range(30)], trainer)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="</s>").save_pretrained(folder / "tok")
    size = 0
    with open(folder / "rows.jsonl", "w") as file:
        while size < megabytes * 1e6:
            size += file.write(json.dumps({"text": text(400)}) + "\n")


def ours(folder, number, processes):
    begin = time.perf_counter()
    plan = Plan(f"jsonl:{folder}/rows.jsonl", str(folder / "tok"), str(folder / f"ours{number}"),
                workers=processes)  # fmt: skip
    told = Corpus(plan, print, Silent()).make()
    return time.perf_counter() - begin, told["tokens"]


def theirs(folder, number, processes):
    begin = time.perf_counter()
    tokenizer = AutoTokenizer.from_pretrained(folder / "tok")
    rows = datasets.load_dataset(
        "json", data_files=str(folder / "rows.jsonl"), split="train",
        cache_dir=str(folder / f"theirs{number}"),
    )  # fmt: skip
    mapped = rows.map(
        lambda batch: {"input_ids": [one + [tokenizer.eos_token_id] for one in
                                     tokenizer(batch["text"])["input_ids"]]},
        batched=True, num_proc=processes, remove_columns=["text"],
    )  # fmt: skip
    seconds = time.perf_counter() - begin
    lengths = pyarrow.compute.list_value_length(mapped.data.column("input_ids"))
    return seconds, pyarrow.compute.sum(lengths).as_py()


def processor_seconds():
    """Of this process and its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def main():
    megabytes = float(sys.argv[1]) if len(sys.argv) > 1 else 100
    processes = int(sys.argv[2]) if len(sys.argv) > 2 else len(os.sched_getaffinity(0))
    datasets.disable_progress_bars()
    folder = Path(tempfile.mkdtemp(prefix="batchcast-tokenize-"))
    try:
        make(folder, megabytes)
        seconds = {"batchcast": [], "datasets": []}
        processor = {"batchcast": [], "datasets": []}
        tokens = set()
        for number in range(ROUNDS):
            for name, run in (("batchcast", ours), ("datasets", theirs)):
                used = processor_seconds()
                took, count = run(folder, number, processes)
                processor[name].append(processor_seconds() - used)
                seconds[name].append(took)
                tokens.add(count)
                shutil.rmtree(folder / f"theirs{number}", ignore_errors=True)
        assert len(tokens) == 1, tokens
        for name, all_seconds in seconds.items():
            rate = tokens.copy().pop() / statistics.median(all_seconds) / 1e6
            print(f"{name}: {rate:.2f} million tokens a second ({processes} processes, "
                  f"{megabytes:g} MB, {ROUNDS} rounds)")  # fmt: skip
        ratio = statistics.median(seconds["datasets"]) / statistics.median(seconds["batchcast"])
        print(f"batchcast / datasets: {ratio:.2f} (goal: 0.9)")
        cpu = statistics.median(processor["datasets"]) / statistics.median(processor["batchcast"])
        print(f"the same by processor time: {cpu:.2f}")
    finally:
        shutil.rmtree(folder)


if sys.argv[1:2] == ["--make"]:  # the rows and the tokenizer alone
    make(Path(sys.argv[2]), float(sys.argv[3]))
else:
    main()
