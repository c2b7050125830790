"""Kills servers, alone and with ranks, and all ranks at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from . import reports
from .abandoned_wave import abandoned_wave
from .core import Setting, run
from .jobs import BLOCKING, LOGGING, NONBLOCKING, RANKS, Jobs, judge_with_faults


@dataclass
class Case:
    """One run with faults: the test's name, the program, the faults, and the least number of failures."""

    test: str
    program: str
    injections: list[str]
    least: int
    options: list[str] = field(default_factory=list)
    seconds: float = 6
    also: Callable[[dict], str | None] | None = None
    # Without `--protocol`, instead of under a protocol that logs.
    auto: bool = False


def run_case(setting: Setting, case: Case) -> None:
    """Runs a case. `also` checks the report."""
    job, why = Jobs(setting, case.seconds).make(case.program, setting.seed)
    if job is None:
        setting.results.bad(case.test, why)
        return
    where = setting.new_folder("run")
    file = where / "report.json"
    usual = [] if case.auto or "--protocol" in case.options else LOGGING
    protocol = setting.protocol_options()
    test = case.test + "".join(f" {word}" for word in protocol)
    words: list[str | Path] = ["--ckpt-interval", "1s", "--report", file, *case.options, *(protocol or usual)]
    for injection in case.injections:
        words += ["--inject", injection]
    problem, note = judge_with_faults(
        job, file, case.least,
        lambda program: run([*setting.mpiexec(RANKS, *words), *program], timeout=setting.timeout,
                            cwd=where),
        case.injections)
    if problem is None and case.also:
        report, unread = reports.read(file)
        problem = unread if report is None else case.also(report)
    setting.results.check(test, problem, note)


def servers(setting: Setting, short: bool = False) -> None:
    """Kills servers, alone and with ranks. `short` leaves out what another case contains as well."""
    if not setting.dist_is_built():
        return
    channel_memories(setting)
    if setting.protocol.startswith("channel-memory"):
        return
    for server in ("event-logger", "checkpoint-server"):
        for program in ("master_worker", "collectives") if setting.full else ("master_worker",):
            if not short:
                run_case(setting, Case(
                    f"{server} killed under {program}", program,
                    [f"kill:server={server},at=2s"], 0))
            run_case(setting, Case(
                f"{server} killed, then a rank, under {program}", program,
                [f"kill:server={server},at=2s", "kill:rank=1,at=4s"], 1))
    run_case(setting, Case(
        "checkpoint-scheduler killed again and again, then a rank", "master_worker",
        ["kill:server=checkpoint-scheduler,every=700ms,count=4", "kill:rank=1,at=4s"], 1,
        also=lambda report: None if report["checkpoints"]["ordered"] >= 2
            and report["servers_restarted"] >= 2 and report["failures"][0]["image"]
            else f"images came too seldom, or not by order: {report['checkpoints']}"))
    library = setting.dist / "lib" / "ftmpi" / "libftmpi_example_protocol.so"
    if not setting.protocol:
        if not short:
            run_case(setting, Case(
                "a protocol of a library, ranks killed", "master_worker",
                ["kill:every=1500ms,count=2,seed=4"], 2, ["--protocol", f"plugin:{library}"]))
        waves = library.with_name("libftmpi_example_waves.so")
        run_case(setting, Case(
            "a protocol in waves of a library, ranks killed", "waitany",
            ["kill:every=2s,count=2,seed=4"], 2, ["--protocol", f"plugin:{waves}"]))
        abandoned_wave(setting, waves)
        # One logger: that of the rank that dies. Then all loggers.
        for way, which, back in (("loggers", ",number=1", 1), ("broadcast", "", 3))[int(short):]:
            run_case(setting, Case(
                f"three event loggers, {way}, {back} killed", "master_worker",
                [f"kill:server=event-logger{which},at=2s", "kill:rank=1,at=3s"], 1,
                ["--protocol", "optimistic", "--event-loggers", "3", "--stable-vector", way],
                also=restarted(back)))
        run_case(setting, Case(
            "one of three event loggers and its rank at once, then all ranks", "waitany",
            ["kill:server=event-logger,number=2,at=2s", "kill:rank=2,at=2s", "kill:rank=all,at=4s"],
            RANKS, ["--protocol", "causal", "--events", "all", "--event-loggers", "3"],
            also=restarted(1)))
    # Every message waits for the logger, so few rounds are enough.
    run_case(setting, Case(
        "a slow event logger", "probe_loop",
        ["delay:logger=5ms", "kill:every=2s,count=2,seed=3"], 1, seconds=1.5))
    run_case(setting, Case(
        "no images: replay from the start", "waitany", ["kill:rank=2,at=2s"], 1,
        ["--ckpt", "off"]))


def restarted(servers: int) -> Callable[[dict], str | None]:
    """Checks that exactly so many servers were restarted."""
    def problem(report: dict) -> str | None:
        seen = report["servers_restarted"]
        return None if seen == servers else f"{seen} servers were started again, {servers} wanted"

    return problem


def channel_memories(setting: Setting) -> None:
    """Kills channel memories, alone and with ranks. Channel memories are event loggers as well."""
    options = [] if setting.protocol else ["--protocol", "channel-memory"]
    two = [*options, "--channel-memories", "2"]
    if setting.protocol and not setting.protocol.startswith("channel-memory"):
        return
    run_case(setting, Case(
        "channel memory killed, then a rank", "master_worker",
        ["kill:server=channel-memory,at=2s", "kill:rank=1,at=4s"], 1, options))
    run_case(setting, Case(
        "both channel memories killed again and again, and all ranks", "two_receives",
        ["kill:server=channel-memory,every=1500ms,count=3", "kill:rank=all,at=3s"], RANKS, two))
    # 4 MiB in main memory, while some 7 MB wait.
    run_case(setting, Case(
        "messages wait on the disk of a channel memory, all ranks killed", "late",
        ["kill:rank=all,at=2s"], RANKS, [*options, "--memory-limit", "4"], seconds=3,
        also=lambda report: None if report["channel_memories"]["spilled_bytes"] > 1_000_000
            else f"nothing waited on a disk: {report['channel_memories']}"))
    if setting.full or setting.protocol:
        run_case(setting, Case(
            "both channel memories and ranks killed", "traffic",
            ["kill:server=channel-memory,every=2s,count=3", "kill:every=2s,count=3,seed=5"], 1, two))
        run_case(setting, Case(
            "channel memories, no images", "waitany",
            ["kill:server=channel-memory,at=1s", "kill:rank=2,at=2s"], 1,
            [*options, "--ckpt", "off"]))


def all_ranks(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    for program in ("master_worker", "wavefront", "collectives"):
        run_case(setting, Case(
            f"all ranks killed at once under {program}", program,
            ["kill:rank=all,at=3s"], RANKS, auto=program == "wavefront"))
    run_case(setting, Case(
        "all ranks killed twice", "probe_loop",
        ["kill:rank=all,at=2s", "kill:rank=all,at=5s"], 2 * RANKS, seconds=8))
    run_case(setting, Case(
        "two ranks at once", "two_receives",
        ["kill:rank=0,at=3s", "kill:rank=2,at=3s"], 2, auto=True))
    if not setting.protocol:
        run_case(setting, Case(
            "all ranks killed at once in waves", "master_worker",
            ["kill:rank=all,at=3s"], RANKS, NONBLOCKING))
        for waves in (BLOCKING, NONBLOCKING)[not setting.full:]:
            run_case(setting, Case(
                "synchronous sends are cancelled while ranks are killed", "cancelled",
                ["kill:every=1500ms,count=2,seed=4"], 2, waves, seconds=3))
