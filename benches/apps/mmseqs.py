# SPDX-License-Identifier: MIT
"""MMseqs2: proteins are looked for in an index of the words of all others, which it maps
(--db-load-mode 2). Random proteins, and queries that are some of them, changed. Its own
remedy is to touch all of the index first (3). The index has 400 MiB at least."""
import os
import sys

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "mmseqs_job.py")


class Mmseqs(Workload):
    bytes, memory, own = 4 << 30, 1 << 30, 60 << 20
    aim, variants = (1.5, 3), ("touch",)
    verdict = "preload it; nothing has to be set"

    def __init__(self, copies):
        self.several(copies, "mmseqs", "MMseqs2 search of a mapped index, 2 threads")

    def data(self, place):
        return place.path(f"mmseqs.{place.scale:g}")

    def make(self, place):
        place.debian("mmseqs", "mmseqs2")
        self.make_by(place, [sys.executable, JOB])

    def command(self, place, variant):
        return [sys.executable, JOB, "search", self.data(place), place.own,
                "3" if variant else "2"]


EVERY = [Mmseqs(1), Mmseqs(4)]
