# SPDX-License-Identifier: MIT
"""The workloads, the kernel's hints worth trying, and the targets.

A target is preloaded / native, as throughput (or, for a latency, native /
preloaded), against the kernel with read_ahead_kb=128, with the machine's own
setting, and with its best madvise hint. None: nothing was promised.

A bound is the most that the device allows, as measured in the same run: the best of
the named device runs, times a factor from its pages to the row's accesses. Who
promises more than that promises what nobody can keep.
"""
import re
from dataclasses import dataclass, replace

COLUMNS = ("native", "native_ra128", "native_hint", "preloaded", "preloaded_ra128")
# The engine does not use the kernel's read-ahead: one column for both.
ENGINE_COLUMNS = COLUMNS[:4]
CALL_COLUMNS = ("native", "preloaded")  # hint and read-ahead change nothing


def rate(r):
    return r["rate"]


def rate_synced(r):
    return r["rate_with_msync"]


def p999(r):
    """Inverse, so that more is better as for a rate."""
    return 1e9 / max(r["lat_ns"]["p999"], 1)


def second_pass(r):
    return r["members"] * r["range"] / 4096 / r["second_pass_s"]


def first_pass(r):
    return r["members"] * r["range"] / 4096 / r["first_pass_s"]


def random_touch(r):
    return r["random_touches"] / r["random_s"]


def later_touch(r):
    return r["random_touches"] / r["later_s"]


@dataclass(frozen=True)
class Shape:
    """Who maps the file: what mapload is told, and what its profile refuses."""
    name: str
    title: str
    members: tuple = ()       # arguments of mapload
    confined: bool = False    # as in a container
    rows: tuple = ()          # workloads; empty: all of them
    quick: tuple = ()         # of these, with --quick

    def cache(self, cache):
        """One process has its cache by the command line; else nothing is set
        but the paths."""
        return cache if self.name == "one" else "auto"


FEW = ("rand8", "zipf8", "seq", "scanhot", "randwrite16")
SHAPES = (
    Shape("one", "one process"),
    Shape("forked", "8 workers, forked after the map", ("--forked", "8"), rows=FEW,
          quick=("rand8", "seq", "randwrite16")),
    Shape("processes", "4 processes", ("--processes", "4"), rows=FEW,
          quick=("rand8", "seq", "randwrite16")),
    Shape("confined", "no userfaultfd, no io_uring, no perf events", confined=True,
          rows=FEW[:3] + ("back", "stride") + FEW[3:],
          quick=("rand8", "seq", "randwrite16")),
)


@dataclass
class Row:
    """One line of the table: a figure taken from the runs of a workload."""
    title: str
    metric: object
    unit: str
    targets: tuple = (None, None, None)  # vs ra128, vs machine's, vs hint
    device: tuple = None                 # (what, depth, least share or None)
    most_cpu: float = None
    hot_hits: float = None
    bound: tuple = ()                    # ((what, depth, option), factor) ...


@dataclass
class Workload:
    name: str
    group: str
    args: list
    rows: list
    hints: tuple = ("random",)
    writes: bool = False
    full_pages: bool = False
    warm: bool = False
    seconds: float = 1.0      # times the runner's duration; 0: fixed work
    prefill: bool = False
    columns: tuple = ENGINE_COLUMNS
    shape: Shape = SHAPES[0]

    @property
    def key(self):
        return self.name, self.shape.name


def either(what, depth):
    """The device, waiting or polling."""
    return (((what, depth, ""), 1), ((what, depth, "poll"), 1))


SCAN = ("seq", 4, "mem")
HOT_SHARE = 0.5  # of accesses, scanhot


def random_read(threads, targets, device=None):
    rows = [Row(f"random read 4 KiB, {threads} thread{'s' * (threads > 1)}",
                rate, "k/s", targets, device or ("rand", threads, None),
                bound=either("rand", threads))]
    if threads == 8:
        rows.append(Row("p99.9 latency, random read, 8 threads", p999, "us",
                        (1, 1, 1)))
    return Workload(f"rand{threads}", "random",
                    ["--pattern", "uniform", "--threads", str(threads)],
                    rows, prefill=True)


def random_write(threads, targets):
    rows = []
    if targets:
        rows.append(Row(f"random write, {threads} threads, final msync",
                        rate_synced, "k/s", targets, ("randstore", threads, None),
                        bound=((("randsync", threads, ""), 1),
                               (("randstore", threads, ""), 1))))
    else:
        rows.append(Row(f"p99.9 latency, random write, {threads} threads",
                        p999, "us", (1, 1, 1)))
    return Workload(f"randwrite{threads}", "write",
                    ["--pattern", "uniform", "--op", "write",
                     "--threads", str(threads)], rows, writes=True, prefill=True)


# What is promised beside one process that has all it needs.
UNHINTED = {"rand8", "zipf8", "stride"}


def promised(w, shape):
    if shape.members and w.name in UNHINTED:
        return (2, 20, 0.95)
    return (0.97, 0.97, 0.9 if w.name in UNHINTED else None)


def in_shape(w, shape):
    """The first row of a workload, by other processes; each has one thread."""
    args, row = list(w.args), w.rows[0]
    if shape.members:
        if "--threads" in args:
            at = args.index("--threads")
            del args[at:at + 2]
        args += shape.members
        row = replace(row, title=re.sub(r", \d+ threads?", "", row.title))
    row = replace(row, targets=promised(w, shape), device=None, most_cpu=None,
                  hot_hits=None, bound=())
    return replace(w, args=args, rows=[row], shape=shape, columns=COLUMNS)


