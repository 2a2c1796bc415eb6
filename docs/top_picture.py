#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Draws docs/top.svg: the screen of `batchcast top` in a real terminal, which tmux is, over real streams.

Usage: top_picture.py [BATCHCAST]
"""

from __future__ import annotations

import html
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import photograph

COLUMNS, ROWS = 124, 22
WIDTH, HEIGHT = 8.43, 18  # of a character
COLORS = {"31": "#ff7b72", "32": "#7ee787", "33": "#f2cc60"}
PLAIN, PAPER = "#e6edf3", "#0d1117"

batchcast = sys.argv[1] if len(sys.argv) > 1 else "build/release/batchcast"
folder = tempfile.mkdtemp(prefix="batchcast-picture.")
images = f"{folder}/photographs"
photograph.write_dataset(images)
os.environ |= {"BATCHCAST_DIR": folder, "XDG_CONFIG_HOME": folder, "LC_ALL": "C.UTF-8", "TERM": "screen-256color"}
children: list[subprocess.Popen[bytes]] = []


def start(*words: str) -> subprocess.Popen[bytes]:
    children.append(subprocess.Popen([batchcast, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))
    return children[-1]


def tmux(*words: str) -> str:
    command = ["tmux", "-S", f"{folder}/tmux", "-f", "/dev/null", *words]
    return subprocess.run(command, capture_output=True, text=True).stdout


def slowed(trainer: subprocess.Popen[bytes], until: float, runs_s: float, rests_s: float) -> None:
    """Lets it run for a part of the time only, as a trainer does that computes."""
    while time.monotonic() < until:
        trainer.send_signal(signal.SIGCONT)
        time.sleep(runs_s)
        trainer.send_signal(signal.SIGSTOP)
        time.sleep(rests_s)
    trainer.send_signal(signal.SIGCONT)


def scene() -> str:
    start("serve", f"imagefolder:{images}", "--recipe", "imagenet-train", "--stream", "imagenet", "--memory", "256MiB")
    start("serve", "synthetic:1x28x28", "--dtype", "u8", "--stream", "mnist", "--memory", "4MiB", "--workers", "1")
    time.sleep(2)
    for name in ("lr-0.1", "lr-0.3", "lr-1.0"):
        start("consume", "imagenet", "--name", name, "--batch-size", "64")
    start("consume", "mnist", "--name", "probe", "--batch-size", "128")
    slow = start("consume", "mnist", "--name", "baseline", "--batch-size", "128")
    words = f"{batchcast} top --interval 1"
    tmux("new-session", "-d", "-x", str(COLUMNS), "-y", str(ROWS), words)
    slowed(slow, time.monotonic() + 25, 0.02, 0.05)
    return tmux("capture-pane", "-e", "-p")


def svg_of(screen: str) -> str:
    rows = []
    for number, line in enumerate(screen.split("\n")[:ROWS]):
        column, style = 0, {"color": PLAIN, "reversed": False, "bold": False, "dim": False}
        for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
            codes = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
            if codes:
                for code in codes[1].split(";"):
                    if code in ("", "0"):
                        style = {"color": PLAIN, "reversed": False, "bold": False, "dim": False}
                    elif code == "7":
                        style["reversed"] = True
                    elif code == "27":
                        style["reversed"] = False
                    elif code in ("1", "2"):
                        style["bold" if code == "1" else "dim"] = True
                    elif code in COLORS:
                        style["color"] = COLORS[code]
                    elif code == "39":
                        style["color"] = PLAIN
                continue
            if not piece:
                continue
            y = number * HEIGHT + 10
            if style["reversed"]:
                size = f'width="{len(piece) * WIDTH:.1f}" height="{HEIGHT}"'
                rows.append(f'<rect x="{column * WIDTH + 10:.1f}" y="{y}" {size} fill="{style["color"]}"/>')
            looks = (' font-weight="bold"' if style["bold"] else "") + (' opacity="0.65"' if style["dim"] else "")
            color = PAPER if style["reversed"] else style["color"]
            # Not every viewer keeps spaces: words that stand apart have a place each.
            for words in re.finditer(r"\S+(?: \S+)*", piece):
                x = (column + words.start()) * WIDTH + 10
                place = f'x="{x:.1f}" y="{y + 14}" textLength="{len(words[0]) * WIDTH:.1f}"'
                rows.append(f'<text {place} fill="{color}"{looks}>{html.escape(words[0])}</text>')
            column += len(piece)
    width, height = COLUMNS * WIDTH + 20, ROWS * HEIGHT + 20
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" '
        f'font-family="DejaVu Sans Mono, monospace" font-size="14">\n'
        f'<rect width="100%" height="100%" rx="6" fill="{PAPER}"/>\n' + "\n".join(rows) + "\n</svg>\n"
    )


try:
    picture = svg_of(scene())
finally:
    tmux("kill-server")
    for child in children:
        child.send_signal(signal.SIGCONT)
        child.kill()
        child.wait()
    shutil.rmtree(folder, ignore_errors=True)
Path(__file__).with_name("top.svg").write_text(picture)
