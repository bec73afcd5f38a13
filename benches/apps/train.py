# SPDX-License-Identifier: MIT
"""Samples of a data set four times as large as memory, in shuffled order, by 8 workers
as PyTorch's DataLoader has them: forked after the data set was mapped, or spawned, each
of which maps it. The hint is what those do who know of it: madvise random."""
import os
import subprocess

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "train_job.py")


class Train(Workload):
    bytes, memory = 4 << 30, 1 << 30
    figure, aim = "samples", (2, 10)
    variants = ("random",)

    def __init__(self, kind, start):
        self.name = f"{kind}-{start}"
        self.kind, self.start = kind, start
        what = "numpy memmap" if kind == "numpy" else "Arrow table"
        self.about = f"training data, {what}, 8 {start} workers"
        self.verdict = ("preload it; nothing has to be set" if kind == "numpy" else
                        "preload it: pyarrow has no way to give the hint itself")
        self.own = (240 if start == "spawned" else 40 if kind == "numpy" else
                    120) << 20  # interpreters
        if kind == "arrow":
            self.variants = ()

    def job(self, place, *args):
        return [place.python("numpy", "pyarrow"), JOB, *args]

    def data(self, place):
        return place.path(f"samples.{self.kind}.{place.scale:g}")

    def make(self, place):
        path = self.data(place)
        if not os.path.exists(path):
            subprocess.run(self.job(place, "make", self.kind, path,
                                    str(int(self.bytes * place.scale))), check=True)

    def command(self, place, variant):
        return self.job(place, self.start, self.kind, self.data(place), variant or "plain")


EVERY = [Train(kind, start) for kind in ("numpy", "arrow") for start in ("forked", "spawned")]
