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


def upcalls(library):
    """{kind: {what its pointers point to}}: src/base/up.h. Of a struct, the functions
    that it names."""
    place, size, to, out = {}, {}, {}, {}
    for l in lines("readelf", "-SsrW", library):
        f = l.replace("[ ", "[").split()
        if len(f) > 5 and f[0].startswith("[") and f[1].startswith("fm_up_"):
            place[f[1][len("fm_up_"):]] = int(f[3], 16), int(f[5], 16)
        elif len(f) > 7 and f[3] == "OBJECT":
            size[int(f[1], 16)] = int(f[2], 0)
        elif len(f) == 4 and f[2].endswith("_RELATIVE"):
            to[int(f[0], 16)] = int(f[3], 16)
    for kind, (at, n) in place.items():
        entries = {to[a] for a in range(at, at + n, 8) if a in to}
        out[kind] = entries | {to[a] for e in entries for a in
                               range(e, e + size.get(e, 0), 8) if a in to}
    return out


def calls_up(archive):
    """[(function, kind)]: who goes through the pointers of a kind."""
    found, here = [], None
    for l in lines("objdump", "-dr", "--no-show-raw-insn", archive):
        m = re.match(r"^[0-9a-f]+ <(.+)>:$", l)
        if m:
            here = m.group(1)
            continue
        m = re.search(r"R_\w+\s+__start_fm_up_(\w+)", l)
        if m and (here, m.group(1)) not in found:
            found.append((here, m.group(1)))
    return found


def with_upcalls(edges, functions, library, archive):
    """Edges, with an upcall as if it were a call."""
    name_at, at = functions
    to = upcalls(library)
    more = collections.defaultdict(set, {f: set(t) for f, t in edges.items()})
    for function, kind in calls_up(archive):
        if (None, function) in at and kind in to:
            more[at[(None, function)]] |= {t for t in to[kind] if t in name_at}
    return more


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
