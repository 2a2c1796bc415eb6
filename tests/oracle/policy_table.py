# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""What torchvision's augmentation policies do where their choices are forced, as a C++ table.

  python3 policy_table.py | clang-format-14 > ../data/stage/policy_table.hpp

with torchvision 0.26.0, timm 1.0.19 and Pillow 13.0.0, which made the table that is checked in.
"""

import itertools
import re

import numpy
import PIL
import PIL.Image
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


def hex_of(value):
    """Without zeros at the end."""
    return re.sub(r"\.?0*p", "p", value.hex())


def digest(made):
    """FNV-1a of 64 bits."""
    value = 0xCBF29CE484222325
    for byte in made.tobytes():
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return value


def magnitudes(space, bins):
    """Of each operation that has a strength, at each of the bins."""
    for name, (function, _) in space.items():
        values = function(bins, *SIZE)
        if values is not None:
            listed = ", ".join(hex_of(float(value)) for value in values)
            yield f"{{Operation::{NAMES[name]}, {{{listed}}}}},"


def print_magnitudes(what, space, bins):
    print(f"inline const std::vector<MagnitudeRow> {what} = {{")
    for row in magnitudes(space, bins):
        print("   ", row)
    print("};\n")


def print_operations():
    print("inline const std::vector<OperationRow> operation_rows = {")
    space = v2.TrivialAugmentWide._AUGMENTATION_SPACE | {"Invert": (lambda *_: None, False)}
    modes = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC]
    for mode, fill in itertools.product(modes, [None, FILL]):
        transform = v2.RandAugment(interpolation=mode, fill=fill)
        for name, (function, signed) in space.items():
            values = function(31, 23, 31)
            chosen = [0.0] if values is None else [float(values[i]) for i in (3, 20, 30)]
            if mode != InterpolationMode.NEAREST and not (signed and len(chosen) == 3):
                continue
            for value in chosen + ([-one for one in chosen] if signed else []):
                made = transform._apply_image_or_video_transform(
                    image(), name, value, mode, transform._fill)
                print(f"    {{Operation::{NAMES[name]}, {hex_of(value)}, "
                      f"Interpolation::{mode.value}, {'true' if fill else 'false'}, "
                      f"0x{digest(made):016x}}},")
    print("};\n")


def print_timm():
    """Each operation at three levels, to both sides where it has them."""
    print("inline const std::vector<TimmRow> timm_rows = {")
    names = {"SolarizeAdd": "solarize_add"}
    names |= {f"{name}Increasing": twin for name, twin in NAMES.items()}
    names |= {f"{name}Rel": twin for name, twin in NAMES.items()} | NAMES
    hparams = {"img_mean": tuple(FILL), "interpolation": PIL.Image.BICUBIC}
    for name, level, side in itertools.product(
            timm_augment._RAND_INCREASING_TRANSFORMS, (1.7, 8.6, 9.9), (0.9, 0.1)):
        timm_augment.random.random = lambda side=side: side  # above a half: to the other side
        operation = timm_augment.AugmentOp(name, prob=1, magnitude=level, hparams=hparams)
        print(f"    {{Operation::{names[name]}, {hex_of(level)}, "
              f"{'true' if side > 0.5 else 'false'}, 0x{digest(operation(image())):016x}}},")
    print("};\n")


def print_pairs(policy):
    """Each pair in turn: what has a probability above 1/4 happens, and goes the other way."""
    transform = v2.AutoAugment(policy, fill=FILL)
    print(f"inline const std::vector<std::uint64_t> {policy.value}_digests = {{")
    for number in range(len(transform._policies)):
        torch.randint = lambda *_, number=number, **__: torch.tensor(number)
        torch.rand = lambda *_: torch.tensor(0.25)
        print(f"    0x{digest(transform(image())):016x},")
    print("};\n")


print(f"""// SPDX-License-Identifier: Apache-2.0
// Copyright 2026 the batchcast authors
#pragma once

#include "data/stage/policy_space.hpp"

#include <cstdint>
#include <vector>

// Made by tests/oracle/policy_table.py with torchvision {torchvision.__version__.split("+")[0]}"""
      f""", timm {timm.__version__}
// and Pillow {PIL.__version__}.
namespace batchcast::test {{

using detail::Operation;

struct MagnitudeRow {{
  Operation operation;
  std::vector<double> magnitudes;  // of each bin
}};

struct OperationRow {{
  Operation operation;
  double magnitude;
  Interpolation interpolation;
  bool has_fill;
  std::uint64_t digest;
}};

struct TimmRow {{
  Operation operation;
  double level;
  bool negates;
  std::uint64_t digest;
}};
""")
print_magnitudes("auto_augment_10", v2.AutoAugment._AUGMENTATION_SPACE, 10)
print_magnitudes("rand_augment_31", v2.RandAugment._AUGMENTATION_SPACE, 31)
print_magnitudes("rand_augment_11", v2.RandAugment._AUGMENTATION_SPACE, 11)
print_magnitudes("trivial_augment_31", v2.TrivialAugmentWide._AUGMENTATION_SPACE, 31)
print_magnitudes("aug_mix_10", v2.AugMix._AUGMENTATION_SPACE, 10)
print_operations()
print_timm()
for each in AutoAugmentPolicy:
    print_pairs(each)
print("}  // namespace batchcast::test")
