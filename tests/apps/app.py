# SPDX-License-Identifier: MIT
"""What the scripts of this folder have in common.

A script describes one job as a function of a Side and hands it to compare():

    def job(side):
        side.run("compress", ["lrzip", ...])
        return side.sums("*.lrz")

The job runs natively and preloaded, in directories of their own that were
filled the same way; whatever it returns must be equal. Each preloaded step must
have been served by the engine (faults in the statistics), unless it says
`engaged=False`. Exit status: 0 passed, 1 failed, 77 cannot be tested here.
"""
import argparse
import atexit
import contextlib
import glob
import hashlib
import json
import os
import pwd
import random
import resource
import shutil
import stat
import subprocess
import sys
import tempfile
import time

SKIP = 77
MIB = 1 << 20
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
from where import where  # noqa: E402

HOME = os.environ.get("FASTMAP_APPS_DIR", "/var/tmp/fastmap-apps")
# A factor for all time limits, for runs on a machine that has other work.
PATIENCE = int(os.environ.get("FASTMAP_APPS_PATIENCE", "1"))
COUNTERS = ("faults_read", "faults_write", "faults_wp", "loads", "evictions",
            "writebacks", "ahead_pages", "mappings", "demotions")


class Failed(Exception):
    pass


def skip(why):
    print("SKIP: " + why)
    sys.exit(SKIP)


def options():
    p = argparse.ArgumentParser()
    p.add_argument("build", help="build directory")
    p.add_argument("delivery", nargs="?", default="signal",
                   choices=["signal", "thread", "auto"])
    p.add_argument("user", nargs="?", default="root")
    p.add_argument("scale", nargs="?", default="small",
                   choices=["small", "full"])
    return p.parse_args()


# ---- what has to be installed ------------------------------------------------

def may_install():
    return os.geteuid() == 0 and os.environ.get("FASTMAP_APPS_INSTALL") == "1"


def need(program, package):
    """Path of a program, or the script ends."""
    if not shutil.which(program) and may_install():
        subprocess.run(["apt-get", "install", "-y", "-qq", package],
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       env=dict(os.environ, DEBIAN_FRONTEND="noninteractive"))
    found = shutil.which(program)
    if not found:
        skip("%s is not installed (Debian package %s)" % (program, package))
    return found


def old_python():
    """A CPython for which everything has wheels (MonetDB stops at 3.10)."""
    for version in "3.10", "3.9", "3.8":
        for path in glob.glob(os.path.expanduser(
                "~/.pyenv/versions/%s.*/bin/python%s" % (version, version))):
            return path
        if shutil.which("python" + version) and not subprocess.call(
                ["python" + version, "-c", ""], stderr=subprocess.DEVNULL):
            return shutil.which("python" + version)
    return None


def interpreter():
    """Python of the environment for these scripts. It is a copy when the
    original lies where only root can go."""
    venv = HOME + "/venv/bin/python"
    if os.path.exists(venv) or not may_install():
        return venv if os.path.exists(venv) else sys.executable
    os.makedirs(HOME, exist_ok=True)
    base = old_python()
    if base and base.startswith(os.path.expanduser("~")):
        prefix = os.path.dirname(os.path.dirname(base))
        shutil.copytree(prefix, HOME + "/python", symlinks=True,
                        dirs_exist_ok=True)
        base = HOME + "/python/bin/" + os.path.basename(base)
    subprocess.run([base or "/usr/bin/python3", "-m", "venv", HOME + "/venv"],
                   check=True, env=libraries(os.environ))
    return venv


def libraries(env):
    env = dict(env)
    if os.path.isdir(HOME + "/python/lib"):
        env["LD_LIBRARY_PATH"] = HOME + "/python/lib"
    return env


def lacks(exe, packages):
    """Those that this interpreter cannot import."""
    return [p for p in packages if subprocess.call(
        [exe, "-c", "import " + p.partition("=")[0]],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        env=libraries(os.environ))]


