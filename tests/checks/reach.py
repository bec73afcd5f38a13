# SPDX-License-Identifier: MIT
"""Who calls whom, from the disassembly of the library."""
import collections
import re
import subprocess


def lines(*cmd):
    return subprocess.run(cmd, check=True, stdout=subprocess.PIPE, text=True,
                          errors="replace").stdout.splitlines()


def functions(library):
    """{address: name}, {(source file or None, name): address}"""
    name_at, at, source = {}, {}, None
    for l in lines("readelf", "-sW", library):
        f = l.split()
        if len(f) < 8 or not f[0].endswith(":"):
            continue
        if f[3] == "FILE":
            source = f[7]
        elif f[3] in ("FUNC", "NOTYPE") and f[6] not in ("UND", "ABS"):
            addr, name = int(f[1], 16), f[7].split("@")[0]
            # The version script has made every hidden name local.
            at[(source, name)] = at[(None, name)] = addr
            if f[3] == "FUNC" or addr not in name_at:
                name_at[addr] = name
    return name_at, at


def graph(library, name_at):
    """{address: {callee address or libc name}}"""
    edges, here = collections.defaultdict(set), None
    for l in lines("objdump", "-d", "--no-show-raw-insn", library):
        m = re.match(r"^([0-9a-f]+) <(.+)>:$", l)
        if m:
            here = int(m.group(1), 16)
            continue
        m = re.search(r"<([^>+@]+)(?:@@?[A-Za-z_0-9.]+)?@plt>", l)
        if m:
            edges[here].add(m.group(1))
            continue
        m = re.search(r"(?:call|j\w+|lea)\s.*?([0-9a-f]+) <([^>]+)>", l)
        if not m:
            continue
        target, text = int(m.group(1), 16), m.group(2)
        imported = re.match(r"(\w+)@+(GLIBC|Base)", text)
        if imported:
            edges[here].add(imported.group(1))
        elif target in name_at and target != here:
            edges[here].add(target)
    return edges


def path_to(node, parent, name_at):
    names = []
    while node is not None:
        names.append(name_at.get(node, "?") if isinstance(node, int) else node)
        node = parent[node]
    return " <- ".join(names)


def walk(roots, edges, name_at, allowed, forbidden):
    """What may not be reached from the roots (addresses), each as a path."""
    parent = {r: None for r in roots}
    todo, bad = collections.deque(roots), []
    while todo:
        f = todo.popleft()
        for t in sorted(edges[f], key=str):
            if t in parent:
                continue
            parent[t] = f
            if isinstance(t, str):
                if t not in allowed:
                    bad.append(t)
            elif forbidden.match(name_at[t]):
                bad.append(t)
            else:
                todo.append(t)
    ours = sum(isinstance(n, int) for n in parent)
    return [path_to(b, parent, name_at) for b in bad], ours
