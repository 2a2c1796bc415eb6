# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Under Lightning, data-parallel: `python lightning_ddp.py FOLDER`, of MNIST's or Fashion-MNIST's files.

Lightning starts the second process, which runs this script as well.
"""

import sys

import lightning
import torch

import batchcast as bc

folder = sys.argv[1]


class Classifier(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.model = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10))
        self.samples = 0

    # [snippet loaders]
    def train_dataloader(self):  # here: the first process knows its world only in fit()
        return bc.Loader(
            "mnist-lightning",
            batch_size=128,  # of each rank
            group="auto",
            start=bc.Start("idx:" + folder, recipe="mnist"),
        )

    def val_dataloader(self):  # without `group`: each rank validates with all samples
        return bc.Loader(
            "mnist-lightning-test",
            batch_size=500,
            between_epochs="let_go",
            start=bc.Start("idx:" + folder + "?split=test", recipe="mnist"),
        )
    # [snippet end]

    def training_step(self, batch, index):
        images, labels = batch
        self.samples += len(labels)
        return torch.nn.functional.cross_entropy(self.model(images), labels)

    def validation_step(self, batch, index):
        images, labels = batch
        right = (self.model(images).argmax(1) == labels).float().mean()
        self.log("accuracy", right, batch_size=len(labels), sync_dist=True)

    def on_train_end(self):
        rank = f"rank {self.trainer.global_rank} of {self.trainer.world_size}"
        accuracy = float(self.trainer.callback_metrics["accuracy"])
        print(f"{rank}: {self.samples} samples, accuracy {accuracy:.1%}", flush=True)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)


# [snippet fit]
trainer = lightning.Trainer(
    strategy="ddp",
    devices=2,
    max_epochs=1,
    num_sanity_val_steps=0,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Classifier())
# [snippet end]
