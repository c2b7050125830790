"""Circles of imports between the modules of a crate, for tools/style.py.

A room is a module at the top of a crate, with all files below it. Rooms should not import each other in a circle: then
each of them can be read and tested without those above it. Unit tests do not count. CIRCLES are those that exist; a
room may leave its circle, and none may join.

The reader of imports knows `use` trees, and paths that begin with `crate::` or `super::`. It does not know what macros
make."""

import re
from collections import defaultdict

# Crate, and the rooms of each of its circles.
CIRCLES = {
    # A language's callbacks call entries of the library, which call callbacks.
    "libftmpi/abi": ["calls cxx operations", "environment tool_settings tools"],
    # An image is taken, and restored, by all of them together.
    "libftmpi/boot": [
        "capture children descriptors interpose memory process restore signals threads time"
    ],
    # The engine drives collectives and windows while the program waits.
    "libftmpi/core": ["collective engine file status window"],
    # A wait inside of a call lets other threads in, takes images and records both.
    "libftmpi/runtime": ["abort attention call_trace image job threads world"],
    # The parts of a simulated world find the world through `with`.
    "sim": ["link logger loggers memory mutants observed programs protocol_config world"],
}


def paths_of(tree, before=""):
    """The paths of a `use` tree."""
    tree = tree.strip()
    group = re.fullmatch(r"(.*?)\{(.*)\}", tree, re.DOTALL)
    if not group:
        return [(before + tree).split(" as ")[0].replace(" ", "")]
    found, depth, part = [], 0, ""
    for letter in group[2] + ",":
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            found += paths_of(part, before + group[1].strip()) if part.strip() else []
            part = ""
        else:
            part += letter
    return found


def imports(text, module):
    """The absolute paths, below the crate, of what a file with this text imports. `module`: its own path."""
    text = re.split(r"\n#\[cfg\(test\)\]\s*\nmod \w+ \{", text)[0]
    text = re.sub(r"//[^\n]*", "", text)
    paths = [path for tree in re.findall(r"\buse\s+([^;]+);", text) for path in paths_of(" ".join(tree.split()))]
    paths += re.findall(r"\b(?:crate|super)(?:::\w+)+", re.sub(r"\buse\s+[^;]+;", "", text))
    for path in paths:
        parts = path.split("::")
        if parts[0] == "crate":
            yield parts[1:]
        elif parts[0] == "super":
            up = next((at for at, part in enumerate(parts) if part != "super"), len(parts))
            yield [*module[: max(len(module) - up, 0)], *parts[up:]]


def circles(edges):
    """The sets of rooms that reach each other."""

    def reached(begin):
        seen, left = set(), [begin]
        while left:
            for room in edges[left.pop()] - seen:
                seen.add(room)
                left.append(room)
        return seen

    rooms = list(edges)
    reach = {room: reached(room) for room in rooms}
    return {frozenset(other for other in reach[room] if room in reach[other]) for room in rooms if room in reach[room]}


def breaches(names, read):
    """For each circle of rooms that CIRCLES does not have: the crate, and the rooms. `read` gives a file's text."""
    crates = defaultdict(dict)
    for name in names:
        crate, _, inside = name.partition("/src/")
        if name.endswith(".rs") and inside and "test" not in inside:
            module = inside[: -len(".rs")].split("/")
            crates[crate][name] = module[:-1] if module[-1] in ("mod", "lib", "main") else module
    for crate, modules in sorted(crates.items()):
        rooms = {module[0] for module in modules.values() if module}
        edges = defaultdict(set)
        for name, module in modules.items():
            for path in imports(read(name), module) if module else ():
                if path and path[0] in rooms and path[0] != module[0]:
                    edges[module[0]].add(path[0])
        for room in rooms:
            edges[room] |= set()
        for circle in sorted(map(sorted, circles(edges))):
            if not any(set(circle) <= set(known.split()) for known in CIRCLES.get(crate, [])):
                yield crate, circle
