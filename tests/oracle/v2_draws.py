# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What stages draw, and how torchvision.transforms.v2 draws the same.

  python3 v2_draws.py > ../data/stage/draws.jsonl

makes the lines of JSON that the tests compare our draws with, with torchvision 0.26 (torch 2.11):
of each stage's draws how often each of the words came, or a number up to each edge (the last:
beyond them all).
v2_oracle.py imports it.
"""
import collections
import dataclasses
import json
import sys

import numpy
import torch
import torchvision
from PIL import Image
from torchvision.transforms import v2
from torchvision.transforms.v2._transform import _RandomApplyTransform

from operation_names import OUR_NAMES

TABLE_DRAWS = 30_000
BINS = 12


@dataclasses.dataclass
class Draw:
    """A key is a note's; "KEY?": whether there is one; x, y, width, height of a box."""
    stage: str
    transform: object
    keys: dict  # what it is of make_params(); None where nothing stands for it
    size: tuple = (60, 40)
    shape: str = "kept"  # what comes of the image: or "set" by the stage, or "open"


def box(x, y, height, width):
    return {key: lambda p, name=name: p[name]
            for key, name in zip(("x", "y", "height", "width"), (x, y, height, width))}


def factors(*names):
    return {name: lambda p, name=name: p[name + "_factor"] for name in names}


def done(key, of):
    return {key + "?": lambda p: "no" if p is None or of(p) is None else "yes"}


def order_of(permutation):
    return "".join(str(int(i) + 1) for i in permutation)


AFFINE = {"angle": lambda p: p["angle"], "translate_x": lambda p: p["translate"][0],
          "translate_y": lambda p: p["translate"][1], "scale": lambda p: p["scale"],
          "shear_x": lambda p: p["shear"][0], "shear_y": lambda p: p["shear"][1]}
CORNERS = ["top_left", "top_right", "bottom_right", "bottom_left"]
PERSPECTIVE = {f"{corner}_{axis}": lambda p, i=i, k=k: p[i][k]
               for i, corner in enumerate(CORNERS) for k, axis in enumerate("xy")}
OPERATION = {"operation": lambda p: p[0]}
STRENGTH = {"operation, magnitude": lambda p: f"{p[0]} {p[1] + 0.0:.4f}"}
MAGNITUDES = {name: lambda p, name=name: p[1] if p[0] == name else None
              for name in ("rotate", "translate_x", "color", "posterize", "solarize")}


class Perspective(v2.RandomPerspective):
    """Whose parameters are the corners, not what is solved for them."""

    def make_params(self, flat_inputs):
        module = sys.modules[v2.RandomPerspective.__module__]
        solve, module._get_perspective_coeffs = (module._get_perspective_coeffs,
                                                 lambda start, end: end)
        try:
            return super().make_params(flat_inputs)["coefficients"]
        finally:
            module._get_perspective_coeffs = solve


class Uncut:
    """Whose sizes are not cut off to whole numbers."""

    def __init__(self, transform):
        self.transform = transform

    def make_params(self, flat_inputs):
        module = sys.modules[v2.ScaleJitter.__module__]
        module.int = lambda one: int(one) if isinstance(one, torch.Tensor) and \
            not one.is_floating_point() else float(one)
        try:
            return self.transform.make_params(flat_inputs)
        finally:
            del module.int


def tone(stage, transform):
    return Draw(stage, transform, {stage.split('"')[1] + "?": lambda p: "no" if p is None else "yes"})


