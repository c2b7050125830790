//! The event logger's machine with a file that is a vector.

use ftmpi_protocols::event_log::{ConnId, EventLog, Input, Output};
use ftmpi_wire::event_log::{Frame, RECORDS_MAX};
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank};
use std::collections::BTreeMap;

/// Something for a life of a rank: a frame, or the end of its connection.
pub struct Answer {
    /// For whom.
    pub rank: Rank,
    /// In which life.
    pub incarnation: Incarnation,
    /// `None`: the connection is closed.
    pub frame: Option<Frame>,
}

/// A logger.
#[derive(Default)]
pub struct Logger {
    machine: EventLog,
    files: BTreeMap<Rank, (EventNo, Vec<Determinant>)>,
    connections: BTreeMap<ConnId, (Rank, Incarnation)>,
    next: u64,
}

impl Logger {
    /// A rank connects; frames for it come out of later calls under this number.
    pub fn connect(&mut self, rank: Rank, incarnation: Incarnation) -> (ConnId, Vec<Answer>) {
        self.next += 1;
        let conn = ConnId(self.next);
        self.connections.insert(conn, (rank, incarnation));
        let frames = self.handle(Input::Hello { conn, rank, incarnation });
        (conn, frames)
    }

    /// A frame of a rank.
    pub fn frame(&mut self, conn: ConnId, frame: Frame) -> Vec<Answer> {
        self.handle(Input::Frame { conn, frame })
    }

    /// A connection ended.
    pub fn lost(&mut self, conn: ConnId) -> Vec<Answer> {
        let answers = self.handle(Input::Lost { conn });
        self.connections.remove(&conn);
        answers
    }

    /// Every event that is stored of a rank.
    #[must_use]
    pub fn stored(&self, rank: Rank) -> u64 {
        self.files.get(&rank).map_or(0, |(first, records)| first.0 - 1 + records.len() as u64)
    }

    fn handle(&mut self, input: Input) -> Vec<Answer> {
        let mut frames = Vec::new();
        let mut inputs = vec![input];
        while !inputs.is_empty() {
            let mut outputs = Vec::new();
            for input in inputs.drain(..) {
                self.machine.handle(input, &mut outputs);
            }
            for output in outputs {
                match output {
                    Output::Fence { conn, .. } => {
                        inputs.push(Input::Fenced { conn, outcome: Ok(()) });
                    }
                    Output::Append { rank, first, records, .. } => {
                        let file = self.files.entry(rank).or_insert((first, Vec::new()));
                        assert_eq!(file.0.0 + file.1.len() as u64, first.0, "a hole in the log");
                        file.1.extend(records);
                        let up_to = EventNo(file.0.0 + file.1.len() as u64 - 1);
                        inputs.push(Input::Written { rank });
                        inputs.push(Input::Durable { rank, up_to });
                    }
                    Output::Compare { conn, rank, first, records } => {
                        let file = &self.files[&rank];
                        let at = (first.0 - file.0.0) as usize;
                        let same = file.1[at..at + records.len()] == records[..];
                        inputs.push(Input::Compared { conn, outcome: Ok(same) });
                    }
                    Output::Ack { conn, written, durable } => {
                        frames.push((conn, Some(Frame::Ack { written, durable })));
                    }
                    Output::Stream { conn, rank, from, next } => {
                        let none = (EventNo(1), Vec::new());
                        let file = self.files.get(&rank).unwrap_or(&none);
                        let begin = (from.0.max(file.0.0) - file.0.0) as usize;
                        let end = (next.0.max(file.0.0) - file.0.0) as usize;
                        let mut first = from;
                        for records in file.1[begin..end].chunks(RECORDS_MAX) {
                            let count = records.len() as u64;
                            let records = records.to_vec();
                            frames.push((conn, Some(Frame::Events { first, records })));
                            first = EventNo(first.0 + count);
                        }
                        frames.push((conn, Some(Frame::End { next })));
                    }
                    Output::Prune { rank, below } => {
                        if let Some(file) = self.files.get_mut(&rank) {
                            let cut = (below.0.saturating_sub(file.0.0) as usize).min(file.1.len());
                            file.1.drain(..cut);
                            file.0 = EventNo(file.0.0 + cut as u64);
                        }
                    }
                    Output::Restart { rank, first } => {
                        self.files.insert(rank, (first, Vec::new()));
                    }
                    Output::Refuse { conn } => frames.push((conn, Some(Frame::Refused))),
                    Output::Close { conn, .. } => frames.push((conn, None)),
                    Output::Welcome { .. } | Output::Say { .. } => {}
                }
            }
        }
        let whose = |conn| self.connections.get(&conn).copied();
        frames
            .into_iter()
            .filter_map(|(conn, frame)| {
                let (rank, incarnation) = whose(conn)?;
                Some(Answer { rank, incarnation, frame })
            })
            .collect()
    }
}
