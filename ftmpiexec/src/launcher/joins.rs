//! Processes that other commands bring into the job (`ftmpiexec --join`), and these commands.
//!
//! Guarantees: a command hears once how its processes have ended. What they print goes to the
//! command, once, while it is there; after its death it goes where the job's own output goes. A
//! command that does not read keeps its processes waiting, and nobody else. The programs are kept:
//! another execution of the processes may begin after the command has gone.

use super::control::gone;
use super::events::{LauncherEvent, Printed};
use super::new_processes::number_of;
use super::{Launcher, notices};
use crate::agent_protocol::Program;
use crate::cli::RANKS_MAX;
use crate::os_text::OsText;
use crate::tuning::JOIN_FLUSH;
use ftmpi_options::os_text;
use ftmpi_protocols::dispatcher::{EndReason, Input, Wanted};
use ftmpi_wire::Rank;
use ftmpi_wire::job_control::{Answer, JoinRequest, text_of_bytes};
use ftmpi_wire::new_processes::World;
use std::collections::BTreeMap;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::unix::OwnedWriteHalf;
use tokio::sync::mpsc;

/// A line for a command, and what happens once it is written, or cannot be.
type Line = (Answer, Option<LauncherEvent>);
/// Takes the lines for a command.
pub type Lines = mpsc::UnboundedSender<Line>;

/// Programs, and how many processes of each.
type Programs = Vec<(Program, u32)>;

/// A command that has brought processes.
#[derive(Debug)]
struct Joined {
    lines: Lines,
    programs: Programs,
    world: Option<World>,
    told: bool,
}

/// See the module.
#[derive(Debug, Default)]
pub struct Joins {
    all: BTreeMap<u64, Joined>,
}

impl Joins {
    fn add(&mut self, lines: Lines, programs: Programs) -> u64 {
        let number = self.all.len() as u64;
        let _ = lines.send((Answer::Joining { number }, None));
        self.all.insert(number, Joined { lines, programs, world: None, told: false });
        number
    }

    /// The processes of a command are this world: their programs.
    pub fn begins(&mut self, number: u64, world: World) -> Option<Vec<(Program, u32)>> {
        let joined = self.all.get_mut(&number)?;
        joined.world = Some(world);
        Some(joined.programs.clone())
    }

    /// They have all called `MPI_Init`.
    pub fn began(&self, number: u64, first: Rank) {
        if let Some(joined) = self.all.get(&number) {
            let _ = joined.lines.send((Answer::Joined { first: first.0 }, None));
        }
    }

    /// Hands text of a rank to its command; `printed` happens once it is there.
    ///
    /// # Errors
    /// The rank has no command that reads: here is the text.
    pub fn print(
        &self,
        upto: Printed,
        bytes: Vec<u8>,
        printed: LauncherEvent,
    ) -> Result<(), Vec<u8>> {
        let is_of = |joined: &&Joined| joined.world.is_some_and(|world| world.has(upto.rank));
        let Some(joined) = self.all.values().find(is_of).filter(|joined| !joined.told) else {
            return Err(bytes);
        };
        if joined.lines.is_closed() {
            return Err(bytes);
        }
        let answer = Answer::Output { error: upto.stream == 1, text: text_of_bytes(&bytes) };
        joined.lines.send((answer, Some(printed))).map_err(|_| bytes)
    }

    fn over(&mut self, number: u64, code: i32, why: Option<String>) {
        let Some(joined) = self.all.get_mut(&number) else { return };
        if !std::mem::replace(&mut joined.told, true) {
            let _ = joined.lines.send((Answer::Ended { code, why }, None));
        }
    }

