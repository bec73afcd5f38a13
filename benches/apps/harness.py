# SPDX-License-Identifier: MIT
"""One workload: install, make the data, then runs in turns, each cold and limited."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from fmbench import system

HERE = os.path.dirname(os.path.abspath(__file__))
RA = (128, 8192)  # KiB that the kernel reads ahead


class NotHere(Exception):
    """The workload cannot run on this machine; the text says why."""


class Place:
    """Where a workload finds things; what its methods get."""

    def __init__(self, o, where, name):
        self.build, self.where, self.scale = o.build, where, o.scale
        self.own = os.path.join(o.dir, name)  # on this disk: programs, results
        self.venvs = os.path.join(o.dir, "venv")
        self.built = os.path.join(o.dir, "built")  # of several workloads
        for d in (self.own, self.built):
            os.makedirs(d, exist_ok=True)

    def path(self, name):
        """Of data, on the device."""
        return os.path.join(self.where, name)

    def tool(self, name):
        path = os.path.join(self.build, "benches", name)
        if not os.path.exists(path):
            raise NotHere(f"{path} is not built")
        return path

    def headers(self, package):
        """Of a Debian package, for compiled()."""
        p = subprocess.run(["dpkg", "-s", package], capture_output=True, check=False)
        if p.returncode:
            print(f"  installing {package}", flush=True)
            run_or(["apt-get", "install", "-y", "-q", package])

    def crate(self, name, version):
        """The folder of its source."""
        top = os.path.join(self.built, f"{name}-{version}")
        if not os.path.exists(top):
            print(f"  installing the crate {name}", flush=True)
            with tempfile.TemporaryDirectory() as tmp:
                with open(tmp + "/Cargo.toml", "w", encoding="ascii") as f:
                    f.write('[package]\nname = "x"\nversion = "0.1.0"\n[lib]\npath = "x.rs"\n'
                            f'[dependencies]\n{name} = "={version}"\n')
                with open(tmp + "/x.rs", "w", encoding="ascii"):
                    pass
                run_or([find("cargo") or "cargo", "vendor", "--versioned-dirs",
                        "--manifest-path", tmp + "/Cargo.toml", tmp + "/all"])
                shutil.copytree(f"{tmp}/all/{name}-{version}", top)
        return top

    def compiled(self, name, sources, *flags):
        """A program of C files; those beside this one by their names."""
        path = os.path.join(self.built, name)
        files = [os.path.join(HERE, s) for s in sources]
        if not os.path.exists(path) or os.path.getmtime(path) < max(map(os.path.getmtime, files)):
            run_or(["cc", "-std=gnu17", "-O2", "-o", path + ".new", *files, *flags])
            os.rename(path + ".new", path)
        return path

    def python(self, *packages, newest=None):
        """An interpreter that has these, of pip; no newer than that (3, 10)."""
        want = " ".join(packages)
        venv = os.path.join(self.venvs, want.replace(" ", "+"))
        python, done = os.path.join(venv, "bin/python"), os.path.join(venv, "done")
        if os.path.exists(done):
            return python
        print(f"  installing {want}", flush=True)
        run_or([interpreter(newest), "-m", "venv", venv])
        run_or([python, "-m", "pip", "install", "-q", *packages])
        with open(done, "w", encoding="ascii"):
            return python

    def debian(self, program, package):
        """A program of a Debian package."""
        if find(program):
            return find(program)
        print(f"  installing {package}", flush=True)
        run_or(["apt-get", "install", "-y", "-q", package])
        path = find(program)
        if not path:
            raise NotHere(f"the package {package} has no {program}")
        return path


def interpreter(newest):
    """Of Python: this one, unless it is newer than that."""
    if not newest or sys.version_info[:2] <= newest:
        return sys.executable
    name = "python%d.%d" % newest
    found = [*glob.glob(os.path.expanduser(f"~/.pyenv/versions/{name[6:]}.*/bin/{name}")),
             *filter(None, [shutil.which(name)])]
    if not found:
        raise NotHere(f"needs {name}")
    return found[0]


def find(program):
    return shutil.which(program, path=os.environ["PATH"] + ":/usr/games")


def run_or(argv):
    p = subprocess.run(argv, capture_output=True, text=True, check=False)
    if p.returncode:
        raise NotHere(f"{' '.join(argv[:4])}: {p.stderr.strip()[-300:]}")


# ---- columns ---------------------------------------------------------------

def columns(w):
    """(name, variant, read-ahead, preloaded): in which ways it runs."""
    out = [(f"native_ra{ra}", "", ra, False) for ra in RA]
    out += [(v, v, RA[1], False) for v in w.variants]
    out += [(f"preloaded_ra{ra}", "", ra, True) for ra in RA]
    return [c for c in out if not w.only or c[0] in w.only]


def device_bytes(where):
    """That the device has read so far; None: nobody counts them."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                args = f.read().split(b"\0")
            if args[0].endswith(b"slowfs") and where.encode() in args:
                with open(f"/proc/{pid}/io", encoding="ascii") as f:
                    return int(f.readline().split()[1])
        except OSError:
            continue
    st = os.stat(where)
    path = f"/sys/dev/block/{os.major(st.st_dev)}:{os.minor(st.st_dev)}/stat"
    return int(system.read(path).split()[2]) * 512 if os.path.exists(path) else None


