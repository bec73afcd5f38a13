# SPDX-License-Identifier: MIT
"""Work of which a figure is taken natively and preloaded, in turns: rows and their
table."""
import statistics
from dataclasses import dataclass, field

# How a unit counts: of times less is better.
TIMES = ("s", "ms", "us", "MiB")


@dataclass
class Row:
    work: str
    unit: str
    native: list = field(default_factory=list)
    preloaded: list = field(default_factory=list)

    def add(self, preload, value):
        (self.preloaded if preload else self.native).append(value)


def speed(r):
    """How much better preloaded is; below 1 we lose."""
    a, b = statistics.median(r["native"]), statistics.median(r["preloaded"])
    if not a or not b:
        return None
    return a / b if r["unit"] in TIMES else b / a


def measure(figures, rounds):
    """`figures(preload)` yields (work, unit, value). In another order each round."""
    rows = {}
    for i in range(rounds):
        for preload in (False, True) if i % 2 == 0 else (True, False):
            for work, unit, value in figures(preload):
                rows.setdefault(work, Row(work, unit)).add(preload, value)
    return [vars(r) for r in rows.values()]


def add(extra, rows):
    """More rows of a document, or more rounds of the ones that it has."""
    have = {r["work"]: r for r in extra.setdefault("pairs", [])}
    for r in rows:
        old = have.get(r["work"])
        if old:
            old["native"] += r["native"]
            old["preloaded"] += r["preloaded"]
        else:
            extra["pairs"].append(r)
        print("  " + line(old or r).strip("| ").replace(" |", ","), flush=True)


def shown(values):
    return "%.3g (%.3g to %.3g)" % (statistics.median(values), min(values), max(values))


def line(r):
    s = speed(r)
    return "| %s | %s | %s | %s | %s |" % (
        r["work"], r["unit"], shown(r["native"]), shown(r["preloaded"]),
        "%.2fx" % s if s else "-")


def markdown(rows):
    return ["", "| work | unit | natively | preloaded | speed |",
            "|---|---|---|---|---|"] + [line(r) for r in rows if r["preloaded"]]
