# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""hostile_streams.py FOLDER TARGET: what a user may put beside streams to harm root, who looks at them. Until it is
killed some accept connections and never answer, others answer what is no JSON; links lead to TARGET and elsewhere."""
import fcntl
import os
import socket
import sys
import threading

folder, target = sys.argv[1:]
held = []


def stream(name: str) -> str:
    path = os.path.join(folder, name)
    os.mkdir(path, 0o700)
    lock = open(os.path.join(path, "lock"), "w")
    lock.write("1")
    lock.flush()
    fcntl.flock(lock, fcntl.LOCK_EX)
    held.append(lock)
    return path


def listens(name: str, answer: bytes) -> None:
    path = stream(name)
    os.chdir(path)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("control")
    listener.listen(64)
    held.append(listener)

    def serve() -> None:
        while True:
            client, _ = listener.accept()
            held.append(client)
            if answer:
                client.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()


for number in range(8):
    listens(f"hangs{number}", b"")
listens("noise", b"\xff" * 64 + b"\x1b[2J" * 100)
# ZeroMQ's greeting of version 3, and then a frame that is said to be endless.
listens("endless", b"\xff\0\0\0\0\0\0\0\x01\x7f\x03\0NULL" + b"\0" * 48 + b"\x02" + b"\x7f" + b"\xff" * 7)
os.symlink(target, os.path.join(stream("linked"), "control"))
with open(os.path.join(stream("file"), "control"), "w") as file:
    file.write("no socket")
os.symlink("/proc/self", os.path.join(folder, "link"))
os.mkfifo(os.path.join(folder, "fifo"))
os.mkdir(os.path.join(folder, "lockless"))
os.mkfifo(os.path.join(folder, "lockless", "lock"))
os.mkdir(os.path.join(folder, "-\x1b[31mred"))
open(os.path.join(folder, "ready"), "w").close()
threading.Event().wait()
