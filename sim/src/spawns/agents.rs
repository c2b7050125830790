//! The hosts of the model: agents that start and end processes, processes that follow their course,
//! images, and what fails.

use super::program::{self, Course, Step};
use super::{FAULTS_UNTIL, Mutant, World};
use ftmpi_protocols::dispatcher::{Asker, Command, Ending, ImageFacts, Input};
use ftmpi_wire::{ImageNo, Incarnation, Rank};

pub(super) type Key = (Rank, Incarnation);

/// What happens.
#[derive(Debug, Clone)]
pub(super) enum Event {
    Tick,
    Fault,
    AgentStarts(usize),
    /// A command arrives at a host, unless its agent has died since.
    AtHost(usize, u64, Key, Box<Command>),
    /// What a host has reported arrives.
    AtLauncher(usize, u64, Box<Input>),
    AgentIsLost(usize),
    Process(Key, Moment),
    /// The user's command with this number.
    Join(u64),
}

/// A moment in the life of a process.
#[derive(Debug, Clone, Copy)]
pub(super) enum Moment {
    /// It calls `MPI_Init`, or is restored.
    Hello(Option<ImageNo>),
    /// Its step is over.
    Step,
    /// What it chose before this question is stable.
    Stable(u32, u32),
    Image(ImageNo),
    Stored(ImageNo),
    Ends,
}

/// A host.
#[derive(Debug, Default)]
pub(super) struct Host {
    up: bool,
    /// Which agent it is.
    pub(super) agent: u64,
    /// When the last message to it, and from it, arrives.
    last: [u64; 2],
}

/// A process.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) course: Course,
    pub(super) lives: bool,
    pub(super) host: usize,
    said_hello: bool,
    pub(super) exiting: bool,
}

impl World {
    pub(super) fn picture(&self) -> String {
        let living = self.processes.iter().filter(|(_, process)| process.lives);
        let lines = living.map(|(key, process)| format!("{key:?} {process:?}"));
        lines.collect::<Vec<_>>().join("\n")
    }

    fn in_order(&mut self, host: usize, way: usize) -> u64 {
        let slow = if self.below(10) == 0 { 150 } else { 15 };
        let at = (self.now + 1 + self.below(slow)).max(self.hosts[host].last[way]);
        self.hosts[host].last[way] = at;
        at - self.now
    }

    pub(super) fn order(&mut self, host: usize, key: Key, command: Command) {
        let delay = self.in_order(host, 0);
        let agent = self.hosts[host].agent;
        self.after(delay, Event::AtHost(host, agent, key, Box::new(command)));
    }

    pub(super) fn report(&mut self, host: usize, input: Input) {
        let delay = self.in_order(host, 1);
        let agent = self.hosts[host].agent;
        self.after(delay, Event::AtLauncher(host, agent, Box::new(input)));
    }

    pub(super) fn happens(&mut self, event: Event) {
        match event {
            Event::Tick => {
                self.after(50, Event::Tick);
                self.handle(Input::Tick);
            }
            Event::Fault => self.fault(),
            Event::Join(number) => self.joins_now(number),
            Event::AgentStarts(host) => {
                self.hosts[host].up = true;
                self.handle(Input::AgentUp { host: host as u32 });
            }
            Event::AgentIsLost(host) => {
                let (host, why) = (host as u32, "it is gone".to_owned());
                self.handle(Input::AgentLost { host, why, silent: false });
            }
            Event::AtHost(host, agent, key, command) => {
                if self.hosts[host].up && self.hosts[host].agent == agent {
                    self.at_host(host, key, *command);
                }
            }
            Event::AtLauncher(host, agent, input) => {
                if self.hosts[host].agent == agent {
                    self.handle(*input);
                }
            }
            Event::Process(key, moment) => {
                if self.processes.get(&key).is_some_and(|process| process.lives) {
                    self.moment(key, moment);
                }
            }
        }
    }

