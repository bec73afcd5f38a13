# SPDX-License-Identifier: MIT
"""After a restart: how long the first 10,000 queries take, cold, and with what was hot
before."""
import os
import shutil
import statistics
import tempfile

GIB = 1 << 30
FILE, HOT = 4 * GIB, GIB // 2
QUERIES = 10000
# What is hot: one range, one page of eight all over the file, or what a skewed choice from
# all of it makes hot.
SHAPES = {
    "512 MiB in a row": ["--pattern", "uniform", "--offset", str(GIB), "--range", str(HOT)],
    "512 MiB all over 4 GiB": ["--pattern", "spread", "--hot", str(HOT), "--range", str(FILE)],
    "zipf 0.99 over 4 GiB": ["--pattern", "zipf", "--range", str(FILE)],
}
PAGES = (1, 10)  # that a query touches
# name: read-ahead in KiB (None: the machine's), arguments, and FASTMAP_WARM_START
COLUMNS = {
    "kernel, ra 128": (128, [], None),
    "kernel, ra here": (None, [], None),
    "kernel, MADV_RANDOM": (None, ["--hint", "random"], None),
    "cold": (None, [], "off"),
    "warm start": (None, [], "on"),
}


def load(m, shape, ops, column, states, threads=1):
    ra, args, warm = COLUMNS[column]
    m.readahead.set(ra or m.readahead.initial)
    env = {"FASTMAP_WARM_START": states if warm == "on" else "off"}
    return m.run([m.tool("mapload"), "--file", m.file, "--no-verify", "--prefill", "4K",
                  "--threads", str(threads), "--ops", str(ops // threads),
                  "--seed", "7" if threads > 1 else "1", *SHAPES[shape], *args],
                 preload=warm is not None, extra=env)


def is_too_slow(shape, column, m):
    """A read-ahead of MiB reads most of the file for these."""
    return "row" not in shape and column == "kernel, ra here" and m.readahead.initial > 512


def one(m, shape, pages, column, keep):
    with tempfile.TemporaryDirectory(prefix="fmbench.") as tmp:
        states = os.path.join(tmp, "states")
        shutil.copytree(keep, states)
        r = load(m, shape, QUERIES * pages, column, states)
    if r["exit"] or not r["result"]:
        raise RuntimeError(f"warm start, {shape}: {r['stderr']}")
    return r["result"]["elapsed_s"]


def run(m, rounds):
    out = []
    for shape in SHAPES:
        with tempfile.TemporaryDirectory(prefix="fmbench.") as keep:
            load(m, shape, 3000000, "warm start", keep, threads=4)
            for pages in PAGES:
                names = [c for c in COLUMNS if not is_too_slow(shape, c, m)]
                s = {c: [] for c in names}
                for _ in range(rounds):
                    for c in names:
                        s[c].append(one(m, shape, pages, c, keep))
                out.append({"hot": shape, "pages": pages, "seconds": s})
                print("  warm start, %s, %d pages a query: %s" % (shape, pages, ", ".join(
                    "%s %.2f s" % (c, statistics.median(v)) for c, v in s.items())),
                    flush=True)
    return out


def markdown(rows):
    out = ["", "| 10,000 queries after a start | pages each | " + " | ".join(COLUMNS) + " |",
           "|---" * (2 + len(COLUMNS)) + "|"]
    for r in rows:
        cells = ["%.2f s" % statistics.median(r["seconds"][c]) if c in r["seconds"] else "-"
                 for c in COLUMNS]
        out.append("| %s | %d | %s |" % (r["hot"], r["pages"], " | ".join(cells)))
    return out
