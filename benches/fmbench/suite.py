# SPDX-License-Identifier: MIT
"""Runs workloads in interleaved rounds and keeps every single result."""
import json
import os
import subprocess
import tempfile

from . import statistics, system, workloads

# What, depth, block, option, times as long. "mem": into as much memory as the cache has.
DEVICE_RUNS = [("rand", 1, "4K", "", 1), ("rand", 1, "4K", "poll", 1),
               ("rand", 2, "4K", "", 1), ("rand", 2, "4K", "poll", 1),
               ("rand", 8, "4K", "", 1), ("rand", 8, "4K", "poll", 1),
               ("rand", 32, "4K", "", 1), ("rand", 128, "4K", "", 1),
               ("seq", 4, "2M", "", 1), ("seq", 4, "2M", "mem", 2),
               ("randwrite", 16, "4K", "", 1), ("seqwrite", 4, "2M", "", 1),
               ("randstore", 2, "4K", "", 1), ("randstore", 16, "4K", "", 1),
               ("randsync", 2, "4K", "", 2), ("randsync", 16, "4K", "", 2)]
HUGE = 2 << 20
SLACK = 1 << 20  # what the kernel charges in spite of a limit


class DataFile:
    """The file, and the generation of the last store to it (content.h)."""

    def __init__(self, path, size, tool):
        self.path, self.side = path, path + ".gen"
        try:
            with open(self.side, encoding="ascii") as f:
                self.gen = int(f.read())
            if os.stat(path).st_size != size:
                raise ValueError
        except (OSError, ValueError):
            print(f"creating {path}, {size >> 20} MiB", flush=True)
            subprocess.run([tool, "create", path, str(size)], check=True)
            self.gen = -1
            self.next()

    def next(self):
        """Noted before the run: a run that dies leaves valid content."""
        self.gen += 1
        system.write(self.side, self.gen)
        return self.gen


def served(stats):
    """By the engine, or by the kernel because the page cache has the file."""
    if not stats:
        return False
    return bool(stats["totals"]["all_mappings"]) or any(
        why["reason"] == "already in the page cache"
        for left in stats.get("left_to_kernel", []) for why in left["why"])


