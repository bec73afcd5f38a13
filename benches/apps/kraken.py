# SPDX-License-Identifier: MIT
"""kraken2 --memory-mapping: each k-mer of a read is looked up in one table of hashes. Of
random genomes; the table has a hundred times the room that they need, so a look-up is one
page, as in the large ones."""
import os
import sys

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kraken_job.py")


class Kraken(Workload):
    bytes, memory = 4 << 30, 1 << 30
    aim = (2, 5)
    verdict = ("preload it with --memory-mapping; where the table fits into memory, "
               "kraken2 without --memory-mapping reads it in order")

    def __init__(self, copies):
        self.several(copies, "kraken2", "kraken2 --memory-mapping, 2 threads")

    def data(self, place):
        return place.path(f"kraken.{place.scale:g}")

    def make(self, place):
        place.debian("kraken2", "kraken2")
        self.make_by(place, [sys.executable, JOB])

    def command(self, place, variant):
        return [sys.executable, JOB, "classify", self.data(place)]


EVERY = [Kraken(1), Kraken(4)]
