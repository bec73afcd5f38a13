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


def scaling(ax, doc):
    """Random reads over threads, with what the device can do."""
    rows = {int(r["workload"][4:]): r for r in doc["table"]
            if r["workload"].startswith("rand") and r["workload"][4:].isdigit()
            and r["unit"] == "k/s"}
    for shape, label in LABEL.items():
        pts = [(t, r["shapes"][shape]) for t, r in sorted(rows.items())
               if shape in r["shapes"]]
        if pts:
            x = [t for t, _ in pts]
            y = [s["median"] / 1e3 for _, s in pts]
            err = [[(s["median"] - s["min"]) / 1e3 for _, s in pts],
                   [(s["max"] - s["median"]) / 1e3 for _, s in pts]]
            ax.errorbar(x, y, yerr=err, marker="o", capsize=2, label=label,
                        color=COLOR[shape])
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


def ratios(ax, doc):
    rows = [r for r in doc["table"] if r["ratios"]][::-1]
    shapes = ("native_hint", "native", "native_ra128")
    for k, shape in enumerate(shapes):
        ys = [i + (k - 1) * 0.27 for i, r in enumerate(rows) if shape in r["ratios"]]
        xs = [r["ratios"][shape]["measured"] for r in rows if shape in r["ratios"]]
        ax.barh(ys, xs, height=0.25, label="against " + LABEL[shape],
                color=COLOR[shape])
        marks = [(i + (k - 1) * 0.27, r["ratios"][shape]["target"])
                 for i, r in enumerate(rows)
                 if shape in r["ratios"] and r["ratios"][shape]["target"]]
        ax.plot([m[1] for m in marks], [m[0] for m in marks], "|", color="#d64545",
                markersize=6, label="target" if k == 2 else None)
    ax.axvline(1, color="black", linewidth=0.8)
    ax.set_xscale("log")
    ax.set_yticks(range(len(rows)))
    ax.set_yticklabels([r["title"] for r in rows], fontsize=8)
    ax.set_xlabel("libfastmap / kernel (more is better)")
    ax.legend(fontsize=8, loc="lower right")
    ax.grid(axis="x", alpha=0.3)


def main():
    try:
        import matplotlib
    except ImportError:
        return 3
    matplotlib.use("Agg")
    from matplotlib import pyplot
    with open(sys.argv[1], encoding="utf-8") as f:
        doc = json.load(f)
    for name, draw, size in (("threads", scaling, (6.4, 4.4)),
                             ("ratios", ratios, (9, 9))):
        fig, ax = pyplot.subplots(figsize=size)
        draw(ax, doc)
        fig.tight_layout()
        for ext in ("svg", "png"):
            fig.savefig(f"{sys.argv[2]}-{name}.{ext}", dpi=120)
    return 0


if __name__ == "__main__":
    sys.exit(main())
