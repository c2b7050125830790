//! Ranks that wait for a server: their event logger does not serve them, a server cannot store what
//! they send, or a server does not answer at all. It is reported once and waited for, but not for
//! ever: the patience is one for every server. Then the job ends with the code of a job that can be
//! continued.
//!
//! A rank that cannot log waits before it sends and loses nothing. The remedy is outside (room on a
//! disk, a host that comes back). The user therefore hears of the obstacle at once. If the obstacle
//! is not removed in time, the job ends, and events and images are kept.

use super::{Dispatcher, EndReason, NetworkEnd, NetworkNotice, Notice, SUSPENDED};
use ftmpi_wire::{Incarnation, Rank};
use std::collections::BTreeMap;
use std::time::Duration;

/// Who waits since when, and why.
#[derive(Debug, Default)]
pub(super) struct LoggerTrouble {
    waiting: BTreeMap<Rank, (Duration, String)>,
    /// Servers that cannot store: since when, their names, and why.
    stuck: BTreeMap<u32, (Duration, String, String)>,
    /// Servers that do not answer: as above.
    away: BTreeMap<u32, (Duration, String, String)>,
}

impl Dispatcher {
    pub(super) fn logger_trouble(
        &mut self,
        rank: Rank,
        incarnation: Incarnation,
        why: String,
        for_good: bool,
    ) {
        // The next incarnation of a rank that is to end needs the same.
        let is_next = for_good && self.is_stopping(rank, incarnation);
        if !is_next && self.living(rank, incarnation).is_none() {
            return;
        }
        let host = self.host_name(rank).to_owned();
        if for_good {
            return self.give_up(1, EndReason::LoggerRefuses { rank, host, why });
        }
        if self.logger_trouble.waiting.is_empty() {
            let (why, patience) = (why.clone(), self.settings.storage_patience);
            self.notify(Notice::LoggerAway { rank, host, why, patience });
        }
        self.logger_trouble.waiting.entry(rank).or_insert((self.now, String::new())).1 = why;
    }

    pub(super) fn logger_back(&mut self, rank: Rank, incarnation: Incarnation) {
        if self.living(rank, incarnation).is_none() {
            return;
        }
        let waiting = &mut self.logger_trouble.waiting;
        if waiting.remove(&rank).is_some() && waiting.is_empty() {
            self.notify(Notice::LoggerBack);
        }
    }

    pub(super) fn storage_trouble(&mut self, server: u32, name: String, why: String) {
        let patience = self.settings.storage_patience;
        if self.logger_trouble.stuck.is_empty() {
            let (server, why) = (name.clone(), why.clone());
            self.notify(Notice::StorageAway { server, why, patience });
        }
        let known = self.logger_trouble.stuck.entry(server);
        known.or_insert((self.now, name, String::new())).2 = why;
    }

    pub(super) fn storage_back(&mut self, server: u32) {
        let stuck = &mut self.logger_trouble.stuck;
        if stuck.remove(&server).is_some() && stuck.is_empty() {
            self.notify(Notice::StorageBack);
        }
    }

    pub(super) fn server_away(&mut self, server: u32, name: String, why: String) {
        let patience = self.settings.storage_patience;
        if !self.logger_trouble.away.contains_key(&server) {
            let (server, why) = (name.clone(), why.clone());
            self.notify(Notice::Network(NetworkNotice::ServerAway { server, why, patience }));
        }
        let known = self.logger_trouble.away.entry(server);
        known.or_insert((self.now, name, String::new())).2 = why;
    }

    pub(super) fn server_back(&mut self, server: u32) {
        if let Some((_, server, _)) = self.logger_trouble.away.remove(&server) {
            self.notify(Notice::Network(NetworkNotice::ServerBack { server }));
        }
    }

    /// An incarnation that has ended waits for nothing.
    pub(super) fn waits_no_more(&mut self, rank: Rank) {
        self.logger_trouble.waiting.remove(&rank);
    }

    pub(super) fn look_at_logger_trouble(&mut self) {
        let patience = self.settings.storage_patience;
        let is_over = |since: &Duration| self.now >= since.saturating_add(patience);
        let mut stuck = self.logger_trouble.stuck.values();
        if let Some((_, server, why)) = stuck.find(|(since, ..)| is_over(since)) {
            let (server, why) = (server.clone(), why.clone());
            return self.give_up(SUSPENDED, EndReason::StorageSilent { server, why, patience });
        }
        // The host of a server says more than the ranks that wait for it.
        let mut away = self.logger_trouble.away.values();
        if let Some((_, server, why)) = away.find(|(since, ..)| is_over(since)) {
            let (server, why) = (server.clone(), why.clone());
            let reason = NetworkEnd::ServerLost { server, why, patience };
            return self.give_up(SUSPENDED, EndReason::Network(reason));
        }
        let waiting = self.logger_trouble.waiting.iter();
        let over = waiting.filter(|(_, (since, _))| is_over(since));
        let Some((&rank, (_, why))) = over.min_by_key(|(_, (since, _))| *since) else { return };
        let (host, why) = (self.host_name(rank).to_owned(), why.clone());
        self.give_up(SUSPENDED, EndReason::LoggerSilent { rank, host, why, patience });
    }
}
