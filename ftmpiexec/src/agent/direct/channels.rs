//! Channels for ranks that another launcher started: shared segments within this host, sockets to
//! the other hosts.
//!
//! Guarantees: as those of the broker of jobs under ftmpiexec; every rank has one incarnation.

use super::{Event, NodeAgent, RankSocket, links};
use crate::agent::page::sealed_memfd;
use crate::tuning::{CALLER_WAIT_LIMIT, RETRY_FIRST, RETRY_MOST};
use ftmpi_transport::auth::Authenticated;
use ftmpi_transport::shm::segment_bytes;
use ftmpi_wire::control::{ChannelKind, ToRank};
use ftmpi_wire::hello::Purpose;
use ftmpi_wire::{Incarnation, Rank};
use std::collections::HashSet;
use std::io;
use std::time::{Duration, Instant};

/// What was asked for and made.
#[derive(Debug, Default)]
pub struct Channels {
    /// Requests within this host for ranks that have not said hello.
    waiting: Vec<(Rank, Rank)>,
    /// Pairs, smaller rank first, that have their segment.
    joined: HashSet<(Rank, Rank)>,
    /// Connections that are being made.
    connecting: HashSet<(Rank, Rank, u32)>,
    /// Callers from other hosts for ranks that have not said hello.
    callers: Vec<(Instant, Authenticated)>,
}

impl NodeAgent {
    /// A rank of this host wants a channel.
    pub(super) fn open(&mut self, from: Rank, to: Rank, round: u32) {
        let Some(&host) = self.hosts.host_of.get(to.index()) else { return };
        if from == to {
            return;
        }
        if host != self.host {
            if self.channels.connecting.insert((from, to, round)) {
                let addresses = self.agents[host as usize].clone();
                let (key, events) = (self.key.clone(), self.events.clone());
                tokio::spawn(links::connect_peer((from, to, round), addresses, key, events));
            }
            return;
        }
        if self.has_said_hello(to) {
            self.join(from, to, RETRY_FIRST);
        } else {
            self.channels.waiting.push((from, to));
        }
    }

    fn has_said_hello(&self, rank: Rank) -> bool {
        self.members.get(&rank).is_some_and(|member| member.doorbell.is_some())
    }

    /// A rank of this host has said hello: serves the requests that waited for it.
    pub(super) fn serve_those_that_waited(&mut self, rank: Rank) {
        for (from, to) in std::mem::take(&mut self.channels.waiting) {
            self.open(from, to, 0);
        }
        debug_assert!(self.has_said_hello(rank));
        self.look_at_callers();
    }

    /// Makes one segment for both ranks, unless they have one. If that is impossible now, another
    /// attempt follows after a pause.
    pub(super) fn join(&mut self, from: Rank, to: Rank, pause: Duration) {
        let (first, second) = (from.min(to), from.max(to));
        if self.channels.joined.contains(&(first, second)) {
            return;
        }
        match self.try_join(first, second) {
            Ok(()) => {}
            // A limit that another attempt meets, too.
            Err(e) if e.kind() == io::ErrorKind::FileTooLarge => self.fail(e.to_string()),
            Err(e) => {
                if pause == RETRY_FIRST {
                    eprintln!("ftmpi: ranks {first} and {second} cannot share memory yet: {e}");
                }
                let again = Event::Join { from, to, pause: (pause * 2).min(RETRY_MOST) };
                links::later(again, pause, self.events.clone());
            }
        }
    }

    fn try_join(&mut self, first: Rank, second: Rank) -> io::Result<()> {
        let get = |rank| self.members.get(rank);
        let (Some(a), Some(b)) = (get(&first), get(&second)) else { return Ok(()) };
        let (Some(bell_a), Some(bell_b)) = (&a.doorbell, &b.doorbell) else { return Ok(()) };
        let segment = sealed_memfd("ftmpi-channel", segment_bytes(self.local_ranks) as u64)?;
        let channel = |peer, first| ToRank::Channel {
            peer,
            incarnation: Incarnation(0),
            kind: ChannelKind::SharedMemory { first },
        };
        let for_a = vec![segment.try_clone()?, bell_b.try_clone()?];
        let for_b = vec![segment, bell_a.try_clone()?];
        a.send(&channel(second, true), for_a);
        b.send(&channel(first, false), for_b);
        self.channels.joined.insert((first, second));
        Ok(())
    }

    /// Gives a rank the socket to its peer.
    pub(super) fn hand_over(&mut self, socket: RankSocket) {
        let RankSocket { rank, peer, round, socket } = socket;
        self.channels.connecting.remove(&(rank, peer, round));
        if let Some(member) = self.members.get(&rank) {
            let kind = ChannelKind::Tcp { round };
            let channel = ToRank::Channel { peer, incarnation: Incarnation(0), kind };
            member.send(&channel, vec![socket]);
        }
    }

    /// Another agent calls.
    pub(super) fn incoming(&mut self, caller: Authenticated) {
        match caller.purpose {
            Purpose::Agent { host } => self.agent_calls(caller, host),
            Purpose::Channel { .. } => {
                self.channels.callers.push((Instant::now(), caller));
                self.look_at_callers();
            }
            _ => links::refuse(caller, "this is an agent: only channels are made here".into()),
        }
    }

    /// Answers the callers whose ranks are there by now, or do not come.
    pub(super) fn look_at_callers(&mut self) {
        for (since, caller) in std::mem::take(&mut self.channels.callers) {
            let Purpose::Channel { from, to, round, .. } = caller.purpose else { continue };
            let here = self.hosts.host_of.get(to.index()) == Some(&self.host);
            if !here || from.index() >= self.hosts.host_of.len() {
                links::refuse(caller, "there is no such rank".into());
            } else if self.has_said_hello(to) {
                links::welcome(caller, (to, from, round), self.events.clone());
            } else if since.elapsed() < CALLER_WAIT_LIMIT {
                self.channels.callers.push((since, caller));
            } else {
                links::refuse(caller, format!("rank {to} is not there yet"));
            }
        }
    }
}