def every(limit, shapes, quick):
    """All workloads of these shapes, by name."""
    base = workloads(limit)
    out = []
    for shape in SHAPES:
        if shape.name not in shapes:
            continue
        rows = quick and shape.quick or shape.rows
        out += base if not rows else \
            [in_shape(w, shape) for w in base if w.name in rows]
    return out


def workloads(limit):
    """`limit`: bytes of the memory cgroup; sizes follow it."""
    hot = limit // 2
    fits = ["--pattern", "fits", "--range", str(limit // 2)]
    return [
        random_read(1, (3.5, 80, 1.3)),
        random_read(2, (4, 80, 1.05)),
        random_read(8, (5, 80, 1.15)),
        random_read(32, (6, 80, 1.1), ("rand", 32, 0.8)),
        Workload("zipf8", "zipf",
                 ["--pattern", "zipf", "--threads", "8"],
                 [Row("zipf 0.99 read, 8 threads", rate, "k/s", (3, 20, 1.3))],
                 prefill=True, seconds=1.5),
        Workload("seq", "scan", ["--pattern", "seq"],
                 [Row("sequential read, 1 thread", rate, "GiB/s",
                      (1.8, 1.1, 1.05), ("seq", 4, 0.95), 0.2,
                      bound=((SCAN, 1),))],
                 hints=("sequential",), seconds=2),
        Workload("back", "scan", ["--pattern", "back"],
                 [Row("backward read", rate, "GiB/s", (3, 3, 1.5),
                      bound=((SCAN, 1),))],
                 hints=("random", "sequential"), seconds=2),
        Workload("stride", "scan", ["--pattern", "stride"],
                 [Row("64 KiB-strided read", rate, "k/s", (3, 3, 1.5),
                      bound=((("rand", 128, ""), 1), (SCAN, 1 / 16)))],
                 hints=("random", "sequential"), seconds=2),
        Workload("streams", "scan", ["--pattern", "streams", "--streams", "8"],
                 [Row("8 sequential streams, 1 thread", rate, "GiB/s",
                      bound=((SCAN, 1),))],
                 hints=("sequential",), seconds=2),
        Workload("scanhot", "scan",
                 ["--pattern", "scanhot", "--threads", "2", "--hot", str(hot)],
                 [Row("scan + hot set of half the memory", rate, "k/s",
                      (2, 2, 1.5), hot_hits=0.95,
                      bound=((SCAN, 1 / (1 - HOT_SHARE)),))],
                 hints=("sequential", "random"), prefill=True, seconds=1.5),
        random_write(2, (2, 10, 1.2)),
        random_write(8, None),
        random_write(16, (2, 10, 1.2)),
        Workload("rmw8", "write",
                 ["--pattern", "uniform", "--op", "rmw", "--threads", "8"],
                 [Row("random read-modify-write, 8 threads", rate_synced, "k/s")],
                 writes=True, prefill=True),
        Workload("seqwrite", "write",
                 ["--pattern", "seq", "--op", "write", "--touch", "all"],
                 [Row("sequential write, final msync", rate_synced, "GiB/s",
                      (1.2, 1.2, 1.1))],
                 hints=("sequential",), writes=True, full_pages=True),
        Workload("fits", "fits", fits + ["--settle", "6"],
                 [Row("data that fits, second pass", second_pass, "GiB/s",
                      (1, 1, 1)),
                  Row("data that fits, random touches", random_touch, "M/s",
                      (1, 1, 1)),
                  Row("the same, 6 seconds later", later_touch, "M/s",
                      (1.2, 1, 1))],
                 hints=("sequential",), seconds=0),
        Workload("warm", "fits", fits,
                 [Row("file in the page cache, first pass", first_pass, "GiB/s",
                      (0.95, 0.95, 0.95)),
                  Row("file in the page cache, random touches", random_touch,
                      "M/s", (0.95, 0.95, 0.95))],
                 hints=("sequential",), seconds=0, warm=True),
        Workload("fresh", "calls",
                 ["--pattern", "fresh", "--range", str(limit // 2)],
                 [Row("map 64 KiB, touch 4 pages, unmap; from the device", rate,
                      "k/s")],
                 columns=CALL_COLUMNS),
        Workload("windows", "calls",
                 ["--pattern", "fresh", "--range", str(limit // 2)],
                 [Row("the same, file in the page cache", rate, "k/s",
                      (0.95, 0.95, 0.95))],
                 columns=CALL_COLUMNS, warm=True),
        Workload("pair", "calls",
                 ["--pattern", "pair", "--sample", "0"],
                 [Row("mmap + munmap of 4 KiB", rate, "k/s",
                      (1 / 3, 1 / 3, 1 / 3))],
                 columns=CALL_COLUMNS, seconds=0.5),
        Workload("foreign", "calls",
                 ["--pattern", "foreign", "--sample", "0"],
                 [Row("pread of a file that is not ours", rate, "M/s")],
                 columns=CALL_COLUMNS, seconds=0.5),
    ]


def shown(x, unit):
    """A metric in its unit; latencies are kept as 1/s (see p999)."""
    return 1e6 / x if unit == "us" else x / scale(unit)


def scale(unit):
    """Divisor from operations per second to the unit shown."""
    return {"k/s": 1e3, "M/s": 1e6, "GiB/s": (1 << 30) / 4096}[unit]
