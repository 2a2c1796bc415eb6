# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Fine-tunes a small Llama with TRL's SFTTrainer: `python fine_tune_trl.py FOLDER`.

FOLDER has tokens.npy, loss_mask.npy and offsets.npy, which says where each text begins, and the
tokenizer that made them, as `save_pretrained` writes it.
"""

import sys
import tempfile

import datasets
import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from trl import SFTConfig, SFTTrainer

import batchcast as bc
from batchcast.huggingface import SharedTrainer

folder = sys.argv[1]
tokenizer = AutoTokenizer.from_pretrained(folder)
torch.manual_seed(0)
model = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4,
    )
)
parts = ",".join(f"{part}={folder}/{part}.npy,{part}.offsets={folder}/offsets.npy"
                 for part in ("tokens", "loss_mask"))
loader = bc.Loader("chat", budget=("tokens", 1024), ragged="varlen", start=bc.Start(f"npy:{parts}"))


# [snippet trainer]
class StreamTrainer(SharedTrainer, SFTTrainer):
    """An SFTTrainer whose batches are those of a Loader."""


NOT_READ = datasets.Dataset.from_dict({"input_ids": [[0]], "labels": [[0]]})  # it insists on one
# [snippet end]
with tempfile.TemporaryDirectory() as out:
    # [snippet train]
    arguments = SFTConfig(
        out, max_steps=20, learning_rate=0.01, logging_steps=1, report_to=[], use_cpu=True, bf16=False,
        disable_tqdm=True, save_strategy="no",
        padding_free=True, max_length=None, dataset_kwargs={"skip_prepare_dataset": True},
    )
    trainer = StreamTrainer(model, arguments, train_dataset=NOT_READ, processing_class=tokenizer)
    trainer.train_dataset = loader
    trainer.train()
    # [snippet end]
losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
print(f"{len(losses)} steps, loss {losses[0]:.2f} to {losses[-1]:.2f}")
