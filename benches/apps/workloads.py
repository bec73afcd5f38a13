# SPDX-License-Identifier: MIT
"""All workloads. A new one is a class in a file of its own, and its name here."""
from . import far, graph, sort

EVERY = [*sort.EVERY, *graph.EVERY, *far.EVERY]
