# SPDX-License-Identifier: MIT
"""The same bytes from each kind of source that a policy can name (docs/stores.md)."""
import contextlib
import ctypes
import os
import random
import shutil
import socket
import struct
import subprocess
import tempfile
import time

from . import devices

MIB = 1 << 20


def make_plain(path, size):
    """Hexadecimal digits: zstd halves them."""
    r = random.Random(11)
    with open(path + ".new", "wb") as f:
        for _ in range(size // MIB):
            f.write(r.randbytes(MIB // 2).hex().encode())
    os.rename(path + ".new", path)


def make_seekable(plain, path, frame):
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_compressBound.restype = lib.ZSTD_compress.restype = ctypes.c_size_t
    room = ctypes.create_string_buffer(lib.ZSTD_compressBound(ctypes.c_size_t(frame)))
    table = []
    with open(plain, "rb") as f, open(path + ".new", "wb") as out:
        while part := f.read(frame):
            n = lib.ZSTD_compress(room, ctypes.c_size_t(len(room)), part,
                                  ctypes.c_size_t(len(part)), 3)
            out.write(room[:n])
            table.append(struct.pack("<II", n, len(part)))
        entries = b"".join(table)
        out.write(struct.pack("<II", 0x184d2a5e, len(entries) + 9) + entries +
                  struct.pack("<IBI", len(table), 0, 0x8f92eab1))
    os.rename(path + ".new", path)


@contextlib.contextmanager
def nbdkit(plain, tcp, *filters):
    if not shutil.which("nbdkit"):
        raise devices.NoDevice("no nbdkit")
    where = plain + ".socket"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(where)
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    listen = ["-i", "127.0.0.1", "-p", str(port)] if tcp else ["-U", where]
    names = sorted({"--filter=delay" for f in filters if f.startswith("rdelay")})
    server = subprocess.Popen(["nbdkit", "-f", "-r", *listen, *names, "file", plain, *filters])
    try:
        for _ in range(500):
            with contextlib.suppress(OSError), socket.socket(
                    socket.AF_INET if tcp else socket.AF_UNIX) as s:
                s.connect(("127.0.0.1", port) if tcp else where)
                break
            time.sleep(0.01)
        yield f"nbd://127.0.0.1:{port}/" if tcp else f"nbd+unix:///?socket={where}"
    finally:
        server.terminate()
        server.wait()


class Sources:
    """What is made of the plain file is made when it is first wanted, and kept."""

    def __init__(self, folder, build, size):
        self.folder, self.build = folder, build
        os.makedirs(folder, exist_ok=True)
        self.plain = f"{folder}/plain.{size // MIB}"
        self.size = size
        if not os.path.exists(self.plain):
            make_plain(self.plain, size)

    def made(self, name, make):
        path = f"{self.plain}.{name}"
        if not os.path.exists(path):
            make(path)
        return path

    def index(self, name, step):
        """Four files and their index; step: bytes that each begins later than its quarter."""
        quarter = self.size // 4
        cuts = [0, *(quarter * i + step for i in (1, 2, 3)), self.size]

        def make(path):
            with open(self.plain, "rb") as f, open(path + ".new", "w", encoding="ascii") as out:
                out.write("fastmap-files 1\n")
                for i in range(4):
                    with open(f"{path}.{i}", "wb") as part:
                        part.write(f.read(cuts[i + 1] - cuts[i]))
                    out.write(f"{path}.{i} 0 -\n")
            os.rename(path + ".new", path)
        return "files:" + self.made(name, make)

    def masked(self, path):
        table = bytes(i ^ 0x5a for i in range(256))
        with open(self.plain, "rb") as f, open(path + ".new", "wb") as out:
            while part := f.read(MIB):
                out.write(part.translate(table))
        os.rename(path + ".new", path)

    def plugin(self):
        top = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
        so = f"{self.folder}/unmask.so"
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-I", top + "/src/cmd", "-o", so,
                        top + "/docs/examples/store.c"], check=True)
        return f"plugin:{so}?{self.made('masked', self.masked)}"

    def zstd(self, frame):
        return "zstd:" + self.made(f"zst.{frame}",
                                   lambda path: make_seekable(self.plain, path, frame))

    @contextlib.contextmanager
    def nbd(self, tcp=False, delay=None, cache=False):
        """The server has the bytes in memory."""
        with tempfile.TemporaryDirectory(prefix="fmbench.", dir="/dev/shm") as where:
            copy = shutil.copy(self.plain, where + "/plain")
            with nbdkit(copy, tcp, *([f"rdelay={delay}"] if delay else [])) as uri:
                yield uri + (f"&cache={self.plain}.kept" if cache else "")

    def every(self):
        """name: a context with the source's text."""
        def still(text):
            return lambda: contextlib.nullcontext(text())
        return {
            "files": still(lambda: self.index("pages", 0)),
            "files, odd bytes": still(lambda: self.index("odd", 1234)),
            "plugin": still(self.plugin),
            "zstd, frames of 64 KiB": still(lambda: self.zstd(65536)),
            "zstd, frames of 1 MiB": still(lambda: self.zstd(MIB)),
            "zstd, frames of 8 MiB": still(lambda: self.zstd(8 * MIB)),
            "nbd, unix": self.nbd,
            "nbd, TCP": lambda: self.nbd(tcp=True),
            "nbd, 1 ms": lambda: self.nbd(delay="1ms"),
            "nbd, 5 ms": lambda: self.nbd(delay="5ms"),
            "nbd, 5 ms, cache file": lambda: self.nbd(delay="5ms", cache=True),
        }
