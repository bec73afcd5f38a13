# SPDX-License-Identifier: MIT
"""An R-MAT graph as rows of neighbours (CSR) in a file that is mapped read-only."""
import os
import subprocess

from .workload import Workload


class Graph(Workload):
    bytes, memory = 2200 << 20, 700 << 20
    variants = ("random",)
    aim, own, how = (3, 10), 0, "plain"
    verdict = "preload it; the hint (MADV_RANDOM) is as good where a program can give it"

    def __init__(self, what, about, copies=1):
        self.what = what
        self.several(copies, what, f"{about}, R-MAT graph")
        self.memory += (copies - 1) * self.bytes * 16 // 72  # what is ranked

    def data(self, place):
        return place.path("rmat.%d" % (place.scale * 1000))

    def make(self, place):
        path = self.data(place)
        if not os.path.exists(path):
            subprocess.run([place.tool("apps/graph"), "make", path,
                            str(int(self.bytes * place.scale))], check=True)

    def command(self, place, variant):
        return [place.tool("apps/graph"), self.what, self.data(place), variant or self.how]


class Forked(Graph):
    """By 4 workers, forked when the graph is mapped. They take no hint."""
    how, variants, own = "forked", (), 12 << 20

    def __init__(self, what, about):
        super().__init__(what, f"{about}, 4 forked workers")
        self.name = f"{what}-forked"


EVERY = [Graph("bfs", "breadth-first search, 32,768 vertices from each of 3"),
         Graph("pagerank", "PageRank, 3 rounds"), Graph("pagerank", "PageRank, 3 rounds", 4),
         Forked("pagerank", "PageRank, 3 rounds")]
