# SPDX-License-Identifier: MIT
"""What a check has found wrong: it goes on, and fails in the end."""
FAILED = []


def expect(name, ok, detail=""):
    if not isinstance(name, str):  # the other way round it would never fail
        raise TypeError("the name comes first: %r" % (name,))
    if not ok:
        FAILED.append(name)
        print("FAIL %s %s" % (name, detail))