    fn at_host(&mut self, host: usize, key: Key, command: Command) {
        let (rank, incarnation) = key;
        let later = |world: &mut Self, most, moment| {
            let delay = 1 + world.below(most);
            world.after(delay, Event::Process(key, moment));
        };
        match command {
            Command::Start { images, .. } => {
                let image = images.first().map(|image| image.image);
                let later_world = rank.0 >= self.world_of(Rank(0)).size;
                let image = image.filter(|_| !later_world || !self.strikes(Mutant::ImageNotUsed));
                let mut course = match image {
                    Some(image) => self.images[&(image, rank)].clone(),
                    None => Course::new(self.identity(rank)),
                };
                if course.asked > 0 && self.strikes(Mutant::NumbersFromZero) {
                    course.asked = 0;
                }
                let (lives, said_hello, exiting) = (true, false, false);
                let process = Process { course, lives, host, said_hello, exiting };
                let twice = self.processes.insert(key, process);
                assert!(twice.is_none(), "{key:?} was started twice");
                self.report(host, Input::Spawned { rank, incarnation });
                later(self, 120, Moment::Hello(image));
            }
            Command::Kill { .. } | Command::Die { .. }
                if self.processes.get(&key).is_some_and(|process| process.lives) =>
            {
                let code = match command {
                    Command::Die { code, .. } => Ending::Code(code),
                    _ => Ending::Signal(9),
                };
                if !self.strikes(Mutant::EndReportedEarly) {
                    self.processes.get_mut(&key).expect("seen").lives = false;
                }
                self.report(host, ended(key, code, self.now));
            }
            Command::SpawnOver { asker, outcome } => {
                let Some(process) = self.processes.get_mut(&key).filter(|p| p.lives) else {
                    return;
                };
                if process.course.open.map(u64::from) == Some(asker.number) {
                    process.course.open = None;
                    let at = process.course.at;
                    process.course.children.push((at, outcome.ok()));
                    process.course.at += 1;
                    later(self, 5, Moment::Step);
                }
            }
            Command::TakeImage { image, .. } => later(self, 300, Moment::Image(image)),
            Command::AllFinalized { .. } => {
                if let Some(process) = self.processes.get_mut(&key) {
                    process.course.finalized = true;
                    self.exits(key);
                }
            }
            Command::AllExiting { .. } => later(self, 60, Moment::Ends),
            _ => {}
        }
    }

    fn moment(&mut self, key: Key, moment: Moment) {
        let (rank, incarnation) = key;
        let host = self.processes[&key].host;
        match moment {
            Moment::Hello(resumed) => self.hello(key, resumed),
            Moment::Step => self.step(key),
            Moment::Stable(number, choice) => {
                self.logs.choices.insert((rank, number), choice);
                self.asks(key, number);
            }
            Moment::Image(image) => {
                let course = self.processes[&key].course.clone();
                let mut open = course.open.into_iter();
                let is_stable = |number| self.logs.choices.contains_key(&(rank, number));
                if self.returns != super::Returns::All && !open.all(is_stable) {
                    return self.after(7, Event::Process(key, moment));
                }
                self.images.insert((image, rank), course);
                let delay = 1 + self.below(200);
                self.after(delay, Event::Process(key, Moment::Stored(image)));
            }
            Moment::Stored(image) => {
                let facts = ImageFacts { image, bytes: 1, written: [0; 2], consumed: 0 };
                let oldest = ImageNo(0);
                self.report(
                    host,
                    Input::ImageCommitted { rank, incarnation, image: facts, oldest },
                );
            }
            Moment::Ends => {
                let lives = self.lives_on(rank);
                self.processes.get_mut(&key).expect("it lives").lives = lives;
                if self.joins.has_met(self.world_of(rank)) {
                    self.logs.left.insert(rank);
                }
                self.report(host, ended(key, Ending::Code(0), self.now));
            }
        }
    }

    fn hello(&mut self, key: Key, resumed: Option<ImageNo>) {
        let (rank, incarnation) = key;
        let process = &self.processes[&key];
        let (host, course) = (process.host, process.course.clone());
        if let Some(step) = course.identity.path.last() {
            // A bad program ends here, each time.
            let mut parent = course.identity.clone();
            parent.path.pop();
            parent.place = 0;
            let steps = program::steps(self.seed, &parent);
            if let Some(Step::Spawn { bad: true, .. }) = steps.get(*step) {
                self.processes.get_mut(&key).expect("seen").lives = false;
                return self.report(host, ended(key, Ending::Code(3), self.now));
            }
        }
        self.processes.get_mut(&key).expect("seen").said_hello = true;
        // In another execution this process has not ended yet.
        self.done.remove(&rank);
        self.report(host, Input::Hello { rank, incarnation, resumed, can_image: true });
        self.report(host, Input::CaughtUp { rank, incarnation, replayed: 0 });
        self.meets_first(key);
        if course.finalizing {
            self.finalizes(key);
        } else if let Some(number) = course.open {
            if !self.strikes(Mutant::OpenQuestionForgotten) {
                self.asks(key, number);
            }
        } else {
            let answered = !course.children.is_empty() && resumed.is_some();
            if answered && self.strikes(Mutant::AnswerForgotten) {
                let course = &mut self.processes.get_mut(&key).expect("seen").course;
                let (at, _) = course.children.pop().expect("seen");
                course.at = at;
            }
            self.step(key);
        }
    }

