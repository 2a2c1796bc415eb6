# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Checks that the objects of each room link with those of the rooms that it depends on, and no others.

  python3 tests/tidy/room_links.py NM B/rooms.txt

A line of rooms.txt is a room, the rooms under its DEPENDS and its objects, with tabs between them. A room that uses a
symbol which only a room beyond its DEPENDS and theirs defines is a violation: an include check does not see it.
"""

import pathlib
import subprocess
import sys

# src/compiled defines what the headers of other rooms declare: compiled_ROOM.cpp belongs to ROOM.
COMPILED = "compiled"


def read(path):
    """The rooms of rooms.txt: DEPENDS and objects of each."""
    depends, objects = {}, {}
    for line in pathlib.Path(path).read_text().splitlines():
        name, needs, files = line.split("\t")
        depends[name] = needs.split()
        objects.setdefault(name, [])
        for file in filter(None, files.split(";")):
            own = pathlib.Path(file).name.split(".")[0].removeprefix(f"{COMPILED}_")
            owner = own if name == COMPILED else name
            objects.setdefault(owner, []).append(file)
    return depends, objects


def symbols(nm, files):
    """What the files define, and what they take from elsewhere."""
    defined, wanted = set(), set()
    if files:
        for line in subprocess.run([nm, "-C", *files], check=True, capture_output=True, text=True).stdout.splitlines():
            kind, _, name = line[17:].partition(" ")
            if kind == "U":
                wanted.add(name)
            elif kind.isupper() or kind in "ui":
                defined.add(name)
    return defined, wanted - defined


def reached(room, depends):
    """The room, those under its DEPENDS, theirs and so on."""
    found, left = set(), [room]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += depends.get(one, [])
    return found


def main(nm, path):
    depends, objects = read(path)
    of = {room: symbols(nm, files) for room, files in objects.items()}
    bad = []
    for room in sorted(depends):
        near = reached(room, depends)
        here = set().union(*(of[other][0] for other in near))
        for symbol in sorted(of[room][1] - here):
            owners = [other for other in sorted(of) if symbol in of[other][0]]
            if owners:
                bad.append(f"{room} uses {symbol}, which {' and '.join(owners)} defines; its DEPENDS lack that room")
    if not any(of[room][0] for room in of):
        bad.append("no room has a symbol: build the library first")
    print(*bad, sep="\n", end="\n" if bad else "")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
