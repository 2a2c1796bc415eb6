# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""narrow_help.py BATCHCAST WIDTH COMMAND...: the help of a command on a terminal so wide.

Prints the lines that are wider, and what differs from the help of a wide page but for its line breaks; exits with 1
if anything is wrong.
"""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios

batchcast, width, command = sys.argv[1], int(sys.argv[2]), sys.argv[3:]


def on_terminal():
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    process = subprocess.Popen([batchcast, *command, "--help"], stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    said = b""
    while True:
        try:
            more = os.read(master, 65536)
        except OSError:  # the process has ended
            break
        if not more:
            break
        said += more
    if process.wait(60) != 0:
        sys.exit(f"--help ends with {process.returncode}")
    return said.decode().replace("\r\n", "\n")


def without_breaks(text):
    """Nothing of where lines end: in an example behind a backslash, in a list of choices behind a comma."""
    return "".join(text.replace("\\\n", " ").split())


shown = on_terminal()
wide = subprocess.run([batchcast, *command, "--help"], capture_output=True, text=True, check=True).stdout
wrong = [line for line in shown.split("\n") if len(line) > width]
if without_breaks(shown) != without_breaks(wide):
    wrong.append(f"other words than on a wide page:\n{shown}")
for text in wrong:
    print(f"batchcast {' '.join(command)} --help, {width} columns: {text}")
sys.exit(1 if wrong else 0)
