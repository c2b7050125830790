//! New processes, ports and names (MPI-4.1, chapter 11).
//!
//! Guarantees: what one process decides (the root of a call), all members of its communicator hear,
//! also why it failed. The answer of the launcher comes once, so a call ends. Two groups that share
//! nothing are joined by their leaders, in a context of their own.

use super::agreement::{TAG_BITS, private_tag};
use super::intercomms::Bridge;
use super::{CommId, Mpi};
use crate::bail;
use crate::collective::address_of;
use crate::comm::{GENERATION_SHIFT, Members};
use crate::engine::{Link, RecvData, SendData, SendMode, Source, Tag};
use crate::error::{ErrorClass, MpiError, Result};
use crate::group::Group;
use crate::info::{Info, InfoId};
use crate::room;
use crate::tuning::{GENERATIONS, JOIN_NEWS_S, PROCESSES_MAX};
use ftmpi_wire::Rank;
use ftmpi_wire::new_processes::{JobAnswer, JobQuestion, Refusal, SpawnPart};
use std::collections::BTreeSet;

/// The context in which leaders of groups meet that share no communicator: one of
/// `MPI_COMM_WORLD` in its last generation, which no communicator has.
pub(super) const MEETING: u32 = 1 | (GENERATIONS as u32 - 1) << GENERATION_SHIFT;

/// The lane of questions that belong to no communicator. Others have the context of theirs: threads
/// that ask at the same time use communicators of their own. No communicator has this context
/// ([`MEETING`]).
const NO_LANE: u32 = u32::MAX;

/// Tag of the leaders of parents and children.
const OF_PARENTS: u32 = TAG_BITS;
/// Of the connection to a port.
const AT_PORT: u32 = 1 << 17;
/// Of two processes with a common socket.
const BY_SOCKET: u32 = 1 << 18;

/// One command of a spawn, as the root gives it.
#[derive(Debug)]
pub struct SpawnedPart {
    /// Program and arguments.
    pub command: Vec<Vec<u8>>,
    /// Processes at the most.
    pub most: i64,
    /// Hints.
    pub info: Option<InfoId>,
}

/// What came of a spawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spawned {
    /// The communicator with the new processes.
    pub comm: CommId,
    /// For each process that was asked for: whether it was started.
    pub started: Vec<bool>,
}

/// What two processes with a common socket tell each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JoinCard {
    job: u64,
    process: Rank,
    serial: u32,
}

impl JoinCard {
    /// Bytes of a card.
    pub const BYTES: usize = 24;
    const MARK: u64 = 0x6674_6d70_692d_6a31;

    /// The card as bytes.
    #[must_use]
    pub fn encode(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..8].copy_from_slice(&Self::MARK.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.job.to_be_bytes());
        bytes[16..20].copy_from_slice(&self.process.0.to_be_bytes());
        bytes[20..].copy_from_slice(&self.serial.to_be_bytes());
        bytes
    }

    /// Reads what [`encode`](Self::encode) wrote; `None` if these bytes are something else.
    #[must_use]
    pub fn decode(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let (words, rest) = bytes.as_chunks::<8>();
        let (numbers, _) = words[2].as_chunks::<4>();
        debug_assert!(rest.is_empty());
        (u64::from_be_bytes(words[0]) == Self::MARK).then(|| Self {
            job: u64::from_be_bytes(words[1]),
            process: Rank(u32::from_be_bytes(numbers[0])),
            serial: u32::from_be_bytes(numbers[1]),
        })
    }
}

fn meeting_tag(kind: u32, number: u32) -> i32 {
    private_tag((kind | (number % AT_PORT)) as i32)
}

fn refused(refusal: Refusal, why: String) -> MpiError {
    let class = match refusal {
        Refusal::Spawn => ErrorClass::Spawn,
        Refusal::Port => ErrorClass::Port,
        Refusal::Service => ErrorClass::Service,
        Refusal::Name => ErrorClass::Name,
        Refusal::Unsupported => ErrorClass::UnsupportedOperation,
    };
    class.because(why)
}

