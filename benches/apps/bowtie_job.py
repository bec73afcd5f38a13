# SPDX-License-Identifier: MIT
"""bowtie_job.py make DIR BYTES | align DIR"""
import hashlib
import json
import os
import random
import subprocess
import sys
import time

EACH = 5  # bytes of an index, a base
READS, LENGTH, LINE = 2000, 100, 1 << 16
BASES = bytes(b"ACGT"[i % 4] for i in range(256))


def make(top, size):
    new, n = top + ".new", int(size / EACH)
    os.makedirs(new, exist_ok=True)
    genome = random.Random(7).randbytes(n).translate(BASES)
    r = random.Random(8)
    with open(new + "/genome.fa", "wb") as f:
        f.write(b">g\n")
        f.writelines(genome[i:i + LINE] + b"\n" for i in range(0, n, LINE))
    with open(new + "/reads.fa", "wb") as f:
        for i in range(READS):
            at = r.randrange(n - LENGTH)
            read = bytearray(genome[at:at + LENGTH])
            read[r.randrange(LENGTH)] = BASES[i % 4]
            f.write(b">r%d\n%s\n" % (i, read))
    subprocess.run(["bowtie2-build", "-q", "--threads", "2", "--offrate", "1",
                    new + "/genome.fa", new + "/index"], check=True)
    os.remove(new + "/genome.fa")
    os.rename(new, top)


def align(top):
    t0 = time.monotonic()
    p = subprocess.run(["bowtie2", "--mm", "-f", "-p", "2", "--no-hd", "-x", top + "/index",
                        "-U", top + "/reads.fa"], check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = sorted(p.stdout.splitlines(True))
    print(json.dumps({"sum": hashlib.sha256(b"".join(lines)).hexdigest()[:16],
                      "seconds": round(time.monotonic() - t0, 2), "reads": len(lines)}))


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    align(sys.argv[2])
