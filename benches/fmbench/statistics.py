# SPDX-License-Identifier: MIT
"""What the library wrote when the program's processes ended, and who served."""
import glob
import json
import os
from collections import Counter

KEEP = ("delivery", "io", "cache", "latency", "totals", "left_to_kernel", "advice")


def one(path):
    try:
        with open(path, encoding="utf-8") as f:
            return json.load(f)
    except (OSError, ValueError):
        return None


def kernel(s, path):
    """The kernel alone, or with advice."""
    advice, ino = s.get("advice") or {}, os.stat(path).st_ino
    advised = advice.get("changes") or any(
        f["inode"] == ino and f["advised"] for f in advice.get("kernel_files", []))
    return "advised" if advice.get("source") and advised else "kernel"


def server(s, path):
    """Who served the file in this process; "" where nobody touched it."""
    out = []
    files = [f for f in s.get("files", []) if f["path"] == path]
    if any(f["loads"] or f["faults_read"] or f["faults_write"] for f in files):
        out.append("engine")
    for f in files:
        now = f.get("server")  # null once it is closed
        if now != "engine" and (now or f["demotions"]):
            out.append(kernel(s, path))
    text = ", then ".join(dict.fromkeys(out))
    if any(left["path"] == path for left in s.get("left_to_kernel", [])):
        beside = kernel(s, path)
        if beside not in text:
            text += (" and " if text else "") + beside
    return text


def merge(every):
    """Without the lists of files and mappings; totals are summed."""
    out = {k: every[0][k] for k in KEEP if k in every[0]}
    out["left_to_kernel"] = [x for s in every for x in s.get("left_to_kernel", [])]
    out["totals"] = {k: sum(s["totals"].get(k, 0) for s in every)
                     for k, v in every[0]["totals"].items()
                     if isinstance(v, (int, float))}
    return out


def load(directory, path):
    """Of all processes that wrote some; None where none did."""
    every = [one(p) for p in sorted(glob.glob(os.path.join(directory, "stats-*")))]
    every = [s for s in every if s]
    if not every:
        return None
    out = merge(every)
    out["servers"] = [server(s, path) for s in every]
    return out


def servers(stats, members):
    """How many processes had which server. Who writes no statistics has the
    kernel's mapping of the process that forked it, advised by a library that does."""
    count = Counter(x for x in (stats or {}).get("servers", []) if x)
    missing = members - sum(count.values())
    if missing > 0:
        untouched = members == 1 and stats and stats["totals"]["all_mappings"]
        advised = "advised" if stats and "advice" in stats else "kernel"
        count["engine" if untouched else advised] += missing
    return dict(count.most_common())
