# SPDX-License-Identifier: MIT
"""All workloads. A new one is a class in a file of its own, and its name here."""
from . import around, far, graph, kraken, llama, lucene, soak, sort, train

EVERY = [*sort.EVERY, *graph.EVERY, *far.EVERY, *around.EVERY, *train.EVERY,
         *soak.EVERY, *lucene.EVERY, *kraken.EVERY, *llama.EVERY]
