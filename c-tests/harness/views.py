"""Tests what people look at: lines of batch jobs, the page of `--report`, the timeline of `--trace`, the dashboard,
`ftmpi-top`, files for Prometheus and Grafana. Pages are also opened in a browser without a screen, where there is one."""

from __future__ import annotations

import fcntl
import http.client
import json
import os
import pty
import re
import select
import shutil
import signal
import socket
import struct
import subprocess
import termios
import time
from pathlib import Path

from . import build, otlp, reports
from .core import ROOT, TESTS, Outcome, Setting, descendants, kill, run, which
from .jobs import RANKS, Jobs

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# What a page of one file must not contain. Names of name spaces are no requests.
REQUESTS = re.compile(r"(?:src|href|action)\s*=\s*[\"'](?!data:,|#)|@import|url\(|\bfetch\(|https?://(?!www\.w3\.org/2000/svg)")


def lines_of_launcher(outcome: Outcome) -> list[str]:
    return [line for line in outcome.err.splitlines() if line.startswith("ftmpiexec: ")]


def missing(lines: list[str], words: list[str]) -> str | None:
    """The words must come in lines of their own, in this order."""
    at = 0
    for word in words:
        found = next((index for index in range(at, len(lines)) if word in lines[index]), None)
        if found is None:
            return f"no line with `{word}` after line {at}: {lines}"
        at = found + 1
    return None


def browser() -> str | None:
    return next((path for path in map(which, BROWSERS) if path), None)


def in_browser(setting: Setting, where: str, budget_ms: int = 3000) -> str | None:
    """The page as a browser has it after its code has run. None: the browser did not come so far in time, not even with
    an empty page."""
    shown = dom(setting, where, budget_ms)
    if shown is None and dom(setting, "about:blank", budget_ms) is not None:
        return "the page keeps the browser busy for ever"
    return shown


