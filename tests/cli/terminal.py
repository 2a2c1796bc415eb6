# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""terminal.py BATCHCAST WIDTH STREAM: what `serve` shows on a terminal so wide, while consumers come and go.

Prints what is wrong; exits with 1 if anything is.
"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time

batchcast, width, stream = sys.argv[1], int(sys.argv[2]), sys.argv[3]
consumers = 3
deadline = time.monotonic() + 60


class Screen:
    """Lines as a terminal shows them; one that it wraps is one line here, and noted."""

    def __init__(self):
        self.lines, self.column, self.wrapped = [[]], 0, set()

    def write(self, text):
        for token in re.findall(r"\x1b\[K|[\r\n]|.", text, re.DOTALL):
            line = self.lines[-1]
            if token == "\r":
                self.column = len(line) // width * width if len(line) > width else 0
            elif token == "\n":
                self.lines.append([])
                self.column = 0
            elif token == "\x1b[K":
                del line[self.column :]
            else:
                if self.column >= width:
                    self.wrapped.add(len(self.lines) - 1)
                line[self.column :] = line[self.column + 1 :]
                line.insert(self.column, token)
                self.column += 1

    def text(self):
        return ["".join(line) for line in self.lines]


def read_until(master, enough):
    """What comes until `enough(all of it)` holds, or the other side is closed."""
    global said
    while not enough(said):
        if time.monotonic() > deadline:
            sys.exit(f"width {width}: nothing more after 60 s: {said[-500:]!r}")
        if not select.select([master], [], [], 1)[0]:
            continue
        try:
            more = os.read(master, 65536)
        except OSError:  # the last process with the terminal has ended
            return
        if not more:
            return
        said += more.decode()


said = ""
master, slave = pty.openpty()
fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
serve = subprocess.Popen(
    [batchcast, "serve", "synthetic:8", "--stream", stream, "--samples", "1000", "--memory", "1MiB", "--verbose"],
    stdin=slave, stdout=slave, stderr=slave, env=os.environ | {"TERM": "xterm"},
)
os.close(slave)
read_until(master, lambda text: text.count("\r\x1b[K") >= 2)
for number in range(consumers):
    shown = said.count("is gone")
    subprocess.run(
        [batchcast, "consume", stream, "--epochs", "1", "--name", f"trainer-{number}"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=60,
    )
    read_until(master, lambda text: text.count("is gone") > shown)
redrawn = said.count("\x1b[K")
read_until(master, lambda text: text.count("\x1b[K") > redrawn)
serve.send_signal(signal.SIGINT)
read_until(master, lambda text: False)
if serve.wait(60) != 0:
    sys.exit(f"width {width}: serve ended with {serve.returncode}")

screen = Screen()
screen.write(said)
lines = [line for line in screen.text() if line]
wrong = []
logged = [line for line in lines if " info: " in line]
for line in logged:
    if not re.fullmatch(r"\d\d:\d\d:\d\d info: `trainer-\d`.*(position \d+|gone \(\w+.*\))", line):
        wrong.append(f"a log line has something else in it: {line!r}")
if len(logged) != 2 * consumers:
    wrong.append(f"{len(logged)} log lines instead of {2 * consumers}")
live = [line for line in lines if re.match(r"(starting|running|draining|stopped)  ", line)]
if len(live) != 1:
    wrong.append(f"{len(live)} live lines stand instead of one: {live}")
if any(len(line) >= width for line in live):
    wrong.append(f"the live line takes more than {width - 1} columns: {live}")
if not re.match(r"stream `", lines[-1]):
    wrong.append(f"the last line is no report: {lines[-1]!r}")
for text in wrong:
    print(f"width {width}: {text}")
if wrong:
    print("\n".join(lines))
sys.exit(1 if wrong else 0)
