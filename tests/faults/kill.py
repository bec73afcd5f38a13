#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No store is lost, however the program ends.

    tests/faults/kill.py BUILD_DIR [-n ROUNDS] [--native] [--user NAME] [--seed N]

Each round runs kill_writer, ends it at a random instant, waits for what the
library still has to write back, and then demands of the file, read natively,
every line's version that the journal (which lives in /dev/shm) says was
completed. Rounds use the same file again, so that old versions that reappear
are caught too.

The last rounds end the guardian together with the program: the PID namespace,
a SIGKILL to every process of a memory control group, and its OOM killer. Then
only what is older than the write-back interval is demanded. --wb-interval 0
(none) must fail: it shows that these rounds can.
"""
import argparse
import array
import contextlib
import glob
import mmap
import os
import pwd
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

LINE = 64
MASK = (1 << 64) - 1
GUARD = "fastmap-guard"

# (end, signal from outside or None, mixes)
CASES = [
    ("wait", signal.SIGKILL, ""), ("wait", signal.SIGKILL, "u"),
    ("wait", signal.SIGKILL, "ts"), ("wait", signal.SIGKILL, "w"),
    ("wait", signal.SIGKILL, "a"), ("wait", signal.SIGKILL, "utswa"),
    ("wait", signal.SIGTERM, "u"), ("wait", signal.SIGABRT, ""),
    ("kill", None, "u"), ("abort", None, "ut"), ("segv", None, ""),
    ("overflow", None, "u"),
    ("_exit", None, "u"), ("quick_exit", None, ""), ("exit", None, "a"),
    ("exec", None, "u"), ("exec_failed", None, ""), ("fork", None, ""),
    ("main_exits", signal.SIGKILL, "u"),
    ("wait", signal.SIGKILL, "c"), ("wait", signal.SIGKILL, "cswa"),
    ("kill", None, "c"), ("exit", None, "c"),
]

# How program and guardian end at once, and the mix.
BOTH = [("namespace", ""), ("group", "ta"), ("oom", "")] # munmap would write back
GROUPS = "/sys/fs/cgroup/memory"  # version 1
TICK = 1.0   # the timer of write-back
SLACK = 3.0  # for the writing itself, on a busy machine


def mix(x):
    x ^= x >> 30
    x = x * 0xbf58476d1ce4e5b9 & MASK
    x ^= x >> 27
    x = x * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def slot(offset, version):
    if version == 0:
        return bytes(32)
    fill = mix(offset * 3 + version & MASK)
    check = mix(fill ^ mix(offset) ^ version << 1 & MASK)
    return struct.pack("<4Q", version, offset, fill, check)


def guards(file):
    """Guardians of programs that were started on this file: a guardian shares
    the memory of its program and so its command line."""
    found = set()
    for comm in glob.glob("/proc/[0-9]*/comm"):
        with contextlib.suppress(OSError):
            d = os.path.dirname(comm)
            with open(comm) as f, open(d + "/cmdline", "rb") as c:
                if f.read().strip() == GUARD and file.encode() in c.read():
                    found.add(int(d.split("/")[2]))
    return found


def wait_for_guards(file, limit):
    begin = time.time()
    while guards(file) and time.time() - begin < limit:
        time.sleep(0.002)
    return guards(file)


class Group:
    """A memory control group."""
    def __init__(self, limit):
        self.dir = tempfile.mkdtemp(prefix="fastmap-kill.", dir=GROUPS)
        self.put("memory.limit_in_bytes", limit)
        with contextlib.suppress(OSError):
            self.put("memory.swappiness", 0)

    def put(self, name, value):
        with open("%s/%s" % (self.dir, name), "w") as f:
            f.write(str(value))

    def enter(self):
        self.put("cgroup.procs", 0)

    def pids(self):
        with open(self.dir + "/cgroup.procs") as f:
            return [int(x) for x in f]

    def kill(self):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def close(self):
        for _ in range(200):
            with contextlib.suppress(OSError):
                os.rmdir(self.dir)
                return
            self.kill()
            time.sleep(0.02)


def have_group():
    try:
        Group(1 << 30).close()
        return True
    except OSError:
        return False


def have_namespace():
    return subprocess.call(["unshare", "--fork", "--pid", "--mount-proc", "true"],
                           stderr=subprocess.DEVNULL) == 0


class Rounds:
    def __init__(self, args):
        self.args = args
        self.random = random.Random(args.seed)
        base = os.environ.get("FASTMAP_TEST_DIR", "/var/tmp")
        self.dir = tempfile.mkdtemp(prefix="fastmap-kill.", dir=base)
        self.file = self.dir + "/data/file"
        os.mkdir(self.dir + "/data")
        self.journal = tempfile.mktemp(prefix="fastmap-kill.", dir="/dev/shm")
        self.user = pwd.getpwnam(args.user)
        for path in self.dir, self.dir + "/data":
            os.chown(path, self.user.pw_uid, self.user.pw_gid)

    def environment(self, cache):
        env = {k: v for k, v in os.environ.items() if not k.startswith("FASTMAP_")}
        if not self.args.native:
            env.update(LD_PRELOAD=self.args.lib, FASTMAP_PATHS=self.dir + "/data",
                       FASTMAP_MIN_SIZE="0", FASTMAP_WARM="engine", FASTMAP_CACHE=cache,
                       FASTMAP_FAULTS=self.args.faults,
                       FASTMAP_SOCKET=self.dir + "/data/socket",
                       FASTMAP_WB_INTERVAL=str(self.args.wb_interval),
                       FASTMAP_GUARDIAN="0" if self.args.no_guardian else "1")
        return env

    def writer(self, end, mixes, after, cache, number, before=(), group=None):
        exe = os.path.join(self.args.build, "tests/faults/kill_writer")
        who = {}
        if os.geteuid() != 0 or not self.user.pw_uid:
            pass
        elif before or group:  # which only root can enter
            before = list(before) + ["setpriv", "--reuid=%d" % self.user.pw_uid,
                                     "--regid=%d" % self.user.pw_gid, "--clear-groups"]
        else:
            who = dict(user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[])
        return subprocess.Popen(
            list(before) + [exe, "-s", str(self.args.size), "-t", "4", "-e", end, "-a", str(after),
             "-r", str(number), "-m", mixes, self.file, self.journal],
            env=self.environment(cache), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, preexec_fn=group.enter if group else None,
            stderr=subprocess.PIPE, start_new_session=True, **who)

    def one(self, number, end, sig, mixes):
        cache = self.random.choice(["64K", "1M", "8M", "64M"])
        after = self.random.randrange(0, self.args.after)
        p = self.writer(end, mixes, after, cache, number)
        p.stdout.readline()
        if sig:
            time.sleep(after / 1000)
            p.send_signal(sig)
        try:
            p.wait(120)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            return ["did not end by itself within 120 s"]
        died = time.time()
        left = wait_for_guards(self.file, 60.0)
        self.guard_ms = (time.time() - died) * 1000
        bad = self.check()
        if left:
            bad.append("guardian still alive after 60 s: %s" % sorted(left))
        if bad:
            bad.append("cache %s, after %d ms, exit status %s" % (cache, after, p.returncode))
            bad += p.stderr.read().decode(errors="replace").splitlines()[-5:]
        self.close_pipes(p)
        return bad

    @staticmethod
    def close_pipes(p):
        for f in p.stdin, p.stdout, p.stderr:
            f.close()

    def versions(self):
        versions = array.array("I")
        with open(self.journal, "rb") as f:
            versions.frombytes(f.read())
        return versions

    def let_run(self, seconds):
        """While the program stores, for so long: time in which it is stopped
        does not count."""
        then, last = 0.0, self.versions()
        limit = time.monotonic() + 180
        while then < seconds and time.monotonic() < limit:
            begin = time.monotonic()
            time.sleep(0.25)
            now = self.versions()
            if now != last:
                then += min(time.monotonic() - begin, 0.5)
            last = now
        return then >= seconds

    def both(self, number, how, mixes):
        """Program and guardian end at once."""
        group = Group(160 << 20) if how in ("group", "oom") else None
        before = ["unshare", "--fork", "--pid", "--mount-proc"] if how == "namespace" else []
        end = "oom" if how == "oom" else "wait"
        # Not so small that dirty pages are written for room.
        p = self.writer(end, mixes, 0, "64M", number, before, group)
        p.stdout.readline()
        bad = []
        self.let_run(1.0)
        old = self.versions()
        bound = (self.args.wb_interval or 1000) / 1000 + TICK + SLACK
        if not self.let_run(bound):
            bad.append("it does not store")
        if not guards(self.file):
            bad.append("there is no guardian to kill")
        if how == "oom":
            with contextlib.suppress(BrokenPipeError):
                p.stdin.write(b"!")
                p.stdin.flush()
        elif how == "group":
            group.kill()
        else:  # unshare's child is the first process of the namespace
            with open("/proc/%d/task/%d/children" % (p.pid, p.pid)) as f:
                os.kill(int(f.read().split()[0]), signal.SIGKILL)
        try:
            p.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            bad.append("did not end by itself within 60 s")
        wait_for_guards(self.file, 60.0)
        if group:
            group.close()
        bad += self.check_newer(old)
        if bad:
            bad.append("exit status %s" % p.returncode)
            bad += p.stderr.read().decode(errors="replace").splitlines()[-5:]
        self.close_pipes(p)
        return bad

    def check_newer(self, old):
        """The file has that version of each line, or a later one. Counts what
        was lost of the last versions: none at all would mean that the guardian
        was still there."""
        last, lost = self.versions(), 0
        self.lines, missing = 0, []
        with open(self.file, "rb") as f:
            data = f.read()
        for i, v in enumerate(last):
            if not v:
                continue
            self.lines += 1
            have = self.newest(data[i * LINE:i * LINE + LINE], i * LINE)
            lost += have < v
            if have < old[i]:
                missing.append((i, old[i], data[i * LINE:i * LINE + LINE]))
        self.lost = lost
        return self.explain(missing)

    @staticmethod
    def newest(raw, off):
        found = 0
        for k in (0, 32):
            v = struct.unpack_from("<Q", raw, k)[0]
            if v and raw[k:k + 32] == slot(off, v):
                found = max(found, v)
        return found

    def check(self):
        versions = self.versions()
        bad = []
        self.lines = 0
        with open(self.file, "rb") as f, \
                mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
            for i, v in enumerate(versions):
                if not v:
                    continue
                self.lines += 1
                at = i * LINE + (v & 1) * 32
                if m[at:at + 32] != slot(i * LINE, v):
                    bad.append((i, v, m[i * LINE:i * LINE + LINE]))
        return self.explain(bad)

    @staticmethod
    def explain(bad):
        if not bad:
            return []
        out = ["%d lines lost, on %d pages" %
               (len(bad), len({i // 64 for i, _, _ in bad}))]
        for i, v, raw in bad[:6]:
            have = struct.unpack("<8Q", raw)
            out.append("line %d (page %d): journal %d, slots %d and %d%s" %
                       (i, i // 64, v, have[0], have[4], "".join(
                           " torn" for k in (0, 4)
                           if raw[k * 8:k * 8 + 32] != slot(i * LINE, have[k]) and any(have[k:k + 4]))))
        return out

    def fresh(self):
        for path in self.file, self.journal:
            if os.path.exists(path):
                os.unlink(path)

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)
        if os.path.exists(self.journal):
            os.unlink(self.journal)


def run_both(rounds, args):
    """(rounds, failed)"""
    can = {"namespace": have_namespace(), "group": have_group()}
    can["oom"] = can["group"]
    ran = failed = 0
    for n in range(args.both):
        how, mixes = BOTH[n % len(BOTH)]
        if args.native or args.only not in (None, how):
            continue
        if not can[how]:
            print("SKIPPED %s: cannot be made here (root, memory cgroup v1)" % how)
            continue
        rounds.fresh()
        bad = rounds.both(n + args.seed * 1000, how, mixes)
        ran += 1
        print("%s: %d lines, of %d the last store was lost" %
              (how, rounds.lines, rounds.lost))
        if bad:
            failed += 1
            print("FAIL %s" % how)
            for b in bad:
                print("     " + b)
    rounds.fresh()
    return ran, failed


def main():
    p = argparse.ArgumentParser(description="end programs at random instants")
    p.add_argument("build")
    p.add_argument("-n", type=int, default=len(CASES), help="rounds")
    p.add_argument("--size", type=int, default=8, help="file, MiB")
    p.add_argument("--after", type=int, default=300, help="longest run, ms")
    p.add_argument("--native", action="store_true")
    p.add_argument("--faults", default="auto")
    p.add_argument("--no-guardian", action="store_true",
                   help="must fail: shows that this test can")
    p.add_argument("--user", default=pwd.getpwuid(os.geteuid()).pw_name)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--only", help="only cases whose end has this name")
    p.add_argument("--mix", help="only cases with this in their mix")
    p.add_argument("--both", type=int, default=len(BOTH),
                   help="rounds that end the guardian too")
    p.add_argument("--wb-interval", type=int, default=1000, help="ms, 0: none")
    p.add_argument("--lib")
    args = p.parse_args()
    if not args.native and not args.lib:
        found = glob.glob(args.build + "/**/libfastmap.so", recursive=True)
        if not found:
            sys.exit("kill.py: no libfastmap.so in " + args.build)
        args.lib = os.path.abspath(found[0])
    cases = [c for c in CASES
             if (not args.only or c[0] == args.only) and (args.mix or "") in c[2]]
    rounds = Rounds(args)
    failed = slowest = lines = 0
    try:
        for n in range(args.n if cases else 0):
            case = cases[n % len(cases)]
            bad = rounds.one(n + args.seed * 1000, *case)
            if bad:
                failed += 1
                print("FAIL round %d: %s signal %s mix '%s'" % (n, case[0], case[1], case[2]))
                for b in bad:
                    print("     " + b)
                rounds.fresh()
            else:
                slowest = max(slowest, rounds.guard_ms)
                lines += rounds.lines
        both, both_failed = run_both(rounds, args)
    finally:
        rounds.close()
    print("kill: %d rounds, %d failed, %d lines checked, slowest flush %.0f ms" %
          (args.n * bool(cases) + both, failed + both_failed, lines, slowest))
    return 1 if failed or both_failed else 0


if __name__ == "__main__":
    sys.exit(main())
