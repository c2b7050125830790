//! The [`Link`] of the engine: frames to and from peers, the logger, the agent, the clock, sleep.

use super::channels::{Channel, ChannelReceiver};
use super::notes::ChannelNotes;
use super::{World, reach_point};
use crate::attention::{REPORT_CALL_ENDS, URGENT, WAIT_IS_SHOWN, at_call_end, call};
use crate::call_trace;
use crate::control::close;
use crate::logger::Logger;
use crate::sleep::{self, Sleeper};
use crate::threads;
use crate::tuning::LOOKS_ROOMY;
use ftmpi_core::engine::{Changes, Counters, DirectReceive, Exact, Frame, Link, Piece, Push, Sink};
use ftmpi_core::usermem::UserPtr;
use ftmpi_protocols::protocol::Readiness;
use ftmpi_transport::{shm, tcp};
use ftmpi_wire::control::FromRank;
use ftmpi_wire::job_status::WaitReason;
use ftmpi_wire::new_processes::{JobAnswer, JobQuestion};
use ftmpi_wire::status::word;
use ftmpi_wire::waiting::Waiting;
use ftmpi_wire::{ImageNo, Incarnation, Rank, Ssn, event_log};
use std::sync::atomic::Ordering;

impl Link for World {
    #[inline]
    fn push(&mut self, to: Rank, frame: &mut Frame) -> Push {
        let pushed = self.peers.push(to, frame);
        if pushed == Push::Done {
            threads::news();
            if self.notes.is_some() {
                self.note_sent(to, frame);
            }
        }
        pushed
    }

    fn withdraw(&mut self, to: Rank) -> bool {
        match self.peers.sender(to).map(|index| &mut self.peers.channels[index].channel) {
            Some(Channel::Shm { channel, .. }) => channel.withdraw(),
            _ => true,
        }
    }

    #[inline]
    fn eager_limit(&self, to: Rank) -> usize {
        match self.peers.sender(to).map(|index| &self.peers.channels[index].channel) {
            Some(Channel::Shm { .. }) => shm::EAGER_MAX,
            // A memory takes everything at once.
            _ if self.peers.are_memories() => usize::MAX,
            _ => tcp::EAGER_MAX,
        }
    }

    fn open(&mut self, peer: Rank, incarnation: Incarnation) {
        if self.peers.sender(peer).is_some() {
            // The channel came unasked meanwhile, and was reported by `channel_up`.
            return;
        }
        let round = self.peers.round_of(peer, incarnation);
        self.peers.ask(peer);
        self.notify_agent(FromRank::Open { peer, incarnation, round });
    }

    #[inline]
    fn poll<S: Sink>(&mut self, sink: &mut S, first: Option<Rank>) -> bool {
        if let Some(rank) = first
            && let Some(index) = self.peers.sender(rank)
            && self.poll_channel(sink, index)
        {
            threads::news();
            if let Some(sleeper) = &mut self.sleeper {
                sleeper.busy();
            }
            return true;
        }
        self.poll_others(sink, None)
    }

    fn poll_others<S: Sink>(&mut self, sink: &mut S, except: Option<Rank>) -> bool {
        let mut came = false;
        let mut index = self.peers.channels.len();
        while index > 0 {
            index -= 1;
            if self.peers.channels.get(index).is_some_and(|way| Some(way.peer) != except) {
                came |= self.poll_channel(sink, index);
            }
        }
        let is_time = self.agent.step();
        let has_agent_news = self.agent.has_sent(&self.status) || URGENT.load(Ordering::Relaxed);
        if has_agent_news || is_time || self.peers.waits_for_channels() {
            self.agent.read(&self.status);
        }
        while let Some((message, passed)) = self.agent.next_news() {
            self.handle_news(sink, message, passed);
            came = true;
        }
        if self.logger.as_mut().is_some_and(Logger::is_due) {
            came |= self.poll_logger(sink);
        }
        if came {
            threads::news();
            if let Some(sleeper) = &mut self.sleeper {
                sleeper.busy();
            }
        }
        came
    }

