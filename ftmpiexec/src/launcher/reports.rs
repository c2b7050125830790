//! What agents tell: output of ranks, and what became of them. All of it goes on to the dispatcher, the
//! report and the printer.
//!
//! Guarantees: of a rank's output each byte is printed once, however often a life repeats it.

use super::{Launcher, LauncherEvent, Printed};
use crate::agent_protocol::{FromAgent, Report, ToAgent};
use ftmpi_protocols::dispatcher::Input;
use ftmpi_wire::{Incarnation, Rank};
use std::time::{Duration, Instant};

/// So many files are kept in mind. Beyond them a file returns when a new life opens it.
const FILES_MAX: usize = 10_000;

impl Launcher {
    pub(super) fn on_agent_message(&mut self, host: u32, message: FromAgent) {
        match message {
            FromAgent::Ready { port, process, processors } => {
                self.agents[host as usize].processors = processors;
                self.agent_ready(host, port, process);
            }
            FromAgent::Heartbeat => {
                self.agents[host as usize].missed = 0;
                self.to_agent(host, ToAgent::Heard);
            }
            FromAgent::Notice(line) => self.printer.notice(line),
            FromAgent::Output { rank, stream, offset, bytes } => {
                self.output(host, rank, stream, offset, bytes);
            }
            FromAgent::Rank { rank, incarnation, report } => {
                if rank.index() < self.plan.placement.len() {
                    self.on_rank_report(host, rank, incarnation, report);
                }
            }
        }
    }

    pub(super) fn output(
        &mut self,
        host: u32,
        rank: Rank,
        stream: u8,
        offset: u64,
        mut bytes: Vec<u8>,
    ) {
        let window = bytes.len() as u32;
        let Some(printed) =
            self.printed.get_mut(rank.index()).and_then(|streams| streams.get_mut(stream as usize))
        else {
            return;
        };
        let skip = printed.saturating_sub(offset).min(bytes.len() as u64);
        bytes.drain(..skip as usize);
        *printed = (*printed).max(offset + u64::from(window));
        let launch = self.agents[host as usize].launch;
        let events = self.events.clone();
        let end = offset + u64::from(window);
        self.printer.rank(rank.0, stream, bytes, move |read, held| {
            let upto = Printed { rank, stream, bytes: end.saturating_sub(held as u64) };
            let _ = events.send(LauncherEvent::Printed { host, launch, bytes: window, read, upto });
        });
    }

