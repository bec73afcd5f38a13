# SPDX-License-Identifier: MIT
"""MonetDB, embedded, with TPC-H: its 22 queries, the load, and changes. It maps the
columns of its tables, and its own intermediate results beside them."""
import json
import os
import shutil
import subprocess
import sys

from .harness import NotHere
from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "monetdb_job.py")
NEWEST = (3, 10)  # of Python that it has a wheel for


class Monetdb(Workload):
    memory, own = 1 << 30, 192 << 20  # Python, intermediate results
    parts = True
    verdict = "without the library while the database nearly fits into memory"

    def __init__(self, what, about, aim):
        self.what, self.aim = what, aim
        self.name, self.about = f"monetdb-{what}", f"MonetDB, TPC-H, {about}"

    def job(self, place, what, where, side):
        python = place.python("monetdbe", newest=NEWEST)
        return [python, JOB, what, self.data(place) + "/tables", where, side]

    def data(self, place):
        return place.path(f"tpch.{place.scale:g}")

    def live(self, place):
        return place.path(f"tpch.{place.scale:g}.live")

    def make(self, place):
        path = self.data(place)
        if os.path.exists(path):
            return
        new, factor = path + ".new", "%g" % (self.bytes * place.scale / (1 << 30))
        shutil.rmtree(new, ignore_errors=True)
        os.makedirs(new + "/tables")
        maker = place.python("duckdb", "duckdb-extension-tpch")
        python = place.python("monetdbe", newest=NEWEST)
        for argv in ([maker, JOB, "generate", new + "/tables", factor],
                     [python, JOB, "load", new + "/tables", new + "/db"]):
            p = subprocess.run(argv, capture_output=True, text=True, check=False)
            if p.returncode:
                raise NotHere(f"TPC-H {factor}: {p.stderr.strip()[-300:]}")
        os.rename(new, path)

    def before(self, place):
        shutil.rmtree(self.live(place), ignore_errors=True)
        if self.what != "load":
            subprocess.run(["cp", "-r", self.data(place) + "/db", self.live(place)],
                           check=True)

    def command(self, place, variant):
        return self.job(place, self.what, self.live(place), "timed")

    def after(self, place):
        """Of every column that is left."""
        if self.what == "query":
            return ""
        p = subprocess.run(self.job(place, "sums", self.live(place), "timed"),
                           capture_output=True, text=True, check=False)
        return f", {json.loads(p.stdout)['sum'] if p.stdout else p.stderr[-300:]}"


EVERY = [Monetdb("query", "22 queries", (1.1, 1.0)),
         Monetdb("load", "load", (1.0, 1.0)), Monetdb("change", "changes", (1.0, 1.0))]
