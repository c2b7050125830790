//! The core of the channel memory: carries out what the machine decides.

use super::NAME;
use crate::message_store::{MessageStore, Unsynced};
use crate::server_process::{StorageReport, log_line};
use ftmpi_protocols::channel_memory::{Fate, Memory, Record, Say};
use ftmpi_protocols::event_log::ConnId;
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{Header, Incarnation, Rank};
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use tokio::sync::Notify;

/// Machine, files and connections.
pub(super) struct Core {
    machine: Memory,
    store: MessageStore,
    woken: HashMap<ConnId, Rc<Notify>>,
    /// Why messages cannot be written, while they cannot.
    stuck: Option<String>,
    report: StorageReport,
}

/// What is sent to a client.
pub(super) enum Out {
    Frame(Header, Vec<u8>),
    Record(Record, Rc<[u8]>),
}

impl Core {
    pub fn open(
        path: &Path,
        limit: u64,
        boot: &str,
        report: StorageReport,
    ) -> anyhow::Result<Self> {
        let mut machine = Memory::default();
        let mut store = MessageStore::open(path, limit, boot, &mut machine)?;
        store.take_lines().iter().for_each(|line| log_line(NAME, line));
        Ok(Self { machine, store, woken: HashMap::new(), stuck: None, report })
    }

    /// The answer to this client, and a signal that there is something for it.
    pub fn hello(
        &mut self,
        conn: ConnId,
        from: Rank,
        incarnation: Incarnation,
        to: Rank,
    ) -> (Welcome, Rc<Notify>) {
        let (welcome, replaced) = self.machine.hello(conn, from, incarnation, to);
        for old in replaced {
            if let Some(woken) = self.woken.remove(&old) {
                woken.notify_one();
            }
        }
        let woken = Rc::new(Notify::new());
        self.woken.insert(conn, woken.clone());
        (welcome, woken)
    }

    pub fn forget(&mut self, conn: ConnId) {
        self.machine.lost(conn);
        self.woken.remove(&conn);
    }

    /// Whether the connection is still the one that counts.
    pub fn is_open(&self, conn: ConnId) -> bool {
        self.machine.is_open(conn)
    }

    /// Takes a complete frame. `false`: the frame makes no sense.
    pub fn take(&mut self, conn: ConnId, header: &Header, payload: &[u8]) -> bool {
        match self.machine.arrived(conn, header) {
            Fate::Keep(to, record) => self.store.append(to, record, Rc::from(payload)),
            Fate::Drop => {}
            Fate::Said => {
                if let Some((to, place)) = self.machine.said(conn, header, payload) {
                    self.cut(to, place);
                }
            }
            Fate::Senseless => {
                log_line(
                    NAME,
                    format!("a rank sent a frame that no memory can use: {:?}", header.kind),
                );
                return false;
            }
        }
        true
    }

    fn cut(&mut self, to: Rank, place: u64) {
        // A new file may begin here, and its summary covers everything before.
        self.flush();
        if self.stuck.is_none()
            && let Err(error) = self.store.cut(to, place, &self.machine.summary(to))
        {
            log_line(NAME, format!("old messages of rank {to} remain: {error}"));
        }
    }

    /// Writes everything that was taken, and wakes the connections that this concerns.
    pub fn flush(&mut self) {
        let ranks: Vec<Rank> = self.store.unwritten().collect();
        let before = self.stuck.take();
        for to in ranks {
            let machine = &self.machine;
            match self.store.flush(to, || machine.summary(to)) {
                Ok(place) => {
                    for conn in self.machine.written(to, place) {
                        if let Some(woken) = self.woken.get(&conn) {
                            woken.notify_one();
                        }
                    }
                }
                Err(error) => {
                    let path = self.store.path().display();
                    self.stuck = Some(format!("{error} (in {path}; make room there)"));
                }
            }
        }
        self.store.take_lines().iter().for_each(|line| log_line(NAME, line));
        self.report.tell(self.stuck.as_deref());
        match (&before, &self.stuck) {
            (None, Some(why)) => log_line(NAME, format!("messages cannot be stored: {why}")),
            (Some(_), None) => log_line(NAME, "messages can be stored again"),
            _ => return,
        }
        self.woken.values().for_each(|woken| woken.notify_one());
    }

    /// Whether messages cannot be written.
    pub fn is_stuck(&self) -> bool {
        self.stuck.is_some()
    }

    /// What this client is to be sent next.
    ///
    /// # Errors
    /// The message cannot be read.
    pub fn next(&mut self, conn: ConnId, to: Rank) -> Result<Option<Out>, ()> {
        match self.machine.next(conn) {
            None => Ok(None),
            Some(Say::Frame(header, payload)) => Ok(Some(Out::Frame(header, payload))),
            Some(Say::Record(place)) => match self.store.take(to, place) {
                Ok((record, payload)) => Ok(Some(Out::Record(record, payload))),
                Err(error) => {
                    log_line(NAME, format!("message {place} to rank {to} cannot be read: {error}"));
                    Err(())
                }
            },
        }
    }

    pub fn take_unsynced(&mut self) -> Unsynced {
        self.store.take_unsynced()
    }

    /// These files could not be made durable.
    pub fn put_back_unsynced(&mut self, unsynced: &Unsynced) {
        self.store.put_back_unsynced(unsynced);
    }

    /// Bytes of all messages in files.
    pub fn file_bytes(&self) -> u64 {
        self.store.sizes().0
    }

    pub fn status(&self) -> serde_json::Value {
        let counts = self.store.counts();
        let (stored, held) = self.store.sizes();
        let ranks: Vec<_> = self
            .machine
            .ranks()
            .map(|(rank, cut, last)| serde_json::json!({"rank": rank, "cut": cut, "last": last}))
            .collect();
        serde_json::json!({
            "records": counts.records,
            "bytes": counts.bytes,
            "spilled_bytes": counts.spilled,
            "reread_bytes": counts.reread,
            "file_bytes": stored,
            "held_bytes": held,
            "connections": self.woken.len(),
            "stuck": self.stuck,
            "ranks": ranks,
        })
    }
}
