# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""drawn_label.py SHEET HEIGHT LETTERS: whether the first line below a sheet's first picture, of that
height, has these letters from left to right, as X11's fonts have them. `□` is a frame."""

import gzip
import struct
import sys
import unicodedata

import numpy
from PIL import Image

FONTS = "/usr/share/fonts/X11/misc/"
FRAME = [[2 <= y <= 10 and (x in (0, 4) or y in (2, 10) and x < 5) for x in range(6)]
         for y in range(13)]


class Font:
    def __init__(self, name):
        self.bytes = gzip.open(FONTS + name).read()
        count, = struct.unpack_from("<I", self.bytes, 4)
        tables = (struct.unpack_from("<IIII", self.bytes, 8 + 16 * i) for i in range(count))
        self.tables = {kind: offset for kind, _, _, offset in tables}
        self.ascent, = struct.unpack_from(">i", self.bytes, self.tables[2] + 12)
        self.glyphs, = struct.unpack_from(">i", self.bytes, self.tables[8] + 4)

    def letter(self, character):
        """Rows of booleans as wide as the letter's cell; None where the font lacks it."""
        at = self.tables[32] + 4
        low, high, first, last, _ = struct.unpack_from(">5h", self.bytes, at)
        row, column = divmod(ord(character), 256)
        if not (first <= row <= last and low <= column <= high):
            return None
        number, = struct.unpack_from(">H", self.bytes,
                                     at + 10 + 2 * ((row - first) * (high - low + 1) + column - low))
        if number == 0xffff:
            return None
        left, right, width, ascent, descent = (
            byte - 128 for byte in self.bytes[self.tables[4] + 6 + 5 * number:][:5])
        offset, = struct.unpack_from(">i", self.bytes, self.tables[8] + 8 + 4 * number)
        begin = self.tables[8] + 8 + 4 * self.glyphs + 16 + offset
        made = numpy.zeros((13, width), bool)
        for y in range(ascent + descent):
            bits = int.from_bytes(self.bytes[begin + 4 * y:][:4], "big")
            for x in range(right - left):
                made[self.ascent - ascent + y, left + x] = bits >> (31 - x) & 1
        return made


sheet, height, letters = sys.argv[1], int(sys.argv[2]), sys.argv[3]
fonts = [Font("6x13.pcf.gz"), Font("12x13ja.pcf.gz")]
line = []
for letter in letters:
    made = numpy.array(FRAME) if letter == "□" else \
        next(made for font in fonts if (made := font.letter(letter)) is not None)
    if unicodedata.combining(letter):
        line[-1] = line[-1] | made
    else:
        line.append(made)
wanted = numpy.hstack(line)
pixels = numpy.asarray(Image.open(sheet).convert("RGB")).astype(int)
drawn = (pixels == (255, 220, 120)).all(2)[6 + height + 3:][:13, 6:]
assert drawn.any() and (drawn[:, :wanted.shape[1]] == wanted).all(), "other letters"
assert not drawn[:, wanted.shape[1]:].any(), "more letters"
