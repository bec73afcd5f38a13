# SPDX-License-Identifier: MIT
"""Mapped files that outgrow memory: what fastmap.h offers, for Python.

    fastmap run --api yes -- python3 program.py

    import fastmap
    table = fastmap.memmap("rows.bin", dtype="f4", mode="r", shape=(10**8, 64))
    fastmap.prefetch(table, next_rows)     # begins to read them, and returns
    use(table[rows])
    fastmap.release(table, rows)           # they are not needed soon

Every function takes what has the buffer interface: an array, a memoryview, an
mmap.mmap. Without the library (available() is False) a memmap is numpy's own, and
prefetch, release and advise do nothing: no bytes depend on them. Errors are OSError, of
set() also KeyError and ValueError.
Any number of threads may call any function; none may be called in a signal handler
of C.
"""
import ctypes
import math
import errno
import mmap as _mmap
import os
import time
import warnings
import weakref

__all__ = ["NORMAL", "RANDOM", "SEQUENTIAL", "Ticket", "advise", "available", "memmap",
           "pin", "prefetch", "release", "resident", "stat", "sync", "unpin", "why"]
__version__ = "0.1.0"

NORMAL, RANDOM, SEQUENTIAL = range(3)
PAGE = 4096
_INT_MAX = 2**31 - 1
_MAP_FAILED = ctypes.c_void_p(-1).value
_READ, _WRITE = 0x100, 0x200  # PyBUF_ of a memoryview


class _Range(ctypes.Structure):
    _fields_ = [("addr", ctypes.c_size_t), ("len", ctypes.c_size_t)]


class _Stat(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in (
        "size", "cache_limit", "cache_resident", "dirty", "engine_files", "kernel_files",
        "faults", "reads", "read_bytes", "ahead_pages", "ahead_waste", "ahead_refused",
        "evicted_pages", "written_bytes", "write_errors", "tickets",
        "answered", "kernel_bytes", "kernel_asked", "major_faults")]


_SIGNATURES = {  # fastmap.h
    "available": (ctypes.c_int, []),
    "map": (ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int,
                              ctypes.c_int, ctypes.c_int64]),
    "unmap": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t]),
    "sync": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t]),
    "prefetch": (ctypes.c_int64, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]),
    "wait": (ctypes.c_int, [ctypes.c_int64, ctypes.c_int]),
    "ticket_fd": (ctypes.c_int, [ctypes.c_int64]),
    "release": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t]),
    "pin": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t]),
    "unpin": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t]),
    "advise": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int,
                              ctypes.c_size_t]),
    "resident": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]),
    "stat": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_size_t]),
    "set": (ctypes.c_int, [ctypes.c_char_p, ctypes.c_char_p]),
    "why": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]),
}


def _found():
    """The library's functions by name, where it is in this process."""
    program, calls = ctypes.CDLL(None, use_errno=True), {}
    try:
        for name, (result, arguments) in _SIGNATURES.items():
            calls[name] = getattr(program, "fastmap_" + name)
            calls[name].restype, calls[name].argtypes = result, arguments
    except AttributeError:
        return None
    return calls


_calls = _found()


def _checked(name, *args):
    result = _calls[name](*args)
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def available():
    """Is the library in this process, and not turned off?"""
    return bool(_calls and _calls["available"]())


if _calls and not available() and os.environ.get("FASTMAP_MODE") != "off":
    warnings.warn("libfastmap is loaded, but nothing has told it that this program calls it: "
                  "start with `fastmap run --api yes` (or FASTMAP_API=1); until then all is the "
                  "kernel's", RuntimeWarning, stacklevel=2)


# ---- what is meant -----------------------------------------------------------

class _Buffer(ctypes.Structure):
    _fields_ = [("buf", ctypes.c_void_p), ("obj", ctypes.py_object), ("len", ctypes.c_ssize_t),
                ("itemsize", ctypes.c_ssize_t), ("readonly", ctypes.c_int),
                ("ndim", ctypes.c_int), ("format", ctypes.c_char_p),
                ("shape", ctypes.c_void_p), ("strides", ctypes.c_void_p),
                ("suboffsets", ctypes.c_void_p), ("internal", ctypes.c_void_p)]


def _of_buffer(data):
    """(address, bytes) of what is contiguous."""
    b = _Buffer()
    ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(data), ctypes.byref(b), 0)
    try:
        return b.buf or 0, b.len
    finally:
        ctypes.pythonapi.PyBuffer_Release(ctypes.byref(b))


def _span(array):
    """(address, bytes) from the first to behind the last item of an array of numpy's."""
    if not array.size:
        return array.ctypes.data, 0
    low = high = array.ctypes.data
    for n, stride in zip(array.shape, array.strides):
        low, high = low + min(0, stride * (n - 1)), high + max(0, stride * (n - 1))
    return low, high + array.itemsize - low


def _is_array(data):
    return hasattr(data, "__array_interface__") and hasattr(data, "strides")