/// The largest number of processes up to `most` that `soft` allows: `a`, `a:b`, `a:b:c`, with
/// commas between (MPI-4.1, 11.8.4).
fn soft_count(soft: &str, most: u32) -> Option<u32> {
    let mut best = None;
    for part in soft.split(',') {
        let numbers: Vec<i64> = part
            .split(':')
            .map(|n| n.trim().parse())
            .collect::<std::result::Result<_, _>>()
            .ok()?;
        let (from, to, step) = match numbers[..] {
            [only] => (only, only, 1),
            [from, to] => (from, to, 1),
            [from, to, step] if step != 0 => (from, to, step),
            _ => return None,
        };
        let last = i64::from(most);
        // The members nearest to `most` from below.
        let steps = match step > 0 {
            true => (last.min(to) - from).div_euclid(step),
            false if from <= last => 0,
            false => (from - last + (-step) - 1).div_euclid(-step),
        };
        let value = from + steps * step;
        let inside = if step > 0 { from <= value && value <= to } else { to <= value };
        if steps >= 0 && inside && (1..=last).contains(&value) {
            best = best.max(Some(value as u32));
        }
    }
    best
}

impl SpawnedPart {
    /// What the launcher is asked for, and how many processes it may be short of.
    fn question(&self, info: &Info) -> Result<SpawnPart> {
        let most = match u32::try_from(self.most) {
            Ok(most) if most as usize <= PROCESSES_MAX => most,
            _ => bail!(Arg, "maxprocs is {}, must be 0 to {PROCESSES_MAX}", self.most),
        };
        if self.command.first().is_none_or(Vec::is_empty) {
            bail!(Arg, "the command is empty");
        }
        let text = |key: &str| -> Result<Option<String>> {
            let value = info.get(key.as_bytes())?;
            Ok(value.map(|value| String::from_utf8_lossy(value).into_owned()))
        };
        let count = match text("soft")? {
            None => most,
            Some(soft) => match soft_count(&soft, most) {
                Some(count) => count,
                None => bail!(
                    Spawn,
                    "soft is '{soft}', which allows no number from 1 to maxprocs ({most}); \
                     write for example 2:8:2"
                ),
            },
        };
        let mut hosts = Vec::new();
        for key in ["host", "hosts"] {
            let list = text(key)?.unwrap_or_default();
            let names = list.split([',', ' ']).map(|name| name.split(':').next().unwrap_or(name));
            hosts.extend(names.filter(|name| !name.is_empty()).map(str::to_owned));
        }
        let variables = info.get(b"env")?.unwrap_or_default();
        let variables = variables.split(|&byte| byte == b'\n');
        let environment = variables.filter_map(|line| {
            let end = line.iter().position(|&byte| byte == b'=')?;
            Some((line[..end].to_vec(), line[end + 1..].to_vec()))
        });
        Ok(SpawnPart {
            command: self.command.clone(),
            count,
            hosts,
            directory: info.get(b"wdir")?.map(<[u8]>::to_vec),
            path: info.get(b"path")?.map(<[u8]>::to_vec),
            environment: environment.collect(),
        })
    }
}

impl<L: Link> Mpi<L> {
    // ---- the processes that this one knows ------------------------------------------------------

    /// The world of this process: so many processes from this number on. To be called before
    /// anything else.
    pub fn set_world(&mut self, first: u32, size: u32) {
        let all: Vec<Rank> = (first..first + size).map(Rank).collect();
        let local = Group::new(&all).expect("ascending numbers differ");
        let me = self.engine.me().0 - first;
        if let Some(world) = self.comms.get_mut(CommId::WORLD.0) {
            let context = world.members.context;
            world.members = std::rc::Rc::new(Members { context, local, me, remote: None });
            self.engine.enter_group(&world.members);
        }
        for stranger in (0..self.engine.size()).map(Rank).filter(|rank| !all.contains(rank)) {
            self.engine.may_leave(stranger, true);
        }
    }

