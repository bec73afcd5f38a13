# SPDX-License-Identifier: MIT
"""What is left of a run that failed: a rare failure does not come again when asked."""
import contextlib
import glob
import os
import resource
import shutil
import signal
import subprocess
import tempfile
import threading

MOST = 20  # runs
CORE_BYTES = 1 << 30
EVENTS = ["-ex", "printf \"engine's last words, the newest is number %u\\n\", fm_log_last.n",
          "-ex", "print fm_log_last.line"]


def allow_cores():
    """Of this process's children: what dies writes a core where it was started."""
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    soft = CORE_BYTES if hard == resource.RLIM_INFINITY else min(hard, CORE_BYTES)
    resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))


def elsewhere():
    """Where the kernel puts cores, if that is not where the program was started."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/core_pattern") as f:
        pattern = f.read().strip()
        return pattern if pattern[:1] in ("|", "/") else ""
    return ""


def died(status):
    return isinstance(status, int) and status < 0 and -status not in (signal.SIGKILL, signal.SIGTERM)


def backtrace(exe, core):
    try:
        return subprocess.run(["gdb", "-batch", "-ex", "info threads", "-ex", "thread apply all bt 40",
                               *EVENTS, exe, core], stdin=subprocess.DEVNULL, timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as e:
        return ("no backtrace: %s\n" % e).encode()


class Kept:
    """A folder that is made when there is something to keep, and stays."""

    def __init__(self):
        self.folder, self.n = None, 0
        self.lock = threading.Lock()

    def place(self, title):
        with self.lock:
            self.n += 1
            if self.n > MOST:
                return None
            if not self.folder:
                self.folder = tempfile.mkdtemp(prefix="fastmap-kept.",
                                               dir=os.environ.get("FASTMAP_TEST_DIR", "/var/tmp"))
            name = "".join(c if c.isalnum() or c in "-_" else "_" for c in title)
            return os.path.join(self.folder, "%s.%d" % (name, self.n))

    def say(self):
        if self.folder:
            print("KEPT %d runs that failed, with cores and backtraces: %s" %
                  (min(self.n, MOST), self.folder))

    def keep(self, title, argv, env, result, where, more=()):
        """argv, its environment, (output, status, errors); the folder where it ran, for
        cores; other files. Returns what can be said of it."""
        to = self.place(title)
        if not to:
            return []
        os.mkdir(to)
        out, status, err = result[:3]
        with open(to + "/run", "w") as f:
            f.write("%s\nexit status %s\n%s\n" % (" ".join(argv), status, "\n".join(
                "%s=%s" % x for x in sorted((env or {}).items()) if x[0].startswith(("FASTMAP", "LD_")))))
        for name, text in ("stdout", out), ("stderr", err):
            with open(to + "/" + name, "w") as f:
                f.write(text)
        cores = [c for c in glob.glob(where + "/core*") if os.path.isfile(c)]
        for path in cores + list(more):
            with contextlib.suppress(OSError):
                shutil.move(path, to)
        for path in cores:
            core = to + "/" + os.path.basename(path)
            with open(core + ".backtrace", "wb") as f:
                f.write(backtrace(argv[0], core))
        lost = elsewhere() if died(status) and not cores else ""
        return ["kept: " + to] + (["its core: as kernel.core_pattern says, %s" % lost] if lost else [])
