# SPDX-License-Identifier: MIT
"""Run by ../numpy: DIR SIZE [sum]. Prints what it computes."""
import sys
import zlib

import numpy as np

where, size = sys.argv[1] + "/", int(sys.argv[2])
n = size // 8
step = 1 << 17


def say(name, a):
    """Sum in 64 bits and a checksum of the bytes, a MiB at a time."""
    crc, total = 0, np.uint64(0)
    for at in range(0, len(a), step):
        part = np.ascontiguousarray(a[at:at + step])
        crc = zlib.crc32(part.view(np.uint8), crc)
        with np.errstate(over="ignore"):
            total += part.astype(np.uint64, copy=False).sum(dtype=np.uint64)
    print(name, len(a), int(total), "%08x" % crc)


def fill(m):
    for at in range(0, n, step):
        i = np.arange(at, min(at + step, n), dtype=np.uint64)
        m[at:at + step] = i * np.uint64(0x9E3779B97F4A7C15)


if sys.argv[3:] == ["sum"]:
    say("a", np.memmap(where + "a", np.uint64, "r"))
    sys.exit()

m = np.memmap(where + "a", np.uint64, "w+", shape=(n,))
fill(m)
m.flush()
say("w+", m)
del m

m = np.memmap(where + "a", np.uint64, "r")
say("r", m)
m[n // 4 + 3:n // 2].tofile(where + "slice")
with open(where + "written", "wb") as f:
    f.write(m[5:5 + n // 8])
    f.write(memoryview(m[n // 2:n // 2 + 1000]))
np.save(where + "saved.npy", m[::16])
try:
    m[0] = 1
    print("stored through a read-only map")
except ValueError as e:
    print("r:", e)

rng = np.random.default_rng(5)
p = np.memmap(where + "a", np.uint64, "r+")
at = rng.integers(0, n, 20000)
p[at] ^= np.uint64(0xff)
say("r+ random", p)
say("r sees it", m)
p[10:n // 3] = p[n // 2 + 10:n // 2 + n // 3]
p.sort() if size <= 64 << 20 else p[:n // 8].sort()
say("r+ sorted", p)
with open(where + "a", "r+b") as f:
    f.seek(8 * (n // 3))
    f.write(np.arange(5000, dtype=np.uint64).tobytes())
    f.seek(0)
    print("read", zlib.crc32(f.read(1 << 20)))
say("r+ after write", p)
p.flush()

c = np.memmap(where + "a", np.uint64, "c")
c[::1000] = 42
say("c", c)
say("r+ not changed by c", p)
w = np.memmap(where + "a", np.uint64, "r+", offset=8 * 4099, shape=(n // 4,))
w += np.uint64(1)
say("window", w)
del w, c, p, m
say("again", np.memmap(where + "a", np.uint64, "r"))
g = np.memmap(where + "grown", np.float64, "w+", shape=(300, n // 600))
g[:] = np.arange(n // 600) * 0.5
g[7] = np.cumsum(g[3])
print("2d", float(g.sum()), float(g[7, -1]))
print(np.fromfile(where + "slice", np.uint64).sum())
# no flush at the end: the stores have to arrive all the same
