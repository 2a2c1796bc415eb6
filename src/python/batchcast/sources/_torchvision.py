# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Datasets of torchvision, by their files."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from .._names import checks_names
from ..errors import BadDataset, BadSample, InvalidArgument
from ._columns import checked
from ._files import Maps, Watched, check_all
from ._image_list import ImageList, class_names_of

_STAGES = {
    "Resize": "resize",
    "CenterCrop": "center_crop",
    "RandomCrop": "random_crop",
    "RandomResizedCrop": "random_resized_crop",
    "RandomHorizontalFlip": "horizontal_flip",
    "RandomVerticalFlip": "vertical_flip",
    "ColorJitter": "color_jitter",
    "Grayscale": "grayscale",
    "RandomGrayscale": "grayscale",
    "GaussianBlur": "gaussian_blur",
    "GaussianNoise": "gaussian_noise",
    "JPEG": "jpeg",
    "RandomSolarize": "solarize",
    "RandomPosterize": "posterize",
    "RandomInvert": "invert",
    "RandomEqualize": "equalize",
    "RandomAutocontrast": "autocontrast",
    "RandomAdjustSharpness": "sharpness",
    "RandomPhotometricDistort": "random_photometric_distort",
    "RandomChannelPermutation": "random_channel_permutation",
    "ElasticTransform": "elastic",
    "RandomResize": "random_resize",
    "RandomShortestSize": "random_short_side",
    "ScaleJitter": "scale_jitter",
    "Pad": "pad",
    "RandomRotation": "random_rotation",
    "RandomAffine": "random_affine",
    "RandomPerspective": "random_perspective",
    "RandomErasing": "random_erasing",
    "RandAugment": "rand_augment",
    "TrivialAugmentWide": "trivial_augment_wide",
    "AutoAugment": "auto_augment",
    "AugMix": "aug_mix",
    "Normalize": "normalize",
    "ToTensor": "to",
    "PILToTensor": "to",
    "ConvertImageDtype": "to",
    "ToDtype": "to",
    "RandomApply": "random_apply",
    "RandomChoice": "random_choice",
    "RandomOrder": "random_order",
    "FiveCrop": "five_crop",
    "TenCrop": "ten_crop",
}


def _transforms_in(transform: Any) -> list[Any]:
    inside = getattr(transform, "transforms", None)
    return list(inside) if isinstance(inside, list | tuple) else [transform]


def _check_no_transform(dataset: Any, name: str) -> None:
    for attribute in ("transform", "target_transform"):
        transform = getattr(dataset, attribute, None)
        if transform is None:
            continue
        lines = []
        for one in _transforms_in(transform) if attribute == "transform" else ():
            stage = _STAGES.get(type(one).__name__)
            hint = f'{{ stage = "{stage}", … }}' if stage else "see docs/recipes.md for all stages"
            lines.append(f"\n  {type(one).__name__}: {hint}")
        raise InvalidArgument(
            f"batchcast: the {name} has a {attribute}, which is not run: C++ decodes and augments. "
            f"Make it without one, and give bc.serve a recipe" + (":" if lines else ".") + "".join(lines)
        )


class Arrays:
    """Arrays of the same length as a dataset: `Arrays(image=pixels, label=labels)`.

    The fingerprint is that of their bytes, taken when it is asked for. The file of a mapped array
    (numpy's mmap_mode) must not change.
    """

    def __init__(
        self, *, name: str = "Arrays", class_names: Any = (), **fields: npt.ArrayLike
    ) -> None:
        self.fields: dict[str, npt.NDArray[Any]] = {}
        self._files: dict[str, tuple[Watched, ...]] = {}
        maps = Maps()
        for key, value in fields.items():
            array = _as_array(key, value)
            files = maps.files_at([array.__array_interface__["data"][0]] if array.size else [])
            self.fields[key] = np.ascontiguousarray(array)
            if np.may_share_memory(self.fields[key], array):
                self._files[key] = files
                continue
            try:
                check_all(files)  # of what was copied, this once
            except BadSample as error:
                raise BadDataset(f"batchcast: {error}.") from error
        if not fields:
            raise InvalidArgument(
                "batchcast: sources.Arrays: there is no array. Name each: Arrays(image=…, label=…)."
            )
        lengths = {len(array) for array in self.fields.values()}
        if len(lengths) != 1:
            raise InvalidArgument(
                "batchcast: sources.Arrays: the arrays have different lengths: "
                + ", ".join(f"{key} {len(array)}" for key, array in self.fields.items())
            )
        self.name = name
        self.class_names = [str(one) for one in class_names]
        self._size = lengths.pop()

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, index: int) -> dict[str, Any]:
        place = checked(index, self._size)
        return {key: self._element(key, place) for key in self.fields}

    def _element(self, key: str, place: int) -> Any:
        files = self._files.get(key)
        if not files:
            return self.fields[key][place]
        check_all(files)
        element = np.array(self.fields[key][place])
        check_all(files)
        return element

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for key, array in self.fields.items():
            check_all(self._files.get(key, ()))
            digest.update(f"{key} {array.dtype.str} {array.shape} ".encode())
            digest.update(array.reshape(-1).view(np.uint8).data)
            check_all(self._files.get(key, ()))
        return f"arrays {digest.hexdigest()}"


def _as_array(key: str, value: npt.ArrayLike) -> npt.NDArray[Any]:
    why = ""
    try:
        array = np.asarray(value)
    except ValueError as error:  # ragged
        why = f"no array: {error}"
    else:
        if array.dtype.hasobject:
            why = "an array of objects: every sample is to have the same number of elements, all of "
            why += "them numbers"
        elif array.ndim == 0:
            why = "one value, and the first dimension counts the samples"
        if not why:
            return array
    raise InvalidArgument(f"batchcast: sources.Arrays: `{key}` is {why}.")


