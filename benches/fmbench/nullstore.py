# SPDX-License-Identifier: MIT
"""What a fault costs when its data costs nothing: a sparse file whose blocks
the engine neither reads nor writes (FASTMAP_NULL_STORE)."""
import os
import shutil
import tempfile

CACHE = 256 << 20
PAGE = 4096
THREADS = (1, 2, 4, 8, 16, 32, 64)
FEW = (1, 8, 64)
SIZES = (1 << 30, 16 << 30, 256 << 30, 4 << 40)
TOUCHES = 100_000

# What is measured: mapload's arguments, the counter of these faults, and
# whether memory is full before (each fault then evicts a page).
KINDS = {
    "read": (["--op", "read"], "all_faults_read", False),
    "write": (["--op", "write"], "all_faults_write", False),
    "write-protect": (["--op", "write"], "all_faults_wp", False),
    "read + evict": (["--op", "read"], "all_faults_read", True),
}


def argv(m, path, kind, threads, mapped):
    a = [m.tool("mapload"), "--file", path, "--pattern", "uniform", "--no-verify",
         "--hint", "random", "--threads", str(threads), *KINDS[kind][0],
         "--ops", str(TOUCHES // threads)]
    if kind == "write-protect":  # read first, all of it
        a += ["--range", str(CACHE // 2), "--prefill", str(CACHE // 2)]
    elif KINDS[kind][2]:
        a += ["--range", str(mapped), "--prefill", str(CACHE + CACHE // 8)]
    else:                        # no eviction: fewer touches than pages
        a += ["--range", str(mapped)]
    return a


def measure(m, path, kind, threads, mapped):
    # Nothing is read ahead: the prefill, too, is one fault a page, and no frame is held.
    env = {"FASTMAP_NULL_STORE": "1", "FASTMAP_WARM": "engine",
           "FASTMAP_WB_HIGH": "90", "FASTMAP_WB_LOW": "80", "FASTMAP_MAP_AHEAD": "0",
           "FASTMAP_CACHE": str(CACHE if KINDS[kind][2] else 4 * CACHE)}
    run = m.run(argv(m, path, kind, threads, mapped), preload=True, drop=False,
                limit=False, extra=env)
    out = {"kind": kind, "threads": threads, "mapped": mapped}
    r, s = run["result"], run["stats"]
    if run["exit"] or not r or not s:
        return {**out, "error": f"exit {run['exit']}: {run['stderr'][-200:]}"}
    n = s["totals"][KINDS[kind][1]]
    if KINDS[kind][2]:           # the prefill made one fault a page
        n -= (CACHE + CACHE // 8) // PAGE
    if n < TOUCHES // 2 // PAGE:
        return {**out, "error": f"only {n} faults"}
    # The stacks of the program are in it: an upper bound.
    meta = max(0, r["anon_bytes"] - s["cache"]["resident_bytes"])
    return {**out, "faults": n, "wall_us": r["elapsed_s"] * 1e6 / n,
            "cpu_us": r["cpu_s"] * 1e6 / n, "p50_us": r["lat_ns"]["p50"] / 1e3,
            "p999_us": r["lat_ns"]["p999"] / 1e3, "metadata": meta,
            "page_tables": r["pte_bytes"],
            "allowed": s["cache"]["limit_bytes"] // 100 + mapped // 1000}


EVENTS = ("lock:contention_begin", "syscalls:sys_enter_futex")


def contention(m, path):
    """Sleeping and spinning on locks at 64 threads, as perf counts it."""
    if not shutil.which("perf"):
        return None
    with tempfile.NamedTemporaryFile(prefix="fmbench.") as f:
        prefix = ["perf", "stat", "-x,", "-o", f.name, "-e", ",".join(EVENTS)]
        env = {"FASTMAP_NULL_STORE": "1", "FASTMAP_WARM": "engine",
               "FASTMAP_MAP_AHEAD": "0", "FASTMAP_CACHE": str(CACHE)}
        run = m.run(prefix + argv(m, path, "read + evict", 64, SIZES[0]),
                    preload=True, drop=False, limit=False, extra=env)
        text = f.read().decode()
    if run["exit"] or not run["result"]:
        return None
    faults = TOUCHES + (CACHE + CACHE // 8) // PAGE
    out = {"threads": 64, "faults": faults}
    for line in text.splitlines():
        field = line.split(",")
        if len(field) > 2 and field[2] in EVENTS and field[0].isdigit():
            out[field[2]] = int(field[0])
    return out


def plan(quick):
    for kind in KINDS:
        every = THREADS if kind == "read + evict" and not quick else FEW
        for threads in every:
            yield kind, threads, SIZES[0]
    for kind in ("read", "read + evict"):
        for mapped in SIZES[1:]:
            yield kind, 2, mapped


def run(m, quick):
    path = os.path.join(os.path.dirname(m.file), "bench.null-store")
    out, bad = [], []
    try:
        with open(path, "wb") as f:
            f.truncate(SIZES[-1])
        for kind, threads, mapped in plan(quick):
            r = measure(m, path, kind, threads, mapped)
            if "error" in r:
                bad.append(f"null store, {kind}, {threads} threads, "
                           f"{mapped >> 30} GiB: {r['error']}")
                continue
            out.append(r)
            print(f"  null store {kind}, {threads} threads, {mapped >> 30} GiB: "
                  f"{r['wall_us']:.2f} us a fault, {r['cpu_us']:.2f} us CPU, "
                  f"metadata {r['metadata'] / (1 << 20):.1f} MiB", flush=True)
        if os.stat(path).st_blocks:
            bad.append("null store: the file has blocks")
        locks = contention(m, path)
    finally:
        if os.path.exists(path):
            os.unlink(path)
    return {"runs": out, "locks": locks}, bad


def markdown(doc):
    out = ["", "| null store | threads | mapped | us/fault (wall) | CPU us/fault | "
           "p50 us | p99.9 us | metadata MiB | allowed MiB | page tables MiB |",
           "|---|---|---|---|---|---|---|---|---|---|"]
    mib = 1 << 20
    for r in doc["runs"]:
        out.append(f"| {r['kind']} | {r['threads']} | {r['mapped'] >> 30} GiB | "
                   f"{r['wall_us']:.2f} | {r['cpu_us']:.2f} | {r['p50_us']:.1f} | "
                   f"{r['p999_us']:.0f} | {r['metadata'] / mib:.1f} | "
                   f"{r['allowed'] / mib:.1f} | {r['page_tables'] / mib:.1f} |")
    if doc["locks"]:
        n = doc["locks"]["faults"]
        out += ["", f"64 threads, {n} faults, each with an eviction: " + ", ".join(
            f"{doc['locks'][e]} {e} ({doc['locks'][e] / n:.4f} a fault)"
            for e in EVENTS if e in doc["locks"]) + "."]
    return out