    /// The job ends, with this code, and so do all commands. Waits until they have read it, for
    /// some time.
    pub async fn job_ends(&mut self, code: i32, why: Option<&str>) {
        for number in 0..self.all.len() as u64 {
            let text = match why {
                Some(why) => format!("the job has ended: {why}"),
                None => format!("the job has ended with exit code {code}"),
            };
            // Processes that have not ended in order are no success.
            self.over(number, if code == 0 { 1 } else { code }, Some(text));
        }
        let all_read = async {
            for joined in self.all.values() {
                joined.lines.closed().await;
            }
        };
        let _ = tokio::time::timeout(JOIN_FLUSH, all_read).await;
    }
}

impl Launcher {
    /// A command brings processes.
    pub(super) fn join_asked(&mut self, request: JoinRequest, lines: Lines) {
        match self.wanted_by_command(&request) {
            Ok((wanted, programs)) => {
                let number = self.joins.add(lines, programs);
                self.notify_dispatcher(Input::Join { number, wanted });
            }
            Err(why) => {
                let _ = lines.send((Answer::Ended { code: 1, why: Some(why) }, None));
            }
        }
    }

    fn wanted_by_command(&self, request: &JoinRequest) -> Result<(Vec<Wanted>, Programs), String> {
        self.must_have_begun()?;
        let hosts = self.known_hosts(&request.hosts).map_err(|why| notices::join_hosts(&why))?;
        let ranks: u64 = request.parts.iter().map(|part| u64::from(part.count)).sum();
        let ranks = ranks.saturating_add(self.plan.placement.len() as u64);
        if ranks > RANKS_MAX as u64 {
            return Err(format!("the job would have {ranks} ranks; it can have {RANKS_MAX}"));
        }
        let word = |text: &String| OsText::of_word(text);
        let programs = request.parts.iter().map(|part| {
            let environment = part.environment.iter();
            let program = Program {
                command: part.command.iter().map(word).collect(),
                environment: environment.map(|(name, value)| (word(name), word(value))).collect(),
                directory: os_text::decode(&part.directory).into(),
                search: None,
            };
            (program, part.count)
        });
        let programs: Programs = programs.collect();
        if programs.iter().any(|(program, count)| program.command.is_empty() || *count == 0) {
            return Err("no program, or no process of it".to_owned());
        }
        let wanted = programs.iter().map(|(program, count)| Wanted {
            count: *count,
            hosts: hosts.clone(),
            program: number_of(program),
        });
        Ok((wanted.collect(), programs))
    }

    /// The processes of a command have ended.
    pub(super) fn join_over(&mut self, number: u64, code: i32, reason: Option<EndReason>) {
        let why = reason.map(notices::end_reason);
        self.joins.over(number, code, why);
    }

    /// The user of a command wants its end.
    pub(super) fn end_joined_asked(
        &mut self,
        number: u64,
        code: i32,
    ) -> Result<Option<String>, String> {
        if !self.dispatcher.may_end_joined(number) {
            return Err(notices::join_has_met());
        }
        self.notify_dispatcher(Input::EndJoined { number, code });
        Ok(Some("they end".to_owned()))
    }
}

/// Writes the lines for a command until the last one, or until the command has gone.
pub async fn serve_command(
    request: Box<JoinRequest>,
    mut read: impl AsyncReadExt + Unpin + Send + 'static,
    mut write: OwnedWriteHalf,
    events: mpsc::UnboundedSender<LauncherEvent>,
) {
    let (lines, mut inbox) = mpsc::unbounded_channel::<Line>();
    let _ = events.send(LauncherEvent::JoinAsked { request, lines });
    loop {
        let line = tokio::select! {
            line = inbox.recv() => line,
            () = gone(&mut read, &write) => None,
        };
        let Some((answer, then)) = line else { break };
        let Ok(mut text) = serde_json::to_string(&answer) else { break };
        text.push('\n');
        let written = write.write_all(text.as_bytes()).await.is_ok();
        if let Some(event) = then {
            let _ = events.send(event);
        }
        if !written || answer.is_last() {
            break;
        }
    }
    inbox.close();
    // Agents wait for word of their text.
    while let Some((_, then)) = inbox.recv().await {
        if let Some(event) = then {
            let _ = events.send(event);
        }
    }
}
