#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The thread-local variables of a static library become variables of the process.

    src/one_thread.py ARCHIVE [OUT]     # without OUT: can it be done?

For a library of which one thread at a time runs, under a lock (the private jemalloc:
base/alloc.c), so that what it keeps for a thread does not take static TLS in each
thread of the program, of which a loader that audits has little.

Code that was compiled for the initial-exec model finds a variable so: its distance
from the thread pointer is a word of the GOT, to which %fs or the word at %fs:0 is
added. Here the word becomes the address (R_X86_64_GOTPCREL in place of GOTTPOFF), the
thread pointer zero, and the prefix one that means nothing. No instruction changes its
length, and none begins elsewhere. What is not one of these forms ends in an error, and
what was made is disassembled again: but for those instructions it must be the same.
Where this ends in an error the build takes the archive as it is.
"""
import os
import re
import struct
import subprocess
import sys
import tempfile

SYMTAB, RELA, REL, EXECUTABLE, TLS = 2, 4, 9, 4, 0x400
STT_OBJECT, STT_TLS = 1, 6
GOTPCREL, GOTTPOFF = 9, 22
NO_PREFIX = 0x3e
PREFIXES = (0x66, 0xf2, 0xf3) # that may stand before %fs
NOP2, NOP9 = b"\x66\x90", b"\x66\x0f\x1f\x84\x00\x00\x00\x00\x00"
AT_ZERO = b"\x25\x00\x00\x00\x00"


def lines(*cmd):
    return subprocess.run(cmd, check=True, stdout=subprocess.PIPE, text=True,
                          env=dict(os.environ, LC_ALL="C")).stdout.splitlines()


def plain(text, segment):
    """Without the prefix, which is shown in one of two ways."""
    return re.sub(r"\s+", " ", re.sub(r"\b%s |%%%s:" % (segment, segment), "", text))


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

    def tables(self, wanted):
        """Header, offset, and offsets of the entries of 24 bytes."""
        for h in self.headers:
            kind, _, at, size = self.section(h)
            if kind == wanted:
                yield h, at, range(at, at + size, 24)

    def relocations(self):
        """What refers to a thread-local variable does so by the GOT, in an instruction
        that loads or adds the word: nothing else is known here."""
        (_, symbols, _), = self.tables(SYMTAB)
        for h, _, entries in self.tables(RELA):
            target = self.headers[struct.unpack_from("<I", self.data, h + 44)[0]]
            for r in entries:
                at, what, symbol, addend = struct.unpack_from("<QIIq", self.data, r)
                symbol = symbols + 24 * symbol
                index, = struct.unpack_from("<H", self.data, symbol + 6)
                of = self.data[symbol + 4] & 15 == STT_TLS or (
                    0 < index < len(self.headers) and
                    bool(self.section(self.headers[index])[1] & TLS))
                if of != (what == GOTTPOFF):
                    self.fail("relocation %d in %s" % (what, self.name(h)))
                if not of:
                    continue
                at += self.section(target)[2]
                rex, code, modrm = self.data[at - 3:at]
                if addend != -4 or rex & ~4 != 0x48 or code not in (0x8b, 0x03) or \
                        modrm & 0xc7 != 0x05:
                    self.fail("use of the GOT in %s" % self.name(h))
                struct.pack_into("<I", self.data, r + 8, GOTPCREL)

    def symbols(self):
        """Names of thread-local variables: those that are here, those that are not."""
        here, elsewhere = set(), set()
        for h, _, entries in self.tables(SYMTAB):
            strings = self.section(
                self.headers[struct.unpack_from("<I", self.data, h + 40)[0]])[2]
            for s in entries:
                if self.data[s + 4] & 15 != STT_TLS:
                    continue
                name = strings + struct.unpack_from("<I", self.data, s)[0]
                name = bytes(self.data[name:self.data.index(0, name)])
                index, = struct.unpack_from("<H", self.data, s + 6)
                (here if index else elsewhere).add(name)
                self.data[s + 4] += STT_OBJECT - STT_TLS
        return here, elsewhere

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
        if self.data[at:at + len(code)] != code:
            self.fail("two sections of one name")
        fs = next((i for i, b in enumerate(code) if b not in PREFIXES), 0)
        if code[fs] != 0x64 or text.count("%fs") != 1:
            self.fail(text)
        if code[-5:] == AT_ZERO and len(code) == 9 and code[1] in (0x48, 0x4c) and \
                code[2] in (0x8b, 0x03) and code[3] & 0xc7 == 0x04:
            reg, rex = code[3] >> 3 & 7, 0x48 | code[1] >> 2 & 1
            new = NOP9 if code[2] == 0x03 else \
                bytes([rex, 0xc7, 0xc0 | reg]) + bytes(4) + NOP2
        elif re.search(r"%fs:(0x[0-9a-f]+)?\(%r", text) and not re.match("j|call", text):
            new = code[:fs] + bytes([NO_PREFIX]) + code[fs + 1:]
        else:
            self.fail(text)
        self.data[at:at + len(code)] = new

    def disassembled(self):
        """Of all instructions: section, address, bytes, text."""
        section = None
        for l in lines("objdump", "-d", "-z", "-w", "--insn-width=16", self.path):
            m = re.match(r"Disassembly of section (\S+):", l)
            if m:
                section = m[1]
            m = re.match(r"\s*([0-9a-f]+):\t((?:[0-9a-f]{2} )+)\s*(?:\t(.*))?$", l)
            if m:
                yield section, int(m[1], 16), bytes.fromhex(m[2]), (m[3] or "").strip()

    def instructions(self):
        """Those that were changed, as they were."""
        where = {self.name(h): self.section(h)[2] for h in self.headers
                 if self.section(h)[1] & EXECUTABLE}
        before = list(self.disassembled())
        changed = {}
        for section, at, code, text in before:
            if "%fs" in text and not re.search(r"%fs:0x28(,|$)", text):
                self.patch(where[section] + at, code, text)
                changed[section, at] = code, text
        return before, changed

    def verify(self, before, changed):
        """As disassembled now: the same instructions, but for what was to be changed."""
        now = {(s, at): (code, text) for s, at, code, text in self.disassembled()}
        for section, at, code, text in before:
            new, new_text = now.pop((section, at), (b"", ""))
            if (section, at) not in changed:
                same = new == code and new_text == text
            elif code[-5:] != AT_ZERO:
                same = len(new) == len(code) and \
                    plain(new_text, "ds") == plain(text, "fs")
            elif code[2] == 0x03:
                same = len(new) == 9 and new_text.startswith("nop")
            else:
                reg = text.rsplit(",", 1)[1]
                nop = now.pop((section, at + 7), (b"", ""))[0]
                same = re.fullmatch(r"mov +\$0x0," + reg, new_text) and nop == NOP2
            if not same:
                self.fail("%s became %s" % (text, new_text))
        if now:
            self.fail("more instructions than before")

    def change(self):
        if next(self.tables(REL), None):
            self.fail("relocations without addend")
        before, changed = self.instructions()
        self.relocations()
        names = self.symbols()
        self.sections()
        open(self.path, "wb").write(self.data)
        self.verify(before, changed)
        if any(self.section(h)[1] & TLS for h in self.headers):
            self.fail("a thread-local section is left")
        return names


def changed_archive(archive, out, d):
    names = lines("ar", "t", archive)
    if len(set(names)) != len(names):
        sys.exit("%s: two members of one name" % archive)
    subprocess.run(["ar", "x", archive], cwd=d, check=True)
    here, elsewhere = set(), set()
    for n in names:
        h, e = Object(os.path.join(d, n)).change()
        here |= h
        elsewhere |= e
    if elsewhere - here:
        sys.exit("%s: a thread-local variable of somebody else" % archive)
    if out:
        if os.path.exists(out):
            os.unlink(out)
        subprocess.run(["ar", "rcs", out, *names], cwd=d, check=True)


def main():
    paths = [os.path.abspath(a) for a in sys.argv[1:3]]
    with tempfile.TemporaryDirectory() as d:
        try:
            changed_archive(paths[0], paths[1] if len(paths) > 1 else None, d)
        except (KeyError, IndexError, ValueError, struct.error, OSError,
                subprocess.CalledProcessError) as e:
            sys.exit("%s: %s: %s" % (paths[0], type(e).__name__, e))


main()