    /// Waits until all these processes are known.
    pub(super) fn meet(&mut self, processes: &[Rank]) {
        if let Some(last) = processes.iter().max() {
            self.engine.wait_for_news_of(*last);
        }
        let newcomers = self.engine.take_newcomers();
        self.hosts.extend(newcomers);
    }

    /// The processes of other worlds among these.
    fn strangers(&self, members: &Members) -> Vec<Rank> {
        let Ok(world) = self.comm(CommId::WORLD) else { return Vec::new() };
        let world = &world.members.local;
        let all = members.local.iter().chain(members.remote.iter().flat_map(Group::iter));
        all.filter(|rank| world.local(*rank).is_none()).collect()
    }

    /// Whether the job has one world.
    fn is_whole(&self) -> bool {
        self.comms
            .get(CommId::WORLD.0)
            .is_none_or(|world| world.members.local.len() == self.engine.size())
    }

    /// There is a communicator with these members now.
    pub(super) fn meet_strangers(&mut self, members: &Members) {
        if !self.is_whole() {
            for stranger in self.strangers(members) {
                self.engine.may_leave(stranger, false);
            }
        }
    }

    /// The communicator `comm` with these members is gone.
    pub(super) fn part_with_strangers(&mut self, comm: CommId, members: &Members) {
        if self.parent == Some(comm) {
            self.parent = None;
        }
        if self.is_whole() {
            return;
        }
        let left: BTreeSet<Rank> = self.connected().into_iter().collect();
        for stranger in self.strangers(members) {
            self.engine.may_leave(stranger, !left.contains(&stranger));
        }
    }

    /// Processes of other worlds with which this one has a communicator.
    #[must_use]
    pub fn connected(&self) -> Vec<Rank> {
        if self.is_whole() {
            return Vec::new();
        }
        let all = self.comms.iter().flat_map(|(_, comm)| self.strangers(&comm.members));
        let all: BTreeSet<Rank> = all.collect();
        all.into_iter().collect()
    }

    // ---- new processes --------------------------------------------------------------------------

    /// `MPI_Comm_spawn`, `MPI_Comm_spawn_multiple`. `parts` matter at the root only.
    pub fn comm_spawn(
        &mut self,
        comm: CommId,
        root: i32,
        parts: impl FnOnce() -> Result<Vec<SpawnedPart>>,
    ) -> Result<Spawned> {
        let leader = self.leader(comm, root)?;
        self.must_ask(ErrorClass::Spawn)?;
        let decided = match leader == self.comm_rank(comm)? {
            true => Some(self.decide_spawn(self.members(comm)?.context, parts)),
            false => None,
        };
        let decided = self.spread(comm, leader, decided)?;
        let (numbers, _) = decided.as_chunks::<4>();
        let mut numbers = numbers.iter().map(|number| u32::from_le_bytes(*number));
        let first = Rank(numbers.next().unwrap_or(0));
        let pairs: Vec<u32> = numbers.collect();
        let started = pairs
            .as_chunks::<2>()
            .0
            .iter()
            .flat_map(|&[most, count]| (0..most).map(move |number| number < count));
        let started: Vec<bool> = started.collect();
        let far = (leader == self.comm_rank(comm)?).then_some((first, MEETING));
        if far.is_some() {
            self.meet(&[first]);
        }
        let tag = private_tag(OF_PARENTS as i32);
        let new = self.join_groups(comm, Bridge { leader, far, tag })?;
        Ok(Spawned { comm: new, started })
    }

