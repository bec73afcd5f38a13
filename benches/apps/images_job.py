# SPDX-License-Identifier: MIT
"""images_job.py make DIR BYTES | look DIR plain|random

A pixel's value follows from the image's number and its place, so that all that is read
is checked: each vector's median with that of the values it should have."""
import json
import mmap
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from astropy.io import fits

IMAGES, THREADS, SECONDS, BATCH = 128, 4, 5, 4


def pixels(image, places):
    """16 bits of a hash."""
    x = (places.astype(np.uint64) + np.uint64(image << 40)) * np.uint64(0x9e3779b97f4a7c15)
    return (x >> np.uint64(48)).astype(np.int64).astype(np.float32)


def make(top, size):
    side = int((size // IMAGES // 4) ** 0.5)
    os.makedirs(top + ".new", exist_ok=True)
    for i in range(IMAGES):
        a = pixels(i, np.arange(side * side)).reshape(side, side)
        fits.PrimaryHDU(a).writeto(f"{top}.new/{i}.fits", overwrite=True)
    os.rename(top + ".new", top)


def stack(top, way):
    every = [fits.open(f"{top}/{i}.fits", memmap=True)[0].data for i in range(IMAGES)]
    for a in every if way == "random" else []:
        while not isinstance(a, mmap.mmap):
            a = a.base
        a.madvise(mmap.MADV_RANDOM)
    return every


def vector(r, side):
    """Where it begins, and how far it goes from one image to the next."""
    at, step = r.integers(side // 4, side * 3 // 4, 2), r.uniform(-1, 1, 2)
    to = at + np.outer(np.arange(IMAGES), step * side / 4 / IMAGES)
    return to.astype(np.int64)


def look(every, number, end):
    r = np.random.Generator(np.random.PCG64(number))
    side, done, wrong = every[0].shape[0], 0, 0
    while not done or time.monotonic() < end:
        for _ in range(BATCH):
            to = vector(r, side)
            got = np.median([a[y, x] for a, (y, x) in zip(every, to)])
            want = np.median([pixels(i, y * side + x) for i, (y, x) in enumerate(to)])
            done, wrong = done + 1, wrong + (got != want)
    return done, wrong


def main():
    if sys.argv[1] == "make":
        make(sys.argv[2], int(sys.argv[3]))
        return
    t0 = time.monotonic()
    every = stack(*sys.argv[2:4])
    with ThreadPoolExecutor(THREADS) as pool:
        got = list(pool.map(lambda i: look(every, i, t0 + SECONDS), range(THREADS)))
    seconds = time.monotonic() - t0
    done = sum(d for d, _ in got)
    print(json.dumps({"sum": "%d wrong" % sum(w for _, w in got),
                      "seconds": round(seconds, 2), "vectors": round(done / seconds, 1)}))


main()
