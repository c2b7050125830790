//! What agents report: output of ranks, and what became of the ranks. The reports go on to the
//! dispatcher, the recorder and the printer.

use super::agents::AgentReady;
use super::control::{PROCESS_ENDED, PROGRAM_ENDS};
use super::events::{LauncherEvent, Printed};
use super::{Launcher, notices, protocol_advice};
use crate::agent_protocol::{ActualCommand, FILE_GONE, FromAgent, ProcessId, Report, ToAgent};
use crate::output::Delivery;
use ftmpi_protocols::dispatcher::{Asker, Ending, ImageFacts, Input, StandbyNews};
use ftmpi_wire::job_status::Health;
use ftmpi_wire::{ImageNo, Incarnation, Rank};
use std::time::Duration;

/// What a rank said when it called `MPI_Init` or came back.
struct Hello {
    pid: u32,
    resumed: Option<ImageNo>,
    no_image: Option<String>,
    actual_command: Option<Box<ActualCommand>>,
}

impl Launcher {
    /// Handles one message of an agent.
    pub(super) fn on_agent_message(&mut self, host: u32, message: FromAgent) {
        match message {
            FromAgent::Ready { port, process, processors, restore_facts, limits } => {
                let ready = AgentReady { port, process, processors, restore_facts, limits };
                self.agent_ready(host, ready);
            }
            FromAgent::Heartbeat { answered } => self.heartbeat(host, answered),
            FromAgent::PathLost { host: other, why } => self.path_lost(host, other, why),
            FromAgent::PathBack { host: other } => self.path_back(host, other),
            FromAgent::Notice(line) => self.printer.notice(line),
            FromAgent::Terminate => self.agent_terminated(host),
            FromAgent::Health { bad } => {
                let known = self.observed.health[host as usize].0;
                // A new agent says what is known already; a user's word stands.
                if bad.is_some() || known == Health::Bad {
                    let health = if bad.is_some() { Health::Bad } else { Health::Good };
                    self.set_health(host, health, bad);
                }
            }
            FromAgent::Output { rank, stream, offset, bytes } => {
                self.print_output(host, (rank, stream), offset, bytes);
            }
            FromAgent::Rank { rank, incarnation, report } => {
                if rank.index() < self.plan.placement.len()
                    && let Some(input) = self.on_rank_report(host, rank, incarnation, report)
                {
                    self.notify_dispatcher(input);
                    self.observe(rank);
                    if self.injection.waits() && self.recorder.all_have_started() {
                        self.injection.all_ranks_run();
                    }
                }
            }
        }
    }

    /// Prints text of a rank that was not printed before.
    pub(super) fn print_output(
        &mut self,
        host: u32,
        (rank, stream): (Rank, u8),
        offset: u64,
        mut bytes: Vec<u8>,
    ) {
        let window = bytes.len() as u32;
        let Some(end) = self.output.take(rank, stream, offset, &mut bytes) else { return };
        let launch = self.agents.get(host).launch;
        let upto = Printed { rank, stream, bytes: end };
        let delivery = Delivery::Printed;
        let printed = LauncherEvent::Printed { host, launch, bytes: window, delivery, upto };
        let Err(bytes) = self.joins.print(upto, bytes, printed) else { return };
        let events = self.events.clone();
        self.printer.rank(rank.0, stream, bytes, move |delivery, held| {
            let upto = Printed { rank, stream, bytes: end.saturating_sub(held as u64) };
            let bytes = window;
            let _ = events.send(LauncherEvent::Printed { host, launch, bytes, delivery, upto });
        });
    }

    /// Text of a rank was printed, or could not be.
    pub(super) fn printed(
        &mut self,
        (host, launch): (u32, u64),
        bytes: u32,
        upto: Printed,
        delivery: Delivery,
    ) {
        if self.agents.is_launch(host, launch) {
            self.agents.send(host, ToAgent::OutputPrinted(bytes));
        }
        if delivery == Delivery::Printed {
            self.store.printed(upto.rank, upto.stream, upto.bytes);
        }
    }

    /// Ends the job if its output goes nowhere any more.
    pub(super) fn look_at_delivery(&mut self, stream: u8, delivery: Delivery) {
        match delivery {
            Delivery::Printed => {}
            Delivery::Unread => {
                // The job ends as a program does that writes into a closed pipe.
                let code = 128 + libc::SIGPIPE;
                self.notify_dispatcher(Input::Stop { code, text: String::new() });
            }
            Delivery::Failed(error) => {
                let error = std::io::Error::from_raw_os_error(error);
                let text = notices::output_unwritable(stream, &error);
                if self.plan.traits.is_fault_tolerant() {
                    self.cannot_go_on_now(text);
                } else {
                    self.cannot_go_on(text);
                }
            }
        }
    }

