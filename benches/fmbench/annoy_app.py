# SPDX-License-Identifier: MIT
"""Run by serving.py under gunicorn: nearest neighbours from an Annoy index that is
mapped. With --preload the index is mapped before the workers are forked."""
import os
import random

from annoy import AnnoyIndex

from fmbench.serving import DIMENSIONS, vector

index = AnnoyIndex(DIMENSIONS, "angular")
index.load(os.environ["ANNOY_INDEX"])


def app(environ, start_response):
    r = random.Random(int(environ["QUERY_STRING"]))
    found = index.get_nns_by_vector(vector(r), 10, search_k=2000)
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [" ".join(map(str, found)).encode()]
