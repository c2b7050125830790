//! The state of a checkpoint server that all connections share.

use super::disk::Disk;
use super::object_tier::flush::Flusher;
use super::turns::Turns;
use crate::server_process;
use ftmpi_protocols::image_catalogue::{ConnId, Event, ImageCatalogue, Input, Output};
use ftmpi_wire::ImageId;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

/// The name of this server in its messages.
pub(in crate::image_store) const NAME: &str = "ftmpi-checkpoint-server";

/// What all connections share.
pub(in crate::image_store) struct Server {
    pub catalogue: Mutex<ImageCatalogue>,
    /// Work that blocks a thread waits for its turn.
    pub turns: Turns,
    pub disk: Disk,
    /// Images leave as much room on the disk as they take.
    pub leaves_room: bool,
    /// The uploads to the object tier, if there is one.
    pub flusher: Option<Flusher>,
    pub started: Instant,
    pub connections: AtomicU64,
    pub bytes_received: AtomicU64,
    pub bytes_sent: AtomicU64,
    pub rejected: AtomicU64,
}

impl Server {
    /// Gives one event to the catalogue. Changes of file names are carried out at once, under the
    /// lock of the catalogue. The other outputs are for the connection.
    pub fn decide(&self, conn: ConnId, event: Event) -> Vec<Output> {
        let mut catalogue = self.catalogue.lock().expect("no panic while it is locked");
        catalogue.retired_bytes(self.disk.retired_bytes());
        if self.leaves_room {
            catalogue.leave_room(self.disk.free_bytes());
        }
        let mut rest = Vec::new();
        let mut events = vec![event];
        while let Some(event) = events.pop() {
            let mut out = Vec::new();
            catalogue.handle(Input { conn, event }, &mut out);
            for output in out {
                match output {
                    Output::Publish(name) => {
                        events.push(Event::Published(
                            self.disk.publish(conn, name).map_err(String::from),
                        ));
                    }
                    Output::Persist { rank, record } => {
                        events.push(Event::Persisted(
                            self.disk.persist(rank, record).map_err(String::from),
                        ));
                    }
                    Output::SetAside(name) => self.disk.set_aside(name),
                    Output::GiveUp(names) => {
                        events.push(Event::GaveUp(self.disk.give_up(&names).map_err(String::from)));
                    }
                    Output::Say(text) => server_process::log_line(NAME, text),
                    other => match &self.flusher {
                        // The catalogue is still locked, so the order of its decisions is kept.
                        Some(flusher) => rest.extend(flusher.take(other)),
                        None => rest.push(other),
                    },
                }
            }
        }
        drop(catalogue);
        self.forget_removed();
        rest
    }

    /// Others may have filled the disk: older images go.
    pub fn look_at_room(&self) {
        let mut removed = Vec::new();
        let mut catalogue = self.catalogue.lock().expect("no panic while it is locked");
        catalogue.retired_bytes(self.disk.retired_bytes());
        catalogue.leave_room(self.disk.free_bytes());
        catalogue.look_at_room(&mut removed);
        if !removed.is_empty() {
            let text = "the disk is nearly full: older images make room for the program; free some of \
                        it, or name a --job-dir on a larger disk";
            server_process::log_line(NAME, text);
        }
        for output in removed {
            if let Output::Remove(name) = output {
                self.disk.remove(name);
            }
        }
        drop(catalogue);
        self.forget_removed();
    }

    /// Removes from the object tier what was removed from the disk.
    pub fn forget_removed(&self) {
        let removed = self.disk.take_removed();
        if let Some(flusher) = &self.flusher {
            flusher.remove(removed);
        }
    }

    /// Whether this image is offered now.
    pub fn is_offered(&self, name: ImageId) -> bool {
        let catalogue = self.catalogue.lock().expect("no panic while it is locked");
        catalogue.offers(name)
    }

    pub fn status(&self) -> serde_json::Value {
        let catalogue = self.catalogue.lock().expect("no panic while it is locked");
        let number = |of: &AtomicU64| of.load(Ordering::Relaxed);
        let object_store = self.flusher.as_ref().map(|flusher| {
            serde_json::json!({
                "address": flusher.object_tier.address(),
                "flushed": number(&flusher.flushed),
                "bytes": number(&flusher.bytes),
                "failures": number(&flusher.failures),
            })
        });
        serde_json::json!({
            "server": NAME,
            "version": env!("CARGO_PKG_VERSION"),
            "pid": std::process::id(),
            "directory": self.disk.path().display().to_string(),
            "uptime_s": self.started.elapsed().as_secs_f64(),
            "connections": self.connections.load(Ordering::Relaxed),
            "bytes": catalogue.bytes(),
            "bytes_of_bases": self.disk.retired_bytes(),
            "bytes_received": self.bytes_received.load(Ordering::Relaxed),
            "bytes_sent": self.bytes_sent.load(Ordering::Relaxed),
            "rejected_callers": self.rejected.load(Ordering::Relaxed),
            "object_store": object_store,
            "ranks": catalogue.ranks().collect::<Vec<_>>(),
        })
    }
}
