# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Batches for language models that need no padding: tokens a second of a trainer in Python.

`language.py BATCHCAST ROUNDS` takes turns: a Loader with ragged="varlen" over texts that `batchcast
serve` shuffles, and torch's DataLoader over the same texts. The DataLoader has two worker processes, a
dataset of Hugging Face's in memory, and transformers' DataCollatorWithFlattening. Both give the same
keys in the same dtypes, in batches of about 16,384 tokens, and the trainer looks at one value of each.
"""

import itertools
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile

import numpy as np
from ragged_text import BUDGET, MEAN, lengths, measure, texts


def loss_masks():
    rng = np.random.default_rng(3)
    return [(rng.random(rows) < 0.5).astype(np.uint8) for rows in lengths()]


def write(folder):
    np.save(f"{folder}/tokens.npy", np.concatenate(texts()))
    np.save(f"{folder}/loss_mask.npy", np.concatenate(loss_masks()))
    np.save(f"{folder}/offsets.npy", np.concatenate(([0], np.cumsum(lengths()))))


def looked_at(batches):
    """Values and offsets of each batch, in which the trainer looks."""
    for batch in batches:
        yield batch["labels"][0], batch["cu_seq_lens_q"]


def read(stream, seconds):
    import batchcast as bc

    loader = bc.Loader(stream, budget=("tokens", BUDGET), ragged="varlen", connect_timeout=60)
    return measure(looked_at(itertools.chain.from_iterable(itertools.repeat(loader))), seconds)


def dataloader(seconds):
    import datasets
    import torch
    import transformers

    labels = [np.where(mask == 1, text, -100) for text, mask in zip(texts(), loss_masks())]
    dataset = datasets.Dataset.from_dict({"input_ids": texts(), "labels": labels})
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=BUDGET // MEAN, shuffle=True, num_workers=2, persistent_workers=True,
        collate_fn=transformers.DataCollatorWithFlattening(
            return_flash_attn_kwargs=True, return_seq_idx=True
        ),
    )
    return measure(looked_at(itertools.chain.from_iterable(itertools.repeat(loader))), seconds)


def said_by(*words):
    run = [sys.executable, __file__, *words]
    return json.loads(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def compare(command, rounds):
    stream = f"language-{platform.node()[:20]}-{os.getpid()}"
    pairs = []
    with tempfile.TemporaryDirectory() as folder:
        write(folder)
        source = "npy:" + ",".join(
            f"{part}={folder}/{part}.npy,{part}.offsets={folder}/offsets.npy" for part in ("tokens", "loss_mask")
        )
        serve = [command, "serve", source, "--stream", stream, "--order", "reshuffle"]
        for _ in range(rounds):
            theirs = said_by("dataloader")
            with subprocess.Popen(serve, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as producer:
                try:
                    pairs.append((theirs, said_by("read", stream)))
                finally:
                    producer.terminate()
    ratios = [ours / theirs for theirs, ours in pairs]
    theirs, ours = (statistics.median(side) for side in zip(*pairs))
    print(
        f"varlen  DataLoader {theirs / 1e6:6.2f} M tokens/s  stream {ours / 1e6:6.2f} M tokens/s"
        f"  stream / DataLoader {statistics.median(ratios):.1f} ({min(ratios):.1f} to {max(ratios):.1f})"
    )
    print(json.dumps({"machine": platform.node(), "varlen_over_dataloader": statistics.median(ratios)}))


if __name__ == "__main__":
    if sys.argv[1] == "read":
        print(json.dumps(read(sys.argv[2], seconds=5)))
    elif sys.argv[1] == "dataloader":
        print(json.dumps(dataloader(seconds=5)))
    else:
        compare(sys.argv[1], int(sys.argv[2]))
