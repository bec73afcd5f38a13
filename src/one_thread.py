#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The thread-local variables of a static library become variables of the process.

    src/one_thread.py ARCHIVE OUT

For a library of which one thread at a time runs, under a lock (the private jemalloc:
base/alloc.c), so that what it keeps for a thread does not take static TLS in each
thread of the program, of which a loader that audits has little.

Code that was compiled for the initial-exec model finds a variable so: its distance
from the thread pointer is a word of the GOT, to which %fs or the word at %fs:0 is
added. Here the word becomes the address (R_X86_64_GOTPCREL in place of GOTTPOFF), the
thread pointer zero, and the prefix one that means nothing. No instruction changes its
length or what it does to the flags. What is not one of these forms ends in an error.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

RELA, EXECUTABLE, TLS = 4, 4, 0x400
STT_OBJECT, STT_TLS = 1, 6
GOTPCREL, GOTTPOFF = 9, 22
# TLSGD, TLSLD, DTPOFF32, TPOFF32, DTPMOD64 to TPOFF64, and descriptors
OTHERS = {16, 17, 18, 19, 20, 21, 23, 34, 35, 36}
NO_PREFIX = 0x3e
PREFIXES = (0x66, 0xf2, 0xf3) # that may stand before %fs
NOP2, NOP9 = b"\x66\x90", b"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"
AT_ZERO = b"\x25\x00\x00\x00\x00"


def lines(*cmd):
    return subprocess.run(cmd, check=True, stdout=subprocess.PIPE,
                          text=True).stdout.splitlines()


class Object:
    def __init__(self, path):
        self.path = path
        self.data = bytearray(open(path, "rb").read())
        at, = struct.unpack_from("<Q", self.data, 40)
        size, count, names = struct.unpack_from("<HHH", self.data, 58)
        self.headers = [at + i * size for i in range(count)]
        self.names = self.section(self.headers[names])[2]

    def section(self, header):
        """Type, flags, offset, size."""
        kind, = struct.unpack_from("<I", self.data, header + 4)
        flags, = struct.unpack_from("<Q", self.data, header + 8)
        return (kind, flags, *struct.unpack_from("<QQ", self.data, header + 24))

    def name(self, header):
        at = self.names + struct.unpack_from("<I", self.data, header)[0]
        return self.data[at:self.data.index(0, at)].decode()

    def fail(self, what):
        sys.exit("%s: %s: %s" % (sys.argv[0], os.path.basename(self.path), what))

    def relocations(self):
        for h in self.headers:
            kind, _, at, size = self.section(h)
            if kind != RELA:
                continue
            for r in range(at + 8, at + size, 24):
                what, = struct.unpack_from("<I", self.data, r)
                if what in OTHERS:
                    self.fail("relocation %d in %s" % (what, self.name(h)))
                if what == GOTTPOFF:
                    struct.pack_into("<I", self.data, r, GOTPCREL)

    def symbols(self):
        for h in self.headers:
            kind, _, at, size = self.section(h)
            if kind != 2:
                continue
            for s in range(at + 4, at + size, 24):
                if self.data[s] & 15 == STT_TLS:
                    self.data[s] += STT_OBJECT - STT_TLS

    def sections(self):
        """.tdata to where the linker has .data.*, .tbss to .bss: their names are
        as long."""
        for h in self.headers:
            flags = self.section(h)[1]
            if not flags & TLS:
                continue
            struct.pack_into("<Q", self.data, h + 8, flags & ~TLS)
            at = self.names + struct.unpack_from("<I", self.data, h)[0]
            for old, new in ((b".tdata\0", b".data.\0"), (b".tbss\0", b".bss.\0")):
                if self.data.startswith(old, at):
                    self.data[at:at + len(old)] = new
                    break
            else:
                self.fail("section " + self.name(h))

    def patch(self, at, code, text):
        if text.endswith("%fs:0x28") or "%fs:0x28," in text:
            return # the canary stays the thread's
        fs = next((i for i, b in enumerate(code) if b not in PREFIXES), 0)
        if code[fs] != 0x64:
            self.fail(text)
        if code[-5:] == AT_ZERO and len(code) == 9 and code[2] in (0x8b, 0x03):
            reg, rex = code[3] >> 3 & 7, 0x48 | code[1] >> 2 & 1
            new = NOP9 if code[2] == 0x03 else \
                bytes([rex, 0xc7, 0xc0 | reg]) + bytes(4) + NOP2
        elif re.search(r"%fs:(0x[0-9a-f]+)?\(%r", text):
            new = code[:fs] + bytes([NO_PREFIX]) + code[fs + 1:]
        else:
            self.fail(text)
        self.data[at:at + len(code)] = new

    def instructions(self):
        where = {self.name(h): self.section(h)[2] for h in self.headers
                 if self.section(h)[1] & EXECUTABLE}
        base = None
        for l in lines("objdump", "-d", "-w", "--insn-width=16", self.path):
            m = re.match(r"Disassembly of section (\S+):", l)
            if m:
                base = where[m[1]]
            m = re.match(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*\t(.*)", l)
            if m and "%fs" in m[3]:
                self.patch(base + int(m[1], 16), bytes.fromhex(m[2]), m[3].strip())

    def write(self):
        self.instructions()
        self.relocations()
        self.symbols()
        self.sections()
        open(self.path, "wb").write(self.data)


def main():
    archive, out = map(os.path.abspath, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as d:
        names = lines("ar", "t", archive)
        if len(set(names)) != len(names):
            sys.exit("%s: two members of one name" % archive)
        subprocess.run(["ar", "x", archive], cwd=d, check=True)
        for n in names:
            Object(os.path.join(d, n)).write()
        if os.path.exists(out):
            os.unlink(out)
        subprocess.run(["ar", "rcs", out, *names], cwd=d, check=True)


main()
