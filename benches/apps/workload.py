# SPDX-License-Identifier: MIT
"""What a workload is."""
import os
import subprocess


class Workload:
    """Its defaults; see the others for what they change."""
    name = about = ""
    bytes = 4 << 30    # of data, at scale 1
    memory = 1 << 30   # of the cgroup
    scales = True      # memory does, with the data
    own = 0            # bytes that its programs need beside, at any scale
    variants = ()      # other native ways: the best hint, the program's own remedy
    copies = 1         # of the program at once
    figure = ""        # of its answer, more is better; empty: seconds
    verdict = ""       # what a user should do
    only = ()          # columns; empty: all
    parts = False      # its figures beside seconds are seconds of parts
    timeout = 1800     # of a run, seconds
    aim = ()           # natively / preloaded, at 128 and at 8192 KiB

    def several(self, copies, name, about):
        """So many processes of the program at once."""
        self.copies, self.own = copies, self.own * copies
        self.name = name if copies == 1 else f"{name}x{copies}"
        self.about = about + (f", {copies} processes" if copies > 1 else "")

    def data(self, place):
        """Where the data is."""
        raise NotImplementedError

    def make(self, place):
        """The data, unless it is there."""

    def make_by(self, place, job, unit=1):
        """For make(): by `job make DATA AMOUNT`, in units of so many bytes."""
        if not os.path.exists(self.data(place)):
            amount = int(self.bytes * place.scale) // unit
            subprocess.run([*job, "make", self.data(place), str(amount)], check=True)

    def before(self, place):
        """Of each run, outside of what is measured."""

    def after(self, place):
        """Of each run, not preloaded: what is left, for the comparison."""
        return ""

    def environment(self, place):
        """More of it, in all columns."""
        return {}

    def command(self, place, variant):
        """argv. Its last line is {"sum": ..., and figures, e.g. "seconds"}."""
        raise NotImplementedError
