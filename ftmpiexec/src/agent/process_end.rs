//! How a process ends: it is noticed, reaped, and reported after the last byte of its output.

use super::directory::RankKey;
use super::events::AgentEvent;
use super::rank_process::RankProcess;
use super::{Agent, processes, restore};
use crate::agent_protocol::{FILE_GONE, Report};
use crate::tuning::CONTROL_GRACE;
use ftmpi_checkpoint::boot_abi;
use ftmpi_protocols::dispatcher::Ending;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::time::Instant;

impl Agent {
    /// The control socket of a process was closed, or broke for the reason `why`.
    pub(super) fn control_closed(&mut self, key: RankKey, pid: u32, why: Option<String>) {
        let (rank, incarnation) = key;
        let events = self.events.clone();
        let Some(process) = self.ranks.get_pid(key, pid) else { return };
        // A rank that closed its socket and is about to exit has nothing more to report.
        process.end.broken |= why.is_some();
        if process.has_ended() || process.end.may_close() {
            return;
        }
        if let Some(why) = why {
            self.link
                .notice(format!("rank {rank}: its control connection broke ({why}); killing it"));
        }
        // Usually the process is dying and its exit follows at once.
        tokio::spawn(async move {
            tokio::time::sleep(CONTROL_GRACE).await;
            let _ = events.send(AgentEvent::ControlGrace { rank, incarnation, pid });
        });
    }

    /// The time for an exit after the end of the control socket is over: kills the process.
    pub(super) fn control_grace(&mut self, key: RankKey, pid: u32) {
        let Some(process) = self.ranks.get_pid(key, pid) else { return };
        if process.is_connected() && !process.end.may_close() {
            process.end.control_lost = true;
            processes::signal_group(process.id().pid, libc::SIGKILL);
        }
    }

    /// The process of an incarnation has exited and is not reaped yet.
    pub(super) fn exited(&mut self, rank: Rank, incarnation: Incarnation) {
        let Some(process) = self.ranks.get_mut(rank, incarnation) else { return };
        let pid = process.id().pid;
        if process.owns(pid) {
            // The process is not reaped yet, so no other group can have its number.
            processes::signal_group(pid, libc::SIGKILL);
        }
        if !process.reap() {
            return;
        }
        let pids: Vec<u32> = [Some(pid), process.pid()].into_iter().flatten().collect();
        let killed = process.was_killed_by_others();
        if let Some(limit) = self.memory_kills.ended(&pids, killed, Instant::now()) {
            process.set_ending(Ending::Memory(limit));
        }
        let refused = process.resumed_from().is_some() && !process.has_said_hello();
        self.note_death((rank, incarnation), !refused);
        self.broker.forget(rank);
        self.report_end_if_drained(rank);
    }

    /// Notes when an incarnation ended, if other ranks go on meanwhile. `ran`: the program may have
    /// gone on in it.
    pub(super) fn note_death(&mut self, key: RankKey, ran: bool) {
        if self.job.as_ref().is_none_or(|job| job.view.traits.all_return()) {
            return;
        }
        if ran { self.ranks.record_death(key) } else { self.ranks.never_ran(key) }
    }

    /// One stream of a rank's output has been read to its end.
    pub(super) fn drained(&mut self, rank: Rank, incarnation: Incarnation) {
        if let Some(process) = self.ranks.get_mut(rank, incarnation) {
            process.stream_drained();
            self.report_end_if_drained(rank);
        }
    }

