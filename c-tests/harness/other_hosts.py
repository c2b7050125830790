"""Tests what differs between hosts, without other hosts: a script in place of ssh starts the agent here, under other
limits."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path

from . import build
from .core import TESTS, Setting, kill, problem_of, run
from .jobs import Jobs, judge

# The agent keeps its input. The session goes on when the agent has ended.
HANGS = """#!/bin/sh
shift
exec 3<&0
sh -c "$*" <&3 3<&- &
exec sleep 300
"""


def script(file: Path, text: str) -> Path:
    file.write_text(text)
    file.chmod(0o755)
    return file


def marked(mark: str, name: str) -> list[int]:
    """Processes with this variable in their environment and this text in their command line."""
    found = []
    for entry in os.listdir("/proc"):
        try:
            words = Path("/proc", entry, "cmdline").read_bytes() if entry.isdigit() else b""
            if name.encode() in words and mark.encode() in Path("/proc", entry, "environ").read_bytes():
                found.append(int(entry))
        except OSError:
            pass
    return found


def other_hosts(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    program, made = build.build(setting, TESTS / "programs" / "universe.c")
    if program is None:
        return setting.results.bad("other hosts", made.output_tail() if made else "it does not compile")
    where = setting.new_folder("other-hosts")
    other_limits(setting, where, program)
    few_at_once(setting, where)
    doctor_of_hosts(setting, where)
    if setting.full:
        slow_start(setting, where)
    session_that_hangs(setting, where)
    baseline(setting, where)


def other_limits(setting: Setting, where: Path, program: Path) -> None:
    """A spare host has a lower limit on its stack than the job: said before the first rank starts."""
    low = script(where / "low.sh", "#!/bin/sh\nshift\nulimit -s 512\nexec sh -c \"$*\"\n")
    (where / "machines").write_text("localhost:2\nfar-away.invalid:2 spare\n")
    options = ["-f", where / "machines", "--rsh", low]
    late = script(where / "late.sh", f"#!/bin/sh\nsleep 1.5\nexec {low} \"$@\"\n")
    for name, rsh in ("", low), (" whose agent is late", late):
        options[-1] = rsh
        # The ranks wait until the line is there: a spare's agent may tell its limits later.
        lines = where / f"lines{len(name)}"
        wait = f"for i in $(seq 400); do grep -q ulimit {lines} && break; sleep 0.1; done; exec {program}"
        to_file = ["sh", "-c", f"exec \"$@\" 2>{lines}", "sh"]
        outcome = run([*to_file, *setting.mpiexec(2, *options), "sh", "-c", wait], timeout=90, cwd=where)
        text = lines.read_text()
        said = [line for line in text.splitlines()
                if "spare host far-away.invalid cannot take a rank of localhost" in line and "ulimit -Hs" in line]
        problem = problem_of(outcome, expected_text="universe") or (None if len(said) == 1 else text[-400:])
        setting.results.check(f"a spare host{name} with a low limit is named once", problem)
    options[-1] = low
    outcome = run([setting.launcher, "--doctor", *options, program], timeout=60, cwd=where)
    said = "far-away.invalid (spare): it cannot take a rank" in outcome.out
    setting.results.check("the doctor names its limits", None if said else outcome.output_tail())


def few_at_once(setting: Setting, where: Path) -> None:
    """No more sessions are being started than --launch-at-once says. One host cannot be reached: its place is free again."""
    marks = where / "starts"
    slow = script(where / "slow.sh", f"""#!/bin/sh
host=$1; shift
echo + >>{marks}; sleep 0.3; echo - >>{marks}
[ $host = gone ] && exit 255
exec sh -c "$*"
""")
    (where / "machines").write_text("gone spare\n" + "".join(f"h{number}\n" for number in range(6)))
    options = ["-f", where / "machines", "--rsh", slow, "--launch-at-once", 2]
    outcome = run([*setting.mpiexec(6, *options), "true"], timeout=60, cwd=where)
    running, highest = 0, 0
    for mark in marks.read_text().split():
        running += 1 if mark == "+" else -1
        highest = max(highest, running)
    problem = problem_of(outcome)
    if problem is None and highest not in (1, 2):
        problem = f"{highest} sessions began at the same time"
    setting.results.check("at most so many sessions begin at the same time as --launch-at-once says", problem)


def doctor_of_hosts(setting: Setting, where: Path) -> None:
    """A host whose shell prints text and leaves a process behind is asked all the same; one that cannot be reached is named."""
    talks = script(where / "talks.sh", f"""#!/bin/sh
