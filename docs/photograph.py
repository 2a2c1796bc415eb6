# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Draws the photograph that docs/stage_pictures.py shows the stages with: a lake before mountains, with a
hut, a tree, a boat and a balloon. Nothing is drawn by chance but texture, which has a seed."""

import os

import numpy
from PIL import Image, ImageDraw, ImageEnhance, ImageFilter

WIDTH, HEIGHT = 384, 288
FINE = 2  # drawn so many times as large, and then made smaller: edges are soft
HORIZON = 0.56  # of the height
SHORE = 0.74


def noise(random, width, height, first, last):
    """Texture of several scales, from 2**first to 2**last cells across, with deviation 1."""
    total = numpy.zeros((height, width))
    for octave in range(first, last + 1):
        cells = random.standard_normal((2 + 2**octave * height // width, 2 + 2**octave))
        grid = Image.fromarray(cells.astype(numpy.float32)).resize((width, height), Image.BICUBIC)
        total += numpy.asarray(grid) * 0.7 ** (octave - first)
    return (total - total.mean()) / total.std()


def mix(below, above, share):
    return below + (numpy.asarray(above, float) - below) * share[:, :, None]


def ridge(random, width, height, top, depth):
    """Which pixels are of a mountain range: those below a jagged line."""
    line = numpy.zeros(width)
    for octave in range(1, 8):
        points = random.uniform(-1, 1, 2 + 2**octave)
        line += depth * 0.52**octave * numpy.interp(
            numpy.linspace(0, 2**octave, width), numpy.arange(len(points)), points
        )
    rows = numpy.arange(height)[:, None] / height
    return (rows > top + line[None, :]).astype(float), rows - top - line[None, :]


def landscape(random, width, height):
    y = numpy.arange(height)[:, None, None] / height
    x = numpy.arange(width)[None, :, None] / width
    up = numpy.clip(y / HORIZON, 0, 1)
    image = (1 - up) * numpy.array([52, 112, 196.0]) + up * numpy.array([246, 214, 172.0])
    image = numpy.broadcast_to(image, (height, width, 3)).copy()
    sun = numpy.hypot((x - 0.79) * 4 / 3, y - 0.15)[:, :, 0]
    image = mix(image, (255, 244, 206), 0.75 * numpy.exp(-((sun / 0.16) ** 2)))
    image = mix(image, (255, 251, 232), numpy.clip((0.062 - sun) * 90, 0, 1))
    clouds = noise(random, width, height * 3, 2, 7)[::3][:height]
    image = mix(image, (252, 248, 246), numpy.clip(clouds * 0.6 - 0.2, 0, 0.9) * (1 - up[:, :, 0]))
    for top, depth, near, snow in ((0.33, 0.30, (104, 118, 156), 0.09), (0.46, 0.16, (58, 84, 92), 0)):
        inside, below = ridge(random, width, height, top, depth)
        rock = numpy.array(near) + 14 * noise(random, width, height, 4, 8)[:, :, None]
        image = mix(image, rock, inside)
        if snow:
            edge = below + 0.02 * noise(random, width, height, 4, 7)
            image = mix(image, (236, 240, 248), inside * numpy.clip((snow - edge) * 60, 0, 1))
    return mirror_in_lake(random, image)


def mirror_in_lake(random, image):
    height, width, _ = image.shape
    first = int(HORIZON * height)
    ripple = noise(random, width, height * 6, 4, 8)[::6][:height] * 5
    for row in range(first, height):
        far = (row - first) / height
        source = numpy.clip(first - (row - first) - ripple[row] * far * 8, 0, first - 1).astype(int)
        image[row] = image[source, numpy.arange(width)] * 0.72 + numpy.array([14, 36, 50])
        image[row] += ripple[row][:, None] * 1.5
    return image


def meadow(random, image):
    height, width, _ = image.shape
    line = SHORE + 0.03 * numpy.sin(numpy.linspace(0.3, 5.5, width))[None, :]
    depth = numpy.arange(height)[:, None] / height - line
    grass = noise(random, width, height, 5, 9)[:, :, None] * numpy.array([16, 22, 9.0])
    grass += numpy.array([92, 142, 48]) + depth[:, :, None] * numpy.array([-60, -110, -50.0])
    return mix(image, grass, numpy.clip(depth * 120, 0, 1))


def place(points):
    return [(x * WIDTH * FINE, y * HEIGHT * FINE) for x, y in points]


def hut(draw):
    draw.polygon(place([(0.10, 0.66), (0.29, 0.66), (0.29, 0.83), (0.10, 0.83)]), fill=(176, 122, 72))
    for board in range(1, 8):
        draw.line(place([(0.10, 0.66 + board * 0.021), (0.29, 0.66 + board * 0.021)]), (132, 86, 48), 2)
    draw.polygon(place([(0.08, 0.67), (0.195, 0.53), (0.31, 0.67)]), fill=(178, 44, 38))
    draw.polygon(place([(0.195, 0.53), (0.31, 0.67), (0.27, 0.67)]), fill=(140, 30, 30))
    draw.polygon(place([(0.125, 0.71), (0.175, 0.71), (0.175, 0.77), (0.125, 0.77)]), fill=(250, 226, 140))
    draw.line(place([(0.15, 0.71), (0.15, 0.77)]), (92, 58, 34), 3)
    draw.polygon(place([(0.215, 0.715), (0.265, 0.715), (0.265, 0.83), (0.215, 0.83)]), fill=(84, 52, 34))


def boat(draw):
    draw.polygon(place([(0.50, 0.655), (0.66, 0.655), (0.63, 0.70), (0.53, 0.70)]), fill=(198, 38, 46))
    draw.line(place([(0.572, 0.43), (0.572, 0.66)]), (70, 50, 40), 4)
    draw.polygon(place([(0.58, 0.44), (0.655, 0.635), (0.58, 0.635)]), fill=(250, 246, 234))
    draw.polygon(place([(0.564, 0.46), (0.564, 0.635), (0.51, 0.635)]), fill=(228, 220, 204))


def balloon(draw):
    x, y, radius = 0.33, 0.20, 0.075
    for stripe, colour in enumerate(((232, 84, 40), (250, 196, 52), (38, 128, 128), (250, 196, 52))):
        wide = radius * (1 - stripe * 0.27)
        draw.ellipse(place([(x - wide, y - radius * 4 / 3), (x + wide, y + radius * 4 / 3)]), fill=colour)
    draw.line(place([(x - 0.045, y + 0.08), (x - 0.015, y + 0.145)]), (90, 70, 60), 2)
    draw.line(place([(x + 0.045, y + 0.08), (x + 0.015, y + 0.145)]), (90, 70, 60), 2)
    draw.polygon(place([(x - 0.018, y + 0.14), (x + 0.018, y + 0.14), (x + 0.015, y + 0.175),
                        (x - 0.015, y + 0.175)]), fill=(112, 72, 40))


def tree(draw):
    random = numpy.random.default_rng(21)
    draw.polygon(place([(0.845, 0.93), (0.86, 0.55), (0.88, 0.55), (0.90, 0.93)]), fill=(82, 56, 40))
    for _ in range(420):
        x, y = random.uniform(-1, 1, 2)
        if x * x + y * y > 1:
            continue
        light = 34 * (-x - y) + random.uniform(-22, 22)
        left, top, size = 0.868 + 0.115 * x, 0.47 + 0.2 * y, random.uniform(0.008, 0.022)
        draw.ellipse(place([(left - size, top - size), (left + size, top + size)]),
                     fill=tuple(int(level + light) for level in (64, 112, 52)))


def flowers(draw, random):
    for _ in range(90):
        x, y = random.uniform(0, 1), random.uniform(0.84, 0.99)
        size = 0.003 + (y - 0.8) * 0.03
        colour = ((236, 70, 110), (250, 220, 70), (244, 240, 250))[int(random.integers(3))]
        draw.ellipse(place([(x - size, y - size), (x + size, y + size * 4 / 3)]), fill=colour)


OBJECTS = [balloon, boat, hut, tree]


def photograph():
    """The image, always the same: WIDTH x HEIGHT pixels of RGB."""
    random = numpy.random.default_rng(20)
    width, height = WIDTH * FINE, HEIGHT * FINE
    image = meadow(random, landscape(random, width, height))
    scene = Image.fromarray(numpy.clip(image + 0.5, 0, 255).astype(numpy.uint8))
    draw = ImageDraw.Draw(scene)
    flowers(draw, random)
    for paint in OBJECTS:
        paint(draw)
    scene = scene.filter(ImageFilter.GaussianBlur(0.6)).reduce(FINE)
    grain = random.standard_normal((HEIGHT, WIDTH, 3)) * 1.5
    pixels = numpy.asarray(scene, float) + grain
    return Image.fromarray(numpy.clip(pixels + 0.5, 0, 255).astype(numpy.uint8))


def mask():
    """Its mask: 0 is the landscape, and what OBJECTS has are 1 and so on."""
    ids = numpy.zeros((HEIGHT, WIDTH), numpy.uint8)
    for number, paint in enumerate(OBJECTS, 1):
        scene = Image.new("RGB", (WIDTH * FINE, HEIGHT * FINE))
        paint(ImageDraw.Draw(scene))
        ids[numpy.asarray(scene)[::FINE, ::FINE].any(axis=2)] = number
    return Image.fromarray(ids)


def write_dataset(folder, of_each=12):
    """Folders of classes with JPEGs, the photograph in different light, for pictures of streams."""
    day = photograph()
    lights = {"dawn": (255, 190, 170), "day": (255, 255, 255), "dusk": (235, 160, 120), "night": (90, 110, 190)}
    for name, tint in lights.items():
        os.makedirs(os.path.join(folder, name))
        for number in range(of_each):
            scene = Image.fromarray((numpy.asarray(day, float) * numpy.array(tint) / 255).astype(numpy.uint8))
            scene = ImageEnhance.Color(scene).enhance(0.7 + 0.6 * number / of_each)
            scene.save(os.path.join(folder, name, f"{number:02}.jpg"), quality=90)
