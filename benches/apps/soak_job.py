# SPDX-License-Identifier: MIT
"""soak_job.py watch DIR SECONDS BYTES: programs come and go, and are looked after
             KIND PATH SEED: one of them, which says what it has done, a line each"""
import json
import mmap
import os
import random
import selectors
import signal
import shutil
import struct
import subprocess
import sys
import time

PAGE, WARM, KILLS, PATIENCE = 4096, 10, 30, 60
KINDS = ("store", "read", "fork", "grow")
WORD = struct.Struct("<QQ")  # of a page: its number, and the turn that wrote it last


# ---- the programs ----------------------------------------------------------

def say(*what):
    os.write(1, (" ".join(map(str, what)) + "\n").encode())


def mapped(path, size=0):
    with open(path, "r+b") as f:
        return mmap.mmap(f.fileno(), size)


def look(m, page):
    number, turn = WORD.unpack_from(m, page * PAGE)
    if number != page:
        say("wrong", page, number, turn)
        os._exit(1)
    return turn


def store(path, r):
    """What it has said is in the file, whatever becomes of it."""
    m, pages = mapped(path), os.path.getsize(path) // PAGE
    last = [look(m, p) for p in range(pages)]
    turn = max(last)
    for i in range(r.randrange(20, 80)):
        some = [r.randrange(pages) for _ in range(500)]
        for p in some:
            turn += 1
            if look(m, p) != last[p]:
                say("wrong", p, "lost", last[p])
                os._exit(1)
            WORD.pack_into(m, p * PAGE, p, turn)
            last[p] = turn
        if i % 20 == 19:
            m.flush()
        say("stored", *(f"{p}={last[p]}" for p in set(some)))


def read(path, r, turns=60):
    m, pages = mapped(path), os.path.getsize(path) // PAGE
    for i in range(turns):
        at = r.randrange(pages - 1000)
        for k in range(1000):
            look(m, at + k if i % 3 == 0 else r.randrange(pages))
        say("read", 1000)


def peek(path, r):
    read(path, r, 1)


def fork(path, r):
    """Children that read what was mapped before them."""
    m, pages = mapped(path), os.path.getsize(path) // PAGE
    for _ in range(6):
        every = []
        for child in range(4):
            pid = os.fork()
            if not pid:
                for _ in range(2000):
                    look(m, r.randrange(pages))
                os._exit(0)
            every.append(pid)
            r.random()
        if any(os.waitpid(p, 0)[1] for p in every):
            say("wrong", "child")
            os._exit(1)
        say("read", 8000)


def grow(path, r):
    """A file of its own that it writes, maps, makes longer, and removes."""
    own, pages = f"{path}.{os.getpid()}", os.path.getsize(path) // PAGE
    with open(own, "wb"):
        pass
    say("mine", own)
    for part in range(1, 9):
        n = pages // 8
        with open(own, "ab") as f:
            for p in range((part - 1) * n, part * n):
                f.write(WORD.pack(p, part).ljust(PAGE, b"\0"))
        m = mapped(own)
        for _ in range(3000):
            look(m, r.randrange(part * n))
        m.close()
        say("read", 3000)
    os.unlink(own)


# ---- who looks after them --------------------------------------------------

def plain(what):
    """As somebody who is not preloaded sees it."""
    env = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
    return subprocess.run(what, env=env, check=True, stdout=subprocess.PIPE).stdout


READ = ("import sys,struct\nf=open(sys.argv[1],'rb')\n"
        "while b:=f.read(4096): print(*struct.unpack_from('<QQ',b))")


class One:
    """A program that runs."""

    def __init__(self, kind, path, seed):
        self.kind, self.path, self.said, self.mine = kind, path, b"", None
        self.p = subprocess.Popen([sys.executable, __file__, kind, path, str(seed)],
                                  stdout=subprocess.PIPE)
        os.set_blocking(self.p.stdout.fileno(), False)

    def hear(self, stored):
        """Pages that it has done since; raises what it says is wrong."""
        got = os.read(self.p.stdout.fileno(), 1 << 20)
        *lines, self.said = (self.said + got).split(b"\n")
        done = 0
        for word, *rest in (x.decode().split() for x in lines):
            if word == "wrong":
                raise SystemExit(f"{self.kind}: {rest}")
            if word == "mine":
                self.mine = rest[0]
            elif word == "read":
                done += int(rest[0])
            else:
                stored.update((int(a), int(b)) for a, b in (x.split("=") for x in rest))
                done += len(rest)
        return done if got else None


def lost(path, stored):
    """Of what was said to be stored, as the file has it now."""
    have = [tuple(map(int, x.split())) for x in
            plain([sys.executable, "-c", READ, path]).splitlines()]
    wrong = [i for i, (p, _) in enumerate(have) if p != i]
    return wrong + [p for p, turn in stored.items() if have[p][1] < turn]


def nothing_lost(path, stored):
    """Seconds until all was there: the guardian of the killed writes it."""
    t0, late = time.monotonic(), 0
    while gone := lost(path, stored):
        late = time.monotonic() - t0
        if late > PATIENCE:
            raise SystemExit(f"lost: {len(gone)} stores, {gone[:5]}")
        time.sleep(0.2)
    return late


