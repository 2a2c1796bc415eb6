# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Stages against torchvision.transforms.v2 itself: pixels, with the parameters that were drawn, and
how those parameters are distributed.

Usage: v2_oracle.py BATCHCAST STAGE_PROBE [SEED], with torchvision 0.26, timm 1.0 and Pillow 13. It is run by
hand: the distribution's torchvision has no v2. Says for each stage by how many levels it differs at
most and in which share of the bytes.
"""
import collections
import io
import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy
import PIL
import torch
import torchvision
from PIL import Image, ImageFilter, ImageOps
from timm.data import auto_augment as timm_augment
from timm.data import transforms as timm_transforms
from torchvision.transforms import InterpolationMode
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F

from operation_names import OUR_NAMES
from probe import Probe
from replay import Replay, check_old_keys
from replay import compare as replay_and_compare
from v2_draws import DRAWS, drawn_by_torchvision, many, values_of

TV_NAMES = {ours: theirs for theirs, ours in OUR_NAMES.items()}
MODES = {"nearest": InterpolationMode.NEAREST, "bilinear": InterpolationMode.BILINEAR,
         "bicubic": InterpolationMode.BICUBIC}
# Levels and share of the bytes by which a stage may differ; other stages may not.
ALLOWED = {"gaussian_blur": (1, 1e-4), "elastic": (1, 1e-3), "gaussian_noise f32": (1e-6, 1),
           "to and normalize": (1e-6, 1)}
# Stages that deliberately have PIL's pixels: the difference is told, not judged.
TOLD = {"aug_mix"}
SAMPLES = 24
COUNT = 6000

found = collections.defaultdict(lambda: [0, 0.0, 0, 0])  # images, most, bytes off, bytes
failures = 0


def check(right, what):
    global failures
    if not right:
        failures += 1
        print(f"WRONG: {what}")


def pictures(size, rng):
    width, height = size
    y, x = numpy.mgrid[0:height, 0:width]
    smooth = numpy.dstack([255 * x / width, 255 * y / height, 255 - 255 * x / width])
    for i in range(SAMPLES):
        noise = rng.integers(0, 256, (height, width, 3))
        yield [noise, smooth, smooth / 3 + 40, (smooth + noise) / 2][i % 4].astype(numpy.uint8)


def dump(batchcast, recipe, folder, count):
    """What comes of fields, by name, and the notes of each sample."""
    root, made = pathlib.Path(folder), {}
    for some in (recipe[i:i + 60] for i in range(0, len(recipe), 60)):
        (root / "recipe.toml").write_text('[order]\nmode = "sequential"\n' + "".join(some))
        subprocess.run([batchcast, "dump", f"imagefolder:{root / 'images'}", "--recipe",
                        root / "recipe.toml", "--positions", f"0:{count}", "--out", root / "out",
                        "--force"], check=True, stdout=subprocess.DEVNULL)
        rows = [json.loads(line) for line in (root / "out/draws.jsonl").read_text().splitlines()]
        made |= {name: (numpy.load(root / f"out/{name}.npy"),
                        [row["fields"][name]["views"][0] for row in rows])
                 for name in rows[0]["fields"]}
    return made


def write_images(folder, pixels):
    (pathlib.Path(folder) / "images/a").mkdir(parents=True)
    for i, one in enumerate(pixels):
        Image.fromarray(one).save(f"{folder}/images/a/{i:03}.png")


def whole(size):
    """Of images that all have this size, so that a field knows its shape."""
    return f'{{ stage = "center_crop", size = [{size[1]}, {size[0]}] }}, '


def field(name, stages, draws="own"):
    return (f'[[field]]\nname = "{name}"\nfrom = "image"\ndraws = "{draws}"\nstages = [{stages}]\n')


def operations(image, notes, mode, fill):
    apply = v2.RandAugment()._apply_image_or_video_transform
    made = image
    for name, magnitude in zip(many(notes, "operation"), many(notes, "magnitude")):
        name = TV_NAMES[name]
        made = apply(made, name, magnitude, MODES[mode], {Image.Image: fill})
    return made


def aug_mix(image, notes, of_tensors):
    """With two operations in each of three chains."""
    image = image if not of_tensors else F.pil_to_tensor(image)
    as_floats = lambda one: torch.tensor(numpy.asarray(one)).float()
    mix = notes["original"] * as_floats(image)
    for chain, share in enumerate(notes["share"]):
        part = {key: notes[key][2 * chain:2 * chain + 2] for key in ("operation", "magnitude")}
        apply = v2.AugMix()._apply_image_or_video_transform
        made = image
        for name, magnitude in zip(part["operation"], part["magnitude"]):
            made = apply(made, TV_NAMES[name], magnitude,
                         InterpolationMode.BILINEAR, {type(image): None})
        mix.add_(share * as_floats(made))
    mix = mix.to(torch.uint8)
    return mix.permute(1, 2, 0).numpy() if of_tensors else mix.numpy()


def colours(image, notes, steps):
    for step in steps:
        if step in notes:
            image = getattr(F, "adjust_" + step)(image, notes[step])
    return image


def jitter(image, notes):
    names = {"1": "brightness", "2": "contrast", "3": "saturation", "4": "hue"}
    return colours(image, notes, [names[digit] for digit in str(notes["jitter_order"])])


def reordered(image, notes):
    if "channel_order" not in notes or image.mode == "L":
        return image
    return F.permute_channels(image, [int(digit) - 1 for digit in str(notes["channel_order"])])


def photometric(image, notes):
    steps = ["brightness", "saturation", "hue", "contrast"]
    if notes["contrast_first"]:
        steps = ["brightness", "contrast", "saturation", "hue"]
    return reordered(colours(image, notes, steps), notes)


def perspective(image, notes, mode, fill):
    if not notes["perspective"]:
        return image
    width, height = image.size
    start = [[0, 0], [width - 1, 0], [width - 1, height - 1], [0, height - 1]]
    end = [[notes[f"{corner}_{axis}"] for axis in "xy"]
           for corner in ("top_left", "top_right", "bottom_right", "bottom_left")]
    return F.perspective(image, start, end, MODES[mode], fill)


def scaled(image, size, mode):
    return F.center_crop(F.resize(image, size, MODES[mode]), [40, 44])


def short_side(image, notes, mode):
    width, height = image.size
    factor = min(notes["short_side"] / min(width, height), 90 / max(width, height))
    return scaled(image, (int(height * factor), int(width * factor)), mode)


def jittered_scale(image, notes, target, mode):
    width, height = image.size
    scale = torch.tensor([notes["jitter_scale"]], dtype=torch.float32)
    factor = min(target[1] / height, target[0] / width) * scale
    return scaled(image, (int(height * factor), int(width * factor)), mode)


def padded_crop(image, notes, padding_mode, fill):
    x, y, w, h = notes["window"]
    padded = F.pad(image, [9, 7, 5, 3], fill, padding_mode)
    return F.crop(padded, y + 7, x + 9, h, w)


def nested(image, notes):
    steps = {"sharpness": lambda i: F.adjust_sharpness(i, 2), "invert": F.invert,
             "posterize": lambda i: F.posterize(i, 2), "equalize": F.equalize,
             "solarize": lambda i: F.solarize(i, 100)}
    chosen = list(notes["random_order#0"])
    chosen += ["solarize#0"] if notes["random_apply#0"] == "applied" else []
    for path in chosen + [notes["random_choice#0"]]:
        image = steps[path.split("/")[-1].split("#")[0]](image)
    return image


def tones():
    for name, more, operate in [
            ("solarize", ", threshold = 77.5", lambda i: F.solarize(i, 77.5)),
            ("posterize", ", bits = 3", lambda i: F.posterize(i, 3)),
            ("sharpness", ", sharpness_factor = 2.5", lambda i: F.adjust_sharpness(i, 2.5)),
            ("sharpness", ", sharpness_factor = 0.3", lambda i: F.adjust_sharpness(i, 0.3)),
            ("autocontrast", "", F.autocontrast), ("equalize", "", F.equalize),
            ("invert", "", F.invert)]:
        yield (name, f'{{ stage = "{name}"{more} }}',
               lambda i, n, name=name, operate=operate: operate(i) if n[name] else i)


def warps(mode, gray):
    fill = [77] if gray else [10, 200, 90]
    options = f'interpolation = "{mode}", fill = {fill}'
    resampling = MODES[mode]
    for center in (None, [3, 5.5]):
        more = "" if center is None else f", center = {center}"
        yield ("random_rotation", f'{{ stage = "random_rotation", degrees = 200{more}, {options} }}',
               lambda i, n, c=center: F.rotate(i, n["angle"], resampling, False, c, fill))
        yield ("random_affine", '{ stage = "random_affine", degrees = 30, translate = [0.3, 0.2], '
               f'scale = [0.5, 2], shear = [-10, 10, -20, 30]{more}, {options} }}',
               lambda i, n, c=center: F.affine(
                   i, n["angle"], [n["translate_x"], n["translate_y"]], n["scale"],
                   [n["shear_x"], n["shear_y"]], resampling, fill, c))
        yield ("affine", '{ stage = "affine", angle = 33.3, translate = [3, -2], scale = 0.8, '
               f'shear = [10, -20]{more}, {options} }}',
               lambda i, n, c=center: F.affine(i, 33.3, [3, -2], 0.8, [10, -20], resampling, fill,
                                               c))
    for angle in (-45, 90, 180):
        yield ("rotate", f'{{ stage = "rotate", angle = {angle}, {options} }}',
               lambda i, n, angle=angle: F.rotate(i, angle, resampling, False, None, fill))
    yield ("random_perspective", f'{{ stage = "random_perspective", {options} }}',
           lambda i, n: perspective(i, n, mode, fill))
    policies = {"rand_augment": ", num_ops = 3", "trivial_augment_wide": ""}
    policies |= {f"auto_augment {name}": f', policy = "{name}"'
                 for name in ("imagenet", "cifar10", "svhn")}
    for name, more in policies.items():
        yield (name, f'{{ stage = "{name.split()[0]}"{more}, {options} }}',
               lambda i, n: operations(i, n, mode, fill))


def geometry(mode):
    resampling = MODES[mode]
    options = f'interpolation = "{mode}", pillow = 13'

    def random_resized(image, notes):
        x, y, w, h = notes["crop"]
        made = F.resized_crop(image, y, x, h, w, [28, 36], resampling)
        made = F.horizontal_flip(made) if notes["flip"] else made
        return F.vertical_flip(made) if notes["vertical_flip"] else made
    yield ("random_resized_crop and flips",
           f'{{ stage = "random_resized_crop", size = [28, 36], {options} }}, '
           '{ stage = "horizontal_flip" }, { stage = "vertical_flip" }', random_resized)
    centre = ', { stage = "center_crop", size = [40, 44] }'
    yield ("random_short_side", '{ stage = "random_short_side", min_size = [20, 31, 57], '
           f'max_size = 90, {options} }}{centre}', lambda i, n: short_side(i, n, mode))
    yield ("scale_jitter", '{ stage = "scale_jitter", target_size = [50, 40], '
           f'scale_range = [0.5, 2], {options} }}{centre}',
           lambda i, n: jittered_scale(i, n, (50, 40), mode))
    yield ("random_resize", '{ stage = "random_resize", min_size = 20, max_size = 70, '
           f'{options} }}{centre}', lambda i, n: scaled(i, [n["short_side"]], mode))
    yield ("resized_crop", '{ stage = "resized_crop", top = 3, left = 5, height = 20, width = 31, '
           f'size = [44, 17], {options} }}',
           lambda i, n: F.resized_crop(i, 3, 5, 20, 31, [44, 17], resampling))
    for padding_mode in ("constant", "reflect"):
        yield ("resize_keep_ratio", '{ stage = "resize_keep_ratio", size = [40, 44], longest = 0.3, '
               f'scale = [0.4, 1.6], ratio = [0.5, 2], {options} }}, {{ stage = "center_crop", '
               f'size = [40, 44], padding_mode = "{padding_mode}" }}',
               lambda i, n, p=padding_mode: keep_ratio(i, n, mode, p))
    yield ("resize", f'{{ stage = "resize", size = 33, max_size = 45, {options} }}{centre}',
           lambda i, n: F.center_crop(F.resize(i, [33], resampling, 45), [40, 44]))


def keep_ratio(image, notes, mode, padding_mode):
    """timm's ResizeKeepRatio with what was drawn, and its CenterCropOrPad."""
    scaled, stretched = "keep_scale" in notes, "keep_ratio" in notes
    chosen = iter([0.1 if scaled else 0.9] + [notes.get("keep_scale")] * scaled
                  + [0.1 if stretched else 0.9]
                  + [math.log(notes.get("keep_ratio", 1))] * stretched)
    timm_transforms.random.random = lambda: next(chosen)
    timm_transforms.random.uniform = lambda *_: next(chosen)
    size = timm_transforms.ResizeKeepRatio.get_params(
        image, (40, 44), 0.3, 0.5, (0.4, 1.6), True, 0.5, (0.5, 2))
    made = F.resize(image, size, MODES[mode])
    return timm_transforms.center_crop_or_pad(made, [40, 44], padding_mode=padding_mode)


