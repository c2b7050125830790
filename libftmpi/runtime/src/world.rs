//! The world of a rank as the engine sees it: channels by the agent, the event logger, the clock,
//! waiting. All of it belongs to one life; a restored process throws it away and builds it anew.

#[cfg(test)]
mod tests;
mod ways;

use self::ways::{Channel, Way};
use crate::boot::Boot;
use crate::control::{Control, close};
use crate::logger::Logger;
use crate::sleep::{self, LOOKS_ROOMY, Sleeper};
use crate::status::StatusPage;
use crate::threads;
use ftmpi_core::engine::{Counters, Exact, Frame, Link, Piece, Push, Sink, Token};
use ftmpi_core::usermem::UserPtr;
use ftmpi_protocols::protocol::Readiness;
use ftmpi_transport::tcp::Outcome;
use ftmpi_transport::{event_ring, shm};
use ftmpi_wire::control::{FromRank, JobView, ToRank};
use ftmpi_wire::status::word;
use ftmpi_wire::{Header, ImageNo, Incarnation, Rank, Ssn, event_log};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by the signal handler: the control socket has something that must not wait.
pub static URGENT: AtomicBool = AtomicBool::new(false);

/// Polls between two looks at the control socket while nothing is expected from it.
const CONTROL_EVERY: u32 = 512;
/// Payloads above these are announced first.
const EAGER_SHM: usize = 256 << 10;
const EAGER_TCP: usize = 64 << 10;

/// The world.
pub struct World {
    /// Who we are.
    pub me: Rank,
    /// In which life.
    pub incarnation: Incarnation,
    /// What the agent told about the job; `None` in a process of its own.
    pub job: Option<Box<JobView>>,
    pub(crate) control: Option<Control>,
    pub(crate) status: StatusPage,
    pub(crate) sleeper: Option<Sleeper>,
    pub(crate) boot: Option<Boot>,
    ways: Vec<Way>,
    /// Frames that were landing on the channels of the life before this one.
    broken_off: Vec<(Rank, Header, Token)>,
    /// For each peer, the way that we send on.
    send_on: Vec<Option<usize>>,
    logger: Option<Logger>,
    /// Where event rings are mapped.
    ring_at: Option<*mut u8>,
    news: VecDeque<(ToRank, Vec<i32>)>,
    until_control: u32,
    /// Peers to which a channel was asked for that has not come.
    asked: Vec<Rank>,
    /// For each peer, its latest life that we know, and how often the connection to that life was
    /// lost: sockets of earlier rounds are over, whichever side noticed first.
    rounds: Vec<(Incarnation, u32)>,
    /// At the other end of every channel is a channel memory, which has no lives.
    memories: bool,
    pub(crate) image_due: Option<(ImageNo, i32)>,
    /// The agent wants everything to be made stable.
    settle_due: bool,
    /// Every rank is in `MPI_Finalize`.
    pub all_finalized: bool,
    /// Every rank has ended its program.
    pub all_exiting: bool,
    window_used: usize,
    pub(crate) shared: crate::shared::Shared,
    /// A push since the last rest found a socket full.
    socket_full: bool,
    inject: Vec<(String, u64)>,
    /// What the clock of a process of its own counts from, in seconds since 1970.
    begin: i64,
    disk: crate::disk::Posix,
}

