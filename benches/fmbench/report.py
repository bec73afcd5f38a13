# SPDX-License-Identifier: MIT
"""Medians, ratios against their targets, and the table."""
from collections import Counter
from math import inf
from statistics import median

from . import nullstore, pairs, warmstart
from .workloads import COLUMNS, SHAPES, p999, shown

TARGETS = ("native_ra128", "native", "native_hint")  # of Row.targets


def values(runs, w, column, metric):
    out = []
    for r in runs:
        if ((r["workload"], r["shape"]) == w.key and r["column"] == column
                and r["result"] and r.get("counted", True)):
            out.append(metric(r["result"]))
    return out


def spread(vals):
    """Median, smallest, largest."""
    return {"median": median(vals), "min": min(vals), "max": max(vals),
            "n": len(vals)}


def device_rate(device, what, depth, option=""):
    vals = [d["result"]["rate"] for d in device
            if d["result"]["what"] == what and d["result"]["depth"] == depth
            and d["option"] == option]
    if not vals:
        return None
    pages = 512 if what.startswith("seq") else 1  # blocks of 2 MiB
    return median(vals) * pages


def cpu_share(r):
    return r["cpu_s"] / (r["elapsed_s"] + r["msync_s"])


def extra_targets(row, w, runs, device, out):
    """Targets that are not a ratio to the kernel."""
    ours = values(runs, w, "preloaded", row.metric)
    if row.device and ours:
        what, depth, least = row.device
        limit = device_rate(device, what, depth)
        if limit:
            out["device_share"] = median(ours) / limit
            out["device_share_target"] = least
    bounds = [(device_rate(device, *key) or 0) * factor for key, factor in row.bound]
    if ours and any(bounds):
        out["bound"] = max(bounds)
        out["bound_share"] = median(ours) / out["bound"]
    if row.most_cpu:
        out["cpus"] = median(values(runs, w, "preloaded", cpu_share) or [0])
        out["cpus_target"] = row.most_cpu
    if row.hot_hits:
        for column in COLUMNS:
            hits = values(runs, w, column, lambda r: r.get("hot_hit_ratio", 0))
            if hits:
                out.setdefault("hot_hits", {})[column] = median(hits)
        out["hot_hits_target"] = row.hot_hits


def servers(runs, w):
    """Who served, most processes first."""
    count = Counter()
    for r in runs:
        if (r["workload"], r["shape"]) == w.key and "preloaded" in r["column"]:
            count.update(r.get("servers", {}))
    return [name for name, _ in count.most_common()]


def bytes_read(r):
    """From the device, by whoever, for each access."""
    return r["dev_read_bytes"] / max(r["accesses"], 1)


def ratios(row, columns):
    """Preloaded / each other column, at the same read-ahead where it counts."""
    out = {}
    for column in (*TARGETS, "before"):
        ours = columns.get("preloaded")
        if column == "native_ra128":
            ours = columns.get("preloaded_ra128", ours)
        if column in columns and ours:
            target = row.targets[TARGETS.index(column)] if column in TARGETS else None
            out[column] = {"measured": ours["median"] / columns[column]["median"],
                           "target": target}
    return out


def table(chosen, runs, device, best_hint):
    rows = []
    for w in chosen:
        for row in w.rows:
            columns = {}
            for column in (*COLUMNS, "before"):
                vals = values(runs, w, column, row.metric)
                if vals:
                    columns[column] = spread(vals)
                    columns[column]["device_bytes"] = median(
                        values(runs, w, column, bytes_read))
            out = {"workload": w.name, "shape": w.shape.name, "title": row.title,
                   "unit": row.unit, "hint": best_hint.get(w.key),
                   "columns": columns, "ratios": ratios(row, columns),
                   "servers": servers(runs, w)}
            extra_targets(row, w, runs, device, out)
            rows.append(out)
    return rows


def memory(runs, limit):
    ours = [r for r in runs if "preloaded" in r["column"] and "memory" in r]
    if not ours:
        return None
    most = max(ours, key=lambda r: r["memory"]["max_bytes"])
    return {"limit_bytes": limit,
            "max_bytes": most["memory"]["max_bytes"], "max_in": most["workload"],
            "runs_at_limit": sum(r["memory"]["at_limit"] > 0 for r in ours),
            "oom_kills": sum(r["memory"]["oom_kills"] for r in ours),
            "runs": len(ours)}


def figure(x, unit):
    v = shown(x, unit)
    return f"{v:,.0f}" if unit == "us" or v >= 1000 else f"{v:,.3g}"


def cell(row, column):
    s = row["columns"].get(column)
    if not s:
        return "-"
    lo, hi = sorted((s["min"], s["max"]), reverse=row["unit"] == "us")
    u = row["unit"]
    return f"{figure(s['median'], u)} ({figure(lo, u)}..{figure(hi, u)})"


def ratio_cell(row, column):
    r = row["ratios"].get(column)
    if not r:
        return "-"
    if r["target"] is None:
        return f"{r['measured']:.2f}x"
    mark = "" if r["measured"] >= r["target"] else " **missed**"
    if mark and row.get("bound", inf) < r["target"] * row["columns"][column]["median"]:
        most = row["bound"] / row["columns"][column]["median"]
        mark = f" **missed**, the device allows {most:.2f}x"
    return f"{r['measured']:.2f}x (>= {r['target']:.2f}){mark}"


