# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Image files with a label each: a list of its own, or what the folders of a root give."""

from __future__ import annotations

import hashlib
import operator
import os
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

from ..errors import InvalidArgument
from ._columns import checked

EXTENSIONS = (".jpg", ".jpeg", ".png", ".webp")  # what C++ decodes


class ImageList:
    """Files of images in the order of a list, each with its label.

    The fingerprint is that of the names below the root, the sizes of the files, the labels and the
    names of the classes: a dataset that was moved, with its list, has the same one.
    """

    def __init__(
        self, name: str, root: str, samples: Sequence[Any], class_names: Sequence[str] = ()
    ) -> None:
        self.name = name
        self.class_names = list(class_names)
        self._root = os.path.join(os.path.abspath(root), "")
        here = os.getcwd()
        self._paths: list[str] = []
        self._labels: list[int] = []
        for index, sample in enumerate(samples):
            try:
                path, label = sample
                self._paths.append(os.path.join(here, os.fspath(path)))
                self._labels.append(operator.index(label))
            except (TypeError, ValueError):
                raise InvalidArgument(
                    f"batchcast: sample {index} of the {name} is {sample!r:.200}, and is to be the "
                    "path of an image and a whole number. bc.serve(dataset, …) serves its samples "
                    "as they are."
                ) from None
        others = sorted(
            {os.path.splitext(path)[1].lower() for path in self._paths} - set(EXTENSIONS)
        )
        if others:
            raise InvalidArgument(
                f"batchcast: the {name} at {root} has files that are not decoded here: "
                f"{', '.join(others)}. There are {', '.join(EXTENSIONS)}."
            )

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, index: int) -> dict[str, Any]:
        place = checked(index, len(self._paths))
        return {"image": PurePath(self._paths[place]), "label": self._labels[place]}

    def name_of(self, index: int) -> str:
        path = self._paths[index]
        return path[len(self._root) :] if path.startswith(self._root) else path

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for index, label in enumerate(self._labels):
            try:
                size = os.stat(self._paths[index]).st_size
            except OSError:
                size = -1  # a bad sample
            digest.update(os.fsencode(self.name_of(index)) + f"\0{size} {label}\0".encode())
        for name in self.class_names:
            digest.update(name.encode(errors="surrogateescape") + b"\0")
        return f"images {digest.hexdigest()}"

    def how_folders_give_it(self) -> str | None:
        """The text of the source in C++ that has the same samples; None where the list is another.

        It looks into the folders up to the first difference.
        """
        if "?" in self._root:  # options begin there in that text
            return None
        try:
            classes = sorted(
                (entry.name for entry in os.scandir(self._root) if entry.is_dir()), key=os.fsencode
            )
        except OSError:
            return None
        place = 0
        empty = False
        for label, name in enumerate(classes):
            begin = place
            for path in _images_below(os.path.join(self._root, name)):
                if place == len(self._paths) or self._labels[place] != label:
                    return None
                if path != self._paths[place] and path != os.path.normpath(self._paths[place]):
                    return None
                place += 1
            empty = empty or place == begin
        if place != len(self._paths):
            return None
        return f"imagefolder:{self._root[:-1]}" + ("?allow_empty=true" if empty else "")


def _images_below(folder: str) -> Iterator[str]:
    """As C++ finds them, in its order."""
    for here, _, names in sorted(
        os.walk(folder, followlinks=True), key=lambda one: os.fsencode(one[0])
    ):
        for name in sorted(names, key=os.fsencode):
            if name.lower().endswith(EXTENSIONS):
                yield os.path.join(here, name)


def class_names_of(dataset: Any, labels: int) -> list[str]:
    """The names of the labels from 0 below `labels`, as torchvision's datasets of folders have
    them: `classes` in their order, or where `class_to_idx` has the same names, as it numbers them.

    Empty where a label has no name.
    """
    classes = list(getattr(dataset, "classes", None) or ())
    numbers = getattr(dataset, "class_to_idx", None)
    names = [", ".join(map(str, one)) if isinstance(one, tuple) else str(one) for one in classes]
    if isinstance(numbers, dict) and set(numbers) == set(classes):
        by_label: dict[int, list[str]] = {}
        for name in classes:
            by_label.setdefault(int(numbers[name]), []).append(str(name))
        count = max([labels, *(label + 1 for label in by_label)])
        if min(by_label, default=0) < 0 or len(by_label) != count:
            return []
        names = [", ".join(by_label[label]) for label in range(count)]
    return names if len(names) >= labels else []
