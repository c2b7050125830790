#!/usr/bin/env python3
"""Makes the figures and tables of the five papers that ftmpi comes from, with ftmpi on this machine.

    npb-harness/figures.py                          all of them: what `make papers` runs
    npb-harness/figures.py event-logger-2005/7      one, by paper and number; or all of a paper
    npb-harness/figures.py --list                   what there is
    npb-harness/figures.py --tiny                   seconds; part of `make check`

Each figure gives a file of numbers (CSV), a drawing (SVG) and a text that compares. Whatever was measured stays in the
folder of results, by commit and parameters: a command that was interrupted goes on where it was. `--page FILE` also
writes the page of docs/. The exit code is 1 where a figure could not be made, or a certain claim does not hold."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

TOP = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TOP / "c-tests"))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from figures import abaris, event_logger, large, mpich_v, o2p, page, waves  # noqa: E402
from figures.lab import Lab  # noqa: E402
from figures.model import Claim, Figure, Missing, Row, Rows, problem_of_csv, write_csv  # noqa: E402
from harness.core import Results, descendants, kill, run  # noqa: E402
from harness.imb import environment  # noqa: E402

PAPERS = [event_logger, mpich_v, waves, o2p, abaris, large]
ALL: dict[str, Figure] = {figure.name: figure for paper in PAPERS for figure in paper.FIGURES}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", help="papers or figures (all)")
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--tiny", action="store_true", help="a short form, to check that the command works")
    parser.add_argument("--rounds", type=int, help="measurements of each value (3)")
    parser.add_argument("--minutes", type=float, default=75,
                        help="after so long each value that is still missing is measured once (75)")
    parser.add_argument("--most", type=int, default=1 << 20, help="run no more real ranks than these (as in the figure)")
    parser.add_argument("--dist", type=Path, default=TOP / "dist")
    parser.add_argument("--commit", help="the commit of --dist, where it is not the one of this tree")
    parser.add_argument("--simulator", type=Path, help="ftmpi-sim (the newest below target/)")
    parser.add_argument("--npb", type=Path, help="the folder NPB3.4-MPI: the user's kernels instead of ours")
    parser.add_argument("--peers", type=Path, default=TOP / ".peers", help="where matplotlib is, or is installed")
    parser.add_argument("--results", type=Path, default=TOP / ".papers" / "results", help="what has been measured")
    parser.add_argument("--out", type=Path, default=TOP / ".papers" / "figures", help="CSV, SVG and texts")
    parser.add_argument("--page", type=Path, help="also write this page, with the drawings in a folder beside it")
    return parser.parse_args()


def chosen(names: list[str]) -> list[Figure]:
    """The figures of these names; of no name: all."""
    found = []
    for name in names or [""]:
        of_name = [figure for key, figure in ALL.items() if not name or key == name or figure.paper == name]
        if not of_name:
            raise SystemExit(f"figures.py: there is no {name}; --list prints all names")
        found += of_name
    return found


def simulator(asked: Path | None, dist: Path) -> Path | None:
    if asked:
        return asked.resolve()
    target = Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target"))
    built = [target / profile / "ftmpi-sim" for profile in ("release", "quick", "debug")]
    found = [path for path in (*built, dist.parent / "ftmpi-sim") if path.exists()]
    return max(found, key=lambda path: path.stat().st_mtime) if found else None


def measure(lab: Lab, figure: Figure) -> tuple[list[Row], list[Claim]]:
    """Rows and claims. Programs of the short form run for parts of a second. On a busy machine nothing may happen in that
    time, so they get more if need be."""
    for patient in (lab, lab.with_patience(10)) if lab.tiny else (lab,):
        rows = figure.measure(patient)
        claims = figure.claims(Rows(rows))
        if all(claim.holds or not claim.certain for claim in claims):
            break
    return rows, claims


def make(lab: Lab, figure: Figure, out: Path) -> dict | None:
    """Measures a figure and writes its numbers. Returns what drawing and page need."""
    begin, results_before = time.monotonic(), len(lab.others)
    try:
        rows, claims = measure(lab, figure)
    except Missing as why:
        lab.results.bad(figure.name, str(why))
        return None
    except Exception:
        lab.results.bad(figure.name, traceback.format_exc(limit=-3).replace("\n", " | "))
        return None
    file = out / f"{figure.file}.csv"
    write_csv(rows, file)
    lab.results.check(f"{figure.name}: rows", problem_of_csv(figure.tiny or figure.series if lab.tiny else figure.series, rows, file),
                      f"{len(rows)}")
    for claim in claims:
        if claim.certain:
            lab.results.check(f"{figure.name}: {claim.text}", None if claim.holds else "does not hold")
    about = {**figure.about(), "commit": lab.commit, "others": lab.work_of_others(results_before)}
    made = {"about": about, "rows": [asdict(row) for row in rows], "claims": [asdict(claim) for claim in claims]}
    (out / f"{figure.file}.txt").write_text(page.text_of(made))
    (out / f"{figure.file}.json").write_text(json.dumps(made))
    print(f"{figure.name}: {figure.title}: {time.monotonic() - begin:.0f} s", flush=True)
    return made


def make_all(lab: Lab, figures: list[Figure], out: Path) -> list[dict]:
    if not lab.tiny:
        return [made for figure in figures if (made := make(lab, figure, out))]
    # The short form measures nothing that depends on the load, so its jobs run side by side.
    pool = ThreadPoolExecutor(4)
    try:
        return [made for made in pool.map(lambda figure: make(lab, figure, out), figures) if made]
    finally:
        pool.shutdown(cancel_futures=True)


def problem_of_svg(made: dict, file: Path) -> str | None:
    """The problem of a drawing, or None."""
    if not file.exists():
        return f"{file.name} was not written"
    try:
        root = ElementTree.parse(file).getroot()
    except ElementTree.ParseError as error:
        return f"{file.name} is no XML: {error}"
    if not root.tag.endswith("}svg"):
        return f"{file.name} is no SVG"
    text = "".join(root.itertext())
    absent = [word for word in (made["about"]["title"], *{row["series"] for row in made["rows"]})
              if word not in text and (word == made["about"]["title"] or len({r["series"] for r in made["rows"]}) > 1)]
    return f"{file.name} does not show {', '.join(absent)}" if absent else None


def draw(lab: Lab, made: list[dict], out: Path, peers: Path) -> None:
    """Draws all figures in one process."""
    folder, why = environment(peers.resolve(), "matplotlib")
    if folder is None:
        lab.results.skip("drawings", why)
        return
    file = out / "figures.json"
    file.write_text(json.dumps(made))
    outcome = run([folder / "bin" / "python", TOP / "npb-harness" / "figures" / "draw.py", file, out], timeout=600)
    if outcome.code != 0:
        lab.results.bad("drawings", outcome.output_tail())
        return
    for figure in made:
        about = figure["about"]
        lab.results.check(f"{about['name']}: drawing", problem_of_svg(figure, out / f"{about['file']}.svg"))


def finish(lab: Lab, made: list[dict], args: argparse.Namespace) -> None:
    about = {"commit": lab.commit, "machine": lab.machine, "rounds": lab.rounds, "others": lab.work_of_others(),
             "when": time.strftime("%Y-%m-%d", time.gmtime()), "seeds": list(range(1, lab.rounds + 1)),
             "npb": str(bool(args.npb)), "figures": len(ALL), "network": lab.no_network or "network namespaces"}
    (args.out / "about.json").write_text(json.dumps(about, indent=1))
    if args.page:
        # Also what an earlier command made.
        files = [args.out / f"{figure.file}.json" for figure in ALL.values()]
        page.write(args.page, about, [json.loads(file.read_text()) for file in files if file.exists()], args.out)
    print(f"{lab.ran} measured, {lab.reused} taken from {lab.kept}; written: {args.out}", flush=True)


def main() -> int:
    args = arguments()
    if args.list:
        for name, figure in ALL.items():
            print(f"{name:<40} {figure.title}")
        return 0
    figures, results = chosen(args.figures), Results()
    # So that networks and folders are removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    work = Path(tempfile.mkdtemp(prefix="ftmpi-figures."))
    if args.tiny:
        args.results, args.out = work / "results", work / "figures"
    args.out.mkdir(parents=True, exist_ok=True)
    lab = None
    try:
        if not (args.dist / "bin" / "ftmpiexec").exists():
            results.bad("dist", f"{args.dist / 'bin' / 'ftmpiexec'} is missing: run `make` first")
            return results.finish()
        lab = Lab(args.dist.resolve(), results, args.results, work, tiny=args.tiny,
                  rounds=args.rounds or (1 if args.tiny else 3), npb=args.npb and args.npb.resolve(),
                  simulator=simulator(args.simulator, args.dist.resolve()), name=args.commit)
        lab.most = args.most
        lab.rounds_end = time.monotonic() + 60 * args.minutes
        made = make_all(lab, figures, args.out)
        draw(lab, made, args.out, args.peers)
        finish(lab, made, args)
    finally:
        if lab:
            lab.close()
        kill(descendants(os.getpid()))
        shutil.rmtree(work, ignore_errors=True)
    return results.finish()


if __name__ == "__main__":
    sys.exit(main())
