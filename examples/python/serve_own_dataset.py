# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Serves your dataset: `python serve_own_dataset.py ARCHIVE.zip RECIPE`, of images whose
folders are their classes."""

import sys
import threading
import zipfile

import batchcast as bc


# [snippet dataset]
class Zipped:
    """Python says where the bytes are; C++ decodes, augments and orders."""

    def __init__(self, path):
        self.path = path
        self.own = threading.local()  # each thread that reads opens the file itself
        self.names = sorted(
            n for n in zipfile.ZipFile(path).namelist() if n.endswith((".jpg", ".png"))
        )
        self.class_names = sorted({name.split("/")[0] for name in self.names})

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        if not hasattr(self.own, "file"):
            self.own.file = zipfile.ZipFile(self.path)
        name = self.names[index]
        return {
            "image": self.own.file.read(name),
            "label": self.class_names.index(name.split("/")[0]),
        }

    def name_of(self, index):  # for messages; may be left out
        return self.names[index]

    def fingerprint(self):  # of what the samples are; without it the stream is not pure
        return ",".join(self.names)
        # [snippet end]


archive, recipe = sys.argv[1:]
# [snippet serve]
bc.serve(Zipped(archive), recipe=recipe, stream="zipped", epochs=2, memory="64MiB")
# [snippet end]
