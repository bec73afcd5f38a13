#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What people are told of options and commands, from the tables that the command
has of them.

    docs/from_tables.py FASTMAP table           the table in docs/options.md
    docs/from_tables.py FASTMAP table --write   ... written into it
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


class Tables:
    def __init__(self, fastmap):
        self.fastmap = fastmap
        self.options = json.loads(self.ask("options", "--json"))

    def ask(self, *args):
        return subprocess.run([self.fastmap, *args], check=True, text=True,
                              stdout=subprocess.PIPE, timeout=60).stdout


def values(o):
    """What may be given, for people."""
    if "max" in o:
        return "%d to %d" % (o["min"], o["max"])
    return o["value"].replace("|", ", ")


def meaning(o):
    return ". ".join(t for t in (o["line"], o["rest"]) if t)


# ---- docs/options.md -------------------------------------------------------

BEGIN, END = "| name | variable |", "\n\n"


def table(tables):
    yield "| name | variable | values | default | meaning |"
    yield "|---|---|---|---|---|"
    for o in tables.options:
        yield "| `%s` | %s | %s | %s | %s |" % (
            o["name"],
            "`%s`" % o["variable"] if o["variable"] else "(policy files only)",
            values(o), "`%s`" % o["default"] if o["default"] else "",
            meaning(o))


def options_md(tables):
    """The document as it should be, and as it is."""
    path = HERE + "/options.md"
    is_ = open(path).read()
    begin = is_.index(BEGIN)
    end = is_.index(END, begin)
    return path, is_[:begin] + "\n".join(table(tables)) + is_[end:], is_


def cmd_table(tables, args):
    path, should, is_ = options_md(tables)
    if args == ["--write"]:
        open(path, "w").write(should)
    else:
        print("\n".join(table(tables)))


COMMANDS = {"table": cmd_table}


def main(args):
    if len(args) < 2 or args[1] not in COMMANDS:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    return COMMANDS[args[1]](Tables(args[0]), args[2:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
