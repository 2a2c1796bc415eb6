# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""as_systemd.py SOCKETS COMMAND...: runs the command in its place with that many sockets that listen, from descriptor
3 on, as systemd hands them over. SOCKETS 0: a file as the one descriptor."""
import os
import socket
import sys

count = int(sys.argv[1])
kept = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)] or [open("/dev/null")]
for place, one in enumerate(kept):
    os.dup2(one.fileno(), 60 + place)  # where none is in the way of another one
for place in range(len(kept)):
    os.dup2(60 + place, 3 + place, inheritable=True)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(len(kept)))
os.execv(sys.argv[2], sys.argv[2:])
