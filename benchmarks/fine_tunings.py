# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What the data of four fine-tunings cost, from JSONL to batch 1,000 of each, with empty caches.

`fine_tunings.py BATCHCAST MEGABYTES ROUNDS [BATCHES]` takes turns. Ours: four trainers start at once, each with
bc.Start(tokenizer=…) and Loader(ragged="varlen"); whichever is first tokenises. Stock: four trainers
start at once, each with `datasets.load_dataset`, `map` that tokenises, and torch's DataLoader without
workers with transformers' DataCollatorWithFlattening; they share a cache of Hugging Face's, as four jobs
of one user do. No trainer computes. All batches have about 16,384 tokens.

It prints processor seconds of all processes of a side, and bytes that they wrote to disk. Each trainer's
imports are left out on both sides; those of our process that tokenises are not.
"""

import ctypes
import json
import os
import platform
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BATCHES = int(os.environ.get("FINE_TUNING_BATCHES", 1000))
BUDGET = 16384
TRAINERS = 4


def written():
    with open("/proc/self/io") as file:
        told = dict(line.split(": ") for line in file.read().splitlines())
    return int(told["write_bytes"])


def processor_seconds():
    """Of this process and of its children that have ended."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def read(batches, imports):
    tokens = came = 0
    for batch in batches:
        tokens += batch["labels"].shape[-1]
        came += 1
        if came == BATCHES:
            break
    print(json.dumps({"imports": imports, "batches": came, "tokens": tokens}))


def endless(loader):
    while True:
        yield from loader


def ours(folder, stream):
    import batchcast as bc
    import torch  # noqa: F401

    imports = processor_seconds()
    start = bc.Start(
        f"jsonl:{folder}/rows.jsonl", tokenizer=f"{folder}/tok", corpus=f"{folder}/ours", idle_exit=2,
        wait_for=TRAINERS,
    )  # fmt: skip
    loader = bc.Loader(stream, budget=("tokens", BUDGET), ragged="varlen", start=start, connect_timeout=600)
    read(endless(loader), imports)


def stock(folder):
    import datasets
    import torch
    import transformers

    imports = processor_seconds()
    datasets.disable_progress_bars()
    tokenizer = transformers.AutoTokenizer.from_pretrained(f"{folder}/tok")
    rows = datasets.load_dataset("json", data_files=f"{folder}/rows.jsonl", split="train")

    def tokenise(batch):
        ids = tokenizer(batch["text"])["input_ids"]
        return {"input_ids": [[*one, tokenizer.eos_token_id] for one in ids]}

    dataset = rows.map(
        tokenise, batched=True, num_proc=len(os.sched_getaffinity(0)), remove_columns=["text"]
    )
    mean = statistics.mean(len(ids) for ids in dataset[:200]["input_ids"])
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=round(BUDGET / mean), shuffle=True,
        collate_fn=transformers.DataCollatorWithFlattening(return_flash_attn_kwargs=True, return_seq_idx=True),
    )  # fmt: skip
    read(endless(loader), imports)


def side(words):
    """Four trainers at once. A producer that they start becomes this process's child."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    before, disk, began = processor_seconds(), written(), time.monotonic()
    trainers = [
        subprocess.Popen([sys.executable, __file__, *words], stdout=subprocess.PIPE, text=True)
        for _ in range(TRAINERS)
    ]
    told = [json.loads(trainer.communicate()[0].splitlines()[-1]) for trainer in trainers]
    seconds = time.monotonic() - began
    while True:  # the producer ends by itself
        try:
            os.wait()
        except ChildProcessError:
            break
    print(json.dumps({
        "cpu": processor_seconds() - before - sum(one["imports"] for one in told),
        "bytes": written() - disk, "seconds": seconds, "batches": sum(one["batches"] for one in told),
        "tokens": sum(one["tokens"] for one in told),
    }))  # fmt: skip


def said_by(*words, **environment):
    run = [sys.executable, __file__, *words]
    done = subprocess.run(
        run, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **environment}
    )
    return json.loads(done.stdout)


def compare(command, megabytes, rounds):
    os.environ.update(BATCHCAST_COMMAND=command, BATCHCAST_PYTHON=sys.executable,
                      TOKENIZERS_PARALLELISM="false", HF_HUB_OFFLINE="1")  # fmt: skip
    folder = Path(tempfile.mkdtemp(prefix="batchcast-fine-tunings-"))
    pairs = []
    try:
        os.environ["BATCHCAST_DIR"] = str(folder / "streams")
        (folder / "streams").mkdir(mode=0o700)
        subprocess.run([sys.executable, str(Path(__file__).with_name("tokenising.py")), "--make",
                        str(folder), str(megabytes)], check=True)  # fmt: skip
        for number in range(rounds):
            theirs = said_by("side", "stock", str(folder), HF_HOME=str(folder / "stock"))
            shutil.rmtree(folder / "stock")
            pairs.append((theirs, said_by("side", "ours", str(folder), f"fine-tunings-{os.getpid()}-{number}")))
            shutil.rmtree(folder / "ours")
            print(json.dumps(pairs[-1]), file=sys.stderr)
    finally:
        shutil.rmtree(folder)
    ratios = {}
    for what, unit in (("cpu", 1), ("bytes", 1e6), ("seconds", 1)):
        stock_, ours_ = (statistics.median(one[what] for one in part) / unit for part in zip(*pairs))
        ratios[what] = statistics.median(mine[what] / other[what] for other, mine in pairs)
        print(f"{what:8} four stock loaders {stock_:8.1f}   one stream {ours_:8.1f}   ratio {ratios[what]:.2f}")
    batches = int(os.environ.get("FINE_TUNING_BATCHES", BATCHES))
    print(json.dumps({"machine": platform.node(), "megabytes": megabytes, "batches": batches, **ratios}))


if __name__ == "__main__":
    chosen = {"ours": ours, "stock": stock}.get(sys.argv[1])
    if chosen is not None:
        chosen(*sys.argv[2:])
    elif sys.argv[1] == "side":
        side(sys.argv[2:])
    else:
        if len(sys.argv) > 4:
            os.environ["FINE_TUNING_BATCHES"] = sys.argv[4]  # for the processes that it starts
        compare(sys.argv[1], float(sys.argv[2]), int(sys.argv[3]))
