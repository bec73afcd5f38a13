# SPDX-License-Identifier: MIT
"""Keys of a JSON document, and those that a document describes."""
import os
import re

from ran import expect

DOCS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))), "docs")


def keys(value, path=""):
    """files[].maps[].start"""
    if isinstance(value, dict):
        for k, v in value.items():
            here = path + "." + k if path else k
            yield here
            yield from keys(v, here)
    elif isinstance(value, list):
        for v in value:
            yield from keys(v, path + "[]")


def documented(file, section=""):
    """Of the tables below that heading of a document, or of all."""
    with open(os.path.join(DOCS, file)) as f:
        text = f.read()
    if section:
        text = text.split("\n## %s\n" % section)[1].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \| *(\S.*?) \|", text, re.M)
    expect("unit and meaning", all(unit for _, unit in rows), rows)
    found = [key for key, _ in rows]
    expect("once", len(found) == len(set(found)), found)
    return set(found)


def same_keys(file, written, rows, optional=()):
    for k in sorted(written - rows):
        expect("docs/%s has no row" % file, False, k)
    for k in sorted(rows - written - set(optional)):
        expect("docs/%s has a row that nobody writes" % file, False, k)


def as_documented(command, value, optional=()):
    """What `fastmap COMMAND --json` has printed."""
    variable = r"\.FASTMAP_[A-Z_]+$"
    same_keys("json.md", {re.sub(variable, ".FASTMAP_...", k)
                          for k in keys(value)},
              documented("json.md", "fastmap %s --json" % command), optional)
