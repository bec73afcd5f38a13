# SPDX-License-Identifier: MIT
"""File systems for tests/faults/run: small, failing, or unlike others."""
import contextlib
import os
import re
import subprocess
import tempfile
import time

MIB = 1 << 20


def sh(*args):
    subprocess.run(args, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


MAKE = {
    "ext4": ["mkfs.ext4", "-q", "-b", "4096", "-O", "^has_journal", "-m", "0"],
    "xfs": ["mkfs.xfs", "-q"],
    "btrfs": ["mkfs.btrfs", "-q"],
}


def written_directly(mnt):
    """A loop device may ask for stable pages (that of Linux 6.18 does). Most devices do
    not: what is stored goes to them directly, and not through the page cache."""
    dev = os.stat(mnt).st_dev
    with contextlib.suppress(OSError), \
            open("/sys/dev/block/%d:%d/queue/stable_writes" % (os.major(dev), os.minor(dev)), "w") as f:
        f.write("0")


@contextlib.contextmanager
def small_fs(s, name, kind="ext4", size=32 * MIB, keep=0):
    """`keep`: all but so many bytes of it are taken already."""
    image, mnt = "%s/%s.img" % (s.dir, name), "%s/%s" % (s.dir, name)
    os.mkdir(mnt)
    with open(image, "w") as f:
        f.truncate(size)
    sh(*MAKE[kind], image)
    sh("mount", "-t", kind, "-o", "loop" + (",errors=continue" if kind == "ext4" else ""),
       image, mnt)
    try:
        written_directly(mnt)
        if keep:
            v = os.statvfs(mnt)
            sh("fallocate", "-l", str(v.f_bavail * v.f_frsize - keep), mnt + "/taken")
            sh("sync", "-f", mnt)
        yield mnt
    finally:
        sh("umount", "-l", mnt)
        os.unlink(image)


def removed(number):
    try:
        with open("/sys/block/zram%s/reset" % number, "w") as f:
            f.write("1")
        with open("/sys/class/zram-control/hot_remove", "w") as f:
            f.write(number)
    except OSError:
        return False
    return True


@contextlib.contextmanager
def memory_fs(s, name, size=64 * MIB):
    """An ext4 on a device as fast as memory (zram)."""
    number = None
    mnt = "%s/%s" % (s.dir, name)
    os.mkdir(mnt)
    with open("/sys/class/zram-control/hot_add") as f:  # makes one
        number = f.read().strip()
    try:
        with open("/sys/block/zram%s/disksize" % number, "w") as f:
            f.write(str(size))
        sh(*MAKE["ext4"], "/dev/zram" + number)
        sh("mount", "/dev/zram" + number, mnt)
        try:
            yield mnt
        finally:
            sh("umount", mnt)
    finally:
        until = time.time() + 5  # the kernel may have it open a moment longer
        while not removed(number) and time.time() < until:
            time.sleep(0.01)


@contextlib.contextmanager
def failing_fs(s, name):
    mnt = "%s/%s" % (s.dir, name)
    os.mkdir(mnt)
    p = subprocess.Popen([s.program("faults/failing_fs"), mnt], stdout=subprocess.PIPE)
    try:
        if p.stdout.readline() != b"mounted\n":
            raise FileNotFoundError("no FUSE: exit status %s" % p.wait())
        yield mnt
    finally:
        subprocess.run(["umount", "-l", mnt], stderr=subprocess.DEVNULL, check=False)
        with contextlib.suppress(subprocess.TimeoutExpired):
            p.wait(10)
        p.kill()
        p.wait()
        p.stdout.close()


def first_block(path):
    """Physical position of a file in its file system, bytes."""
    out = subprocess.run(["filefrag", "-v", path], check=True, stdout=subprocess.PIPE)
    at = re.search(r"^\s*0:\s+0\.\.\s*\d+:\s+(\d+)\.\.", out.stdout.decode(), re.M)
    return int(at.group(1)) * 4096


@contextlib.contextmanager
def failing_ext4(s, name, kind):
    """An ext4 on a loop device on a tmpfs. `read`: the backing file ends
    before the file's blocks. `write`: they are holes of a full tmpfs."""
    base = "%s/%s" % (s.dir, name)
    os.mkdir(base)
    sh("mount", "-t", "tmpfs", "-o", "size=24M", "tmpfs", base)
    image, mnt = base + "/img", base + "/mnt"
    os.mkdir(mnt)
    try:
        with open(image, "w") as f:
            f.truncate(64 * MIB)
        sh("mkfs.ext4", "-q", "-b", "4096", "-O", "^has_journal", "-E", "nodiscard,lazy_itable_init=0", image)
        sh("mount", "-o", "loop,errors=continue", image, mnt)
        try:
            written_directly(mnt)
            bad = mnt + "/bad"
            with open(bad, "wb") as f:
                f.write(os.urandom(4096) * 256)
                os.fsync(f.fileno())
            at = first_block(bad)
            sh("sync")
            with open(image, "r+b") as f:
                if kind == "read":
                    f.truncate(at)
                else:
                    sh("fallocate", "-p", "-o", str(at), "-l", str(MIB), image)
            if kind == "write":
                with contextlib.suppress(OSError), open(base + "/ballast", "wb") as f:
                    while True:
                        f.write(bytes(4096))
                        f.flush()
            with open(bad, "rb") as f:  # of the whole machine others would miss it
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            yield mnt
        finally:
            with contextlib.suppress(OSError):
                os.unlink(base + "/ballast")
            sh("umount", "-l", mnt)
    finally:
        sh("umount", "-l", base)


@contextlib.contextmanager
def overlay_on(base):
    """Everything of it on the file system of `base`."""
    for d in "lower", "upper", "work", "mnt":
        os.mkdir("%s/%s" % (base, d))
    sh("mount", "-t", "overlay", "overlay", "-o", "lowerdir=%s/lower,upperdir=%s/upper,"
       "workdir=%s/work" % (base, base, base), base + "/mnt")
    try:
        yield base + "/mnt"
    finally:
        sh("umount", "-l", base + "/mnt")


@contextlib.contextmanager
def overlay(s, name):
    """The upper layer on another file system: stat and maps differ in device."""
    base = "%s/%s" % (s.dir, name)
    for d in "lower", "top", "mnt":
        os.makedirs("%s/%s" % (base, d))
    sh("mount", "-t", "tmpfs", "-o", "size=64M", "tmpfs", base + "/top")
    try:
        os.mkdir(base + "/top/upper")
        os.mkdir(base + "/top/work")
        sh("mount", "-t", "overlay", "overlay", "-o", "lowerdir=%s/lower,upperdir=%s/top/upper,"
           "workdir=%s/top/work" % (base, base, base), base + "/mnt")
        try:
            yield base + "/mnt"
        finally:
            sh("umount", "-l", base + "/mnt")
    finally:
        sh("umount", "-l", base + "/top")


class NoGroup(Exception):
    """There is no such control group here: what needs it is skipped, and nothing else is."""


def new_group(old, size):
    base = "/sys/fs/cgroup/memory" if old else "/sys/fs/cgroup"
    group = None
    try:
        group = tempfile.mkdtemp(prefix="fastmap-faults.", dir=base)
        with open(group + ("/memory.limit_in_bytes" if old else "/memory.max"), "w") as f:
            f.write(str(size))
    except OSError as e:
        if group:
            os.rmdir(group)
        raise NoGroup("no memory control group: %s" % e) from e
    return group


@contextlib.contextmanager
def memory_group(size):
    """A control group with a limit, without swap; NoGroup where that cannot be."""
    old = os.path.exists("/sys/fs/cgroup/memory/memory.limit_in_bytes")
    group = new_group(old, size)
    try:
        with contextlib.suppress(OSError):
            with open(group + ("/memory.memsw.limit_in_bytes" if old else "/memory.swap.max"), "w") as f:
                f.write(str(size) if old else "0")
        yield group
    finally:
        for _ in range(100):  # the guardian may need a moment to leave
            with contextlib.suppress(OSError):
                os.rmdir(group)
            if not os.path.isdir(group):
                break
            time.sleep(0.05)
