# SPDX-License-Identifier: MIT
"""Parts that are not native against preloaded: null store and eviction."""
import json
import os
import subprocess

THREADS = (1, 2, 4, 8, 16, 32, 64)
SIZES = (1 << 30, 16 << 30, 256 << 30, 4 << 40)


def null_run(m, path, threads, mapped, seconds):
    """Loads that cost no I/O: what is left is the engine's own cost."""
    argv = [m.tool("mapload"), "--file", path, "--pattern", "uniform",
            "--no-verify", "--threads", str(threads), "--range", str(mapped),
            "--prefill", str(m.cache + m.cache // 4), "--seconds", str(seconds)]
    run = m.run(argv, preload=True, drop=False,
                extra={"FASTMAP_NULL_STORE": "1", "FASTMAP_WARM": "engine"})
    r, s = run["result"], run["stats"]
    if not r or not s:
        return {"threads": threads, "mapped": mapped, "error": run["stderr"]}
    n = max(r["accesses"], 1)
    return {"threads": threads, "mapped": mapped, "faults_per_s": r["rate"],
            "wall_us": r["elapsed_s"] * 1e6 / n, "cpu_us": r["cpu_s"] * 1e6 / n,
            "p50_us": r["lat_ns"]["p50"] / 1e3, "p999_us": r["lat_ns"]["p999"] / 1e3,
            # Program text and stacks are in it: an upper bound.
            "metadata": max(0, r["rss_bytes"] - s["cache"]["resident_bytes"]),
            "page_tables": r["pte_bytes"],
            "allowed": s["cache"]["limit_bytes"] // 100 + mapped // 1000,
            "held": run["memory"]["max_bytes"], "loads": s["totals"]["all_loads"]}


def nullstore(m, seconds):
    path = os.path.join(os.path.dirname(m.file), "null.sparse")
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    out = []
    try:
        os.ftruncate(fd, SIZES[-1])
        os.close(fd)
        for threads, mapped in ([(t, SIZES[0]) for t in THREADS] +
                                [(2, s) for s in SIZES[1:]]):
            r = null_run(m, path, threads, mapped, seconds)
            out.append(r)
            if "error" in r:
                print(f"  null store {threads} threads: failed: {r['error'][-200:]}")
                continue
            print(f"  null store {threads} threads, {mapped >> 30} GiB: "
                  f"{r['wall_us']:.2f} us a fault, {r['cpu_us']:.2f} us CPU, "
                  f"metadata {r['metadata'] / (1 << 20):.1f} MiB", flush=True)
    finally:
        os.unlink(path)
    return [r for r in out if "error" not in r], [
        f"null store, {r['threads']} threads: {r['error'][-200:]}"
        for r in out if "error" in r]


def evict(m, data, tmp):
    """Full access traces of the load generator, and the engine's own trace of
    faults, through the simulator."""
    ram = ["--range", str(256 << 20), "--ops", "400K", "--threads", "2",
           "--gen", str(data.gen)]
    cases = {"zipf": ["--pattern", "zipf"],
             "scan+hot": ["--pattern", "scanhot", "--hot", str(16 << 20)],
             "uniform": ["--pattern", "uniform"],
             "scan, twice": ["--pattern", "seq", "--threads", "1"]}
    out = []
    for name, args in cases.items():
        trace = os.path.join(tmp, "trace")
        run = m.run([m.tool("mapload"), "--file", data.path, *ram, *args,
                     "--trace", trace], limit=False)
        if run["exit"]:
            raise RuntimeError(f"evict {name}: {run['stderr']}")
        out.append({"trace": name, "sims": simulate(m, trace)})
    fault_trace = os.path.join(tmp, "faults")
    run = m.run([m.tool("mapload"), "--file", data.path, *ram, "--pattern", "zipf"],
                preload=True, limit=False,
                extra={"FASTMAP_TRACE": fault_trace, "FASTMAP_CACHE": "16M"})
    if os.path.exists(fault_trace) and os.stat(fault_trace).st_size >= 8:
        out.append({"trace": "zipf, faults seen by the engine with a cache of 4096 pages",
                    "sims": simulate(m, fault_trace)})
    else:
        print(f"  the engine wrote no fault trace: {run['stderr'][-200:]}")
    return out


def simulate(m, trace):
    p = subprocess.run([m.tool("evictsim"), trace], capture_output=True,
                       text=True, check=True)
    print(p.stderr, end="", flush=True)
    return [json.loads(line) for line in p.stdout.splitlines()]
