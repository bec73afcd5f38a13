# SPDX-License-Identifier: MIT
"""LMDB, a database that fits into memory: load, get, change."""
import importlib.util
import os
import shutil
import sys

from . import pairs

RECORDS = 60000
MODES = ("default", "NOSYNC", "WRITEMAP, MAPASYNC")
JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "lmdb_job.py")


def figures(m, preload):
    path = os.path.join(os.path.dirname(m.file), "small.lmdb")
    for mode in MODES:
        shutil.rmtree(path, ignore_errors=True)
        r = m.run([sys.executable, JOB, path, mode, str(RECORDS)], preload=preload,
                  limit=False, drop=False, extra={"FASTMAP_CACHE": "auto"})
        if not r["result"]:
            raise RuntimeError(f"LMDB {mode}: {r['stderr']}")
        for work, seconds in r["result"].items():
            yield f"LMDB {mode}, {work}", "s", seconds
    shutil.rmtree(path, ignore_errors=True)


def run(m, rounds):
    if not importlib.util.find_spec("lmdb"):
        print("  python3-lmdb is not installed, skipped", flush=True)
        return []
    return pairs.measure(lambda preload: figures(m, preload), rounds)
