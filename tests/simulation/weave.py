#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""weave.py TABLE CHECKOUT OUT: copies of the files that the table of mutants names, with all mutants in them.

A mutant is chosen when the program runs: `simulation::mutant(NUMBER)`. The table says how its lines are read.
Also writes OUT/mutants.inc with one line for each, and fails where a text is not in its file exactly once.
"""

import pathlib
import sys


def lines_of(table):
    for number, line in enumerate(table.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            yield number, [part.strip() for part in line.split(" | ")]


def woven(kind, old, news, numbers):
    if kind == "set":
        return news[0]
    if kind == "drop":
        condition = f"!batchcast::simulation::mutant({numbers[0]})"
        return f"if ({condition}) {{ {old} }}"
    mutated = old
    for number, new in zip(numbers, news):
        mutated = f"(batchcast::simulation::mutant({number}) ? ({new}) : ({mutated}))"
    return mutated


def main():
    table, checkout, out = map(pathlib.Path, sys.argv[1:4])
    texts = {}
    mutants = []
    judge = "ring"
    for line, parts in lines_of(table):
        if parts[0] == "world":
            judge = parts[1]
            continue
        kind, name, old = parts[:3]
        news = parts[3:] if kind in ("set", "change") else []
        why = ""
        if news and news[-1].startswith("why:"):
            why = news.pop()[4:].strip()
        if kind == "drop" and len(parts) > 3:
            why = parts[3].removeprefix("why:").strip()
        text = texts.setdefault(name, (checkout / name).read_text())
        place = 0
        if old.startswith("#"):
            nth, old = old[1:].split(" ", 1)
            place = int(nth) - 1
        elif text.count(old) != 1:
            sys.exit(f"{table}:{line}: {name} has this {text.count(old)} times: {old}")
        if text.count(old) <= place:
            sys.exit(f"{table}:{line}: {name} has this {text.count(old)} times: {old}")
        numbers = []
        if kind != "set":
            for new in news or [None]:
                numbers.append(len(mutants) + 1)
                what = f"without {old}" if kind == "drop" else f"{new} for {old}"
                mutants.append((line, name, what, why, judge))
        at = -1
        for _ in range(place + 1):
            at = text.index(old, at + 1)
        texts[name] = text[:at] + woven(kind, old, news, numbers) + text[at + len(old):]
    for name, text in texts.items():
        file = out / name
        file.parent.mkdir(parents=True, exist_ok=True)
        needs = "" if name.endswith("limits.hpp") else '#include "simulation/scheduler.hpp"\n'
        if "#pragma once" in text:
            text = text.replace("#pragma once\n", "#pragma once\n" + needs, 1)
        else:
            text = needs + text
        file.write_text(text)
    # Each file of the simulation includes it: a compiler's cache does not see that a header now hides another.
    (out / "woven.hpp").write_text("#pragma once\n" + "".join(f"// {name}\n" for name in sorted(texts)))
    quote = lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    with open(out / "mutants.inc", "w") as listed:
        for line, name, what, why, judge in mutants:
            listed.write(f"{{{line}, {quote(name)}, {quote(what)}, {quote(why)}, {str(judge == 'lives').lower()}}},\n")


main()
