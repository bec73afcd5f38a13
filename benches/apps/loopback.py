# SPDX-License-Identifier: MIT
"""A server on loopback, and clients that ask it all at once: what jobs of servers share.
A client is a thread that fills `took` with the seconds of its requests."""
import json
import os
import subprocess
import sys
import time
from socket import socket


def free_port():
    with socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port):
    with socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


def until_answers(server, port, why):
    """Where it ends before it answers the job ends, too, with what why() says."""
    while not answers(port):
        if server.poll() is not None:
            sys.exit(why())
        time.sleep(.05)


def ask_by(*argv):
    """A job that asks, in a process that is not preloaded."""
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    subprocess.run([sys.executable, *argv], env=env, check=True)


def all_at_once(every, total):
    """Prints what the clients had; total() is said of them when they have ended."""
    began = time.monotonic()
    for c in every:
        c.start()
    for c in every:
        c.join()
    took, seconds = sorted(t for c in every for t in c.took), time.monotonic() - began
    print(json.dumps({"sum": total(), "seconds": seconds,
                      "requests": round(len(took) / seconds, 1),
                      "p99_ms": round(took[len(took) * 99 // 100] * 1000, 1)}))