DRAWS = [
    Draw('stage = "random_resized_crop", size = 24', v2.RandomResizedCrop(24),
         box("left", "top", "height", "width"), (500, 375), "set"),
    Draw('stage = "random_resized_crop", size = 24, scale = [0.4, 0.9], ratio = [0.5, 3]',
         v2.RandomResizedCrop(24, (0.4, 0.9), (0.5, 3)), box("left", "top", "height", "width"),
         (120, 200), "set"),
    Draw('stage = "random_crop", size = [32, 28], padding = 4', v2.RandomCrop((32, 28), 4),
         {"x": lambda p: p["left"] - 4, "y": lambda p: p["top"] - 4}, shape="set"),
    Draw('stage = "horizontal_flip", p = 0.3', v2.RandomHorizontalFlip(0.3),
         {"flip?": lambda p: "no" if p is None else "yes"}),
    Draw('stage = "vertical_flip"', v2.RandomVerticalFlip(),
         {"vertical_flip?": lambda p: "no" if p is None else "yes"}),
    Draw('stage = "random_short_side", min_size = [20, 31, 57, 60]',
         Uncut(v2.RandomShortestSize([20, 31, 57, 60])),
         {"short_side": lambda p: f'{p["size"][0]:.0f}'}, shape="open"),
    Draw('stage = "random_resize", min_size = 20, max_size = 30', v2.RandomResize(20, 30),
         {"short_side": lambda p: f'{p["size"][0]:.0f}'}, shape="open"),
    Draw('stage = "scale_jitter", target_size = [50, 40], scale_range = [0.5, 2]',
         Uncut(v2.ScaleJitter((50, 40), (0.5, 2))),
         {"jitter_scale": lambda p: p["size"][0] / 40 / (50 / 60)}, shape="open"),
    Draw('stage = "random_rotation", degrees = [-20, 70]', v2.RandomRotation((-20, 70)),
         {"angle": lambda p: p["angle"]}),
    Draw('stage = "random_rotation", degrees = 15', v2.RandomRotation(15),
         {"angle": lambda p: p["angle"]}),
    Draw('stage = "random_affine", degrees = [-30, 60], translate = [0.2, 0.15], '
         'scale = [0.5, 2], shear = [-10, 20, 5, 6]',
         v2.RandomAffine((-30, 60), (0.2, 0.15), (0.5, 2), (-10, 20, 5, 6)), AFFINE),
    Draw('stage = "random_affine", degrees = 10, shear = 7', v2.RandomAffine(10, shear=7), AFFINE),
    Draw('stage = "random_perspective", p = 1', Perspective(p=1), PERSPECTIVE),
    Draw('stage = "random_perspective", distortion_scale = 0.33', Perspective(0.33),
         {"perspective?": lambda p: "no" if p is None else "yes"}),
    Draw('stage = "color_jitter", brightness = 0.4, contrast = [0.3, 2], saturation = 1.5, hue = 0.1',
         v2.ColorJitter(0.4, (0.3, 2), 1.5, 0.1),
         factors("brightness", "contrast", "saturation", "hue")
         | {"jitter_order": lambda p: order_of(p["fn_idx"])}),
    Draw('stage = "random_photometric_distort"', v2.RandomPhotometricDistort(),
         factors("brightness", "contrast", "saturation", "hue")
         | {"channel_order": lambda p: p["channel_permutation"] is not None
            and order_of(p["channel_permutation"]) or None,
            "contrast_first?": lambda p: "yes" if p["contrast_before"] else "no"}
         | done("contrast", lambda p: p["contrast_factor"])
         | done("channel_order", lambda p: p["channel_permutation"])),
    Draw('stage = "random_channel_permutation"', v2.RandomChannelPermutation(),
         {"channel_order": lambda p: order_of(p["permutation"])}),
    Draw('stage = "gaussian_blur", kernel_size = 3', v2.GaussianBlur(3),
         {"blur_sigma": lambda p: p["sigma"][0]}),
    Draw('stage = "gaussian_blur", kernel_size = 3, sigma = [0.5, 1.5]',
         v2.GaussianBlur(3, (0.5, 1.5)), {"blur_sigma": lambda p: p["sigma"][0]}),
    tone('stage = "solarize", threshold = 128, p = 0.2', v2.RandomSolarize(128, 0.2)),
    tone('stage = "posterize", bits = 3', v2.RandomPosterize(3)),
    tone('stage = "sharpness", sharpness_factor = 2', v2.RandomAdjustSharpness(2)),
    tone('stage = "autocontrast"', v2.RandomAutocontrast()),
    tone('stage = "equalize"', v2.RandomEqualize()),
    tone('stage = "invert"', v2.RandomInvert()),
    tone('stage = "grayscale", p = 0.2', v2.RandomGrayscale(0.2)),
    Draw('stage = "random_erasing", p = 1', v2.RandomErasing(1), box("j", "i", "h", "w")),
    Draw('stage = "random_erasing", p = 0.3, scale = [0.1, 0.8], ratio = [0.5, 4]',
         v2.RandomErasing(0.3, (0.1, 0.8), (0.5, 4)), box("j", "i", "h", "w")
         | done("erase", lambda p: p["v"])),
    Draw('stage = "rand_augment"', v2.RandAugment(), OPERATION | STRENGTH),
    Draw('stage = "rand_augment", num_ops = 1, magnitude = 3, num_magnitude_bins = 7',
         v2.RandAugment(1, 3, 7), STRENGTH),
    Draw('stage = "trivial_augment_wide"', v2.TrivialAugmentWide(), OPERATION | MAGNITUDES),
    *(Draw(f'stage = "auto_augment", policy = "{policy.value}"', v2.AutoAugment(policy), STRENGTH)
      for policy in v2.AutoAugmentPolicy),
    Draw('stage = "aug_mix", alpha = 0.7', v2.AugMix(alpha=0.7),
         OPERATION | MAGNITUDES | {"original": None, "share": None}),
    Draw('stage = "aug_mix", severity = 10, mixture_width = 2, chain_depth = 1, all_ops = false',
         v2.AugMix(10, 2, 1, all_ops=False), OPERATION | MAGNITUDES | {"share": None}),
    Draw('stage = "random_apply", p = 0.3, stages = [{ stage = "invert", p = 1 }]',
         v2.RandomApply([0], 0.3), {"chosen": None}),
    Draw('stage = "random_choice", p = [1, 3, 2], stages = [{ stage = "invert", p = 1 }, '
         '{ stage = "equalize", p = 1 }, { stage = "autocontrast", p = 1 }]',
         v2.RandomChoice([0, 1, 2], [1, 3, 2]), {"chosen": None}),
    Draw('stage = "random_order", stages = [{ stage = "invert", p = 1 }, '
         '{ stage = "equalize", p = 1 }, { stage = "autocontrast", p = 1 }]',
         v2.RandomOrder([0, 1, 2]), {"chosen": None}),
]