def notes(row):
    out = []
    if "device_share" in row:
        least = row["device_share_target"]
        text = f"device {row['device_share']:.0%}"
        if least:
            ok = row["device_share"] >= least
            text += f" (>= {least:.0%}){'' if ok else ' **missed**'}"
        out.append(text)
    if "bound_share" in row:
        out.append(f"{row['bound_share']:.0%} of what it allows")
    hint, ours = (row["columns"].get(c) for c in ("native_hint", "preloaded"))
    if row["shape"] != "one" and hint and ours and hint["device_bytes"]:
        out.append(f"bytes read {ours['device_bytes'] / hint['device_bytes']:.2f} of the "
                   "hint's")
    if "cpus" in row:
        ok = row["cpus"] <= row["cpus_target"]
        out.append(f"CPU {row['cpus']:.2f} (<= {row['cpus_target']})"
                   f"{'' if ok else ' **missed**'}")
    if "hot_hits" in row:
        h = row["hot_hits"]
        ok = h.get("preloaded", 0) > row["hot_hits_target"]
        out.append("hot hits " + ", ".join(f"{k} {v:.1%}" for k, v in h.items()) +
                   f" (> {row['hot_hits_target']:.0%}){'' if ok else ' **missed**'}")
    return "; ".join(out)


def rounds(doc):
    """How many rounds the rows have: "5", or "3 to 5"."""
    n = [c["n"] for r in doc["table"] for c in r["columns"].values()] or [0]
    return str(min(n)) if min(n) == max(n) else f"{min(n)} to {max(n)}"


def when(doc):
    """"2026-11-24 at 7435a72, 2026-11-25 at a5c64fb"."""
    seen = {(r.get("date", doc["meta"]["date"])[:10],
             r.get("commit", doc["meta"]["commit"])) for r in doc["runs"]}
    return ", ".join(f"{d} at {c}" if c else d for d, c in sorted(seen))


def table_lines(meta, rows):
    before = any("before" in r["columns"] for r in rows)
    ra = meta["read_ahead_kb"]
    twice = any("preloaded_ra128" in r["columns"] for r in rows)
    head = ["workload", "unit", "ra 128", f"ra {ra}", "best hint", "preloaded",
            *(["preloaded, ra 128"] * twice), "/ ra 128", f"/ ra {ra}", "/ hint", *(["before", "/ before"] * before),
            "served by", ""]
    out = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for r in rows:
        hint = f" {r['hint']}" if r["hint"] else ""
        cells = [r["title"], r["unit"], cell(r, "native_ra128"), cell(r, "native"),
                 cell(r, "native_hint") + hint, cell(r, "preloaded"),
                 *([cell(r, "preloaded_ra128")] * twice), *(ratio_cell(r, c) for c in TARGETS)]
        if before:
            cells += [cell(r, "before"), ratio_cell(r, "before")]
        out.append("| " + " | ".join(cells + [" + ".join(r["servers"]), notes(r)]) + " |")
    return out


def markdown(doc):
    meta = doc["meta"]
    gib = 1 << 30
    out = [f"{when(doc)}, Linux {meta['kernel']}, {meta['cpus']} CPUs, "
           f"{meta['filesystem']}; file {meta['file_bytes'] / gib:.3g} GiB, memory "
           f"cgroup {meta['limit_bytes'] / gib:.3g} GiB; medians of "
           f"{rounds(doc)} interleaved rounds (smallest..largest). One process: "
           f"FASTMAP_CACHE {meta['fastmap_cache_bytes'] / gib:.3g} GiB; the others: "
           "nothing set but the paths."]
    for shape in SHAPES:
        rows = [r for r in doc["table"] if r["shape"] == shape.name and r["columns"]]
        if rows:
            title = shape.title[0].upper() + shape.title[1:]
            out += ["", f"### {title}", "", *table_lines(meta, rows)]
    mem = doc.get("memory")
    if mem:
        out += ["", f"Memory held by preloaded runs: at most {mem['max_bytes'] / (1 << 20):.0f} "
                f"of {mem['limit_bytes'] / (1 << 20):.0f} MiB ({mem['max_in']}); "
                f"{mem['runs_at_limit']} of {mem['runs']} runs touched the limit; "
                f"{mem['oom_kills']} OOM kills."]
    out += device_lines(doc["device"])
    out += extra_lines(doc)
    if doc["problems"]:
        out += ["", "Problems:"] + [f"- {p}" for p in doc["problems"]]
    return "\n".join(out) + "\n"


def median_of(row, column):
    c = row["columns"].get(column)
    return figure(c["median"], row["unit"]) if c else "-"


def times(row, column):
    r = row["ratios"].get(column)
    return f"{r['measured']:.2f}x" if r else "-"