def other_geometry():
    for mode in ("constant", "edge", "reflect", "symmetric"):
        fill = ", fill = 99" if mode == "constant" else ""
        yield ("random_crop", '{ stage = "random_crop", size = 35, padding = [9, 7, 5, 3], '
               f'padding_mode = "{mode}"{fill} }}',
               lambda i, n, mode=mode: padded_crop(i, n, mode, 99))
        yield ("pad", f'{{ stage = "pad", padding = [9, 7, 5, 3], padding_mode = "{mode}"{fill} }}, '
               '{ stage = "center_crop", size = 60 }',
               lambda i, n, mode=mode: F.center_crop(F.pad(i, [9, 7, 5, 3], 99, mode), [60, 60]))
    yield ("five_crop", '{ stage = "five_crop", size = [20, 24] }',
           lambda i, n: numpy.stack(F.five_crop(i, [20, 24])))
    for vertical in (False, True):
        yield ("ten_crop", '{ stage = "ten_crop", size = [20, 24], vertical_flip = '
               f'{str(vertical).lower()} }}',
               lambda i, n, v=vertical: numpy.stack(F.ten_crop(i, [20, 24], v)))


def levels(gray):
    yield ("color_jitter", '{ stage = "color_jitter", brightness = 0.8, contrast = 0.8, '
           'saturation = 0.8, hue = 0.5 }', jitter)
    yield ("random_photometric_distort", '{ stage = "random_photometric_distort", '
           'hue = [-0.3, 0.3] }', photometric)
    for size in ([3, 3], [9, 5], [23, 23]):
        yield ("gaussian_blur", f'{{ stage = "gaussian_blur", kernel_size = {size}, p = 0.8 }}',
               lambda i, n, size=size: F.gaussian_blur(i, size, [n["blur_sigma"]] * 2)
               if "blur_sigma" in n else i)
    yield ("random_apply, random_choice, random_order",
           '{ stage = "random_order", stages = [{ stage = "sharpness", sharpness_factor = 2, p = 1 }, '
           '{ stage = "invert", p = 1 }, { stage = "posterize", bits = 2, p = 1 }] }, '
           '{ stage = "random_apply", stages = [{ stage = "solarize", threshold = 100, p = 1 }] }, '
           '{ stage = "random_choice", p = [1, 3], stages = [{ stage = "equalize", p = 1 }, '
           '{ stage = "invert", p = 1 }] }', nested)
    mix = '{ stage = "aug_mix", chain_depth = 2 }'
    yield ("aug_mix of PIL's operations", mix, lambda i, n: aug_mix(i, n, False))
    if gray:
        return
    yield "aug_mix", mix, lambda i, n: aug_mix(i, n, True)
    yield ("random_channel_permutation", '{ stage = "random_channel_permutation" }', reordered)
    yield ("grayscale", '{ stage = "grayscale", channels = 3 }',
           lambda i, n: F.to_grayscale(i, 3))


