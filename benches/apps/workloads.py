# SPDX-License-Identifier: MIT
"""All workloads. A new one is a class in a file of its own, and its name here."""
from . import (around, bowtie, far, fio, graph, images, kraken, llama, lrzip, lucene,
               mmseqs, monetdb, osrm, soak, sort, tiles, tpcc, train, vectors,
               warm, web, ycsb)

EVERY = [*sort.EVERY, *graph.EVERY, *far.EVERY, *around.EVERY, *train.EVERY,
         *soak.EVERY, *lucene.EVERY, *kraken.EVERY, *llama.EVERY, *ycsb.EVERY, *tpcc.EVERY,
         *fio.EVERY, *web.EVERY, *warm.EVERY, *lrzip.EVERY, *vectors.EVERY, *images.EVERY,
         *mmseqs.EVERY, *bowtie.EVERY, *osrm.EVERY, *tiles.EVERY,
         *monetdb.EVERY]
