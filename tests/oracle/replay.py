# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Does once more, with PIL's images, what `stages` in draws.jsonl says that each stage drew.

draws_oracle.py and v2_oracle.py import it, each with the functions of its torchvision.
"""
import json
import pathlib
import subprocess

import numpy
from PIL import Image

RESIZING = ("random_resized_crop", "resize", "random_resize")


def many(notes, key):
    value = notes.get(key, [])
    return value if isinstance(value, list) else [value]


def toml(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {toml(one)}" for key, one in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml(one) for one in value) + "]"
    return json.dumps(value)


class Replay:
    """`functional` is torchvision's; `operate(image, name, magnitude)` does what a policy drew."""

    def __init__(self, functional, operate):
        self.F = functional
        self.operate = operate

    def run(self, image, stages, notes, above="", counts=None):
        """The image, or a list of several, after the stages."""
        counts = {} if counts is None else counts
        for stage in stages:
            name = stage["stage"]
            path = f"{above}{name}#{counts.get(name, 0)}"
            counts[name] = counts.get(name, 0) + 1
            images = image if isinstance(image, list) else [image]
            images = [self.stage(one, stage, notes.get(path, {}), path, notes) for one in images]
            image = images[0] if len(images) == 1 else images
        return image

    def stage(self, image, stage, drawn, path, notes):
        F, name = self.F, stage["stage"]
        if name in ("random_apply", "random_choice", "random_order"):
            return self.container(image, stage, drawn, path, notes)
        if name in ("five_crop", "ten_crop"):
            made = []
            for part, (x, y, w, h) in enumerate(drawn["crop"]):
                made.append(F.crop(F.hflip(image) if part >= 5 else image, y, x, h, w))
            return made
        if name in ("random_crop", "center_crop", "random_resized_crop"):
            left = top = 0
            if "padding" in stage:
                left, top, right, bottom = stage["padding"]
                image = F.pad(image, [left, top, right, bottom], 0, "constant")
            x, y, w, h = drawn["crop"]
            image = F.crop(image, y + top, x + left, h, w)
        if name in ("random_resized_crop", "resize"):
            return F.resize(image, stage["size"])
        if name == "random_resize":
            return F.resize(image, [drawn["short_side"]])
        if name == "horizontal_flip":
            return F.hflip(image) if drawn["flip"] else image
        if name == "vertical_flip":
            return F.vflip(image) if drawn["vertical_flip"] else image
        if name == "color_jitter":
            return self.jitter(image, drawn)
        if name == "random_rotation":
            return F.rotate(image, drawn["angle"], fill=[0] * 3)
        if name == "invert":
            return F.invert(image) if drawn["invert"] else image
        if name == "trivial_augment_wide":
            for one, magnitude in zip(many(drawn, "operation"), many(drawn, "magnitude")):
                image = self.operate(image, one, magnitude)
        return image

    def jitter(self, image, drawn):
        names = {"1": "brightness", "2": "contrast", "3": "saturation", "4": "hue"}
        for digit in str(drawn["jitter_order"]):
            image = getattr(self.F, "adjust_" + names[digit])(image, drawn[names[digit]])
        return image

    def container(self, image, stage, drawn, path, notes):
        inside, counts = {}, {}
        for one in stage["stages"]:
            name = one["stage"]
            inside[f"{path}/{name}#{counts.get(name, 0)}"] = one
            counts[name] = counts.get(name, 0) + 1
        chosen = many(drawn, "chosen")
        if stage["stage"] == "random_apply":
            chosen = list(inside) if chosen == ["applied"] else []
        for one in chosen:
            image = self.stage(image, inside[one], notes.get(one, {}), one, notes)
        return image


def stage(name, **parameters):
    return {"stage": name} | parameters


JITTER = stage("color_jitter", brightness=0.4, contrast=0.4, saturation=0.4, hue=0.1)
FLIP = stage("horizontal_flip")
WHOLE = stage("center_crop", size=[64, 72])

# What draws.jsonl lost or told of another pass before stages were noted by their paths.
CASES = {
    "crops of crops": [stage("resize", size=[70, 90]), stage("random_crop", size=[60, 62]), FLIP,
                       stage("random_crop", size=[40, 44], padding=[3, 4, 5, 6])],
    "a crop behind a pixel stage": [JITTER, stage("random_resized_crop", size=[32, 40]), FLIP],
    "a crop behind a flip and a pixel stage": [FLIP, JITTER, stage("random_crop", size=[50, 40])],
    "a crop behind a warp": [WHOLE, stage("random_rotation", degrees=40), FLIP,
                             stage("random_crop", size=[40, 42], padding=[5, 6, 7, 8]),
                             stage("vertical_flip")],
    "a crop behind a policy": [WHOLE, stage("trivial_augment_wide"), stage("random_crop", size=[33, 35]),
                               stage("trivial_augment_wide")],
    "repeated stages": [WHOLE, FLIP, JITTER, FLIP, JITTER, stage("random_rotation", degrees=20),
                        stage("random_rotation", degrees=20)],
    "five crops": [JITTER, stage("five_crop", size=[30, 32]), stage("random_crop", size=[20, 24])],
    "ten crops": [stage("random_resized_crop", size=[50, 60]), stage("ten_crop", size=[30, 32]), FLIP],
    "containers": [stage("random_choice", stages=[stage("random_resized_crop", size=[48, 50]),
                                                  stage("random_crop", size=[48, 50])]),
                   stage("random_order", stages=[stage("invert"), JITTER, FLIP]),
                   stage("random_apply", stages=[FLIP, stage("random_rotation", degrees=30)]),
                   stage("random_crop", size=[32, 34])],
    "sizes that are drawn": [JITTER, stage("random_resize", min_size=50, max_size=70),
                             stage("random_crop", size=[44, 46])],
}
JOINT = [stage("random_crop", size=[60, 62]), FLIP]
OF_FIELDS = {"joint_a": [JITTER, stage("random_crop", size=[40, 42])], "joint_b": [FLIP]}


