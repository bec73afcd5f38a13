# SPDX-License-Identifier: MIT
"""Unmodified programs, native and preloaded, in the same memory cgroup.

Each builds its own data once in the bench directory and must give the same
output both ways. A program that is not installed is skipped, and said so.
"""
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS = 4_000_000  # times about 110 bytes
LOOKUPS = 4000
MONETDB_JOB = os.path.join(HERE, "..", "..", "tests", "apps", "jobs", "monetdb_job.py")


@dataclass
class Case:
    name: str
    data: str          # what is mapped lies beside or below it
    argv: list
    limit: int = 0      # bytes of the memory cgroup; 0: as the others


def make_text(path, size):
    """Log-like lines, no two alike; the needle once in a while."""
    with open(path, "w", encoding="ascii") as f:
        n = written = 0
        while written < size:
            block = []
            for _ in range(20000):
                n += 1
                h = hashlib.blake2b(n.to_bytes(8, "little"), digest_size=24).hexdigest()
                mark = " needle" if n % 100003 == 0 else ""
                block.append(f"{n:012d} host{n % 97} request {h}{mark}\n")
            text = "".join(block)
            f.write(text)
            written += len(text)


def make_db(path, rows):
    sql = f"""PRAGMA journal_mode=off; PRAGMA synchronous=off;
CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM r WHERE i<{rows})
INSERT INTO t SELECT i, hex(i*2654435761) || hex(zeroblob(48)) FROM r;"""
    subprocess.run(["sqlite3", path], input=sql, text=True, check=True,
                   stdout=subprocess.DEVNULL)


def lookup_sql(rows, n):
    """Point lookups in a fixed pseudo-random order through mmap."""
    return f"""PRAGMA mmap_size=2147418112;
WITH RECURSIVE r(i, x) AS (SELECT 1, 12345 UNION ALL
 SELECT i+1, (x*1103515245 + 12345) % 2147483648 FROM r WHERE i<{n})
SELECT count(*), sum(length(t.v)), sum(unicode(substr(t.v, 7))), sum(t.id)
FROM r CROSS JOIN t ON t.id = 1 + r.x % {rows};"""


def make_monetdb(path, factor):
    """TPC-H's tables as text, and a database of them."""
    tables = os.path.join(path, "tables")
    os.makedirs(tables)
    for args in (["generate", tables, str(factor)],
                 ["load", tables, os.path.join(path, "db")]):
        subprocess.run([sys.executable, MONETDB_JOB, *args], check=True,
                       stdout=subprocess.DEVNULL)


def prepared(path, make, *args):
    if not os.path.exists(path):
        print(f"  preparing {path}", flush=True)
        make(path + ".tmp", *args)
        os.rename(path + ".tmp", path)
    return path


def have(what, found):
    if not found:
        print(f"  {what} is not installed, skipped", flush=True)
    return found


def cases(directory, quick, limit):
    rows = ROWS // (8 if quick else 1)
    lookups = LOOKUPS // (4 if quick else 1)
    db = os.path.join(directory, f"app{rows}.db")
    size = 64 << 20 if quick else limit * 3 // 2
    text = os.path.join(directory, f"app{size >> 20}.log")
    if have("sqlite3", shutil.which("sqlite3")):
        prepared(db, make_db, rows)
        yield Case("sqlite3 point lookups", db,
                   ["sqlite3", db, lookup_sql(rows, lookups)])
    if have("ripgrep", shutil.which("rg")):
        prepared(text, make_text, size)
        yield Case("ripgrep --mmap, one search", text,
                   ["rg", "--mmap", "-c", "needle", text])
    if have("monetdbe", importlib.util.find_spec("monetdbe")) and \
            have("duckdb-extension-tpch", importlib.util.find_spec("duckdb_extension_tpch")):
        yield from monetdb_cases(directory, quick)


def monetdb_cases(directory, quick):
    """It takes 350 to 390 MiB itself."""
    factor = 0.1 if quick else 1
    path = prepared(os.path.join(directory, f"app{factor}.monetdb"), make_monetdb, factor)
    tables, db = os.path.join(path, "tables"), os.path.join(path, "db")
    for mib in (700, 400):
        yield Case(f"MonetDB, TPC-H {factor}, 22 queries, {mib} MiB", db + "/.gdk_lock",
                   [sys.executable, MONETDB_JOB, "query", tables, db], limit=mib << 20)


def engine_words(run):
    t = (run.get("stats") or {}).get("totals")
    if not t:
        return "no statistics"
    return (f"{t['all_mappings']} mappings, {t['all_loads']} loads, "
            f"{t['all_evictions']} evictions, {t['all_demotions']} demotions")


def run(m, quick, limit=None, rounds=3):
    limit = limit or min(m.limit, 256 << 20)
    saved, out = (m.limit, m.cache, m.file), []
    try:
        m.limit, m.cache = limit, "auto"  # what a user gets
        for case in cases(os.path.dirname(m.file), quick, limit):
            times, digests = {False: [], True: []}, set()
            name, m.file, m.limit = case.name, case.data, case.limit or limit
            for _ in range(1 if quick else rounds):
                for preload in (False, True):
                    r = m.run(case.argv, preload=preload, parse=False, timeout=900)
                    times[preload].append(r["wall_s"])
                    digests.add((r["exit"], hashlib.sha256(r["stdout"].encode()).hexdigest()))
                    if preload:
                        words = engine_words(r)
                    if r["exit"]:
                        print(f"  {name}: exit {r['exit']}: {r['stderr'][-300:]}")
            mid = {k: sorted(v)[len(v) // 2] for k, v in times.items()}
            out.append({"name": name, "native_s": mid[False], "preloaded_s": mid[True],
                        "same": len(digests) == 1 and all(d[0] == 0 for d in digests),
                        "engine": words, "times": {str(k): v for k, v in times.items()}})
            print(f"  {name}: native {mid[False]:.2f} s, preloaded {mid[True]:.2f} s, "
                  f"{words}", flush=True)
    finally:
        m.limit, m.cache, m.file = saved
    return out
