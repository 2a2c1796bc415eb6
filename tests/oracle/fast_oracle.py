# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""How far `fast` decoding is from exact decoding, for the figures of docs/recipes.md.

Usage: fast_oracle.py BATCHCAST [SEED]. Crops of the photographs that benchmarks/make_images.py draws
must stay within what the page says. Of noise and sharp edges, where nothing bounds the difference, it
only prints what it finds.
"""
import pathlib
import subprocess
import sys
import tempfile

import numpy
from PIL import Image

# As the page says: levels on average, and the share of bytes that differ by more than NEAR levels.
MEAN_MAX = 2
NEAR = 32
FAR_MAX = 0.002

DRAWER = pathlib.Path(__file__).resolve().parents[2] / "benchmarks" / "make_images.py"
SAMPLES = 60
STAGES = ['{ stage = "resize", size = [32, 32] }', '{ stage = "resize", size = [96, 96] }',
          '{ stage = "random_resized_crop", size = 112 }',
          '{ stage = "random_resized_crop", size = 64, scale = [0.3, 1] }',
          '{ stage = "random_resized_crop", size = 224 }']


def dumped(command, folder, images, stages, fast):
    recipe = folder / "recipe.toml"
    recipe.write_text(f"""
[[field]]
name = "image"
stages = [{{ stage = "decode", fast = {"true" if fast else "false"} }}, {stages},
          {{ stage = "to", dtype = "u8" }}]
""")
    out = folder / f"out-{fast}"
    subprocess.run([command, "dump", f"imagefolder:{images}", "--recipe", str(recipe), "--out", str(out),
                    "--positions", f"0:{SAMPLES}"], check=True, capture_output=True)
    pixels = numpy.load(out / "image.npy").astype(int)
    for file in out.iterdir():
        file.unlink()
    out.rmdir()
    return pixels


def draw_noise(folder, rng):
    (folder / "a").mkdir(parents=True)
    for i in range(12):
        width, height = (int(side) for side in rng.integers(300, 700, 2))
        block = (1, 5, 1)[i % 3]
        levels = rng.integers(0, 2, (height // block + 1, width // block + 1, 3)) * 255
        if i % 3 == 2:
            levels = rng.integers(0, 256, levels.shape)
        pixels = numpy.kron(levels, numpy.ones((block, block, 1)))[:height, :width]
        Image.fromarray(pixels.astype(numpy.uint8)).save(folder / "a" / f"{i:02}.jpg", subsampling=i % 3,
                                                         quality=int(rng.integers(50, 100)))


def main():
    command = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    print(f"fast_oracle.py: seed {seed}", flush=True)
    failures = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        subprocess.run([sys.executable, DRAWER, folder / "photographs", "--images", "20", "--seed", str(seed),
                        "--jobs", "1"], check=True, capture_output=True)
        draw_noise(folder / "noise", numpy.random.default_rng(seed))
        for kind in ("photographs", "noise"):
            for stages in STAGES:
                exact, fast = (dumped(command, folder, folder / kind, stages, fast) for fast in (False, True))
                off = abs(exact - fast)
                far = (off > NEAR).mean()
                right = off.max() > 0 and (kind == "noise" or (off.mean() <= MEAN_MAX and far <= FAR_MAX))
                failures += not right
                print(f"{'' if right else 'WRONG: '}{kind}, {stages}: {off.mean():.2f} levels on average, "
                      f"{100 * far:.3f} % of bytes by more than {NEAR}, at most {off.max()}")
    print("as the page says" if failures == 0 else f"{failures} are not as the page says")
    return 1 if failures else 0


sys.exit(main())
