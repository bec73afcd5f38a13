# SPDX-License-Identifier: MIT
"""tiles_job.py make PATH BYTES | tiles PATH TIPPECANOE"""
import hashlib
import json
import os
import random
import sqlite3
import subprocess
import sys
import time

POINT = ('{"type":"Feature","properties":{"id":%d,"name":"%x"},"geometry":'
         '{"type":"Point","coordinates":[%.6f,%.6f]}}\n')


def make(path, size):
    r, i = random.Random(3), 0
    with open(path + ".new", "w", encoding="ascii") as f:
        while size > 0:
            size -= f.write(POINT % (i, r.getrandbits(64), r.uniform(-180, 180),
                                     r.uniform(-80, 80)))
            i += 1
    os.rename(path + ".new", path)


def tiles(path, program):
    out, t0 = path + ".tmp/out.mbtiles", time.monotonic()
    subprocess.run([program, "-q", "-f", "-P", "-z3", "-o", out, "-t", path + ".tmp", path],
                   check=True)
    seconds = time.monotonic() - t0
    db, h, n = sqlite3.connect(out), hashlib.sha256(), 0
    for row in db.execute("select zoom_level, tile_column, tile_row, tile_data from tiles"
                          " order by 1, 2, 3"):
        h.update(repr(row).encode())
        n += 1
    print(json.dumps({"sum": h.hexdigest()[:16], "seconds": round(seconds, 2), "tiles": n}))


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    tiles(*sys.argv[2:4])
