# SPDX-License-Identifier: MIT
"""docs/first-half-hour.md as a test: its commands, in one shell, and whether
they print the lines that it shows.

A number stands for any number, a bar for any bar; blanks for any blanks. Lines
that are printed beside those that the document shows do no harm. What depends
on the machine is told by ANY; and a summary may go on with what became of a
file: where all wait for CPUs the kernel is tried.
"""
import os
import re

# Of a command that begins so only the lines that begin so have to be there.
ANY = {
    "fastmap doctor": ("The engine runs.",),
    "fastmap compare": ("round ", "served: ", "same output; "),
    "fastmap suggest": ("[path ", "engage = yes"),
}

SUMMARY = "fastmap: served "
UNIT = r"(?:[KMGTk]|us|ms|[smhd])?"
NUMBER = re.compile(r"\d[\d.:]*%s\b(?: [KMG]iB\b)?" % UNIT)
BAR = re.compile(r"\[[.drkcoDRKCO]{20,}\]")
FREE = re.compile("%s|%s|( +)" % (NUMBER.pattern, BAR.pattern))


def read(document):
    """[(command, [line])] of the blocks that are indented."""
    commands = []
    for line in open(document).read().splitlines():
        if line.startswith("    $ "):
            commands.append((line[6:], []))
        elif line.startswith("    ") and commands:
            commands[-1][1].append(line[4:])
    return [(c, [l for l in lines if l.strip()]) for c, lines in commands]


def pattern(line):
    """What the line may look like another time."""
    out, at = "", 0
    for m in FREE.finditer(line.strip()):
        out += re.escape(line.strip()[at:m.start()])
        out += (r"\s+" if m.group(1) else r"\[[.drkcoDRKCO]+\]"
                if m.group().startswith("[") else
                r"\d[\d.:]*%s(?: [KMG]iB)?" % UNIT)
        at = m.end()
    out += re.escape(line.strip()[at:])
    if line.strip().startswith(SUMMARY):
        out += "(?:; .*)?"
    return re.compile(r"\s*%s\s*" % out)


def missing(command, lines, printed):
    """The first line of the document that was not printed, in its order."""
    starts = [v for k, v in ANY.items() if command.startswith(k)]
    if starts:
        lines = [l for l in lines if l.startswith(starts[0])]
    printed = iter(printed)
    for line in lines:
        wanted = pattern(line)
        if not any(wanted.fullmatch(p) for p in printed):
            return line
    return None


def script(commands, folder):
    """For sh: after each command a line with its status."""
    yield "cd " + folder
    for n, (command, _) in enumerate(commands):
        yield command
        yield 's=$?; echo; echo "@@ %d $s"' % n


def split(out):
    """{number of the command: (status, [line])} of what the script printed."""
    parts, lines = {}, []
    for line in out.splitlines():
        m = re.fullmatch(r"@@ (\d+) (\d+)", line)
        if m:
            parts[int(m.group(1))] = int(m.group(2)), lines
            lines = []
        else:
            lines.append(line)
    return parts


def run(system, document, own, inside, expect):
    """In the folder `own`, which is `inside` for the system."""
    commands = read(document)
    expect("the document has commands", len(commands) > 20, commands)
    with open(own + "/session.sh", "w") as f:
        f.write("\n".join(script(commands, inside)) + "\n")
    _, out = system.sh("sh %s/session.sh" % inside)
    parts = split(out)
    if os.environ.get("FASTMAP_TEST_SHOW"):
        print(out)
    for n, (command, lines) in enumerate(commands):
        status, printed = parts.get(n, (None, []))
        lost = missing(command, lines, printed)
        expect("document: " + command, status == 0 and lost is None,
               "status %s, not printed: %s\nprinted:\n%s" %
               (status, lost, "\n".join(printed)))
