# SPDX-License-Identifier: MIT
"""Run by small_db.py: PATH MODE RECORDS. Loads a new database, gets and changes records,
and prints the seconds of each as JSON."""
import json
import random
import sys
import time

import lmdb

CHANGES = 300
MODES = {"default": {}, "NOSYNC": {"sync": False},
         "WRITEMAP, MAPASYNC": {"writemap": True, "map_async": True}}


def key(i):
    return b"%08x" % (i * 2654435761 & 0xffffffff)


def load(env, n):
    order = list(range(n))
    random.Random(1).shuffle(order)
    for at in range(0, n, 10000):
        with env.begin(write=True) as t:
            for i in order[at:at + 10000]:
                t.put(key(i), b"%d;" % i * (4 + i % 9))


def get(env, n):
    r = random.Random(2)
    with env.begin() as t:
        if not all(t.get(key(r.randrange(n))) for _ in range(n)):
            sys.exit("a record is missing")


def change(env, n):
    r = random.Random(3)
    for _ in range(CHANGES):
        with env.begin(write=True) as t:
            t.put(key(r.randrange(n)), b"changed")


def main(path, mode, n):
    out = {}
    with lmdb.open(path, map_size=1 << 30, **MODES[mode]) as env:
        for work in (load, get, change):
            began = time.monotonic()
            work(env, n)
            out[work.__name__] = time.monotonic() - began
    print(json.dumps(out))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
