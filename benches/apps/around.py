# SPDX-License-Identifier: MIT
"""Short-lived work on files under the paths: little or nothing of it is mapped for
long, and the library must not be in its way."""
import os
import shutil
import subprocess

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "around_job.py")


class Around(Workload):
    bytes, memory, scales = 256 << 20, 1 << 30, False
    aim = (0.97, 0.97)
    verdict = "it may stay preloaded"
    fresh = False  # whether each run has the tree as it was made

    def __init__(self, what, about, tree, count, fresh=False):
        self.name, self.about = what, about
        self.what, self.tree, self.count, self.fresh = what, tree, count, fresh
        if what == "script":
            self.verdict = ("preload the program that maps, not the shell around it: "
                            "each process takes 0.3 ms more, 1 to 2 ms on a busy machine")

    def many(self, place):
        return max(int(self.count * place.scale), 20)

    def data(self, place):
        return place.path(f"{self.tree}.{self.many(place)}")

    def job(self, *args):
        return ["/usr/bin/python3", JOB, *args]

    def make(self, place):
        if self.tree == "git":
            place.debian("git", "git")
        if self.what.startswith("rg"):
            place.debian("rg", "ripgrep")
        if self.tree == "project":
            place.debian("make", "build-essential")
        if not os.path.exists(self.data(place)):
            new = self.data(place) + ".new"
            shutil.rmtree(new, ignore_errors=True)
            subprocess.run(self.job("make", self.tree, new, str(self.many(place))),
                           check=True)
            os.rename(new, self.data(place))

    def before(self, place):
        if self.fresh:
            shutil.rmtree(self.data(place) + ".run", ignore_errors=True)
            subprocess.run(["cp", "-a", self.data(place), self.data(place) + ".run"],
                           check=True)

    def command(self, place, variant):
        return self.job("do", self.what,
                        self.data(place) + (".run" if self.fresh else ""))


EVERY = [
    Around("build", "make -j4 of a C project", "project", 400, True),
    Around("gitstatus", "git status, 20 times", "git", 4000),
    Around("gitgc", "git gc of loose objects and packs", "git", 4000, True),
    Around("rg", "rg over a tree", "text", 8000),
    Around("rgmap", "rg --mmap over a tree", "text", 8000),
    Around("script", "a shell script of 1,000 commands", "text", 8000),
]