def _rows(array, rows):
    """Ranges of these rows: indices of the first axis as numpy takes them."""
    import numpy
    if not array.ndim:
        raise IndexError("an array without rows")
    picked = numpy.arange(len(array))[rows].ravel() if isinstance(rows, slice) else \
        numpy.asarray(rows).ravel()
    if picked.dtype == bool:
        picked = numpy.flatnonzero(picked)
    picked = picked.astype(numpy.int64, casting="same_kind" if picked.size else "unsafe")
    if picked.size and (picked.min() < -len(array) or picked.max() >= len(array)):
        raise IndexError("row out of range of %d" % len(array))
    picked = numpy.unique(numpy.where(picked < 0, picked + len(array), picked))
    ranges = numpy.empty((len(picked), 2), dtype=numpy.uint64)
    if len(picked):
        address, length = _span(array[0])
        ranges[:, 0] = address + picked * array.strides[0]
        ranges[:, 1] = length
    return ranges.ctypes.data, len(ranges), ranges


def _ranges(data, rows):
    """(address of the ranges, how many, what keeps them)"""
    if rows is not None:
        return _rows(data, rows)
    r = _Range(*(_span(data) if _is_array(data) else _of_buffer(data)))
    return ctypes.addressof(r), 1, r


def _pages(data):
    """(address, bytes) in whole pages."""
    address, length = _span(data) if _is_array(data) else _of_buffer(data)
    first = address // PAGE * PAGE
    return first, -(-(address + length - first) // PAGE) * PAGE if length else 0


# ---- what may be asked -------------------------------------------------------

def _over():
    """A descriptor that is readable."""
    fd, other = os.pipe()
    os.write(other, b"\0")
    os.close(other)
    return fd


class Ticket:
    """What has been asked for ahead. Nobody need wait for it."""

    def __init__(self, number):
        self._number = number
        self._fd = -1

    def wait(self, timeout=None):
        """Until all has come, failed or been given up; for so many seconds at most.
        Is it over? A signal whose handler raises nothing does not end it."""
        if not self._number:
            return True
        end = None if timeout is None else time.monotonic() + timeout
        while True:
            ms = -1
            if end is not None:
                ms = min(max(0, math.ceil((end - time.monotonic()) * 1000)), _INT_MAX)
            try:
                _checked("wait", self._number, ms)
                return True
            except InterruptedError:
                pass
            except TimeoutError:
                return False

    def done(self):
        return self.wait(0)

    def fileno(self):
        """For select and asyncio: readable when it is over. It is closed with the
        ticket."""
        if self._fd < 0:
            self._fd = _checked("ticket_fd", self._number) if available() else _over()
            weakref.finalize(self, os.close, self._fd)
        return self._fd


def prefetch(data, rows=None):
    """Begin to read data, or these rows of an array, into memory, and return a Ticket at
    once. Never more than the cache takes."""
    address, n, _keep = _ranges(data, rows)
    return Ticket(_checked("prefetch", address, n, 0) if available() else 0)


def release(data, rows=None):
    """Give the memory of data, or of these rows, back; what is dirty is written first. The
    bytes stay those of the file."""
    address, n, _keep = _ranges(data, rows)
    if available():
        _checked("release", address, n)


def pin(data, rows=None):
    """Pages of data, or of these rows, leave last, until they are unpinned or the file is
    unmapped. They are not read for that: see prefetch."""
    address, n, _keep = _ranges(data, rows)
    if available():
        _checked("pin", address, n)


def unpin(data, rows=None):
    address, n, _keep = _ranges(data, rows)
    if available():
        _checked("unpin", address, n)


def advise(data, pattern, depth=0, rows=None):
    """NORMAL, RANDOM (nothing is read ahead) or SEQUENTIAL (what has been passed may
    leave); depth: so many bytes ahead of a reader at most, 0: as the library likes."""
    address, n, _keep = _ranges(data, rows)
    if available():
        _checked("advise", address, n, pattern, depth)


def resident(data):
    """A byte for each page that data touches: 1, it is in memory."""
    address, length = _pages(data)
    out = ctypes.create_string_buffer(max(1, length // PAGE))
    call = _calls["resident"] if _calls else ctypes.CDLL(None, use_errno=True).mincore
    if call(ctypes.c_void_p(address), ctypes.c_size_t(length), out):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return bytes(b & 1 for b in out.raw[:length // PAGE])


def sync(data):
    """When it returns, what has been stored in data is durable."""
    if available():
        _checked("sync", *_pages(data))
    elif hasattr(data, "flush"):
        data.flush()


def stat():
    """The numbers of fastmap_stat, as a dict; empty without the library."""
    if not available():
        return {}
    s = _Stat()
    _checked("stat", ctypes.addressof(s), ctypes.sizeof(s))
    return {name: getattr(s, name) for name, _ in _Stat._fields_ if name != "size"}


def why(data):
    """Who serves the memory of data, and why, as a line for people; None: nobody that we
    know of."""
    if not available():
        return None
    text = ctypes.create_string_buffer(512)
    try:
        _checked("why", (_span(data) if _is_array(data) else _of_buffer(data))[0],
                 ctypes.addressof(text), len(text))
    except OSError:
        return None
    return text.value.decode(errors="replace")


def set(key, value):
    """Another value for a setting of this process: keys and values of `fastmap set`, as
    fastmap.set("cache", "2G"). KeyError: there is no such key. ValueError: a bad value, or
    one out of range. PermissionError: it cannot change while the process runs. `import *` does
    not bring it: it would hide Python's."""
    if not available():
        return
    try:
        _checked("set", str(key).encode(), str(value).encode())
    except OSError as e:
        what = "%s = %s" % (key, value)
        if e.errno == errno.ENOENT:
            raise KeyError("%s: no such setting" % what) from None
        if e.errno in (errno.EINVAL, errno.ERANGE):
            raise ValueError("%s: %s" % (what, "out of range" if e.errno == errno.ERANGE else
                                         "bad value")) from None
        raise OSError(e.errno, e.strerror, what) from None


# ---- an array in a file ------------------------------------------------------

def _mapped(path, mode, offset, bytes_):
    """A buffer of the file's bytes from offset on, which is unmapped with its last
    user."""
    flags = {"r": os.O_RDONLY, "c": os.O_RDONLY, "r+": os.O_RDWR,
             "w+": os.O_RDWR | os.O_CREAT | os.O_TRUNC}[mode]
    prot = _mmap.PROT_READ | (0 if mode == "r" else _mmap.PROT_WRITE)
    first = offset // PAGE * PAGE
    fd = os.open(path, flags, 0o666)
    try:
        if mode in ("r+", "w+") and os.fstat(fd).st_size < offset + bytes_:
            os.ftruncate(fd, offset + bytes_)
        elif os.fstat(fd).st_size < offset + bytes_:
            raise ValueError("mmap length is greater than file size")
        length = offset - first + bytes_
        address = _calls["map"](None, length, prot,
                                _mmap.MAP_PRIVATE if mode == "c" else _mmap.MAP_SHARED, fd, first)
    finally:
        os.close(fd)
    if address in (None, _MAP_FAILED):
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error), path)
    view = ctypes.pythonapi.PyMemoryView_FromMemory
    view.restype = ctypes.py_object
    view.argtypes = [ctypes.c_void_p, ctypes.c_ssize_t, ctypes.c_int]
    buffer = view(address + offset - first, bytes_, _READ if mode == "r" else _WRITE)
    # At the end of the process the kernel does it, after whoever still reads.
    weakref.finalize(buffer, _calls["unmap"], address, length).atexit = False
    return buffer


def _memmap():
    import numpy

    class memmap(numpy.memmap):
        """numpy.memmap, served by the engine whatever the paths are."""

        def __new__(cls, filename, dtype=numpy.uint8, mode="r+", offset=0, shape=None,
                    order="C"):
            if not available() or hasattr(filename, "read"):
                return super().__new__(cls, filename, dtype, mode, offset, shape, order)
            mode = {"readonly": "r", "readwrite": "r+", "write": "w+",
                    "copyonwrite": "c"}.get(mode, mode)
            path, dtype = os.fspath(filename), numpy.dtype(dtype)
            if mode not in ("r", "c", "r+", "w+"):
                raise ValueError("mode must be one of r, c, r+, w+")
            if shape is None:
                if mode == "w+":
                    raise ValueError("shape must be given if mode == 'w+'")
                left = os.stat(path).st_size - offset
                if left % dtype.itemsize:
                    raise ValueError("Size of available data is not a multiple of the "
                                     "data-type size.")
                shape = (left // dtype.itemsize,)
            shape = tuple(shape) if hasattr(shape, "__iter__") else (int(shape),)
            bytes_ = math.prod(shape) * dtype.itemsize
            if not bytes_:
                return super().__new__(cls, filename, dtype, mode, offset, shape, order)
            self = numpy.ndarray.__new__(cls, shape, dtype, _mapped(path, mode, offset, bytes_),
                                         order=order)
            self._mmap, self.offset, self.mode = None, offset, mode
            self.filename = os.path.abspath(path)
            self._ours = True
            return self

        def __array_finalize__(self, of):
            super().__array_finalize__(of)
            self._ours = getattr(of, "_ours", False)

        def flush(self):
            if self._ours and self.mode in ("r+", "w+"):
                _checked("sync", *_pages(self))
            else:
                super().flush()

    memmap.__module__, memmap.__qualname__ = __name__, "memmap"
    return memmap


def __getattr__(name):
    """numpy is loaded by who asks for a memmap."""
    if name != "memmap":
        raise AttributeError("module %r has no attribute %r" % (__name__, name))
    globals()[name] = _memmap()
    return globals()[name]