    /// Reports the end of a process after the last byte of its output, so that the launcher prints
    /// the output first.
    fn report_end_if_drained(&mut self, rank: Rank) {
        let Some((mut ending, at)) = self.ranks.newest(rank).and_then(RankProcess::final_ending)
        else {
            return;
        };
        let process = self.ranks.remove(rank).expect("looked up above");
        let incarnation = process.incarnation;
        self.link.report(rank, incarnation, process.page.report(None));
        self.report_calls(&process);
        if let Some(path) = process.other_mpi() {
            self.link.report(rank, incarnation, Report::OtherMpi { path });
        }
        let tried = process.resumed_from().filter(|_| !process.has_said_hello());
        let began_anew = process.end.began_anew.then(|| {
            let name = process.name_in_image();
            let why = format!("the command did not execute {name} again, of which it is an image");
            (boot_abi::EXIT_IMAGE_MISFIT, why)
        });
        let refused = began_anew.or_else(|| match ending {
            Ending::Code(code) => why_unusable(code).map(|why| (code, why.to_owned())),
            _ => None,
        });
        if let (Some((code, why)), Some(image)) = (refused, tried) {
            if !process.end.killed {
                return self.try_next_image(process, image, code, &why);
            }
            ending = Ending::Signal(libc::SIGKILL);
        }
        if let Some(hold) = process.hold {
            if matches!(ending, Ending::Code(_)) || process.end.released {
                hold.release_all();
            } else {
                self.output.keep_held(rank, hold);
            }
        }
        let seen_ns = at.elapsed().as_nanos() as u64;
        let fault = process.page.fault();
        self.link.report(rank, incarnation, Report::Ended { ending, seen_ns, fault });
    }

    /// A process refused its image with this exit code: the same incarnation tries the next older
    /// image, because it has never begun.
    fn try_next_image(&mut self, process: RankProcess, image: ImageNo, code: i32, why: &str) {
        let (rank, incarnation) = (process.rank, process.incarnation);
        let damaged = code == boot_abi::EXIT_IMAGE_DAMAGED;
        if damaged && self.ranks.demand_checked(rank, incarnation) {
            // The image came from a file that was not checked as a whole. The server checks it now:
            // the server may have the image elsewhere, too.
            return self.start(process.start);
        }
        self.link.report(rank, incarnation, Report::ImageUnusable { image, why: why.into() });
        if damaged {
            let servers = self.directory.subscribe();
            tokio::spawn(restore::condemn(rank, image, self.key.clone(), servers));
        }
        let mut start = process.start;
        start.images.retain(|offered| offered.image < image);
        if start.images.is_empty() && !start.or_beginning {
            let why = format!("no image is left that can be restored (image {image}: {why})");
            return self.link.report(rank, incarnation, Report::CannotStart { code: 1, why });
        }
        self.start(start);
    }

    /// Kills and reaps a process that another one replaces.
    pub(super) fn bury(&mut self, mut process: RankProcess) {
        processes::signal_group(process.id().pid, libc::SIGKILL);
        process.reap();
        self.broker.forget(process.rank);
    }

    /// Sends a signal to the process that is the rank: to a wrapper, before the rank says hello. An
    /// incarnation whose image is being fetched ends without a process. A process that is being
    /// started gets the signal then. Signals that stop a process or let it go on are for a process
    /// that is there.
    pub(super) fn kill(&mut self, rank: Rank, signal: i32) {
        let ends = !matches!(signal, libc::SIGSTOP | libc::SIGCONT);
        if ends && let Some(incarnation) = self.ranks.cancel_fetch(rank) {
            let ending = Ending::Signal(signal);
            let report = Report::Ended { ending, seen_ns: 0, fault: None };
            return self.link.report(rank, incarnation, report);
        }
        if ends && self.ranks.kill_when_started(rank, signal) {
            return;
        }
        if let Some(process) = self.ranks.newest_mut(rank) {
            // A process that has just refused its image must not be followed by another one.
            process.end.killed |= signal == libc::SIGKILL;
            if !process.has_ended() {
                processes::signal_process(process.pid().unwrap_or(process.id().pid), signal);
            }
        }
    }

    /// Kills every process that came from this agent: the agent ends.
    pub(super) fn kill_everything(&mut self) {
        self.starter.stop();
        for process in self.ranks.all().filter(|process| process.owns(process.id().pid)) {
            processes::signal_group(process.id().pid, libc::SIGKILL);
        }
        processes::kill_descendants();
    }
}

/// What an exit code of the boot library says about the image that it refused.
fn why_unusable(code: i32) -> Option<&'static str> {
    match code {
        boot_abi::EXIT_IMAGE_DAMAGED => Some("it is damaged or its stream broke off"),
        boot_abi::EXIT_IMAGE_FILE_GONE => Some(FILE_GONE),
        boot_abi::EXIT_IMAGE_MISFIT => {
            Some("it does not fit this machine, kernel, limit or program")
        }
        _ => None,
    }
}
