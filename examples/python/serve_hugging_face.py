# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""A dataset of Hugging Face's library for every trainer: `python serve_hugging_face.py NAME RECIPE`.

NAME is a name on the Hub, a folder of `save_to_disk`, of Parquet files or of images.
"""

import sys

import batchcast as bc

name, recipe = sys.argv[1:]
# [snippet serve]
from datasets import load_dataset, load_from_disk  # noqa: E402

dataset = load_from_disk(name) if name.startswith("/") else load_dataset(name, split="train")
source = bc.sources.HuggingFace(dataset, image="image", label="label")
print(f"{len(source)} images of {len(source.class_names)} classes")
bc.serve(source, recipe=recipe, stream="images", epochs=2, wait_for=1)
# [snippet end]