def dom(setting: Setting, where: str, budget_ms: int) -> str | None:
    profile = setting.new_folder("browser")
    command = [browser(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
               "--no-first-run", "--disable-extensions", f"--user-data-dir={profile}",
               # Events that never end stop virtual time.
               f"--{'timeout' if where.startswith('http') else 'virtual-time-budget'}={budget_ms}", "--dump-dom", where]
    outcome = run(command, timeout=60)
    shutil.rmtree(profile, ignore_errors=True)
    return outcome.out if outcome.code is not None else None


def page_problem(page: str, data: dict | None = None) -> str | None:
    """A page of one file: what it embeds, and that it asks for nothing."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    if not found:
        return "there is no data in it"
    if any(sign in found[1] for sign in "<>"):
        return "the data could end its element"
    embedded = json.loads(found[1])
    if data is not None and set(embedded) != set(data):
        return f"it has other fields than the JSON file: {set(embedded) ^ set(data)}"
    rest = page.replace(found[0], "")
    request = REQUESTS.search(rest)
    if request:
        return f"it names something outside: {rest[request.start():request.start() + 60]}"
    if "Content-Security-Policy" not in page or "default-src 'none'" not in page:
        return "it has no content security policy"
    return reports.report_problem(embedded, RANKS, 0)


def trace_problem(path: Path, failures: int, dead: bool | None = True) -> str | None:
    """The file is well-formed, its events are in order, and spans of a track nest. `dead`: some rank was dead for a
    time that is shown; None: no failure was asked for."""
    events = [event for event in json.loads(path.read_text())["traceEvents"] if event["ph"] != "M"]
    last, open_spans, begun = 0.0, {}, set()
    for event in events:
        if event["ts"] < last:
            return f"an event is earlier than the one before: {event}"
        last = event["ts"]
        if event["ph"] == "X":
            ends = open_spans.setdefault((event["pid"], event["tid"]), [])
            while ends and ends[-1] <= event["ts"]:
                ends.pop()
            if ends and event["ts"] + event["dur"] > ends[-1]:
                return f"a span reaches out of the one around it: {event}"
            ends.append(event["ts"] + event["dur"])
        elif event["ph"] == "b":
            begun.add(event["id"])
        elif event["ph"] == "e":
            if event["id"] not in begun:
                return f"an end without a begin: {event}"
            begun.remove(event["id"])
    if begun:
        return f"begins without an end: {begun}"
    deaths = [event for event in events if event["cat"] == "failure"]
    names = {event["name"] for event in events}
    wanted = {"computing"} if dead is None else {"computing", "image pause", "restoring"} | ({"dead"} if dead else set())
    if len(deaths) != failures or not wanted <= names:
        return f"{len(deaths)} deaths of {failures}, and the spans {sorted(names)}"
    return None


def one_run(setting: Setting, jobs: Jobs) -> None:
    """One job with a death: its lines, its report, its page and its timeline."""
    results = setting.results
    job, why = jobs.make("waitany", setting.seed)
    if job is None:
        results.bad("views: program", why)
        return
    where = setting.new_folder("views")
    fault = ["--ckpt-interval", "300ms", "--inject", "kill:rank=2,at=1200ms", "--progress", "500ms"]
    command = setting.mpiexec(RANKS, "--job-dir", where / "job", *fault, "--report", where / "run.json",
                              "--trace", where / "run.trace", *job.command(1))
    outcome = run(command, timeout=setting.timeout, cwd=where)
    lines = lines_of_launcher(outcome)
    expected = ["job directory", "protection: coordinated, a wave of images every 300ms", "4 of 4 ranks running",
                "killed by signal 9 (SIGKILL); all ranks return to", "is back from", "summary: 1 failure survived",
                "images stored"]
    results.check("views: lines of a batch job", missing(lines, expected) if outcome.code == 0 else outcome.output_tail())
    report, unread = reports.read(where / "run.json")
    problem = unread or reports.report_problem(report, RANKS, outcome.code, outcome.seconds)
    if problem is None and (report["failures"][0]["lost_s"] is None or "memory" not in report["failures"][0]["remedy"]):
        problem = f"a failure without loss and remedy: {report['failures'][0]}"
    results.check("views: report", problem)
    trace = where / "run.trace"
    results.check("views: timeline", trace_problem(trace, 1) if trace.exists() else "there is no trace")
    page = where / "run.html"
    outcome = run(setting.mpiexec(RANKS, *fault[:4], "--report", page, *job.command(1)), timeout=setting.timeout, cwd=where)
    problem = page_problem(page.read_text(), report) if outcome.code == 0 else outcome.output_tail()
    if results.check("views: page", problem) and page.exists():
        opened(setting, page)


def calls_of(trace: dict, rank: int) -> list[dict]:
    """Spans of calls of MPI of a rank, of its first thread."""
    return [event for event in trace["traceEvents"] if event["ph"] == "X" and event["cat"] == "mpi" and event["tid"] == rank]


def killed_problem(path: Path) -> str | None:
    """Rank 2 was killed: calls of both of its incarnations are there, and those of the others."""
    trace = json.loads(path.read_text())
    states = [event for event in trace["traceEvents"] if event.get("cat") == "state" and event["tid"] == 2]
    began = next((event["ts"] for event in states if event["name"] == "restoring"), None)
    for rank in range(RANKS):
        if not calls_of(trace, rank):
            return f"no call of rank {rank}"
    early = [call for call in calls_of(trace, 2) if call["ts"] < began]
    late = [call for call in calls_of(trace, 2) if call["ts"] >= began]
    if not early or not late:
        return f"rank 2 has {len(early)} calls before its restart and {len(late)} after it"
    shown = trace["otherData"]["calls"]
    stand_for = sum(call["args"]["calls"] for rank in range(RANKS) for call in calls_of(trace, rank))
    if shown["records_lost"] or not stand_for <= 1.5 * shown["calls"] + 100:
        return f"{stand_for} calls of {shown}"
    return None


def traced(setting: Setting, jobs: Jobs) -> None:
    """Calls of MPI in a trace: through a death and a restart, among very many short calls, from several threads."""
    results = setting.results
    job, why = jobs.make("waitany", setting.seed)
    if job is None:
        return results.bad("views: calls", why)
    where = setting.new_folder("views-calls")
    for protocol in ("pessimistic", "causal", "coordinated"):
        trace = where / f"{protocol}.trace"
        outcome = run(setting.mpiexec(RANKS, "--protocol", protocol, "--ckpt-interval", "300ms", "--inject",
                                      "kill:rank=2,at=1200ms", "--trace", trace, *job.command(1)),
                      timeout=setting.timeout, cwd=where)
        problem = outcome.output_tail() if outcome.code or job.expected_text not in outcome.out else None
        problem = problem or trace_problem(trace, 1) or killed_problem(trace)
        results.check(f"views: calls and a restart, {protocol}", problem)
    program, failed = build.build(setting, TESTS / "programs" / "traced.c")
    if program is None:
        return results.bad("views: calls", failed.output_tail())
    for threads in (False, True):
        trace, report = where / f"threads-{threads}.trace", where / f"threads-{threads}.json"
        outcome = run(setting.mpiexec(2, "--trace", trace, "--report", report, program, *["threads"] * threads),
                      timeout=setting.timeout, cwd=where)
        problem = outcome.output_tail() if outcome.code else None
        if "no threads" in outcome.out:
            results.skip("views: calls of several threads", "the protocol allows none")
            continue
        problem = problem or trace_problem(trace, 0, None) or short_and_long_problem(trace, report, threads)
        results.check("views: calls of several threads" if threads else "views: long waits among short calls", problem)
    return None


def short_and_long_problem(path: Path, report: Path, threads: bool) -> str | None:
    """What `programs/traced.c` does: four waits of up to 0.6 s of rank 0, each behind 300 000 short calls."""
    trace = json.loads(path.read_text())
    waits = [call for call in calls_of(trace, 0) if call["name"] == "MPI_Recv" and call["dur"] > 100_000]
    if not threads and (len(waits) != 4 or any(call["args"].get("peer", 1) != 1 for call in waits)):
        return f"long waits: {waits}"
    if threads:
        tracks = {event["tid"] for event in trace["traceEvents"] if event.get("cat") == "mpi" and event["name"] == "MPI_Recv"}
        # How calls of two threads cross decides how many tracks let them nest.
        if not 2 <= len(tracks) <= 4 or 0 not in tracks:
            return f"the threads are on the tracks {tracks}"
    times = json.loads(report.read_text())["mpi_time"]
    of_rank = {call["name"]: call for call in times[0]["calls"]}
    short = of_rank["MPI_Comm_rank"]["calls"]
    if not 0.7 < short / 1_200_000 < 1.4:
        return f"{short} short calls of 1200000"
    waited = of_rank["MPI_Recv"]["time_s"]
    shown = sum(call["dur"] for call in waits) / 1e6
    return None if threads or 0.9 * shown < waited < 1.1 * shown + 0.2 else f"{waited} s of waiting, {shown} s of it shown"


def opened(setting: Setting, page: Path) -> None:
    name = "views: page in a browser"
    if browser() is None:
        return setting.results.skip(name, "no chromium")
    # Text of a job must not become markup.
    evil = page.with_name("evil.html")
    evil.write_text(page.read_text().replace("killed by signal 9", "\\u003cimg src=x onerror=alert(1)\\u003e"))
    for file, words in ((page, ["</rect>", "all ranks return to", "1 failure survived", "Where the time went"]),
                        (evil, ["&lt;img src=x onerror=alert(1)&gt;"])):
        shown = in_browser(setting, file.as_uri())
        if shown is None:
            setting.results.skip(name, "the browser is too slow here")
            continue
        gone = [word for word in words if word not in shown]
        setting.results.check(name, f"{file.name} does not show {gone}: {shown[-300:]}" if gone else None)
    return None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port: int, path: str, host: str = "localhost", **headers: str) -> tuple[int, str]:
    """Status and text of an answer; redirections are not followed."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    try:
        connection.request("GET", path, headers={"Host": host, **headers})
        answer = connection.getresponse()
        return answer.status, answer.headers.get("Set-Cookie", "") + answer.read().decode()
    except OSError as error:
        return 0, str(error)
    finally:
        connection.close()


def first_events(port: int, wanted: int) -> list[dict]:
    """The first states that a viewer is sent."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    found: list[dict] = []
    try:
        connection.request("GET", "/events", headers={"Host": "localhost"})
        answer = connection.getresponse()
        while len(found) < wanted:
            line = answer.readline().decode()
            if not line:
                break
            if line.startswith("data: {\"exposure"):
                found.append(json.loads(line.removeprefix("data: ")))
    except OSError:
        pass
    finally:
        connection.close()
    return found


def dashboard_problems(port: int, other: int) -> dict[str, str | None]:
    """What is wrong with the page of a running job; `other` is one on all addresses."""
    code, page = get(port, "/")
    request = REQUESTS.search(re.sub(r'href="/(status|metrics)"', "", page))
    problems = {"dashboard": f"{code} {page[:100]}" if code != 200 or request else None}
    events = first_events(port, 2)
    states = [event["status"] for event in events]
    right = len(states) == 2 and len(states[0]["ranks"]) == RANKS and states[0]["job"]["elapsed_s"] < states[1]["job"]["elapsed_s"]
    problems["dashboard: states"] = None if right and events[0]["exposure"]["text"] else f"{events}"[:300]
    refused = [get(port, "/status", host="evil.example")[0], get(other, "/status")[0], get(other, "/?token=x")[0]]
    problems["dashboard: strangers are refused"] = None if refused == [403] * 3 else f"answered with {refused}"
    code, text = get(port, "/metrics")
    problems["dashboard: metrics"] = None if code == 200 and "ftmpi_job_ranks 4" in text else f"{code} {text[:100]}"
    return problems


def live(setting: Setting, jobs: Jobs) -> None:
    """A running job, seen by `ftmpi-top` and through the dashboard."""
    results = setting.results
    job, why = jobs.make("waitany", setting.seed)
    if job is None:
        return results.bad("views: live", why)
    where = setting.new_folder("views-live")
    port, other = free_port(), free_port()
    top = [setting.dist / "bin" / "ftmpi-top", "--once"]
    options = ["--job-dir", where / "job", "--ckpt-interval", "500ms"]
    words = [str(word) for word in setting.mpiexec(RANKS, *options, "--dashboard", str(port), *job.command(60))]
    second = [str(word) for word in setting.mpiexec(2, "--protocol", "none", "--dashboard", f"0.0.0.0:{other}", *job.command(60))]
    with open(where / "said", "w+") as said, open(where / "second", "w+") as more:
        running = [subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=said, start_new_session=True),
                   subprocess.Popen(second, stdout=subprocess.DEVNULL, stderr=more, start_new_session=True)]
        try:
            until = time.monotonic() + 20
            while time.monotonic() < until and (get(port, "/status")[0] != 200 or get(other, "/")[0] != 403):
                time.sleep(0.1)
            for name, problem in dashboard_problems(port, other).items():
                results.check(f"views: {name}", problem)
            token = re.search(r"\?token=(\w+)", (where / "second").read_text())
            answer = get(other, f"/?token={token[1]}") if token else (0, (where / "second").read_text())
            results.check("views: a token opens the page", None if answer[0] == 303 and "HttpOnly" in answer[1] else f"{answer}")
            plain = run([*top, where / "job"], timeout=20)
            whole = plain.code == 0 and "if a rank died now: " in plain.out and plain.out.count("  rank ") == RANKS
            results.check("views: ftmpi-top", None if whole else plain.output_tail())
            state = run([*top, "--json", where / "job"], timeout=20)
            whole = state.code == 0 and len(json.loads(state.out)["ranks"]) == RANKS
            results.check("views: ftmpi-top --json", None if whole else state.output_tail())
            absent = run([*top, where], timeout=20)
            results.check("views: ftmpi-top without a job", None if absent.code and absent.err else f"{absent}")
            if browser() is None:
                results.skip("views: dashboard in a browser", "no chromium")
            else:
                shown = in_browser(setting, f"http://localhost:{port}/", 4000)
                if shown is None:
                    results.skip("views: dashboard in a browser", "the browser is too slow here")
                else:
                    gone = [word for word in ('aria-label="rank 3', "If a rank died now", ">live<") if word not in shown]
                    results.check("views: dashboard in a browser", f"it does not show {gone}: {shown[-400:]}" if gone else None)
        finally:
            for process in running:
                below = descendants(process.pid)
                kill([process.pid], signal.SIGTERM)
                process.wait()
                kill(below)
    return None


def on_terminal(command: list, timeout: float, press: bytes = b"") -> tuple[int | None, str]:
    """Runs a command on a terminal of its own. `press`: keys, as soon as the screen shows ranks. Exit code and all that
    came to the terminal."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.environ["TERM"] = "xterm"
        os.execv(str(command[0]), [str(word) for word in command])
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
    seen, until, code = b"", time.monotonic() + timeout, None
    while time.monotonic() < until:
        if select.select([terminal], [], [], 0.1)[0]:
            try:
                seen += os.read(terminal, 1 << 16)
            except OSError:
                break
        if press and b"\x1b[?1049h" in seen and b"rank" in seen:
            os.write(terminal, press)
            press = b""
    else:
        os.kill(pid, signal.SIGKILL)
    ended, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status) if ended else None
    os.close(terminal)
    return code, seen.decode(errors="replace")


