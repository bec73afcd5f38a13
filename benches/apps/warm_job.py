# SPDX-License-Identifier: MIT
"""warm_job.py make DIR BYTES | twice DIR PAGES plain|random | start DIR PAGES plain|random"""
import json
import mmap
import os
import random
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

FILES, THREADS, PAGE = 128, 4, 4096


def make(top, size):
    os.makedirs(top + ".new")
    for i in range(FILES):
        with open(f"{top}.new/{i}", "wb") as f:
            f.write(random.Random(i).randbytes(int(size) // FILES // PAGE * PAGE))
    os.rename(top + ".new", top)


def start(top, pages, advice):
    began = time.monotonic()
    every = []
    for i in range(FILES):
        with open(f"{top}/{i}", "rb") as f:
            every.append(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))
            if advice == "random":
                every[-1].madvise(mmap.MADV_RANDOM)
    r = random.Random(7)
    asked = [(r.choice(every), r.randrange(len(every[0]) // PAGE)) for _ in range(int(pages))]
    random.Random(os.getpid()).shuffle(asked)

    def some(k):
        return sum(int.from_bytes(m[p * PAGE:p * PAGE + 8], "little")
                   for m, p in asked[k::THREADS])

    with ThreadPoolExecutor(THREADS) as pool:
        total = sum(pool.map(some, range(THREADS)))
    print(json.dumps({"sum": total % (1 << 64), "seconds": time.monotonic() - began}))


def twice(top, pages, advice):
    said = []
    for _ in range(2):
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as f:
            f.write("1")
        p = subprocess.run([sys.executable, __file__, "start", top, pages, advice],
                           stdout=subprocess.PIPE, check=True)
        said.append(json.loads(p.stdout))
    print(json.dumps({**said[1], "sum": "%d %d" % (said[0]["sum"], said[1]["sum"]),
                      "first_start": round(said[0]["seconds"], 2)}))


{"make": make, "twice": twice, "start": start}[sys.argv[1]](*sys.argv[2:])