    /// At the root: has the processes started. The number of the first one, and for each part how
    /// many were asked for and how many there are.
    fn decide_spawn(
        &mut self,
        lane: u32,
        parts: impl FnOnce() -> Result<Vec<SpawnedPart>>,
    ) -> Result<Vec<u8>> {
        let parts = parts()?;
        let none = Info::new();
        let mut questions = Vec::new();
        for part in &parts {
            let info = match part.info {
                Some(info) => self.infos.get(info)?,
                None => &none,
            };
            questions.push(part.question(info)?);
        }
        let counts: Vec<[u32; 2]> = parts
            .iter()
            .zip(&questions)
            .map(|(part, question)| [part.most as u32, question.count])
            .collect();
        if questions.iter().all(|question| question.count == 0) {
            bail!(Arg, "no process is asked for: maxprocs is 0");
        }
        let first = match self.ask(lane, JobQuestion::Spawn { parts: questions })? {
            JobAnswer::Spawned(first) => first,
            other => return Err(unexpected(&other)),
        };
        let mut bytes = first.0.to_le_bytes().to_vec();
        bytes.extend(counts.iter().flatten().flat_map(|number| number.to_le_bytes()));
        Ok(bytes)
    }

    /// In `MPI_Init` of a process that was spawned: makes the communicator with the processes that
    /// spawned it.
    pub fn meet_parent(&mut self, root: Rank) -> Result<()> {
        let far = (self.comm_rank(CommId::WORLD)? == 0).then_some((root, MEETING));
        let bridge = Bridge { leader: 0, far, tag: private_tag(OF_PARENTS as i32) };
        let parent = self.join_groups(CommId::WORLD, bridge)?;
        self.comm_set_name(parent, b"MPI_COMM_PARENT")?;
        self.parent = Some(parent);
        Ok(())
    }

    /// `MPI_Comm_get_parent`; none: `MPI_COMM_NULL`.
    #[must_use]
    pub fn comm_get_parent(&self) -> Option<CommId> {
        self.parent
    }

    // ---- ports ----------------------------------------------------------------------------------

    /// `MPI_Open_port`
    pub fn open_port(&mut self) -> Result<Vec<u8>> {
        self.must_ask(ErrorClass::UnsupportedOperation)?;
        match self.ask(NO_LANE, JobQuestion::OpenPort)? {
            JobAnswer::Port(port) => Ok(port),
            other => Err(unexpected(&other)),
        }
    }

    /// `MPI_Close_port`
    pub fn close_port(&mut self, port: &[u8]) -> Result<()> {
        self.must_ask(ErrorClass::Port)?;
        self.ask(NO_LANE, JobQuestion::ClosePort { port: port.to_vec() }).map(|_| ())
    }

    /// `MPI_Publish_name`
    pub fn publish_name(&mut self, service: &[u8], port: &[u8]) -> Result<()> {
        self.must_ask(ErrorClass::UnsupportedOperation)?;
        let (service, port) = (service.to_vec(), port.to_vec());
        self.ask(NO_LANE, JobQuestion::Publish { service, port }).map(|_| ())
    }

    /// `MPI_Unpublish_name`
    pub fn unpublish_name(&mut self, service: &[u8], port: &[u8]) -> Result<()> {
        self.must_ask(ErrorClass::Service)?;
        let (service, port) = (service.to_vec(), port.to_vec());
        self.ask(NO_LANE, JobQuestion::Unpublish { service, port }).map(|_| ())
    }

    /// `MPI_Lookup_name`
    pub fn lookup_name(&mut self, service: &[u8]) -> Result<Vec<u8>> {
        self.must_ask(ErrorClass::Name)?;
        match self.ask(NO_LANE, JobQuestion::LookUp { service: service.to_vec() })? {
            JobAnswer::Port(port) => Ok(port),
            other => Err(unexpected(&other)),
        }
    }