def compare(name, ours, wanted, where):
    wanted = numpy.asarray(wanted)
    if ours.size != wanted.size:
        check(False, f"{name}: {where}: {ours.shape} and not {wanted.shape}")
        return
    off = abs(ours.reshape(-1).astype(float) - wanted.reshape(-1))
    row = found[name]
    row[0] += 1
    row[1] = max(row[1], off.max())
    row[2] += (off > 0).sum()
    row[3] += off.size


def pixel_cases(batchcast, size, gray, rng):
    placed = list(other_geometry())
    cases = list(tones()) + list(levels(gray))
    if not gray:
        cases += list(timm_cases()) + list(degradations())
    for mode in MODES:
        placed += list(geometry(mode))
        cases += list(warps(mode, gray))
    cases = placed + [(name, whole(size) + stages, operate) for name, stages, operate in cases]
    channels = "gray" if gray else "rgb"
    recipe = []
    decode = f'{{ stage = "decode", mode = "{channels}" }}, '
    for number, (_, stages, _) in enumerate(cases):
        recipe.append(field(f"f{number}", decode + stages +
                            ', { stage = "to", dtype = "u8", layout = "hwc" }'))
    with tempfile.TemporaryDirectory() as folder:
        pixels = list(pictures(size, rng))
        write_images(folder, pixels)
        fields = dump(batchcast, recipe, folder, SAMPLES)
    for number, (name, _, operate) in enumerate(cases):
        made, notes = fields[f"f{number}"]
        for i, one in enumerate(pixels):
            image = Image.fromarray(one).convert("L" if gray else "RGB")
            compare(name, made[i], operate(image, notes[i]), f"{size}, {channels}, {notes[i]}")


