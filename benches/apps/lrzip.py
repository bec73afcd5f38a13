# SPDX-License-Identifier: MIT
"""lrzip without a back end: with all of the file as one window, and with a sliding one,
which maps and unmaps single pages."""
import os
import subprocess
import sys

from .workload import Workload

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAKE = "import sys; from app import mixed; mixed(sys.argv[1], int(sys.argv[2]), text=.05)"


class Lrzip(Workload):
    own = 72 << 20  # its hash table
    verdict = "little to win: it computes"

    def __init__(self, name, what, options, size):
        self.name, self.options, self.bytes = name, options, size
        self.memory = size * 19 // 20  # it holds what it has made, 7 tenths
        self.about = f"lrzip {' '.join(options)}, {what}"

    def data(self, place):
        return place.path(f"lrzip.{int(self.bytes * place.scale) >> 20}")

    def make(self, place):
        place.debian("lrzip", "lrzip")
        if not os.path.exists(self.data(place)):
            subprocess.run([sys.executable, "-c", MAKE, self.data(place),
                            str(int(self.bytes * place.scale))], check=True,
                           env={**os.environ, "PYTHONPATH": TOP + "/tests/apps"})

    def command(self, place, variant):
        return ["sh", "-c", '"$@" && echo \'{"sum": ""}\'', "sh", "lrzip", "-q", "-f", "-p", "2",
                *self.options, "-o", place.path("lrz"), self.data(place)]

    def after(self, place):
        """Does it unpack to what it was made of?"""
        back = subprocess.Popen(["lrzip", "-q", "-d", "-o", "-", place.path("lrz")],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        p = subprocess.run(["cmp", "-", self.data(place)], stdin=back.stdout, check=False)
        back.stdout.close()
        return f"unpacked {back.wait()}, compared {p.returncode}"


EVERY = [Lrzip("lrzip-unlimited", "a window of all of it", ["-n", "-U"], 1 << 30),
         Lrzip("lrzip-sliding", "a sliding window", ["-n", "-m", "1"], 320 << 20)]
