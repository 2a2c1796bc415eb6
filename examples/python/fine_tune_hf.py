# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Fine-tunes a small Llama with the Trainer of Hugging Face: `python fine_tune_hf.py FOLDER`.

FOLDER has tokens.npy, loss_mask.npy and offsets.npy, which says where each text begins.
"""

import sys
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, TrainingArguments

import batchcast as bc
from batchcast.huggingface import SharedTrainer

folder = sys.argv[1]
torch.manual_seed(0)
model = LlamaForCausalLM(
    LlamaConfig(
        vocab_size=256, hidden_size=32, intermediate_size=64, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=4,
    )
)
# [snippet loader]
parts = ",".join(f"{part}={folder}/{part}.npy,{part}.offsets={folder}/offsets.npy"
                 for part in ("tokens", "loss_mask"))
loader = bc.Loader("chat", budget=("tokens", 1024), ragged="varlen", start=bc.Start(f"npy:{parts}"))
# [snippet end]
with tempfile.TemporaryDirectory() as out:
    arguments = TrainingArguments(
        out, max_steps=20, learning_rate=0.01, logging_steps=1, report_to=[], use_cpu=True,
        disable_tqdm=True, save_strategy="no",
    )
    # [snippet train]
    trainer = SharedTrainer(model, arguments, train_dataset=loader)
    trainer.train()
    # [snippet end]
losses = [entry["loss"] for entry in trainer.state.log_history if "loss" in entry]
print(f"{len(losses)} steps, loss {losses[0]:.2f} to {losses[-1]:.2f}")