host=$1; shift
[ $host = gone.invalid ] && {{ echo no route to $host >&2; exit 255; }}
echo welcome to $host
sleep 600 & echo $! >{where}/left
exec sh -c "$*"
""")
    outcome = run([setting.launcher, "--doctor", "-hosts", "gone.invalid,b.invalid", "--rsh", talks], timeout=60, cwd=where)
    kill([int((where / "left").read_text())])
    lines = [line.split(None, 2) for line in outcome.out.splitlines() if ".invalid:" in line]
    marks = [(mark, text.split(":")[0]) for mark, _, text in lines]
    problem = problem_of(outcome, 1, "no route to gone.invalid")
    if problem is None and marks[:2] != [("BAD", "gone.invalid"), ("ok", "b.invalid")]:
        problem = outcome.output_tail()
    setting.results.check("the doctor asks hosts with talkative shells, and names those that do not answer", problem)


def slow_start(setting: Setting, where: Path) -> None:
    """One host is slow: said while the job waits for it, and then the job begins."""
    lines = where / "start-lines"
    slow = script(where / "waits.sh", f"""#!/bin/sh
host=$1; shift
[ $host = a.invalid ] || for i in $(seq 600); do grep -q 'the job has not begun' {lines} && break; sleep 0.1; done
exec sh -c "$*"
""")
    words = [*setting.mpiexec(2, "-hosts", "a.invalid,b.invalid", "--rsh", slow), "true"]
    outcome = run(["sh", "-c", f"exec \"$@\" 2>{lines}", "sh", *words], timeout=120, cwd=where)
    said = [line for line in lines.read_text().splitlines() if "the job has not begun" in line]
    problem = problem_of(outcome)
    wanted = "it waits for the agent of b.invalid ("
    if problem is None and (len(said) != 1 or wanted not in said[0]):
        problem = lines.read_text()[-600:]
    setting.results.check("a start that takes long names what it waits for", problem)


def session_that_hangs(setting: Setting, where: Path) -> None:
    """The launcher is killed while the session that started an agent goes on: the agent ends with its ranks."""
    test = "an agent whose session hangs ends after its launcher"
    hangs = script(where / "hangs.sh", HANGS)
    mark = f"FTMPI_TEST_SESSION={os.getpid()}"
    agent, rank, session = "\0--agent", "sleep\x00287", "sleep\x00300"
    words = [*setting.mpiexec(1, "-hosts", "far-away.invalid", "--rsh", hangs), "sleep", "287"]
    launcher = subprocess.Popen([str(word) for word in words], cwd=where, stdout=subprocess.DEVNULL,
                                stderr=subprocess.DEVNULL, env={**os.environ, **dict([mark.split("=")])})
    until = time.monotonic() + 30
    while not (marked(mark, agent) and marked(mark, rank)) and time.monotonic() < until:
        time.sleep(0.1)
    problem = None if marked(mark, rank) else "the rank did not begin"
    launcher.kill()
    launcher.wait()
    until = time.monotonic() + 15
    while (marked(mark, agent) or marked(mark, rank)) and time.monotonic() < until:
        time.sleep(0.1)
    left = marked(mark, agent) + marked(mark, rank)
    if problem is None and not marked(mark, session):
        problem = "the session did not hang"
    if problem is None and left:
        problem = f"agent or rank live on: {left}"
    kill([*left, *marked(mark, session)])
    setting.results.check(test, problem)


# Words of CPUID without some instructions of leaf 7: RDSEED, SHA, AVX-512VL.
FEWER = ["ffffffff"] * 2 + [f"{0xffffffff & ~(1 << 18 | 1 << 29 | 1 << 31):08x}"] + ["ffffffff"] * 9


def baseline(setting: Setting, where: Path) -> None:
    """One host counts as one with fewer instructions. Ranks of the other one move there only with a baseline."""
    hosts = script(where / "fewer.sh", "#!/bin/sh\nhost=$1; shift\n"
                   f"[ $host = two.invalid ] && export FTMPI_CPU_BASELINE={''.join(FEWER)}\nexec sh -c \"$*\"\n")
    options = ["-hosts", "one.invalid:2,two.invalid:2", "--rsh", hosts]
    plain = run([*setting.mpiexec(2, *options), "true"], timeout=60, cwd=where)
    problem = problem_of(plain)
    refused = "images of ranks on one.invalid cannot be restored on two.invalid"
    if problem is None and refused not in plain.err:
        return setting.results.skip("a common baseline", "this processor has none of the instructions")
    prepared = Jobs(setting, 4).prepare("a common baseline", "collectives", setting.seed)
    if prepared is None:
        return
    job, report = prepared.job, prepared.report
    outcome = run([*setting.mpiexec(4, *options, "--cpu-baseline", "auto", "--ckpt-interval", "500ms", "--report", report, "--detect", "2s",
                                    "--inject", "host:one.invalid,at=2s"), job.program, *job.arguments],
                  timeout=setting.timeout, cwd=prepared.where)
    problem, note = judge(outcome, report, job.expected_text, 1)
    if problem is None and (refused in outcome.err or "--cpu-baseline: the C library" not in outcome.err):
        problem = f"no baseline: {outcome.output_tail()}"
    setting.results.check("ranks move with a common baseline", problem, note)
    shown = run([*setting.mpiexec(1, *options, "--cpu-baseline", "auto"), "sh", "-c", "echo $GLIBC_TUNABLES"],
                timeout=60, cwd=where)
    told = "glibc.cpu.hwcaps=-" in shown.out and "-AVX512VL" in shown.out
    setting.results.check("the C library knows the baseline", None if told else shown.output_tail())