def ui(setting: Setting, jobs: Jobs) -> None:
    """`--ui`: the screen, then what the job printed. It is refused without a terminal."""
    results = setting.results
    job, why = jobs.make("waitany", setting.seed)
    if job is None:
        return results.bad("views: --ui", why)
    for name, press, factor in (("the job ends", b"", 1), ("the user leaves", b"q", 2)):
        code, seen = on_terminal(setting.mpiexec(RANKS, "--ui", *job.command(factor)), 90, press)
        screen, _, rest = seen.rpartition("\x1b[?1049l")
        problem = None if code == 0 and "\x1b[?1049h" in screen and job.expected_text in rest and job.expected_text not in screen \
            else f"exit code {code}: {seen[-400:]!r}"
        results.check(f"views: --ui, {name}", problem)
    code, seen = on_terminal(setting.mpiexec(1, "--ui", "/bin/sh", "-c", "echo said; exit 7"), 60)
    results.check("views: --ui passes on the exit code", None if code == 7 and "said" in seen else f"{code} {seen[-300:]!r}")
    bare = run(setting.mpiexec(1, "--ui", "/bin/true"), timeout=30)
    refused = bare.code not in (0, None) and bare.err.count("\n") == 1 and "--ui needs a terminal" in bare.err
    results.check("views: --ui without a terminal is refused", None if refused else bare.output_tail())
    return None


