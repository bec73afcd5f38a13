#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What was handed to the kernel for want of memory comes back when there is memory.

    tests/faults/returned.py DIR LIB FAULTS

A program and another process are in one control group. The other takes memory until
the program's file is the kernel's, and gives it back: soon the file is the engine's
again. The program stores to its pages and looks at them all the time; at the end all
of it is in the file. Exit status 77: there is no such control group.
"""
import json
import os
import socket
import subprocess
import sys
import time

from places import MIB, NoGroup, memory_group

LIMIT = 128 * MIB
SIZE = 160 * MIB
ROOM = 6 * MIB
PROGRAM = """
import mmap, os, random, sys, threading
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CLOEXEC)
m = mmap.mmap(fd, 0)
os.close(fd)
pages = len(m) // 4096
count, wrong, end = [0] * pages, 0, False
def use():
    global wrong
    while not end:
        i = random.randrange(pages)
        wrong += m[i * 4096] != i & 255 or m[i * 4096 + 9] != count[i]
        if i % 4 == 0:
            count[i] = (count[i] + 1) & 255
            m[i * 4096 + 9] = count[i]
t = threading.Thread(target=use)
t.start()
print("ready", flush=True)
sys.stdin.readline()
end = True
t.join()
m.close()
with open(sys.argv[1], "rb") as f:
    for i in range(pages):
        page = f.read(4096)
        wrong += page[0] != i & 255 or page[9] != count[i]
print(wrong, sum(map(bool, count)), flush=True)
"""
TAKER = """
import sys
taken = []
for line in sys.stdin:
    taken.append(bytearray(b"x") * (2 << 20))
    print(len(taken), flush=True)
"""


def make(path):
    with open(path, "wb") as f:
        for i in range(SIZE // 4096):
            f.write(bytes([i & 255]) + bytes(4095))
        os.fsync(f.fileno())
        os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def start(text, group, args=(), **more):
    def enter():
        with open(group + "/cgroup.procs", "w") as f:
            f.write("0")
    return subprocess.Popen([sys.executable, "-c", text, *args], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True, preexec_fn=enter, **more)


def say(p):
    print(file=p.stdin, flush=True)
    return p.stdout.readline()


def file_of(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(b"stats\n")
        return json.loads(b"".join(iter(lambda: s.recv(65536), b"")))["files"][0]


def anonymous(group):
    with open(group + "/memory.stat") as f:
        stat = dict(line.split() for line in f)
    return int(stat.get("total_rss") or stat.get("anon"))


def wait_for_room(group):
    """What the kernel cannot take is given back in time, if there is a CPU for it."""
    until = time.monotonic() + 2
    while anonymous(group) > LIMIT - ROOM and time.monotonic() < until:
        time.sleep(0.01)


def turn(p, group, sock):
    """To the kernel and back. Returns what went wrong."""
    with start(TAKER, group) as other:
        steps = 0
        while not file_of(sock)["demoted"] and steps < LIMIT // (2 * MIB):
            wait_for_room(group)
            if not say(other):
                return ["who takes memory was killed"]
            steps += 1
            time.sleep(0.01)
        other.stdin.close()
    was = file_of(sock)
    for _ in range(600):
        now = file_of(sock)
        if not now["demoted"] or p.poll() is not None:
            break
        time.sleep(0.01)
    return [] if "memory" in was.get("demote_why", "") and not now["demoted"] and now["promoted"] else [
        "after %d MiB: demoted %s (%s), in the end %s, promoted %s times" %
        (2 * steps, was["demoted"], was.get("demote_why"), now["demoted"], now["promoted"])]


def main():
    if len(sys.argv) != 4:
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    path, sock = sys.argv[1] + "/returned", sys.argv[1] + "/socket"
    make(path)
    env = {k: v for k, v in os.environ.items() if not k.startswith("FASTMAP_")}
    env.update(LD_PRELOAD=sys.argv[2], FASTMAP_PATHS=path, FASTMAP_WARM="engine",
               FASTMAP_PROMOTE="50", FASTMAP_SOCKET=sock, FASTMAP_FAULTS=sys.argv[3])
    try:
        with memory_group(LIMIT) as group, start(PROGRAM, group, [path], env=env) as p:
            p.stdout.readline()
            while not os.path.exists(sock):
                time.sleep(0.01)
            bad = turn(p, group, sock)
            wrong, stored = map(int, (say(p) or "-1 0").split())
            if wrong or not stored:
                bad.append("%d pages wrong, %d stored to" % (wrong, stored))
    except NoGroup as e:
        print(e)
        return 77
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
