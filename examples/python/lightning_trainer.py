# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Under Lightning: `python lightning_trainer.py FOLDER`, of MNIST's or Fashion-MNIST's files."""

import sys

import lightning
import torch

import batchcast as bc

folder = sys.argv[1]


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))

    def training_step(self, batch, index):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def validation_step(self, batch, index):
        images, labels = batch
        right = (self.model(images).argmax(1) == labels).float().mean()
        self.log("accuracy", right, batch_size=len(labels))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


# [snippet fit]
train = bc.Loader("mnist", batch_size=256, start=bc.Start("idx:" + folder, recipe="mnist"))
test = bc.Loader(
    "mnist-test",
    batch_size=500,
    between_epochs="let_go",
    start=bc.Start("idx:" + folder + "?split=test", recipe="mnist"),
)
trainer = lightning.Trainer(
    max_epochs=1,
    num_sanity_val_steps=0,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Classifier(), train, test)
# [snippet end]
print(f"{trainer.global_step} steps, accuracy {float(trainer.callback_metrics['accuracy']):.1%}")
