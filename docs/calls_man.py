#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A manual page for each call of src/fastmap.h, from the comment above it.

    docs/calls_man.py HEADER names
    docs/calls_man.py HEADER pages VERSION DIR

A call without a comment of its own belongs to the one before it.
"""
import re
import sys

CALL = re.compile(r"(?:/\*((?:(?!\*/).)*)\*/\s*)?^static inline ([\w *]+?)\s*(\*?)"
                  r"(fastmap_[a-z_]+[a-z])\(([^)]*)\)\n\{", re.M | re.S)
PAGE = """.\\" SPDX-License-Identifier: MIT
.TH {title} 3 2026-11-27 "fastmap {version}" "Library Functions"
.SH NAME
{names} \\- {what}
.SH SYNOPSIS
.nf
.B #include <fastmap.h>
.PP
{synopsis}
.fi
.PP
Nothing is linked: the names are weak.
.SH DESCRIPTION
{text}
.SH NOTES
{notes}
.SH SEE ALSO
{others}.BR libfastmap (7)
"""


class Call:
    def __init__(self, m):
        self.comment, self.type, self.star, self.name, self.args = m.groups()
        self.comment = plain(self.comment or "")
        self.prototype = "%s %s%s(%s);" % (self.type, self.star, self.name,
                                           " ".join(self.args.split()))


def plain(comment):
    """Without the stars of its lines."""
    return re.sub(r"(?m)^\s*\*? ?", "", comment).strip()


def troff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    lines = [("\\&" if l.startswith((".", "'")) else "") + l for l in text.split("\n")]
    return "\n".join(".PP" if not l.strip() else l for l in lines)


def calls(header):
    text = open(header, encoding="ascii").read()
    notes = plain(re.search(r"/\*\n \* fastmap.h.*?\*/", text, re.S).group()[2:-2])
    bodies = text[text.index("for the program"):]
    found = []
    for m in CALL.finditer(bodies):
        if m.group(4) != "fastmap_missing":
            found.append(Call(m))
    return found, notes[notes.index("A range is"):]


def pages(found):
    """Lists of calls that one comment is about."""
    out = []
    for c in found:
        if c.comment:
            out.append([c])
        else:
            out[-1].append(c)
    return out


def write(page, notes, all_of_them, version, folder):
    names = [c.name for c in page]
    what = re.split(r"[.:;,](?:\s|$)", " ".join(page[0].comment.split()))[0]
    others = "".join(".BR %s (3),\n" % c.name for c in all_of_them if c.name not in names)
    text = PAGE.format(title=names[0].upper(), version=version, names=", ".join(names),
                       what=troff(what[0].lower() + what[1:]), others=others,
                       synopsis="\n".join('.BI "' + c.prototype + '"' for c in page),
                       text=troff(page[0].comment), notes=troff(notes))
    for name in names:
        with open("%s/%s.3" % (folder, name), "w", encoding="ascii") as f:
            f.write(text)


def main():
    found, notes = calls(sys.argv[1])
    if sys.argv[2] == "names":
        print("\n".join(c.name for c in found))
        return
    for page in pages(found):
        write(page, notes, found, *sys.argv[3:5])


main()
