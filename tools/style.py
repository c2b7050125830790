#!/usr/bin/env python3
"""Checks the rules of CONTRIBUTING.md that a machine can see. Changes nothing.

    tools/style.py            every rule, over all tracked files
    tools/style.py PATH ...   only files below these paths

Prints one line for each breach and a count for each rule. The exit code is 1 if there is any breach. A reason stands
in a comment directly above. `// Long: WHY` is for a function of more than 100 lines, `// Parameters: WHY` for more
than 7 parameters. `// Word: WHY` is for a line with an old word, such as a key on disk. Functions of MPI have the
parameters of the standard."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import rooms

FILE_LINES = 600
FUNCTION_LINES = 100
PARAMETERS = 7
COLUMNS = 100
PARAGRAPH_WORDS = 100
LIMITS = {"README.md": ("lines", 120), "ARCHITECTURE.md": ("words", 2000)}
GENERATED = ("include/generated/", "Cargo.lock")
# Words that the glossary replaces: the pattern, and the word to use.
WORDS = [
    (r"\b(in_)?crowd(ed|s)?\b|\b\w+_crowd(ed)?\b|\bcrowd(ed)?_\w+\b", "oversubscribed"),
    (r"\blent\b|\blends?\b|\blending\b", "single copy"),
]

FUNCTION = re.compile(
    r"^(\s*)(?:pub(?:\([\w: ]+\))? )?(?:default )?(?:const )?(?:async )?(?:unsafe )?"
    r"(?:extern \"[^\"]*\" )?fn (\w+)"
)


def tracked(paths):
    out = subprocess.run(
        ["git", "ls-files", "--", *paths], capture_output=True, text=True, check=True
    ).stdout.split("\n")
    return [name for name in out if name and not name.startswith(GENERATED)]


def parameters(text):
    """The number of parameters, without `self`, of the signature that begins in `text`."""
    start = text.index("(", text.index("fn "))
    generic = text.find("<", text.index("fn "))
    if 0 <= generic < start:
        depth, at = 0, generic
        while at < len(text):
            if text[at] == "<":
                depth += 1
            elif text[at] == ">" and text[at - 1] != "-":
                depth -= 1
                if depth == 0:
                    break
            at += 1
        start = text.index("(", at)
    depth, at, count, some = 0, start, 0, False
    first = ""
    while at < len(text):
        c = text[at]
        if c in "([{<":
            depth += 1
        elif c in ")]}" or (c == ">" and text[at - 1] not in "-="):
            depth -= 1
            if depth == 0:
                break
        elif c == "," and depth == 1:
            count += some
            some = False
        elif not c.isspace():
            some = True
            if count == 0:
                first += c
        at += 1
    count += some
    return count - (re.fullmatch(r"(mut)?&?('\w+)?(mut)?self(:.*)?", first) is not None)


def reason(lines, at, word):
    """Whether the comments and attributes above line `at` contain `word: ...`."""
    while at > 0 and re.match(r"\s*(//|#\[|#!\[)", lines[at - 1]):
        at -= 1
        if re.search(rf"\b{word}: \w", lines[at]):
            return True
    return False


def rust(name, lines, breach):
    for at, line in enumerate(lines):
        if len(line) > COLUMNS and re.match(r"\s*//", line) and "http" not in line:
            breach("comment columns", name, at, f"{len(line)} columns")
        if re.match(r"\s*#!\[(allow|expect)\(clippy::too_many", line):
            breach("allow for a module", name, at, line.strip())
        if not (found := FUNCTION.match(line)):
            continue
        indent, function = found.groups()
        text = "\n".join(re.sub(r"//.*", "", one) for one in lines[at : at + 40])
        try:
            many = parameters(text)
        except ValueError:
            many = 0
        if many > PARAMETERS and not function.startswith("MPI_") and not reason(lines, at, "Parameters"):
            breach("parameters", name, at, f"{function} has {many}")
        end = at
        while end < len(lines) and not re.match(rf"{indent}}}|.*;\s*$|{indent}\S.*\}}\s*$", lines[end]):
            end += 1
            if end < len(lines) and re.match(rf"{indent}\S.*\{{\s*$|.*\{{\s*$", lines[end - 1]):
                break
        while end < len(lines) and not re.match(rf"{indent}}}", lines[end]):
            if end == at and re.search(r"(\}|;)\s*$", line):
                break
            end += 1
        length = end - at + 1
        if length > FUNCTION_LINES and not reason(lines, at, "Long"):
            breach("function length", name, at, f"{function} has {length} lines")


def python(name, lines, breach):
    for at, line in enumerate(lines):
        found = re.match(r"(\s*)(?:async )?def (\w+)", line)
        if not found:
            continue
        indent = len(found.group(1))
        last = at
        for end in range(at + 1, len(lines)):
            text = lines[end]
            if text.strip() and len(text) - len(text.lstrip()) <= indent and not text.strip().startswith(")"):
                break
            if text.strip():
                last = end
        if last - at + 1 > FUNCTION_LINES:
            breach("function length", name, at, f"{found.group(2)} has {last - at + 1} lines")


def prose(name, lines, breach):
    fenced, words, start = False, 0, 0
    for at, line in enumerate([*lines, ""]):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        plain = not fenced and line.strip() and not re.match(r"\s*([|#>`]|[-*] |\d+\. |\[)", line)
        if plain:
            start = start if words else at
            words += len(line.split())
            continue
        if words > PARAGRAPH_WORDS:
            breach("paragraph", name, start, f"{words} words")
        words = 0
    if name in LIMITS:
        unit, limit = LIMITS[name]
        size = len(lines) if unit == "lines" else sum(len(line.split()) for line in lines)
        if size > limit:
            breach("document length", name, 0, f"{size} {unit}, at most {limit}")


def demonstration(breach):
    """`make demo` builds each program that its tree must have: also where no other build has made it before."""
    built = re.search(r"^DEMO_CRATES := (.*)", Path("Makefile").read_text(), re.M)[1]
    wanted = re.search(r"for program in (.*?); do", Path("tools/make_dist.sh").read_text(), re.S)[1]
    told = subprocess.run(["cargo", "metadata", "--no-deps", "--offline", "--format-version", "1"],
                          capture_output=True, text=True, check=True).stdout
    packages = {package["name"]: {target["name"] for target in package["targets"] if "bin" in target["kind"]}
                for package in json.loads(told)["packages"]}
    made = set().union(*(packages[name] for name in re.findall(r"-p (\S+)", built)))
    for program in wanted.replace("\\", " ").split():
        if program not in made:
            breach("demonstration", "Makefile", 0, f"DEMO_CRATES does not build {program}")


def main():
    counts = Counter()

    def breach(rule, name, at, what):
        counts[rule] += 1
        print(f"{name}:{at + 1}: {rule}: {what}")

    for name in tracked(sys.argv[1:]):
        if not re.search(r"\.(rs|py|c|h|f90|f|inc|sh|md)$", name):
            continue
        lines = Path(name).read_text(errors="replace").split("\n")
        if lines and not lines[-1]:
            lines.pop()
        if name.endswith(".md"):
            prose(name, lines, breach)
            continue
        if len(lines) > FILE_LINES:
            breach("file length", name, 0, f"{len(lines)} lines")
        if name != "tools/style.py":
            for at, line in enumerate(lines):
                for pattern, word in WORDS:
                    if (found := re.search(pattern, line)) and not reason(lines, at, "Word"):
                        breach("word", name, at, f"{found.group()!r}: say {word!r}")
        if name.endswith(".rs"):
            rust(name, lines, breach)
        elif name.endswith(".py"):
            python(name, lines, breach)
    if not sys.argv[1:]:
        for crate, circle in rooms.breaches(tracked([]), lambda name: Path(name).read_text()):
            breach("circle of imports", f"{crate}/src", 0, " ".join(circle))
        demonstration(breach)
    for rule, count in sorted(counts.items()):
        print(f"style: {rule}: {count}")
    if not counts:
        print("style: no breach")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
