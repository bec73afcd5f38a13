#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A program is killed while a slow device has its writes.

    tests/faults/slow.py DIR LIB

DIR is on a block device, which a control group makes slow for the program. It stores
to all of a file, is killed in msync, and as soon as nothing of it is left the file is
written anew, natively, and synced. The dead program's writes must not come after
that. Exit status 77: there is no such control group.
"""
import glob
import mmap
import os
import signal
import subprocess
import sys
import tempfile
import time

SIZE = 6 << 20
RATE = 1 << 20  # bytes a second
WRITER = """
import mmap, sys
with open(sys.argv[1], "r+b") as f:
    m = mmap.mmap(f.fileno(), 0)
for at in range(0, len(m), 4096):
    m[at] = 2
m.flush()
"""


def group_of(path):
    """A control group to which the device of path is slow."""
    old = os.path.exists("/sys/fs/cgroup/blkio")
    group = tempfile.mkdtemp(prefix="fastmap-slow.",
                             dir="/sys/fs/cgroup/" + ("blkio" if old else ""))
    dev = os.stat(path).st_dev
    limit = "%d:%d %s%d" % (os.major(dev), os.minor(dev), "" if old else "wbps=", RATE)
    try:
        with open(group + ("/blkio.throttle.write_bps_device" if old else "/io.max"), "w") as f:
            f.write(limit)
    except OSError:
        os.rmdir(group)
        raise
    return group


def guarded(file):
    for comm in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(comm) as f, open(os.path.dirname(comm) + "/cmdline", "rb") as c:
                if f.read().strip() == "fastmap-guard" and file.encode() in c.read():
                    return True
        except OSError:
            pass
    return False


def killed_in_msync(file, lib, group):
    def enter():
        with open(group + "/cgroup.procs", "w") as f:
            f.write("0")
    env = {k: v for k, v in os.environ.items() if not k.startswith("FASTMAP_")}
    env.update(LD_PRELOAD=lib, FASTMAP_PATHS=os.path.dirname(file), FASTMAP_WARM="engine",
               FASTMAP_WB_INTERVAL="0", FASTMAP_CACHE="64M")
    with subprocess.Popen([sys.executable, "-c", WRITER, file], env=env, preexec_fn=enter) as p:
        time.sleep(1.5)  # it cannot tell: what is dirty would be written first
        p.send_signal(signal.SIGKILL)
        p.wait()
    while guarded(file):
        time.sleep(0.01)


def on_device(file):
    with mmap.mmap(-1, SIZE) as data:
        fd = os.open(file, os.O_RDONLY | os.O_DIRECT)
        os.readv(fd, [data])
        os.close(fd)
        return data[:]


def fill(file, byte):
    """Nobody has it open afterwards, or the kernel would be left to serve it."""
    fd = os.open(file, os.O_RDWR | os.O_CREAT, 0o644)
    os.pwrite(fd, byte * SIZE, 0)
    os.fsync(fd)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(fd)


def stored(file):
    with open(file, "rb") as f:
        return set(f.read()[::4096])


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 0 if sys.argv[1:] in (["-h"], ["--help"]) else 2
    file, lib = sys.argv[1] + "/slow", sys.argv[2]
    fill(file, b"\1")
    try:
        group = group_of(file)
    except OSError as e:
        print("no control group for devices: %s" % e)
        return 77
    try:
        killed_in_msync(file, lib, group)
        after = stored(file)
        fill(file, b"\3")
        time.sleep(SIZE / RATE + 1)
    finally:
        os.rmdir(group)
    old = sum(b != 3 for b in on_device(file)[::4096])
    if after != {2} or old:
        print("after the death: %s; %d pages written over after fsync" % (after, old))
    return 1 if after != {2} or old else 0


if __name__ == "__main__":
    sys.exit(main())
