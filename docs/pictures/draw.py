"""Draws what is on a terminal, as `tmux capture-pane -e -p` prints it, as SVG.

Usage: draw.py COLUMNS < SCREEN > PICTURE
"""

import re
import sys
import unicodedata
from html import escape

WIDTH, HEIGHT, PAD = 8.4, 18, 14
INK, PAPER = "#d7dae0", "#16181d"
COLOURS = {30: "#5c6370", 31: "#f2777a", 32: "#8fd19e", 33: "#f0c674", 34: "#81a2be", 35: "#c594c5", 36: "#6fc3df", 37: INK,
           90: "#7f8694", 91: "#f2777a", 92: "#8fd19e", 93: "#f0c674", 94: "#81a2be", 95: "#c594c5", 96: "#6fc3df", 97: "#ffffff"}


def columns_of(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


class Pen:
    def __init__(self):
        self.colour, self.bold, self.dim = None, False, False

    def take(self, codes):
        for code in [int(code or 0) for code in codes.split(";")]:
            if code == 0:
                self.__init__()
            elif code == 1:
                self.bold = True
            elif code == 2:
                self.dim = True
            elif code == 22:
                self.bold = self.dim = False
            elif code == 39:
                self.colour = None
            elif code in COLOURS:
                self.colour = COLOURS[code]

    def style(self):
        style = f' fill="{self.colour}"' if self.colour else ""
        style += ' font-weight="bold"' if self.bold else ""
        return style + (' opacity="0.62"' if self.dim else "")


width = int(sys.argv[1])
lines = [line.rstrip() for line in sys.stdin.read().split("\n")]
while lines and not re.sub(r"\x1b\[[0-9;]*m", "", lines[-1]).strip():
    lines.pop()
pen, out = Pen(), []
for row, line in enumerate(lines):
    column, y = 0, PAD + HEIGHT * (row + 0.75)
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        if piece.startswith("\x1b"):
            pen.take(piece[2:-1])
            continue
        for word in re.finditer(r"\S+(?: \S+)*", piece):
            at, span = column + columns_of(piece[: word.start()]), columns_of(word.group())
            x, length = PAD + at * WIDTH, span * WIDTH
            out.append(f'<text x="{x:.1f}" y="{y:.1f}" textLength="{length:.1f}"{pen.style()}>{escape(word.group())}</text>')
        column += columns_of(piece)
w, h = width * WIDTH + 2 * PAD, len(lines) * HEIGHT + 2 * PAD
print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{w:.0f}" height="{h:.0f}" viewBox="0 0 {w:.0f} {h:.0f}">')
print(f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>')
print(f'<g font-family="ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="14" fill="{INK}" xml:space="preserve">')
print("\n".join(out))
print("</g>\n</svg>")