def environment(o, w, place, preload, tmp):
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("FASTMAP_") and k != "LD_PRELOAD"}
    if preload:
        env.update(LD_PRELOAD=os.path.join(o.build, "libfastmap.so"),
                   FASTMAP_PATHS=place.where, FASTMAP_WARM_START="off",
                   FASTMAP_STATS=tmp + "/stats-%p.json")
    env.update(w.environment(place))
    return env


def answer(p, out, err):
    """What the program says at the end: a line of JSON, {"sum": ..., figure: value}."""
    if p.returncode:
        return {"error": f"exit {p.returncode}: {err[-300:]}"}
    try:
        return json.loads(out.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return {"error": f"said {out[-200:]!r}"}


def limited(w, argv, env, group):
    """Several of it at once in a cgroup. Their answers, and seconds."""
    t0 = time.monotonic()
    every = [subprocess.Popen(argv, env=env, preexec_fn=group.enter, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
             for _ in range(w.copies)]
    out = []
    for p in every:
        try:
            said = p.communicate(timeout=w.timeout)
        except subprocess.TimeoutExpired:
            p.kill()
            said = p.communicate()
        out.append(answer(p, *said))
    return out, time.monotonic() - t0


def stats_of(tmp):
    """Who served, by the statistics of all its processes."""
    loads = kernel = 0
    for name in os.listdir(tmp):
        try:
            with open(os.path.join(tmp, name), encoding="utf-8") as f:
                s = json.load(f)
        except ValueError:
            continue
        loads += s["totals"]["all_loads"]
        kernel += len(s.get("left_to_kernel", [])) + s["totals"]["all_demotions"]
    return {"loads": loads, "kernel": kernel}


def once(o, w, place, column, memory):
    """One cold run."""
    _, variant, _, preload = column
    argv = w.command(place, variant)
    os.sync()  # what is dirty is not dropped
    system.write("/proc/sys/vm/drop_caches", "1")
    before, group = device_bytes(place.where), system.Cgroup(memory)
    with tempfile.TemporaryDirectory(prefix="fmapps.") as tmp:
        os.chmod(tmp, 0o777)  # servers have a user of their own
        try:
            said, wall = limited(w, argv, environment(o, w, place, preload, tmp), group)
            held = group.held()
        finally:
            group.close()
        stats = stats_of(tmp) if preload else None
    after = device_bytes(place.where)
    errors = [a["error"] for a in said if "error" in a]
    left = "" if errors else w.after(place)
    figures = {k: v for k, v in said[0].items() if k not in ("sum", "error")}
    return {"seconds": said[0].get("seconds", wall) if w.copies == 1 else wall,
            "wall": wall, "figures": figures, "errors": errors, "held": held,
            "sums": sorted({str(a.get("sum")) + left for a in said}), "stats": stats,
            "read": after - before if before is not None else None}


# ---- rounds ----------------------------------------------------------------

def measure(o, w, where):
    """Its row."""
    place = Place(o, where, w.name)
    print(f"{w.name} on {o.device}: {w.about}", flush=True)
    try:
        w.make(place)
    except subprocess.CalledProcessError as e:
        raise NotHere(f"its data cannot be made there: {e}") from e
    os.sync()
    ahead = system.ReadAhead(where)
    memory = int(w.memory * (o.scale if w.scales else 1)) + w.own
    chosen = [c for c in columns(w) if not o.columns or c[0] in o.columns.split(",")]
    runs = {c[0]: [] for c in chosen}
    try:
        for i in range(o.rounds):
            for c in chosen if i % 2 == 0 else chosen[::-1]:
                ahead.set(c[2])
                w.before(place)
                runs[c[0]].append(once(o, w, place, c, memory))
                r = runs[c[0]][-1]
                print(f"  {c[0]:16} {r['seconds']:8.2f} s"
                      + "".join(f", {k} {v}" for k, v in r["figures"].items())
                      + (f", {r['read'] >> 20} MiB read" if r["read"] else ""), flush=True)
    finally:
        ahead.close()
    return {"workload": w.name, "about": w.about, "device": o.device, "scale": o.scale,
            "memory": memory, "runs": runs, "figure": w.figure, "aim": w.aim,
            "verdict": w.verdict, "parts": w.parts,
            "load": os.getloadavg()[0], "date": time.strftime("%Y-%m-%d %H:%M"),
            "problems": problems(runs)}


def problems(runs):
    out = [f"{name}: {e}" for name, rr in runs.items() for r in rr for e in r["errors"]]
    sums = {name: sorted({s for r in rr for s in r["sums"]}) for name, rr in runs.items()}
    if len({tuple(v) for v in sums.values()}) > 1 or any(len(v) != 1 for v in sums.values()):
        out.append(f"different output: {sums}")
    return out


def earlier(path):
    if not os.path.exists(path):
        return {"rows": []}
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def save(path, doc):
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as f:
        json.dump(doc, f, indent=1)
    os.rename(path + ".new", path)
    from . import table
    with open(os.path.splitext(path)[0] + ".md", "w", encoding="utf-8") as f:
        f.write(table.markdown(doc))
