#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""No store is lost, however the program ends.

    tests/faults/kill.py BUILD_DIR [-n ROUNDS] [--native] [--user NAME] [--seed N]

Each round runs kill_writer, ends it at a random instant, waits for what the
library still has to write back, and then demands of the file, read natively,
every line's version that the journal (which lives in /dev/shm) says was
completed. Rounds use the same file again, so that old versions that reappear
are caught too.
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
    ("kill", None, "u"), ("abort", None, ""), ("segv", None, ""),
    ("_exit", None, "u"), ("quick_exit", None, ""), ("exit", None, "a"),
    ("exec", None, "u"), ("exec_failed", None, ""), ("fork", None, ""),
    ("main_exits", signal.SIGKILL, "u"),
]


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
                       FASTMAP_GUARDIAN="0" if self.args.no_guardian else "1")
        return env

    def writer(self, end, mixes, after, cache, number):
        exe = os.path.join(self.args.build, "tests/faults/kill_writer")
        who = {}
        if os.geteuid() == 0 and self.user.pw_uid:
            who = dict(user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[])
        return subprocess.Popen(
            [exe, "-s", str(self.args.size), "-t", "4", "-e", end, "-a", str(after),
             "-r", str(number), "-m", mixes, self.file, self.journal],
            env=self.environment(cache), stdout=subprocess.PIPE,
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
            p.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(p.pid, signal.SIGKILL)
            p.wait()
            return ["did not end by itself within 30 s"]
        died = time.time()
        left = wait_for_guards(self.file, 2.0)
        self.guard_ms = (time.time() - died) * 1000
        bad = self.check()
        if left:
            bad.append("guardian still alive after 2 s: %s" % sorted(left))
        if bad:
            bad.append("cache %s, after %d ms, exit status %s" % (cache, after, p.returncode))
            bad += p.stderr.read().decode(errors="replace").splitlines()[-5:]
        p.stdout.close()
        p.stderr.close()
        return bad

    def check(self):
        versions = array.array("I")
        with open(self.journal, "rb") as f:
            versions.frombytes(f.read())
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
    p.add_argument("--lib")
    args = p.parse_args()
    if not args.native and not args.lib:
        found = glob.glob(args.build + "/**/libfastmap.so", recursive=True)
        if not found:
            sys.exit("kill.py: no libfastmap.so in " + args.build)
        args.lib = os.path.abspath(found[0])
    cases = [c for c in CASES if not args.only or c[0] == args.only]
    rounds = Rounds(args)
    failed = slowest = lines = 0
    try:
        for n in range(args.n):
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
    finally:
        rounds.close()
    print("kill: %d rounds, %d failed, %d lines checked, slowest flush %.0f ms" %
          (args.n, failed, lines, slowest))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
