#!/usr/bin/env python3
"""Draws a terminal's output (with ANSI colours, from stdin) as an SVG picture.

    trimtab check --color always ... | docs/picture.py 'trimtab check ...' > picture.svg
"""
import re
import sys
from xml.sax.saxutils import escape

CHAR_PX, LINE_PX, MARGIN_PX = 8.4, 19, 18
COLOURS = {"31": "#ff7b72", "33": "#e3b341", "36": "#79c0ff", "32": "#7ee787", "34": "#79c0ff", "35": "#d2a8ff"}


def spans(line):
    """Pieces of a line with their style; only what `report` writes is known: SGR sequences."""
    style = {}
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if not piece.startswith("\x1b"):
            if piece:
                yield piece, dict(style)
            continue
        for code in piece[2:-1].split(";"):
            if code in ("", "0"):
                style = {}
            elif code == "1":
                style["font-weight"] = "bold"
            elif code == "2":
                style["fill"] = "#8b949e"
            elif code in COLOURS:
                style["fill"] = COLOURS[code]


lines = [f"$ {sys.argv[1]}"] + sys.stdin.read().rstrip("\n").split("\n")
columns = max(len(re.sub(r"\x1b\[[0-9;]*m", "", line)) for line in lines)
width, height = columns * CHAR_PX + 2 * MARGIN_PX, len(lines) * LINE_PX + 2 * MARGIN_PX
print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
      f'font-family="DejaVu Sans Mono, Menlo, Consolas, monospace" font-size="14">')
print(f'<rect width="100%" height="100%" rx="8" fill="#0d1117"/>')
for row, line in enumerate(lines):
    column, y = 0, MARGIN_PX + (row + 0.75) * LINE_PX
    for text, style in spans(line):
        attributes = "".join(f' {name}="{value}"' for name, value in {"fill": "#e6edf3", **style}.items())
        length = f' textLength="{len(text) * CHAR_PX:.1f}" lengthAdjust="spacingAndGlyphs"'
        print(f'<text x="{MARGIN_PX + column * CHAR_PX:.1f}" y="{y:.1f}" xml:space="preserve"{attributes}{length}>'
              f"{escape(text)}</text>")
        column += len(text)
print("</svg>")
