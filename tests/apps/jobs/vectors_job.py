# SPDX-License-Identifier: MIT
"""Run by ../vectors: make|KIND DIR VECTORS; says what the searches found."""
import sys
import zlib

import numpy as np

what, where, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
DIM = 64


def data(n, seed):
    return np.random.default_rng(seed).standard_normal((n, DIM),
                                                       dtype=np.float32)


def make_annoy():
    """Built in the map of the file itself, which grows by mremap."""
    from annoy import AnnoyIndex
    a = AnnoyIndex(DIM, "angular")
    a.set_seed(3)
    a.on_disk_build(where + "/annoy")
    for i, v in enumerate(data(count, 1)):
        a.add_item(i, v.tolist())
    a.build(6, 1)
    print(a.get_n_items(), a.get_n_trees())


def annoy():
    from annoy import AnnoyIndex
    a = AnnoyIndex(DIM, "angular")
    a.load(where + "/annoy", prefault=False)
    for v in data(300, 2):
        print(a.get_nns_by_vector(v.tolist(), 10, 2000))


def make_faiss():
    import faiss
    faiss.omp_set_num_threads(1)
    x = data(count, 1)
    ivf = faiss.index_factory(DIM, "IVF64,Flat")
    ivf.train(x[:4000])
    ivf.add(x)
    faiss.write_index(ivf, where + "/ivf")


def faiss():
    import faiss
    faiss.omp_set_num_threads(2)
    index = faiss.read_index(where + "/ivf", faiss.IO_FLAG_MMAP)
    index.nprobe = 8
    distance, label = index.search(data(300, 2), 10)
    print("%08x" % zlib.crc32(label.tobytes()),
          "%08x" % zlib.crc32(distance.tobytes()))


globals()[what]()
