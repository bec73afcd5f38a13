# SPDX-License-Identifier: MIT
"""fio's mmap engine without its hints, or with them, which is the hint here. Each job has
a file; each block that is read, and all that are left, are verified."""
import os
import subprocess
import sys

from .workload import Workload

JOB = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fio_job.py")


class Fio(Workload):
    figure, variants = "iops", ("hint",)
    own = 32 << 20  # its shared memory, Python
    verdict = "preload what reads or writes at random by several threads"

    def __init__(self, rw, jobs):
        self.rw, self.jobs = rw, jobs
        self.name = f"fio-{rw}-{jobs}"
        self.about = f"fio mmap, {rw}, 4 KiB, {jobs} thread" + ("s" if jobs > 1 else "")

    def fio(self, place, *options):
        """Each job has a file: of several jobs of one file all map its beginning."""
        size = int(self.bytes * place.scale) // self.jobs >> 20 << 20
        return [place.debian("fio", "fio"), "--name=x", "--ioengine=psync", "--thread",
                "--verify=crc32c", "--verify_state_save=0", "--bs=4k",
                f"--directory={place.where}",
                f"--filename_format=fio.{self.jobs}.$jobnum", f"--size={size}",
                f"--numjobs={self.jobs}", "--group_reporting", *options]

    def make(self, place):
        subprocess.run(self.fio(place, "--rw=write", "--do_verify=0"), check=True,
                       stdout=subprocess.DEVNULL)

    def command(self, place, variant):
        return [sys.executable, JOB, *self.fio(
            place, "--ioengine=mmap", f"--rw={self.rw}", "--do_verify=0", "--time_based",
            "--runtime=4", "--output-format=json", f"--fadvise_hint={1 if variant else 0}")]

    def after(self, place):
        if "write" not in self.rw:
            return ""
        p = subprocess.run(self.fio(place, "--rw=read"), capture_output=True, text=True,
                           check=False)
        return f", left {p.returncode} {p.stderr[-300:]}"


EVERY = [Fio(rw, jobs) for rw in ("randread", "randwrite", "read", "write")
         for jobs in (1, 8, 32)]