def of_policy(draw, count, add):
    """Every operation, and AugMix's weights."""
    transform, image = draw.transform, Image.new("RGB", draw.size)

    applied = [0]

    def apply(image, name, magnitude, **_):
        applied[0] += 1
        for key, of in draw.keys.items():
            value = of and of((OUR_NAMES[name], magnitude))
            if value is not None:
                add(key, value)
        return image

    weights = []

    def dirichlet(parameters):
        weights.append(torch._sample_dirichlet(parameters))
        return weights[-1]
    transform._apply_image_or_video_transform = apply
    transform._sample_dirichlet = dirichlet
    for _ in range(count):
        weights.clear()
        applied[0] = 0
        transform(image)
        add("operations", str(applied[0]))
        if "original" in draw.keys:
            add("original", float(weights[0][0, 0]))
        if "share" in draw.keys:
            for weight in weights[1][0]:
                add("share", float(weight * weights[0][0, 1]))


def of_container(draw, count, add):
    chosen = []
    draw.transform.transforms = [lambda image, i=i: chosen.append(str(i)) or image
                                 for i in range(len(draw.transform.transforms))]
    for _ in range(count):
        chosen.clear()
        draw.transform(0)
        add("chosen", " ".join(chosen) or "none")


def of_parameters(draw, count, add):
    transform, image = draw.transform, Image.new("RGB", draw.size)
    calls = []
    if isinstance(transform, _RandomApplyTransform):
        transform.transform = lambda _, params: calls.append(params)
    for _ in range(count):
        calls.clear()
        if isinstance(transform, _RandomApplyTransform):
            transform(image)
        else:
            calls.append(transform.make_params([image]))
        params = calls[0] if calls else None
        # RandomErasing gives up with the whole image, and v is None.
        gave_up = params is not None and isinstance(params, dict) and params.get("v", 0) is None
        for key, of in draw.keys.items():
            if not key.endswith("?") and (params is None or gave_up):
                continue
            value = of(params)
            if value is not None:
                add(key, value)