    pub(super) fn on_rank_report(
        &mut self,
        host: u32,
        rank: Rank,
        incarnation: Incarnation,
        report: Report,
    ) {
        let now = self.now();
        let input = match report {
            Report::Spawned { process, consumed } => {
                self.agents[host as usize].processes.insert(rank, process);
                if let Some(progress) = &mut self.progress {
                    progress.set_process(rank, host, process);
                }
                self.recorder.spawned(rank, incarnation, process.pid, now);
                if self.plan.verbose {
                    let name = &self.plan.machines[host as usize].name;
                    let pid = process.pid;
                    self.printer.notice(format!(
                        "rank {rank}, life {incarnation}: process {pid} on {name}"
                    ));
                }
                if rank == Rank(0) {
                    self.input.begin_life(incarnation, consumed);
                    self.pump_input();
                }
                Input::Spawned { rank, incarnation }
            }
            Report::CannotStart { code, why } => {
                Input::CannotStart { rank, incarnation, code, why }
            }
            Report::ImageUnusable { image, why } => {
                Input::ImageUnusable { rank, incarnation, image, why }
            }
            Report::Hello { pid, resumed, no_image, actual_command } => {
                if let Some(actual_command) = actual_command {
                    self.saved.actual_commands.retain(|(other, _)| *other != rank);
                    self.saved.actual_commands.push((rank, (*actual_command).clone()));
                    self.saved_changed = true;
                    self.actual_commands.insert(rank, *actual_command);
                }
                self.recorder.hello(rank, incarnation, pid, now);
                if let Some(why) = no_image.as_ref().filter(|_| self.plan.ckpt_interval.is_some()) {
                    self.report_no_image(rank, why);
                }
                let can_image = no_image.is_none();
                Input::Hello { rank, incarnation, resumed, can_image }
            }
            Report::CaughtUp { replayed } => Input::CaughtUp { rank, incarnation, replayed },
            Report::ChannelLost { peer, peer_incarnation } => {
                Input::ChannelLost { rank, incarnation, peer, peer_incarnation }
            }
            Report::Orphan { why, before } => Input::Orphan { rank, incarnation, why, before },
            Report::LogFull { bytes } => {
                if self.plan.verbose {
                    let megabytes = bytes as f64 / 1e6;
                    self.printer.notice(format!(
                        "the sender log of rank {rank} holds {megabytes:.0} MB: images now"
                    ));
                }
                Input::LogFull
            }
            Report::LoggerTrouble { why, for_good } => {
                Input::LoggerTrouble { rank, incarnation, why, for_good }
            }
            Report::LoggerBack => Input::LoggerBack { rank, incarnation },
            Report::SharesMemory => {
                self.saved_changed |= !self.saved.shares_memory;
                self.saved.shares_memory = true;
                Input::SharesMemory
            }
            Report::Guards { path, problem } => {
                if let Some(why) = problem {
                    if self.files.remove(&path) {
                        self.saved.files.retain(|file| *file != path);
                        self.files_changed = true;
                    }
                    self.printer.notice(format!(
                        "rank {rank}: '{path}' will not return to a wave with the ranks after a failure \
                         ({why})"
                    ));
                } else if self.files.len() < FILES_MAX && self.files.insert(path.clone()) {
                    self.saved.files.push(path);
                    self.files_changed = true;
                }
                return;
            }
            Report::Finalizing => Input::Finalizing { rank, incarnation },
            Report::Exiting { code } => Input::Exiting { rank, incarnation, code },
            Report::Abort { code, text } => Input::Abort { rank, incarnation, code, text },
            Report::ImageTaken { pause_ns, .. } => {
                self.recorder.image_taken(pause_ns);
                Input::Paused { pause: Duration::from_nanos(pause_ns) }
            }
            Report::ImageCommitted { image, oldest, took_ns } => {
                self.recorder.image_committed(image.bytes, took_ns);
                if self.plan.verbose {
                    self.printer.notice(format!(
                        "image {} of rank {rank}: {:.1} MB durable after {:.2} s",
                        image.image,
                        image.bytes as f64 / 1e6,
                        took_ns as f64 / 1e9
                    ));
                }
                self.answer_requests(Some((rank, Ok((image.image, image.bytes)))));
                Input::ImageCommitted { rank, incarnation, image: image.into(), oldest }
            }
            Report::ImageFailed { image, why } => {
                self.recorder.image_failed();
                self.answer_requests(Some((rank, Err(&why))));
                Input::ImageFailed { rank, incarnation, image, why }
            }
            Report::Counters { phase, counters } => {
                self.recorder.counters(rank, phase, *counters);
                Input::Received { rank, bytes: counters.bytes_received }
            }
            Report::InputTaken(bytes) => {
                if rank == Rank(0) {
                    self.input.taken(incarnation, bytes);
                    self.pump_input();
                }
                return;
            }
            Report::Ended { ending, seen_ns } => {
                self.agents[host as usize].processes.remove(&rank);
                self.look_whether_a_point_fired(rank, incarnation, ending.into());
                self.recorder.ended(rank, incarnation, now, Duration::from_nanos(seen_ns));
                let progress = self.recorder.progress(rank);
                Input::Ended { rank, incarnation, ending: ending.into(), progress }
            }
        };
        self.notify_dispatcher(input);
        self.look_whether_all_run();
    }

    /// Timed faults count from the moment when every rank's process runs.
    pub(super) fn look_whether_all_run(&mut self) {
        if self.running_since.is_none() && self.recorder.all_have_started() {
            self.running_since = Some(Instant::now());
        }
    }

    /// Usually all ranks have the same reason: each reason is told once.
    pub(super) fn report_no_image(&mut self, rank: Rank, why: &str) {
        if self.no_image_reasons.insert(why.to_owned()) {
            self.printer.notice(format!(
                "rank {rank}: no image can be taken of it ({why}); after a failure it is replayed \
                 from its last image or its start (told once)"
            ));
        }
    }

    pub(super) fn pump_input(&mut self) {
        let (host, incarnation) = self.dispatcher.location(Rank(0));
        match self.input.next_pieces(incarnation) {
            Ok(pieces) => {
                for (offset, bytes) in pieces {
                    let rank = Rank(0);
                    self.to_agent(host, ToAgent::Input { rank, incarnation, offset, bytes });
                }
            }
            Err(e) => self.printer.notice(format!("standard input cannot be read again: {e}")),
        }
    }
}
