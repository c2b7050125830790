"""The texts: one for each figure, and the page of docs/ that has them all."""

from __future__ import annotations

import shutil
from pathlib import Path

PAPERS = {
    "event-logger-2005": "Event logger 2005",
    "mpich-v-2006": "MPICH-V 2006",
    "blocking-vs-nonblocking-2008": "Blocking and non-blocking waves 2008",
    "o2p-2009": "O2P 2009",
    "abaris": "ABARIS",
    "large": "Large machines",
}
# A share of the processors that other work may have.
QUIET = 0.25
# Rows of a table on the page. The files have all.
MOST_ROWS = 30


def short(value: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1e5 or abs(value) < 1e-3:
        return f"{value:.1e}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def spread(row: dict) -> str:
    text = short(row["value"])
    if row["rounds"] > 1 and row["high"] > row["low"]:
        text += f" ({short(row['low'])}–{short(row['high'])})"
    return text


def comparison(figure: dict) -> list[tuple[str, str, str, str, str]]:
    """Ours beside the paper's, wherever the paper names a number for the same case."""
    ours = {}
    for row in figure["rows"]:
        if row["source"] != "paper":
            ours.setdefault((row["panel"], row["series"], row["x"]), row)
            # A figure of bars may name the paper a series of its own.
            ours.setdefault((row["panel"], None, row["x"]), row)
    table = []
    for row in figure["rows"]:
        if row["source"] != "paper":
            continue
        own_series = row["series"] != "paper"
        mine = ours.get((row["panel"], row["series"] if own_series else None, row["x"]))
        if mine is None:
            continue
        case = [row["panel"]] if len({r["panel"] for r in figure["rows"]}) > 1 else []
        case += [row["series"]] if own_series else []
        x = short(row["x"]) if isinstance(row["x"], (int, float)) else row["x"]
        case.append(f"{x} {figure['about']['x']}".strip())
        ratio = short(mine["value"] / row["value"]) if row["value"] else "–"
        table.append((", ".join(case), spread(mine), short(row["value"]), ratio, row["unit"]))
    return table


def claims(figure: dict) -> list[tuple[str, str]]:
    verdicts = {True: "seen", False: "not seen", None: "value"}
    return [(verdicts[claim["holds"]], claim["text"]) for claim in figure["claims"]]


def text_of(figure: dict) -> str:
    """What a reader at a terminal wants to know of a figure."""
    about = figure["about"]
    lines = [f"{about['name']}: {about['title']}", ""]
    lines += [about[name] for name in ("setting", "why") if about[name]]
    if table := comparison(figure):
        lines += ["", f"{'case':<50} {'ours':>24} {'paper':>10} {'ours/paper':>10}"]
        lines += [f"{case:<50} {ours:>24} {theirs:>10} {ratio:>10} {unit}" for case, ours, theirs, ratio, unit in table]
    lines += ["", *(f"{verdict}: {text}" for verdict, text in claims(figure))]
    return "\n".join(lines) + "\n"


def sources(figure: dict) -> str:
    names = list(dict.fromkeys(row["source"] for row in figure["rows"] if row["source"] != "paper"))
    return ", ".join(names)


def section(figure: dict, images: str) -> list[str]:
    about = figure["about"]
    number = about["number"]
    kind = "" if not number[0].isdigit() else "Figure "
    lines = [f"### {kind}{number}: {about['title']}", ""]
    lines += [f"Numbers: {sources(figure)}. [Drawing]({images}/{about['file']}.svg), [values]({images}/{about['file']}.csv). "
              f"Made by `npb-harness/figures.py {about['name']}`.", ""]
    if about["setting"]:
        lines += [about["setting"], ""]
    if about["others"] > QUIET and "measured" in sources(figure):
        lines += [f"Other work had up to {100 * about['others']:.0f} % of the processors, so times are worse and spread wider "
                  "than on a quiet machine.", ""]
    if table := comparison(figure):
        lines += ["| case | ours | paper | ours / paper | unit |", "| --- | --- | --- | --- | --- |"]
        lines += ["| " + " | ".join(cells) + " |" for cells in table[:MOST_ROWS]] + [""]
    lines += [f"- **{verdict}**: {text}" for verdict, text in claims(figure)] + [""]
    if about["why"]:
        lines += [about["why"], ""]
    return lines


def write(file: Path, about: dict, figures: list[dict], out: Path) -> None:
    """Writes the page, and the drawings and values into a folder of its name beside it."""
    folder = file.with_suffix("")
    folder.mkdir(parents=True, exist_ok=True)
    machine = about["machine"]
    lines = [
        "# The papers' figures", "",
        "This page sets what ftmpi does beside what the five papers report, figure by figure. `make papers` makes it.", "",
        f"Run of {about['when']} at commit {about['commit']}: {machine['processors']} processors ({machine['model']}), Linux "
        f"{machine['kernel']}. "
        f"A value is the median of up to {about['rounds']} rounds, with the smallest and the largest in brackets. Seeds of faults: "
        f"{', '.join(map(str, about['seeds']))}.", "",
        "\"Seen\" and \"not seen\" say whether a claim about the shape, or a goal for the value, holds in these rows. "
        "Numbers marked as simulated come from `ftmpi-sim`, which runs the production machines. Extrapolated ones continue "
        "them.", "",
    ]
    counted = [claim for figure in figures for claim in figure["claims"] if claim["holds"] is not None]
    if len(figures) < about["figures"]:
        lines += [f"{len(figures)} of {about['figures']} figures are here. `make papers` makes all.", ""]
    lines += [f"{sum(claim['holds'] for claim in counted)} of {len(counted)} claims are seen.", ""]
    for paper, title in PAPERS.items():
        own = [figure for figure in figures if figure["about"]["paper"] == paper]
        if own:
            lines += [f"## {title}", ""]
        for figure in own:
            if figure["about"]["commit"] != about["commit"]:
                figure["about"]["setting"] = f"At commit {figure['about']['commit']}. {figure['about']['setting']}"
            lines += section(figure, folder.name)
            for kind in ("svg", "csv"):
                source = out / f"{figure['about']['file']}.{kind}"
                if source.exists():
                    shutil.copy(source, folder / source.name)
    while lines[-1] == "":
        lines.pop()
    file.write_text("\n".join(lines) + "\n")
