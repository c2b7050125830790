"""Draws pictures (SVG) of a `bench.json` or `costs.json`: plots.py FILE DIRECTORY. Needs a Python with matplotlib."""

import json
import re
import statistics
import sys
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402

UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}


def ping_pongs(measured: dict) -> dict[str, dict[str, dict[int, float]]]:
    """kind -> library -> bytes -> median microseconds."""
    found: dict = {}
    for name, metric in measured.items():
        match = re.fullmatch(r"ping-pong (\w+) (\d+) (B|KiB|MiB)", name)
        if match:
            size = int(match[2]) * UNITS[match[3]]
            for library, values in metric["values"].items():
                found.setdefault(match[1], {}).setdefault(library, {})[size] = statistics.median(values)
    return found


def curves(kind: str, libraries: dict, out: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    for library, points in libraries.items():
        sizes = sorted(points)
        style = "--" if library == "floor" else "-"
        width = 2.4 if library.startswith("ftmpi") else 1.2
        left.plot(sizes, [points[s] for s in sizes], style, marker=".", linewidth=width, label=library)
        right.plot(sizes, [s / points[s] / 1e3 for s in sizes], style, marker=".", linewidth=width, label=library)
    left.set(xscale="log", yscale="log", xlabel="bytes", ylabel="one way [us]", title=f"Latency, {kind}")
    right.set(xscale="log", xlabel="bytes", ylabel="GB/s", title=f"Bandwidth, {kind}")
    left.legend()
    for axes in (left, right):
        axes.grid(True, alpha=0.3)
    figure.tight_layout()
    figure.savefig(out / f"ping-pong-{kind}.svg")


def ratios(table: list[dict], out: Path) -> None:
    shown = [row for row in table if "ratio ftmpi none" in row and not row["metric"].startswith("ping-pong")]
    if not shown:
        return
    figure, axes = plt.subplots(figsize=(9, 0.35 * len(shown) + 1.5))
    places = range(len(shown))
    for name, shift, color in (("ftmpi none", 0.18, "tab:blue"), ("ftmpi pessimistic", -0.18, "tab:orange")):
        values = [row.get(f"ratio {name}", 0) for row in shown]
        low = [max(v - row.get(f"low {name}", v), 0) for v, row in zip(values, shown)]
        high = [max(row.get(f"high {name}", v) - v, 0) for v, row in zip(values, shown)]
        axes.barh([p + shift for p in places], values, 0.34, xerr=[low, high], color=color, label=name)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_yticks(list(places), [row["metric"] for row in shown])
    axes.set(xlabel="time by that of the reference (smaller is better)")
    axes.invert_yaxis()
    axes.legend()
    figure.tight_layout()
    figure.savefig(out / "ratios.svg")


def costs(table: dict, out: Path) -> None:
    """For each protocol and kernel: the time divided by the time of `none`."""
    rows = [row for row in table["table"] if row["variant"] != "none"]
    kernels = table["kernels"]
    figure, axes = plt.subplots(figsize=(1.2 * len(kernels) + 4, 5))
    width = 0.8 / max(len(rows), 1)
    for number, row in enumerate(rows):
        places = [k + (number + 0.5) * width - 0.4 for k in range(len(kernels))]
        values = [row.get(f"{kernel} cost", 0) for kernel in kernels]
        low = [max(v - row.get(f"{kernel} low", v), 0) for v, kernel in zip(values, kernels)]
        high = [max(row.get(f"{kernel} high", v) - v, 0) for v, kernel in zip(values, kernels)]
        axes.bar(places, values, width, yerr=[low, high], label=row["variant"], error_kw={"linewidth": 0.6})
    axes.axhline(1, color="black", linewidth=1)
    axes.set_xticks(range(len(kernels)), kernels)
    axes.set(ylabel="time by that of none (smaller is better)",
             title="NAS Parallel Benchmarks, {ranks} ranks on {processors} processors".format(**table["about"]))
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1, 0.5))
    figure.tight_layout()
    figure.savefig(out / "costs.svg")


def main() -> None:
    bench = json.loads(Path(sys.argv[1]).read_text())
    out = Path(sys.argv[2])
    if "kernels" in bench:
        costs(bench, out)
        return
    for kind, libraries in ping_pongs(bench["measured"]).items():
        curves(kind, libraries, out)
    ratios(bench["table"], out)


if __name__ == "__main__":
    main()
