# SPDX-License-Identifier: MIT
"""Records runs for servesim: each with every server in turn, and with the library's
own choice, so that it is known which server would have been the best one.

A case is one file: who did what on which device, and for each of the four the
program's progress (accesses, each quarter of a second) and the library's record
(FASTMAP_TRACE_SERVE), a table for each process."""
import glob
import os
import tempfile

from . import workloads

SERVERS = ("engine", "advised", "kernel")
CHOICES = (*SERVERS, "auto")
SECONDS = 6.0
SHAPES = {s.name: s for s in workloads.SHAPES}
# Becomes the program once all is read that it needs itself, else that would wait for
# the device, and take the memory whenever it got round to it. The time counts from the
# program's first access on: whichever server, what it uses has been read by then.
HOG = """import os, sys, time
def begun(path):
    try:
        with open(path) as f:
            return any(int(x.split()[1]) for x in f.read().split("\\n")[:-1])
    except OSError:
        return False
parent = os.getpid()
if not os.fork():
    while not begun(sys.argv[5]) and os.getppid() == parent:
        time.sleep(0.05)
    time.sleep(float(sys.argv[2]))
    taken = bytearray(int(sys.argv[1]))
    time.sleep(float(sys.argv[3]))
    os._exit(0)
os.environ["LD_PRELOAD"] = sys.argv[4]
os.execvp(sys.argv[6], sys.argv[6:])
"""


class Case:
    """What is run: arguments of mapload, who runs it, what happens beside it."""

    def __init__(self, name, args, writes=False, warm=0, hog=None, hint=None, fixed=False):
        self.name, self.args, self.writes, self.warm = name, args, writes, warm
        self.hog, self.hint, self.fixed = hog, hint, fixed


def cases(limit):
    """By name. Sizes follow the memory of the group."""
    def pattern(what, threads=1, *more):
        return ["--pattern", what, "--threads", str(threads), *more]
    near = str(limit * 15 // 16 >> 12 << 12)
    every = [
        Case("rand1", pattern("uniform")), Case("rand8", pattern("uniform", 8)),
        Case("rand8hint", pattern("uniform", 8), hint="random"),
        Case("zipf8", pattern("zipf", 8)), Case("seq", pattern("seq")),
        Case("back", pattern("back")), Case("stride", pattern("stride")),
        Case("scanhot", pattern("scanhot", 2, "--hot", str(limit // 2))),
        Case("write8", pattern("uniform", 8, "--op", "write"), writes=True),
        Case("write8hint", pattern("uniform", 8, "--op", "write"), writes=True,
             hint="random"),
        Case("rmw8", pattern("uniform", 8, "--op", "rmw"), writes=True),
        Case("fits", pattern("uniform", 1, "--range", str(limit // 2))),
        Case("nearly", pattern("uniform", 1, "--range", near)),
        Case("warm", pattern("uniform", 2, "--range", str(limit // 2)), warm=limit // 2),
        Case("windows", pattern("fresh", 1, "--range", str(limit // 2))),
        Case("short", pattern("uniform", 1, "--ops", "300"), fixed=True),
        Case("taken", pattern("zipf", 2, "--range", str(limit // 2),
                              "--prefill", str(limit // 2)),
             hog=(limit * 5 // 8, 2, 2)),
    ]
    return {c.name: c for c in every}


def progress(path):
    with open(path, encoding="ascii") as f:
        return [[int(x) for x in line.split()] for line in f]


def after_prefill(points):
    """While memory is filled nothing is measured."""
    none = sum(not n for _, n in points)
    return points[max(none - 1, 0):]


def record(path):
    """The columns' names, and a row for each file and second."""
    with open(path, encoding="ascii") as f:
        names = f.readline().split()[1:]
        rows = [[int(x) for x in line.split()] for line in f]
    return [names] + [r for r in rows if len(r) == len(names)]  # cut: the process ended


def argv(machine, case, shape, gen, out):
    args = list(case.args)
    if shape.members:
        at = args.index("--threads")
        del args[at:at + 2]
        args += shape.members
    a = [machine.tool("mapload"), "--file", machine.file, "--gen", str(gen), *args,
         "--progress", out]
    if not case.fixed:
        a += ["--seconds", str(SECONDS)]
    if case.hint:
        a += ["--hint", case.hint]
    if case.hog:
        hog = [str(x) for x in case.hog]
        a = ["sh", "-c", 'was=$LD_PRELOAD; n=$1 from=$2 to=$3 of=$4; shift 4;'
             ' LD_PRELOAD= exec python3 -c "$0" "$n" "$from" "$to" "$was" "$of" "$@"',
             HOG, *hog, out, *a]
    return (machine.launcher() if shape.confined else []) + a


def one(machine, data, case, shape, choice):
    gen = data.next() if case.writes else data.gen
    with tempfile.TemporaryDirectory(prefix="fmbench.") as tmp:
        out = os.path.join(tmp, "progress")
        r = machine.run(argv(machine, case, shape, gen, out), preload=True,
                        warm=case.warm,
                        extra={"FASTMAP_CACHE": "auto", "FASTMAP_SERVE": choice,
                               "FASTMAP_TRACE_SERVE": os.path.join(tmp, "serve-%p")})
        result = r["result"]
        if r["exit"] or not result or result["wrong"]:
            raise RuntimeError(f"{case.name} {choice}: {r['stderr']}")
        records = [record(p) for p in sorted(glob.glob(os.path.join(tmp, "serve-*")))]
        points = progress(out)
        if "--prefill" in case.args:
            points = after_prefill(points)
        return {"rate": result["rate_with_msync"], "progress": points,
                "records": [x[1:] for x in records], "columns": records[0][0] if records else []}


def run(machine, data, case, shape_name):
    shape, doc = SHAPES[shape_name], {}
    for choice in CHOICES:
        doc[choice] = one(machine, data, case, shape, choice)
    columns = next((doc[c]["columns"] for c in CHOICES if doc[c]["columns"]), [])
    for c in CHOICES:
        del doc[c]["columns"]
    return {"columns": columns, "runs": doc, "prefilled": "--prefill" in case.args}


def shown(doc):
    return "  ".join(f"{c} {doc['runs'][c]['rate']:.4g}" for c in CHOICES)
