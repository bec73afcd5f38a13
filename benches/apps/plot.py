#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""plot.py DOCUMENT PREFIX: the tables of real programs in docs/benchmarks.md (or what
`run --print --short` says) as one plot, PREFIX.svg and PREFIX.png: how often faster each
is preloaded. A program of its own, as fmbench/plot.py is; exit status 3: no matplotlib."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from fmbench import plot  # noqa: E402

HEAD = ("| program |", "native, 128", "native, 8192", "preloaded, 128", "preloaded, 8192")
NUMBER = re.compile(r"\d[\d,]*\d(?:\.\d+)?|\d(?:\.\d+)?")
SHOWN = (("128 KiB", "#9aa5b1", "o"), ("8 MiB", "#243b53", "s"),
         ("its hint or remedy", "#d64545", "D"))
LEAST = 0.02  # of the axis, and 1 / most


def number(cell):
    """The first one of a cell, or the mean of a range."""
    found = [float(x.replace(",", "")) for x in NUMBER.findall(cell.split("(")[0])]
    if not found:
        return None
    return sum(found[:2]) / 2 if " to " in cell.split("(")[0] else found[0]


def tables(text):
    """Of each row: {heading: cell}."""
    heading = None
    for line in text.splitlines():
        if all(h in line for h in HEAD):
            heading = [c.strip() for c in line.strip("|").split("|")]
        elif not line.startswith("|"):
            heading = None
        elif heading and not line.startswith("|---"):
            yield dict(zip(heading, (c.strip() for c in line.strip("|").split("|"))))


def faster(row):
    """Against both read-aheads and the hint: how often, or None."""
    less = row["unit"].split(",")[0] == "s"
    def times(native, mine):
        a, b = number(row[native]), number(row[mine])
        if not a or not b:
            return None
        return a / b if less else b / a
    hint = "hint or remedy"
    return (times("native, 128", "preloaded, 128"), times("native, 8192", "preloaded, 8192"),
            times(hint, "preloaded, 8192") or times(hint, "preloaded, 128"))


def draw(ax, rows):
    for i, row in enumerate(rows):
        for x, (_, color, mark) in zip(faster(row), SHOWN):
            if x:
                ax.plot(min(max(x, LEAST), 1 / LEAST), i, mark, color=color, markersize=4)
    for name, color, mark in SHOWN:
        ax.plot([], [], mark, color=color, markersize=4, label="against native, " + name)
    ax.axvline(1, color="black", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_xlim(LEAST / 1.2, 1.2 / LEAST)
    ax.set_xticks([0.1, 0.5, 1, 2, 10, 50], ["0.1", "0.5", "1", "2", "10", "50 or more"])
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_yticks(range(len(rows)), [label(row) for row in rows], fontsize=5.5)
    ax.set_xlabel("how often faster preloaded")
    ax.grid(alpha=0.3)
    ax.legend(fontsize=6, loc="lower right")


def label(row):
    device = row.get("scale, device", "").partition(",")[2].strip()
    return re.sub(r" \(.*?\)", "", row["program"]) + (
        f" [{device}]" if device != "this" else "")


def main():
    pyplot, text = plot.begin()
    rows = [r for r in tables(text) if any(faster(r))]
    fig = pyplot.figure(figsize=(8, 1 + 0.105 * len(rows)))
    draw(fig.subplots(), rows)
    pyplot.rcParams["svg.fonttype"] = "none"  # text stays text: a third of the size
    plot.save(fig, sys.argv[2], 110)
    print(f"{len(rows)} rows")
    return 0


if __name__ == "__main__":
    sys.exit(main())
