# SPDX-License-Identifier: MIT
"""What a process that did not end in time was doing: was it hung or starved?"""
import glob
import os


def text(path):
    try:
        with open(path, errors="replace") as f:
            return f.read()
    except OSError:
        return ""


def thread(task):
    """Name, state, CPU seconds, where in the kernel, system call of a thread."""
    stat = text(task + "/stat").rpartition(")")[2].split()
    if not stat:
        return "gone"
    cpu = (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")
    return "%s %s %.2f s CPU, wchan %s, syscall %s" % (
        text(task + "/comm").strip(), stat[0], cpu, text(task + "/wchan") or "?",
        text(task + "/syscall").strip())


def where(pid):
    """One line for each thread, at most 20, after one with the load."""
    return ["load " + text("/proc/loadavg").strip()] + \
        [thread(t) for t in sorted(glob.glob("/proc/%d/task/*" % pid))[:20]]
