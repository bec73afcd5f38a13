# SPDX-License-Identifier: MIT
"""tippecanoe: vector tiles of points in GeoJSON. It maps its input and the temporary
files into which it puts what it parsed, sorts these where they lie, and reads them in
the order of the map. It takes as long as its CPUs."""
import os
import shutil
import subprocess
import sys

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tiles_job.py")


class Tiles(Workload):
    name, about = "tippecanoe", "tippecanoe, points to vector tiles, zoom 0 to 3"
    bytes, memory, own = 1 << 30, 256 << 20, 160 << 20
    aim = (0.97, 0.97)
    verdict = "it may be preloaded or not: it waits for its CPUs"

    def program(self, place):
        python = place.python("cubao-tippecanoe")
        p = subprocess.run([python, "-c", "import cubao_tippecanoe as t; print(t.__path__[0])"],
                           capture_output=True, text=True, check=True)
        path = p.stdout.strip() + "/__cubao_tippecanoe_tippecanoe.exe"
        os.chmod(path, 0o755)
        return path

    def data(self, place):
        return place.path(f"points.{place.scale:g}.json")

    def make(self, place):
        self.make_by(place, [sys.executable, JOB])

    def before(self, place):
        shutil.rmtree(self.data(place) + ".tmp", ignore_errors=True)
        os.mkdir(self.data(place) + ".tmp")

    def command(self, place, variant):
        return [sys.executable, JOB, "tiles", self.data(place), self.program(place)]


EVERY = [Tiles()]
