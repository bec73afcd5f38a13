# SPDX-License-Identifier: MIT
"""Eviction policies on recorded traces."""
import json
import os
import subprocess


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
