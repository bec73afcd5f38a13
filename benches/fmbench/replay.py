# SPDX-License-Identifier: MIT
"""Replays recorded runs (corpus.py) under a rule that says who serves.

A rule sees what the library counted in the last second, with the server that it had
chosen, and answers with the next one. How far the program gets in a second is what
the run of that server got: one that has not served yet begins cold, as its run did.
What happens at an instant (somebody takes memory) is read at that instant."""
import hashlib
import statistics as stat
import subprocess
from collections import namedtuple

from .corpus import SERVERS

AT_INSTANTS = {"taken"}  # cases in which the time counts, not how long one has served
STEP_MS = 1000
ENGINE = 1  # in the column `server` of a record
TOTALS = {"cpu_ms", "minor", "major", "read_bytes", "maps", "faults", "spent", "loads",
          "load_bytes", "written", "rewritten", "changes", "came"}

Outcome = namedtuple("Outcome", "done changes right_s")


def kept_apart(name):
    """A third of the corpus, by its name: no rule is tuned on it."""
    return hashlib.sha256(name.encode()).digest()[0] % 3 == 0


def at(points, ms):
    """Accesses up to then, between two points of the record."""
    begin = points[0][0]
    before = points[0]
    for p in points:
        if p[0] - begin >= ms:
            span = p[0] - before[0]
            part = (ms - (before[0] - begin)) / span if span else 0
            return before[1] + (p[1] - before[1]) * part
        before = p
    return before[1]


def length_ms(points):
    return points[-1][0] - points[0][0]


class Seen(dict):
    """What was counted in a second, of all processes together."""


def looks(columns, rows):
    return [dict(zip(columns, r)) for r in rows if len(r) == len(columns)]


def at_map(columns, records):
    """The first look, when the file had just been mapped."""
    first = [looks(columns, rows)[:1] for rows in records]
    return first[0][0] if first and first[0] else {}


def seconds(columns, run):
    """Of each second what was counted in it; totals are differences. What was before
    the first access, while memory was filled, is left out."""
    out, begin = [], run["progress"][0][0] - STEP_MS
    for rows in run["records"]:
        rows = [r for r in looks(columns, rows) if r["ms"] >= begin]
        for i, (a, b) in enumerate(zip(rows, rows[1:])):
            d = {k: b[k] - a[k] if k in TOTALS and k != "came" else b[k] for k in b}
            if len(out) <= i:
                out.append(Seen(d, processes=1))
                continue
            for k in TOTALS | {"sampled", "missing", "mapped"}:
                out[i][k] += d[k]
            out[i]["processes"] += 1
    return out


class Case:
    def __init__(self, doc):
        self.doc, self.name = doc, doc["name"]
        self.device, self.shape, self.work = doc["name"].split("/")
        self.runs = {s: doc["runs"][s] for s in (*SERVERS, "auto")}
        self.seen = {s: seconds(doc["columns"], r) for s, r in self.runs.items()}
        self.ms = min(length_ms(r["progress"]) for r in self.runs.values())
        self.fixed = self.work == "short"
        self.equal = self.work not in AT_INSTANTS or bool(doc.get("prefilled"))
        self.forbidden = not self.engine_served()

    def when_mapped(self, server):
        """What was seen then: where memory was filled before the first access, in the
        first look; else by the end of the first second."""
        if self.doc.get("prefilled"):
            return at_map(self.doc["columns"], self.runs[server]["records"])
        return self.look(server, 0, 0) or {}

    def engine_served(self):
        """The kernel did where the engine may not: in containers, workers after a
        fork, programs that share the file."""
        i = self.doc["columns"].index("server")
        by = [row[i] for rows in self.runs["engine"]["records"] for row in rows if len(row) > i]
        return not by or 2 * by.count(ENGINE) >= len(by)

    def done(self, server, ms=None):
        return at(self.runs[server]["progress"], self.ms if ms is None else ms)

    def speed(self, server):
        """The whole run, or, where the work is fixed, its inverse time."""
        r = self.runs[server]
        return r["rate"] if not self.fixed else 1e3 / max(length_ms(r["progress"]), 1)

    def best(self):
        return max(SERVERS, key=self.speed)

    def step(self, server, own_ms, wall_ms):
        begin = wall_ms if self.work in AT_INSTANTS else own_ms
        return self.done(server, begin + STEP_MS) - self.done(server, begin)

    def look(self, server, own_ms, wall_ms):
        i = int((wall_ms if self.work in AT_INSTANTS else own_ms) / STEP_MS)
        seen = self.seen[server]
        return seen[min(i, len(seen) - 1)] if seen else None


