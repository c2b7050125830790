//! The thread that looks at the files of a rank that enters `MPI_Init`: what it has loaded, and how
//! it was executed.
//!
//! Guarantees: the agent goes on to work, and to send heartbeats, while a file server does not
//! answer; the rank waits in `MPI_Init`. What a rank says is looked at in its order: a hello is
//! answered after the verdict about what is loaded.

use super::Agent;
use super::actual_command::CommandLook;
use super::directory::RankKey;
use super::events::AgentEvent;
use super::kept_programs::{SharedPrograms, Verdict};
use super::rank_messages::Hello;
use crate::agent_protocol::{ActualCommand, Report};
use ftmpi_wire::control::LoadedObject;
use std::path::Path;
use std::sync::mpsc;
use tokio::sync::mpsc as async_mpsc;

/// What a rank has said, and what is to be looked at.
#[derive(Debug)]
pub enum Look {
    /// The list of what is loaded.
    Loaded {
        /// The list of the first incarnation, if that was on another host.
        elsewhere: Option<Vec<LoadedObject>>,
        objects: Vec<LoadedObject>,
        may_be_several: bool,
    },
    /// A hello.
    Hello(Box<Hello>, Option<CommandLook>),
}

/// What was found.
#[derive(Debug)]
pub enum Found {
    Loaded(Verdict, Vec<LoadedObject>),
    Hello(Box<Hello>, Option<Box<ActualCommand>>),
}

impl Look {
    fn run(self, key: RankKey, programs: &SharedPrograms) -> Found {
        match self {
            Self::Loaded { elsewhere, objects, may_be_several } => {
                let elsewhere = elsewhere.as_deref();
                let verdict = programs.judge(key, elsewhere, &objects, may_be_several);
                Found::Loaded(verdict, objects)
            }
            Self::Hello(hello, command) => {
                Found::Hello(hello, command.and_then(|look| look.find()).map(Box::new))
            }
        }
    }
}

/// The agent's end of the thread.
#[derive(Debug)]
pub struct Looks(mpsc::Sender<(RankKey, Look)>);

impl Looks {
    /// Begins the thread, which sends what it finds.
    ///
    /// # Errors
    /// The system refuses the thread.
    pub fn begin(
        programs: SharedPrograms,
        events: async_mpsc::UnboundedSender<AgentEvent>,
    ) -> std::io::Result<Self> {
        let (orders, queue) = mpsc::channel::<(RankKey, Look)>();
        std::thread::Builder::new().name("looks".into()).spawn(move || {
            for (key, look) in queue {
                let found = look.run(key, &programs);
                if events.send(AgentEvent::Looked(key, found)).is_err() {
                    return;
                }
            }
        })?;
        Ok(Self(orders))
    }

    /// Has the thread look.
    pub fn order(&self, key: RankKey, look: Look) {
        let _ = self.0.send((key, look));
    }
}

impl Agent {
    /// A rank that begins from the start of its program tells what is loaded.
    pub(super) fn loaded(&self, key: RankKey, objects: Vec<LoadedObject>) {
        let Some(process) = self.ranks.get(key.0, key.1) else { return };
        let elsewhere = process.start.loaded.clone();
        let may_be_several = self.job.as_ref().is_some_and(|job| job.view.size == 1);
        self.looks.order(key, Look::Loaded { elsewhere, objects, may_be_several });
    }

    /// A rank says hello.
    pub(super) fn hello(&self, key: RankKey, hello: Hello) {
        let Some(process) = self.ranks.get(key.0, key.1) else { return };
        let command = process.command_look(hello.pid);
        self.looks.order(key, Look::Hello(Box::new(hello), command));
    }

    /// The thread has looked at what a rank said. The rank may have ended meanwhile.
    pub(super) fn looked(&mut self, key: RankKey, found: Found) {
        if self.ranks.get(key.0, key.1).is_none_or(|process| process.has_ended()) {
            return;
        }
        match found {
            Found::Loaded(verdict, objects) => self.judged(key, verdict, objects),
            Found::Hello(hello, command) => self.answer_hello(key, *hello, command),
        }
    }

