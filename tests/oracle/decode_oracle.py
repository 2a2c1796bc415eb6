# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Images of every kind, decoded by PIL and by batchcast's decoder.

Usage: decode_oracle.py TESTS [SEED]. Writes files and what PIL makes of them into a folder of its
own, and has the program TESTS, which holds the Catch test [oracle-decode], compare.
"""
import io
import os
import random
import struct
import subprocess
import sys
import tempfile
import warnings
import zlib

import numpy
from PIL import Image, ImageFile

ORIENTATION = 0x0112


def noise(rng, width, height, channels):
    coarse = rng.integers(0, 256, (height // 8 + 1, width // 8 + 1, channels))
    fine = rng.integers(-25, 26, (height, width, channels))
    pixels = numpy.kron(coarse, numpy.ones((8, 8, 1), int))[:height, :width] + fine
    return numpy.clip(pixels, 0, 255).astype(numpy.uint8)


def encoded(image, form, **options):
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


def exif(orientation):
    tags = Image.Exif()
    tags[ORIENTATION] = orientation
    return tags


def packed(samples, depth):
    """Rows of samples, `depth` bits each, as PNG stores them, without a filter."""
    height = samples.shape[0]
    rows = samples.reshape(height, -1)
    if depth == 16:
        data = rows.astype(">u2").view(numpy.uint8).reshape(height, -1)
    elif depth == 8:
        data = rows.astype(numpy.uint8)
    else:
        bits = numpy.unpackbits(rows.astype(numpy.uint8)[..., None], axis=2)[..., 8 - depth:]
        data = numpy.packbits(bits.reshape(height, -1), axis=1)
    return b"".join(b"\0" + row.tobytes() for row in data)


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


PASSES = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2),
          (0, 1, 1, 2)]


def png(samples, depth, kind, interlaced=False, before=b""):
    height, width = samples.shape[:2]
    parts = [samples]
    if interlaced:
        parts = [samples[y::dy, x::dx] for x, y, dx, dy in PASSES]
    data = b"".join(packed(part, depth) for part in parts if part.size)
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, int(interlaced))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before +
            chunk(b"IDAT", zlib.compress(data)) + chunk(b"IEND", b""))


def with_adobe(jpeg, transform):
    """`jpeg` with an Adobe marker of that transform instead of what it has."""
    at = jpeg.find(b"\xff\xee")
    if at >= 0 and jpeg[at + 4:at + 9] == b"Adobe":
        return jpeg[:at + 15] + bytes([transform]) + jpeg[at + 16:]
    assert jpeg[2:4] == b"\xff\xe0"
    rest = jpeg[4 + struct.unpack(">H", jpeg[4:6])[0]:]
    adobe = b"Adobe" + struct.pack(">HHHB", 100, 0, 0, transform)
    return b"\xff\xd8\xff\xee" + struct.pack(">H", len(adobe) + 2) + adobe + rest


def jpegs(rng, width, height):
    rgb = Image.fromarray(noise(rng, width, height, 3))
    cmyk = Image.fromarray(noise(rng, width, height, 4), "CMYK")
    for subsampling in (0, 1, 2):
        for progressive in (False, True):
            for quality in (30, 95):
                yield (f"jpeg-{subsampling}-{progressive}-{quality}",
                       encoded(rgb, "JPEG", subsampling=subsampling, progressive=progressive,
                               quality=quality))
    yield "jpeg-gray", encoded(rgb.convert("L"), "JPEG")
    yield "jpeg-gray-progressive", encoded(rgb.convert("L"), "JPEG", progressive=True)
    yield "jpeg-cmyk", encoded(cmyk, "JPEG", quality=90)
    yield "jpeg-ycck", with_adobe(encoded(cmyk, "JPEG", quality=90), 2)
    yield "jpeg-rgb", with_adobe(encoded(rgb, "JPEG", quality=90, subsampling=0), 0)
    for orientation in range(1, 9):
        yield f"jpeg-exif-{orientation}", encoded(rgb, "JPEG", exif=exif(orientation))


def pngs(rng, width, height):
    rgb = Image.fromarray(noise(rng, width, height, 3))
    yield "png-rgb", encoded(rgb, "PNG")
    yield "png-palette", encoded(rgb.quantize(200), "PNG")
    yield "png-palette-4", encoded(rgb.quantize(13), "PNG")
    yield "png-exif", encoded(rgb, "PNG", exif=exif(5))
    palette = chunk(b"PLTE", rng.integers(0, 256, 3 * 256, dtype=numpy.uint8).tobytes())
    gamma = chunk(b"gAMA", struct.pack(">I", 100000))
    for interlaced in (False, True):
        for kind, channels, depths in ((0, 1, (1, 2, 4, 8)), (2, 3, (8, 16)), (3, 1, (1, 2, 4, 8)),
                                       (4, 2, (8, 16)), (6, 4, (8, 16))):
            for depth in depths:
                samples = rng.integers(0, 2**depth, (height, width, channels))
                before = gamma
                if kind == 3:
                    before += palette + chunk(b"tRNS", bytes(range(0, 256, 17)))
                    if depth < 8:
                        table = rng.integers(0, 256, 3 * 2**depth, dtype=numpy.uint8).tobytes()
                        before = chunk(b"PLTE", table) + chunk(b"tRNS", b"\x00\x80")
                elif kind == 0:
                    before += chunk(b"tRNS", b"\x00\x01")
                elif kind == 2:
                    before += chunk(b"tRNS", b"\x00\x01\x00\x02\x00\x03")
                yield (f"png-{kind}-{depth}-{interlaced}",
                       png(samples, depth, kind, interlaced, before))


def webps(rng, width, height):
    rgb = Image.fromarray(noise(rng, width, height, 3))
    rgba = Image.fromarray(noise(rng, width, height, 4), "RGBA")
    for lossless in (False, True):
        for name, image in (("rgb", rgb), ("rgba", rgba)):
            yield f"webp-{name}-{lossless}", encoded(image, "WEBP", lossless=lossless)
    yield "webp-low", encoded(rgb, "WEBP", quality=5)
    yield "webp-exif", encoded(rgba, "WEBP", exif=exif(7))


def damaged(rng):
    """Where PIL draws the line between accepting and refusing."""
    rgb = Image.fromarray(noise(rng, 90, 70, 3))
    for progressive in (False, True):
        jpeg = encoded(rgb, "JPEG", progressive=progressive)
        name = f"cut-jpeg-{progressive}"
        ends = range(len(jpeg) - 8, len(jpeg))
        for size in [*range(4, len(jpeg), len(jpeg) // 40), *ends]:
            yield f"{name}-{size}", jpeg[:size]
            yield f"{name}-{size}-ended", jpeg[:size] + b"\xff\xd9"
        yield f"{name}-trailing", jpeg + b"trailing"
        yield f"{name}-between", jpeg[:20] + b"\1\2\3" + jpeg[20:]
    whole = encoded(rgb, "PNG")
    for size in range(40, len(whole) - 60, len(whole) // 20):
        yield f"cut-png-{size}", whole[:size]
    yield "cut-png-end", whole[:-12]
    whole = encoded(rgb, "WEBP")
    for size in range(20, len(whole) - 2, len(whole) // 20):
        yield f"cut-webp-{size}", whole[:size]


def ids_of(image, data):
    """What stands in a PNG of one channel and at most 8 bits; of gray with fewer, PIL has scaled it."""
    if image.mode == "P":
        return image.tobytes()
    if image.format != "PNG" or data[25] != 0 or data[24] == 16:
        return None
    levels = numpy.asarray(image.convert("L"))
    return (levels // (255 // (2**data[24] - 1))).astype(numpy.uint8).tobytes()


def by_pil(data):
    """(size, orientation, RGB, gray, ids or None), or None where PIL refuses."""
    try:
        image = Image.open(io.BytesIO(data))
        orientation = image.getexif().get(ORIENTATION, 1)
        rgb = image.convert("RGB")
        ids = ids_of(image, data)
    except (OSError, SyntaxError, EOFError, ValueError, struct.error):
        return None
    # Of a palette `convert("L")` takes the palette's colours, as of RGB.
    return rgb.size, orientation, rgb.tobytes(), rgb.convert("L").tobytes(), ids


def write(folder, manifest, name, data, expected):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)
    if expected is None:
        manifest.append(f"{name} refused")
        return
    (width, height), orientation, rgb, gray, ids = expected
    for mode, pixels in (("rgb", rgb), ("gray", gray), ("ids", ids)):
        if pixels is not None:
            with open(os.path.join(folder, f"{name}.{mode}"), "wb") as file:
                file.write(pixels)
    manifest.append(f"{name} {width} {height} {orientation}")


def fill(folder, seed):
    rng = numpy.random.default_rng(seed)
    random.seed(seed)
    manifest = []
    sizes = [(1, 1), (17, 5), (101, 75), (random.randint(2, 300), random.randint(2, 300))]
    for width, height in sizes:
        for kind in (jpegs, pngs, webps):
            for name, data in kind(rng, width, height):
                expected = by_pil(data)
                assert expected is not None, name
                write(folder, manifest, f"{name}-{width}x{height}", data, expected)
    for name, data in damaged(rng):
        write(folder, manifest, name, data, by_pil(data))

    # Where PIL 9.4 is not followed. Gray of 16 bits, which `convert` clips at 255: the high byte.
    samples = rng.integers(0, 65536, (20, 30, 1))
    high = numpy.repeat((samples >> 8).astype(numpy.uint8), 3, axis=2)
    for interlaced in (False, True):
        write(folder, manifest, f"png-gray-16-{interlaced}", png(samples, 16, 0, interlaced),
              ((30, 20), 1, high.tobytes(), high[:, :, 0].tobytes(), None))
    # Animations are refused rather than read as their first frame.
    frames = [Image.fromarray(noise(rng, 30, 20, 3)) for _ in range(2)]
    write(folder, manifest, "webp-animation",
          encoded(frames[0], "WEBP", save_all=True, append_images=frames[1:]), None)
    with open(os.path.join(folder, "manifest"), "w", encoding="ascii") as file:
        file.write("\n".join(manifest) + "\n")


def main():
    program = sys.argv[1]
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(2**32)
    print(f"decode_oracle.py: seed {seed}", flush=True)
    warnings.simplefilter("ignore")  # PIL's advice about palettes with transparency
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    with tempfile.TemporaryDirectory() as folder:
        fill(folder, seed)
        environment = dict(os.environ, BATCHCAST_ORACLE_DIR=folder)
        return subprocess.run([program, "[oracle-decode]"], env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
