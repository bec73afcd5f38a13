# SPDX-License-Identifier: MIT
"""OSRM, the router, with its graph mapped (osrm-routed --mmap): routes across a made-up
country, a grid of roads, asked over loopback."""
import glob
import os
import sys
import zipfile

from .harness import NotHere, run_or
from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "osrm_job.py")
PACKAGE, NODE = "osrm-bindings==26.10.0", 11000  # bytes that a crossing takes


class Osrm(Workload):
    name, about = "osrm", "OSRM, osrm-routed --mmap, routes, 4 clients"
    bytes, memory, own = 4 << 30, 1 << 30, 24 << 20  # beside: heap of the server, clients
    figure = "requests"
    verdict = "preload osrm-routed --mmap where the read-ahead is large or the disk is slow"

    def data(self, place):
        return place.path(f"osrm.{place.scale:g}")

    def programs(self, place):
        """Out of the wheel: they need no Python, so any that pip has will do."""
        top = os.path.join(place.built, "osrm")
        if not os.path.exists(top):
            print(f"  installing {PACKAGE}", flush=True)
            run_or([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d",
                    place.own, "--only-binary", ":all:", "--python-version", "3.12",
                    "--platform", "manylinux_2_28_x86_64", PACKAGE])
            found = glob.glob(place.own + "/osrm_bindings-*.whl")
            if not found:
                raise NotHere(f"{PACKAGE} has no wheel")
            with zipfile.ZipFile(found[0]) as z:
                z.extractall(top + ".new")
            for program in glob.glob(top + ".new/osrm/bin/*"):
                os.chmod(program, 0o755)
            os.rename(top + ".new", top)
        return os.path.join(top, "osrm")

    def make(self, place):
        self.make_by(place, [sys.executable, JOB, self.programs(place)], unit=NODE)

    def command(self, place, variant):
        return [sys.executable, JOB, self.programs(place), "serve", self.data(place)]


EVERY = [Osrm()]