def is_everybodys(exe):
    """May any user execute it? Not in root's home."""
    path = os.path.realpath(exe)
    while path != "/":
        if not os.stat(path).st_mode & stat.S_IXOTH:
            return False
        path = os.path.dirname(path)
    return True


def python(*packages):
    """An interpreter that has the packages ("import name=what pip calls it"): the
    one of these scripts, or the system's, for which there are python3-NAME."""
    exe, system = interpreter(), "/usr/bin/python3"
    if not is_everybodys(exe) and not lacks(system, packages):
        return system
    for p in lacks(exe, packages) if may_install() else []:
        name, _, wheel = p.partition("=")
        subprocess.call([exe, "-m", "pip", "install", "-q"] +
                        (wheel or name).split(","), stdout=subprocess.DEVNULL,
                        stderr=subprocess.DEVNULL, env=libraries(os.environ))
    missing = lacks(exe, packages)
    if missing and os.access(system, os.X_OK) and not lacks(system, packages):
        return system
    for p in missing:
        skip("python package %s is not installed (Debian package python3-%s)" %
             (p.partition("=")[2] or p, p.partition("=")[0]))
    return exe


# ---- memory limits -------------------------------------------------------------

class Limit:
    """A memory control group; without the right to make one, no limit."""

    def __init__(self, size):
        self.dir = None
        with contextlib.suppress(OSError):
            self.dir = self.make(size)
        if not self.dir:
            print("  note: no memory control group here, running unlimited")
        atexit.register(self.remove)

    @staticmethod
    def make(size):
        where = {}
        for line in open("/proc/self/cgroup"):
            _, names, path = line.rstrip("\n").split(":", 2)
            where[names] = path
        if "memory" in where:
            base, file = "/sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            base, file = "/sys/fs/cgroup" + where.get("", ""), "memory.max"
        path = "%s/fastmap-apps.%d" % (base, os.getpid())
        os.mkdir(path)
        with open(path + "/" + file, "w") as f:
            f.write(str(size))
        return path

    def enter(self):
        if self.dir:
            with open(self.dir + "/cgroup.procs", "w") as f:
                f.write("0")

    def remove(self):
        for _ in range(50):
            if not self.dir or not os.path.isdir(self.dir):
                return
            with contextlib.suppress(OSError):
                os.rmdir(self.dir)
            time.sleep(0.1)


# ---- one side of the comparison -------------------------------------------------

