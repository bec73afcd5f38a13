#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is asked for before it is needed comes at once, not one page after the other.

    fastmap run --api yes -- python3 ask.py rows|experts|graph FILE [--size MIB] [--no-prefetch]

rows: an embedding table; the rows of the next batch are asked for while this one is
summed. experts: a mixture of experts; a step's weights are asked for when the router has
chosen them. graph: a search in a graph of vectors (as HNSW has them); the neighbours of a
node are asked for before their distances are computed. Prints the sum of what was found,
which is the same either way, and on stderr the seconds.
"""
import argparse
import os
import sys
import time

import numpy as np

import fastmap

WIDTH = 128      # numbers in a row, a vector, a side of an expert's blocks
BATCH = 512      # rows
EXPERT = 256     # rows of 4 KiB: 1 MiB
CHOSEN = 8       # experts a step
NEIGHBOURS = 32
PAGE = 4096


def make(path, size):
    """The same bytes each time: numbers below 1."""
    if os.path.exists(path) and os.path.getsize(path) == size:
        return
    random = np.random.default_rng(1)
    with open(path, "wb") as f:
        for _ in range(size >> 20):
            f.write(random.random(1 << 18, dtype="f4").tobytes())


def rows(path, ask, steps):
    table = fastmap.memmap(path, dtype="f4", mode="r").reshape(-1, WIDTH)
    random = np.random.default_rng(2)
    batches = [random.integers(0, len(table), BATCH) for _ in range(steps)]
    total = 0.0
    for k, batch in enumerate(batches):
        if ask and k + 1 < steps:
            fastmap.prefetch(table, batches[k + 1])
        total += float(table[batch].sum(dtype="f8"))
    return total


def experts(path, ask, steps):
    weights = fastmap.memmap(path, dtype="f4", mode="r").reshape(-1, EXPERT, PAGE // 4)
    random = np.random.default_rng(3)
    x, total = np.ones(PAGE // 4, dtype="f4"), 0.0
    for _ in range(steps):
        chosen = random.choice(len(weights), CHOSEN, replace=False)
        if ask:
            fastmap.prefetch(weights, chosen)
        total += sum(float((weights[e] @ x).sum(dtype="f8")) for e in chosen)
    return total


def graph(path, ask, steps):
    """A page a node: its vector, and from a formula its neighbours."""
    nodes = fastmap.memmap(path, dtype="f4", mode="r").reshape(-1, PAGE // 4)
    random = np.random.default_rng(4)
    total = 0.0
    for _ in range(steps):
        query, at = random.random(WIDTH, dtype="f4"), int(random.integers(len(nodes)))
        for _hop in range(8):
            near = (at * 2654435761 + np.arange(1, NEIGHBOURS + 1) * 40503 * 65537) % len(nodes)
            if ask:
                fastmap.prefetch(nodes, near)
            far = ((nodes[near, :WIDTH] - query) ** 2).sum(axis=1)
            at = int(near[far.argmin()])
        total += float(far.min())
    return total


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("what", choices=["rows", "experts", "graph"])
    p.add_argument("file")
    p.add_argument("--size", type=int, default=64, help="MiB")
    p.add_argument("--steps", type=int, default=20)
    p.add_argument("--no-prefetch", action="store_true")
    args = p.parse_args()
    make(args.file, args.size << 20)
    begin = time.time()
    print("%.6g" % globals()[args.what](args.file, not args.no_prefetch, args.steps))
    print("%.3f s" % (time.time() - begin), file=sys.stderr)


main()
