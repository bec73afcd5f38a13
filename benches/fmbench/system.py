# SPDX-License-Identifier: MIT
"""What the runner changes on the machine, and how it takes it back."""
import json
import os
import subprocess
import tempfile
import time

from . import statistics


class NoControl(Exception):
    """Something that needs root or a cgroup controller is not there."""


def read(path):
    with open(path, encoding="ascii") as f:
        return f.read().strip()


def write(path, text):
    with open(path, "w", encoding="ascii") as f:
        f.write(str(text))


class ReadAhead:
    """read_ahead_kb of the device under a file; restored by close()."""

    def __init__(self, path):
        dev = os.stat(path).st_dev
        self.path = f"/sys/class/bdi/{os.major(dev)}:{os.minor(dev)}/read_ahead_kb"
        self.fixed = not os.path.exists(self.path)  # memory: nothing is read ahead
        self.initial = 0 if self.fixed else int(read(self.path))
        self.now = self.initial

    def set(self, kib):
        if kib != self.now and not self.fixed:
            write(self.path, kib)
            self.now = kib

    def close(self):
        self.set(self.initial)


class Cgroup:
    """A memory cgroup (v1 or v2) for one run."""

    count = 0

    def __init__(self, limit):
        Cgroup.count += 1
        name = f"fmbench.{os.getpid()}.{Cgroup.count}"
        self.v1 = os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes")
        base = "/sys/fs/cgroup/memory" if self.v1 else "/sys/fs/cgroup"
        self.dir = os.path.join(base, name)
        try:
            if not self.v1:
                write("/sys/fs/cgroup/cgroup.subtree_control", "+memory")
            os.mkdir(self.dir)
            self.put("limit_in_bytes" if self.v1 else "max", limit)
        except OSError as e:
            raise NoControl(f"no memory cgroup: {e}") from e
        if not self.v1:  # v1 counts swap apart; without swap it is moot
            try:
                self.put("swap.max", 0)
            except OSError:
                pass

    def put(self, name, value):
        write(f"{self.dir}/memory.{name}", value)

    def get(self, name):
        try:
            return read(f"{self.dir}/memory.{name}")
        except OSError:
            return ""

    def enter(self):
        """In the child, before exec."""
        write(f"{self.dir}/cgroup.procs", os.getpid())

    def field(self, name, key):
        for line in self.get(name).splitlines():
            if line.split()[0] == key:
                return int(line.split()[1])
        return 0

    def held(self):
        if self.v1:
            return {"max_bytes": int(self.get("max_usage_in_bytes") or 0),
                    "at_limit": int(self.get("failcnt") or 0),
                    "oom_kills": self.field("oom_control", "oom_kill")}
        return {"max_bytes": int(self.get("peak") or 0),
                "at_limit": self.field("events", "max"),
                "oom_kills": self.field("events", "oom_kill")}

    def close(self):
        """The guardian may need a moment to leave."""
        end = time.time() + 20
        while time.time() < end:
            try:
                os.rmdir(self.dir)
                return
            except OSError:
                time.sleep(0.02)
        print(f"fmbench: {self.dir} still has processes", flush=True)


def drop_caches(path, everything):
    """Page cache of the file, and of the whole machine where we may."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(fd)
    if everything:
        write("/proc/sys/vm/drop_caches", "1")


class Machine:
    """One place that runs a program natively or preloaded, limited or not."""

    def __init__(self, build, datafile, limit, cache_percent, drop_all=True):
        self.build = os.path.abspath(build)
        self.lib = os.path.join(self.build, "libfastmap.so")
        self.file = os.path.abspath(datafile)
        self.limit = limit
        self.cache = limit * cache_percent // 100
        self.drop_all = drop_all and os.access("/proc/sys/vm/drop_caches", os.W_OK)
        self.readahead = ReadAhead(datafile)

    def tool(self, name):
        return os.path.join(self.build, "benches", name)

    def launcher(self):
        """Runs a program as a container's profile would have it."""
        return [os.path.join(self.build, "tests/faults/deny"), "container"]

    def env(self, preload, stats, extra):
        env = {k: v for k, v in os.environ.items()
               if not k.startswith("FASTMAP_") and k != "LD_PRELOAD"}
        if preload:
            env.update(LD_PRELOAD=self.lib if preload is True else preload,
                       FASTMAP_STATS=stats, FASTMAP_WARM_START="off",
                       FASTMAP_PATHS=os.path.dirname(self.file),
                       FASTMAP_CACHE=str(self.cache))
            env.update(extra or {})
        return env

    def run(self, argv, preload=False, warm=0, drop=True, limit=True,
            extra=None, timeout=300, parse=True):
        """Returns a dict: result (the program's JSON), memory, stats, stderr.
        `preload`: a library, or whether it is this build's."""
        if drop:
            drop_caches(self.file, self.drop_all)
        group = Cgroup(self.limit) if limit else None
        enter = group.enter if group else None
        with tempfile.TemporaryDirectory(prefix="fmbench.") as tmp:
            stats = os.path.join(tmp, "stats-%p.json")
            try:
                if warm:
                    subprocess.run(["dd", f"if={self.file}", "of=/dev/null", "bs=1M",
                                    f"count={warm >> 20}", "status=none"],
                                   preexec_fn=enter, check=True)
                t0 = time.monotonic()
                p = subprocess.run(argv, env=self.env(preload, stats, extra),
                                   preexec_fn=enter, capture_output=True,
                                   timeout=timeout, check=False)
                out = {"wall_s": time.monotonic() - t0, "exit": p.returncode,
                       "stderr": p.stderr.decode(errors="replace")[-2000:]}
                if group:
                    out["memory"] = group.held()
            finally:
                if group:
                    group.close()
            if preload:
                out["stats"] = statistics.load(tmp, self.file)
        text = p.stdout.decode(errors="replace")
        if not parse:
            out["stdout"] = text
            return out
        try:
            out["result"] = json.loads(text)
        except ValueError:
            out["result"] = None
        return out

    def close(self):
        self.readahead.close()


def describe(machine):
    """What a reader needs to judge the figures."""
    def sh(*argv):
        try:
            return subprocess.run(argv, capture_output=True, text=True,
                                  check=False).stdout.strip()
        except OSError:
            return ""
    here = os.path.dirname(os.path.abspath(__file__))
    return {
        "date": time.strftime("%Y-%m-%d %H:%M"),
        "kernel": os.uname().release,
        "cpus": os.cpu_count(),
        "memory_kib": int(read("/proc/meminfo").split()[1]),
        "filesystem": sh("stat", "-f", "-c", "%T", machine.file),
        "commit": sh("git", "-C", here, "rev-parse", "--short", "HEAD"),
        "file_bytes": os.stat(machine.file).st_size,
        "limit_bytes": machine.limit,
        "fastmap_cache_bytes": machine.cache,
        "read_ahead_kb": machine.readahead.initial,
        "loadavg": os.getloadavg()[0],
    }