class Suite:
    def __init__(self, machine, data, opts, meta):
        self.m, self.data, self.opts, self.meta = machine, data, opts, meta
        self.runs, self.device, self.best_hint = [], [], {}
        self.problems, self.done = [], {}

    def go_on(self, doc):
        """The rounds of an earlier run count, too."""
        self.runs, self.device = doc["runs"], doc["device"]
        self.problems = doc["problems"]
        for r in doc["table"]:
            if r["hint"]:
                self.best_hint[r["workload"], r["shape"]] = r["hint"]
        for r in self.runs:
            key = r["workload"], r["shape"]
            self.done[key] = max(self.done.get(key, 0), r["round"] + 1)

    # ---- one run ----------------------------------------------------------

    def argv(self, w, hint, gen, written):
        a = [self.m.tool("mapload"), "--file", self.data.path, "--gen", str(gen),
             "--seed", str(len(self.runs) + 1), *w.args]
        if w.seconds:
            a += ["--seconds", str(self.opts.seconds * w.seconds)]
        if w.prefill:
            a += ["--prefill", str(self.m.limit)]
        if hint:
            a += ["--hint", hint]
        if written:
            a += ["--written", written]
        return a

    def one(self, w, column, rnd, hint=None):
        gen = self.data.next() if w.writes else self.data.gen
        check = w.writes and rnd == 0 and column == "preloaded"
        ra = 128 if column.endswith("_ra128") else self.m.readahead.initial
        self.m.readahead.set(ra)
        with tempfile.TemporaryDirectory(prefix="fmbench.") as tmp:
            written = os.path.join(tmp, "written") if check else None
            run = self.m.run((self.m.launcher() if w.shape.confined else []) +
                             self.argv(w, hint, gen, written),
                             preload=self.library(column),
                             extra={"FASTMAP_CACHE": str(w.shape.cache(self.m.cache))},
                             warm=self.m.limit // 2 if w.warm else 0)
            if check and run["exit"] == 0:
                run["file_check"] = self.check(w, written, gen)
        run.update(workload=w.name, shape=w.shape.name, column=column, round=rnd,
                   hint=hint, date=self.meta["date"], commit=self.meta["commit"])
        if run["result"] and "native" not in column:
            run["servers"] = statistics.servers(run.get("stats"),
                                                run["result"]["members"])
        self.judge(run)
        self.runs.append(run)
        return run

    def library(self, column):
        if column == "before":
            return os.path.join(self.opts.against, "libfastmap.so")
        return column.startswith("preloaded")

    def check(self, w, written, gen):
        """Natively, with read(2): are all stores in the file?"""
        argv = [self.m.tool("datafile"), "check", self.data.path, str(gen),
                written, str(gen)] + (["all"] if w.full_pages else [])
        return self.m.run(argv, limit=False)["result"]

    def judge(self, run):
        """What must never happen, however fast the run was."""
        name = f"{run['workload']} {run['shape']}/{run['column']} round {run['round']}"
        r, mem = run["result"], run.get("memory", {})
        if run["exit"] or r is None:
            self.problem(f"{name}: exit {run['exit']}: {run['stderr'][-300:]}")
        if r and r["wrong"]:
            self.problem(f"{name}: {r['wrong']} wrong words")
        if mem.get("oom_kills"):
            self.problem(f"{name}: killed for lack of memory")
        if mem.get("max_bytes", 0) > self.m.limit + SLACK:
            self.problem(f"{name}: held {mem['max_bytes']} bytes")
        if run.get("file_check") and run["file_check"]["bad_words"]:
            self.problem(f"{name}: stores missing: {run['file_check']}")
        if (run["shape"] == "one" and run["column"].startswith("preloaded")
                and not served(run.get("stats"))):
            self.problem(f"{name}: the engine served no mapping")

    def problem(self, text):
        print(f"PROBLEM {text}", flush=True)
        self.problems.append(text)

    # ---- rounds -----------------------------------------------------------

    def hinted(self, w, rnd):
        """Every candidate in the first round, then the best one."""
        if w.key in self.best_hint:
            return self.one(w, "native_hint", rnd, self.best_hint[w.key])
        tried = [self.one(w, "native_hint", rnd, h) for h in w.hints]
        good = [r for r in tried if r["result"]]
        best = max(good, key=lambda r: w.rows[0].metric(r["result"]),
                   default=tried[0])
        self.best_hint[w.key] = best["hint"]
        for r in tried:
            r["counted"] = r is best
        return best

    def columns(self, w, rnd):
        """In another order each round."""
        out = [c for c in self.opts.columns if c in w.columns]
        if self.opts.against:
            out.append("before")
        return out[rnd % len(out):] + out[:rnd % len(out)]

    def workload(self, w, rnd):
        line = {}
        for column in self.columns(w, rnd):
            run = (self.hinted(w, rnd) if column == "native_hint"
                   else self.one(w, column, rnd))
            if run["result"]:
                row = w.rows[0]
                value = workloads.shown(row.metric(run["result"]), row.unit)
                line[column] = f"{column} {value:.3g}"
            if column == "preloaded":
                by = " + ".join(run.get("servers", {}))
        print(f"  {w.shape.name:9} {w.name:12} {w.rows[0].unit:6}" +
              "  ".join(line[c] for c in (*workloads.COLUMNS, "before") if c in line) +
              (f"  by {by}" if "preloaded" in line else ""), flush=True)

    def device_limit(self, rnd):
        more = {"": [], "poll": ["poll"], "mem": [f"mem={self.m.cache // HUGE * HUGE}"]}
        for what, depth, block, option, times in DEVICE_RUNS:
            gen = self.data.next() if what not in ("rand", "seq") else self.data.gen
            argv = [self.m.tool("devlimit"), self.data.path, what, str(depth),
                    block, str(min(1.0, self.opts.seconds) * times), *more[option]]
            run = self.m.run(argv + [str(gen)], limit=False)
            run.update(round=rnd, option=option)
            r = run["result"]
            if run["exit"] or not r or r["wrong"]:
                self.problem(f"devlimit {what}: exit {run['exit']}: {run['stderr']}")
                continue
            self.device.append(run)
            print(f"  device {what} depth {depth} {option}: "
                  f"{r['rate'] / 1e3:.1f} k/s, {r['bytes_per_s'] / (1 << 30):.2f} GiB/s",
                  flush=True)

    def rounds(self, chosen, device, save):
        first = dict(self.done)
        for rnd in range(self.opts.rounds):
            print(f"round {rnd + 1} of {self.opts.rounds}", flush=True)
            if device:
                self.device_limit(rnd)
            for w in chosen:
                self.workload(w, first.get(w.key, 0) + rnd)
                save()
            save()


def lines(obj):
    """As JSON: a line for what fits into one, as what is measured once does."""
    flat = json.dumps(obj)
    if len(flat) < 1000 or not isinstance(obj, (dict, list)):
        return flat
    if isinstance(obj, list):
        return "[\n" + ",\n".join(map(lines, obj)) + "\n]"
    return "{\n" + ",\n".join(f"{json.dumps(k)}: {lines(v)}" for k, v in obj.items()) + "\n}"


def dump(path, obj):
    tmp = path + ".tmp"
    with open(tmp, "w", encoding="utf-8") as f:
        f.write(lines(obj) + "\n")
    os.rename(tmp, path)