def _check_loader(dataset: Any, name: str) -> None:
    loader = getattr(dataset, "loader", None)
    if loader is None or getattr(loader, "__module__", None) == "torchvision.datasets.folder":
        return
    raise InvalidArgument(
        f"batchcast: the {name} has a loader, which is not run: C++ reads and decodes the files. Make "
        "it without one, or serve its samples as they are: bc.serve(dataset, …)."
    )


def _image_folder(dataset: Any) -> Any:
    name = type(dataset).__name__
    _check_loader(dataset, name)
    root = getattr(dataset, "split_folder", dataset.root)  # ImageNet's root has both splits in it
    samples = dataset.samples
    if hasattr(type(dataset), "__len__"):
        samples = samples[: len(dataset)]
    images = ImageList(name, root, samples)
    source = images.how_folders_give_it()
    if source is not None:
        return source
    labels = 1 + max((images[i]["label"] for i in range(len(images))), default=-1)
    images.class_names = class_names_of(dataset, labels)
    return images


def _labels_of(dataset: Any) -> npt.NDArray[Any]:
    """The labels. Raises InvalidArgument where they are no whole numbers."""
    try:
        labels = np.asarray(dataset.targets)
    except ValueError:  # ragged
        labels = np.asarray([None])
    if labels.dtype.kind not in "iub" or labels.ndim != 1:
        raise InvalidArgument(
            f"batchcast: the targets of the {type(dataset).__name__} are not one whole number for each "
            "sample. bc.serve(dataset, …) serves its samples as they are."
        )
    return labels.astype(np.int64)


def _cifar(dataset: Any) -> Arrays:
    pixels = np.asarray(dataset.data)
    if pixels.ndim != 4:
        raise InvalidArgument(
            f"batchcast: the data of the {type(dataset).__name__} are {list(pixels.shape)}, and are to "
            "be [samples, height, width, channels]."
        )
    return Arrays(
        name=type(dataset).__name__, class_names=dataset.classes,
        image=pixels.transpose(0, 3, 1, 2),  # as the binary version has them
        label=_labels_of(dataset),
    )  # fmt: skip


def _idx_holds(
    path: str, opened: Callable[[str, str], Any], wanted: npt.NDArray[Any]
) -> bool:
    """Whether an IDX file holds these values. A damaged one has others."""
    try:
        with opened(path, "rb") as file:
            held = np.frombuffer(file.read()[4 + 4 * wanted.ndim :], np.uint8)
    except (OSError, EOFError, zlib.error):
        return False
    return np.array_equal(held, wanted.reshape(-1))


def _mnist(dataset: Any) -> Any:
    name = type(dataset).__name__
    split = "train" if dataset.train else "test"
    folder = os.path.abspath(dataset.raw_folder)
    stem = os.path.join(folder, "train" if dataset.train else "t10k")
    pixels, labels = np.asarray(dataset.data), _labels_of(dataset)
    if name != "EMNIST":
        for end, opened in (("", open), (".gz", gzip.open)):
            if not os.path.exists(f"{stem}-images-idx3-ubyte{end}"):
                continue
            if _idx_holds(f"{stem}-labels-idx1-ubyte{end}", opened, labels) and _idx_holds(
                f"{stem}-images-idx3-ubyte{end}", opened, pixels
            ):  # else some were left out, or changed
                return f"idx:{folder}?split={split}"
            break
    return Arrays(name=name, class_names=dataset.classes, image=pixels, label=labels)


@checks_names
def Torchvision(dataset: Any) -> Any:
    """A dataset of torchvision without its Python: what bc.serve takes for it.

        dataset = torchvision.datasets.ImageFolder("train")
        bc.serve(bc.sources.Torchvision(dataset), recipe="imagenet-train", stream="train")

    For ImageFolder, ImageNet and MNIST, FashionMNIST and KMNIST it is the text of the source in C++
    that reads their files. Where the samples of an ImageFolder or DatasetFolder are not what the
    folders give (another find_classes, a part of the samples, another order), it is their list:
    the same files in the same order, with the same labels and the names of the classes. For CIFAR10
    and CIFAR100, whose files are pickled, and for an MNIST whose samples are not its files', it is
    their arrays. A transform is refused, with the stages of a recipe that do the same, and so are
    a loader and a __getitem__ that are not torchvision's. Any other dataset of torchvision is
    served as it is: `bc.serve(dataset, …)`.
    """
    names = [kind.__name__ for kind in type(dataset).__mro__]
    makes = {
        "ImageFolder": _image_folder,
        "DatasetFolder": _image_folder,
        "CIFAR10": _cifar,
        "MNIST": _mnist,
    }
    make = next((makes[name] for name in names if name in makes), None)
    if make is None:
        raise InvalidArgument(
            f"batchcast: sources.Torchvision knows ImageFolder, DatasetFolder, MNIST, FashionMNIST, "
            f"KMNIST, CIFAR10 and CIFAR100, and this is a {type(dataset).__name__}. bc.serve(dataset, …) serves its "
            "samples as they are."
        )
    _check_no_transform(dataset, type(dataset).__name__)
    owner = next((kind for kind in type(dataset).__mro__ if "__getitem__" in vars(kind)), None)
    if owner is not None and owner.__module__.partition(".")[0] != "torchvision":
        raise InvalidArgument(
            f"batchcast: {owner.__name__} defines __getitem__, which is not run: only the files or "
            "arrays are read. bc.serve(dataset, …) serves its samples as they are."
        )
    return make(dataset)
