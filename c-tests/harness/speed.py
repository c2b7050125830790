"""Counts the instructions of a message, which do not depend on other load."""

from __future__ import annotations

import re

from .core import TESTS, Setting, problem_of, run

# Instructions of a call of 8 bytes, user space only. Peers on the same count: Intel MPI 2021.18 753 and 1360, MPICH 5.0
# 818 and 1426. Raise a limit only with a reason in the commit. A look at a channel whose last line is half read takes
# some 50 instructions more in all. Which calls that concerns depends on the number of short messages before.
LIMITS = {
    "none": {"send": 510, "receive": 620},
    "pessimistic": {"send": 760, "receive": 680},
    # Each receive is an event, and each send waits until the event is in the logger's ring.
    "pessimistic --events all": {"send": 3000, "receive": 1500},
    # Calls are so frequent that a trace times few of them. `none` is 475 and 1039 then: a receive after probes.
    "none --trace FILE": {"send": 540, "receive": 1110},
}
FREQUENT = "1000"


def speed(setting: Setting) -> None:
    """Counts by tracing, and compares with the limits."""
    if not setting.dist_is_built():
        return
    work = setting.new_folder("speed")
    program = work / "instructions"
    made = run([setting.cc, "-O2", "-o", program, TESTS / "speed" / "instructions.c"], timeout=60)
    if made.code != 0:
        setting.results.bad("instructions of a message", made.output_tail())
        return
    for protocol, limits in LIMITS.items():
        name = f"instructions of a message, {protocol}"
        others = [FREQUENT] if "--trace" in protocol else []
        outcome = run([*setting.mpiexec(2, "--protocol", *protocol.split(), "--ckpt", "off"), program, *others],
                      timeout=setting.timeout, cwd=work)
        if "untraceable" in outcome.out:
            setting.results.skip(name, "processes may not trace each other here")
            continue
        counts = {key: int(value) for key, value in re.findall(r"^(\w+) (\d+)$", outcome.out, re.M)}
        problem = problem_of(outcome)
        for call, limit in limits.items():
            if problem is None and not 0 < counts.get(call, 0) <= limit:
                problem = f"{call}: {counts.get(call)}, limit {limit}"
        setting.results.check(name, problem, ", ".join(f"{k} {v}" for k, v in counts.items()))
