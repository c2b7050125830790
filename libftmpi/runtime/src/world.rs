//! The world of a rank as the engine sees it: channels that the agent makes, the event logger, the
//! clock, waiting. All of it belongs to one incarnation; a restored process drops it and builds a
//! new one.

mod agent;
mod channels;
mod files;
mod link;
mod notes;
mod peers;
mod processes;
mod sharing;
#[cfg(test)]
mod tests;
mod wait_note;

use self::agent::AgentConnection;
use self::notes::Notes;
use self::peers::Peers;
use self::wait_note::WaitNote;
use crate::attention::URGENT;
use crate::boot::Boot;
use crate::call_trace;
use crate::control::close;
use crate::ending::{die, fatal};
use crate::file_undo::FileUndo;
use crate::logger::Logger;
use crate::sleep::{Rest, Sleeper};
use crate::status::StatusPage;
use crate::threads;
use ftmpi_checkpoint::undo::Author;
use ftmpi_core::engine::{Link, Sink};
use ftmpi_transport::event_ring;
use ftmpi_wire::control::{FromRank, InjectPoint, JobView, ToRank};
use ftmpi_wire::status::word;
use ftmpi_wire::{ImageNo, Incarnation, Rank, event_log};
use std::sync::atomic::Ordering;

/// The world.
pub struct World {
    /// The rank of this process.
    pub me: Rank,
    /// Its incarnation.
    pub incarnation: Incarnation,
    /// The number of this process; a forked child has another one.
    pub(crate) process: u32,
    /// What the agent sent about the job; `None` in a process of its own.
    pub job: Option<Box<JobView>>,
    /// The agent's messages, and what the agent asks of this rank.
    pub(crate) agent: AgentConnection,
    pub(crate) status: StatusPage,
    pub(crate) sleeper: Option<Sleeper>,
    /// What the agent was told about the wait of this rank.
    wait: WaitNote,
    /// The next sleep is to be short.
    brief: bool,
    pub(crate) boot: Option<Boot>,
    peers: Peers,
    questions: processes::Questions,
    logger: Option<Logger>,
    /// Where event rings are mapped.
    ring_at: Option<*mut u8>,
    /// The newest image that was taken, or the one that this incarnation began from; 0: none.
    pub(crate) image_taken: ImageNo,
    window_used: usize,
    pub(crate) shared: crate::shared_memory::Shared,
    inject: Vec<Point>,
    /// Messages are noted for a trace.
    notes: Option<Notes>,
    /// Zero of the clock in a process of its own, in seconds since 1970.
    begin: i64,
    pub(crate) disk: crate::posix_files::Posix,
    pub(crate) file_undo: Option<Box<FileUndo>>,
}

/// A point at which the process is to kill itself.
struct Point {
    name: String,
    /// How often it still comes there until it dies.
    left: u64,
    /// The number of the fault, and where the process leaves it behind.
    fault: u32,
    page: StatusPage,
}

/// A named point of fault injection: the process dies here if that was asked for.
fn reach_point(points: &mut [Point], name: &str) {
    for point in points {
        if point.name == name {
            point.left = point.left.saturating_sub(1);
            if point.left == 0 {
                point.page.set(word::FAULT, u64::from(point.fault) + 1);
                // SAFETY: ends this very process, as the user asked.
                unsafe { libc::kill(libc::getpid(), libc::SIGKILL) };
            }
        }
    }
}