    /// Does the next step, or leaves.
    fn step(&mut self, key: Key) {
        let seed = self.seed;
        let course = &mut self.processes.get_mut(&key).expect("it lives").course;
        if course.open.is_some() || course.finalizing {
            return;
        }
        match program::steps(seed, &course.identity).get(course.at) {
            Some(Step::Work(time)) => {
                course.at += 1;
                self.after(*time, Event::Process(key, Moment::Step));
            }
            Some(Step::Spawn { .. }) => {
                let number = course.asked;
                course.asked += 1;
                course.open = Some(number);
                let (choice, ready) = self.chooses(key.0, number);
                let course = &mut self.processes.get_mut(&key).expect("it lives").course;
                course.choices.insert(number, choice);
                if ready {
                    return self.asks(key, number);
                }
                let delay = 1 + self.below(60);
                self.after(delay, Event::Process(key, Moment::Stable(number, choice)));
            }
            None if super::joins::fails(seed, &course.identity) => {
                self.processes.get_mut(&key).expect("seen").lives = false;
                let host = self.processes[&key].host;
                let wrong = i32::from(self.strikes(Mutant::CodeLost));
                let code = Ending::Code(super::joins::FAILED - wrong);
                self.report(host, ended(key, code, self.now));
            }
            None => {
                course.finalizing = true;
                self.finalizes(key);
            }
        }
    }

    fn asks(&mut self, key: Key, number: u32) {
        let process = &self.processes[&key];
        let steps = program::steps(self.seed, &process.course.identity);
        let Some(Step::Spawn { count, bad }) = steps.get(process.course.at).copied() else {
            panic!("{key:?} asks in step {}", process.course.at);
        };
        let (rank, incarnation) = key;
        let count = count + process.course.choices.get(&number).copied().unwrap_or(0);
        let asker = Asker { rank, incarnation, number: number.into() };
        let wanted = self.wanted(&process.course.identity.path, count, bad);
        self.report(self.processes[&key].host, Input::Spawn { asker, wanted });
    }

    fn finalizes(&mut self, key: Key) {
        let (rank, incarnation) = key;
        let process = &self.processes[&key];
        let (host, identity) = (process.host, process.course.identity.clone());
        let children = process.course.children.clone();
        let mut with = Vec::new();
        if !identity.path.is_empty() && !program::disconnects(self.seed, &identity.path) {
            with.extend(self.world_of(rank).parent);
        }
        for (step, child) in children {
            let mut path = identity.path.clone();
            path.push(step);
            with.extend(child.filter(|_| !program::disconnects(self.seed, &path)));
        }
        self.report(host, Input::Connected { rank, incarnation, with });
        self.report(host, Input::Finalizing { rank, incarnation });
        let spawned = rank.0 >= self.world_of(Rank(0)).size;
        if spawned && self.strikes(Mutant::LeavesEarly) {
            self.report(host, Input::Exiting { rank, incarnation, code: 0 });
            return self.after(1, Event::Process(key, Moment::Ends));
        }
        if self.processes[&key].course.finalized {
            self.exits(key);
        }
    }

    fn exits(&mut self, key: Key) {
        let process = self.processes.get_mut(&key).expect("seen");
        if process.said_hello && process.lives && !std::mem::replace(&mut process.exiting, true) {
            let (host, (rank, incarnation)) = (process.host, key);
            // How it ends does not matter once nobody needs it.
            self.done.insert(rank, process.course.clone());
            self.report(host, Input::Exiting { rank, incarnation, code: 0 });
        }
    }

    // ---- what fails ---------------------------------------------------------------------------

    fn fault(&mut self) {
        // What a bug has done must stay; an answer that comes late is seen after the next return.
        let late = [
            Mutant::AnswerOvertaken,
            Mutant::AskedTooEarly,
            Mutant::LeavesEarly,
            Mutant::JoinTakenEarly,
        ];
        let done = self.struck && !self.mutant.is_some_and(|mutant| late.contains(&mutant));
        if self.now > FAULTS_UNTIL || done {
            return;
        }
        let next = 200 + self.below(4000);
        self.after(next, Event::Fault);
        if self.below(8) == 0 {
            let host = self.below(2) as usize;
            return self.lose(host);
        }
        let living = self.processes.iter().filter(|(_, process)| process.lives);
        let living: Vec<Key> = living.map(|(key, _)| *key).collect();
        if living.is_empty() {
            return;
        }
        let key = living[self.below(living.len() as u64) as usize];
        let process = self.processes.get_mut(&key).expect("it lives");
        process.lives = false;
        let host = process.host;
        self.outcome.faults += 1;
        self.report(host, ended(key, Ending::Signal(9), self.now));
    }

    fn lose(&mut self, host: usize) {
        if !self.hosts[host].up {
            return;
        }
        self.outcome.faults += 1;
        self.hosts[host].up = false;
        self.hosts[host].agent += 1;
        self.processes.values_mut().filter(|p| p.host == host).for_each(|p| p.lives = false);
        let delay = self.in_order(host, 1);
        self.after(delay, Event::AgentIsLost(host));
    }
}

/// Each death is at another place of the program.
fn ended((rank, incarnation): Key, ending: Ending, progress: u64) -> Input {
    Input::Ended { rank, incarnation, ending, progress }
}
