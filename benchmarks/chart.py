# SPDX-License-Identifier: Apache-2.0
# Copyright 2026 the batchcast authors
"""Draws bars from a JSON file: {"title", "note", "source", "bars": [{"name", "detail", "value"}]}.

  python3 benchmarks/chart.py benchmarks/four_trainers.json           writes four_trainers.svg beside it
  python3 benchmarks/chart.py --check benchmarks/four_trainers.json   says whether that is what would be written
"""

import json
import pathlib
import sys
from xml.sax.saxutils import escape

WIDTH = 720
LEFT = 200  # where bars begin
LONGEST = WIDTH - LEFT - 80  # leaves room for the figure behind the longest bar
TOP = 54
STEP = 46
THICKNESS = 26

# Readable on light and on dark pages.
STYLE = """
  text { font-family: system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2328 }
  .title { font-size: 17px; font-weight: 600 }
  .name { font-size: 14px; font-weight: 600; text-anchor: end }
  .detail, .note { font-size: 12px; fill: #59636e }
  .detail { text-anchor: end }
  .value { font-size: 14px; font-variant-numeric: tabular-nums }
  .bar { fill: #8c959f }
  .first { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc }
    .detail, .note { fill: #9198a1 }
    .bar { fill: #6e7681 }
    .first { fill: #4493f8 }
  }
"""


def bar(index: int, entry: dict, largest: float) -> str:
    y = TOP + index * STEP
    length = max(2, round(LONGEST * entry["value"] / largest))
    middle = y + THICKNESS / 2
    kind = "bar first" if index == 0 else "bar"
    return (
        f'<text class="name" x="{LEFT - 12}" y="{middle - 1:g}">{escape(entry["name"])}</text>\n'
        f'<text class="detail" x="{LEFT - 12}" y="{middle + 14:g}">{escape(entry["detail"])}</text>\n'
        f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length}" height="{THICKNESS}" rx="3"/>\n'
        f'<text class="value" x="{LEFT + length + 8}" y="{middle + 5:g}">{entry["value"]:,}</text>\n'
    )


def draw(chart: dict) -> str:
    bars = chart["bars"]
    largest = max(entry["value"] for entry in bars)
    height = TOP + len(bars) * STEP + 26
    body = "".join(bar(index, entry, largest) for index, entry in enumerate(bars))
    said = "; ".join(f'{entry["name"]}: {entry["value"]:,}' for entry in bars)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
        f'viewBox="0 0 {WIDTH} {height}" role="img">\n'
        f'<title>{escape(chart["title"])}: {escape(said)}</title>\n'
        f'<desc>{escape(chart["source"])}</desc>\n'
        f"<style>{STYLE}</style>\n"
        f'<text class="title" x="16" y="28">{escape(chart["title"])}</text>\n'
        f"{body}"
        f'<text class="note" x="16" y="{height - 12}">{escape(chart["note"])}</text>\n'
        "</svg>\n"
    )


def main(arguments: list[str]) -> int:
    check = arguments[:1] == ["--check"]
    paths = arguments[1:] if check else arguments
    if len(paths) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    path = pathlib.Path(paths[0])
    drawn = draw(json.loads(path.read_text()))
    picture = path.with_suffix(".svg")
    if not check:
        picture.write_text(drawn)
        return 0
    if picture.exists() and picture.read_text() == drawn:
        return 0
    print(f"{picture} is not what {path} says: run python3 {sys.argv[0]} {path}", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
