# SPDX-License-Identifier: MIT
"""Apache maps each file that it sends (EnableMMAP): files of 1 MiB, four times as many as
fit, by zipf, to 8 clients over loopback."""
import os
import sys

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "web_job.py")


class Web(Workload):
    name, about = "apache", "Apache, EnableMMAP, files of 1 MiB, zipf, 8 clients"
    own = 90 << 20  # Apache, the clients' buffers
    figure, variants = "requests", ("EnableMMAP=Off",)
    verdict = "leave it alone: each file is mapped, read once and unmapped"

    def data(self, place):
        return place.path(f"web.{place.scale:g}")

    def make(self, place):
        place.debian("apache2", "apache2")
        self.make_by(place, [sys.executable, JOB], unit=1 << 20)

    def command(self, place, variant):
        return [sys.executable, JOB, "serve", self.data(place), "Off" if variant else "On"]


EVERY = [Web()]