def brief(doc):
    """Medians and ratios, for documents: a table for each shape."""
    ra = doc["meta"]["read_ahead_kb"]
    out = []
    for shape in SHAPES:
        rows = [r for r in doc["table"] if r["shape"] == shape.name and r["columns"]]
        if not rows:
            continue
        twice = any("preloaded_ra128" in r["columns"] for r in rows)
        head = ["workload", "unit", "kernel, ra 128", f"kernel, ra {ra}", "best hint",
                *([f"fastmap, ra 128 | fastmap, ra {ra}"] if twice else ["fastmap"]),
                "/ ra 128", f"/ ra {ra}", "/ hint"]
        device = any("bound_share" in r for r in rows)
        head += ["of the device"] * device + ["served by"]
        out += ["", f"### {shape.title[0].upper()}{shape.title[1:]}", "",
                "| " + " | ".join(head) + " |", "|---" * (len(head) + twice) + "|"]
        for r in rows:
            hint = f" {r['hint']}" if r["hint"] else ""
            out.append("| " + " | ".join([
                r["title"], r["unit"], median_of(r, "native_ra128"),
                median_of(r, "native"), median_of(r, "native_hint") + hint,
                *([median_of(r, "preloaded_ra128")] * twice),
                median_of(r, "preloaded"), *(times(r, c) for c in TARGETS),
                *([f"{r['bound_share']:.0%}" if "bound_share" in r else "-"] * device),
                "; ".join(r["servers"])]) + " |")
    more = pairs.markdown(doc["pairs"]) if doc.get("pairs") else []
    return "\n".join(out[1:] + device_lines(doc["device"]) + more) + "\n"


# Of the first table, by their titles: what the README has.
SHORT = ("random read 4 KiB, 1 thread", "random read 4 KiB, 8 threads",
         "zipf 0.99 read, 8 threads", "sequential read, 1 thread", "backward read",
         "64 KiB-strided read", "scan + hot set of half the memory",
         "random write, 16 threads, final msync", "data that fits, random touches",
         "pread of a file that is not ours")


def lesser(row):
    """The lesser of the ratios at the two read-aheads, and who served most."""
    ratio = [row["ratios"][c]["measured"] for c in ("native", "native_ra128")
             if c in row["ratios"]]
    return f"{min(ratio):.2f}x {row['servers'][0]}" if ratio else "-"


def short(docs):
    """One table of all shapes."""
    rows = [r for d in docs for r in d["table"] if r["columns"]]
    others = [s.name for s in SHAPES[1:]]
    ra = docs[0]["meta"]["read_ahead_kb"]
    head = ["workload", "unit", "kernel, ra 128", f"kernel, ra {ra}", "best hint",
            "fastmap", *others]
    out = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for title in SHORT:
        for r in rows:
            if r["title"] != title or r["shape"] != "one":
                continue
            hint = f" {r['hint']}" if r["hint"] else ""
            same = {x["shape"]: lesser(x) for x in rows if x["workload"] == r["workload"]}
            out.append("| " + " | ".join([
                title, r["unit"], median_of(r, "native_ra128"), median_of(r, "native"),
                median_of(r, "native_hint") + hint, median_of(r, "preloaded"),
                *(same.get(s, "-") for s in others)]) + " |")
    return "\n".join(out) + "\n"


OPTIONS = {"": "", "poll": " polled", "mem": ", into as much memory as the cache has"}


def device_lines(device):
    seen, out = [], []
    for d in device:
        r = d["result"]
        key = (r["what"], r["depth"], d["option"])
        if key in seen:
            continue
        seen.append(key)
        x = device_rate(device, *key)
        out.append(f"| {key[0]} | {key[1]}{OPTIONS[key[2]]} | {x / 1e3:,.1f} | "
                   f"{x * 4096 / (1 << 30):.2f} |")
    if not out:
        return []
    return ["", "| device limit | depth | k pages/s | GiB/s |", "|---|---|---|---|"] + out


def extra_lines(doc):
    out = []
    if doc.get("nullstore"):
        out += nullstore.markdown(doc["nullstore"])
    if doc.get("warmstart"):
        out += warmstart.markdown(doc["warmstart"])
    if doc.get("pairs"):
        out += pairs.markdown(doc["pairs"])
    for t in doc.get("evict") or []:
        names = [k for k in t["sims"][0] if k not in
                 ("cache_pages", "distinct_pages", "touches") and not k.endswith("_soft")]
        out += ["", f"Hit ratios on trace {t['trace']}:", "",
                "| cache pages | " + " | ".join(names) + " |",
                "|---" * (len(names) + 1) + "|"]
        out += [f"| {s['cache_pages']} | " +
                " | ".join(f"{s[n]:.3f}" for n in names) + " |" for s in t["sims"]]
    if doc.get("apps"):
        out += ["", "| application | native s | preloaded s | ratio | same result | engine |",
                "|---|---|---|---|---|---|"]
        for a in doc["apps"]:
            out.append(f"| {a['name']} | {a['native_s']:.2f} | {a['preloaded_s']:.2f} | "
                       f"{a['native_s'] / a['preloaded_s']:.2f}x | "
                       f"{'yes' if a['same'] else '**NO**'} | {a['engine']} |")
    return out


__all__ = ["table", "memory", "markdown", "brief", "short", "p999"]
