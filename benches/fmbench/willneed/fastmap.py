# SPDX-License-Identifier: MIT
"""In the place of the package, natively: what a program without the library does to ask
before it needs, MADV_WILLNEED for each row."""
import mmap

import numpy as np

memmap = np.memmap


def prefetch(array, rows):
    whole = array
    while not isinstance(whole, mmap.mmap):
        whole = whole.base
    each = array.strides[0]
    for at in np.asarray(rows, dtype="i8") * each:
        page = int(at) & -mmap.PAGESIZE
        whole.madvise(mmap.MADV_WILLNEED, page, int(at) + each - page)
