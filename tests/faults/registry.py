#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The registry of processes is unlinked while a program stores (a logout may do that):
its claims in the new one must last as long as its guardian writes.

    registry.py DIR LIB    in a mount namespace of its own; prints what is wrong
"""
import os
import subprocess
import sys
import time

REGISTRY = "/dev/shm/fastmap-peers"
PROGRAM = """
import mmap, sys
f = open(sys.argv[1], "w+b")
f.truncate(1 << 20)
m = mmap.mmap(f.fileno(), 0)
m[0] = 1
print(flush=True)
sys.stdin.read()
"""


def registries(pid):
    """Of the process's descriptors, those of the registry that is there now."""
    try:
        now = os.stat(REGISTRY)
        found = [os.stat("/proc/%s/fd/%s" % (pid, n)) for n in os.listdir("/proc/%s/fd" % pid)]
    except OSError:
        return 0
    return sum(os.path.samestat(now, st) for st in found)


def guardians():
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%s/comm" % pid) as f:
                if f.read() == "fastmap-guard\n" and registries(pid):
                    yield pid
        except OSError:
            pass


def soon(what):
    for _ in range(100):
        if what():
            return True
        time.sleep(0.1)
    return False


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    d, lib = sys.argv[1:]
    subprocess.run(["mount", "--make-rprivate", "/"], check=True)
    subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/dev/shm"], check=True)
    p = subprocess.Popen([sys.executable, "-c", PROGRAM, d + "/stored"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, env=dict(os.environ, LD_PRELOAD=lib,
                                                          FASTMAP_PATHS=d, FASTMAP_WARM="engine"))
    p.stdout.readline()
    if not soon(lambda: list(guardians())):
        sys.exit("no guardian has the registry")
    pid = next(guardians())
    os.unlink(REGISTRY)
    if not soon(lambda: os.path.exists(REGISTRY) and registries(p.pid)):
        print("the program has not opened the new registry")
    elif not soon(lambda: registries(pid)):
        print("the guardian does not have the new registry")
    p.stdin.close()
    p.wait()


if __name__ == "__main__":
    main()
