# SPDX-License-Identifier: MIT
"""Random reads of a program that gives MADV_RANDOM, on a device as fast as memory."""
import contextlib
import os
import subprocess
import tempfile

from . import pairs, suite, system

SIZE, LIMIT = 1280 << 20, 256 << 20
CONTROL = "/sys/class/zram-control"
WORK = [(p, t) for p in ("uniform", "zipf") for t in (1, 8)]


@contextlib.contextmanager
def device(size):
    """A new zram device; None where there are none."""
    if not os.path.exists(CONTROL):
        print("  no zram here (modprobe zram), skipped", flush=True)
        yield None
        return
    number = system.read(CONTROL + "/hot_add")
    try:
        system.write(f"/sys/block/zram{number}/disksize", size)
        yield f"/dev/zram{number}"
    finally:
        system.write(CONTROL + "/hot_remove", number)


@contextlib.contextmanager
def mounted(dev):
    with tempfile.TemporaryDirectory(prefix="fmbench.zram.") as where:
        subprocess.run(["mkfs.ext4", "-q", "-O", "^has_journal", dev], check=True)
        subprocess.run(["mount", dev, where], check=True)
        try:
            yield where
        finally:
            subprocess.run(["umount", where], check=True)


def figures(m, gen, preload):
    for pattern, threads in WORK:
        r = m.run([m.tool("mapload"), "--file", m.file, "--gen", str(gen),
                   "--pattern", pattern, "--threads", str(threads), "--seconds", "0.7",
                   "--hint", "random", "--prefill", str(LIMIT)],
                  preload=preload, extra={"FASTMAP_CACHE": "auto"})
        if not r["result"] or r["result"]["wrong"]:
            raise RuntimeError(f"zram {pattern}: {r['stderr']}")
        yield (f"zram, {pattern}, {threads} thread{'s' * (threads > 1)}", "k/s",
               r["result"]["rate"] / 1e3)


def run(machine, rounds):
    with device(SIZE + SIZE // 4) as dev:
        if not dev:
            return []
        with mounted(dev) as where:
            path = os.path.join(where, "data")
            data = suite.DataFile(path, SIZE, machine.tool("datafile"))
            m = system.Machine(machine.build, path, LIMIT, 85, False)
            return pairs.measure(lambda preload: figures(m, data.gen, preload), rounds)