def flows_problem(trace: dict, protocol: str) -> str | None:
    """What `examples/farm.c` does with 20 tasks, rank 0 of which was killed: tasks go out and results come back, some
    twice. Each arrow begins where it should, and goes forward in time."""
    flows: dict[str, dict] = {}
    arrows = []
    for event in trace["traceEvents"]:
        if event["ph"] == "s":
            flows[event["id"]] = event
        elif event["ph"] == "f":
            begin = flows.pop(event["id"], None)
            if begin is None or begin["ts"] > event["ts"] or event.get("bp") != "e":
                return f"an arrow without a begin, or back in time: {event} {begin}"
            arrows.append((begin, event))
    if flows:
        return f"arrows without an end: {flows}"
    of_program = [(begin["args"], end) for begin, end in arrows if begin["cat"] == "message"]
    for args, end in of_program:
        if end["tid"] != args["to"]:
            return f"an arrow to rank {args['to']} ends at rank {end['tid']}"
    results = {(args["from"], args["number"]) for args, end in of_program if args["to"] == 0 and args["from"] != 0}
    death = next(event for event in trace["traceEvents"] if event.get("cat") == "failure")
    late = [args for args, end in of_program if end["ts"] > death["ts"]]
    if len(results) < 20 or not late or len(late) == len(of_program):
        return f"{len(results)} results, {len(late)} of {len(of_program)} messages after the death"
    markers = sum(begin["cat"] == "marker" for begin, _ in arrows)
    events = sum(event.get("cat") == "event" for event in trace["traceEvents"])
    if protocol == "coordinated":
        return None if markers >= 6 and not events else f"{markers} markers, {events} determinants"
    again = len(of_program) - len({(args["from"], args["to"], args["number"]) for args, _ in of_program})
    # Rank 0 repeats receives: their messages come from logs once more.
    repeated = death["args"]["replayed"]
    whole = events and not markers and (again or not repeated)
    return None if whole else f"{events} determinants, {markers} markers, {again} messages again, {repeated} repeated"


