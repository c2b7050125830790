"""Checks a file of `--report`: every field is there, has its type, and agrees with the other fields and with the run.
"""

from __future__ import annotations

import json
from pathlib import Path

NUMBER = (int, float)

FAILURE = {"rank": int, "at_s": NUMBER, "cause": str, "detector": (str, type(None)), "recovery": str, "image": (int, type(None)),
           "replayed": int, "detect_ms": (*NUMBER, type(None)), "restore_ms": (*NUMBER, type(None)),
           "catch_up_ms": (*NUMBER, type(None)), "lost_s": (*NUMBER, type(None)), "remedy": (str, type(None))}
WHOLE = {"protocol": str, "protocol_asked": str, "events": str, "ranks": int, "hosts": list, "wall_s": NUMBER,
         "exit_code": int, "failures": list, "orphans": list, "checkpoints": dict, "messages": dict, "logs": dict,
         "servers_restarted": int, "pids": list, "timeline": dict, "rank_time": dict, "summary": list}
CHECKPOINTS = {"count": int, "failed": int, "bytes": int, "pause_ms_mean": NUMBER,
               "pause_ms_max": NUMBER, "cost_ms_mean": NUMBER, "duration_ms_mean": NUMBER, "duration_ms_max": NUMBER}
MESSAGES = {"sent": int, "payload_bytes": int, "received": int, "received_bytes": int,
            "determinants": int, "gate_waits": int, "gate_wait_ms": NUMBER,
            "duplicates_dropped": int, "orphans_refused": int, "resent": int}
LOGS = {"bytes": int, "peak_bytes": int}
INCARNATION = {"incarnation": int, "pid": int, "from_s": NUMBER, "to_s": (*NUMBER, type(None))}


def read(path: Path) -> tuple[dict | None, str | None]:
    """The report of a run, or the reason why there is none."""
    try:
        return json.loads(path.read_text()), None
    except (OSError, ValueError) as error:
        return None, f"report: {error}"


def field_problem(report: object, fields: dict, where: str) -> str | None:
    """Checks that all fields are there and have their types."""
    if not isinstance(report, dict):
        return f"report: {where} is no object"
    for name, kind in fields.items():
        if name not in report:
            return f"report: {where} has no `{name}`"
        if not isinstance(report[name], kind) or isinstance(report[name], bool):
            return f"report: {where}.{name} is {report[name]!r}"
        if isinstance(report[name], NUMBER) and name != "exit_code" and report[name] < 0:
            return f"report: {where}.{name} is negative: {report[name]}"
    return None


def report_problem(report: dict, ranks: int, code: int | None = None, seconds: float | None = None) -> str | None:
    """The problem of a report, or None. `code` and `seconds` are those of the run."""
    problem = field_problem(report, WHOLE, "the whole")
    problem = problem or field_problem(report["checkpoints"], CHECKPOINTS, "checkpoints")
    problem = problem or field_problem(report["messages"], MESSAGES, "messages")
    problem = problem or field_problem(report["logs"], LOGS, "logs")
    for failure in [] if problem else report["failures"] + report["orphans"]:
        problem = problem or field_problem(failure, FAILURE, "a failure")
    for incarnations in [] if problem else report["pids"]:
        if not isinstance(incarnations, list) or not incarnations:
            return f"report: a rank without a process in pids: {incarnations!r}"
        for incarnation in incarnations:
            problem = problem or field_problem(incarnation, INCARNATION, "an incarnation in pids")
    return problem or contradiction(report, ranks, code, seconds)


