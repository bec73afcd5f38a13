# SPDX-License-Identifier: MIT
"""vectors_job.py make KIND PATH BYTES | threads|forked KIND PATH plain|random|prefault

Vectors of 768 numbers that depend on 24, as those of texts and pictures do. The first
KNOWN answers of each worker are compared with those that the maker was given."""
import ctypes
import itertools
import json
import mmap
import multiprocessing
import os
import sys
import threading
import time

import numpy as np

WIDE, TRUE, BATCH = 768, 24, 8192
WORKERS, KNOWN, SECONDS, NEAREST = 4, 200, 5, 10


def vectors(seed, n):
    turn = np.random.Generator(np.random.PCG64(1)).standard_normal((TRUE, WIDE))
    r = np.random.Generator(np.random.PCG64(seed))
    return (r.standard_normal((n, TRUE)) @ turn
            + r.standard_normal((n, WIDE)) / 10).astype(np.float32)


def batches(n):
    for i in range(0, n, BATCH):
        yield i, vectors(100 + i, min(BATCH, n - i))


def queries(number):
    for i in itertools.count():
        yield from vectors((1 << 32) + number + i * WORKERS, 64)


class Usearch:
    def make(self, path, n):
        from usearch.index import Index
        index = Index(ndim=WIDE, metric="l2sq", dtype="f32", expansion_add=40)
        for i, x in batches(n):
            index.add(np.arange(i, i + len(x), dtype=np.uint64), x, threads=2)
        index.save(path)

    def open(self, path, _):
        from usearch.index import Index
        self.index = Index.restore(path, view=True)

    def find(self, x):
        return self.index.search(x, NEAREST, threads=1).keys


class Annoy:
    def make(self, path, n):
        from annoy import AnnoyIndex
        index = AnnoyIndex(WIDE, "euclidean")
        index.set_seed(1)
        index.on_disk_build(path)
        for i, x in batches(n):
            for k, v in enumerate(x):
                index.add_item(i + k, v)
        index.build(10, n_jobs=1)

    def open(self, path, way):
        from annoy import AnnoyIndex
        self.index = AnnoyIndex(WIDE, "euclidean")
        self.index.load(path, prefault=way == "prefault")

    def find(self, x):
        return self.index.get_nns_by_vector(x, NEAREST, search_k=400)


class Faiss:
    flags = "IO_FLAG_MMAP"

    def make(self, path, n):
        import faiss
        index = self.empty(faiss, n)
        for _, x in batches(n):
            index.add(x)
        faiss.write_index(index, path)

    def open(self, path, _):
        import faiss
        faiss.omp_set_num_threads(1)
        self.index = faiss.read_index(path, getattr(faiss, self.flags))
        self.tune(self.index)

    def find(self, x):
        return self.index.search(x[None], NEAREST)[1][0]


class FaissIvf(Faiss):
    def empty(self, faiss, n):
        lists = max(n // 128, 16)
        index = faiss.index_factory(WIDE, f"IVF{lists},Flat")
        index.cp.niter = 4
        index.train(vectors(99, 40 * lists))
        return index

    def tune(self, index):
        index.nprobe = 8


class FaissHnsw(Faiss):
    flags = "IO_FLAG_MMAP_IFC"

    def empty(self, faiss, n):
        index = faiss.IndexHNSWFlat(WIDE, 16)
        index.hnsw.efConstruction = 40
        return index

    def tune(self, index):
        index.hnsw.efSearch = 32


KINDS = {"usearch": Usearch, "annoy": Annoy, "faissivf": FaissIvf, "faisshnsw": FaissHnsw}


def advise(path):
    """madvise random on whatever of this process maps the file."""
    libc = ctypes.CDLL(None, use_errno=True)
    with open("/proc/self/maps", encoding="utf-8") as f:
        for line in f:
            if line.rstrip().endswith(path):
                a, b = (int(x, 16) for x in line.split()[0].split("-"))
                if libc.madvise(ctypes.c_void_p(a), ctypes.c_size_t(b - a),
                                mmap.MADV_RANDOM):
                    raise OSError(ctypes.get_errno(), "madvise")


def answers(index, number, n):
    return [[int(k) for k in index.find(x)]
            for x in itertools.islice(queries(number), n)]


def work(number, index, known, out):
    end, took, wrong = time.monotonic() + SECONDS, [], 0
    for i, x in enumerate(queries(number)):
        t0 = time.monotonic()
        if t0 > end and took:
            break
        got = index.find(x)
        took.append(time.monotonic() - t0)
        wrong += i < KNOWN and [int(k) for k in got] != known[number][i]
    out.append((number, wrong, took))


def threads(*args):
    out = []
    every = [threading.Thread(target=work, args=(i, *args, out)) for i in range(WORKERS)]
    for t in every:
        t.start()
    for t in every:
        t.join()
    return out


def child(pipe, *args):
    out = []
    work(*args, out)
    pipe.send(out[0])


def forked(*args):
    how = multiprocessing.get_context("fork")
    pipes = [how.Pipe(False) for _ in range(WORKERS)]
    every = [how.Process(target=child, args=(pipes[i][1], i, *args))
             for i in range(WORKERS)]
    for p, (_, mine) in zip(every, pipes):
        p.start()
        mine.close()
    out = [r.recv() for r, _ in pipes]  # a child that died: EOFError
    for p in every:
        p.join()
    return out


def make(index, path, size):
    index.make(path + ".new", size // (WIDE * 4))
    index = type(index)()
    index.open(path + ".new", "plain")
    with open(path + ".answers", "w", encoding="ascii") as f:
        json.dump([answers(index, i, KNOWN) for i in range(WORKERS)], f)
    os.rename(path + ".new", path)


def main():
    what, kind, path, last = sys.argv[1:5]
    index = KINDS[kind]()
    if what == "make":
        make(index, path, int(last))
        return
    with open(path + ".answers", encoding="ascii") as f:
        known = json.load(f)
    index.open(path, last)
    if last == "random":
        advise(path)
    t0 = time.monotonic()
    out = {"threads": threads, "forked": forked}[what](index, known)
    seconds = time.monotonic() - t0
    took = np.concatenate([t for _, _, t in out])
    print(json.dumps({"sum": "%d wrong" % sum(w for _, w, _ in out), "seconds": round(seconds, 2),
                      "queries": round(len(took) / seconds, 1),
                      "p99_ms": round(float(np.percentile(took, 99)) * 1e3, 1)}))


main()