/// A named point: dies here if that was asked for.
fn come_to(points: &mut [(String, u64)], name: &str) {
    for (point, left) in points {
        if point == name {
            *left = left.saturating_sub(1);
            if *left == 0 {
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
            job: None,
            control: None,
            status: StatusPage::NONE,
            sleeper: None,
            boot: None,
            ways: Vec::new(),
            broken_off: Vec::new(),
            send_on: vec![None],
            logger: None,
            ring_at: None,
            news: VecDeque::new(),
            until_control: CONTROL_EVERY,
            asked: Vec::new(),
            rounds: vec![(Incarnation(0), 0)],
            memories: false,
            image_due: None,
            settle_due: false,
            all_finalized: false,
            all_exiting: false,
            window_used: 0,
            shared: crate::shared::Shared::default(),
            socket_full: false,
            inject: Vec::new(),
            begin: std::time::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() as i64),
            disk: crate::disk::Posix::default(),
        }
    }

    /// Says `Hello` and waits for the agent's answer. Also the begin of a restored life: whatever
    /// was known of an earlier one is dropped, its descriptors untouched.
    pub fn greet(&mut self, boot: Option<Boot>, resumed: Option<ImageNo>) {
        // What was landing when the image was taken comes anew; the engine must hear of it.
        self.broken_off.extend(self.ways.drain(..).filter_map(|mut way| {
            let (header, token) = way.channel.take_incoming()?;
            Some((way.peer, header, token))
        }));
        self.logger = None;
        self.ring_at = None;
        self.news.clear();
        self.asked.clear();
        self.image_due = None;
        self.settle_due = false;
        self.window_used = 0;
        self.control = Some(Control::inherited());
        let page = self.reserve(ftmpi_wire::status::PAGE_BYTES, &boot);
        self.status = StatusPage::map(page);
        self.boot = boot;
        let no_image = match &self.boot {
            None => Some("the boot library is not loaded".to_owned()),
            Some(_) => None,
        };
        // The numbers are corrected by the answer.
        let sleeper =
            Sleeper::new(1, 1).unwrap_or_else(|error| fatal("no descriptors left", &error));
        let hello = FromRank::Hello {
            rank: self.me,
            incarnation: self.incarnation,
            pid: std::process::id(),
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
        let control = self.control.as_mut().expect("just made");
        control.send(&hello, Some(sleeper.doorbell()));
        let job = loop {
            match control.receive(true) {
                Some((ToRank::Welcome(job), _)) => break job,
                Some((ToRank::Die { code }, _)) => die(code),
                Some(other) => self.news.push_back(other),
                None => {}
            }
        };
        let mut sleeper = sleeper;
        sleeper.set_crowd(job.processors, job.local_ranks);
        sleeper.watch(ftmpi_wire::control::fds::CONTROL, false);
        self.sleeper = Some(sleeper);
        self.send_on = vec![None; job.size as usize];
        self.rounds = job.incarnations.iter().map(|&life| (life, 0)).collect();
        self.memories = job.protocol.uses_memory();
        self.inject = job.inject.iter().map(|i| (i.point.clone(), i.nth)).collect();
        self.job = Some(job);
    }

    /// The logger is on this computer and offers a ring: another one that cannot be opened here, or is
    /// not the one that was meant, is done without.
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

    /// For a question to the agent: what comes before its answer is news for [`Link::poll`].
    pub(crate) fn control_and_news(
        &mut self,
    ) -> (Option<&mut Control>, &mut VecDeque<(ToRank, Vec<i32>)>) {
        (self.control.as_mut(), &mut self.news)
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

    /// Takes what the agent sent.
    fn hear(&mut self) {
        URGENT.store(false, Ordering::Relaxed);
        self.until_control = CONTROL_EVERY;
        let Some(control) = &mut self.control else { return };
        while let Some(message) = control.receive(false) {
            self.news.push_back(message);
        }
    }

    fn obey<S: Sink>(&mut self, sink: &mut S, message: ToRank, passed: Vec<i32>) {
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
            ToRank::PeerRestarted { rank, host, .. } if self.memories => {
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
            ToRank::TakeImage { image } => {
                if let Some(&fd) = passed.first()
                    && let Some((old, fd)) = self.image_due.replace((image, fd))
                {
                    close(fd);
                    self.tell_refused(old, "another image was asked for before it began");
                }
            }
            ToRank::ImageCommitted { image, oldest } => sink.image_committed(image, oldest),
            ToRank::Settle => self.settle_due = true,
            ToRank::StableClocks { clocks } => sink.log_frame(event_log::Frame::Stable { clocks }),
            ToRank::ImageFailed { image } => {
                self.shared.pass(image);
                sink.image_failed(image);
            }
            ToRank::Welcome(_) => {}
            // An answer that nobody waits for.
            ToRank::Segment { .. } => passed.iter().for_each(|&fd| close(fd)),
            ToRank::AllFinalized => self.all_finalized = true,
            ToRank::AllExiting => self.all_exiting = true,
            ToRank::Die { code } => die(code),
        }
    }

    pub(crate) fn tell_refused(&mut self, image: ImageNo, why: &str) {
        self.shared.pass(image);
        if let Some(control) = &mut self.control {
            control.send(&FromRank::ImageRefused { image, why: why.to_owned() }, None);
        }
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
        URGENT.load(Ordering::Relaxed)
            || self.ways.iter().any(|way| match &way.channel {
                Channel::Shm { channel, .. } => channel.is_ready() || channel.can_go_on(),
                Channel::Tcp(_) => false,
            })
    }

    /// [`Link::rest`] where other threads may want to come in.
    #[inline(never)]
    fn rest_among_others(&mut self) {
        let Some(sleeper) = &mut self.sleeper else { return };
        let (tired, doorbell) = (sleeper.tired(), sleeper.doorbell());
        // What was done since the last rest may be what another one waits for.
        threads::tell(Some(doorbell));
        // Others change this world while we are out; the compiler must not think it knows it. The
        // engine rests only at the end of a step, and looks at everything anew in the next.
        let world = std::hint::black_box(std::ptr::from_mut(self));
        if !tired {
            threads::let_in();
            std::hint::black_box(world);
            return;
        }
        self.set_sleeping(true);
        let sleeper = self.sleeper.as_ref().expect("just seen");
        sleeper.fence();
        if !self.is_ready() {
            let ticket = sleeper.ticket();
            let limit = if self.socket_full { 1 } else { 10 };
            threads::sleep(|| ticket.sleep(limit));
            std::hint::black_box(world);
            if let Some(sleeper) = &mut self.sleeper {
                sleeper.slept();
            }
        }
        self.socket_full = false;
        self.set_sleeping(false);
        self.look_around();
    }

    /// Whatever woke us may be on the control socket or the logger's.
    fn look_around(&mut self) {
        self.until_control = 1;
        if let Some(logger) = &mut self.logger {
            logger.look_soon();
        }
    }

    fn set_sleeping(&self, sleeping: bool) {
        for way in &self.ways {
            if let Channel::Shm { channel, .. } = &way.channel {
                channel.set_sleeping(sleeping);
            }
        }
    }
}

pub(crate) fn die(code: i32) -> ! {
    // SAFETY: ends the process.
    unsafe { libc::_exit(code) }
}

pub(crate) fn fatal(what: &str, error: &dyn std::fmt::Display) -> ! {
    eprintln!("ftmpi: {what}: {error}");
    die(1)
}

impl Link for World {
    #[inline]
    fn push(&mut self, to: Rank, frame: &mut Frame) -> Push {
        let Some(index) = self.send_on[to.index()] else { return Push::Full };
        let payload: *const u8 = frame.payload.as_ptr().cast();
        match &mut self.ways[index].channel {
            Channel::Shm { channel, doorbell } => {
                // SAFETY: the engine keeps the payload where it is until the frame is done.
                let done = unsafe {
                    channel.push(&frame.header, payload, &mut frame.begun, &mut frame.sent)
                };
                if channel.must_ring() {
                    sleep::ring(*doorbell);
                }
                if done { Push::Done } else { Push::Full }
            }
            Channel::Tcp(channel) => {
                // SAFETY: as above.
                let outcome = unsafe {
                    channel.push(&frame.header, payload, &mut frame.begun, &mut frame.sent)
                };
                self.socket_full |= outcome != Outcome::Done;
                // A lost connection shows at the next poll.
                if outcome == Outcome::Done { Push::Done } else { Push::Full }
            }
        }
    }

    #[inline]
    fn eager_limit(&self, to: Rank) -> usize {
        match self.send_on[to.index()].map(|index| &self.ways[index].channel) {
            // A memory takes everything at once.
            Some(Channel::Tcp(_)) if self.memories => usize::MAX,
            Some(Channel::Tcp(_)) => EAGER_TCP,
            Some(Channel::Shm { .. }) => EAGER_SHM,
            None if self.memories => usize::MAX,
            None => EAGER_SHM,
        }
    }

    fn open(&mut self, peer: Rank, incarnation: Incarnation) {
        if self.send_on[peer.index()].is_some() {
            // It came unasked meanwhile; `channel_up` has been told.
            return;
        }
        let round = match self.rounds[peer.index()] {
            (life, round) if life == incarnation => round,
            _ => 0,
        };
        self.asked.push(peer);
        self.tell(FromRank::Open { peer, incarnation, round });
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S, first: Option<Rank>) -> bool {
        if let Some(rank) = first
            && let Some(index) = self.send_on[rank.index()]
            && self.poll_way(sink, index)
        {
            if let Some(sleeper) = &mut self.sleeper {
                sleeper.busy();
            }
            return true;
        }
        let mut came = false;
        let mut index = self.ways.len();
        while index > 0 {
            index -= 1;
            if index < self.ways.len() {
                came |= self.poll_way(sink, index);
            }
        }
        self.until_control -= 1;
        if self.until_control == 0 || URGENT.load(Ordering::Relaxed) || !self.asked.is_empty() {
            self.hear();
        }
        while let Some((message, passed)) = self.news.pop_front() {
            self.obey(sink, message, passed);
            came = true;
        }
        if let Some(logger) = &mut self.logger
            && logger.is_due()
        {
            let (mut acknowledged, mut near) = (false, None);
            let result = logger.poll(|frame| {
                acknowledged |= matches!(frame, event_log::Frame::Ack { .. });
                match frame {
                    event_log::Frame::Near { .. } => near = Some(frame),
                    frame => sink.log_frame(frame),
                }
            });

            match result {
                Ok(any) => came |= any,
                Err(_) => {
                    let fd = logger.fd();
                    self.logger = None;
                    self.unwatch(fd);
                    sink.logger_lost();
                    came = true;
                }
            }
            if let Some(event_log::Frame::Near { process, descriptor, cookie }) = near {
                self.join_event_ring(process, descriptor, cookie);
            }
            if acknowledged {
                self.point("log-acknowledged");
            }
        }
        if came && let Some(sleeper) = &mut self.sleeper {
            sleeper.busy();
        }
        came
    }

    #[inline]
    fn take_exact(
        &mut self,
        from: Rank,
        context: u16,
        tag: Option<i32>,
        into: UserPtr,
        capacity: usize,
        fresh: impl Fn(Ssn) -> bool,
    ) -> Exact {
        let Some(index) = self.send_on[from.index()] else { return Exact::Other };
        let Channel::Shm { channel, doorbell } = &mut self.ways[index].channel else {
            return Exact::Other;
        };
        if !self.inject.is_empty() {
            return Exact::Other;
        }
        // SAFETY: the engine passes the buffer of a receive that the program is waiting in.
        match unsafe { channel.take_exact(context, tag, into.as_ptr().cast(), capacity, fresh) } {
            shm::Exact::Nothing => Exact::Nothing,
            shm::Exact::Other => Exact::Other,
            shm::Exact::Took(header) => {
                if channel.take_told() && channel.must_ring() {
                    sleep::ring(*doorbell);
                }
                if let Some(sleeper) = &mut self.sleeper {
                    sleeper.busy();
                }
                Exact::Took(header)
            }
        }
    }

    fn log(&mut self, frame: &event_log::Frame) -> bool {
        let stored = match &mut self.logger {
            Some(logger) => logger.send(frame),
            None => return false,
        };
        self.point("log-sent");
        if stored {
            self.point("log-acknowledged");
        }
        stored
    }

    fn tell(&mut self, message: FromRank) {
        if let Some(control) = &mut self.control {
            control.send(&message, None);
        }
    }

    #[inline]
    fn looks(&self) -> u32 {
        self.sleeper.as_ref().map_or(LOOKS_ROOMY, Sleeper::looks)
    }

    fn rest(&mut self) {
        let Some(sleeper) = &mut self.sleeper else { return };
        if threads::on() && threads::may_let_go() {
            return self.rest_among_others();
        }
        if !sleeper.tired() {
            return;
        }
        self.set_sleeping(true);
        self.sleeper.as_ref().expect("just seen").fence();
        if !self.is_ready() {
            let sleeper = self.sleeper.as_mut().expect("just seen");
            // Nothing tells that a full socket has room again: look for it. The other limit bounds
            // what a ring of the doorbell that is missed would cost.
            sleeper.sleep(if self.socket_full { 1 } else { 10 });
        }
        self.socket_full = false;
        self.set_sleeping(false);
        self.look_around();
    }

    fn relax(&mut self) {
        if threads::on() && threads::may_let_go() {
            // As in `rest_among_others`.
            let world = std::hint::black_box(std::ptr::from_mut(self));
            threads::let_in();
            std::hint::black_box(world);
        }
        sleep::give_way();
    }

    fn clock(&mut self) -> f64 {
        // SAFETY: all-zero is valid, and the kernel fills it.
        let mut now: libc::timespec = unsafe { std::mem::zeroed() };
        // SAFETY: `now` lives over the call.
        unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut now) };
        let epoch = self.job.as_ref().map_or(self.begin, |job| job.epoch as i64);
        (now.tv_sec - epoch) as f64 + now.tv_nsec as f64 * 1e-9
    }

    fn now_ns() -> u64 {
        // SAFETY: all-zero is valid, and the kernel fills it.
        let mut now: libc::timespec = unsafe { std::mem::zeroed() };
        // SAFETY: `now` lives over the call.
        unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut now) };
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    fn point(&mut self, name: &'static str) {
        if !self.inject.is_empty() {
            come_to(&mut self.inject, name);
        }
    }

    fn abandon<S: Sink>(&mut self, sink: &mut S) {
        for (peer, header, token) in std::mem::take(&mut self.broken_off) {
            sink.aborted(peer, &header, token);
        }
        while !self.ways.is_empty() {
            self.end(sink, self.ways.len() - 1, false);
        }
        self.logger = None;
    }

    fn give_up(&mut self, why: String) -> ! {
        crate::life::abort_with(self, 1, why)
    }

    fn roll_back(&mut self, why: String) -> ! {
        self.tell(FromRank::Orphan { why });
        crate::life::wait_for_the_end(self)
    }

    fn refuse(&mut self, image: ImageNo, why: &str) {
        if let Some((_, fd)) = self.image_due.take() {
            close(fd);
            self.tell_refused(image, why);
        }
    }

    fn remind(&mut self) {
        URGENT.store(true, Ordering::Relaxed);
    }

    fn publish(&mut self, c: &Counters) {
        let page = self.status;
        page.set(word::MESSAGES_SENT, c.messages_sent);
        page.set(word::BYTES_SENT, c.bytes_sent);
        page.set(word::MESSAGES_RECEIVED, c.messages_received);
        page.set(word::BYTES_RECEIVED, c.bytes_received);
        page.set(word::DETERMINANTS, c.determinants);
        page.set(word::LOG_BYTES, c.log_bytes);
        page.set(word::LOG_BYTES_PEAK, c.log_bytes_peak);
        page.set(word::GATE_WAIT_NS, c.gate_wait_ns);
        page.set(word::GATE_WAITS, c.gate_waits);
        page.set(word::DUPLICATES, c.duplicates);
        page.set(word::RESENT, c.resent);
        page.set(word::REPLAYED, c.replayed);
        page.set(word::PIGGYBACK_BYTES, c.piggyback_bytes);
        page.set(word::PIGGYBACK_EVENTS, c.piggyback_events);
        page.set(word::PIGGYBACK_BUILD_NS, c.piggyback_build_ns);
        page.set(word::PIGGYBACK_MERGE_NS, c.piggyback_merge_ns);
        page.set(word::HELD_EVENTS, c.held_events);
        page.set(word::LOGGER_ROUND_TRIPS, c.logger_round_trips);
        page.set(word::LOGGER_ROUND_TRIP_NS, c.logger_round_trip_ns);
        page.set(word::RECOVERED_FROM_LOGGER, c.recovered_from_logger);
        page.set(word::RECOVERED_FROM_PEERS, c.recovered_from_peers);
        page.set(word::RECOVERY_NS, c.recovery_ns);
        page.set(word::CHANNEL_STATE_BYTES, c.channel_state_bytes);
        page.set(word::WAVE_WAIT_NS, c.wave_wait_ns);
        page.set(word::HELD_FRAMES, c.held_frames);
        page.set(word::PUTS_MEASURED, c.puts_measured);
        page.set(word::PUT_NS, c.put_ns);
        page.set(word::ORPHAN_MESSAGES, c.orphan_messages);
        page.set(word::STORED_NEAR, c.stored_near);
    }

    fn disk(&mut self) -> Option<&mut dyn ftmpi_core::file::disk::Disk> {
        Some(&mut self.disk)
    }

    fn tell_ends_of_calls(&mut self, wanted: bool) {
        crate::life::TELL_ENDS.store(wanted, Ordering::Relaxed);
    }

    fn share(&mut self, piece: Piece) -> Option<UserPtr> {
        self.share_piece(piece)
    }

    fn part_shared(&mut self, at: UserPtr) {
        self.share_no_more(at);
    }

    fn join_sharers(&mut self, host: &[Rank], past: ImageNo) -> bool {
        self.join_those_who_share(host, past)
    }

    fn shares(&self) -> bool {
        self.shared.any()
    }

    fn stands(&mut self, image: ImageNo) -> Readiness {
        self.shared.stand(image)
    }

    fn image_due(&self) -> Option<ImageNo> {
        self.image_due.map(|(image, _)| image)
    }

    fn settle_due(&self) -> bool {
        self.settle_due
    }

    fn settled(&mut self) {
        self.settle_due = false;
        self.tell(FromRank::Settled);
    }

    fn capture(
        &mut self,
        image: ImageNo,
        useless: &mut dyn Iterator<Item = &[u8]>,
    ) -> ftmpi_core::engine::Captured {
        crate::image::capture(self, image, useless)
    }
}
