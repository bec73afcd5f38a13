# SPDX-License-Identifier: MIT
"""Run by ../lmdb: WHAT MODE PATH RECORDS [NUMBER]. Prints what it found."""
import random
import sys
import zlib

import lmdb

what, mode, path, n = sys.argv[1:4] + [int(sys.argv[4])]
number = int(sys.argv[5]) if len(sys.argv) > 5 else 0
SHARED = 200


def key(i):
    return b"%08x" % (i * 2654435761 & 0xffffffff)


def value(i, salt=0):
    return (b"%d:%d;" % (i, salt)) * (4 + i % 9)


def environment(**more):
    # metasync and sync as in production: every commit waits for the disk
    return lmdb.open(path, map_size=2 << 30, writemap=mode == "writemap",
                     max_readers=16, **more)


def load(env):
    order = list(range(n))
    random.Random(1).shuffle(order)
    for at in range(0, n, 10000):
        with env.begin(write=True) as t:
            for i in order[at:at + 10000]:
                t.put(key(i), value(i))
            if at == 0:
                t.put(b"~large", bytes(range(256)) * 400)
    print(env.stat()["entries"])


def read(env):
    r = random.Random(2)
    with env.begin() as t:
        bad = sum(t.get(key(i)) != value(i) for i in
                  (r.randrange(n) for _ in range(n // 2)))
        print("wrong", bad, "missing", t.get(b"none"))
    dump(env)


def change(env):
    r = random.Random(3)
    old = env.begin()  # keeps seeing what was
    before = old.get(key(5))
    for _ in range(10):
        with env.begin(write=True) as t:
            for _ in range(n // 100):
                i = r.randrange(n)
                t.put(key(i), value(i, 1) + b"x" * r.randrange(300))
            t.put(key(5), b"new")
    t = env.begin(write=True)
    t.put(key(6), b"given up")
    t.abort()
    print(old.get(key(5)) == before, old.get(key(6)) == value(6))
    old.abort()
    dump(env)


def delete(env):
    with env.begin(write=True) as t:
        print(sum(t.delete(key(i)) for i in range(0, n, 3)))
    with env.begin(write=True) as t:
        t.delete(b"~large")
    env.sync(True)
    dump(env)


def dump(env):
    crc = count = 0
    with env.begin() as t:
        for k, v in t.cursor():
            crc = zlib.crc32(v, zlib.crc32(k, crc))
            count += 1
    print("dump", count, "%08x" % crc)


def prepare(env):
    with env.begin(write=True) as t:
        for i in range(SHARED):
            t.put(b"count%04d" % i, b"0")


def writer(env):
    """Both add one to the same counters: a lost update shows in the sum."""
    r = random.Random(7)
    for at in range(0, n, 50):
        with env.begin(write=True) as t:
            for i in range(at, min(at + 50, n)):
                k = b"count%04d" % r.randrange(SHARED)
                t.put(k, b"%d" % (int(t.get(k)) + 1))
                t.put(b"w%d-%08d" % (number, i), value(i, number))
    print("written", n)


def reader(env):
    """Within one snapshot the counters equal the records."""
    torn = 0
    for _ in range(30):
        with env.begin() as t:
            total = sum(int(t.get(b"count%04d" % i)) for i in range(SHARED))
            total -= t.stat()["entries"] - SHARED
            torn += total != 0
            for k, v in t.cursor():
                if k.startswith(b"w"):
                    torn += v != value(int(k[3:]), int(k[1:2]))
    print("torn", torn)


with environment(readonly=what == "reader") as env:
    globals()[what](env)