def contradiction(report: dict, ranks: int, code: int | None, seconds: float | None) -> str | None:
    """Finds fields that contradict each other."""
    wall, images, messages = report["wall_s"], report["checkpoints"], report["messages"]
    # Where all ranks return to a wave together, no protocol logs payload.
    all_return = len(set(report.get("clusters") or [])) == 1
    facts = [
        (report["ranks"] == ranks == len(report["pids"]), f"{report['ranks']} ranks, {ranks} were started"),
        (code is None or report["exit_code"] == code, f"exit code {report['exit_code']}, it was {code}"),
        (seconds is None or 0 < wall <= seconds + 0.1, f"wall_s {wall}, the run took {seconds}"),
        (len(report["hosts"]) >= 1 and all(isinstance(h, str) for h in report["hosts"]), "hosts"),
        ((images["bytes"] > 0) == (images["count"] > 0), f"checkpoints: {images}"),
        (images["pause_ms_mean"] <= images["pause_ms_max"], f"pauses of checkpoints: {images}"),
        (images["duration_ms_mean"] <= images["duration_ms_max"], f"checkpoints: {images}"),
        (images["count"] == 0 or images["duration_ms_max"] > 0, f"checkpoints: {images}"),
        (report["logs"]["bytes"] <= report["logs"]["peak_bytes"], f"logs: {report['logs']}"),
        (report["protocol"] != "none" or not report["failures"] and not messages["determinants"]
         and not images["count"] and not report["logs"]["peak_bytes"], "`none` logs nothing"),
        (code != 0 or report["protocol"] == "none" or all_return or ranks == 1 or not messages["payload_bytes"]
         or report["logs"]["peak_bytes"] > 0, "payload was sent and nothing logged"),
        (code != 0 or messages["received"] <= messages["sent"],
         f"more messages received than sent: {messages}"),
    ]
    for true, text in facts:
        if not true:
            return f"report: {text}"
    problem = timeline_problem(report)
    if problem:
        return f"report: timeline: {problem}"
    for failure in report["failures"] + report["orphans"]:
        problem = failure_problem(failure, report)
        if problem:
            return f"report: {problem}: {failure}"
    for rank, incarnations in enumerate(report["pids"]):
        numbers = [incarnation["incarnation"] for incarnation in incarnations]
        if numbers != sorted(set(numbers)):
            return f"report: incarnations of rank {rank} are out of order: {incarnations}"
        for incarnation, later in zip(incarnations, incarnations[1:]):
            if incarnation["to_s"] is None or incarnation["to_s"] > later["from_s"]:
                return f"report: rank {rank} lived twice at once: {incarnation}, {later}"
    return None


def timeline_problem(report: dict) -> str | None:
    """Spans of a rank follow each other without a gap, and all states together are the time of all ranks."""
    timeline, wall = report["timeline"], report["wall_s"]
    for rank in timeline["ranks"]:
        spans = rank["spans"]
        if not spans:
            return f"rank {rank['rank']} has no span"
        for span, later in zip(spans, spans[1:]):
            if span["to_s"] != later["from_s"] or span["from_s"] > span["to_s"]:
                return f"rank {rank['rank']}: {span} and then {later}"
        if abs(spans[-1]["to_s"] - wall) > 1e-3:
            return f"rank {rank['rank']} ends at {spans[-1]['to_s']}, the job at {wall}"
    known = sum(rank["spans"][-1]["to_s"] - rank["spans"][0]["from_s"] for rank in timeline["ranks"])
    total = sum(report["rank_time"].values())
    if not timeline["left_out"]["spans"] and abs(total - known) > 0.01 + 1e-3 * known:
        return f"states last {total} s, spans {known} s"
    for image in timeline["images"]:
        times = [image["ordered_s"], image["taken_s"], image["ended_s"]]
        times = [at for at in times if at is not None]
        if image["lost"] is None and times != sorted(times):
            return f"an image is out of order: {image}"
    return None


def failure_problem(failure: dict, report: dict) -> str | None:
    """Finds impossible values of one failure."""
    if not 0 <= failure["rank"] < report["ranks"]:
        return "no such rank"
    if failure["at_s"] > report["wall_s"]:
        return "it came after the end"
    if not failure["cause"]:
        return "it has no cause"
    if failure["recovery"] not in ("restart", "promote", "migrate", "rollback"):
        return "an unknown recovery"
    if failure["image"] is not None and failure["image"] < 1:
        return "images count from 1"
    if failure["catch_up_ms"] is not None and failure["restore_ms"] is None:
        return "it caught up before it was back"
    if failure["detect_ms"] is not None and failure["detect_ms"] > 20_000:
        return "it took more than 20 s to be noticed"
    return None
