# SPDX-License-Identifier: MIT
"""The table of all workloads: medians with their spread, and how often faster."""
import statistics

BASES = ("native_ra128", "native_ra8192")


def values(row, column):
    """Of one column: seconds, or the figure that the workload names."""
    unit = row["figure"]
    return [r["figures"].get(unit, r["seconds"]) if unit else r["seconds"]
            for r in row["runs"].get(column, []) if not r["errors"]]


def shown(v):
    if not v:
        return "-"
    return "%.3g (%.3g to %.3g)" % (statistics.median(v), min(v), max(v))


def speed(row, base, mine):
    """How much better mine is. Seconds: less is better; figures: more."""
    a, b = values(row, base), values(row, mine)
    if not a or not b or not statistics.median(a) or not statistics.median(b):
        return None
    x = statistics.median(a) / statistics.median(b)
    return 1 / x if row["figure"] else x


def times(x):
    return "-" if x is None else "%.2f" % x


def read_of(row, column):
    v = [r["read"] for r in row["runs"].get(column, []) if r["read"] is not None]
    return "%d" % (statistics.median(v) // (1 << 20)) if v else "-"


def line(row):
    others = [c for c in row["runs"] if not c.startswith(("native_", "preloaded_"))]
    cells = [row["about"], row["device"], "%d MiB" % (row["memory"] >> 20),
             row["figure"] or "s"]
    cells += [shown(values(row, c)) for c in BASES]
    cells.append("; ".join(f"{c}: {shown(values(row, c))}" for c in others) or "-")
    cells += [shown(values(row, c.replace("native", "preloaded"))) for c in BASES]
    speeds = [times(speed(row, c, c.replace("native", "preloaded"))) for c in BASES]
    speeds += ["%s of %s" % (times(speed(row, c, "preloaded_ra8192")), c) for c in others]
    cells.append(" · ".join(speeds))
    cells.append(" · ".join("%g" % a for a in row["aim"]) if row["aim"] else "-")
    cells.append(" · ".join(read_of(row, c) for c in (BASES[0], "preloaded_ra8192")))
    return "| " + " | ".join(cells) + " |"


def part_values(row, column, part):
    return [r["figures"][part] for r in row["runs"].get(column, []) if part in r["figures"]]


def part_speeds(row, base):
    """{part: native / preloaded}."""
    mine, out = base.replace("native", "preloaded"), {}
    for part in {p: 0 for r in row["runs"].get(base, []) for p in r["figures"]}:
        a, b = part_values(row, base, part), part_values(row, mine, part)
        if part != "seconds" and a and b and statistics.median(b):
            out[part] = statistics.median(a) / statistics.median(b)
    return out


def parts(doc):
    """Of rows that have them: how often faster each is."""
    out = []
    for row in doc["rows"]:
        every = [part_speeds(row, c) for c in BASES] if row.get("parts") else []
        words = [f"{p} " + " · ".join(times(s.get(p)) for s in every)
                 for p in (every[0] or every[1] if every else ())]
        if words:
            out.append(f"- {row['workload']}, {row['device']} (128 · 8192): "
                       + ", ".join(words))
    return out


def brief(doc):
    """The lines of docs/benchmarks.md."""
    def cell(row, column):
        v = values(row, column)
        if len(v) == 2 and max(v) > 1.1 * min(v):
            return "%s to %s" % (plain(min(v)), plain(max(v)))
        return plain(statistics.median(v)) if v else "-"

    out = []
    for row in doc["rows"]:
        hints = ", ".join(f"{cell(row, c)} {c}" for c in row["runs"]
                          if not c.startswith(("native_", "preloaded_")))
        most = max(map(len, row["runs"].values()))
        cells = [row["about"], f"{row['scale']:g}, {row['device']}",
                 row["figure"] + "/s" if row["figure"] not in ("", "iops") else
                 row["figure"] or "s", cell(row, BASES[0]), cell(row, BASES[1]), hints or "-",
                 cell(row, "preloaded_ra128"), cell(row, "preloaded_ra8192"), str(most)]
        out.append("| " + " | ".join(cells) + " |")
    return "\n".join(out)


def plain(v):
    return f"{v:,.0f}" if v >= 100 else "%.3g" % v


def verdicts(doc):
    """What a user should do, once for each workload."""
    said = {r["workload"]: r.get("verdict") for r in doc["rows"]}
    return [f"- {name}: {text}" for name, text in said.items() if text]


def markdown(doc):
    head = ["workload", "device", "memory", "unit", "native, 128", "native, 8192",
            "its own remedy", "preloaded, 128", "preloaded, 8192",
            "faster (128 · 8192 · remedy)", "aim", "MiB read, native 128 · preloaded"]
    return "\n".join(["| " + " | ".join(head) + " |", "|---" * len(head) + "|",
                      *[line(r) for r in doc["rows"]], "", *parts(doc), *verdicts(doc), ""])