    fn judged(&mut self, key: RankKey, verdict: Verdict, objects: Vec<LoadedObject>) {
        let (rank, incarnation) = key;
        let host = self.host_name();
        match verdict {
            Verdict::Other { path, is_program } => {
                let what = if is_program { "program" } else { "library" };
                let why = format!(
                    "{} is another {what} than in the first incarnation of this rank: somebody has \
                     replaced it, or it differs between hosts; put the first one back, or start \
                     the job anew",
                    path.display()
                );
                self.kept_programs.refuse(key);
                self.link.report(rank, incarnation, Report::CannotStart { code: 1, why });
            }
            Verdict::OtherLibraryElsewhere(path) => self.link.notice(format!(
                "{} on {host} is another library than on the host where rank {rank} began: results \
                 may differ",
                path.display()
            )),
            Verdict::First => {
                self.link.report(rank, incarnation, Report::Loaded { objects });
            }
            Verdict::Same => {}
        }
    }

    /// Tells the user, once for each file, that a file was replaced.
    pub(super) fn tell_replaced(&mut self, path: &Path) {
        if self.kept_programs.must_tell(path) {
            let host = self.host_name();
            self.link.notice(format!(
                "{} on {host} was replaced while the job runs: ranks that begin anew use the file \
                 that the job was started with",
                path.display()
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{Incarnation, Rank};
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt;
    use std::time::{Duration, Instant};

    fn key(rank: u32) -> RankKey {
        (Rank(rank), Incarnation(0))
    }

    /// Waits until the thread of this name sleeps.
    fn wait_for_sleep(name: &str) {
        let sleeps = |thread: &Path| {
            let stat = std::fs::read_to_string(thread.join("stat")).unwrap_or_default();
            stat.contains(&format!("({name}) S"))
        };
        let begin = Instant::now();
        let threads = || std::fs::read_dir("/proc/self/task").unwrap().flatten();
        while !threads().any(|thread| sleeps(&thread.path())) {
            assert!(begin.elapsed() < Duration::from_secs(60), "the thread does not wait");
            std::thread::yield_now();
        }
    }

    /// A pipe with a name that nobody writes stands for a file server that does not answer.
    #[test]
    fn a_silent_file_holds_the_rank_and_not_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("libsilent.so");
        let (kind, mode) = (rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU);
        rustix::fs::mknodat(rustix::fs::CWD, &path, kind, mode, 0).unwrap();
        let programs = SharedPrograms::default();
        let (events, mut found) = async_mpsc::unbounded_channel();
        let looks = Looks::begin(programs.clone(), events).unwrap();
        let object = |path: &Path| LoadedObject {
            path: path.as_os_str().as_bytes().to_vec(),
            id: vec![1; 8],
        };
        let objects = vec![object(Path::new("/p")), object(&path)];
        looks.order(key(1), Look::Loaded { elsewhere: None, objects, may_be_several: false });
        let descriptors: Vec<OwnedFd> = Vec::new();
        let hello = Hello { pid: 1, own_pid: 1, resumed: None, no_image: None, descriptors };
        looks.order(key(1), Look::Hello(Box::new(hello), None));
        // The thread waits until somebody opens the other end.
        wait_for_sleep("looks");
        // What the agent itself asks for waits for nothing.
        let (sender, free) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            programs.refuse(key(2));
            let _ = sender.send(programs.get(7).is_none() && programs.is_refused(key(2)));
        });
        assert_eq!(free.recv_timeout(Duration::from_secs(60)), Ok(true));
        assert!(found.try_recv().is_err(), "no hello is answered before the verdict");
        drop(std::fs::File::options().write(true).open(&path).unwrap());
        let mut next = || match found.blocking_recv() {
            Some(AgentEvent::Looked(found_key, found)) if found_key == key(1) => found,
            other => panic!("{other:?}"),
        };
        assert!(matches!(next(), Found::Loaded(Verdict::First, _)));
        assert!(matches!(next(), Found::Hello(..)));
    }
}
