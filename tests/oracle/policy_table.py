# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What torchvision's augmentation policies do where their choices are forced, as lines of JSON.

  python3 policy_table.py > ../data/stage/policy.jsonl

with torchvision 0.26.0, timm 1.0.19 and Pillow 13.0.0, which made the file that is checked in.
"""

import io
import itertools
import json

import numpy
import PIL
import PIL.Image
import PIL.ImageFilter
import torch
import timm
import torchvision
from timm.data import auto_augment as timm_augment
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode, v2

from operation_names import OUR_NAMES as NAMES

SIZE = (96, 224)  # height, width
FILL = [10, 200, 90]


def image():
    """31 by 23 pixels of gradients and a pattern; the test makes the same."""
    y, x = numpy.mgrid[0:23, 0:31]
    pixels = [(7 * x + 3 * y) % 256, (x * x + 5 * y) % 223 + 20, (11 * y * y + x) % 190]
    return PIL.Image.fromarray(numpy.stack(pixels, axis=-1).astype(numpy.uint8))


def digest(made):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in made.tobytes():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return f"{value:016x}"


def print_magnitudes(name, space, bins):
    """Of each operation that has a strength, at each of the bins."""
    for operation, (function, _) in space.items():
        values = function(bins, *SIZE)
        if values is not None:
            print(json.dumps({"space": name, "operation": NAMES[operation],
                              "magnitudes": [float(value) for value in values]}))


def print_operations():
    """What each makes of the image, by magnitude."""
    space = v2.TrivialAugmentWide._AUGMENTATION_SPACE | {"Invert": (lambda *_: None, False)}
    modes = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC]
    for mode, fill in itertools.product(modes, [None, FILL]):
        transform = v2.RandAugment(interpolation=mode, fill=fill)
        for name, (function, signed) in space.items():
            values = function(31, 23, 31)
            chosen = [0.0] if values is None else [float(values[i]) for i in (3, 20, 30)]
            if mode != InterpolationMode.NEAREST and not (signed and len(chosen) == 3):
                continue
            digests = []
            for value in chosen + ([-one for one in chosen] if signed else []):
                made = transform._apply_image_or_video_transform(
                    image(), name, value, mode, transform._fill)
                digests.append([value, digest(made)])
            print(json.dumps({"operation": NAMES[name], "interpolation": mode.value,
                              "fill": bool(fill), "digests": digests}))


def print_timm():
    """Each operation at three levels, to both sides where it has them."""
    names = {"SolarizeAdd": "solarize_add"}
    names |= {f"{name}Increasing": twin for name, twin in NAMES.items()}
    names |= {f"{name}Rel": twin for name, twin in NAMES.items()} | NAMES
    hparams = {"img_mean": tuple(FILL), "interpolation": PIL.Image.BICUBIC}
    for name in timm_augment._RAND_INCREASING_TRANSFORMS:
        digests = []
        for level, side in itertools.product((1.7, 8.6, 9.9), (0.9, 0.1)):
            timm_augment.random.random = lambda side=side: side  # above a half: to the other side
            operation = timm_augment.AugmentOp(name, prob=1, magnitude=level, hparams=hparams)
            digests.append([level, side > 0.5, digest(operation(image()))])
        print(json.dumps({"timm": names[name], "digests": digests}))


OUR_FORMS = {"Posterize": "plain", "Solarize": "plain", "Color": "plain", "Contrast": "plain",
             "Brightness": "plain", "Sharpness": "plain", "PosterizeOriginal": "original",
             "Desaturate": "increasing", "GaussianBlur": "increasing",
             "PosterizeIncreasing": "increasing", "SolarizeIncreasing": "increasing",
             "SolarizeAdd": "increasing", "ColorIncreasing": "increasing",
             "SharpnessIncreasing": "increasing", "Rotate": "increasing", "ShearX": "increasing",
             "TranslateYRel": "increasing"}


def ours(name):
    """Our name of an operation of timm's."""
    others = {"SolarizeAdd": "solarize_add", "Desaturate": "desaturate",
              "GaussianBlur": "gaussian_blur", "GaussianBlurRand": "gaussian_blur"}
    for form in ("Increasing", "Original", "Rel"):
        name = name.removesuffix(form)
    return others.get(name) or NAMES[name]


