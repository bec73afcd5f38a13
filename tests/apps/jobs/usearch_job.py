# SPDX-License-Identifier: MIT
"""Run by ../usearch: make|view FILE VECTORS."""
import sys
import zlib

import numpy as np
from usearch.index import Index

mode, path, n = sys.argv[1], sys.argv[2], int(sys.argv[3])
SIDE = 128


def vectors(seed, count):
    return np.random.default_rng(seed).random((count, SIDE), dtype=np.float32)


if mode == "make":
    index = Index(ndim=SIDE, metric="cos")
    index.add(np.arange(n), vectors(1, n))
    index.save(path)
    sys.exit()

index = Index.restore(path, view=True)
found = index.search(vectors(2, 300), 10)
print(len(index), zlib.crc32(found.keys.tobytes()),
      zlib.crc32(found.distances.tobytes()))
again = index.search(vectors(1, min(n, 500)), 1)
print(int((again.keys.ravel() == np.arange(min(n, 500))).sum()))
every = np.random.default_rng(3).permutation(n)[:n // 2]
print(zlib.crc32(np.stack([index[int(k)] for k in every]).tobytes()))