    /// Records a report; what the dispatcher must learn of it.
    // Long: one arm for each report.
    fn on_rank_report(
        &mut self,
        host: u32,
        rank: Rank,
        incarnation: Incarnation,
        report: Report,
    ) -> Option<Input> {
        Some(match report {
            Report::Spawned { process, consumed } => {
                self.rank_spawned(host, rank, incarnation, process, consumed)
            }
            Report::CannotStart { code, why } => {
                Input::CannotStart { rank, incarnation, code, why }
            }
            Report::ImageUnusable { image, why } => {
                self.file_gone |= why == FILE_GONE;
                Input::ImageUnusable { rank, incarnation, image, why }
            }
            Report::Hello { pid, resumed, no_image, actual_command } => {
                let hello = Hello { pid, resumed, no_image, actual_command };
                self.mpir.set(rank.index(), self.agents.name(host), pid);
                self.rank_said_hello(rank, incarnation, hello)
            }
            Report::Loaded { objects } => {
                self.loaded.entry(rank).or_insert(objects);
                return None;
            }
            Report::CaughtUp { replayed } => Input::CaughtUp { rank, incarnation, replayed },
            Report::Group(request) => Input::Group(rank, incarnation, request),
            Report::ChannelLost { peer, peer_incarnation } => {
                Input::ChannelLost { rank, incarnation, peer, peer_incarnation }
            }
            Report::Orphan { why, before } => Input::Orphan { rank, incarnation, why, before },
            Report::LogFull { bytes, waits } => {
                self.recorder.log_full();
                if self.plan.verbose {
                    self.printer.notice(notices::log_full(rank, bytes));
                }
                if waits { Input::LogFull } else { Input::ImagesWanted }
            }
            Report::Unprotected => {
                if !std::mem::replace(&mut self.unprotected_said, true) {
                    self.printer.notice(notices::unprotected(rank));
                }
                return None;
            }
            Report::LoggerTrouble { why, for_good } => {
                Input::LoggerTrouble { rank, incarnation, why, for_good }
            }
            Report::LoggerBack => Input::LoggerBack { rank, incarnation },
            Report::SharesMemory => {
                self.store.set_shares_memory();
                Input::SharesMemory
            }
            Report::Guards { path, problem } => {
                match problem {
                    Some(why) => {
                        self.store.remove_returning_file(&path);
                        self.printer.notice(notices::file_stays(rank, &path, &why));
                    }
                    None => self.store.add_returning_file(path),
                }
                return None;
            }
            Report::Asks { number, question } => {
                return self.rank_asks(Asker { rank, incarnation, number }, *question);
            }
            Report::Connected { with } => Input::Connected { rank, incarnation, with },
            Report::Standby(news) => {
                if let (StandbyNews::Ready(image), true) = (&news, self.plan.verbose) {
                    let name = self.agents.name(host);
                    self.printer.notice(notices::recovery::standby_ready(rank, name, *image));
                }
                Input::Standby(rank, incarnation, news)
            }
            Report::Finalizing => {
                self.requests.answer(rank, Err(PROGRAM_ENDS));
                Input::Finalizing { rank, incarnation }
            }
            Report::Exiting { code } => {
                self.requests.answer(rank, Err(PROGRAM_ENDS));
                Input::Exiting { rank, incarnation, code }
            }
            Report::Abort { code, text } => Input::Abort { rank, incarnation, code, text },
            Report::ImageTaken { image, pause_ns } => {
                self.recorder.image_taken(pause_ns);
                let pause = Duration::from_nanos(pause_ns);
                self.history.image_taken(self.now(), rank, image, pause);
                return None;
            }
            Report::ImageCommitted { image, oldest, took_ns, cost_ns } => {
                self.image_stored((host, rank), image, took_ns);
                self.recorder.image_cost(cost_ns);
                self.notify_dispatcher(Input::ImageCost { cost: Duration::from_nanos(cost_ns) });
                self.tell_interval();
                Input::ImageCommitted { rank, incarnation, image, oldest }
            }
            Report::ImageFailed { image, why } => {
                self.recorder.image_failed();
                self.history.image_lost(self.now(), rank, image, &why);
                self.observed.image_over(rank, image);
                self.requests.answer(rank, Err(&why));
                Input::ImageFailed { rank, incarnation, image, why }
            }
            Report::Counters { phase, counters, doing } => {
                self.recorder.counters(rank, *counters);
                if self.dispatcher.location(rank).1 == incarnation {
                    let progress = self.recorder.progress(rank);
                    let now = self.now();
                    self.observed.reports(rank, phase, *doing, progress, now);
                }
                Input::Received { rank, bytes: counters.bytes_received }
            }
            Report::Calls(report) => {
                self.calls.take(self.now(), (host, rank, incarnation), *report);
                return None;
            }
            Report::OtherMpi { path } => {
                if self.other_mpis.insert(path.clone()) {
                    let name = self.agents.name(host);
                    self.printer.notice(notices::other_mpi(rank, name, &path));
                }
                return None;
            }
            Report::InputTaken(bytes) => {
                if rank == Rank(0) {
                    self.input.taken(incarnation, bytes);
                    self.pump_input();
                }
                return None;
            }
            Report::Ended { ending, seen_ns, fault } => {
                self.agents.get_mut(host).processes.remove(&rank);
                self.injection.process_ended(rank, fault);
                self.requests.answer(rank, Err(PROCESS_ENDED));
                let seen = Duration::from_nanos(seen_ns);
                let since = self.recorder.ended(rank, incarnation, self.now(), seen);
                self.note_end(rank, incarnation, since);
                if self.dispatcher.location(rank).1 == incarnation {
                    self.exit_codes.insert(rank, exit_code(&ending));
                }
                let progress = self.recorder.progress(rank);
                Input::Ended { rank, incarnation, ending, progress }
            }
        })
    }

