# SPDX-License-Identifier: MIT
"""kraken_job.py make DIR BYTES | classify DIR"""
import hashlib
import json
import os
import random
import subprocess
import sys
import time

LIB = "/usr/lib/kraken2"
CELL, ROOM, MINIMIZER = 4, 100, 3  # bytes; cells a minimizer; bases a minimizer
GENOMES, READS, LENGTH = 20, 80, 150
BASES = bytes(b"ACGT"[i % 4] for i in range(256))


def bases(r, n):
    return r.randbytes(n).translate(BASES)


def genome(i, size):
    return bases(random.Random(i), size)


def reads(size):
    """Half of them of the genomes, half of none."""
    r = random.Random(99)
    for i in range(READS):
        g = genome(i % GENOMES, size) if i % 2 else bases(r, size)
        at = r.randrange(size - LENGTH)
        yield b">r%d\n%s\n" % (i, g[at:at + LENGTH])


def make(top, size):
    cells = size // CELL
    each = cells // ROOM * MINIMIZER // GENOMES
    new = top + ".new"
    os.makedirs(new + "/taxonomy", exist_ok=True)
    with open(new + "/taxonomy/nodes.dmp", "w") as f, \
            open(new + "/taxonomy/names.dmp", "w") as g, open(new + "/map", "w") as m:
        f.write("1\t|\t1\t|\tno rank\t|\t\t|\n")
        g.write("1\t|\troot\t|\t\t|\tscientific name\t|\n")
        for i in range(GENOMES):
            f.write(f"{i + 2}\t|\t1\t|\tspecies\t|\t\t|\n")
            g.write(f"{i + 2}\t|\tspecies {i}\t|\t\t|\tscientific name\t|\n")
            m.write(f"s{i}\t{i + 2}\n")
    p = subprocess.Popen([LIB + "/build_db", "-k", "35", "-l", "31", "-S", "0",
                          "-H", new + "/hash.k2d", "-t", new + "/taxo.k2d",
                          "-o", new + "/opts.k2d", "-n", new + "/taxonomy",
                          "-m", new + "/map", "-c", str(cells), "-p", "1"],
                         stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    for i in range(GENOMES):
        p.stdin.write(b">s%d\n%s\n" % (i, genome(i, each)))
    p.stdin.close()
    if p.wait():
        sys.exit(f"build_db ended with {p.returncode}")
    with open(new + "/reads.fa", "wb") as f:
        f.writelines(reads(each))
    os.rename(new, top)


def classify(top):
    t0 = time.monotonic()
    p = subprocess.run(["kraken2", "--db", top, "--memory-mapping", "--threads", "2",
                        top + "/reads.fa"], check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    lines = sorted(p.stdout.splitlines())
    print(json.dumps({"sum": hashlib.sha256(b"\n".join(lines)).hexdigest()[:16],
                      "seconds": time.monotonic() - t0,
                      "found": sum(x.startswith(b"C") for x in lines)}))


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    classify(sys.argv[2])