def recipe(pillow):
    """A field for each case, in two views; and two fields of a joint."""
    def resized(one):
        if "stages" in one:
            return one | {"stages": [resized(inner) for inner in one["stages"]]}
        return one | ({"pillow": pillow} if pillow != 12 and one["stage"] in RESIZING else {})

    def text(stages):
        full = [resized(one) for one in stages]
        return toml([stage("decode")] + full + [stage("to", dtype="u8", layout="hwc")])

    fields = [f'[[field]]\nname = "f{i}"\nfrom = "image"\ndraws = "own"\nviews = 2\nstages = {text(stages)}\n'
              for i, stages in enumerate(CASES.values())]
    fields += [f'[[field]]\nname = "{name}"\nfrom = "image"\ndraws = "own"\nstages = {text(stages)}\n'
               for name, stages in OF_FIELDS.items()]
    return '[order]\nmode = "sequential"\n' + "".join(fields) + \
        f'[[joint]]\nfields = {toml(list(OF_FIELDS))}\nviews = 2\nstages = {toml(JOINT)}\n'


def compare(batchcast, folder, pixels, replay, pillow=12):
    """Texts of what differs, of images whose smaller side has 80 pixels or more."""
    root = pathlib.Path(folder)
    (root / "images/a").mkdir(parents=True)
    for i, one in enumerate(pixels):
        Image.fromarray(one).save(root / f"images/a/{i:03}.png")
    (root / "recipe.toml").write_text(recipe(pillow))
    subprocess.run([batchcast, "dump", f"imagefolder:{root / 'images'}", "--recipe",
                    root / "recipe.toml", "--positions", f"0:{len(pixels)}", "--out", root / "out"],
                   check=True, stdout=subprocess.DEVNULL)
    rows = [json.loads(line)["fields"] for line in (root / "out/draws.jsonl").read_text().splitlines()]
    names = {f"f{i}": (name, stages) for i, (name, stages) in enumerate(CASES.items())}
    names |= {name: (name, JOINT + stages) for name, stages in OF_FIELDS.items()}
    wrong = []
    for field, (name, stages) in names.items():
        made = numpy.load(root / f"out/{field}.npy")
        for i, one in enumerate(pixels):
            for view in range(2):
                notes = rows[i][field]["views"][view]
                wanted = replay.run(Image.fromarray(one), stages, notes["stages"])
                wanted = numpy.asarray(wanted if not isinstance(wanted, list) else
                                       numpy.stack([numpy.asarray(part) for part in wanted]))
                if wanted.shape != made[i][view].shape or (wanted != made[i][view]).any():
                    wrong.append(f"{name}: image {i}, view {view}: {json.dumps(notes)}")
    return wrong, rows


def check_old_keys(rows):
    """`crop` and `window` are of the first pass that crops or resizes; others stand as before."""
    index = {name: f"f{i}" for i, name in enumerate(CASES)}
    for row in rows:
        first = lambda name: row[index[name]]["views"][0]  # noqa: E731
        notes = first("crops of crops")
        assert notes["crop"][:2] == [0, 0], notes
        assert notes["window"] == notes["stages"]["random_crop#0"]["crop"], notes
        for name, path in (("a crop behind a pixel stage", "random_resized_crop#0"),
                           ("a crop behind a flip and a pixel stage", "random_crop#0")):
            notes = first(name)
            assert notes["crop"] == notes["stages"][path]["crop"], notes
            assert notes["flip"] == notes["stages"]["horizontal_flip#0"]["flip"], notes
        notes = first("repeated stages")
        assert notes["flip"] == [notes["stages"][f"horizontal_flip#{i}"]["flip"] for i in (0, 1)], notes
        assert notes["stages"]["color_jitter#0"] != notes["stages"]["color_jitter#1"], notes
        assert len(first("five crops")["stages"]["five_crop#0"]["crop"]) == 5
        assert row["joint_a"]["views"][1]["stages"]["random_crop#0"] == \
            row["joint_b"]["views"][1]["stages"]["random_crop#0"]
