#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose device is slow.

    tests/faults/slow.py DIR LIB

DIR is on a block device, which a control group makes slow for the programs. Exit
status 77: there is no such control group.

One stores to all of a file, is killed in msync, and as soon as nothing of it is left
the file is written anew, natively, and synced. The dead program's writes must not
come after that.

The other stores to a new file and tells so, several times. The device takes long for
the first; whoever is told later must see what has been stored all the same.
"""
import glob
import mmap
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

SIZE = 2 << 20
RATE = 2 << 20  # bytes a second
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
    try:
        limit(group, path, RATE)
    except OSError:
        os.rmdir(group)
        raise
    return group


def limit(group, path, rate):
    """Bytes a second; 0: as many as it can."""
    old = os.path.exists(group + "/blkio.throttle.write_bps_device")
    dev = os.stat(path).st_dev
    with open(group + ("/blkio.throttle.write_bps_device" if old else "/io.max"), "w") as f:
        f.write("%d:%d %s%s" % (os.major(dev), os.minor(dev), "" if old else "wbps=",
                                rate or ("0" if old else "max")))


def guarded(file):
    for comm in glob.glob("/proc/[0-9]*/comm"):
        try:
            with open(comm) as f, open(os.path.dirname(comm) + "/cmdline", "rb") as c:
                if f.read().strip() == "fastmap-guard" and file.encode() in c.read():
                    return True
        except OSError:
            pass
    return False


def start(program, file, lib, group, **more):
    def enter():
        with open(group + "/cgroup.procs", "w") as f:
            f.write("0")
    env = {k: v for k, v in os.environ.items() if not k.startswith("FASTMAP_")}
    env.update(LD_PRELOAD=lib, FASTMAP_PATHS=os.path.dirname(file), FASTMAP_WARM="engine",
               FASTMAP_MIN_SIZE="0", FASTMAP_WB_INTERVAL="0", FASTMAP_CACHE="64M")
    return subprocess.Popen([sys.executable, "-c", program, file], env=env, preexec_fn=enter, **more)


def written(group, path):
    """Bytes of the group's that the device of path was asked to write, so far."""
    dev = os.stat(path).st_dev
    name = "%d:%d" % (os.major(dev), os.minor(dev))
    new = group + "/io.stat"
    with open(new if os.path.exists(new) else group + "/blkio.throttle.io_service_bytes") as f:
        m = re.search(r"^%s (?:Write |.*wbytes=)(\d+)" % name, f.read(), re.M)
    return int(m.group(1)) if m else 0


def killed_in_msync(file, lib, group):
    """It cannot tell that it is there: what is dirty would be written first."""
    before, end = written(group, file), time.time() + 60
    with start(WRITER, file, lib, group) as p:
        while written(group, file) == before and p.poll() is None and time.time() < end:
            time.sleep(0.01)
        p.send_signal(signal.SIGKILL)
        if p.wait() != -signal.SIGKILL or written(group, file) == before:
            raise RuntimeError("it was not killed in the middle of its writes")
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


TELLER = """
import mmap, sys
for k in range(int(sys.stdin.readline())):
    with open("%s.%d" % (sys.argv[1], k), "r+b") as f:
        m = mmap.mmap(f.fileno(), 0)
    m[0] = m[8192] = 7
    print(k, flush=True)
    sys.stdin.readline()
    m.close()
"""
TOLD = 6


def told_too_early(file, lib, group):
    """Of TOLD files those in which what was stored is not to be seen; how long the
    first took, in seconds."""
    old, took = [], 0
    for k in range(TOLD):
        with open("%s.%d" % (file, k), "wb") as f:
            f.write(bytes(16384))
            os.fsync(f.fileno())
    limit(group, os.path.dirname(file), 16384)
    with start(TELLER, file, lib, group, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as p:
        begin = time.time()
        print(TOLD, file=p.stdin, flush=True)
        for k in range(TOLD):
            if p.stdout.readline().strip() != str(k):
                raise RuntimeError("the program that tells has ended")
            took = took or time.time() - begin
            limit(group, os.path.dirname(file), 0)
            with open("%s.%d" % (file, k), "rb") as f:
                old += [k] if f.read()[::8192] != b"\7\7" else []
            print(file=p.stdin, flush=True)
    return old, took


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
        early, took = told_too_early(file, lib, group)
        limit(group, os.path.dirname(file), RATE)
        killed_in_msync(file, lib, group)
        after = stored(file)
        fill(file, b"\3")
        limit(group, os.path.dirname(file), 0)  # what is still in flight comes at once
        time.sleep(0.5)
    finally:
        os.rmdir(group)
    old = sum(b != 3 for b in on_device(file)[::4096])
    if after != {2} or old:
        print("after the death: %s; %d pages written over after fsync" % (after, old))
    if early:
        print("told after %.2f s; what was stored before is missing in files %s" % (took, early))
    if took < 0.3:
        print("the first write was not slow (%.2f s), as through the page cache: who is "
              "told cannot be tested" % took)
    return 1 if after != {2} or old or early else 0


if __name__ == "__main__":
    sys.exit(main())
