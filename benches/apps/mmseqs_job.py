# SPDX-License-Identifier: MIT
"""mmseqs_job.py make DIR BYTES | search DIR SCRATCH LOADMODE"""
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time

FIXED, EACH = 400 << 20, 8  # bytes of an index: of any, and a residue
LENGTH, QUERIES, CHANGED = 350, 8, 60
AMINO = bytes(b"ACDEFGHIKLMNPQRSTVWY"[i % 20] for i in range(256))


def mmseqs(*args):
    subprocess.run(["mmseqs", *args, "-v", "1"], check=True, stdout=subprocess.DEVNULL)


def proteins(r, n):
    for i in range(n):
        yield i, r.randbytes(LENGTH).translate(AMINO)


def changed(r, protein):
    out = bytearray(protein)
    for _ in range(CHANGED):
        out[r.randrange(LENGTH)] = AMINO[r.randrange(256)]
    return bytes(out)


def write(path, some):
    with open(path, "wb") as f:
        f.writelines(b">p%d\n%s\n" % x for x in some)


def make(top, size):
    n = max(size - FIXED, size // 10) // EACH // LENGTH
    new = top + ".new"
    os.makedirs(new, exist_ok=True)
    write(new + "/all.fa", proteins(random.Random(5), n))
    r = random.Random(6)
    write(new + "/some.fa", ((i, changed(r, p)) for i, p in proteins(random.Random(5), n)
                             if i % (n // QUERIES) == 1))
    mmseqs("createdb", new + "/all.fa", new + "/all")
    mmseqs("createdb", new + "/some.fa", new + "/some")
    mmseqs("createindex", new + "/all", new + "/tmp", "-k", "5", "-s", "4", "--threads", "2")
    os.rename(new, top)


def search(top, scratch, mode):
    t0 = time.monotonic()
    with tempfile.TemporaryDirectory(dir=scratch) as tmp:
        mmseqs("search", top + "/some", top + "/all", tmp + "/out", tmp, "-k", "5", "-s",
               "4", "--split", "1", "--threads", "2", "--db-load-mode", mode)
        mmseqs("convertalis", top + "/some", top + "/all", tmp + "/out", tmp + "/out.m8",
               "--db-load-mode", mode)
        seconds = time.monotonic() - t0
        with open(tmp + "/out.m8", "rb") as f:
            lines = sorted(f)
    print(json.dumps({"sum": hashlib.sha256(b"".join(lines)).hexdigest()[:16],
                      "seconds": round(seconds, 2), "found": len(lines)}))


if sys.argv[1] == "make":
    make(sys.argv[2], int(sys.argv[3]))
else:
    search(*sys.argv[2:5])