def group():
    for line in open("/proc/self/cgroup", encoding="ascii"):
        number, what, path = line.strip().split(":", 2)
        if what == "memory":
            return "/sys/fs/cgroup/memory" + path, "total_rss"
        if number == "0" and "fmbench" in path:
            return "/sys/fs/cgroup" + path, "anon"
    raise SystemExit("in no memory group")


def held():
    """What is there beside the programs: tasks, memory, descriptors, files."""
    top, key = group()
    stat = dict(x.split() for x in open(top + "/memory.stat", encoding="ascii"))
    return {"tasks": len(open(top + "/cgroup.procs", encoding="ascii").readlines()),
            "MiB": int(stat[key]) >> 20, "fds": len(os.listdir("/proc/self/fd")),
            "threads": len(os.listdir("/proc/self/task"))}


def files(top):
    return sorted(os.path.join(d, n) for d, _, nn in os.walk(top) for n in nn)


def settled(before):
    """Helpers of the dead need a moment."""
    for _ in range(PATIENCE * 5):
        now = held()
        if now["tasks"] <= before["tasks"] and now["MiB"] <= before["MiB"] + 16:
            break
        time.sleep(0.2)
    return now


def no_more_files(top, names):
    """What the killed left is removed by who comes next."""
    end = time.monotonic() + PATIENCE
    while (more := set(files(top)) - set(names)) and time.monotonic() < end:
        subprocess.run([sys.executable, __file__, "peek", f"{top}/data/read", "1"],
                       check=True, stdout=subprocess.PIPE)
    return more


def own_look(path, r):
    """The watcher itself maps, looks and unmaps: what stays of it grows."""
    m = mapped(path)
    for _ in range(200):
        look(m, r.randrange(len(m) // PAGE))
    m.close()


class Watch:
    def __init__(self, top, size):
        self.top, self.stored, self.running, self.r = top, {}, {}, random.Random(9)
        self.counts = dict(pages=0, killed=0, ended=0, late=0.0)
        shutil.rmtree(top, ignore_errors=True)
        for sub in ("run/fastmap", "tmp", "data"):
            os.makedirs(f"{top}/{sub}")
        os.environ.update(XDG_RUNTIME_DIR=top + "/run", TMPDIR=top + "/tmp")
        for kind in KINDS:
            with open(self.path(kind), "wb") as f:
                for p in range(size // PAGE):
                    f.write(WORD.pack(p, 1).ljust(PAGE, b"\0"))

    def path(self, kind):
        return f"{self.top}/data/{kind}"

    def ended(self, one):
        code = one.p.wait()
        one.p.stdout.close()
        del self.running[one.kind]
        if code not in (0, -signal.SIGKILL):
            raise SystemExit(f"{one.kind} ended with {code}")
        if code and one.mine and os.path.exists(one.mine):
            os.unlink(one.mine)
        self.counts["killed" if code else "ended"] += 1
        if one.kind == "store":
            late = nothing_lost(one.path, self.stored)
            self.counts["late"] = max(self.counts["late"], late)

    def go(self, seconds, each):
        """One is killed each so many seconds."""
        end, kill = time.monotonic() + seconds, time.monotonic() + each
        while time.monotonic() < end or self.running:
            if time.monotonic() < end:
                for kind in set(KINDS) - set(self.running):
                    self.running[kind] = One(kind, self.path(kind), self.r.random())
            with selectors.DefaultSelector() as s:
                for one in self.running.values():
                    s.register(one.p.stdout, selectors.EVENT_READ, one)
                for key, _ in s.select(1):
                    done = key.data.hear(self.stored)
                    if done is None:
                        self.ended(key.data)
                    self.counts["pages"] += done or 0
            if time.monotonic() > kill and self.running:
                kill = time.monotonic() + each
                self.r.choice(list(self.running.values())).p.kill()


def watch(top, seconds, size):
    w = Watch(top, size)
    own_look(w.path("read"), w.r)
    w.go(WARM, seconds)
    own_look(w.path("read"), w.r)
    before, names = settled({"tasks": 1, "MiB": 16}), files(top)
    t0 = time.monotonic()
    w.counts["pages"] = 0
    for _ in range(4):
        w.go(seconds / 4, seconds / KILLS)
        own_look(w.path("read"), w.r)
    seconds = time.monotonic() - t0
    now = settled(before)
    grown = [f"{k}: {before[k]}, then {now[k]}" for k in now
             if now[k] > before[k] + (16 if k == "MiB" else 0)]
    grown += [f"file {n}" for n in no_more_files(top, names)]
    if grown:
        raise SystemExit(f"grown: {grown}")
    shutil.rmtree(top)
    c = w.counts
    print(json.dumps({"sum": "nothing lost, nothing grown", "seconds": round(seconds, 1),
                      "pages": round(c["pages"] / seconds), "killed": c["killed"],
                      "ended": c["ended"], "late_s": round(c["late"], 2),
                      "MiB": now["MiB"]}))


if __name__ == "__main__":
    if sys.argv[1] == "watch":
        watch(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    else:
        globals()[sys.argv[1]](sys.argv[2], random.Random(sys.argv[3]))
