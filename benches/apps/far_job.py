# SPDX-License-Identifier: MIT
"""far_job.py make KIND PATH BYTES | load KIND PATH plain|read16|random"""
import json
import mmap
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

TENSOR = 64 << 20  # bytes
BLOCK, PIECE = 16 << 20, 1 << 20
ROW, ROWS, THREADS = 4096, 20000, 8


def blocks(size):
    """The same bytes each time."""
    r = np.random.Generator(np.random.PCG64(7))
    while size > 0:
        n = min(size, TENSOR)
        yield r.integers(0, 1 << 64, n // 8, dtype=np.uint64).view(np.float32)
        size -= n


def make_safetensors(path, size):
    n = size // TENSOR or 1
    each = min(size, TENSOR)
    head = {f"t{i}": {"dtype": "F32", "shape": [each // 4],
                      "data_offsets": [i * each, (i + 1) * each]} for i in range(n)}
    text = json.dumps(head).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text)
        for b in blocks(n * each):
            b.tofile(f)


def make_gguf(path, size):
    import gguf
    w = gguf.GGUFWriter(path, "llama")
    n, each = size // TENSOR or 1, min(size, TENSOR)
    for i in range(n):
        w.add_tensor_info(f"t{i}", (each // 4,), np.dtype(np.float32), each)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_ti_data_to_file()
    for b in blocks(n * each):
        w.write_tensor_data(b)
    w.close()


def make_rows(path, size):
    with open(path, "wb") as f:
        for b in blocks(size):
            b.tofile(f)


def total(a):
    a = a.reshape(-1).view(np.uint8)
    return int(a[:a.size // 8 * 8].view(np.uint64).sum(dtype=np.uint64))


def load_safetensors(path, _):
    from safetensors import safe_open
    with safe_open(path, framework="np") as f:
        return sum(total(f.get_tensor(k)) for k in f.keys()) % (1 << 64)


def load_gguf(path, _):
    import gguf
    return sum(total(t.data) for t in gguf.GGUFReader(path).tensors) % (1 << 64)


def load_rows(path, way):
    a = np.memmap(path, np.uint64, "r").reshape(-1, ROW // 8)
    if way == "random":
        a.base._mmap.madvise(mmap.MADV_RANDOM)
    rows = np.random.Generator(np.random.PCG64(1)).integers(0, len(a), ROWS)
    with ThreadPoolExecutor(THREADS) as pool:
        parts = pool.map(lambda i: total(a[rows[i:i + 64]]), range(0, ROWS, 64))
    return sum(parts) % (1 << 64)


def read16(path):
    """What inference servers do before they map it."""
    fd = os.open(path, os.O_RDONLY)

    def one(off):
        piece = bytearray(PIECE)
        for at in range(off, off + BLOCK, PIECE):
            os.preadv(fd, [piece], at)
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(one, range(0, os.fstat(fd).st_size, BLOCK)))
    os.close(fd)


def main():
    what, kind, path, last = sys.argv[1:5]
    if what == "make":
        globals()["make_" + kind](path + ".new", int(last))
        os.rename(path + ".new", path)
        return
    load = globals()["load_" + kind]
    if kind != "rows":
        __import__(kind)
    t0 = time.monotonic()
    if last == "read16":
        read16(path)
    got = load(path, last)
    print(json.dumps({"sum": "%016x" % got, "seconds": time.monotonic() - t0}))


main()
