# SPDX-License-Identifier: MIT
"""Devices to measure on: this one, throttled, as fast as memory, far away."""
import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time

from . import system

BLKIO = "/sys/fs/cgroup/blkio"
# Name: what it stands for, and how it is made.
THROTTLED = {  # operations and bytes a second, reads and writes each
    "disk": (150, 150_000_000),
    "cloud": (5_000, 200_000_000),
    "ssd": (50_000, 1_000_000_000),
}
FAR = {  # latency in us, requests at once, MB/s
    "far1": (1_000, 64, 1_000), "far1serial": (1_000, 1, 1_000),
    "far5": (5_000, 64, 1_000), "far5serial": (5_000, 1, 1_000),
    "far20": (20_000, 64, 1_000), "far20serial": (20_000, 1, 1_000),
}
MEMORY = ("zram", "tmpfs")
NAMES = ("this", *THROTTLED, *FAR, "sshfs", *MEMORY)
SCALE = 1 << 30  # bytes of a device that is memory, where nothing else is said


class NoDevice(Exception):
    """Not to be had on this machine; the text says what is missing."""


def about(name):
    if name in THROTTLED:
        return "this disk, throttled to %d operations/s and %d MB/s" % (
            THROTTLED[name][0], THROTTLED[name][1] // 1_000_000)
    if name in FAR:
        return "FUSE, %g ms, %d at once, %d MB/s" % (
            FAR[name][0] / 1000, *FAR[name][1:])
    return {"this": "this disk", "zram": "ext4 on zram", "tmpfs": "tmpfs",
            "sshfs": "sshfs, from a server on this machine"}[name]


def number_of(path):
    """Of the whole disk under path: limits of a partition are its disk's."""
    st = os.stat(path)
    at = f"/sys/dev/block/{os.major(st.st_dev)}:{os.minor(st.st_dev)}"
    if not os.path.exists(at):
        raise NoDevice(f"{path} is on no block device")
    if os.path.exists(at + "/partition"):
        at = os.path.join(os.path.realpath(at), "..")
    return system.read(at + "/dev")


@contextlib.contextmanager
def throttled(path, ops, rate):
    """This process and its children, until it is over."""
    if not os.path.exists(BLKIO):
        raise NoDevice("throttling needs the blkio controller of cgroup v1")
    dev = number_of(path)
    group = os.path.join(BLKIO, f"fmbench.{os.getpid()}")
    os.mkdir(group)
    try:
        for way in ("read", "write"):
            system.write(f"{group}/blkio.throttle.{way}_iops_device", f"{dev} {ops}")
            system.write(f"{group}/blkio.throttle.{way}_bps_device", f"{dev} {rate}")
        system.write(f"{group}/cgroup.procs", os.getpid())
        yield path
    finally:
        system.write(f"{BLKIO}/cgroup.procs", os.getpid())
        for _ in range(200):
            with contextlib.suppress(OSError):
                os.rmdir(group)
                break
            time.sleep(0.05)


@contextlib.contextmanager
def mounted(where, command, *args):
    """command mounts at where, and may go on running."""
    server = subprocess.Popen([command, *args])
    try:
        for _ in range(200):
            if os.path.ismount(where):
                break
            if server.poll():
                raise NoDevice(f"{command} ended with status {server.returncode}")
            time.sleep(0.02)
        yield where
    finally:
        # lazily: what has just ended may hold it for a moment
        subprocess.run(["umount", "-l", where], check=False)
        server.wait()


@contextlib.contextmanager
def far(base, tool, latency, parallel, rate, waiting=128):
    """waiting: requests for nobody that the kernel has under way; of FUSE itself 12."""
    if not os.path.exists(tool):
        raise NoDevice("slowfs is not built (Debian: libfuse3-dev)")
    if not os.path.exists("/dev/fuse"):
        raise NoDevice("no /dev/fuse")
    below = os.path.join(base, "far")
    os.makedirs(below, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fmbench.far.") as where:
        with mounted(where, tool, below, where, str(latency), str(parallel),
                     str(rate), "-o", f"allow_other,max_background={waiting}",
                     "-o", f"congestion_threshold={waiting if waiting > 12 else 9}"):
            yield where


def sshd(folder):
    """A server of ours on loopback, whose only key is a new one. (process, port)"""
    for need in ("sshfs", "ssh-keygen", "/usr/sbin/sshd"):
        if not shutil.which(need):
            raise NoDevice(f"no {need} (Debian: sshfs, openssh-server)")
    for key in ("host", "user"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", f"{folder}/{key}"],
                       check=True)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    os.makedirs("/run/sshd", exist_ok=True)
    options = {"ListenAddress": "127.0.0.1", "HostKey": f"{folder}/host", "PidFile": "none",
               "AuthorizedKeysFile": f"{folder}/user.pub", "StrictModes": "no",
               "PasswordAuthentication": "no", "PermitRootLogin": "prohibit-password",
               "Subsystem": "sftp internal-sftp"}
    return subprocess.Popen(["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-p", str(port),
                             *(a for k, v in options.items() for a in ("-o", f"{k}={v}"))]), port


@contextlib.contextmanager
def sshfs(base):
    below = os.path.join(base, "far")
    os.makedirs(below, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fmbench.ssh.") as keys, \
            tempfile.TemporaryDirectory(prefix="fmbench.sshfs.") as where:
        server, port = sshd(keys)
        try:
            time.sleep(0.5)
            with mounted(where, "sshfs", "-f", f"127.0.0.1:{os.path.abspath(below)}", where,
                         "-p", str(port), "-o", f"allow_other,IdentityFile={keys}/user",
                         "-o", "StrictHostKeyChecking=no,UserKnownHostsFile=/dev/null,"
                         "LogLevel=ERROR"):
                yield where
        finally:
            server.terminate()
            server.wait()


@contextlib.contextmanager
def tmpfs(size):
    with tempfile.TemporaryDirectory(prefix="fmbench.tmpfs.") as where:
        with mounted(where, "mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", where):
            yield where


@contextlib.contextmanager
def profile(name, base, tool, size=SCALE):
    """A folder on that device. base: a folder on this machine's disk; tool: slowfs;
    size: bytes that files may have there, where the device is memory."""
    from . import zram  # which uses this file's neighbours, too
    os.makedirs(base, exist_ok=True)
    with contextlib.ExitStack() as stack:
        if name == "this":
            yield base
        elif name in THROTTLED:
            yield stack.enter_context(throttled(base, *THROTTLED[name]))
        elif name in FAR:
            yield stack.enter_context(far(base, tool, *FAR[name]))
        elif name == "sshfs":
            yield stack.enter_context(sshfs(base))
        elif name == "tmpfs":
            yield stack.enter_context(tmpfs(size + size // 4))
        else:
            dev = stack.enter_context(zram.device(size + size // 4))
            if not dev:
                raise NoDevice("no zram")
            yield stack.enter_context(zram.mounted(dev))