def messages(setting: Setting) -> None:
    """`--trace-messages`, `--diagram` and the file for OpenTelemetry."""
    results = setting.results
    where = setting.new_folder("views-messages")
    program, failed = build.build(setting, ROOT / "examples" / "farm.c")
    if program is None:
        return results.bad("views: messages", failed.output_tail())
    ftmpiexec = setting.dist / "bin" / "ftmpiexec"
    for protocol, file in (("pessimistic", "run.trace"), ("coordinated", "run.trace"), ("pessimistic", "run.otlp.json")):
        trace = where / protocol / file
        trace.parent.mkdir(exist_ok=True)
        outcome = run(setting.mpiexec(RANKS, "--protocol", protocol, "--ckpt-interval", "150ms", "--inject",
                                      "kill:rank=0,point=ring-read,nth=14", "--trace", trace, "--trace-messages",
                                      program, "20"),
                      timeout=setting.timeout, cwd=where)
        problem = outcome.output_tail() if outcome.code or "sum 380, expected 380" not in outcome.out else None
        if file.endswith(".otlp.json"):
            results.check("views: a trace for OpenTelemetry", problem or otlp.problem_of(trace))
            if setting.full:
                otlp.by_definitions(setting, trace)
            continue
        problem = problem or trace_problem(trace, 1) or flows_problem(json.loads(trace.read_text()), protocol)
        results.check(f"views: messages around a death, {protocol}", problem)
        if problem:
            continue
        drawn = run([ftmpiexec, "--diagram", trace], timeout=30)
        wanted = ["killed by signal 9", "rank 3", "image 1", "incarnation 1",
                  "marker of wave" if protocol == "coordinated" else "determinant"]
        gone = [word for word in wanted if word not in drawn.out]
        shapes = re.findall(r"<(?:line|path|rect|circle|text)\b", drawn.out)
        whole = drawn.code == 0 and not gone and len(shapes) > 50 and drawn.out.rstrip().endswith("</svg>")
        results.check(f"views: diagram, {protocol}", None if whole else f"no {gone}: {drawn.output_tail()}")
    empty = run([ftmpiexec, "--diagram", where / "pessimistic" / "run.trace", "--window", "2ms,1ms"], timeout=30)
    other = run([ftmpiexec, "--diagram", program], timeout=30)
    problem = None if empty.code and "FROM,TO" in empty.err and other.code and "--diagram" in other.err else \
        empty.output_tail() + other.output_tail()
    results.check("views: a diagram of something else is refused", problem)
    return None