    /// `MPI_Comm_accept`. `port` matters at the root only.
    pub fn comm_accept(
        &mut self,
        comm: CommId,
        root: i32,
        port: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<CommId> {
        self.at_port(comm, root, |mpi| {
            let (owner, number) = mpi.find_port(comm, port()?)?;
            if owner != mpi.engine.me() {
                bail!(Port, "process {owner} has opened this port: only it can accept there");
            }
            let tag = meeting_tag(0, number);
            let mut caller = mpi.pool.take(4);
            let at = address_of(&mut caller);
            let into = RecvData::Bytes { ptr: at, len: 4 };
            let request = mpi.engine.irecv(into, Source::Any, MEETING, Tag::Is(tag));
            let done = mpi.engine.wait(request);
            mpi.engine.step();
            let mut number_of_caller = [0; 4];
            at.read(&mut number_of_caller);
            mpi.pool.give_back(caller);
            match done.error {
                Some(error) => Err(error.into()),
                None => Ok((Rank(u32::from_le_bytes(number_of_caller)), number)),
            }
        })
    }

    /// `MPI_Comm_connect`. `port` matters at the root only.
    pub fn comm_connect(
        &mut self,
        comm: CommId,
        root: i32,
        port: impl FnOnce() -> Result<Vec<u8>>,
    ) -> Result<CommId> {
        self.at_port(comm, root, |mpi| {
            let (owner, number) = mpi.find_port(comm, port()?)?;
            if owner == mpi.engine.me() {
                bail!(Port, "this process has opened the port: it cannot connect to itself");
            }
            mpi.meet(&[owner]);
            let me = mpi.engine.me().0.to_le_bytes().to_vec();
            let tag = meeting_tag(0, number);
            let data = SendData::Owned(me);
            if let Some(sent) = mpi.engine.isend(data, owner, MEETING, tag, SendMode::Standard) {
                mpi.engine.wait(sent);
            }
            mpi.engine.step();
            Ok((owner, number))
        })
    }

    /// Joins two groups at a port: the root finds the other leader, and the number of the port.
    fn at_port(
        &mut self,
        comm: CommId,
        root: i32,
        find: impl FnOnce(&mut Self) -> Result<(Rank, u32)>,
    ) -> Result<CommId> {
        let leader = self.leader(comm, root)?;
        self.must_ask(ErrorClass::Port)?;
        let mut far = None;
        let decided = match leader == self.comm_rank(comm)? {
            true => Some(find(self).map(|(other, number)| {
                far = Some((other, MEETING));
                number.to_le_bytes().to_vec()
            })),
            false => None,
        };
        let decided = self.spread(comm, leader, decided)?;
        let number = decided.first_chunk().map_or(0, |number| u32::from_le_bytes(*number));
        if let Some((other, _)) = far {
            self.meet(&[other]);
        }
        self.join_groups(comm, Bridge { leader, far, tag: meeting_tag(AT_PORT, number) })
    }

    fn find_port(&mut self, comm: CommId, port: Vec<u8>) -> Result<(Rank, u32)> {
        let lane = self.members(comm)?.context;
        match self.ask(lane, JobQuestion::FindPort { port })? {
            JobAnswer::Owner(owner, number) => Ok((owner, number)),
            other => Err(unexpected(&other)),
        }
    }

    // ---- a common socket ------------------------------------------------------------------------

    /// What this process tells the other end of a socket in `MPI_Comm_join`.
    pub fn join_card(&mut self) -> Result<JoinCard> {
        let refused = |why: String| ErrorClass::UnsupportedOperation.because(why);
        self.engine.link.may_join().map_err(refused)?;
        self.joins = self.joins.wrapping_add(1);
        let (job, process) = (self.engine.link.job_number(), self.engine.me());
        Ok(JoinCard { job, process, serial: self.joins })
    }

    /// `MPI_Comm_join` with the process that has told this; none: the two cannot be joined.
    pub fn comm_join(&mut self, mine: JoinCard, theirs: JoinCard) -> Result<Option<CommId>> {
        if mine.job != theirs.job || mine.process == theirs.process {
            return Ok(None);
        }
        if !self.engine.wait_for_news_at_most(theirs.process, JOIN_NEWS_S) {
            return Ok(None);
        }
        if self.comm(CommId::WORLD)?.members.local.local(theirs.process).is_none() {
            self.ask(NO_LANE, JobQuestion::Meet { process: theirs.process })?;
        }
        self.meet(&[theirs.process]);
        let lower = if mine.process < theirs.process { mine } else { theirs };
        let tag = meeting_tag(BY_SOCKET, lower.serial);
        let bridge = Bridge { leader: 0, far: Some((theirs.process, MEETING)), tag };
        self.join_groups(CommId::SELF, bridge).map(Some)
    }

    // ---- what all of them need ------------------------------------------------------------------

    /// The root of a call on an intracommunicator.
    fn leader(&self, comm: CommId, root: i32) -> Result<u32> {
        if self.comm_test_inter(comm)? {
            bail!(Comm, "the communicator is an intercommunicator");
        }
        match u32::try_from(root) {
            Ok(root) if root < self.comm_size(comm)? => Ok(root),
            _ => bail!(Root, "root is {root}, the communicator has {}", self.comm_size(comm)?),
        }
    }

    /// The launcher can be asked; otherwise an error of this class.
    fn must_ask(&self, class: ErrorClass) -> Result<()> {
        self.engine.link.may_ask_job().map_err(|why| class.because(why))
    }

    fn ask(&mut self, lane: u32, question: JobQuestion) -> Result<JobAnswer> {
        let answer = self.engine.ask_job(lane, question);
        match answer.map_err(|why| ErrorClass::Spawn.because(why))? {
            JobAnswer::Refused { refusal, why } => Err(refused(refusal, why)),
            answer => Ok(answer),
        }
    }

    /// What the root has decided, at all members; also its error.
    fn spread(
        &mut self,
        comm: CommId,
        root: u32,
        decided: Option<Result<Vec<u8>>>,
    ) -> Result<Vec<u8>> {
        let (class, mut bytes) = match decided {
            Some(Ok(bytes)) => (0, bytes),
            Some(Err(error)) => (error.class.number(), error.text.into_owned().into_bytes()),
            None => (0, Vec::new()),
        };
        let mut head = [0; 12];
        head[..4].copy_from_slice(&class.to_le_bytes());
        head[4..].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
        let scope = self.scope(comm)?;
        self.broadcast(&scope, root, &mut head)?;
        let (class, len) = head.split_at(4);
        let class = class.first_chunk().map_or(0, |class| i32::from_le_bytes(*class));
        let len = len.first_chunk().map_or(0, |len| u64::from_le_bytes(*len));
        if !room::grow(&mut bytes, len) {
            bail!(Intern, "the root has told a decision of {len} bytes");
        }
        let scope = self.scope(comm)?;
        self.broadcast(&scope, root, &mut bytes)?;
        match ErrorClass::from_number(class) {
            Some(ErrorClass::Success) => Ok(bytes),
            Some(class) => Err(class.because(String::from_utf8_lossy(&bytes).into_owned())),
            None => bail!(Intern, "the root has told the error class {class}"),
        }
    }
}

fn unexpected(answer: &JobAnswer) -> MpiError {
    ErrorClass::Intern.because(format!("the launcher gave an answer to something else: {answer:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn soft_allows_the_largest_number_that_fits() {
        assert_eq!(soft_count("4", 8), Some(4));
        assert_eq!(soft_count("9", 8), None);
        assert_eq!(soft_count("1:8", 5), Some(5));
        assert_eq!(soft_count("2:8:3", 8), Some(8));
        assert_eq!(soft_count("2:8:3", 7), Some(5));
        assert_eq!(soft_count("1,3,20:100:7", 30), Some(27));
        assert_eq!(soft_count("8:2:-2", 5), Some(4));
        assert_eq!(soft_count("8:2:-2", 9), Some(8));
        assert_eq!(soft_count("8:6:-2", 5), None);
        assert_eq!(soft_count("0", 8), None);
        assert_eq!(soft_count("1:8:0", 8), None);
        assert_eq!(soft_count("many", 8), None);
    }

    #[test]
    fn a_card_comes_back_and_garbage_does_not() {
        let card = JoinCard { job: 77, process: Rank(3), serial: 9 };
        assert_eq!(JoinCard::decode(&card.encode()), Some(card));
        assert_eq!(JoinCard::decode(&[7; JoinCard::BYTES]), None);
    }
}
