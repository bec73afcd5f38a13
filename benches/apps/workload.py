# SPDX-License-Identifier: MIT
"""What a workload is."""


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
    timeout = 1800     # of a run, seconds
    aim = ()           # natively / preloaded, at 128 and at 8192 KiB

    def make(self, place):
        """The data, unless it is there."""

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
