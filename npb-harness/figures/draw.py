"""Draws figures: draw.py FILE DIRECTORY. Needs a Python with matplotlib. FILE has a list of figures with their rows."""

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.fonttype"] = "none"
matplotlib.rcParams["svg.hashsalt"] = "ftmpi"
matplotlib.rcParams["font.size"] = 9
import matplotlib.pyplot as plt  # noqa: E402

STYLE = {"measured": "-", "simulated": "-.", "extrapolated": ":", "paper": "--"}
MARK = {"measured": "o", "simulated": "s", "extrapolated": "", "paper": "x"}
COLUMNS = 3


def series_of(rows):
    return list(dict.fromkeys(row["series"] for row in rows))


def lines(axes, rows, colors):
    for name in series_of(rows):
        for source in STYLE:
            points = sorted((r for r in rows if r["series"] == name and r["source"] == source), key=lambda r: r["x"])
            if not points:
                continue
            x, y = [r["x"] for r in points], [r["value"] for r in points]
            label = name if source in ("measured", "simulated") else f"{name} ({source})"
            axes.plot(x, y, STYLE[source], marker=MARK[source], markersize=3, linewidth=1, color=colors[name], label=label)
            if source == "measured":
                axes.fill_between(x, [r["low"] for r in points], [r["high"] for r in points], color=colors[name], alpha=0.12,
                                  linewidth=0)


def bars(axes, rows, colors):
    places = list(dict.fromkeys(r["x"] for r in rows))
    kinds = list(dict.fromkeys((r["series"], r["source"]) for r in rows))
    width = 0.8 / len(kinds)
    for number, (name, source) in enumerate(kinds):
        chosen = [r for r in rows if (r["series"], r["source"]) == (name, source)]
        at = [places.index(r["x"]) + (number + 0.5) * width - 0.4 for r in chosen]
        values = [r["value"] for r in chosen]
        spread = [[r["value"] - r["low"] for r in chosen], [r["high"] - r["value"] for r in chosen]]
        axes.bar(at, values, width, yerr=spread, color=colors[name], hatch="//" if source == "paper" else "",
                 alpha=0.5 if source == "paper" else 0.9, label=name, error_kw={"linewidth": 0.7})
    axes.set_xticks(range(len(places)), [str(p) for p in places],
                    rotation=60 if sum(len(str(p)) for p in places) > 50 else 0,
                    ha="right" if sum(len(str(p)) for p in places) > 50 else "center")


def draw(figure, out):
    rows, about = figure["rows"], figure["about"]
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    across = min(len(panels), COLUMNS)
    down = -(-len(panels) // across)
    picture, all_axes = plt.subplots(down, across, figsize=(4.4 * across + 1.6, 3.3 * down), squeeze=False)
    names = series_of(rows)
    colors = {name: f"C{number % 10}" for number, name in enumerate(names)}
    for number, axes in enumerate(all_axes.flat):
        if number >= len(panels):
            axes.set_visible(False)
            continue
        own = [row for row in rows if row["panel"] == panels[number]]
        (bars if about["kind"] == "bars" else lines)(axes, own, colors)
        for axis in "xy":
            if axis in about["log"] and any(row["x" if axis == "x" else "value"] for row in own):
                getattr(axes, f"set_{axis}scale")("log")
        axes.set(title=panels[number] if len(panels) > 1 else "", xlabel=about["x"], ylabel=about["y"] or own[0]["unit"])
        axes.grid(True, alpha=0.25)
    axes = all_axes.flat[0]
    if len(names) > 1:
        handles, labels = {}, []
        for each in all_axes.flat:
            for handle, label in zip(*each.get_legend_handles_labels()):
                handles.setdefault(label, handle)
        labels = list(handles)
        picture.legend(handles.values(), labels, fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    picture.suptitle(f"{about['name']}: {about['title']}", fontsize=10)
    picture.tight_layout()
    picture.savefig(out / f"{about['file']}.svg", bbox_inches="tight", metadata={"Date": None})
    plt.close(picture)


def main():
    out = Path(sys.argv[2])
    for figure in json.loads(Path(sys.argv[1]).read_text()):
        draw(figure, out)


if __name__ == "__main__":
    main()
