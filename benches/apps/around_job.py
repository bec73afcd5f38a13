# SPDX-License-Identifier: MIT
"""around_job.py make project|git|text DIR COUNT | do WHAT DIR"""
import hashlib
import json
import os
import random
import subprocess
import sys
import time

R = random.Random(3)
WORDS = ["w%05d" % R.randrange(100000) for _ in range(3000)]


def text(size):
    out = []
    while size > 0:
        out.append(" ".join(R.choices(WORDS, k=11)))
        size -= len(out[-1]) + 1
    return "\n".join(out) + "\n"


def put(path, what):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        f.write(what)


def make_text(top, count):
    for i in range(count):
        put(f"{top}/d{i % 50}/f{i}.txt", text(R.choice((1000, 8000, 30000))))


def make_project(top, count):
    names = [f"f{i}" for i in range(count)]
    put(f"{top}/all.h", "".join(f"unsigned {n}(unsigned);\n" for n in names))
    for n in names:
        put(f"{top}/{n}.c", f'#include <stdio.h>\n#include <stdlib.h>\n#include "all.h"\n'
            f"static const char t[] = \"{text(2000).replace(chr(10), ' ')}\";\n"
            f"unsigned {n}(unsigned x)\n{{\n\tfor (unsigned i = 0; i < sizeof t; i++)\n"
            f"\t\tx = x * 31 + t[i];\n\treturn x;\n}}\n")
    calls = "".join(f"\tx = {n}(x);\n" for n in names)
    put(f"{top}/main.c", f'#include <stdio.h>\n#include "all.h"\nint main(void)\n{{\n'
        f'\tunsigned x = 1;\n{calls}\tprintf("%u\\n", x);\n\treturn 0;\n}}\n')
    put(f"{top}/Makefile", "O := $(patsubst %.c,%.o,$(filter-out main.c,$(wildcard *.c)))\n"
        "CFLAGS := -O1 -g\nprogram: main.o all.a\n\tcc -o $@ $^\n"
        "all.a: $O\n\tar rcsD $@ $(sort $O)\n")


def git(top, *args, **more):
    return subprocess.run(["git", "-C", top, "-c", "gc.auto=0", *args], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more).stdout


def make_git(top, count):
    make_text(top, count)
    git(os.path.dirname(top), "init", "-q", top)
    me = ("-c", "user.name=a", "-c", "user.email=a@b")
    names = [os.path.join(d, n) for d, s, nn in os.walk(top) if ".git" not in d for n in nn]
    for turn in range(6):
        for n in R.sample(sorted(names), max(count // 10, 1)) if turn else ():
            put(n, text(4000))
        git(top, "add", "-A")
        git(top, *me, "commit", "-q", "-m", str(turn))
        if turn == 2:
            git(top, "repack", "-q", "-d")


def digest(what):
    return hashlib.sha256(what).hexdigest()[:16]


def run(*argv, top):
    return subprocess.run(argv, cwd=top, check=True, stdout=subprocess.PIPE).stdout


def do_build(top):
    run("make", "-s", "-j4", top=top)
    with open(f"{top}/program", "rb") as f:
        return lambda said=f.read(): said + run("./program", top=top)


def do_gitstatus(top):
    said = [git(top, "status", "--short") for _ in range(20)]
    return lambda: b"".join(said)


def do_gitgc(top):
    git(top, "gc", "-q", "--prune=now")
    return lambda: (git(top, "fsck", "--full", "--strict")
                    + git(top, "rev-list", "--objects", "--all"))


def do_rg(top, *how):
    said = run("rg", "-c", *how, "w0[0-9]*7 .*w9[0-9]*3 ", top, top=top)
    return lambda: b"\n".join(sorted(said.splitlines()))


def do_rgmap(top):
    return do_rg(top, "--mmap")


SCRIPT = """
n=0
for f in */*; do
    cat $f | wc -c
    grep -c w00 $f
    sed -n 3p $f
    cmp $f $f
    head -c 100 $f | md5sum
    n=$((n + 7))
    [ $n -lt 1000 ] || exit 0
done
"""


def do_script(top):
    said = run("sh", "-c", SCRIPT, top=top)
    return lambda: said


def main():
    if sys.argv[1] == "make":
        globals()["make_" + sys.argv[2]](sys.argv[3], int(sys.argv[4]))
        return
    t0 = time.monotonic()
    later = globals()["do_" + sys.argv[2]](sys.argv[3])
    seconds = time.monotonic() - t0
    print(json.dumps({"sum": digest(later()), "seconds": seconds}))


main()