def drawn_by_torchvision(draw, count):
    """Numbers and words by key."""
    values = collections.defaultdict(list)
    add = lambda key, value: values[key].append(value)
    if hasattr(draw.transform, "_AUGMENTATION_SPACE"):
        of_policy(draw, count, add)
    elif hasattr(draw.transform, "transforms"):
        of_container(draw, count, add)
    else:
        of_parameters(draw, count, add)
    return {key: value for key, value in values.items() if not is_constant(value)}


def is_constant(values):
    return all(value == values[0] for value in values)


def many(notes, key):
    value = notes.get(key, [])
    return value if isinstance(value, list) else [value]


def our_values(notes, key, draw):
    """What a line of draws.jsonl has of it, as a list."""
    if key.endswith("?"):
        return ["yes" if notes.get(key[:-1]) not in (None, False, 0) else "no"]
    if key in ("x", "y", "width", "height"):
        found = notes["erase"] if "erase" in notes else notes.get("window", notes["crop"])
        return [] if found is None else [found[("x", "y", "width", "height").index(key)]]
    if key in ("jitter_order", "channel_order", "short_side"):
        return [str(number) for number in many(notes, key)]
    if key == "chosen":
        container = draw.stage.split('"')[1] + "#0"
        names = [part.split('"')[1] for part in draw.stage.split("{ stage = ")[1:]]
        if container == "random_apply#0":
            return ["0" if notes[container] == "applied" else "none"]
        return [" ".join(str(names.index(path.split("/")[-1].split("#")[0]))
                         for path in many(notes, container))]
    applied = list(zip(many(notes, "operation"), many(notes, "magnitude")))
    if key == "operation":
        return [name for name, _ in applied]
    if key == "operation, magnitude":
        return [f"{name} {magnitude + 0.0:.4f}" for name, magnitude in applied]
    if key in MAGNITUDES and applied:
        return [magnitude for name, magnitude in applied if name == key]
    return many(notes, key)


def values_of(rows, draw):
    values = collections.defaultdict(list)
    is_policy = hasattr(draw.transform, "_AUGMENTATION_SPACE")
    for notes in rows:
        for key in draw.keys:
            values[key] += our_values(notes, key, draw)
        if is_policy:
            values["operations"].append(str(len(many(notes, "operation"))))
    return {key: value for key, value in values.items() if value and not is_constant(value)}


def row_of(key, values):
    """Edges or words, and how many of the values belong to each."""
    if isinstance(values[0], str):
        words = dict(sorted(collections.Counter(values).items()))
        return {"key": key, "words": list(words), "counts": list(words.values())}
    edges = numpy.unique(numpy.quantile(values, numpy.linspace(0, 1, BINS + 1)[1:-1],
                                        method="inverted_cdf"))
    edges = numpy.unique([float(f"{edge:.6g}") for edge in edges])
    counts = numpy.bincount(numpy.searchsorted(edges, values, side="left"),
                            minlength=len(edges) + 1)
    return {"key": key, "edges": edges.tolist(), "counts": counts.tolist()}


def main():
    torch.manual_seed(7)
    torch.set_num_threads(1)
    print(json.dumps({"made_by": "tests/oracle/v2_draws.py",
                      "with": {"torchvision": torchvision.__version__.split("+")[0],
                               "torch": torch.__version__.split("+")[0]},
                      "draws": TABLE_DRAWS}))
    for draw in DRAWS:
        rows = [row_of(*item) for item in drawn_by_torchvision(draw, TABLE_DRAWS).items()]
        print(json.dumps({"stage": draw.stage, "size": draw.size, "rows": rows}))


if __name__ == "__main__":
    main()
