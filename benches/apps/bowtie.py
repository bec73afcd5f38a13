# SPDX-License-Identifier: MIT
"""bowtie2 --mm: reads are looked for in an index of a random genome, which all processes
map. --offrate 1 has every second place in the index, which the manual offers where
there is room: one page for a place that was found, instead of walking to it."""
import os
import sys

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bowtie_job.py")


class Bowtie(Workload):
    bytes, memory, own = 2 << 30, 512 << 20, 30 << 20
    aim = (1.5, 3)
    verdict = "preload it with --mm"

    def __init__(self, copies):
        self.several(copies, "bowtie2", "bowtie2 --mm, 2 threads")

    def data(self, place):
        return place.path(f"bowtie.{place.scale:g}")

    def make(self, place):
        place.debian("bowtie2", "bowtie2")
        self.make_by(place, [sys.executable, JOB])

    def command(self, place, variant):
        return [sys.executable, JOB, "align", self.data(place)]


EVERY = [Bowtie(1), Bowtie(4)]
