# SPDX-License-Identifier: MIT
"""YCSB A to F, and three mixes on LevelDB: 8 threads, zipfian, records of 1 KB, a
database four times as large as memory; 4 s of each. Every record read is checked, and
all that are left afterwards."""
import os
import shutil
import subprocess

from .harness import run_or
from .workload import Workload

RECORD, THREADS, SECONDS = 1000, 8, 4
MDBX = ("mdbx-sys", "14.4.0")
WHAT = {"a": "half updates", "b": "5 % updates", "c": "reads", "d": "reads of the latest",
        "e": "scans", "f": "read-modify-write"}


class Ycsb(Workload):
    figure = "ops"
    own = 8 << 20  # how often each record was updated

    def __init__(self, store, letter):
        self.store, self.letter = store, letter
        self.name = f"ycsb-{letter}-{store.lower()}"
        self.about = f"YCSB {letter.upper()} ({WHAT[letter]}), {self.mode}, {THREADS} threads"

    def live(self, place):
        return place.path(f"ycsb.{self.store}" if self.letter == "c" else "ycsb.live")

    def make(self, place):
        self.program(place)
        path = place.path(f"ycsb.{self.store}")
        n = int(self.bytes * place.scale) // RECORD
        if os.path.exists(path) and os.path.exists(path + ".count"):
            with open(path + ".count", "rb") as f:
                if sum(1 for _ in f) == n:
                    return
        clear(path)
        subprocess.run([self.program(place), "load", path, str(n)], check=True)

    def before(self, place):
        if self.letter == "c":
            return
        fresh, live = place.path(f"ycsb.{self.store}"), self.live(place)
        clear(live)
        shutil.copytree(fresh, live)
        shutil.copy(fresh + ".count", live + ".count")

    def command(self, place, variant):
        return [self.program(place), "run", self.live(place), self.letter, str(THREADS),
                str(SECONDS), *([variant] if variant else [])]

    def after(self, place):
        p = subprocess.run([self.program(place), "check", self.live(place)],
                           capture_output=True, text=True, check=False)
        return ", left " + (p.stdout.strip() or p.stderr[-300:])


def clear(path):
    shutil.rmtree(path, ignore_errors=True)
    if os.path.exists(path + ".count"):
        os.unlink(path + ".count")


class Lmdb(Ycsb):
    mode, variants = "LMDB WRITEMAP", ("nordahead",)
    verdict = "preload it where MDB_NORDAHEAD is not set"

    def program(self, place):
        place.headers("liblmdb-dev")
        return place.compiled("ycsb_lmdb", ["ycsb.c", "ycsb_lmdb.c"], "-llmdb", "-lm")


class Mdbx(Ycsb):
    mode, variants = "libmdbx WRITEMAP", ("nordahead",)
    verdict = "preload it where MDBX_NORDAHEAD is not set"

    def program(self, place):
        top = place.crate(*MDBX) + "/libmdbx"
        if not os.path.exists(top + "/mdbx.o"):
            run_or(["cc", "-O2", "-DNDEBUG=1", "-w", "-c", "-o", top + "/mdbx.o",
                    top + "/mdbx.c"])
        return place.compiled("ycsb_mdbx", ["ycsb.c", "ycsb_lmdb.c"], top + "/mdbx.o", "-DMDBX",
                              "-I" + top, "-lm")


class Rocksdb(Ycsb):
    mode, variants = "RocksDB mmap_reads and mmap_writes", ("blockcache",)
    own = 40 << 20  # and memtables
    verdict = "as you like: it gives MADV_RANDOM itself"

    def program(self, place):
        place.headers("librocksdb-dev")
        return place.compiled("ycsb_rocksdb", ["ycsb.c", "ycsb_rocksdb.c"], "-lrocksdb", "-lm")

    def environment(self, place):
        return {"YCSB_CACHE": str(int(self.memory * place.scale) * 3 // 4)}


class Leveldb(Ycsb):
    mode, own = "LevelDB", 24 << 20
    verdict = "preload it for single records, or where the read-ahead is large"

    def program(self, place):
        place.headers("libleveldb-dev")
        return place.compiled("ycsb_leveldb", ["ycsb.c", "ycsb_rocksdb.c"], "-DLEVELDB",
                              "-lleveldb", "-lm")


EVERY = [kind(store, letter) for kind, store, letters in
         ((Lmdb, "LMDB", "abcdef"), (Rocksdb, "RocksDB", "abcdef"),
          (Mdbx, "libmdbx", "abcdef"), (Leveldb, "LevelDB", "cae"))
         for letter in letters]
