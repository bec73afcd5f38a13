# SPDX-License-Identifier: MIT
"""web_job.py make DIR FILES | serve DIR On|Off | ask DIR PORT"""
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from http.client import HTTPConnection

from loopback import all_at_once, ask_by, free_port, until_answers

SIZE, CLIENTS, SECONDS, MODULES = 1 << 20, 8, 5, "/usr/lib/apache2/modules/mod_"
CONF = """ServerRoot {tmp}
ServerName localhost
PidFile {tmp}/pid
ErrorLog {tmp}/log
Listen 127.0.0.1:{port}
LoadModule mpm_event_module {modules}mpm_event.so
LoadModule authz_core_module {modules}authz_core.so
User www-data
Group www-data
StartServers 1
ServerLimit 1
ThreadLimit 8
ThreadsPerChild 8
MaxRequestWorkers 8
MinSpareThreads 1
MaxSpareThreads 8
MaxKeepAliveRequests 0
EnableMMAP {mmap}
EnableSendfile Off
DocumentRoot {data}
"""


def body(i):
    return random.Random(i).randbytes(SIZE)


def make(top, n):
    os.makedirs(top + ".new")
    for i in range(int(n)):
        with open(f"{top}.new/{i}", "wb") as f:
            f.write(body(i))
    with open(top + ".new/sums", "w", encoding="ascii") as f:
        json.dump([zlib.crc32(body(i)) for i in range(int(n))], f)
    os.rename(top + ".new", top)


class Client(threading.Thread):
    def __init__(self, port, sums, seed, end):
        super().__init__()
        self.port, self.sums, self.end = port, sums, end
        self.r, self.took, self.wrong = random.Random(seed), [], 0
        self.order = random.Random(0).sample(range(len(sums)), len(sums))
        self.weights = [1 / (i + 1) ** .99 for i in range(len(sums))]

    def run(self):
        c = HTTPConnection("127.0.0.1", self.port, timeout=120)
        while time.monotonic() < self.end:
            i = self.r.choices(self.order, self.weights)[0]
            began = time.monotonic()
            c.request("GET", f"/{i}")
            got = c.getresponse().read()
            self.took.append(time.monotonic() - began)
            self.wrong += zlib.crc32(got) != self.sums[i]


def ask(top, port):
    with open(top + "/sums", encoding="ascii") as f:
        sums = json.load(f)
    end = time.monotonic() + SECONDS
    every = [Client(int(port), sums, i + 1, end) for i in range(CLIENTS)]
    all_at_once(every, lambda: sum(c.wrong for c in every))


def log_of(tmp):
    with open(tmp + "/log", encoding="utf-8") as f:
        return f.read()[-300:]


def serve(top, mmap):
    port = free_port()
    with tempfile.TemporaryDirectory() as tmp:
        with open(tmp + "/conf", "w", encoding="ascii") as f:
            f.write(CONF.format(tmp=tmp, port=port, modules=MODULES, mmap=mmap, data=top))
        server = subprocess.Popen(["apache2", "-f", tmp + "/conf", "-DFOREGROUND"])
        try:
            until_answers(server, port, lambda: log_of(tmp))
            ask_by(__file__, "ask", top, str(port))
        finally:
            server.terminate()
            server.wait()


{"make": make, "serve": serve, "ask": ask}[sys.argv[1]](*sys.argv[2:])
