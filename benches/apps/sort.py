# SPDX-License-Identifier: MIT
"""Words of 64 bits in a mapped file, sorted where they lie."""
import subprocess

from .workload import Workload


class Sort(Workload):
    name, about = "sort", "sort of 64-bit words in a mapped file, OpenMP"
    aim = (2.5, 1.2)
    verdict = "preload it where the read-ahead is small"

    def data(self, place):
        return place.path("words")

    def before(self, place):
        subprocess.run([place.tool("apps/sort"), "make", self.data(place),
                        str(int(self.bytes * place.scale))], check=True)

    def command(self, place, variant):
        return [place.tool("apps/sort"), "sort", self.data(place)]


EVERY = [Sort()]
