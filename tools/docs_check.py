#!/usr/bin/env python3
"""Checks the documents. Changes nothing.

    tools/docs_check.py             links, anchors, options, paths, variables, messages, lengths
    tools/docs_check.py --run DIST  also runs the examples and the marked code blocks with the tree in DIST
    tools/docs_check.py --all DIST  also the blocks that are marked as long

A code block runs if the line above the block is `<!-- test: run -->`. `<!-- test: run, exit 75 -->` names the expected
exit code. `<!-- test: run long -->` leaves the block to `--all`. The blocks of one page run in order, in one scratch
folder that holds the examples.

Prints one line for each fault. The last line is `N passed, N failed, N skipped`. The exit code is 1 if anything failed.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

TOP = Path(__file__).resolve().parent.parent
SOURCES = (".rs", ".py", ".sh", ".c", ".table", ".toml")
# Options of programs that are not ours.
FOREIGN = {
    "--no-kill", "--batch", "--overlap", "--mpi", "--constraint", "--signal", "--time", "--requeue", "--open-mode", "--nodes", "--ntasks-per-node", "--mca",
    "--oversubscribe", "--with-ft", "--all-targets", "--no-binary", "--cap-add", "--security-opt", "--release", "--cflags", "--libs", "--mpi-lib-version",
    "--ro-bind", "--proc", "--dev-bind", "--build-arg", "--memory",
}
OURS = re.compile(r"\b(ftmpiexec|ftmpi-[a-z-]+|ftmpi-sim|docs_check\.py|style\.py|bench\.py|figures\.py|npb\.py|run\.py|check\.py)\b")
OTHERS = re.compile(r"\b(cargo|docker|podman|bwrap|kubectl|pip|sbatch|scontrol|salloc|srun|cmake|git|apt-get|ssh|make|meson|module|pkg-config)\b")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
FOLDERS = {path.name for path in TOP.iterdir() if path.is_dir() and not path.name.startswith(".")} - {"target", "dist"}
PARAGRAPH_WORDS, SENTENCE_WORDS = 100, 40
LIMITS = {"README.md": ("lines", 120), "ARCHITECTURE.md": ("words", 2000), "CHANGELOG.md": ("lines of a version", 40)}
GENERATED = {"docs/reference/mpi-support.md", "docs/reference/options.md"}


def tracked(*patterns):
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    out = subprocess.run(command, cwd=TOP, capture_output=True, text=True, check=True).stdout
    return sorted({name for name in out.splitlines() if (TOP / name).is_file()})


class Page:
    """A document: its lines, and whether each line is code."""

    def __init__(self, name):
        self.name = name
        self.lines = (TOP / name).read_text().splitlines()
        self.fenced = []
        inside = False
        for line in self.lines:
            fence = line.lstrip().startswith("```")
            self.fenced.append(inside or fence)
            inside ^= fence

    def prose(self):
        """The number and text of each line outside of code blocks."""
        return ((at, line) for at, line in enumerate(self.lines, 1) if not self.fenced[at - 1])

    def code(self):
        return ((at, line) for at, line in enumerate(self.lines, 1) if self.fenced[at - 1])

    def anchors(self):
        """The anchors that GitHub and mdBook make from headings."""
        found, seen = set(), {}
        for _, line in self.prose():
            if match := re.match(r"#{1,6} +(.*)", line):
                text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", match[1]).replace("`", "").replace("*", "").lower()
                slug = re.sub(r"[^\w\- ]", "", text).strip().replace(" ", "-")
                seen[slug] = seen.get(slug, -1) + 1
                found.add(f"{slug}-{seen[slug]}" if seen[slug] else slug)
        return found

    def blocks(self):
        """The first line, expected exit code, duration (long or not), and text of each block that runs."""
        at = 0
        while at < len(self.lines):
            mark = re.fullmatch(r"\s*<!-- test: run( long)?(?:, exit (\d+))? -->", self.lines[at])
            at += 1
            if not mark:
                continue
            while not self.lines[at].startswith("```"):
                at += 1
            first = at + 1
            while not self.lines[at + 1].startswith("```"):
                at += 1
            yield first + 1, int(mark[2] or 0), bool(mark[1]), "\n".join(self.lines[first : at + 1])


class Check:
    def __init__(self):
        self.pages = {name: Page(name) for name in tracked("*.md")}
        self.faults, self.passed, self.skipped = [], 0, 0

    def fault(self, page, at, text):
        self.faults.append(f"{page.name}:{at}: {text}")

    def rule(self, name, check):
        """Applies one rule to all pages."""
        before = len(self.faults)
        for page in self.pages.values():
            check(page)
        self.passed += len(self.faults) == before
        print(f"docs_check: {name}: {len(self.faults) - before} faults")

    # ---- the rules -------------------------------------------------------------------------------

    def links(self, page):
        for at, line in page.prose():
            bare = re.sub(r"`[^`]*`", "", line)
            for target in re.findall(r"\]\(([^)\s]+)\)", bare):
                if re.match(r"[a-z]+:", target):
                    continue
                path, _, anchor = target.partition("#")
                file = (TOP / page.name).parent / path if path else TOP / page.name
                inside = file.resolve().is_relative_to(TOP / "docs")
                if not file.exists():
                    self.fault(page, at, f"there is no {target}")
                elif page.name.startswith("docs/") and not inside:
                    self.fault(page, at, f"{target} is outside of the book: name it as code")
                elif anchor and file.suffix == ".md":
                    other = self.pages[str(file.resolve().relative_to(TOP))]
                    if anchor not in other.anchors():
                        self.fault(page, at, f"{path or page.name} has no heading #{anchor}")

    def listed(self, page):
        """Every page of the book is in SUMMARY.md."""
        if page.name == "docs/SUMMARY.md" or not page.name.startswith("docs/"):
            return
        summary = "\n".join(self.pages["docs/SUMMARY.md"].lines)
        if f"({page.name.removeprefix('docs/')})" not in summary:
            self.fault(page, 1, "docs/SUMMARY.md does not list this page")

    def options(self, page):
        if page.name in GENERATED:
            return
        for at, line in page.code():
            for part in re.split(r"&&|;|\|", line.split("# ")[0]):
                ours = OURS.search(part)
                if ours and not (OTHERS.search(part) and OTHERS.search(part).start() < ours.start() and " -- " in part):
                    self.known(page, at, part[ours.start() :])
        for at, line in page.prose():
            for span in re.findall(r"`([^`]+)`", line):
                if not OTHERS.match(span):
                    self.known(page, at, span)

    def known(self, page, at, text):
        # Arguments behind `./prog` belong to the program.
        for option in OPTION.findall(re.split(r"\s\./", text)[0]):
            if option not in self.option_names and option not in FOREIGN:
                self.fault(page, at, f"no program of ours has the option {option}")

    def paths(self, page):
        for at, line in page.prose():
            for span in re.findall(r"`([^`\s]+)`", line):
                path, _, name = span.split("#")[0].removeprefix("./").partition("::")
                if path.split("/")[0] in FOLDERS and "/" in path and not re.search(r"[*{}…<>]|[A-Z]{3,}(/|$)", path):
                    if not (TOP / path).exists():
                        self.fault(page, at, f"there is no {span}")
                    elif name and not re.search(rf"\b(fn|def|class|void) {re.escape(name)}\b", self.texts.get(path, "")):
                        self.fault(page, at, f"{path} has no {name}")

    def variables(self, page):
        for at, line in enumerate(page.lines, 1):
            for name in re.findall(r"\bFTMPI_[A-Z_]+\b", line):
                if name not in self.source_text:
                    self.fault(page, at, f"nothing reads {name}")
        if page.name == "docs/reference/environment.md":
            hints = self.texts["options/src/ftmpiexec/hydra_variables.rs"].split("pub struct Hint")[0]
            for name in re.findall(r'"([A-Z][A-Z0-9_]+)"', hints):
                if f"`{name}`" not in "\n".join(page.lines):
                    self.fault(page, 1, f"the variable {name} is missing")

    def messages(self, page):
        """The first cells of the tables below `By message` occur in the sources."""
        if page.name != "docs/guide/troubleshooting.md":
            return
        inside = False
        for at, line in page.prose():
            if line.startswith("## "):
                inside = line.startswith("## By message")
            if not inside or not line.startswith("| `"):
                continue
            for part in re.split(r"…", re.match(r"\| `([^`]+)`", line)[1]):
                text = part.strip(" ();:,")
                if text and text not in self.literals:
                    self.fault(page, at, f"no message has `{text}`")

    def metrics(self, page):
        """The catalogue of metrics and its page have the same names."""
        if page.name != "docs/reference/metrics.md":
            return
        files = [text for name, text in self.texts.items() if name.startswith("servers/src/metrics/catalogue")]
        text = "\n".join(file.split("#[cfg(test)]")[0] for file in files)
        # A name may begin with a program's prefix: then the sources contain the rest as a literal.
        declared = {rest for rest in re.findall(r'concat!\(\$p, "(\w+)"\)', text)}
        declared |= set(re.findall(r'"(ftmpi_(?:job|rank|[a-z]+_[a-z]+)_\w+)"', text))
        if not declared:
            self.fault(page, 1, "no catalogue of metrics is found in servers/src/metrics")
        shown = set(re.findall(r"^\| `(ftmpi_\w+)`", "\n".join(page.lines), re.M))
        for name in sorted(declared):
            if not any(known == name or (name.startswith("_") and known.endswith(name)) for known in shown):
                self.fault(page, 1, f"the metric {name} is missing")
        for known in sorted(shown):
            if known not in declared and not any(rest.startswith("_") and known.endswith(rest) for rest in declared):
                self.fault(page, 1, f"no program has the metric {known}")

    def from_sources(self):
        """The pages and headings that comments name exist."""
        before = len(self.faults)
        cited = re.compile(r'\b((?:docs/[\w./-]+|ARCHITECTURE)\.md)`?,\s*(?://[/!]?\s*)?"([^"]+)"')
        for name, text in self.texts.items():
            if name == "tools/docs_check.py":
                continue
            for path, heading in cited.findall(text):
                page = self.pages.get(path)
                if page and not any(re.fullmatch(rf"#+ {re.escape(heading)}", line) for line in page.lines):
                    self.faults.append(f"{name}: {path} has no heading {heading!r}")
            for at, line in enumerate(text.splitlines(), 1):
                for path, anchor in re.findall(r"\b(docs/[\w./-]+\.md)(?:#([\w-]+))?", line):
                    page = self.pages.get(path)
                    if page is None:
                        self.faults.append(f"{name}:{at}: there is no {path}")
                    elif anchor and anchor not in page.anchors():
                        self.faults.append(f"{name}:{at}: {path} has no heading #{anchor}")
        self.passed += len(self.faults) == before
        print(f"docs_check: pages that sources name: {len(self.faults) - before} faults")

    def dependencies(self, page):
        """The map of ARCHITECTURE.md names the dependencies of each crate, as its Cargo.toml does."""
        if page.name != "ARCHITECTURE.md":
            return
        manifests = {name: tomllib.loads(text) for name, text in self.texts.items() if name.endswith("Cargo.toml")}
        crates = {name.removesuffix("Cargo.toml"): text for name, text in manifests.items() if "package" in text}
        short = {text["package"]["name"]: folder.rstrip("/").split("/")[-1] for folder, text in crates.items()}
        rows = {}
        for at, line in page.prose():
            if row := re.match(r"\| `([^`]+/)` \|[^|]*\|([^|]*)\|", line):
                rows[row[1]] = (at, set(re.findall(r"[a-z][a-z-]*", re.sub(r"\([^)]*\)", "", row[2]))))
        for folder, text in crates.items():
            if folder not in rows:
                self.fault(page, 1, f"the map has no row for {folder}")
                continue
            at, listed = rows[folder]
            needs = {short[name] for part in ("dependencies", "build-dependencies") for name in text.get(part, {}) if name in short}
            for name in sorted(needs ^ listed):
                self.fault(page, at, f"{folder}: {name} is {'missing' if name in needs else 'no dependency'}")

    def lengths(self, page):
        if page.name in GENERATED:
            return
        words, start = 0, 0
        for at, line in [*page.prose(), (len(page.lines) + 1, "")]:
            begins = re.match(r"\s*([-*] |\d+\. )", line)
            if not line.strip() or line.startswith(("#", "|", "<")) or begins:
                if words > PARAGRAPH_WORDS:
                    self.fault(page, start, f"a paragraph of {words} words, at most {PARAGRAPH_WORDS}")
                words, start = (len(line.split()), at) if begins else (0, at + 1)
            else:
                words += len(line.split())
        unit, limit = LIMITS.get(page.name, ("", 0))
        sizes = {
            "lines": [len(page.lines)],
            "words": [sum(len(line.split()) for line in page.lines)],
            # What is not released yet may be longer: it is shortened at the release.
            "lines of a version": [len(part.splitlines()) for part in "\n".join(page.lines).split("\n## [")[1:]
                                   if not part.startswith("Unreleased")],
        }.get(unit, [])
        for size in sizes:
            if size > limit:
                self.fault(page, 1, f"{size} {unit}, at most {limit}")

    def sentences(self, page):
        """No sentence is much longer than the 25 words of the writing rules."""
        if page.name in GENERATED or not page.name.startswith(("docs/", "README")):
            return
        text, start = "", 1
        for at, line in [*page.prose(), (0, "")]:
            if not line.strip() or re.match(r"\s*([#|<]|[-*] |\d+\. )", line):
                for sentence in re.split(r"(?<=[.:;!?])\s+", text):
                    if len(sentence.split()) > SENTENCE_WORDS:
                        self.fault(page, start, f"a sentence of {len(sentence.split())} words: {sentence[:50]}…")
                text, start = ("", at + 1) if not re.match(r"\s*([-*] |\d+\. )", line) else (line.lstrip(" -*"), at)
            else:
                text += " " + line.strip()

    # ---- what the rules compare with -----------------------------------------------------------------

    def read_sources(self):
        names = [name for name in tracked() if name.endswith(SOURCES) and not name.startswith("docs/")]
        texts = self.texts = {name: (TOP / name).read_text(errors="replace") for name in names}
        self.source_text = "\n".join(texts.values()) + (TOP / "tools/ftmpicc").read_text()
        rust = "\n".join(text for name, text in texts.items() if name.endswith(".rs"))
        literals = re.findall(r'"((?:[^"\\]|\\.|\\\n)*)"', rust)
        joined = (re.sub(r"\\\n\s*", "", text).replace("\\n", "\n") for text in literals)
        self.literals = "\n".join(re.sub(r"\{[^}]*\}", "\n", text) for text in joined)
        reference = TOP / "docs/reference/options.md"
        text = reference.read_text() if reference.exists() else ""
        self.option_names = set(OPTION.findall(text))
        for name, source in texts.items():
            if name.startswith(("sim/src/main", "sim/src/scale/arguments")) or (not text and name.startswith(("ftmpiexec/src/cli", "servers/src"))):
                fields = re.findall(r"#\[arg\([^]]*long\b[^]]*\)\]\s*(?:pub(?:\([a-z]+\))? )?(\w+):", source)
                self.option_names |= {"--" + field.replace("_", "-") for field in fields}
                self.option_names |= {"--" + long for long in re.findall(r'\blong = "([a-z-]+)"', source)}
            if name.endswith(".py"):
                self.option_names |= set(re.findall(r'add_argument\(\s*"(--[a-z-]+)"', source))
        self.option_names |= {"--help", "--version"}

    # ---- what is run -------------------------------------------------------------------------------------

    def run(self, dist, everything):
        environment = {**os.environ, "PATH": f"{dist / 'bin'}:{os.environ['PATH']}"}
        with tempfile.TemporaryDirectory() as scratch:
            self.examples(Path(scratch), environment)
            for page in self.pages.values():
                blocks = [block for block in page.blocks() if everything or not block[2]]
                folder = Path(scratch) / "page" / page.name.replace("/", "-")
                if blocks:
                    shutil.copytree(TOP / "examples", folder / "examples")
                for at, expected, _, text in blocks:
                    self.one(f"{page.name}:{at}", text, folder, environment, expected)

    def one(self, name, text, folder, environment, expected=0):
        # Pages say `cd examples`. Each block begins in the folder of the examples, like the reader.
        text = re.sub(r"^cd examples\n", "", text)
        done = subprocess.run(
            ["bash", "-c", text], cwd=folder / "examples", env=environment, stdin=subprocess.DEVNULL, capture_output=True,
            text=True, errors="replace", timeout=300,
        )
        ok = done.returncode == expected
        self.passed += ok
        print(f"docs_check: {name}: {'ok' if ok else 'FAILED'}")
        if not ok:
            self.faults.append(f"{name}: exit code {done.returncode}, expected {expected}: {(done.stdout + done.stderr)[-600:]}")

    def examples(self, scratch, environment):
        """The commands of examples/README.md, with a kill."""
        folder = scratch / "all"
        shutil.copytree(TOP / "examples", folder / "examples")
        kill = "ftmpiexec -n 4 --ckpt-interval 1s --inject kill:rank=2,at=1s"
        steps = [
            ("heat.c", "cc", "ftmpicc -O2 -Wall -Werror heat.c -o heat -lm && " + kill +
             " ./heat 4000 >killed && ftmpiexec -n 4 --ckpt off ./heat 4000 >calm && cmp killed calm"),
            ("shrink.c", "cc", "ftmpicc -O2 -Wall -Werror shrink.c -o shrink && ftmpiexec -n 4 -disable-auto-cleanup "
             "--inject kill:rank=2,at=1s ./shrink 20 | tail -n 1 | grep 'pi is about 3.14., by 3 ranks'"),
            ("farm.c", "cc", "ftmpicc -O2 -Wall -Werror farm.c -o farm && ftmpiexec -n 4 --ckpt-interval 300ms "
             "--inject kill:rank=0,at=800ms ./farm | grep 'sum 1560, expected 1560'"),
            ("pi.f90", "gfortran", "ftmpifort -O2 pi.f90 -o pi && ftmpiexec -n 4 ./pi | grep 'pi is  3.14159265'"),
            ("average.py", None, kill + " $PYTHON average.py 12 | tail -n 1 | grep 'round 12 of 12'"),
            ("slurm.sh", None, "bash -n slurm.sh"),
            ("hosts.txt", "cc", "sed 's/node1/a/;s/node2/b/;s/^store/c/' hosts.txt >here && "
             "ftmpiexec -f here --launcher fork ./heat 200 | tail -n 1 | grep 'step 200 of 200'"),
            ("plugin", "cc", "ftmpiexec -n 4 --protocol plugin:$PLUGIN ./heat 200 | tail -n 1 | grep 'step 200 of 200'"),
        ]
        python = next((p for p in (TOP / ".peers/mpi4py/bin/python", Path(sys.executable)) if p.exists()), None)
        has_mpi4py = python and subprocess.run([python, "-c", "import mpi4py"], capture_output=True).returncode == 0
        plugin = Path(environment["PATH"].split(":")[0]).parent / "lib/ftmpi/libftmpi_example_protocol.so"
        environment = {**environment, "PYTHON": str(python), "PLUGIN": str(plugin)}
        for name, tool, command in steps:
            why = ""
            if tool and not shutil.which(tool):
                why = f"no {tool}"
            elif name == "average.py" and not has_mpi4py:
                why = "no mpi4py"
            elif name == "plugin" and not plugin.exists():
                why = f"no {plugin.name}"
            if why:
                self.skipped += 1
                print(f"docs_check: examples/{name}: skipped: {why}")
                continue
            self.one(f"examples/{name}", "set -o pipefail; " + command, folder, environment)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, metavar="DIST", help="run the examples and the marked code blocks")
    parser.add_argument("--all", type=Path, metavar="DIST", help="also the blocks that are marked as long")
    arguments = parser.parse_args()
    check = Check()
    check.read_sources()
    for name, rule in (
        ("links and anchors", check.links), ("pages in the book", check.listed), ("options", check.options),
        ("paths", check.paths), ("variables", check.variables), ("messages", check.messages), ("metrics", check.metrics), ("dependencies", check.dependencies),
        ("lengths", check.lengths),
        ("sentences", check.sentences),
    ):
        check.rule(name, rule)
    check.from_sources()
    if dist := arguments.all or arguments.run:
        check.run(dist.resolve(), everything=bool(arguments.all))
    for fault in check.faults:
        print(f"FAIL  {fault}")
    print(f"{check.passed} passed, {len(check.faults)} failed, {check.skipped} skipped")
    return 1 if check.faults else 0


if __name__ == "__main__":
    sys.exit(main())
