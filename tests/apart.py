# SPDX-License-Identifier: MIT
"""Root's usual run of a suite has a PID namespace of its own: at each file that it takes
over the library looks at all processes that it may look at, and those of the machine cost
most of the CPU time of a run. A full run is among them all."""
import os
import shutil
import subprocess
import sys

OWN = ["unshare", "--fork", "--pid", "--mount-proc", "--kill-child"]
SHELL = ["sh", "-c", '"$@"; exit $?', "sh"]  # it waits for what is orphaned there
DONE = "TESTS_APART"


def apart():
    """What a command begins with."""
    return OWN + SHELL if os.geteuid() == 0 and shutil.which("unshare") and not subprocess.call(
        OWN + ["true"], stderr=subprocess.DEVNULL) else []


def again_apart():
    """This program once more; returns where it is so, or cannot be."""
    how = [] if os.environ.pop(DONE, "") else apart()
    if how:
        os.environ[DONE] = "1"
        os.execvp(how[0], how + [sys.executable, *sys.argv])
