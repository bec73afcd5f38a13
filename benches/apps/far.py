# SPDX-License-Identifier: MIT
"""Model weights and a table of rows, as they are loaded from a file server. The remedy
is what inference servers do by hand: 16 threads read the file into the page cache
before it is mapped."""
import os
import subprocess

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "far_job.py")
PACKAGES = ("numpy", "safetensors", "gguf")


class Load(Workload):
    bytes, memory = 4 << 30, 6 << 30
    variants = ("read16",)
    aim = (3, 3)
    verdict = "preload it where the read-ahead is small; at 8 MiB little is to be won"

    def __init__(self, kind, copies=1):
        self.kind, self.copies = kind, copies
        self.name = kind if copies == 1 else f"{kind}{copies}"
        self.about = f"{kind}: load 4 GB" + (f", {copies} processes" if copies > 1 else "")

    def size(self, place):
        return max(int(self.bytes * place.scale) & -(64 << 20), 64 << 20)

    def data(self, place):
        return place.path(f"{self.kind}.{self.size(place) >> 20}")

    def job(self, place, *args):
        return [place.python(*PACKAGES), JOB, *args]

    def make(self, place):
        path = self.data(place)
        if not os.path.exists(path):
            subprocess.run(self.job(place, "make", self.kind, path,
                                    str(self.size(place))), check=True)

    def command(self, place, variant):
        return self.job(place, "load", self.kind, self.data(place), variant or "plain")


class Rows(Load):
    """Random rows by threads: at the depth of the program, and no more is read."""
    memory, variants, aim = 1 << 30, ("random",), (2, 10)
    verdict = "preload it; nothing has to be set"

    def __init__(self):
        super().__init__("rows")
        self.about = "rows of 4 KiB of a memmap, 8 threads"


EVERY = [Load("safetensors"), Load("gguf"), Load("safetensors", 4), Load("gguf", 4),
         Rows()]