    fn rank_spawned(
        &mut self,
        host: u32,
        rank: Rank,
        incarnation: Incarnation,
        process: ProcessId,
        consumed: u64,
    ) -> Input {
        self.agents.get_mut(host).processes.insert(rank, process);
        self.store.set_process(rank, host, process);
        self.recorder.spawned(rank, incarnation, process.pid, self.now());
        let now = self.now();
        self.observed.begins(rank, now);
        if self.plan.verbose {
            let name = self.agents.name(host);
            self.printer.notice(notices::spawned(rank, incarnation, process.pid, name));
        }
        if rank == Rank(0) {
            self.input.begin_incarnation(incarnation, consumed);
            self.pump_input();
        }
        Input::Spawned { rank, incarnation }
    }

    fn rank_said_hello(&mut self, rank: Rank, incarnation: Incarnation, hello: Hello) -> Input {
        let Hello { pid, resumed, no_image, actual_command } = hello;
        self.in_mpi.insert(rank);
        if let Some(command) = actual_command {
            self.store.set_actual_command(rank, *command);
        }
        self.recorder.hello(rank, incarnation, pid);
        if let Some(image) = resumed {
            self.history.resumed(rank, incarnation, image);
        }
        if let Some(why) = no_image.as_ref().filter(|_| self.plan.ckpt_interval.is_some()) {
            self.report_no_image(rank, why);
        }
        Input::Hello { rank, incarnation, resumed, can_image: no_image.is_none() }
    }

    fn image_stored(&mut self, (host, rank): (u32, Rank), image: ImageFacts, took_ns: u64) {
        self.recorder.image_committed(image.bytes, took_ns);
        self.history.image_durable(self.now(), rank, image.image, image.bytes);
        let now = self.now();
        self.observed.image_stored(rank, image, now);
        if let Some(facts) = &self.agents.get(host).restore_facts {
            let counted_on = self.job.cpu_baseline.map(|baseline| baseline.limit(facts));
            self.store.set_image_facts(rank, counted_on.as_ref().unwrap_or(facts));
        }
        if self.plan.verbose {
            self.printer.notice(notices::image_durable(rank, image, took_ns));
        }
        self.requests.answer(rank, Ok((image.image, image.bytes)));
    }

    /// Usually all ranks have the same reason: each reason is printed once.
    fn report_no_image(&mut self, rank: Rank, why: &str) {
        if self.no_image_reasons.insert(why.to_owned()) {
            self.printer.notice(protocol_advice::no_image(rank, why, self.plan.traits));
        }
    }
}

/// The end of a process as an exit code.
fn exit_code(ending: &Ending) -> i32 {
    match ending {
        Ending::Code(code) => *code,
        Ending::Signal(signal) => 128 + signal,
        Ending::Memory(_) | Ending::ControlLost => 128 + libc::SIGKILL,
    }
}