impl World {
    /// A process of its own: no agent, no peers.
    #[must_use]
    pub fn alone() -> Self {
        Self {
            me: Rank(0),
            incarnation: Incarnation(0),
            process: std::process::id(),
            job: None,
            agent: AgentConnection::none(),
            status: StatusPage::NONE,
            sleeper: None,
            wait: WaitNote::default(),
            brief: false,
            boot: None,
            peers: Peers::new([Incarnation(0)], false),
            questions: processes::Questions::default(),
            logger: None,
            ring_at: None,
            image_taken: ImageNo(0),
            window_used: 0,
            shared: crate::shared_memory::Shared::default(),
            inject: Vec::new(),
            notes: None,
            begin: std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() as i64),
            disk: crate::posix_files::Posix::default(),
            file_undo: None,
        }
    }

    /// Sends `Hello` and waits for the agent's answer. Also the begin of a restored incarnation:
    /// what was known of an earlier one is dropped, its descriptors untouched.
    pub fn greet(&mut self, boot: Option<Boot>, resumed: Option<ImageNo>) {
        self.peers.end_incarnation();
        self.logger = None;
        self.ring_at = None;
        self.window_used = 0;
        self.process = std::process::id();
        self.agent.begin();
        let page = self.reserve(ftmpi_wire::status::PAGE_BYTES, &boot);
        self.status = StatusPage::map(page);
        self.begin_trace(&boot);
        self.wait = WaitNote::default();
        self.boot = boot;
        let no_image = match &self.boot {
            None => Some("the boot library is not loaded".to_owned()),
            Some(_) => None,
        };
        // The agent's answer has the true numbers.
        let sleeper =
            Sleeper::new(1, 1).unwrap_or_else(|error| fatal("no descriptors left", &error));
        let hello = FromRank::Hello {
            rank: self.me,
            incarnation: self.incarnation,
            pid: self.process,
            resumed,
            executable: std::fs::read_link("/proc/self/exe")
                .map(|path| path.to_string_lossy().into_owned())
                .unwrap_or_default(),
            arguments: std::fs::read("/proc/self/cmdline")
                .unwrap_or_default()
                .split(|&byte| byte == 0)
                .map(|argument| String::from_utf8_lossy(argument).into_owned())
                .collect(),
            no_image,
        };
        let (control, news) = self.agent.question();
        let control = control.expect("just made");
        if resumed.is_none() {
            control.send(&FromRank::Loaded { objects: crate::loaded::objects() }, None);
        }
        control.send(&hello, Some(sleeper.doorbell()));
        let job = loop {
            match control.receive(true) {
                Some((ToRank::Welcome(job), _)) => break job,
                Some((ToRank::Die { code }, _)) => die(code),
                Some(other) => news.push_back(other),
                None => {}
            }
        };
        let mut sleeper = sleeper;
        sleeper.set_subscription(job.processors, job.local_ranks, self.status);
        sleeper.watch(ftmpi_wire::control::fds::CONTROL, false);
        self.sleeper = Some(sleeper);
        self.peers.begin(job.incarnations.iter().copied(), job.traits.memory);
        let page = self.status;
        let point = |wanted: &InjectPoint| Point {
            name: wanted.point.clone(),
            left: wanted.nth,
            fault: wanted.fault,
            page,
        };
        self.inject = job.inject.iter().map(point).collect();
        let author = Author {
            rank: self.me.0,
            incarnation: self.incarnation.0,
            // A rank that joined the job later began behind this wave.
            wave: resumed.unwrap_or(job.past).0,
        };
        self.file_undo = FileUndo::of(&job, author, self.file_undo.take());
        self.job = Some(job);
        self.begin_notes();
        if resumed.is_some() {
            self.files_return();
            self.ask_again();
        }
    }

    /// Maps the ring behind the status page, if the agent wants calls to be recorded.
    fn begin_trace(&mut self, boot: &Option<Boot>) {
        let wanted = self.status.get(word::TRACE) & ftmpi_wire::call_trace::CALLS != 0;
        let ring = wanted.then(|| self.reserve(ftmpi_wire::call_trace::BYTES, boot));
        call_trace::attach(ring.and_then(crate::status::map_call_ring));
    }

    /// The latest known incarnation of a rank.
    pub(crate) fn incarnation_of(&self, rank: usize) -> Option<Incarnation> {
        if rank == self.me.index() {
            return Some(self.incarnation);
        }
        self.peers.incarnation_of(rank)
    }

    /// The logger is on this computer and offers a ring. If the ring cannot be opened here, or is
    /// not the one that was meant, the socket remains.
    fn join_event_ring(&mut self, process: u32, descriptor: u32, cookie: u64) {
        use std::os::fd::AsRawFd;
        let Ok(file) = event_ring::file_of(process, descriptor) else { return };
        let at = match self.ring_at {
            Some(at) => at,
            None => {
                let boot = self.boot.take();
                let at = self.reserve(event_ring::FILE_BYTES, &boot);
                self.boot = boot;
                *self.ring_at.insert(at)
            }
        };
        // SAFETY: `reserve` gave this range to us, for event rings and nothing else; the ring of an
        // earlier connection went with it.
        let ring = unsafe { event_ring::Writer::map(file.as_raw_fd(), at, cookie) };
        if let (Ok(ring), Some(logger)) = (ring, &mut self.logger) {
            logger.use_ring(ring);
        }
    }

    /// Bytes of the reserved window that are used from its begin.
    pub(crate) fn window_used(&self) -> usize {
        self.window_used
    }

    /// A page-aligned piece of the reserved window, or of fresh memory where there is none.
    fn reserve(&mut self, bytes: usize, boot: &Option<Boot>) -> *mut u8 {
        let bytes = bytes.next_multiple_of(4096);
        if let Some((base, len)) = boot.as_ref().map(Boot::window)
            && self.window_used + bytes <= self.shared.lowest().map_or(len, |lowest| lowest - base)
        {
            let at = base + self.window_used;
            self.window_used += bytes;
            return at as *mut u8;
        }
        // SAFETY: reserves address space; no address is asked for.
        let at = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                bytes,
                libc::PROT_NONE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if at == libc::MAP_FAILED {
            fatal("no address space for a channel", &std::io::Error::last_os_error());
        }
        at.cast()
    }

    fn handle_news<S: Sink>(&mut self, sink: &mut S, message: ToRank, passed: Vec<i32>) {
        match message {
            ToRank::Channel { peer, incarnation, kind } => {
                self.join(sink, peer, incarnation, kind, &passed);
            }
            ToRank::EventLog => {
                if let Some(&fd) = passed.first() {
                    if let Some(old) = self.logger.replace(Logger::new(fd)) {
                        self.unwatch(old.fd());
                    }
                    self.watch(fd);
                    sink.logger_up();
                }
            }
            ToRank::PeerRestarted { rank, host, .. } if self.peers.are_memories() => {
                let job = self.job.as_mut();
                if let Some(known) = job.and_then(|job| job.host_of.get_mut(rank.index())) {
                    *known = host;
                }
            }
            ToRank::PeerRestarted { rank, incarnation, host } => {
                if let Some(job) = &mut self.job {
                    if let Some(known) = job.incarnations.get_mut(rank.index()) {
                        *known = incarnation.max(*known);
                    }
                    if let Some(known) = job.host_of.get_mut(rank.index()) {
                        *known = host;
                    }
                }
                self.part(sink, rank, incarnation);
                sink.peer_restarted(rank, incarnation);
            }
            ToRank::ChannelOver { peer } => {
                *self.peers.round(peer) += 1;
                self.lose(sink, peer);
            }
            ToRank::TakeImage { image } => {
                if let Some(&fd) = passed.first()
                    && let Some((old, fd)) = self.agent.image_due.replace((image, fd))
                {
                    close(fd);
                    self.report_refused_image(old, "another image was asked for before it began");
                }
            }
            ToRank::ImageCommitted { image, oldest } => {
                if let Some(Err(e)) =
                    self.file_undo.as_mut().map(|file_undo| file_undo.committed(image, oldest))
                {
                    let text = format!("journals of files keep more than they need: {e}");
                    self.notify_agent(FromRank::Warning { text });
                }
                sink.image_committed(image, oldest);
            }
            ToRank::Settle => self.agent.settle_due = true,
            ToRank::StableClocks { clocks } => sink.log_frame(event_log::Frame::Stable { clocks }),
            ToRank::ImageFailed { image } => {
                self.shared.pass(image);
                sink.image_failed(image);
            }
            ToRank::Welcome(_) => {}
            // Nobody waits for this answer any more.
            ToRank::Segment { .. } | ToRank::KeptFile { .. } => {
                passed.iter().for_each(|&fd| close(fd));
            }
            ToRank::Group(news) => self.take_group_news(sink, news),
            ToRank::Grown { world, hosts } => self.grow(sink, world, &hosts),
            ToRank::WorldOver { world } => self.world_over(sink, world),
            ToRank::Answer { number, answer } => self.answered(number, answer),
            ToRank::AllFinalized => self.agent.all_finalized = true,
            ToRank::AllExiting => self.agent.all_exiting = true,
            ToRank::Die { code } => die(code),
        }
    }

    pub(crate) fn report_refused_image(&mut self, image: ImageNo, why: &str) {
        self.shared.pass(image);
        self.agent.send(&FromRank::ImageRefused { image, why: why.to_owned() });
    }

    fn watch(&self, fd: i32) {
        if let Some(sleeper) = &self.sleeper {
            sleeper.watch(fd, false);
        }
    }

    fn unwatch(&self, fd: i32) {
        if let Some(sleeper) = &self.sleeper {
            sleeper.forget(fd);
        }
        close(fd);
    }

    /// Whether anything waits in a ring.
    fn is_ready(&self) -> bool {
        URGENT.load(Ordering::Relaxed) || self.peers.are_ready()
    }

    /// Milliseconds of the next sleep. Nothing reports that a full socket has room again, so the
    /// rank looks for it. The other limit bounds the cost of a missed ring of the doorbell.
    fn sleep_limit(&mut self) -> i32 {
        if std::mem::take(&mut self.brief) || self.peers.socket_full { 1 } else { 10 }
    }

    /// `Link::rest` where other threads may want to come in.
    #[inline(never)]
    fn rest_among_others(&mut self) {
        self.wait.in_vain = false;
        let Some(sleeper) = &mut self.sleeper else {
            // A process of its own: only other threads can bring what the call waits for.
            threads::wake(None);
            let world = std::hint::black_box(std::ptr::from_mut(self));
            threads::sleep(None::<fn()>);
            std::hint::black_box(world);
            return;
        };
        // What was done since the last rest may be what another thread waits for.
        threads::wake(Some(sleeper.doorbell()));
        let next = threads::looks_for_all().then(|| sleeper.how_to_rest());
        // Other threads change this world meanwhile; the compiler must not assume that it is
        // unchanged. The engine rests only at the end of a step, and looks at everything again in
        // the next.
        let world = std::hint::black_box(std::ptr::from_mut(self));
        match next {
            None => {
                threads::sleep(None::<fn()>);
                std::hint::black_box(world);
                self.wait.slept(true);
                return self.note_wait();
            }
            Some(Rest::Spin) => {
                threads::let_in();
                std::hint::black_box(world);
                return self.note_wait();
            }
            Some(Rest::GiveWay) => {
                threads::give_way();
                std::hint::black_box(world);
                if let Some(sleeper) = &mut self.sleeper {
                    sleeper.gave_way();
                }
                return self.note_wait();
            }
            Some(Rest::Sleep) => {}
        }
        self.peers.set_sleeping(true);
        let sleeper = self.sleeper.as_ref().expect("just seen");
        sleeper.fence();
        if !self.is_ready() {
            let ticket = sleeper.ticket();
            let limit = self.sleep_limit();
            let mut came = true;
            threads::sleep(Some(|| came = ticket.sleep(limit)));
            std::hint::black_box(world);
            self.wait.slept(came);
            if let Some(sleeper) = &mut self.sleeper {
                sleeper.slept();
            }
        }
        self.peers.socket_full = false;
        self.peers.set_sleeping(false);
        self.note_wait();
        self.look_around();
    }

    /// A call that has waited for long is recorded, if calls are.
    #[inline]
    fn note_wait(&self) {
        if call_trace::is_on() {
            call_trace::waits(self.sleeper.as_ref().map_or(0, Sleeper::waited));
        }
    }

    /// The call that waited ends.
    pub(crate) fn hide_wait(&mut self) {
        self.wait.hide(self.status);
    }

    /// What woke this rank may be on the control socket or the logger's.
    fn look_around(&mut self) {
        self.agent.look_soon();
        if let Some(logger) = &mut self.logger {
            logger.look_soon();
        }
    }
}
