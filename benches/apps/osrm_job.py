# SPDX-License-Identifier: MIT
"""osrm_job.py PROGRAMS make DIR CROSSINGS | serve DIR | ask DIR PORT"""
import os
import random
import subprocess
import sys
import threading
import time
import zlib
from http.client import HTTPConnection

from loopback import all_at_once, ask_by, free_port, until_answers

CLIENTS, EACH, ROUTES, NEAR = 4, 400, 4, 8  # questions of each; every so many is a route
LAT, LON, STEP, BLOCK = 45.0, 5.0, .003, 10  # degrees; crossings that a road spans


def place_of(x, y):
    return f"{LON + x * STEP:.6f}", f"{LAT + y * STEP * .7:.6f}"


def road(f, number, nodes, kind):
    f.write(f'<way id="{number}" version="1">'
            + "".join(f'<nd ref="{i + 1}"/>' for i in nodes)
            + f'<tag k="highway" v="{kind}"/><tag k="name" v="R{number}"/></way>\n')


def country(path, side):
    """Roads along a grid, of which some are missing; every fortieth is a fast one."""
    r = random.Random(7)
    with open(path, "w", encoding="ascii") as f:
        f.write('<?xml version="1.0"?>\n<osm version="0.6">\n')
        for i in range(side * side):
            lon, lat = place_of(i % side + r.random() / 2, i // side + r.random() / 2)
            f.write(f'<node id="{i + 1}" version="1" lat="{lat}" lon="{lon}"/>\n')
        number = 0
        for line in range(2 * side):
            step, start = (1, line * side) if line < side else (side, line - side)
            kind = "primary" if line % 40 == 0 else None
            for at in range(0, side - 1, BLOCK):
                number += 1
                nodes = [start + k * step for k in range(at, min(at + BLOCK + 1, side))]
                if r.random() > .06:
                    road(f, number, nodes,
                         kind or r.choice(("residential", "tertiary", "secondary")))
        f.write("</osm>\n")


def make(programs, top, crossings):
    new, side = top + ".new", int(int(crossings) ** .5)
    os.makedirs(new, exist_ok=True)
    country(new + "/map.osm", side)
    b, g = programs + "/bin/osrm-", new + "/map.osrm"
    for argv in ([b + "extract", "-p", programs + "/share/profiles/car.lua", new + "/map.osm"],
                 [b + "partition", g], [b + "customize", g]):
        subprocess.run(argv, check=True, stdout=subprocess.DEVNULL)
    os.unlink(new + "/map.osm")
    with open(new + "/side", "w", encoding="ascii") as f:
        f.write(str(side))
    os.rename(new, top)


class Client(threading.Thread):
    def __init__(self, port, side, seed):
        super().__init__()
        self.port, self.side, self.r = port, side, random.Random(seed)
        self.took, self.sum = [], 0

    def question(self, i):
        x, y = self.r.randrange(self.side - NEAR), self.r.randrange(self.side - NEAR)
        here = ",".join(place_of(x, y))
        if i % ROUTES:
            return f"/nearest/v1/driving/{here}?number=3"
        there = ",".join(place_of(x + self.r.randrange(NEAR), y + self.r.randrange(NEAR)))
        return f"/route/v1/driving/{here};{there}?overview=full&steps=true"

    def run(self):
        c = HTTPConnection("127.0.0.1", self.port, timeout=300)
        for i in range(EACH):
            began = time.monotonic()
            c.request("GET", self.question(i))
            self.sum = zlib.crc32(c.getresponse().read(), self.sum)
            self.took.append(time.monotonic() - began)


def ask(_, top, port):
    with open(top + "/side", encoding="ascii") as f:
        side = int(f.read())
    every = [Client(int(port), side, i + 1) for i in range(CLIENTS)]
    all_at_once(every, lambda: [c.sum for c in every])


def serve(programs, top):
    port = free_port()
    with subprocess.Popen([programs + "/bin/osrm-routed", "-a", "MLD", "-t", str(CLIENTS),
                           "-i", "127.0.0.1", "-p", str(port), "-l", "ERROR",
                           "--mmap=on", top + "/map.osrm"],
                          stdout=subprocess.DEVNULL) as server:
        try:
            until_answers(server, port, lambda: f"osrm-routed ended with {server.returncode}")
            ask_by(__file__, programs, "ask", top, str(port))
        finally:
            server.terminate()


{"make": make, "serve": serve, "ask": ask}[sys.argv[2]](sys.argv[1], *sys.argv[3:])