class Side:
    def __init__(self, app, name):
        self.app, self.name = app, name
        self.ours = name == "fastmap"
        self.dir = app.base + "/" + name
        self.data = self.dir + "/data"
        self.steps = 0
        self.seconds, self.cpu, self.before = {}, 0, 0
        for d in self.dir, self.data, self.dir + "/stats":
            os.mkdir(d)
            app.give(d)

    def path(self, name):
        return os.path.join(self.data, name)

    def unlink(self, pattern):
        for path in glob.glob(self.path(pattern)):
            os.unlink(path)

    def env(self, stats, cache, more):
        env = libraries({k: v for k, v in os.environ.items()
                         if not k.startswith("FASTMAP_")})
        env.update(LC_ALL="C.UTF-8", HOME=self.dir, TMPDIR=self.dir)
        if self.ours:
            env.update(LD_PRELOAD=self.app.lib, FASTMAP_PATHS=self.data,
                       FASTMAP_MIN_SIZE="0", FASTMAP_WARM="engine",
                       FASTMAP_FAULTS=self.app.delivery,
                       FASTMAP_CACHE=str(max(cache, 4 * MIB)),
                       FASTMAP_STATS=stats + "/%p.json")
        env.update(more)
        return env

    def start(self, step, argv, cache=None, env=None, cwd=None, **kw):
        """A process of the job; give it to finish()."""
        self.steps += 1
        stats = "%s/stats/%02d-%s" % (self.dir, self.steps, step)
        os.mkdir(stats)
        self.app.give(stats)
        kw.setdefault("stdin", subprocess.DEVNULL)
        p = subprocess.Popen(
            argv, cwd=cwd or self.data, preexec_fn=self.app.enter,
            env=self.env(stats, cache or self.app.cache, env or {}),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
        p.step, p.stats, p.began = step, stats, time.time()
        self.before = cpu_seconds()
        return p

    def finish(self, p, engaged=True, status=0, timeout=None, text=None,
               quiet=False):
        try:
            out, err = p.communicate(text, timeout or self.app.timeout)
        except subprocess.TimeoutExpired:
            found = "\n".join(where(p.pid))
            p.kill()
            err = p.communicate()[1]
            raise Failed("%s [%s]: still running after %d s\n%s%s" % (
                p.step, self.name, timeout or self.app.timeout, tail(err), found))
        took, cpu = time.time() - p.began, cpu_seconds()
        self.cpu, self.before = self.cpu + cpu - self.before, cpu
        self.seconds[p.step] = self.seconds.get(p.step, 0) + took
        if status is not None and p.returncode != status:
            raise Failed("%s [%s]: exit status %d\n%s%s" % (
                p.step, self.name, p.returncode, tail(out), tail(err)))
        if self.ours:
            self.app.engagement(p.step, p.stats, engaged,
                                None if quiet else took, err)
        return out.decode(errors="replace")

    def run(self, step, argv, engaged=True, status=0, timeout=None, text=None,
            quiet=False, **kw):
        if text is not None:
            text, kw["stdin"] = text.encode(), subprocess.PIPE
        return self.finish(self.start(step, argv, **kw), engaged, status,
                           timeout, text, quiet)

    def together(self, step, argvs, engaged=True, **kw):
        """Several processes at once; their outputs."""
        ps = [self.start("%s%d" % (step, i), a, **kw)
              for i, a in enumerate(argvs)]
        return [self.finish(p, engaged) for p in ps]

    def native(self, argv, text=None, status=0):
        """Without the library on either side: a second opinion."""
        p = subprocess.run(argv, cwd=self.data, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE,
                           env=dict(libraries(os.environ), HOME=self.dir),
                           input=text.encode() if text else None,
                           preexec_fn=self.app.become,
                           timeout=self.app.timeout)
        if p.returncode != status:
            raise Failed("%s natively on what [%s] left: exit status %d\n%s%s" %
                         (argv[0], self.name, p.returncode, tail(p.stdout),
                          tail(p.stderr)))
        return p.stdout.decode(errors="replace")

    def sums(self, pattern):
        """{name: SHA-256} of files below the data directory."""
        found = {}
        for path in sorted(glob.glob(self.path(pattern), recursive=True)):
            if os.path.isfile(path):
                found[os.path.relpath(path, self.data)] = checksum(path)
        if not found:
            raise Failed("[%s] left no file %s" % (self.name, pattern))
        return found


def cpu_seconds():
    """Of all processes that were waited for. On a machine with other work it
    says more than the time on the clock."""
    r = resource.getrusage(resource.RUSAGE_CHILDREN)
    return r.ru_utime + r.ru_stime


def tail(data, lines=15):
    if isinstance(data, bytes):
        data = data.decode(errors="replace")
    return "".join("    | %s\n" % x for x in (data or "").splitlines()[-lines:])


def checksum(path):
    h = hashlib.sha256()
    with open(path, "rb") as f:
        for block in iter(lambda: f.read(MIB), b""):
            h.update(block)
    return h.hexdigest()


# ---- one application --------------------------------------------------------------

class App:
    """cache: of the engine, in bytes; limit: of the control group."""

    def __init__(self, cache=64 * MIB, limit=None, timeout=None, args=None):
        self.args = args or options()
        self.delivery, self.user = self.args.delivery, self.args.user
        self.full = self.args.scale == "full"
        self.cache = cache
        self.timeout = (timeout or (3600 if self.full else 300)) * PATIENCE
        self.ids = pwd.getpwnam(self.user)
        if self.ids.pw_uid != os.geteuid() and os.geteuid() != 0:
            skip("only root can become " + self.user)
        found = glob.glob(self.args.build + "/**/libfastmap.so", recursive=True)
        if not found:
            sys.exit("no libfastmap.so in " + self.args.build)
        self.lib = os.path.abspath(found[0])
        self.faults, self.demotions, self.refused = 0, [], []
        self.limit = Limit(limit) if limit else None
        self.make_base()

    def make_base(self):
        name = os.path.basename(sys.argv[0])
        self.base = tempfile.mkdtemp(prefix="fastmap-app-%s." % name,
                                     dir=os.environ.get("FASTMAP_TEST_DIR",
                                                        "/var/tmp"))
        os.chmod(self.base, 0o755)
        if os.environ.get("FASTMAP_APPS_KEEP") != "1":
            atexit.register(shutil.rmtree, self.base, True)

    def give(self, path):
        if os.geteuid() == 0:
            os.chown(path, self.ids.pw_uid, self.ids.pw_gid)

    def enter(self):
        """In the child, before exec."""
        if self.limit:
            self.limit.enter()
        self.become()

    def become(self):
        if os.geteuid() == 0 and self.ids.pw_uid:
            os.setgroups([])
            os.setgid(self.ids.pw_gid)
            os.setuid(self.ids.pw_uid)

    def engagement(self, step, stats, engaged, took, err):
        """Read the statistics of one step's processes."""
        sums = dict.fromkeys(COUNTERS, 0)
        why, how, failed = [], set(), None
        for path in sorted(glob.glob(stats + "/*.json")):
            try:
                with open(path) as f:
                    o = json.load(f)
            except ValueError as e:
                failed = "%s: %s" % (path, e)
                continue
            how.add(o["delivery"]["how"])
            for c in COUNTERS:
                sums[c] += o["totals"]["all_" + c]
            why += ["%s: %s" % (os.path.basename(x["path"] or "?"),
                                x["demote_why"])
                    for x in o["files"] if x.get("demote_why")]
        faults = sum(sums[c] for c in COUNTERS[:3])
        self.faults += faults
        if took is not None:
            print("  %-20s %6.2f s  %s  %s" % (
                step, took, "/".join(sorted(how)) or "no statistics",
                " ".join("%s=%d" % x for x in sums.items() if x[1])))
        for line in sorted(set(why)):
            self.demotions.append(step + ": " + line)
        self.refused += [x for x in err.decode(errors="replace").splitlines()
                         if x.startswith("fastmap:")]
        if failed:
            raise Failed("statistics are not JSON: " + failed)
        if engaged and not faults:
            raise Failed("%s: the engine served no fault\n%s" % (step,
                                                                 tail(err)))
        if engaged and self.delivery != "auto" and how - {"none",
                                                          self.delivery}:
            raise Failed("%s: delivered by %s, not by %s" % (step, how,
                                                             self.delivery))

    def compare(self, job, setup=None):
        """Run on both sides; exits."""
        try:
            if self.delivery == "thread" and not thread_possible(self):
                skip("delivery to threads is not permitted to " + self.user)
            results, sides = self.both(job, setup)
        except Failed as e:
            self.report([])
            print("FAIL: %s" % e)
            sys.exit(1)
        self.report(sides)
        bad = differences(*results)
        for line in bad[:20]:
            print("FAIL: " + line)
        sys.exit(1 if bad else 0)

    def both(self, job, setup):
        results, sides = [], []
        for name in "native", "fastmap":
            side = Side(self, name)
            known = self.known(side) if name == "native" else None
            if setup and not known:
                setup(side)
            results.append(known or plain(job(side)))
            sides.append(side)
            if name == "native" and not known:
                self.remember(side, results[0])
            if os.environ.get("FASTMAP_APPS_KEEP") != "1":
                shutil.rmtree(side.data, ignore_errors=True)
        return results, sides

    def kept(self):
        """Where the native side's answers are kept for the other deliveries
        and users, FASTMAP_APPS_NATIVE=DIR: they are the same."""
        h = hashlib.sha256(self.args.scale.encode())
        name = os.path.basename(sys.argv[0])
        for path in [sys.argv[0]] + sorted(glob.glob(HERE + "/jobs/*")):
            with open(path, "rb") as f:
                h.update(f.read())
        return "%s/%s.%s.json" % (os.environ["FASTMAP_APPS_NATIVE"], name,
                                  h.hexdigest()[:16])

    def known(self, side):
        if not os.environ.get("FASTMAP_APPS_NATIVE") or \
                not os.path.exists(self.kept()):
            return None
        with open(self.kept()) as f:
            o = json.load(f)
        side.seconds, side.cpu = o["seconds"], o["cpu"]
        print("  note: native answers of " + time.ctime(o["when"]))
        return o["result"]

    def remember(self, side, result):
        if os.environ.get("FASTMAP_APPS_NATIVE"):
            with open(self.kept(), "w") as f:
                json.dump({"when": time.time(), "result": result, "cpu": side.cpu,
                           "seconds": side.seconds}, f)

    def report(self, sides):
        if sides:
            print("  natively %.2f s (cpu %.2f), fastmap %.2f s (cpu %.2f), "
                  "%d faults" % (*(x for s in sides for x in (
                      sum(s.seconds.values()), s.cpu)), self.faults))
            if self.full:
                for step, took in sides[0].seconds.items():
                    print("  %-20s natively %.2f s, fastmap %.2f s" % (
                        step, took, sides[1].seconds[step]))
        for line in self.demotions[:10]:
            print("  demoted: " + line)
        for line in sorted(set(self.refused))[:10]:
            print("  said: " + line)


def plain(result):
    """As it is when it comes back from a file."""
    return json.loads(json.dumps(result))


def differences(want, got, where="result"):
    """Where two results differ, one line each."""
    if isinstance(want, dict) and isinstance(got, dict):
        bad = []
        for k in sorted(set(want) | set(got), key=str):
            if k not in want or k not in got:
                bad.append("%s[%s]: only %s" % (
                    where, k, "natively" if k in want else "with fastmap"))
            else:
                bad += differences(want[k], got[k], "%s[%s]" % (where, k))
        return bad
    if isinstance(want, str) and isinstance(got, str) and want != got:
        pairs = list(zip(want.splitlines(), got.splitlines()))
        for i, (a, b) in enumerate(pairs):
            if a != b:
                return ["%s line %d: %s, natively %s" % (where, i + 1, b[:200],
                                                         a[:200])]
    if want == got:
        return []
    return ["%s: %s, natively %s" % (where, str(got)[:200], str(want)[:200])]


def thread_possible(app):
    """Handler threads need a userfaultfd that takes faults of the kernel."""
    if app.user == "root" or os.access("/dev/userfaultfd", os.R_OK | os.W_OK,
                                       effective_ids=False) and \
            os.stat("/dev/userfaultfd").st_mode & 0o006 == 0o006:
        return True
    with contextlib.suppress(OSError):
        with open("/proc/sys/vm/unprivileged_userfaultfd") as f:
            return f.read().strip() == "1"
    return False


# ---- data -------------------------------------------------------------------------

def mixed(path, size, seed=1, text=0.3):
    """Text, repeated blocks from far away, zeroes and noise, a MiB of one kind
    at a time. The same for the same arguments."""
    r = random.Random(seed)
    words = [("%x" % r.getrandbits(r.choice((12, 20, 32)))).encode()
             for _ in range(4096)] + [b"\n"] * 256
    old = []
    with open(path, "wb") as f:
        for at in range(0, size, MIB):
            kind = r.random()
            if old and kind < 0.3:
                block = bytearray(r.choice(old))
                block[r.randrange(MIB)] ^= 1
            elif kind < 0.3 + text:
                block = b" ".join(r.choices(words, k=MIB // 5))
            elif kind < 0.35 + text:
                block = bytes(MIB)
            else:
                block = r.randbytes(MIB)
            block = bytes(block[:min(MIB, size - at)]).ljust(
                min(MIB, size - at), b"\n")
            if len(old) < 64:
                old.append(block.ljust(MIB, b"\n"))
            f.write(block)
        f.flush()
        os.fsync(f.fileno())