def advised(setting: Setting, jobs: Jobs) -> None:
    """`--advise` reads the report of a run."""
    where = setting.new_folder("views-advice")
    job, why = jobs.make("waitany", setting.seed)
    if job is None:
        return setting.results.bad("views: --advise", why)
    run(setting.mpiexec(RANKS, "--ckpt-interval", "300ms", "--report", where / "run.json", *job.command(1)),
        timeout=setting.timeout, cwd=where)
    program = setting.dist / "bin" / "ftmpiexec"
    many = run([program, "--advise", where / "run.json", "-n", "1024", "-hosts", "a,b,c,d", "--mtbf", "1h"], timeout=30)
    whole = many.code == 0 and "measured: an image of" in many.out and "hierarchical" in many.out and "best: " in many.out
    bad = run([program, "--advise", where / "no.json"], timeout=30)
    problem = None if whole and bad.code and "no.json" in bad.err else many.output_tail() + bad.output_tail()
    setting.results.check("views: --advise", problem)
    return None


def silence(setting: Setting, jobs: Jobs) -> None:
    """A short job that runs well says nothing by itself."""
    job, why = jobs.make("waitany", setting.seed)
    if job is None:
        return setting.results.bad("views: silence", why)
    where = setting.new_folder("views-silent")
    short = job.command(1)[:1] + ["--seconds", "0.2", "--seed", "1"]
    outcome = run(setting.mpiexec(RANKS, *short), timeout=setting.timeout, cwd=where)
    said = outcome.err.strip()
    setting.results.check("views: a job that runs well is silent", f"it said {said}" if said or outcome.code else None)
    bad = run(setting.mpiexec(2, "--trace", "/no/such/dir/x", *short), timeout=setting.timeout, cwd=where)
    problem = None if bad.code and "--trace /no/such/dir/x" in bad.err and not bad.out else bad.output_tail()
    setting.results.check("views: a trace that cannot be written is said before the start", problem)
    return None


def monitoring(setting: Setting) -> None:
    """The alerts are what Prometheus accepts; the dashboard is JSON with panels."""
    folder = ROOT / "packaging" / "monitoring"
    board = json.loads((folder / "grafana-dashboard.json").read_text())
    ids = [panel["id"] for panel in board["panels"]]
    whole = len(ids) == len(set(ids)) > 10 and all(panel["targets"] for panel in board["panels"] if panel["type"] != "row")
    setting.results.check("views: dashboard for Grafana", None if whole else "its panels are not whole")
    if which("promtool") is None:
        return setting.results.skip("views: alerts", "no promtool")
    made = subprocess.run(["promtool", "check", "rules", folder / "prometheus-rules.yml"], capture_output=True, text=True)
    problem = None if made.returncode == 0 else made.stdout + made.stderr
    setting.results.check("views: alerts", problem)
    return None


def views(setting: Setting) -> None:
    if not setting.dist_is_built():
        return
    jobs = Jobs(setting, 2.5)
    one_run(setting, jobs)
    traced(setting, jobs)
    messages(setting)
    ui(setting, jobs)
    advised(setting, jobs)
    silence(setting, jobs)
    live(setting, jobs)
    monitoring(setting)
