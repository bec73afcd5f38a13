# SPDX-License-Identifier: MIT
"""Nearest vectors, of indexes four times as large as memory, as a search service maps
them: 4 threads, or 4 workers forked after the index was mapped. None of the libraries
can give a hint; the one measured is madvise random on their mapping, from outside.
Annoy's own remedy is to load all of it first."""
import os
import subprocess

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors_job.py")
PACKAGES = ("numpy", "annoy", "usearch", "faiss-cpu")
KINDS = {"usearch": "usearch view", "annoy": "Annoy load",
         "faissivf": "faiss IVF, IO_FLAG_MMAP", "faisshnsw": "faiss HNSW, IO_FLAG_MMAP_IFC"}


class Vectors(Workload):
    bytes, memory, own = 4 << 30, 1 << 30, 100 << 20
    figure, aim = "queries", (1.5, 3)
    variants = ("random",)
    verdict = "preload it; nothing has to be set"
    in_order = ("preload it where the read-ahead is large; at 128 KiB the kernel is faster "
                "where lists are some 100 KiB long, which are read in order")

    def __init__(self, kind, start):
        self.name = f"{kind}-{start}"
        self.kind, self.start = kind, start
        self.about = f"nearest vectors, {KINDS[kind]}, 4 " + (
            "threads" if start == "threads" else "forked workers")
        if kind == "annoy":
            self.variants = ("random", "prefault")
        if kind == "faissivf":
            self.verdict = self.in_order

    def job(self, place, *args):
        return [place.python(*PACKAGES), JOB, *args]

    def data(self, place):
        return place.path(f"vectors.{self.kind}.{place.scale:g}")

    def make(self, place):
        if not os.path.exists(self.data(place)):
            subprocess.run(self.job(place, "make", self.kind, self.data(place),
                                    str(int(self.bytes * place.scale))), check=True)

    def command(self, place, variant):
        return self.job(place, self.start, self.kind, self.data(place), variant or "plain")


EVERY = [Vectors(kind, start) for kind in KINDS for start in ("threads", "forked")]
