# SPDX-License-Identifier: MIT
"""train_job.py make numpy|arrow PATH BYTES | forked|spawned numpy|arrow PATH plain|random

Each sample says which it is, and its last word is the sum of the others: all that is
read is checked. The first EACH of each worker are also summed up."""
import contextlib
import json
import mmap
import multiprocessing
import queue
import sys
import time

import numpy as np

WORDS = 1536  # of a sample: 12 KiB
WORKERS, EACH, SECONDS = 8, 40, 5
GROUP = 256   # samples of a record batch


def samples(first, n):
    a = np.empty((n, WORDS), np.uint64)
    ids = np.arange(first, first + n, dtype=np.uint64)
    steps = np.arange(1, WORDS, dtype=np.uint64) * np.uint64(0x9e3779b97f4a7c15)
    a[:, 0] = ids
    a[:, 1:] = (ids[:, None] + np.uint64(1)) * steps
    a[:, -1] = a[:, :-1].sum(axis=1, dtype=np.uint64)
    return a


def make(kind, path, size):
    import pyarrow as pa
    groups = max(size // (WORDS * 8 * GROUP), 4)
    schema = pa.schema([("x", pa.binary(WORDS * 8))])
    with open(path, "wb") as f:
        w = pa.ipc.new_file(f, schema) if kind == "arrow" else None
        for i in range(groups):
            a = samples(i * GROUP, GROUP)
            if not w:
                a.tofile(f)
                continue
            column = pa.FixedSizeBinaryArray.from_buffers(
                schema.field("x").type, GROUP, [None, pa.py_buffer(a.tobytes())])
            w.write(pa.record_batch([column], schema))
        if w:
            w.close()


class Numpy:
    def __init__(self, path, way):
        self.a = np.memmap(path, np.uint64, "r").reshape(-1, WORDS)
        if way == "random":
            self.a.base._mmap.madvise(mmap.MADV_RANDOM)

    def __len__(self):
        return len(self.a)

    def __getitem__(self, i):
        return np.array(self.a[i])


class Arrow:
    def __init__(self, path, _):
        import pyarrow as pa
        self.t = pa.ipc.open_file(pa.memory_map(path)).read_all()["x"]

    def __len__(self):
        return len(self.t)

    def __getitem__(self, i):
        return np.frombuffer(self.t[i].as_py(), np.uint64)


KINDS = {"numpy": Numpy, "arrow": Arrow}


def work(number, data, args, out):
    data = data if data is not None else KINDS[args[0]](*args[1:])
    pick = np.random.Generator(np.random.PCG64(number))
    end, done, total = time.monotonic() + SECONDS, 0, 0
    while done < EACH or time.monotonic() < end:
        i = int(pick.integers(0, len(data)))
        x = data[i]
        if x[0] != i or x[:-1].sum(dtype=np.uint64) != x[-1]:
            out.put((number, -1, i))
            return
        if done < EACH:
            total = (total * 31 + int(x[-1])) % (1 << 64)
        done += 1
    out.put((number, done, total))


def load(start, args):
    how = multiprocessing.get_context({"forked": "fork", "spawned": "spawn"}[start])
    data = KINDS[args[0]](*args[1:]) if start == "forked" else None
    out, t0 = how.Queue(), time.monotonic()
    every = [how.Process(target=work, args=(i, data, args, out)) for i in range(WORKERS)]
    for p in every:
        p.start()
    got = []
    while len(got) < WORKERS and not any(p.exitcode for p in every):
        with contextlib.suppress(queue.Empty):
            got.append(out.get(timeout=1))
    for p in every:
        if len(got) < WORKERS:
            p.kill()
        p.join()
    got.sort()
    seconds = time.monotonic() - t0
    wrong = [g for g in got if g[1] < 0] + [p.exitcode for p in every if p.exitcode]
    if wrong:
        sys.exit(f"wrong samples, or exits: {wrong}")
    print(json.dumps({"sum": str([g[2] for g in got]), "seconds": seconds,
                      "samples": round(sum(g[1] for g in got) / seconds, 1)}))


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        load(sys.argv[1], sys.argv[2:5])
