# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Under the Trainer of Hugging Face: `python hf_trainer.py FOLDER`, of MNIST's or Fashion-MNIST's files."""

import sys
import tempfile

import torch
from transformers import TrainingArguments

import batchcast as bc
from batchcast.huggingface import SharedTrainer

folder = sys.argv[1]


class Classifier(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))

    def forward(self, pixel_values, labels):
        scores = self.model(pixel_values)
        return {"loss": torch.nn.functional.cross_entropy(scores, labels), "logits": scores}


# [snippet loader]
loader = bc.Loader(
    "mnist",
    batch_size=256,
    fields={"pixel_values": "image", "labels": "label"},  # the names of the model's arguments
    start=bc.Start("idx:" + folder, recipe="mnist"),
)
# [snippet end]
with tempfile.TemporaryDirectory() as out:
    arguments = TrainingArguments(
        out, num_train_epochs=1, per_device_train_batch_size=256, report_to=[], use_cpu=True,
        save_strategy="steps", save_steps=25, disable_tqdm=True, learning_rate=0.01,
    )
    # [snippet train]
    trainer = SharedTrainer(Classifier(), arguments, train_dataset=loader)
    result = trainer.train()  # resume_from_checkpoint=True goes on in mid-epoch, at the next sample
    # [snippet end]
print(f"{result.global_step} steps, loss {result.training_loss:.2f}")