def print_timm_forms():
    """Operations in their other forms, and at levels above 10, which magnitude_max allows."""
    hparams = {"img_mean": tuple(FILL), "interpolation": PIL.Image.BICUBIC, "magnitude_max": 20,
               "translate_pct": 0.3}
    for name, form in OUR_FORMS.items():
        digests = []
        for level, side in itertools.product((0.0, 1.7, 5.0, 8.6, 10.0, 17.0), (0.9, 0.1)):
            timm_augment.random.random = lambda side=side: side
            operation = timm_augment.AugmentOp(name, prob=1, magnitude=level, hparams=hparams)
            try:
                digests.append([level, side > 0.5, digest(operation(image()))])
            except ValueError:  # Pillow 13 refuses to keep no bits; before, that was black
                black = PIL.Image.new("RGB", image().size)
                digests.append([level, side > 0.5, digest(black)])
        print(json.dumps({"timm_form": ours(name), "scale": form, "digests": digests}))


def print_timm_policy(name):
    """Each entry in turn: what has a probability of 1/4 at least happens, and is not turned round."""
    hparams = {"img_mean": tuple(FILL), "interpolation": PIL.Image.BICUBIC}
    timm_augment.random.random = lambda: 0.25
    timm_augment.random.uniform = lambda low, high: (low + high) / 2
    digests = []
    for entry in timm_augment.auto_augment_policy(name, hparams):
        made = image()
        try:
            for operation in entry:
                made = operation(made)
            digests.append(digest(made))
        except ValueError:
            digests.append("refused by Pillow 13")
    print(json.dumps({"timm_policy": name, "digests": digests}))


def print_timm_choices(name):
    """What RandAugment chooses from, and how often."""
    chosen = timm_augment.rand_augment_choices(name)
    weights = list(chosen.values()) if isinstance(chosen, dict) else [1] * len(chosen)
    print(json.dumps({"timm_choices": name, "operations": [ours(one) for one in chosen],
                      "weights": weights}))


def print_blurs():
    """PIL's blur of the image by radius."""
    digests = []
    for radius in (0, 0.001, 0.1, 0.5, 0.99, 1, 1.5, 2, 3.3, 10, 47, 1000):
        digests.append([radius, digest(image().filter(PIL.ImageFilter.GaussianBlur(radius)))])
    print(json.dumps({"blur": "pil_gaussian_blur", "digests": digests}))


def print_jpegs():
    """The image, written as a JPEG and read again, by sampling and quality."""
    for mode, sampling in itertools.product(("RGB", "L"), ("4:4:4", "4:2:2", "4:2:0")):
        digests = []
        for quality in (1, 10, 33, 50, 75, 90, 95, 100):
            file = io.BytesIO()
            image().convert(mode).save(file, "JPEG", quality=quality, subsampling=sampling)
            digests.append([quality, digest(PIL.Image.open(file))])
        print(json.dumps({"jpeg": sampling, "channels": 3 if mode == "RGB" else 1,
                          "digests": digests}))


def print_pairs(policy):
    """Each pair in turn: what has a probability above 1/4 happens, and goes the other way."""
    transform = v2.AutoAugment(policy, fill=FILL)
    digests = []
    for number in range(len(transform._policies)):
        torch.randint = lambda *_, number=number, **__: torch.tensor(number)
        torch.rand = lambda *_: torch.tensor(0.25)
        digests.append(digest(transform(image())))
    print(json.dumps({"policy": policy.value, "digests": digests}))


print(json.dumps({"made_by": "tests/oracle/policy_table.py",
                  "with": {"torchvision": torchvision.__version__.split("+")[0],
                           "timm": timm.__version__, "Pillow": PIL.__version__}}))
print_magnitudes("auto_augment", v2.AutoAugment._AUGMENTATION_SPACE, 10)
print_magnitudes("rand_augment", v2.RandAugment._AUGMENTATION_SPACE, 31)
print_magnitudes("rand_augment", v2.RandAugment._AUGMENTATION_SPACE, 11)
print_magnitudes("trivial_augment", v2.TrivialAugmentWide._AUGMENTATION_SPACE, 31)
print_magnitudes("aug_mix", v2.AugMix._AUGMENTATION_SPACE, 10)
print_operations()
print_timm()
print_timm_forms()
for each in ("original", "originalr", "v0", "v0r", "3a"):
    print_timm_policy(each)
for each in ("all", "weights", "3a", "3aw"):
    print_timm_choices(each)
print_blurs()
print_jpegs()
for each in AutoAugmentPolicy:
    print_pairs(each)