def timm_operations(image, notes, translation=0.45, increasing=True, posterize="Increasing"):
    """The operations that were noted, each as timm makes it."""
    names = {ours: name for name, ours in OUR_NAMES.items()}
    names |= {"solarize_add": "SolarizeAdd", "desaturate": "Desaturate"}
    hparams = {"img_mean": (10, 200, 90), "interpolation": Image.BICUBIC, "magnitude_max": 20,
               "translate_pct": translation}
    for ours, level in zip(many(notes, "operation"), many(notes, "magnitude")):
        if ours == "gaussian_blur":
            radius = many(notes, "blur_radius")
            image = image.filter(ImageFilter.GaussianBlur(radius[0])) if radius else \
                timm_augment.AugmentOp("GaussianBlur", 1, level, hparams)(image)
            continue
        name = names[ours]
        if name in ("Color", "Contrast", "Brightness", "Sharpness", "Solarize"):
            name += "Increasing" if increasing else ""
        elif name == "Posterize":
            name += posterize
        elif name.startswith("Translate"):
            name += "Rel"
        timm_augment.random.random = lambda level=level: 0.9 if math.copysign(1, level) < 0 else 0.1
        try:
            image = timm_augment.AugmentOp(name, 1, abs(level), hparams)(image)
        except ValueError:  # Pillow 13 refuses to keep no bits; before, that was black
            image = Image.new(image.mode, image.size)
    return image


