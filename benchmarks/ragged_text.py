# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Texts of different lengths as values and offsets, in torch tensors: rows a second.

`ragged_text.py serve STREAM` serves them from memory, `ragged_text.py read STREAM` is a trainer with a
budget, and `ragged_text.py dataloader` reads the same texts with torch's DataLoader: two worker
processes, the texts in a dataset of Hugging Face's in memory (a list, where `datasets` is not
installed), and a collate_fn that puts them one after the other. All make batches of 16,384 rows, and
the readers look at one value of each.
"""

import argparse
import itertools
import json
import time

import numpy as np
import torch

BUDGET = 16_384
MEAN = 400
TEXTS = 20_000


def lengths():
    return np.random.default_rng(1).integers(1, 2 * MEAN, TEXTS)


def texts():
    rng = np.random.default_rng(2)
    return [rng.integers(0, 50_000, rows, dtype=np.int32) for rows in lengths()]


def serve(stream):
    import batchcast as bc

    all_texts = texts()
    # Of about a megabyte, so that handing them over costs little.
    size = 640
    batches = []
    for begin in range(0, TEXTS, size):
        some = all_texts[begin : begin + size]
        offsets = np.concatenate(([0], np.cumsum([len(text) for text in some])))
        batches.append({"tokens": bc.Ragged(np.concatenate(some), offsets)})
    bc.serve(
        itertools.cycle(batches), stream=stream, axes={"tokens": "tokens"}, memory="256MiB", wait_for=1
    )


def measure(batches, seconds):
    """Rows a second, after a second of warming up."""
    rows = seen = 0
    began = time.perf_counter()
    until = began + 1
    for values, offsets in batches:
        seen += int(values[-1]) + int(offsets[-1])
        rows += len(values)
        if (now := time.perf_counter()) < until:
            continue
        if until != began + 1:
            return rows / (now - started)
        started, until, rows = now, now + seconds, 0
    raise SystemExit("the batches ended before the time was over")


def read(stream, seconds):
    import batchcast as bc

    loader = bc.Loader(stream, fields=dict, budget=("tokens", BUDGET), connect_timeout=60)

    def batches():
        while True:
            for batch in loader:
                tokens = batch["tokens"]
                yield tokens.values, tokens.offsets

    return measure(batches(), seconds)


def flatten(samples):
    tokens = [torch.as_tensor(sample["tokens"], dtype=torch.int32) for sample in samples]
    offsets = torch.zeros(len(tokens) + 1, dtype=torch.int64)
    offsets[1:] = torch.cumsum(torch.tensor([len(one) for one in tokens]), 0)
    return torch.cat(tokens), offsets


def dataloader(seconds, plain):
    dataset = [{"tokens": text} for text in texts()]
    if not plain:
        import datasets

        dataset = datasets.Dataset.from_dict({"tokens": [one["tokens"] for one in dataset]}).with_format(
            "torch"
        )
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=BUDGET // MEAN, shuffle=True, num_workers=2, collate_fn=flatten,
        persistent_workers=True,
    )
    return measure(itertools.chain.from_iterable(itertools.repeat(loader)), seconds)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("serve", "read", "dataloader"))
    parser.add_argument("stream", nargs="?")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--plain", action="store_true", help="a list in place of `datasets`")
    said = parser.parse_args()
    if said.what == "serve":
        return serve(said.stream)
    rate = read(said.stream, said.seconds) if said.what == "read" else dataloader(said.seconds, said.plain)
    print(json.dumps({"rows_per_second": rate}))


if __name__ == "__main__":
    main()
