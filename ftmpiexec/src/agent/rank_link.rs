//! The tasks that serve one process of a rank: they read and write its control socket and wait for
//! its end.

use super::control::Control;
use super::directory::RankKey;
use super::events::AgentEvent;
use super::page::Page;
use super::signal::WakeSignal;
use super::watched::watched_for_reading;
use crate::tuning::EXIT_POLL;
use ftmpi_checkpoint::boot_abi;
use ftmpi_wire::status::word;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use tokio::sync::mpsc;

/// A datagram on its way to a rank.
#[derive(Debug)]
pub struct Outgoing {
    /// The encoded message.
    pub bytes: Vec<u8>,
    /// Descriptors for the rank.
    pub descriptors: Vec<OwnedFd>,
    /// Whether a rank that computes is interrupted.
    pub wake: bool,
}

/// Turns the rank's datagrams into events, to the end of the control socket.
pub async fn read_rank(
    control: Arc<Control>,
    (rank, incarnation): RankKey,
    pid: u32,
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    let why = loop {
        match control.receive().await {
            Ok(Some(datagram)) => {
                if events.send(AgentEvent::FromRank { rank, incarnation, datagram }).is_err() {
                    return;
                }
            }
            Ok(None) => break None,
            Err(e) => break Some(e.to_string()),
        }
    };
    let _ = events.send(AgentEvent::ControlClosed { rank, incarnation, pid, why });
}

/// Sends the queued datagrams and counts them on the status page.
pub async fn write_rank(
    control: Arc<Control>,
    mut queue: mpsc::UnboundedReceiver<Outgoing>,
    (wake, page): (Arc<OnceLock<WakeSignal>>, Arc<Page>),
    ((rank, incarnation), pid): (RankKey, u32),
    events: mpsc::UnboundedSender<AgentEvent>,
) {
    while let Some(outgoing) = queue.recv().await {
        if let Err(e) = control.send(&outgoing.bytes, &outgoing.descriptors).await {
            // The reader of the socket notices a rank that is gone.
            if !matches!(e.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) {
                let why = Some(format!("no message can be sent to the rank: {e}"));
                let _ = events.send(AgentEvent::ControlClosed { rank, incarnation, pid, why });
            }
            return;
        }
        drop(outgoing.descriptors);
        page.set(word::CONTROL_DATAGRAMS, page.get(word::CONTROL_DATAGRAMS).wrapping_add(1));
        if outgoing.wake
            && let Some(wake) = wake.get()
        {
            wake.send(boot_abi::SIGNAL);
        }
    }
}

/// Reports the end of a process, by this event, before the process is reaped.
pub fn watch_exit(
    pid: u32,
    exited: AgentEvent,
    events: mpsc::UnboundedSender<AgentEvent>,
) -> std::io::Result<()> {
    let pid = rustix::process::Pid::from_raw(pid as i32)
        .ok_or_else(|| std::io::Error::other("process number 0"))?;
    let opened = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::NONBLOCK);
    let handle = opened.ok().map(watched_for_reading).transpose()?;
    tokio::spawn(async move {
        match handle {
            Some(handle) => {
                let _ = handle.readable().await;
            }
            // Some containers refuse such handles.
            None => {
                while is_alive(pid) {
                    tokio::time::sleep(EXIT_POLL).await;
                }
            }
        }
        let _ = events.send(exited);
    });
    Ok(())
}

/// Whether a child of this process runs. The child is not reaped.
fn is_alive(pid: rustix::process::Pid) -> bool {
    use rustix::process::{WaitId, WaitIdOptions, waitid};
    let look = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::Pid(pid), look), Ok(None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftmpi_wire::{Incarnation, Rank};

    const PROCESS: (RankKey, u32) = ((Rank(2), Incarnation(1)), 77);

    fn datagram(bytes: Vec<u8>) -> Outgoing {
        Outgoing { bytes, descriptors: Vec::new(), wake: false }
    }

    #[tokio::test]
    async fn a_message_that_cannot_be_sent_ends_the_connection_with_a_reason() {
        let (control, _rank) = Control::pair().unwrap();
        let (outbox, queue) = mpsc::unbounded_channel();
        let (events, mut inbox) = mpsc::unbounded_channel();
        outbox.send(datagram(vec![0; 64 << 20])).unwrap();
        let (page, _fd) = Page::create(false).unwrap();
        let page = Arc::new(page);
        write_rank(Arc::new(control), queue, (Arc::default(), page.clone()), PROCESS, events).await;
        assert_eq!(page.get(word::CONTROL_DATAGRAMS), 0);
        let Some(AgentEvent::ControlClosed { pid: 77, why: Some(why), .. }) = inbox.recv().await
        else {
            panic!("no event reports it")
        };
        assert!(why.contains("no message can be sent"), "{why}");
    }

    #[tokio::test]
    async fn the_writer_does_not_report_a_rank_that_is_gone() {
        let (control, rank) = Control::pair().unwrap();
        drop(rank);
        let (outbox, queue) = mpsc::unbounded_channel();
        let (events, mut inbox) = mpsc::unbounded_channel();
        outbox.send(datagram(vec![1])).unwrap();
        let (page, _fd) = Page::create(false).unwrap();
        let page = Arc::new(page);
        write_rank(Arc::new(control), queue, (Arc::default(), page), PROCESS, events).await;
        assert!(inbox.recv().await.is_none());
    }

    #[tokio::test]
    async fn the_page_counts_the_messages_that_were_sent() {
        let (control, rank) = Control::pair().unwrap();
        let (outbox, queue) = mpsc::unbounded_channel();
        let (events, _inbox) = mpsc::unbounded_channel();
        for byte in 1..=2 {
            outbox.send(datagram(vec![byte])).unwrap();
        }
        drop(outbox);
        let (page, _fd) = Page::create(false).unwrap();
        let page = Arc::new(page);
        write_rank(Arc::new(control), queue, (Arc::default(), page.clone()), PROCESS, events).await;
        assert_eq!(page.get(word::CONTROL_DATAGRAMS), 2);
        let mut bytes = [0; 8];
        for byte in 1..=2 {
            assert_eq!(rustix::io::read(&rank, &mut bytes).unwrap(), 1);
            assert_eq!(bytes[0], byte);
        }
    }
}