def timm_mix(image, notes, depths):
    made = numpy.zeros(numpy.asarray(image).shape, numpy.float32)
    at = 0
    for share, depth in zip(many(notes, "share"), depths):
        part = {key: many(notes, key)[at:at + depth] for key in ("operation", "magnitude")}
        at += depth
        chain = timm_operations(image, part, 0.3)
        made += numpy.float32(share) * numpy.asarray(chain, numpy.float32)
    mixed = Image.fromarray(numpy.clip(made, 0, 255.0).astype(numpy.uint8))
    return Image.blend(image, mixed, numpy.float32(notes["blend"]))


def timm_blend(image, notes, depths):
    """With timm's own weights of a blended mix."""
    mix = timm_augment.AugMixAugment([], blended=True)
    shares = numpy.array(many(notes, "share"), numpy.float32)
    weights = mix._calc_blended_weights(shares, numpy.float32(notes["blend"]))
    made, at = image, 0
    for weight, depth in zip(weights, depths):
        part = {key: many(notes, key)[at:at + depth] for key in ("operation", "magnitude")}
        at += depth
        made = Image.blend(made, timm_operations(image, part, 0.3), weight)
    return made


def timm_cases():
    fill = "fill = [10, 200, 90]"
    rand = f'{{ stage = "timm_rand_augment", p = 0.9, num_ops = 3, {fill}'
    for more in ("", ", operations = \"weights\"", ", operations = \"3a\"",
                 ", operations = \"3aw\""):
        yield f"timm_rand_augment{more}", f"{rand}{more}, magnitude = 8 }}", timm_operations
    yield ("timm_rand_augment, increasing = false", f"{rand}, increasing = false, magnitude = 8 }}",
           lambda i, n: timm_operations(i, n, increasing=False, posterize=""))
    forms = {"original": "Original", "originalr": "Increasing", "v0": "", "v0r": "Increasing",
             "3a": ""}
    for policy, form in forms.items():
        yield (f"timm_auto_augment {policy}",
               f'{{ stage = "timm_auto_augment", policy = "{policy}", {fill} }}',
               lambda i, n, form=form: timm_operations(i, n, increasing=False, posterize=form))
    mix = f'{{ stage = "timm_aug_mix", magnitude = 5, mixture_width = 4, chain_depth = 2, {fill}'
    yield "timm_aug_mix", mix + " }", lambda i, n: timm_mix(i, n, [2] * 4)
    yield "timm_aug_mix blended", mix + ", blended = true }", lambda i, n: timm_blend(i, n, [2] * 4)


def degradations():
    def through_jpeg(image, notes):
        made = io.BytesIO()
        image.save(made, "JPEG", quality=notes["jpeg_quality"])
        return Image.open(made)
    yield "jpeg", '{ stage = "jpeg", quality = [1, 100] }', through_jpeg
    yield ("jpeg as v2.JPEG", '{ stage = "jpeg", quality = [1, 100] }',
           lambda i, n: F.jpeg(F.pil_to_tensor(i), n["jpeg_quality"]).permute(1, 2, 0))
    yield ("pil_gaussian_blur", '{ stage = "pil_gaussian_blur", p = 0.8 }', blurred)


