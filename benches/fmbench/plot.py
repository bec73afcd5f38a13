# SPDX-License-Identifier: MIT
"""Plots of a result file: python3 plot.py RESULT.json OUTPUT_PREFIX

A program of its own, because the interpreter with matplotlib is often not the
first one in PATH. Exit status 3: no matplotlib here.
"""
import json
import sys

LABEL = {"native_ra128": "kernel, read-ahead 128 KiB", "native": "kernel as is",
         "native_hint": "kernel, best hint", "preloaded": "libfastmap"}
COLOR = {"native_ra128": "#9aa5b1", "native": "#cbd2d9", "native_hint": "#616e7c",
         "preloaded": "#d64545"}
TITLE = {"forked": "8 workers, forked after the map (and who served)",
         "processes": "4 processes (and who served)",
         "confined": "one process, confined as in a container (and who served)"}


def scaling(fig, doc):
    """Random reads over threads, with what the device can do."""
    ax = fig.subplots()
    rows = {int(r["workload"][4:]): r for r in doc["table"]
            if r["shape"] == "one" and r["workload"].startswith("rand")
            and r["workload"][4:].isdigit() and r["unit"] == "k/s"}
    for column, label in LABEL.items():
        pts = [(t, r["columns"][column]) for t, r in sorted(rows.items())
               if column in r["columns"]]
        if pts:
            x = [t for t, _ in pts]
            y = [s["median"] / 1e3 for _, s in pts]
            err = [[(s["median"] - s["min"]) / 1e3 for _, s in pts],
                   [(s["max"] - s["median"]) / 1e3 for _, s in pts]]
            ax.errorbar(x, y, yerr=err, marker="o", capsize=2, label=label,
                        color=COLOR[column])
    dev = {}
    for d in doc["device"]:
        r = d["result"]
        if r["what"] == "rand" and not r["poll"]:
            dev.setdefault(r["depth"], []).append(r["rate"] / 1e3)
    if dev:
        ax.plot(sorted(dev), [sorted(dev[k])[len(dev[k]) // 2] for k in sorted(dev)],
                "k--", label="device limit at that depth")
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    ax.set_xlabel("threads")
    ax.set_ylabel("random 4 KiB reads, thousands per second")
    ax.legend(fontsize=8)
    ax.grid(alpha=0.3)


def bars(ax, rows):
    """Ratios against each of the kernel's columns, the first row on top."""
    rows = rows[::-1]
    for k, column in enumerate(("native_hint", "native", "native_ra128")):
        mine = [(i + (k - 1) * 0.27, r["ratios"][column]) for i, r in enumerate(rows)
                if column in r["ratios"]]
        ax.barh([y for y, _ in mine], [r["measured"] for _, r in mine], height=0.25,
                label="against " + LABEL[column], color=COLOR[column])
        marks = [(y, r["target"]) for y, r in mine if r["target"]]
        ax.plot([m[1] for m in marks], [m[0] for m in marks], "|", color="#d64545",
                markersize=6, label="target" if k == 2 else None)
    ax.axvline(1, color="black", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_yticks(range(len(rows)))
    ax.set_yticklabels([r["title"] for r in rows], fontsize=8)
    ax.set_xlabel("libfastmap / kernel (more is better)")
    ax.grid(axis="x", alpha=0.3)


def of_shape(doc, name):
    return [r for r in doc["table"] if r["shape"] == name and r["ratios"]]


def ratios(fig, doc):
    ax = fig.subplots()
    bars(ax, of_shape(doc, "one"))
    ax.legend(fontsize=8, loc="lower right")


def shapes(fig, doc):
    """One below the other, with one axis of ratios."""
    named = [(t, of_shape(doc, n)) for n, t in TITLE.items()]
    named = [(t, rows) for t, rows in named if rows]
    if not named:
        return
    axes = fig.subplots(len(named), sharex=True, squeeze=False,
                        height_ratios=[len(rows) for _, rows in named])[:, 0]
    for ax, (title, rows) in zip(axes, named):
        bars(ax, [dict(r, title=f"{r['title']} ({'; '.join(r['servers'])})")
                  for r in rows])
        ax.set_title(title, fontsize=9)
        ax.label_outer()
    axes[0].legend(fontsize=8)


def begin():
    """(pyplot without a screen, the text of the file given). No matplotlib: the end."""
    try:
        import matplotlib
    except ImportError:
        sys.exit(3)
    matplotlib.use("Agg")
    from matplotlib import pyplot
    with open(sys.argv[1], encoding="utf-8") as f:
        return pyplot, f.read()


def save(fig, prefix, dpi):
    fig.tight_layout()
    for ext in ("svg", "png"):
        fig.savefig(f"{prefix}.{ext}", dpi=dpi)


def main():
    pyplot, text = begin()
    doc = json.loads(text)
    for name, draw, size in (("threads", scaling, (6.4, 4.4)),
                             ("ratios", ratios, (9, 9)),
                             ("shapes", shapes, (9, 8))):
        if name != "shapes" and not of_shape(doc, "one"):
            continue
        fig = pyplot.figure(figsize=size)
        draw(fig, doc)
        save(fig, f"{sys.argv[2]}-{name}", 120)
    return 0


if __name__ == "__main__":
    sys.exit(main())
