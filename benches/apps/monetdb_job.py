# SPDX-License-Identifier: MIT
"""monetdb_job.py generate TABLES FACTOR | load|query|change|sums TABLES DB [timed]

What it does is in tests/apps/jobs/monetdb_job.py; here it is timed, query by query."""
import contextlib
import hashlib
import io
import json
import os
import runpy
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
JOB = os.path.join(HERE, "..", "..", "tests", "apps", "jobs", "monetdb_job.py")


class Lines(io.StringIO):
    """What the job prints, and when: a line of its own after each query."""

    def __init__(self):
        super().__init__()
        self.said = []
        self.last = time.monotonic()

    def write(self, text):
        if text.strip():
            now = time.monotonic()
            self.said.append((text, round(now - self.last, 3)))
            self.last = now
        return super().write(text)


def parts(lines):
    """Seconds of each query; what comes before the first belongs to no one."""
    return {text.split()[0].lower(): took for text, took in lines.said
            if text[0] == "Q" and text[1:2].isdigit()}


lines, t0 = Lines(), time.monotonic()
sys.argv = [JOB, *sys.argv[1:4]]
with contextlib.redirect_stdout(lines):
    runpy.run_path(JOB)
print(json.dumps({"sum": hashlib.sha256(lines.getvalue().encode()).hexdigest()[:16],
                  "seconds": round(time.monotonic() - t0, 2), **parts(lines)}))
