# SPDX-License-Identifier: MIT
"""New-order, payment and order-status of TPC-C on SQLite with mmap_size, WAL, 8 threads
of 10 s; its conditions of consistency are checked afterwards."""
import os
import subprocess
import sys

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tpcc_job.py")
WAREHOUSE, THREADS, SECONDS, MMAP = 70 << 20, 8, 10, 0x7fff0000


class Tpcc(Workload):
    name, about = "tpcc", f"TPC-C's new-order, payment, order-status, SQLite mmap_size, {THREADS} threads"
    own = 40 << 20  # Python, connections
    figure, variants = "neworders", ("mmap_size=0",)
    verdict = "with serve = advised, or SQLite's own mmap_size=0 without the library"

    def data(self, place):
        return place.path(f"tpcc.{place.scale:g}")

    def make(self, place):
        if not os.path.exists(self.data(place)):
            new = self.data(place) + ".new"
            many = max(1, int(self.bytes * place.scale) // WAREHOUSE)
            subprocess.run([sys.executable, JOB, "make", new, str(many)], check=True)
            os.rename(new, self.data(place))

    def before(self, place):
        live = place.path("tpcc.live")
        for end in ("-wal", "-shm"):
            if os.path.exists(live + end):
                os.unlink(live + end)
        subprocess.run(["cp", self.data(place), live], check=True)

    def command(self, place, variant):
        return [sys.executable, JOB, "run", place.path("tpcc.live"), str(THREADS),
                str(SECONDS), "0" if variant else str(MMAP)]

    def after(self, place):
        p = subprocess.run([sys.executable, JOB, "check", place.path("tpcc.live")],
                           capture_output=True, text=True, check=False)
        return ", " + (p.stdout.strip() or p.stderr[-300:])


EVERY = [Tpcc()]
