#!/usr/bin/env python3
"""Runs the test suites of ftmpi that need a built `dist/`.

Every run has a time limit: a run that does not end in time is a failure called "hang". Each test prints one line, with
its seed. The last line is `N passed, N failed, N skipped`, and the exit code is 0 if none failed.

    c-tests/run.py check                    what `make check` runs (minutes)
    c-tests/run.py conformance [NAME...]    MPI chapter by chapter, against another MPI
    c-tests/run.py conformance --kills 3    the same programs, a random rank killed in every run
    c-tests/run.py conformance --sweep 40 files   a rank killed at each batch of events and each file operation
    c-tests/run.py kills --runs 50 --seed 1 random kills while programs run
    c-tests/run.py random --runs 20         random datatypes, collectives and traffic, with deaths
    c-tests/run.py --protocol rotate kills  the same under each protocol in turn
    c-tests/run.py campaign --runs 30       every protocol and option, with programs and faults in turn
    c-tests/run.py auto | points | servers | all-ranks | damage | restart | committed | cuts | remade | replaced
    c-tests/run.py bad-input | bounds       what users do wrong; hosts with little memory or disk
    c-tests/run.py views                    lines of batch jobs, pages, timelines, files for Prometheus
    c-tests/run.py hydra                    options and variables of Hydra
    c-tests/run.py other-hosts              hosts with other limits; a session that hangs
    c-tests/run.py direct                   ranks that Hydra starts
    c-tests/run.py mpir                     debuggers find the ranks
    c-tests/run.py containers               bubblewrap and podman, a rank killed in each; Kubernetes' workers
    c-tests/run.py packages                 wheel, Debian package, tar ball: built, installed, a rank killed
    c-tests/run.py policies                 kills under graph techniques, each policy of images, servers on several hosts
    c-tests/run.py recoveries               which recovery follows which failure, and where ranks go
    c-tests/run.py moves --runs 30          ranks move under every protocol: after deaths, with hosts, when asked
    c-tests/run.py standbys --runs 30       leaders, standbys and both killed at random moments
    c-tests/run.py netns | hosts | slurm    hosts made of network namespaces, a real Slurm
    c-tests/run.py virtual-hosts            cuts and losses of virtual hosts
    c-tests/run.py new-processes            processes that join a running job, ports, names
    c-tests/run.py ctl                      ftmpi-ctl: status, ranks that move, stalls
    c-tests/run.py standard                 the standard ABI, libmpi_abi.so.1
    c-tests/run.py orphans --runs 30        optimistic logging with a logger that loses the latest events
    c-tests/run.py checks                   FTMPI_CHECK=1: collectives that do not match, objects left open
    c-tests/run.py coverage                 whether some program calls every function of the table
    c-tests/run.py threads --runs 30        threads that call at the same time, killed, under protocols that log
    c-tests/run.py object-store             images in an object store, and servers that lose their disks
    c-tests/run.py torture --restores 50    every kind of state in images, killed and restored 50 times
    c-tests/run.py speed                    instructions of a message
    c-tests/run.py npb --npb DIR            NAS Parallel Benchmarks from their sources
    c-tests/run.py imb                      IMB of the Python package impi-rt
    c-tests/run.py programs                 mpi4py, mocassin, yorick
    c-tests/run.py wrappers                 the compiler wrappers, the libraries' names and symbols
    c-tests/run.py install                  build systems find ftmpi beside another MPI; uninstall
    c-tests/run.py loads                    another MPI in the way, plugins, sanitizers, a debugger
    c-tests/run.py mpi4py                   mpi4py's own test suite, from the Python registry
    c-tests/run.py peer                     the programs themselves, under the other MPI only
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from harness import (  # noqa: E402
    auto, bad_input, bounds, campaign, checks, committed, conformance, conformance_kills, containers, control,
    coverage, cuts, damage, determinants, going_on, hosts, hydra_options, imb, install, joins, kills, loads, moves,
    mpi4py_suite, netns, new_processes, npb, object_store, orphans, points, policies, programs, random_programs, recoveries,
    remade, replaced, restart, server_faults, slurm, speed, standard, standbys, surroundings, threads, torture, views,
    without_images, wrappers,
)
from harness import direct, mpir, other_hosts, packages  # noqa: E402
from harness.core import ROOT, Results, Setting  # noqa: E402


def common_options(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """Adds the options of all suites. The result accepts them after the name of the suite."""
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="the built tree")
    parser.add_argument("--work", type=Path, help="working directory (kept); default: a new one")
    parser.add_argument("--full", action="store_true", help="all sizes, protocols and transports")
    parser.add_argument("--seed", type=int, default=1, help="first random seed")
    parser.add_argument("--timeout", type=float, default=120, help="limit of one run, in seconds")
    parser.add_argument("--protocol", default="", help="protocol of kills and faults, with its "
                        "options: 'causal --piggyback logon'; 'rotate': all in turn")
    # The same options are accepted after the name of the suite.
    common = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS)
    common.add_argument("--dist", type=Path)
    common.add_argument("--work", type=Path)
    common.add_argument("--full", action="store_true")
    common.add_argument("--seed", type=int)
    common.add_argument("--timeout", type=float)
    common.add_argument("--protocol")
    return common


def lane(text: str) -> int | str:
    return int(text) if text.isdigit() else text


# Suites without options of their own.
WITHOUT_OPTIONS = {
    "all-ranks": "all ranks killed at once",
    "damage": "the newest image damaged",
    "points": "every named point of the library",
    "servers": "servers killed",
    "committed": "output held until it is final",
    "hydra": "Hydra's options and variables",
    "recoveries": "which recovery follows which failure, and where ranks go",
    "policies": "each policy of images",
    "other-hosts": "other limits; a session that hangs",
    "clusters": "one rank killed under --protocol hierarchical: one cluster returns, the others go on",
    "auto": "what --protocol auto chooses, and what a user gets from it",
    "remade": "objects that are made and freed in every step, and a rank that dies",
    "determinants": "determinants leave at delivery, not with the next message",
    "cuts": "connections broken while no rank dies",
    "going-on": "jobs that go on without ranks that die (ULFM), every case on 2 to 8 ranks",
    "without-images": "programs of which no image can be taken",
    "replaced": "files, programs and libraries that are replaced while ranks die",
    "restart": "the whole job dies or is stopped, and goes on",
    "object-store": "images in an object store, and servers whose disk is lost",
    "wrappers": "the compiler wrappers, the libraries' names and symbols",
    "surroundings": "what callers and hosts give: descriptors, names, signals, no network, filters, limits",
    "install": "build systems find us, beside another MPI; uninstall",
    "direct": "ranks that another launcher starts (Hydra)",
    "containers": "bubblewrap and podman, a rank killed in each; workers of Kubernetes' MPI operator (root only)",
    "packages": "wheel, Debian package and tar ball from the tree, and from nothing to the first killed rank",
    "mpir": "debuggers find the ranks",
    "slurm": "a real Slurm of four nodes on this machine (root only)",
    "netns": "two hosts made of network namespaces (root only)",
    "hosts": "five hosts made of network namespaces: links that break (root only)",
    "virtual-hosts": "cuts and losses of virtual hosts on this machine",
    "ctl": "ftmpi-ctl: status, ranks that move, hosts that come and go, stalls",
    "new-processes": "processes that join a running job, ports, names",
    "joins": "processes that other commands bring into a running job",
    "bad-input": "what users do wrong",
    "bounds": "hosts with little memory or disk",
    "views": "lines of batch jobs, pages, timelines, files for Prometheus",
    "loads": "how programs are built, loaded and watched",
    "speed": "instructions of a message",
    "checks": "FTMPI_CHECK=1",
    "coverage": "does every function have a program that calls it?",
    "peer": "validate the programs under the other MPI only",
}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    common = common_options(parser)
    suites = parser.add_subparsers(dest="suite", required=True)

    def suite(name: str, text: str) -> argparse.ArgumentParser:
        return suites.add_parser(name, help=text, parents=[common])

    p = suite("check", "a short form of everything, for `make check`")
    p.add_argument("--lane", type=lane, choices=[1, 2, 3, 4, "quick"], help="only a part of it")
    p = suite("conformance", "MPI chapter by chapter")
    p.add_argument("only", nargs="*", help="names of programs")
    p.add_argument("--ranks", type=int, nargs="*", help="sizes instead of the usual ones")
    p.add_argument("--kills", type=int, default=0, metavar="RUNS",
                   help="instead: so many runs of each, a random rank killed at a random moment in every run")
    p.add_argument("--sweep", type=int, default=0, metavar="N",
                   help="instead: the named ones, a rank killed at each of N batches of events and file operations")
    p = suite("kills", "random kills")
    p.add_argument("--runs", type=int, default=10)
    p.add_argument("--programs", nargs="*", default=[], help="instead of all in turn")
    p.add_argument("--external", action="store_true", help="kill -9 from outside in every run")
    p.add_argument("--npb", type=Path, help="NPB sources: BT, CG, LU and SP take turns, too")
    p.add_argument("--waves", action="store_true", help="under --protocol coordinated")
    p.add_argument("--seconds", type=float, default=10, help="length of a run without kills")
    p = suite("random", "random datatypes, collectives and traffic")
    p.add_argument("only", nargs="*", help="names of programs")
    p.add_argument("--runs", type=int, default=4, help="seeds of each")
    p.add_argument("--rounds", type=int, default=60)
    p = suite("standard", "the standard ABI of MPI 5.0: libmpi_abi.so.1")
    p.add_argument("--peers", type=Path, default=ROOT / ".peers")
    suite("threads", "threads that call at once").add_argument("--runs", type=int, default=11)
    p = suite("orphans", "optimistic logging, with a slow logger")
    p.add_argument("--runs", type=int, default=10)
    p.add_argument("--programs", nargs="*", default=[], help="instead of all in turn")
    p.add_argument("--seconds", type=float, default=8, help="length of a run without kills")
    for name, text in (("moves", "ranks move between hosts, under every protocol, by seeds"),
                       ("campaign", "every protocol and option, programs and faults in turn")):
        p = suite(name, text)
        p.add_argument("--runs", type=int, default=30, help="of each protocol and option")
        p.add_argument("--only", nargs="*", default=[], help="protocols whose options contain one of these")
        p.add_argument("--seconds", type=float, default=4, help="length of a run without kills")
    p.add_argument("--npb", type=Path, help="NPB sources: BT, LU, MG and CG take turns, too")
    p.add_argument("--ranks", type=int, default=4)
    suite("standbys", "standbys that take the place of their ranks").add_argument("--runs", type=int, default=2)
    p = suite("torture", "every kind of state in images, killed and restored again and again")
    p.add_argument("--restores", type=int, default=50, help="of each program")
    p.add_argument("--as-user", action="store_true", help="as the user nobody, when run as root")
    p.add_argument("only", nargs="*", help="kinds of state")
    p = suite("npb", "NAS Parallel Benchmarks")
    p.add_argument("--npb", type=Path, required=True, help="the folder NPB3.4-MPI")
    p.add_argument("--classes", default="S,W,A")
    p.add_argument("--kernels", default="bt,cg,ep,ft,is,lu,mg,sp")
    p.add_argument("--ranks", default="1,2,4,16")
    p.add_argument("--peer-built", action="store_true", help="also the programs of MPICH's wrappers")
    p = suite("imb", "IMB-MPI1")
    p.add_argument("--peers", type=Path, default=ROOT / ".peers")
    p.add_argument("--quick", action="store_true", help="few repetitions, small messages")
    p = suite("programs", "mpi4py, mocassin, yorick")
    p.add_argument("--peers", type=Path, default=ROOT / ".peers")
    p = suite("mpi4py", "mpi4py's own test suite")
    p.add_argument("--peers", type=Path, default=ROOT / ".peers")
    p.add_argument("--ranks", type=int, nargs="*", default=[1, 2, 3, 4])
    p.add_argument("--short", action="store_true", help="a part, in one job")
    p.add_argument("--standard", action="store_true", help="compiled for the standard ABI")
    p.add_argument("only", nargs="*", help="names of modules")
    for name, text in WITHOUT_OPTIONS.items():
        suite(name, text)
    return parser.parse_args()


def main() -> int:
    args = arguments()
    work = args.work or Path(tempfile.mkdtemp(prefix="ftmpi-tests."))
    work = work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    results = Results()
    setting = Setting(args.dist.resolve(), work, results, args.full, args.seed, args.timeout,
                      args.protocol)
    print(f"seed {args.seed}, working directory {work}", flush=True)
    os.environ.pop("MPIEXEC_TIMEOUT", None)
    # SIGTERM must also end our processes, and remove mounts and namespaces.
    signal.signal(signal.SIGTERM, terminated)
    try:
        run_suite(setting, args)
    except KeyboardInterrupt:
        results.bad("interrupted", "the run was ended by hand")
    code = results.finish()
    if args.work is None and code == 0:
        shutil.rmtree(work, ignore_errors=True)
    return code


# Suites without options of their own.
PLAIN = {
    "containers": containers.containers,
    "ctl": control.control, "hydra": hydra_options.hydra_options,
    "other-hosts": other_hosts.other_hosts, "policies": policies.policies,
    "netns": netns.netns, "hosts": hosts.hosts, "virtual-hosts": hosts.virtual_hosts, "slurm": slurm.slurm,
    "new-processes": new_processes.new_processes,
    "joins": joins.joins,
    "bad-input": bad_input.bad_input, "bounds": bounds.bounds, "checks": checks.checks, "cuts": cuts.cuts,
}


def run_suite(setting: Setting, args: argparse.Namespace) -> None:
    if args.suite in PLAIN:
        return PLAIN[args.suite](setting)
    match args.suite:
        case "check":
            check(setting, args.lane)
        case "conformance":
            if args.sweep:
                conformance_kills.kills_at_every_event(setting, args.only, args.sweep)
            elif args.kills:
                conformance_kills.random_kills(setting, args.only, args.kills)
            else:
                conformance.conformance(setting, args.only, args.ranks)
        case "kills":
            kills.kills(setting, kills.Plan(args.runs, args.programs, args.external, args.seconds, args.npb,
                                            args.waves))
        case "random":
            random_programs.random_programs(setting, args.runs, args.only, args.rounds)
        case "standard":
            standard.standard(setting, args.peers)
        case "orphans":
            orphans.orphans(setting, args.runs, args.programs, args.seconds)
        case "threads":
            threads.threads(setting, args.runs, 3)
        case "campaign":
            campaign.campaign(setting, args.runs, args.only, args.seconds, args.npb, args.ranks)
        case "moves":
            moves.moves(setting, args.runs, args.only, args.seconds)
        case "clusters":
            kills.clusters(setting)
        case "auto":
            auto.auto(setting)
        case "points":
            points.points(setting)
        case "servers":
            server_faults.servers(setting)
        case "all-ranks":
            server_faults.all_ranks(setting)
        case "damage":
            damage.damage(setting)
        case "restart":
            restart.restart(setting)
        case "standbys":
            standbys.standbys(setting, args.runs)
        case "recoveries":
            recoveries.recoveries(setting)
        case "committed":
            committed.committed(setting)
        case "replaced":
            replaced.replaced(setting)
        case "determinants":
            determinants.determinants(setting)
        case "remade":
            remade.remade(setting)
        case "going-on":
            going_on.all_cases(setting)
        case "without-images":
            without_images.without_images(setting)
        case "object-store":
            object_store.object_store(setting)
        case "torture":
            torture.torture(setting, args.restores, args.only, args.as_user)
        case "npb":
            npb.npb(
                setting,
                args.npb,
                args.classes.split(","),
                args.kernels.split(","),
                [int(r) for r in args.ranks.split(",")],
                args.peer_built,
            )
        case "imb":
            imb.imb(setting, args.peers, args.quick)
        case "programs":
            programs.programs(setting, args.peers)
        case "wrappers":
            wrappers.wrappers(setting)
        case "install":
            install.install(setting)
        case "mpi4py":
            mpi4py_suite.mpi4py_suite(setting, args.peers, args.ranks, args.short, args.standard, args.only)
        case "direct":
            direct.direct(setting)
        case "packages":
            packages.packages(setting)
        case "mpir":
            mpir.mpir(setting)
        case "views":
            views.views(setting)
        case "loads":
            loads.loads(setting)
            loads.killed(setting)
        case "surroundings":
            surroundings.both(setting)
        case "coverage":
            coverage.coverage(setting)
        case "speed":
            speed.speed(setting)
        case "peer":
            conformance.peer_only(setting)


def terminated(number: int, frame: object) -> None:
    raise KeyboardInterrupt


def check(setting: Setting, lane: int | str | None) -> None:
    """The short form of all suites: some minutes on two processors.

    Lane 1 has programs that end well. Lanes 2 and 3, in which ranks die, may run at the same time, but not during a
    computation. The reason: where ranks are oversubscribed, a message yields the CPU once, and a computation then keeps
    the CPU for milliseconds. Lane 4 waits for other launchers half of its time, so it may run beside those two. The
    three take about as long. Lane `quick` has a handful of each."""
    peers = ROOT / ".peers"
    lanes: dict[int | str, list] = {
        1: [
            ("conformance", lambda: conformance.conformance(setting, [], short=True)),
            ("coverage", lambda: coverage.coverage(setting)),
            ("checks", lambda: checks.checks(setting)),
            ("random", lambda: random_programs.random_programs(setting, 1, [], 40)),
            ("standard", lambda: standard.standard(setting, peers, short=True)),
            ("programs", lambda: programs.programs(setting, peers)),
            ("wrappers", lambda: wrappers.wrappers(setting)),
            ("install", lambda: install.install(setting)),
            ("speed", lambda: speed.speed(setting)),
            ("mpi4py", lambda: mpi4py_suite.mpi4py_suite(setting, peers, [2], True)),
            ("new processes", lambda: new_processes.new_processes(setting)),
            ("joins", lambda: joins.joins(setting)),
            ("bad-input", lambda: bad_input.bad_input(setting)),
            ("hydra", lambda: hydra_options.hydra_options(setting)),
            ("bounds", lambda: bounds.bounds(setting)),
            ("loads", lambda: loads.loads(setting)),
            ("surroundings", lambda: surroundings.surroundings(setting)),
        ],
        2: [
            ("points", lambda: points.points(setting, step=2)),
            ("servers", lambda: server_faults.servers(setting, short=True)),
            ("loads, killed", lambda: loads.killed(setting)),
            ("auto", lambda: auto.auto(setting)),
            ("all-ranks", lambda: server_faults.all_ranks(setting)),
            ("committed", lambda: committed.committed(setting)),
            ("threads", lambda: threads.threads(setting, 3, 2, 2)),
            ("determinants", lambda: determinants.determinants(setting)),
            ("cuts", lambda: cuts.cuts(setting)),
            ("remade", lambda: remade.remade(setting)),
            ("without-images", lambda: without_images.without_images(setting)),
            ("going-on", lambda: going_on.going_on(setting)),
            ("object-store", lambda: object_store.object_store(setting)),
        ],
        3: [
            # With a kill every two seconds these runs last several times as long as without.
            ("kills", lambda: kills.kills(setting, kills.Plan(4, seconds=4))),
            ("kills in waves", lambda: kills.kills(setting, kills.Plan(
                4, ["cg", "waitany", "one_sided", "scratch_files"], seconds=3, waves=True))),
            # Single copy is used only where ranks are not oversubscribed.
            ("kills of two ranks", lambda: kills.kills(
                setting, kills.Plan(2, ["traffic"], seconds=4, ranks=2, auto=True))),
            ("clusters", lambda: kills.clusters(setting)),
            ("kills with windows and files", lambda: kills.kills(
                setting, kills.Plan(3, ["one_sided", "fences", "shared_file"], seconds=4))),
            ("orphans", lambda: orphans.orphans(setting, 2, ["waitany", "traffic"], 4, 2)),
            ("conformance, killed", lambda: conformance_kills.random_kills(
                setting, ["coll_mixed", "f_files_f08", "files", "partitioned", "rma_passive"], 1)),
            ("conformance, killed twice", lambda: conformance_kills.random_kills(
                setting, ["f_languages", "mpich_habits"], 2)),
            ("swept", lambda: conformance_kills.kills_at_every_event(setting, ["files"], 5)),
            ("restart", lambda: restart.restart(setting)),
            ("damage", lambda: damage.damage(setting)),
            ("policies", lambda: policies.policies(setting, short=True)),
            ("recoveries", lambda: recoveries.recoveries(setting)),
            ("standbys", lambda: standbys.standbys(setting, 0)),
            ("torture", lambda: torture.torture(setting, 2, ["files", "signals", "threads", "registers", "loop", "fewest"], True)),
        ],
        4: [
            ("slurm", lambda: slurm.slurm(setting)),
            ("direct", lambda: direct.direct(setting)),
            ("mpir", lambda: mpir.mpir(setting)),
            ("other hosts", lambda: other_hosts.other_hosts(setting)),
            ("virtual hosts", lambda: hosts.virtual_hosts(setting)),
            ("replaced", lambda: replaced.replaced(setting)),
            ("ctl", lambda: control.control(setting, short=True)),
            ("surroundings, killed", lambda: surroundings.surroundings_killed(setting)),
            ("views", lambda: views.views(setting)),
        ],
        "quick": [
            ("conformance", lambda: conformance.conformance(
                setting, ["p2p_matching", "coll_reduce", "datatypes", "rma_active", "files"])),
            ("kills", lambda: kills.kills(
                setting, kills.Plan(2, ["waitany", "one_sided"], seconds=3, auto=True))),
            ("kills in waves", lambda: kills.kills(
                setting, kills.Plan(1, ["traffic"], seconds=3, waves=True))),
        ],
    }
    for name in [1, 2, 3, 4] if lane is None else [lane]:
        for suite, run_suite in lanes[name]:
            begin, before = time.monotonic(), processor_seconds()
            run_suite()
            print(f"suite {suite}: {time.monotonic() - begin:.0f} s, {processor_seconds() - before:.0f} s of processors",
                  flush=True)


def processor_seconds() -> float:
    """What this program and the processes that it has waited for took of the processors."""
    return sum(sum(resource.getrusage(who)[:2]) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))


if __name__ == "__main__":
    sys.exit(main())
