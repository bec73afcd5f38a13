# SPDX-License-Identifier: MIT
"""The command, as `fastmap` and as `python -m fastmap`."""
import os
import sys


def main():
    program = os.path.join(os.path.dirname(__file__), "tree", "bin", "fastmap")
    if sys.argv[1:2] == ["run"]:  # this package calls the API, and nothing else says so
        os.environ.setdefault("FASTMAP_API", "1")
    try:
        os.execv(program, ["fastmap", *sys.argv[1:]])
    except OSError as e:
        sys.exit("fastmap: %s: %s (the package was not installed from its wheel)" %
                 (program, e.strerror))


if __name__ == "__main__":
    main()
