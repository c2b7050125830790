//! The log of one rank: which events are there, how safe they are, and what is damaged.

use super::{ConnId, Found, Output, Promise, RankState};
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};

/// `base ≤ stored + 1`, `durable ≤ written ≤ stored`.
#[derive(Debug)]
pub(super) struct Log {
    pub incarnation: Incarnation,
    pub conn: Option<ConnId>,
    /// First event that is kept.
    pub base: EventNo,
    /// Last event that was given to the shell.
    pub stored: EventNo,
    /// Last event in the file.
    pub written: EventNo,
    /// Last event on stable storage.
    pub durable: EventNo,
    /// Events after `stored` were lost by damage; which ones is unknown.
    damage: Option<String>,
    /// Why events before `base` are missing, if they were not pruned.
    lost: Option<String>,
    /// The last write failed: the next incarnation or connection must see one succeed.
    pub trouble: Option<String>,
    /// This incarnation cannot be served any more.
    pub refusal: Option<String>,
}

impl Log {
    pub fn new(incarnation: Incarnation) -> Self {
        let (base, last) = (EventNo(1), EventNo(0));
        Self::restored(Found { incarnation, base, last, damage: None, lost: None })
    }

    pub fn restored(found: Found) -> Self {
        let last = found.last.max(EventNo(found.base.0.saturating_sub(1)));
        Self {
            incarnation: found.incarnation,
            conn: None,
            base: found.base,
            stored: last,
            written: last,
            durable: EventNo(found.base.0.saturating_sub(1)),
            damage: found.damage,
            lost: found.lost,
            trouble: None,
            refusal: None,
        }
    }

    pub fn state(&self, rank: Rank) -> RankState {
        let problems = [&self.refusal, &self.trouble, &self.damage, &self.lost];
        RankState {
            rank,
            incarnation: self.incarnation,
            connected: self.conn.is_some(),
            base: self.base,
            written: self.written,
            durable: self.durable,
            problem: problems.into_iter().flatten().next().cloned(),
        }
    }

    /// The last event that may be acknowledged as safe.
    pub fn promised(&self, promise: Promise) -> EventNo {
        match promise {
            Promise::Written => self.written,
            Promise::Durable => self.durable,
        }
    }

    pub fn acknowledge(&self, promise: Promise, out: &mut Vec<Output>) {
        if let Some(conn) = self.conn {
            let written = self.promised(promise);
            out.push(Output::Ack { conn, written, durable: self.durable });
        }
    }

    /// Adds records that follow directly; with none, acknowledges what is there.
    pub fn extend(
        &mut self,
        rank: Rank,
        first: EventNo,
        records: Vec<Determinant>,
        promise: Promise,
        out: &mut Vec<Output>,
    ) {
        if records.is_empty() {
            return self.acknowledge(promise, out);
        }
        debug_assert_eq!(first, self.stored.next());
        if let Some(damage) = self.damage.take() {
            // The rank sends all that it does not know to be durable: nothing behind is missing.
            out.push(Output::Say {
                text: format!("rank {rank} sent again what its log had lost ({damage})"),
            });
        }
        self.stored = EventNo(self.stored.0 + records.len() as u64);
        out.push(Output::Append { rank, incarnation: self.incarnation, first, records });
    }

    /// The rank goes on at `first`, behind a gap. Tolerable only if it is the log that lost events.
    pub fn jump(
        &mut self,
        rank: Rank,
        first: EventNo,
        out: &mut Vec<Output>,
    ) -> Result<(), LogError> {
        let next = self.stored.next();
        let never_had_any = self.base == EventNo(1) && self.stored == EventNo(0);
        let because = match self.damage.take() {
            Some(damage) => damage,
            None if never_had_any => "it was removed".into(),
            None => return Err(LogError::Gap { rank, first, next }),
        };
        let text = format!(
            "the event log of rank {rank} lost the events from {next} to before {first} \
             ({because}); the rank goes on, but can be restarted only after its next two images"
        );
        out.push(Output::Say { text: text.clone() });
        self.lost = Some(text);
        self.begin_at(rank, first, out);
        Ok(())
    }

    pub fn prune(&mut self, rank: Rank, below: EventNo, out: &mut Vec<Output>) {
        if below > self.stored.next() {
            // More than there is: what was lost is not needed.
            self.damage = None;
            self.lost = None;
            self.begin_at(rank, below, out);
        } else if below > self.base {
            self.lost = None;
            self.base = below;
            // An image that is durable has taken their place: they are as safe as can be.
            let last = EventNo(below.0 - 1);
            self.written = self.written.max(last);
            self.durable = self.durable.max(last);
            out.push(Output::Prune { rank, below });
        }
    }

    fn begin_at(&mut self, rank: Rank, first: EventNo, out: &mut Vec<Output>) {
        self.base = first;
        let last = EventNo(first.0 - 1);
        (self.stored, self.written, self.durable) = (last, last, last);
        out.push(Output::Restart { rank, first });
    }

    /// The number after the last event, if all from `from` on are there.
    pub fn fetch(&self, rank: Rank, from: EventNo) -> Result<EventNo, LogError> {
        let next = self.stored.next();
        if from < self.base {
            return Err(match &self.lost {
                Some(lost) => LogError::Lost(lost.clone()),
                None => LogError::Pruned { rank, base: self.base, from },
            });
        }
        if let Some(damage) = &self.damage {
            let damage = damage.clone();
            return Err(LogError::Damaged { rank, last: self.stored, damage });
        }
        if from > next {
            return Err(LogError::TooShort { rank, next, from });
        }
        Ok(next)
    }
}

/// Why a log cannot serve its rank.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The rank left events out.
    #[error(
        "rank {rank} sends event {first}, but {next} is the next one: events were lost on their way"
    )]
    Gap {
        /// The rank of the log.
        rank: Rank,
        /// The event that came.
        first: EventNo,
        /// The event that was to come.
        next: EventNo,
    },
    /// The log lost events; the text was reported when it did.
    #[error("{0}")]
    Lost(String),
    /// The events were pruned.
    #[error(
        "the event log of rank {rank} begins at event {base}, but its restart needs event {from}: \
         the image is older than those that are offered"
    )]
    Pruned {
        /// The rank of the log.
        rank: Rank,
        /// Its first event.
        base: EventNo,
        /// The first event that is needed.
        from: EventNo,
    },
    /// The file of the log is damaged.
    #[error(
        "the event log of rank {rank} is damaged behind event {last}: {damage}; the rank cannot be \
         restarted"
    )]
    Damaged {
        /// The rank of the log.
        rank: Rank,
        /// The last event that can be read.
        last: EventNo,
        /// One line.
        damage: String,
    },
    /// The log ends too early.
    #[error(
        "the event log of rank {rank} ends before event {next}, but its image needs event {from} to \
         be there: was the log removed or exchanged?"
    )]
    TooShort {
        /// The rank of the log.
        rank: Rank,
        /// The event behind its last one.
        next: EventNo,
        /// The first event that is needed.
        from: EventNo,
    },
}