def replay(case, rule):
    """How far the program gets, in the time that all runs lasted."""
    server = rule.first(case)
    own, done, changes, wrong_until = dict.fromkeys(SERVERS, 0), 0.0, 0, 0
    best = case.best()
    for wall in range(0, max(int(case.ms), STEP_MS), STEP_MS):
        done += case.step(server, own[server], wall)
        seen = case.look(server, own[server], wall)
        own[server] += STEP_MS
        if case.speed(server) < case.speed(best) / 1.1:
            wrong_until = wall + STEP_MS
        after = rule.second(seen, server) if seen else server
        changes += after != server
        server = after
    return Outcome(done, changes, wrong_until / 1000)


def regret(case, rule):
    """Best server's speed / the rule's, and what else is asked."""
    best = max(replay(case, Always(s)).done for s in SERVERS)
    out = replay(case, rule)
    return best / max(out.done, 1e-9), out


class Always:
    def __init__(self, server):
        self.name, self.server = server, server

    def first(self, case):
        return self.server

    def second(self, seen, server):
        return server


class Model:
    """The engine's own (src/serve), by build/benches/servemodel."""

    def __init__(self, program):
        self.name, self.decided = "model", None
        self.p = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  text=True)

    def ask(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        return self.p.stdout.readline().strip()

    def first(self, case):
        """What is in the page cache is the kernel's (mmap/pagecache_probe.c). Of a part of
        a file nothing is decided when it is mapped (mmap/fits.c). Where the engine may
        not serve it is not asked."""
        self.decided = "advised" if case.forbidden else None
        if self.decided:
            return self.decided
        seen = case.when_mapped("kernel")
        if seen and seen["missing"] * 16 < seen["sampled"]:
            return self.ask("cached")
        seen = case.when_mapped("engine")
        mapped = seen.get("mapped", 0)
        whole = mapped >= seen.get("size", 0)
        return self.ask("new %d %d" % (mapped if whole else 0, seen.get("left", 0)))

    def second(self, seen, server):
        if self.decided:
            return self.decided
        line = dict(seen, ms=STEP_MS)
        return self.ask("second " + " ".join(f"{k}={int(v)}" for k, v in line.items()))


def recorded(case):
    """What the library did of its own accord, in that run."""
    best = max(case.speed(s) for s in SERVERS)
    seen = case.seen["auto"]
    changes = sum(s["changes"] for s in seen)
    return best / max(case.speed("auto"), 1e-9), changes


def summary(values):
    v = sorted(values)
    return (stat.median(v), v[int(len(v) * 0.9)], v[-1]) if v else (0, 0, 0)


def served_by(case, run):
    """Who served all of that run, if one did."""
    i = case.doc["columns"].index("server")
    rows = [row for rows in case.runs[run]["records"] for row in rows if len(row) > i]
    by = {row[i] for row in rows}
    return by.pop() if len(by) == 1 else None


def repeats(case):
    """What the record itself cannot tell apart: by how much two runs differ that one
    server served all the time."""
    of = {run: served_by(case, run) for run in case.runs}
    return [max(case.speed(a), case.speed(b)) / max(min(case.speed(a), case.speed(b)), 1e-9)
            for a in of for b in of if a < b and of[a] is not None and of[a] == of[b]]
