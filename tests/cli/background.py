# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""background.py BATCHCAST STREAM: a `serve` that a shell runs in the background leaves the terminal's line alone.

Plays the shell: the leader of a session with a terminal, which moves its job to the foreground and back.
"""

import os
import pty
import select
import signal
import subprocess
import sys
import time

batchcast, stream = sys.argv[1:]
repainted = b"\x1b[K"


def shell():
    """Runs in the session's leader. The terminal's other end is read by the parent."""
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # as shells do: it moves jobs from wherever it is
    job = subprocess.Popen(
        [batchcast, "serve", "synthetic:8", "--stream", stream, "--samples", "1000", "--memory", "1MiB"],
        preexec_fn=os.setpgrp, env=os.environ | {"TERM": "xterm"},
    )
    for line in sys.stdin:
        if line == "foreground\n":
            os.tcsetpgrp(2, job.pid)
        elif line == "background\n":
            os.tcsetpgrp(2, os.getpgrp())
        elif line == "end\n":
            os.tcsetpgrp(2, os.getpgrp())
            job.terminate()
            os._exit(job.wait(60))


orders, shell_end = os.pipe()
leader, master = pty.fork()
if leader == 0:
    os.close(shell_end)
    os.dup2(orders, 0)
    shell()
os.close(orders)
said = b""


def order(text):
    os.write(shell_end, text.encode() + b"\n")


def read_for(seconds, enough=lambda: False):
    """What is shown within that time, or until it is enough."""
    global said
    until = time.monotonic() + seconds
    while time.monotonic() < until and not enough():
        if not select.select([master], [], [], 0.05)[0]:
            continue
        try:
            said += os.read(master, 65536)
        except OSError:  # the last process with the terminal has ended
            return


wrong = []
read_for(60, lambda: b"serving stream" in said)
said = said.split(b"serving stream")[-1]
# A line would be repainted ten times in a second.
read_for(1)
if repainted in said:
    wrong.append(f"in the background it is painted over: {said!r}")
order("foreground")
read_for(60, lambda: repainted in said)
if repainted not in said:
    wrong.append("in the foreground there is no live line")
order("background")
read_for(1)  # what was under way
said = b""
read_for(1)
if repainted in said:
    wrong.append(f"back in the background it is painted over: {said!r}")
order("end")
read_for(60)
_, status = os.waitpid(leader, 0)
if status != 0:
    wrong.append(f"serve ended with {status}")
for text in wrong:
    print(text)
sys.exit(1 if wrong else 0)
