#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Writes those of seeds/ that are not text: small inputs that reach far into each parser.

They are in the repository; run it again when a format is added. It needs Pillow and NumPy.
"""

import gzip
import io
import math
import pathlib
import random
import struct
import tarfile
import zlib

import numpy as np
from PIL import Image

SEEDS = pathlib.Path(__file__).parent / "seeds"


def put(target, name, content):
    folder = SEEDS / target
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(content)


def picture(width, height, mode="RGB"):
    """A gradient with a little noise: each coefficient of a block has something to say."""
    noise = random.Random(width * height)
    channels = len(Image.new(mode, (1, 1)).getbands())
    values = [
        [[(7 * x + 11 * y + 50 * c + noise.randrange(30)) % 256 for c in range(channels)]
         for x in range(width)]
        for y in range(height)
    ]
    pixels = np.array(values, np.uint8)
    return Image.fromarray(pixels[:, :, 0] if channels == 1 else pixels, mode)


def encoded(image, **options):
    out = io.BytesIO()
    image.save(out, **options)
    return out.getvalue()


def tiff(orientation, order=">"):
    magic = b"MM" if order == ">" else b"II"
    return (magic + struct.pack(order + "HI", 42, 8) +
            struct.pack(order + "HHHIHHI", 1, 0x0112, 3, 1, orientation, 0, 0))


def jpegs():
    options = {"format": "JPEG", "quality": 40}
    put("image_jpeg", "444.jpg", encoded(picture(40, 24), subsampling=0, **options))
    put("image_jpeg", "422.jpg", encoded(picture(35, 19), subsampling=1, **options))
    put("image_jpeg", "420.jpg", encoded(picture(70, 40), subsampling=2, **options))
    put("image_jpeg", "progressive.jpg",
        encoded(picture(40, 24), subsampling=2, progressive=True, **options))
    put("image_jpeg", "progressive_restarts.jpg",
        encoded(picture(40, 24), subsampling=0, progressive=True, restart_marker_blocks=3, **options))
    put("image_jpeg", "progressive_gray.jpg",
        encoded(picture(33, 17, "L"), progressive=True, **options))
    put("image_jpeg", "optimised.jpg", encoded(picture(24, 24), optimize=True, **options))
    put("image_jpeg", "gray.jpg", encoded(picture(33, 17, "L"), **options))
    put("image_jpeg", "cmyk.jpg", encoded(picture(20, 20, "CMYK"), **options))
    put("image_jpeg", "restarts.jpg",
        encoded(picture(40, 40), restart_marker_blocks=2, **options))
    put("image_jpeg", "oriented.jpg",
        encoded(picture(16, 8), exif=b"Exif\0\0" + tiff(6), **options))
    put("image_jpeg", "one.jpg", encoded(picture(1, 1), **options))


def pngs():
    options = {"format": "PNG", "optimize": True}
    put("image_png", "rgb.png", encoded(picture(20, 12), **options))
    put("image_png", "rgba.png", encoded(picture(16, 12, "RGBA"), **options))
    put("image_png", "gray.png", encoded(picture(20, 12, "L"), **options))
    put("image_png", "gray_alpha.png", encoded(picture(12, 12, "LA"), **options))
    put("image_png", "palette.png", encoded(picture(20, 12).quantize(16), **options))
    put("image_png", "transparent.png",
        encoded(picture(20, 12).quantize(8), transparency=3, **options))
    put("image_png", "bilevel.png", encoded(picture(33, 9, "L").convert("1"), **options))
    wide = Image.fromarray((np.arange(96, dtype=np.uint32).reshape(8, 12) * 523).astype(np.uint16)
                           .astype(np.int32), "I")
    put("image_png", "gray16.png", encoded(wide, **options))
    put("image_png", "oriented.png", encoded(picture(8, 4), exif=b"Exif\0\0" + tiff(8), **options))
    put("image_png", "one.png", encoded(picture(1, 1), **options))
    put("image_png", "rgba16.png", png_of_16_bits(6, 5, 4))


def png_of_16_bits(width, height, channels):
    """Gray, gray and alpha, RGB, RGBA: Pillow writes none of 16 bits but the first."""
    rows = b"".join(b"\0" + bytes(13 * i % 256 for i in range(y, y + 2 * width * channels))
                    for y in range(height))
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]

    def chunk(name, body):
        return (struct.pack(">I", len(body)) + name + body +
                struct.pack(">I", zlib.crc32(name + body)))
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 16, kind, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def webps():
    put("image_webp", "lossy.webp", encoded(picture(40, 24), format="WEBP", quality=40))
    put("image_webp", "lossless.webp", encoded(picture(16, 12), format="WEBP", lossless=True))
    put("image_webp", "alpha.webp", encoded(picture(24, 16, "RGBA"), format="WEBP", quality=40))
    put("image_webp", "oriented.webp",
        encoded(picture(24, 16), format="WEBP", quality=40, exif=b"Exif\0\0" + tiff(5)))
    put("image_webp", "animation.webp",
        encoded(picture(8, 8), format="WEBP", save_all=True, append_images=[picture(8, 8, "RGB")]))


def exifs():
    for order in "<>":
        put("exif", f"tiff{'le' if order == '<' else 'be'}", tiff(3, order))
    put("exif", "with_prefix", b"Exif\0\0" + tiff(8))


def shard(members, form=tarfile.USTAR_FORMAT):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=form) as tar:
        for name, content in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    packed = out.getvalue()
    return packed.rstrip(b"\0").ljust((len(packed.rstrip(b"\0")) + 511) // 512 * 512, b"\0") + \
        bytes(512)


def npy(array, version=(1, 0)):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=version)
    return out.getvalue()


def shards():
    two = [("0.jpg", b"x"), ("0.cls", b"1"), ("1.jpg", b"yz"), ("1.cls", b"-2\n")]
    put("webdataset", "two.tar", shard(two))
    put("webdataset", "two.tar.gz", gzip.compress(shard(two), mtime=0))
    # Zstandard with one stored block.
    plain = shard(two)
    put("webdataset", "two.tar.zst",
        b"\x28\xb5\x2f\xfd\xe0" + struct.pack("<Q", len(plain)) +
        struct.pack("<I", 1 | len(plain) << 3)[:3] + plain)
    put("webdataset", "pax.tar",
        shard([("d" * 120 + "/\u00e9.txt", b"t"), ("b.txt", b"u")], tarfile.PAX_FORMAT))
    put("webdataset", "gnu.tar",
        shard([("d" * 120 + "/0.seg.png", b"t"), ("0.txt", b"")], tarfile.GNU_FORMAT))
    put("webdataset", "array.tar", shard([("0.npy", npy(np.zeros((2, 3), np.float32)))]))
    put("webdataset", "partial.tar", shard([("0.a", b"1"), ("0.b", b"2"), ("1.a", b"3")]))


def arrays():
    put("npy", "f32.npy", npy(np.arange(6, dtype=np.float32).reshape(2, 3)))
    put("npy", "u8.npy", npy(np.arange(24, dtype=np.uint8).reshape(2, 2, 2, 3)))
    put("npy", "fortran.npy", npy(np.asfortranarray(np.zeros((2, 2)))))
    put("npy", "version2.npy", npy(np.zeros(3, np.int64), (2, 0)))
    put("npy", "big_endian.npy", npy(np.zeros(3, ">i4")))
    put("npy", "records.npy", npy(np.zeros(2, [("a", "<f4"), ("b", "<i2")])))
    idx = struct.pack(">HBBII", 0, 8, 2, 2, 3) + bytes(range(6))
    put("idx", "u8.idx", idx)
    put("idx", "u8.idx.gz", gzip.compress(idx, mtime=0))
    put("idx", "i16.idx", struct.pack(">HBBIhh", 0, 11, 1, 2, -1, 5))
    put("idx", "f32.idx", struct.pack(">HBBIf", 0, 13, 1, 1, 0.5))


def record(kind, body, version=2):
    return b"bcrecord" + struct.pack("<IIQ", version, kind, 24 + len(body)) + body


def text(content, size):
    return content.encode().ljust(size, b"\0")


def hello(placement, group=b""):
    body = struct.pack("<QQ6I", 32, 0, 17, 0, 0, 0, 0, 0) + text("trainer", 64)
    return record(1, body + text(placement, 64) + group)


def records():
    put("message", "hello", hello("host", bytes(80)))
    put("message", "hello_gpu", hello("GPU-8f6c2a10"))
    put("message", "hello_group",
        hello("host", text("pair", 64) + struct.pack("<4I", 1, 2, 1, 0)))
    put("message", "hello_version_1",
        b'{"batch_size":37,"between_epochs":"hold","join":"rewind","layout":1,"name":"a",'
        b'"pace":"lockstep","pid":7,"type":"hello"}')
    put("message", "pause", record(2, b""))
    put("message", "rejoin", record(3, struct.pack("<QII", 9, 3, 0)))
    put("message", "bye", record(4, b""))
    segments = b"".join(struct.pack("<QII", 4096, kind, 0) + bytes(64) for kind in (1, 2, 0))
    put("message", "welcome", record(101, struct.pack(
        "<7QII", 3, 64, 1, 50, 0, 4096, 4096, 0, 3) + text("s", 64) + text("trainer", 64) +
        text("GPU-8f6c2a10", 64) + segments.ljust(64 * 80, b"\0") +
        struct.pack("<II", 1, 0) + text("a note", 8 * 256)))
    put("message", "refusal", record(102, struct.pack("<II", 4, 0) + text("batch", 2048)))
    put("message", "rejoined", record(103, struct.pack("<4Q", 9, 1, 5, 0)))
    put("message", "farewell", record(104, text("slow", 2048)))


def boards():
    def field(name, dtype, element_bytes, shape):
        size = element_bytes * math.prod(shape)
        return struct.pack("<4QII8q", 64, size, size, 64 * size, dtype, len(shape),
                           *shape, *[0] * (8 - len(shape))) + text(name, 64) + bytes(24)
    fields = [field("image", 10, 4, [3, 2, 2]), field("label", 4, 8, []),
              field("sample_id", 7, 8, [])]
    consumers = 2752 + len(fields) * 192
    # 8,192 lines of 64 bytes, which is what board_fuzz.cpp makes of it
    head = b"bcboard2" + struct.pack("<IIQ", 2, len(fields), 8192 * 64) + bytes(16)
    head += struct.pack("<4QII", 64, 10, 0, 1, 7, 8) + bytes(range(16))
    recipe = consumers + 8 * 256 + 4096 * 64
    head += struct.pack("<6Q", recipe, 2, consumers, consumers + 8 * 256, 1, 0)
    put("board", "image", head.ljust(200, b"\0") + b"".join(fields))


def rows():
    # rows_fuzz.cpp takes its choices from the end: enough bytes for several boards and calls
    put("rows", "random", random.Random(29).randbytes(2048))
    put("rows", "quiet", random.Random(30).randbytes(1024) + bytes(1024))


def megatron(code, lengths, pointers, documents):
    return (b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths), len(documents)) +
            struct.pack(f"<{len(lengths)}i", *lengths) +
            struct.pack(f"<{len(pointers)}q", *pointers) +
            struct.pack(f"<{len(documents)}q", *documents))


def indexes():
    put("megatron", "i32.idx", megatron(4, [3, 2, 1], [0, 12, 20], [0, 2, 2, 3]))
    put("megatron", "u16.idx", megatron(8, [3, 2, 1, 0], [100, 0, 100, 8], [0, 4]))
    put("megatron", "floats.idx", megatron(7, [1], [0], [0, 1]))


def main():
    jpegs()
    pngs()
    webps()
    exifs()
    shards()
    arrays()
    records()
    boards()
    rows()
    indexes()


if __name__ == "__main__":
    main()
