# SPDX-License-Identifier: MIT
"""The median over a stack of mapped images, as UMap's authors measured: light that moves
is looked for along vectors that go through all of them, a pixel of each. The hint is
what the kernel offers for that: madvise random."""
import os

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "images_job.py")


class Images(Workload):
    name, about = "images", "median along vectors of 128 FITS images (astropy), 4 threads"
    bytes, memory, own = 4 << 30, 1 << 30, 110 << 20
    figure, aim = "vectors", (1.5, 5)
    variants = ("random",)
    verdict = "preload it; nothing has to be set"

    def job(self, place, *args):
        return [place.python("numpy", "astropy"), JOB, *args]

    def data(self, place):
        return place.path(f"images.{place.scale:g}")

    def make(self, place):
        self.make_by(place, self.job(place))

    def command(self, place, variant):
        return self.job(place, "look", self.data(place), variant or "plain")


EVERY = [Images()]
