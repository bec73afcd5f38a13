# SPDX-License-Identifier: MIT
"""gunicorn with four workers that answer from one Annoy index, three times as large as
their memory; with and without --preload. Eight clients, from a cold start."""
import http.client
import importlib.util
import os
import random
import socket
import subprocess
import sys
import tempfile
import threading
import time

from . import pairs, system

ITEMS, DIMENSIONS, TREES = 800000, 300, 10  # 1.2 GB
WORKERS, CLIENTS, SECONDS = 4, 8, 10
HERE = os.path.dirname(os.path.abspath(__file__))


def vector(r):
    return [b - 128 for b in r.randbytes(DIMENSIONS)]


def build(path):
    from annoy import AnnoyIndex
    index, r = AnnoyIndex(DIMENSIONS, "angular"), random.Random(1)
    index.on_disk_build(path)
    for i in range(ITEMS):
        index.add_item(i, vector(r))
    index.build(TREES, n_jobs=-1)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Client(threading.Thread):
    """Asks until the end; what it heard is kept to be compared."""

    def __init__(self, port, number, end):
        super().__init__()
        self.port, self.number, self.end, self.answers = port, number, end, {}

    def run(self):
        n = self.number
        while time.monotonic() < self.end:
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
            try:
                c.request("GET", f"/?{n}")
                self.answers[n] = c.getresponse().read()
                n += CLIENTS
            except ConnectionError:  # it does not listen yet
                time.sleep(0.05)
            finally:
                c.close()


def own(group):
    """MiB of the group that is no page cache: the processes' own memory."""
    return group.field("stat", "rss" if group.v1 else "anon") / (1 << 20)


def serve(m, index, preload, forked):
    """Requests a second, MiB that are no page cache, and the answers."""
    port = free_port()
    argv = [sys.executable, "-m", "gunicorn", "-w", str(WORKERS), "-b",
            f"127.0.0.1:{port}", "--log-level", "error", "fmbench.annoy_app:app",
            *["--preload"] * forked]
    path = os.pathsep.join([os.path.dirname(HERE), *filter(None, sys.path)])
    system.drop_caches(index, m.drop_all)
    group = system.Cgroup(os.stat(index).st_size // 3)
    with tempfile.TemporaryDirectory(prefix="fmbench.") as tmp:
        env = m.env(preload, tmp + "/stats-%p.json", {"FASTMAP_CACHE": "auto"})
        env.update(ANNOY_INDEX=index, PYTHONPATH=path)
        server = subprocess.Popen(argv, env=env, preexec_fn=group.enter)
        try:
            end = time.monotonic() + SECONDS
            clients = [Client(port, i, end) for i in range(CLIENTS)]
            for c in clients:
                c.start()
            for c in clients:
                c.join()
            held = own(group)
        finally:
            server.terminate()
            server.wait()
            group.close()
    answers = {n: a for c in clients for n, a in c.answers.items()}
    return len(answers) / SECONDS, held, answers


def figures(m, index, known, preload):
    for ra in (128, m.readahead.initial):
        m.readahead.set(ra)
        for forked in (False, True):
            rate, held, answers = serve(m, index, preload, forked)
            for n, a in answers.items():
                if known.setdefault(n, a) != a:
                    raise RuntimeError(f"gunicorn: another answer to {n}")
            what = f"gunicorn{' --preload' * forked}, Annoy, ra {ra}"
            yield what, "1/s", rate
            yield what + ", own memory", "MiB", held


def run(m, rounds):
    for what in ("annoy", "gunicorn"):
        if not importlib.util.find_spec(what):
            print(f"  python3 has no {what}, skipped", flush=True)
            return []
    index = os.path.join(os.path.dirname(m.file), f"app{ITEMS}.annoy")
    if not os.path.exists(index):
        print(f"  preparing {index}", flush=True)
        build(index + ".tmp")
        os.rename(index + ".tmp", index)
    known = {}
    try:
        return pairs.measure(lambda preload: figures(m, index, known, preload), rounds)
    finally:
        m.readahead.set(m.readahead.initial)
