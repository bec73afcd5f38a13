# SPDX-License-Identifier: MIT
"""A service that starts again: an index of 128 files, of which the same pages are asked
for each time, in an order of their own. What was hot is remembered (FASTMAP_WARM_START);
the time is that of the second start, the page cache is empty before both."""
import os
import shutil
import sys

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "warm_job.py")


class Warm(Workload):
    name, about = "restart", "an index of 128 files, random reads at the second cold start"
    own = 30 << 20
    variants = ("random",)
    verdict = "preload it, and keep warm-start"

    def data(self, place):
        return place.path(f"index.{place.scale:g}")

    def make(self, place):
        self.make_by(place, [sys.executable, JOB])

    def before(self, place):
        shutil.rmtree(place.own + "/hot", ignore_errors=True)

    def environment(self, place):
        return {"FASTMAP_WARM_START": place.own + "/hot"}

    def command(self, place, variant):
        pages = int(self.memory * place.scale) // 4 // 4096
        return [sys.executable, JOB, "twice", self.data(place), str(pages), variant or "plain"]


EVERY = [Warm()]
