"""Looks at a trace that is written for OpenTelemetry."""

from __future__ import annotations

import json
import re
from pathlib import Path

from . import imb
from .core import ROOT, TESTS, Setting, run

# It has the published definitions of the protocol, as generated code.
PACKAGE = "opentelemetry-proto"


def problem_of(path: Path) -> str | None:
    """The file is what a collector reads: whole spans whose parents and links are there."""
    spans = {}
    for line in path.read_text().splitlines():
        if len(line) > 1 << 20:
            return f"a line of {len(line)} bytes"
        for resource in json.loads(line)["resourceSpans"]:
            for span in resource["scopeSpans"][0]["spans"]:
                spans[span["spanId"]] = span
    for span in spans.values():
        if not re.fullmatch("[0-9a-f]{32}", span["traceId"]) or not re.fullmatch("[0-9a-f]{16}", span["spanId"]):
            return f"an identity that is none: {span}"
        if int(span["startTimeUnixNano"]) > int(span["endTimeUnixNano"]):
            return f"a span ends before it begins: {span}"
        if span["parentSpanId"] not in spans and (span["parentSpanId"] or span["name"] != "job"):
            return f"a span without its parent: {span}"
        if any(link["spanId"] not in spans for link in span["links"]):
            return f"a link to nothing: {span}"
    links = sum(len(span["links"]) for span in spans.values())
    names = {span["name"] for span in spans.values()}
    whole = links >= 20 and {"job", "rank 0", "computing", "MPI_Recv"} <= names
    return None if whole else f"{links} links, spans {sorted(names)}"


def counts(path: Path) -> str:
    """What a reader of the file should count."""
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    spans = [span for line in lines for resource in line["resourceSpans"] for scope in resource["scopeSpans"]
             for span in scope["spans"]]
    return f"spans {len(spans)} events {sum(len(s['events']) for s in spans)} links {sum(len(s['links']) for s in spans)}"


def by_definitions(setting: Setting, path: Path) -> None:
    """A reader that is made of the published definitions takes the file, and finds in it what was written; it refuses a
    field that they do not have."""
    test = "views: a trace by OpenTelemetry's definitions"
    folder, why = imb.environment(ROOT / ".peers", PACKAGE)
    if folder is None:
        return setting.results.skip(test, why)
    if not path.exists():
        return setting.results.bad(test, "there is no file")
    reader = [folder / "bin" / "python", TESTS / "programs" / "read_otlp.py"]
    outcome = run([*reader, path], timeout=60)
    wanted = counts(path)
    problem = None if outcome.code == 0 and wanted in outcome.out else f"not `{wanted}`: {outcome.output_tail()}"
    wrong = path.with_name("wrong.otlp.json")
    wrong.write_text(path.read_text().replace('"startTimeUnixNano"', '"startTime"', 1))
    if problem is None and run([*reader, wrong], timeout=60).code == 0:
        problem = "it also takes a field that is unknown"
    setting.results.check(test, problem, wanted)
    return None