def tensor_cases(batchcast, size, rng):
    """Stages of tensors: noise (of which one field shows what is drawn), boxes, normalize."""
    noise = '{ stage = "gaussian_noise", mean = %s, sigma = %s, clip = %s }'
    to = '{ stage = "decode" }, ' + whole(size) + '{ stage = "to", dtype = "%s" }, '
    black = '{ stage = "decode" }, ' + whole(size) + \
        '{ stage = "color_jitter", brightness = [0, 0] }, { stage = "to" }, '
    erase = '{ stage = "random_erasing", value = [0.2, 0.4, 0.6], p = 0.7 }'
    recipe = [field("drawn", black + noise % (0, 1, "false"), "sample")]
    for dtype in ("f32", "u8"):
        recipe.append(field(dtype, to % dtype + noise % (0.02, 0.3, "true"), "sample"))
        recipe.append(field(dtype + "_wraps", to % dtype + noise % (0.02, 0.3, "false"),
                            "sample"))
    recipe.append(field("erased", to % "f32" + erase))
    recipe.append(field("normal", to % "f32" +
                        f'{{ stage = "normalize", mean = {MEAN}, std = {STD} }}'))
    with tempfile.TemporaryDirectory() as folder:
        pixels = list(pictures(size, rng))
        write_images(folder, pixels)
        fields = dump(batchcast, recipe, folder, SAMPLES)
    drawn = fields["drawn"][0]
    check(same_distribution(drawn.reshape(-1), torch.randn(drawn.size).numpy()) > 1e-5,
          "gaussian_noise is not normally distributed")
    randn_like = torch.randn_like
    for i, one in enumerate(pixels):
        image = F.pil_to_tensor(Image.fromarray(one))
        as_float = F.to_dtype(image, torch.float32, scale=True)
        torch.randn_like = lambda *_, i=i, **__: torch.from_numpy(drawn[i])
        for dtype, tensor in {"f32": as_float, "u8": image}.items():
            for suffix, clip in {"": True, "_wraps": False}.items():
                compare(f"gaussian_noise {dtype}", fields[dtype + suffix][0][i],
                        F.gaussian_noise(tensor, 0.02, 0.3, clip), i)
        torch.randn_like = randn_like
        box = fields["erased"][1][i]["erase"]
        wanted = as_float
        if box:
            x, y, w, h = box
            wanted = F.erase(as_float, y, x, h, w, torch.tensor([0.2, 0.4, 0.6])[:, None, None])
        compare("random_erasing", fields["erased"][0][i], wanted, box)
        compare("to and normalize", fields["normal"][0][i], F.normalize(as_float, MEAN, STD), i)


MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
CLIP = ([0.48145466, 0.4578275, 0.40821073], [0.26862954, 0.26130258, 0.27577711])


def finished(image, mean, std):
    made = F.to_dtype(F.pil_to_tensor(image), torch.float32, scale=True)
    return made if mean is None else F.normalize(made, mean, std)


def evaluated(resized, mode, mean=MEAN, std=STD):
    return lambda i, n: finished(F.center_crop(F.resize(i, [resized], MODES[mode]), [224, 224]),
                                 mean, std)


def trained(size, mode, mean=MEAN, std=STD, kernel=None):
    """What the originals do in this order, where it was drawn."""
    def make(image, notes):
        x, y, w, h = notes["crop"]
        made = F.resized_crop(image, y, x, h, w, [size, size], MODES[mode])
        made = F.horizontal_flip(made) if notes.get("flip") else made
        made = operations(made, notes, "bilinear", None) if "operation" in notes else made
        made = jitter(made, notes) if "jitter_order" in notes else made
        made = F.to_grayscale(made, 3) if notes.get("grayscale") else made
        if "blur_sigma" in notes:
            made = F.gaussian_blur(made, [kernel, kernel], [notes["blur_sigma"]] * 2)
        made = blurred(made, notes)
        made = F.solarize(made, 128) if notes.get("solarize") else made
        made = finished(made, mean, std)
        if notes.get("erase"):
            x, y, w, h = notes["erase"]
            made = F.erase(made, y, x, h, w, torch.zeros(1, 1, 1))
        return made
    return make


def blurred(image, notes):
    """As the code of MoCo v3, DINO and DeiT III: PIL's filter."""
    if "blur_radius" not in notes:
        return image
    return image.filter(ImageFilter.GaussianBlur(radius=notes["blur_radius"]))


