//! What the machine wants of the connections, for the tasks that serve them.

use ftmpi_wire::event_log::Frame;
use ftmpi_wire::hello::Welcome;
use ftmpi_wire::{EventNo, Rank};
use std::cell::RefCell;
use tokio::sync::Notify;

/// The name of the event logger in its messages.
pub(super) const NAME: &str = "ftmpi-event-logger";

/// What the machine wants of one connection. The task of the connection looks when it is woken.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub wanted: RefCell<Wanted>,
    pub woken: Notify,
}

/// What is wanted.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub welcome: Option<Welcome>,
    pub near: Option<Frame>,
    pub ack: Option<(EventNo, EventNo)>,
    pub stream: Option<(Rank, EventNo, EventNo)>,
    pub refuse: bool,
    pub close: bool,
}

impl Link {
    fn set(&self, change: impl FnOnce(&mut Wanted)) {
        change(&mut self.wanted.borrow_mut());
        self.woken.notify_one();
    }

    pub fn set_welcome(&self, welcome: Welcome) {
        self.set(|wanted| wanted.welcome = Some(welcome));
    }

    pub fn take_welcome(&self) -> Option<Welcome> {
        self.wanted.borrow_mut().welcome.take()
    }

    pub fn set_near(&self, near: Frame) {
        self.set(|wanted| wanted.near = Some(near));
    }

    pub fn set_ack(&self, written: EventNo, durable: EventNo) {
        self.set(|wanted| wanted.ack = Some((written, durable)));
    }

    pub fn set_stream(&self, rank: Rank, from: EventNo, next: EventNo) {
        self.set(|wanted| wanted.stream = Some((rank, from, next)));
    }

    pub fn refuse(&self) {
        self.set(|wanted| wanted.refuse = true);
    }

    pub fn close(&self) {
        self.set(|wanted| wanted.close = true);
    }
}
