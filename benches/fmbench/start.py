# SPDX-License-Identifier: MIT
"""What the start and the end of a short program take, and its forks."""
import os
import statistics
import time

from . import pairs, system

PAGES = (0, 1, 20)
RUNS = 20  # of which a round's figure is the median
FORKS = 50


def spawned(argv, env):
    """Milliseconds from the spawn to the end, and what it printed."""
    out_r, out_w = os.pipe()
    began = time.monotonic()
    pid = os.posix_spawn(argv[0], argv, env,
                         file_actions=[(os.POSIX_SPAWN_DUP2, out_w, 1)])
    status = os.waitpid(pid, 0)[1]
    took = (time.monotonic() - began) * 1e3
    os.close(out_w)
    with os.fdopen(out_r) as f:
        text = f.read()
    if status:
        raise RuntimeError(f"{argv}: status {status}")
    return took, text


def figures(m, env, preload):
    tool = m.tool("brief")
    for pages in PAGES:
        took = []
        for _ in range(RUNS):
            system.drop_caches(m.file, False)
            took.append(spawned([tool, m.file, str(pages), "0"], env[preload])[0])
        yield (f"map 64 MiB, look at {pages} page{'s' * (pages != 1)}, end", "ms",
               statistics.median(took))
    us = float(spawned([tool, m.file, "1", str(FORKS)], env[preload])[1])
    yield "a child of fork that looks at one page and ends", "ms", us / 1e3


def run(m, rounds):
    env = {p: m.env(p, "", {"FASTMAP_CACHE": "auto"}) for p in (False, True)}
    del env[True]["FASTMAP_STATS"]
    return pairs.measure(lambda preload: figures(m, env, preload), rounds)