def three_augmented(image, notes):
    """augment.py of DeiT III: one of three, and then colours."""
    x, y, w, h = notes["crop"]
    made = F.resized_crop(image, y, x, h, w, [224, 224], MODES["bicubic"])
    made = F.horizontal_flip(made) if notes["flip"] else made
    chosen = notes["random_choice#0"].split("/")[1].split("#")[0]
    steps = {"grayscale": lambda i: F.to_grayscale(i, 3), "solarize": ImageOps.solarize,
             "pil_gaussian_blur": lambda i: blurred(i, notes)}
    return finished(jitter(steps[chosen](made), notes), MEAN, STD)


def moco(image, notes):
    """main_moco.py: mirrored last."""
    flip = dict(notes, flip=False)
    made = trained(224, "bilinear")(image, flip)
    return F.horizontal_flip(made) if notes["flip"] else made


PRESETS = {
    "torchvision-v1": {"image": trained(224, "bilinear")},
    "torchvision-v1-eval": {"image": evaluated(256, "bilinear")},
    "torchvision-v2": {"image": trained(176, "bilinear")},
    "torchvision-v2-eval": {"image": evaluated(232, "bilinear")},
    "deit-eval": {"image": evaluated(256, "bicubic")},
    "clip": {"image": trained(224, "bicubic", *CLIP)},
    "clip-eval": {"image": evaluated(224, "bicubic", *CLIP)},
    "simclr": {"image": trained(224, "bicubic", None, None, 23)},
    "deit-iii": {"image": three_augmented},
    "moco-v3": {"view_1": moco, "view_2": moco},
    "mae": {"image": trained(224, "bicubic")},
    "dino": {"global_1": trained(224, "bicubic"), "global_2": trained(224, "bicubic"),
             "local": trained(96, "bicubic")},
}


def preset_cases(batchcast, rng):
    """Presets as a whole, with Pillow 13's resizing."""
    for preset, fields in PRESETS.items():
        text = subprocess.run([batchcast, "recipe", preset], check=True, text=True,
                              stdout=subprocess.PIPE).stdout
        for stage in ('"random_resized_crop"', '"resize"'):
            text = text.replace(f"stage = {stage}", f"stage = {stage}, pillow = 13")
        recipe = ["[[field]]" + part for part in text.split("[[field]]")[1:]]
        with tempfile.TemporaryDirectory() as folder:
            pixels = list(pictures((300, 260), rng))
            write_images(folder, pixels)
            made = dump(batchcast, recipe, folder, SAMPLES)
        # A level of a blur is so much of a normalized number.
        ALLOWED[preset] = (0.0176 if preset == "simclr" else 1e-6, 1)
        for name, operate in fields.items():
            images, notes = made[name]
            for i, one in enumerate(pixels):
                ours = images[i] if images.ndim == 4 else images[i][0]
                compare(preset, ours, operate(Image.fromarray(one), notes[i]), notes[i])


def replays(batchcast, rng):
    """Stages by their paths, with Pillow 13's resizing."""
    def operate(image, name, magnitude):
        return operations(image, {"operation": name, "magnitude": magnitude}, "nearest", None)
    F.hflip, F.vflip = F.horizontal_flip, F.vertical_flip
    with tempfile.TemporaryDirectory() as folder:
        wrong, rows = replay_and_compare(batchcast, folder, list(pictures((120, 90), rng)),
                                         Replay(F, operate), 13)
    check(not wrong, f"{len(wrong)} replays differ: {wrong[:3]}")
    check_old_keys(rows)


def elastic_cases(probe, rng):
    """Displacements as v2.ElasticTransform makes them of what our stage draws."""
    rand = torch.rand
    for sample_id in range(60):
        width, height = (int(side) for side in rng.integers(40, 90, 2))
        pixels = rng.integers(0, 256, (height, width, 3)).astype(numpy.uint8)
        alpha, sigma = rng.uniform(0, 200, 2).tolist(), rng.uniform(0.3, 4, 2).tolist()
        made, _ = probe.stage(f'stage = "elastic", alpha = {alpha}, sigma = {sigma}, fill = 9',
                              pixels, sample_id)
        draws = iter(probe.draws(sample_id, 2 * height * width).copy().reshape(2, 1, 1, height,
                                                                               width))
        torch.rand = lambda *_, draws=draws: torch.from_numpy(next(draws))
        image = Image.fromarray(pixels)
        transform = v2.ElasticTransform(alpha, sigma, fill=9)
        wanted = transform.transform(image, transform.make_params([image]))
        torch.rand = rand
        compare("elastic", made, wanted, f"{alpha}, {sigma}")


