# SPDX-License-Identifier: MIT
"""fio_job.py FIO...: runs it, and says what it did."""
import json
import subprocess
import sys

p = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, check=False)
job = json.loads(p.stdout[p.stdout.index(b"{"):])["jobs"][0]
way = job["write" if "write" in job["job options"]["rw"] else "read"]
print(json.dumps({"sum": f"{p.returncode} {job['error']}", "iops": round(way["iops"]),
                  "p99_us": round(way["clat_ns"]["percentile"]["99.000000"] / 1000),
                  "seconds": way["runtime"] / 1000}))