    fn poll_logger<S: Sink>(&mut self, sink: &mut S) -> bool {
        let Some(logger) = &mut self.logger else { return false };
        let (mut came, mut acknowledged, mut near) = (false, false, None);
        let result = logger.poll(|frame| {
            acknowledged |= matches!(frame, event_log::Frame::Ack { .. });
            match frame {
                event_log::Frame::EventRing { .. } => near = Some(frame),
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
        if let Some(event_log::Frame::EventRing { process, descriptor, cookie }) = near {
            self.join_event_ring(process, descriptor, cookie);
        }
        if acknowledged {
            self.point("log-acknowledged");
        }
        came
    }

    fn take_expected<S: Sink>(&mut self, sink: &mut S, from: Rank) {
        let Some(index) = self.peers.sender(from) else { return };
        threads::news();
        let way = &mut self.peers.channels[index];
        let notes = self.notes.as_mut().map(|notes| ChannelNotes::new(notes, way.incarnation));
        let mut receiver = ChannelReceiver { from, sink, inject: &mut self.inject, notes };
        if let Channel::Shm { channel, doorbell } = &mut way.channel
            && channel.poll_expected(&mut receiver)
            && channel.must_ring_for_room()
        {
            sleep::ring(*doorbell);
        }
    }

    #[inline]
    fn take_exact(&mut self, receive: &DirectReceive, fresh: impl Fn(Ssn) -> bool) -> Exact {
        let DirectReceive { from, context, tag, into, capacity, blocks } = *receive;
        let Some(index) = self.peers.sender(from) else { return Exact::Other };
        let Channel::Shm { channel, doorbell } = &mut self.peers.channels[index].channel else {
            return Exact::Other;
        };
        if !self.inject.is_empty() || self.notes.is_some() {
            return Exact::Other;
        }
        // SAFETY: the engine passes the buffer of a receive that the program is waiting in.
        let came = unsafe {
            channel.take_exact(context, tag, into.as_ptr().cast(), capacity, blocks, fresh)
        };
        if let Exact::Took(_) = came {
            if channel.must_ring_for_room() {
                sleep::ring(*doorbell);
            }
            if let Some(sleeper) = &mut self.sleeper {
                sleeper.busy();
            }
        }
        came
    }

    fn log(&mut self, frame: &event_log::Frame) -> bool {
        let stored = match &mut self.logger {
            Some(logger) => logger.send(frame),
            None => return false,
        };
        if let (true, event_log::Frame::Append { first, records, .. }) =
            (self.notes.is_some(), frame)
            && !records.is_empty()
        {
            call_trace::logged(records.len(), first.0 + records.len() as u64 - 1);
        }
        self.point("log-sent");
        if stored {
            self.point("log-acknowledged");
        }
        stored
    }

    fn may_ask_job(&self) -> Result<(), String> {
        self.may_ask()
    }

    fn may_join(&self) -> Result<(), String> {
        self.may_join_by_socket()
    }

    fn ask_job(&mut self, lane: u32, question: JobQuestion) -> Result<u64, String> {
        self.ask(lane, question)
    }

    fn take_answer(&mut self, number: u64) -> Option<JobAnswer> {
        self.answer_to(number)
    }

    fn job_number(&self) -> u64 {
        self.job.as_ref().map_or(0, |job| job.job)
    }

    fn notify_agent(&mut self, message: FromRank) {
        self.agent.send(&message);
    }

    #[inline]
    fn looks(&self) -> u32 {
        self.sleeper.as_ref().map_or(LOOKS_ROOMY, Sleeper::looks)
    }

    #[inline]
    fn looks_between(&self) -> u32 {
        // Other threads come in at rests only.
        if threads::on() { 1 } else { self.looks() }
    }

    fn rest(&mut self) {
        if threads::on() && threads::may_let_go() {
            return self.rest_among_others();
        }
        self.wait.in_vain = false;
        let Some(sleeper) = &mut self.sleeper else { return };
        if !sleeper.tired() {
            return self.note_wait();
        }
        self.peers.set_sleeping(true);
        self.sleeper.as_ref().expect("just seen").fence();
        if !self.is_ready() {
            let limit = self.sleep_limit();
            let came = self.sleeper.as_mut().expect("just seen").sleep(limit);
            self.wait.slept(came);
        }
        self.peers.socket_full = false;
        self.peers.set_sleeping(false);
        // Another thread may sleep on the doorbell, which nobody rings any more.
        threads::news();
        self.note_wait();
        self.look_around();
    }

    fn slept_in_vain(&self) -> bool {
        self.wait.in_vain
    }

    fn rest_briefly(&mut self) {
        self.brief = true;
    }

    fn has_idle_processor(&self) -> bool {
        // Other threads come in at rests only. Where ranks share processors, others have had their
        // turn when a rank has slept and nothing came.
        let roomy = self.sleeper.as_ref().is_some_and(Sleeper::is_roomy);
        (roomy || self.wait.in_vain) && !threads::on()
    }

    fn touch(&mut self, memory: &mut [u8], small: bool) {
        if small {
            crate::touch::want_small_pages(memory);
        }
        crate::touch::touch(memory);
    }

    fn publish_wait(&mut self, waiting: Waiting, progress: u64) {
        let call = call().to_owned();
        call_trace::waits_for(&waiting.peers);
        // Another thread may do something for others.
        let waiting = match threads::others_may_come_in() {
            true => Waiting { reason: WaitReason::Other, call, ..waiting },
            false => Waiting { call, ..waiting },
        };
        self.wait.show(self.status, waiting, progress, Self::now_ns());
        at_call_end(WAIT_IS_SHOWN, true);
    }

    fn gate_waited(&mut self, to: Rank, waited_ns: u64) {
        call_trace::gate(to.0, waited_ns);
    }

    fn give_turn(&mut self) -> bool {
        let has_agent_news = self.agent.has_sent(&self.status) || URGENT.load(Ordering::Relaxed);
        let is_wanted = has_agent_news || self.agent.wants_something();
        !is_wanted && !threads::on() && self.sleeper.as_mut().is_some_and(Sleeper::give_turn)
    }

    fn relax(&mut self) {
        if threads::on() && threads::may_let_go() {
            // As in `rest_among_others`.
            let world = std::hint::black_box(std::ptr::from_mut(self));
            threads::let_in();
            std::hint::black_box(world);
        }
        self.wait.polls += 1;
        self.status.set(word::POLLS, self.wait.polls);
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
            reach_point(&mut self.inject, name);
        }
    }

    fn abandon<S: Sink>(&mut self, sink: &mut S) {
        for (peer, header, token) in self.peers.take_broken_off() {
            sink.aborted(peer, &header, token);
        }
        while !self.peers.channels.is_empty() {
            self.end(sink, self.peers.channels.len() - 1, false);
        }
        self.logger = None;
        shm::begin_incarnation();
    }

    fn give_up(&mut self, why: String) -> ! {
        crate::abort::abort_with(self, 1, why)
    }

    fn roll_back(&mut self, why: String, before: Option<ImageNo>) -> ! {
        self.notify_agent(FromRank::Orphan { why, before });
        crate::abort::wait_for_the_end(self)
    }

    fn refuse(&mut self, image: ImageNo, why: &str) {
        if let Some((_, fd)) = self.agent.image_due.take() {
            close(fd);
            self.report_refused_image(image, why);
        }
    }

    fn remind(&mut self) {
        URGENT.store(true, Ordering::Relaxed);
    }

    fn publish(&mut self, counters: &Counters) {
        let page = self.status;
        counters.store(|index, value| page.set(index, value));
    }

    fn disk(&mut self) -> Option<&mut dyn ftmpi_core::file::disk::Disk> {
        Some(self)
    }

    fn report_call_ends(&mut self, wanted: bool) {
        at_call_end(REPORT_CALL_ENDS, wanted);
    }

    fn share(&mut self, piece: Piece) -> Option<UserPtr> {
        self.share_piece(piece)
    }

    fn part_shared(&mut self, at: UserPtr) {
        self.share_no_more(at);
    }

    fn join_shared_memory(&mut self, host: &[Rank], past: ImageNo) -> bool {
        self.join_those_who_share(host, past)
    }

    fn thread(&self) -> u32 {
        self.boot.as_ref().map_or(0, crate::boot::Boot::thread)
    }

    fn keep_threads_out(&mut self, keep: bool) -> bool {
        threads::keep(keep)
    }

    fn others_may_go_on(&mut self) {
        threads::news();
    }

    fn shares(&self) -> bool {
        self.shared.any()
    }

    fn stands(&mut self, image: ImageNo) -> Readiness {
        self.shared.stand(image)
    }

    fn image_due(&self) -> Option<ImageNo> {
        self.agent.image_due.map(|(image, _)| image)
    }

    fn settle_due(&self) -> bool {
        self.agent.settle_due
    }

    fn settled(&mut self) {
        self.agent.settle_due = false;
        self.notify_agent(FromRank::Settled);
    }

    fn capture(
        &mut self,
        image: ImageNo,
        useless: &mut dyn Iterator<Item = &[u8]>,
    ) -> ftmpi_core::engine::Captured {
        crate::image::capture(self, image, useless)
    }

    fn changes_since(&mut self, known: usize) -> Changes {
        self.job.as_ref().map_or_else(Changes::default, |job| Changes {
            joined: job.node_of.get(known..).unwrap_or_default().to_vec(),
            gone: job.gone.clone(),
        })
    }
}
