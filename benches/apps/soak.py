# SPDX-License-Identifier: MIT
"""Half an hour of four programs that come and go in one group of half the memory that
they need; one is killed each minute. It fails where a store is lost, a byte is other than
it should be, or memory, descriptors, tasks or files grow."""
import os

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "soak_job.py")


class Soak(Workload):
    name, about = "soak", "30 minutes, 4 programs that come and go, one killed a minute"
    bytes, memory, scales = 4 * (192 << 20), 384 << 20, False
    figure, only = "pages", ("native_ra128", "preloaded_ra128")
    seconds, timeout = 1800, 3600
    verdict = "services may stay preloaded: nothing is lost, and nothing grows"

    def command(self, place, variant):
        return ["/usr/bin/python3", JOB, "watch", place.path("soak"),
                str(int(self.seconds * place.scale)), str(self.bytes // 4)]


EVERY = [Soak()]