def survival(square, free):
    """Of the chi-square distribution."""
    return float(torch.special.gammaincc(torch.tensor(free / 2, dtype=torch.float64),
                                         torch.tensor(square / 2, dtype=torch.float64)))


def same_shares(ours, theirs):
    """Chi-square of two samples of words; rare ones are counted together."""
    counts = [collections.Counter(ours), collections.Counter(theirs)]
    table = [[counts[0][word], counts[1][word]] for word in counts[0] | counts[1]]
    rare = [row for row in table if sum(row) < 20]
    table = [row for row in table if sum(row) >= 20]
    table += [[sum(row[i] for row in rare) for i in (0, 1)]] if rare else []
    if len(table) < 2:
        return 1.0
    table = numpy.array(table, float)
    wanted = table.sum(1, keepdims=True) * table.sum(0) / table.sum()
    return survival(((table - wanted) ** 2 / wanted).sum(), len(table) - 1)


def same_distribution(ours, theirs):
    """Kolmogorov's and Smirnov's test of two samples."""
    at = numpy.unique(numpy.concatenate([ours, theirs]))
    below = [numpy.searchsorted(numpy.sort(one), at, side="right") / len(one)
             for one in (ours, theirs)]
    x = abs(below[0] - below[1]).max() * math.sqrt(len(ours) * len(theirs)
                                                   / (len(ours) + len(theirs)))
    if x < 0.3:
        return 1.0
    return min(1.0, 2 * sum((-1) ** (k - 1) * math.exp(-2 * k * k * x * x) for k in range(1, 100)))


def distributions(batchcast, seed):
    torch.manual_seed(seed)
    results = []
    for size in sorted({draw.size for draw in DRAWS}):
        chosen = [draw for draw in DRAWS if draw.size == size]
        recipe = []
        for number, draw in enumerate(chosen):
            tensor = draw.stage.startswith('stage = "random_erasing')
            crop = ', { stage = "center_crop", size = 2 }' if draw.shape == "open" else ""
            order = ['{ stage = "to" }', f'{{ {draw.stage} }}']
            stages = ", ".join(order) if tensor else order[1] + crop + ", " + order[0]
            start = '{ stage = "decode" }, ' + (whole(size) if draw.shape == "kept" else "")
            recipe.append(field(f"f{number}", start + stages))
        with tempfile.TemporaryDirectory() as folder:
            write_images(folder, [numpy.zeros((size[1], size[0], 3), numpy.uint8)])
            fields = dump(batchcast, recipe, folder, COUNT)
        for number, draw in enumerate(chosen):
            ours = values_of(fields[f"f{number}"][1], draw)
            theirs = drawn_by_torchvision(draw, COUNT)
            check(ours.keys() == theirs.keys(), f"{draw.stage}: {set(ours) ^ set(theirs)}")
            for key in theirs.keys() & ours.keys():
                in_words = isinstance(theirs[key][0], str)
                test = same_shares if in_words else same_distribution
                results.append((test(ours[key], theirs[key]), draw.stage, key, len(ours[key])))
    limit = 0.001 / len(results)
    for p, stage, key, count in results:
        check(p > limit, f"{stage}: {key} is distributed otherwise (p = {p:.2g}, {count} values)")
    print(f"{len(results)} distributions, {COUNT} draws each: p is at least "
          f"{min(results)[0]:.2g}, the limit is {limit:.2g}")


def main():
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 31
    print(f"seed {seed}, torchvision {torchvision.__version__}, Pillow {PIL.__version__}")
    torch.set_num_threads(1)
    rng = numpy.random.default_rng(seed)
    for size in ((60, 40), (37, 53), (64, 64)):
        for gray in (False, True):
            pixel_cases(sys.argv[1], size, gray, rng)
        tensor_cases(sys.argv[1], size, rng)
    preset_cases(sys.argv[1], rng)
    replays(sys.argv[1], rng)
    elastic_cases(Probe(sys.argv[2]), rng)
    for name, (images, most, off, count) in found.items():
        level, share = ALLOWED.get(name, (0, 0))
        check(name in TOLD or (most <= level and off / count <= share), f"{name} differs")
        print(f"{name}: {images} images, {'equal' if most == 0 else f'by up to {most:.3g}'}"
              + (f", {off / count:.2g} of the bytes" if off else ""))
    distributions(sys.argv[1], seed)
    print("all as torchvision" if failures == 0 else f"{failures} differ")
    return 1 if failures else 0


sys.exit(main())
