//! The ranks of this host, which come to the agent by themselves.
//!
//! Guarantees: a process becomes a rank only if its user is the agent's, it has the job's key, and
//! its number belongs to this host and is free. A rank that has the order to end and does not end
//! is killed.

use super::{Event, TELLING};
use crate::agent::control::{Control, Datagram};
use crate::agent::page::Page;
use crate::agent::watched::watched_for_reading;
use crate::tuning::RETRY_MOST;
use ftmpi_wire::Rank;
use ftmpi_wire::control::{self, ToRank};
use ftmpi_wire::direct_start::{Join, Joined};
use ftmpi_wire::hello::KEY_BYTES;
use ftmpi_wire::status::word;
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use tokio::sync::mpsc;

/// A message on its way to a rank.
type Outgoing = (Vec<u8>, Vec<OwnedFd>);

/// A rank of this host.
#[derive(Debug)]
pub struct Member {
    outbox: mpsc::UnboundedSender<Outgoing>,
    /// Its process, held so that no other gets its number. Some containers refuse such handles.
    process: Option<OwnedFd>,
    pub app_number: u32,
    /// Since its hello.
    pub doorbell: Option<OwnedFd>,
    pub is_gone: bool,
}

impl Member {
    /// Queues a message.
    pub fn send(&self, message: &ToRank, descriptors: Vec<OwnedFd>) {
        let _ = self.outbox.send((control::encode(message), descriptors));
    }

    /// Ends its process.
    pub fn kill(&self) {
        if let Some(process) = &self.process {
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
}

/// A process that has shown to be a rank.
#[derive(Debug)]
pub struct Newcomer {
    pub rank: Rank,
    app_number: u32,
    control: Arc<Control>,
    process: Option<OwnedFd>,
}

/// Takes the processes that call, to the end of the agent.
pub async fn take_callers(
    listener: OwnedFd,
    key: [u8; KEY_BYTES],
    events: mpsc::UnboundedSender<Event>,
) -> io::Result<()> {
    rustix::io::ioctl_fionbio(&listener, true)?;
    let listener = watched_for_reading(listener)?;
    loop {
        let mut ready = listener.readable().await?;
        let flags = rustix::net::SocketFlags::CLOEXEC | rustix::net::SocketFlags::NONBLOCK;
        match ready.try_io(|socket| Ok(rustix::net::accept_with(socket, flags)?)) {
            Ok(Ok(socket)) => {
                let events = events.clone();
                tokio::spawn(async move {
                    if let Some(newcomer) = introduce(socket, &key).await {
                        let _ = events.send(Event::Newcomer(newcomer));
                    }
                });
            }
            // Out of descriptors, or a caller that is gone.
            Ok(Err(_)) => tokio::time::sleep(RETRY_MOST).await,
            Err(_would_block) => {}
        }
    }
}

/// What a caller says of itself; `None`: it is no rank of this job.
async fn introduce(socket: OwnedFd, key: &[u8; KEY_BYTES]) -> Option<Newcomer> {
    let peer = rustix::net::sockopt::socket_peercred(&socket).ok()?;
    if peer.uid != rustix::process::geteuid() {
        return None;
    }
    let process = pidfd_open(peer.pid, PidfdFlags::NONBLOCK).ok();
    let control = Control::of(socket).ok()?;
    let first = tokio::time::timeout(TELLING, control.receive()).await.ok()?.ok()??;
    let join: Join = control::decode(&first.bytes).ok()?;
    if join.key != *key {
        return None;
    }
    let (rank, app_number) = (Rank(join.rank), join.app_number);
    Some(Newcomer { rank, app_number, control: Arc::new(control), process })
}

impl Newcomer {
    /// Tells the process why it cannot be a rank.
    pub fn refuse(self, why: String) {
        tokio::spawn(async move {
            let answer = control::encode(&Joined { refused: Some(why) });
            let _ = self.control.send(&answer, &[]).await;
        });
    }

    /// Makes it a rank: gives it its status page, and carries messages from now on.
    pub fn welcome(self, events: &mpsc::UnboundedSender<Event>) -> io::Result<Member> {
        let Self { rank, app_number, control, process } = self;
        let (page, descriptor) = Page::create(false)?;
        let (outbox, queue) = mpsc::unbounded_channel();
        let _ = outbox.send((control::encode(&Joined { refused: None }), vec![descriptor]));
        tokio::spawn(write(control.clone(), queue, page));
        tokio::spawn(read(control, rank, events.clone()));
        Ok(Member { outbox, process, app_number, doorbell: None, is_gone: false })
    }
}

/// Sends what is queued, and counts it on the status page: the answer to the join is no datagram
/// that the library counts.
async fn write(control: Arc<Control>, mut queue: mpsc::UnboundedReceiver<Outgoing>, page: Page) {
    let mut is_first = true;
    while let Some((bytes, descriptors)) = queue.recv().await {
        if control.send(&bytes, &descriptors).await.is_err() {
            // The reader notices a rank that is gone.
            return;
        }
        if !std::mem::take(&mut is_first) {
            page.set(word::CONTROL_DATAGRAMS, page.get(word::CONTROL_DATAGRAMS).wrapping_add(1));
        }
    }
}

/// Turns what a rank sends into events, to the end of its process.
async fn read(control: Arc<Control>, rank: Rank, events: mpsc::UnboundedSender<Event>) {
    while let Ok(Some(datagram)) = control.receive().await {
        let Datagram { bytes, descriptors, .. } = datagram;
        if events.send(Event::FromRank { rank, bytes, descriptors }).is_err() {
            return;
        }
    }
    let _ = events.send(Event::RankGone(rank));
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SendFlags, SocketAddrUnix, SocketFlags, SocketType};

    const KEY: [u8; KEY_BYTES] = [7; KEY_BYTES];

    fn socket() -> OwnedFd {
        let (family, kind) = (AddressFamily::UNIX, SocketType::SEQPACKET);
        rustix::net::socket_with(family, kind, SocketFlags::CLOEXEC, None).unwrap()
    }

    fn call(address: &SocketAddrUnix, first: &[u8]) -> OwnedFd {
        let socket = socket();
        rustix::net::connect(&socket, address).unwrap();
        rustix::net::send(&socket, first, SendFlags::empty()).unwrap();
        socket
    }

    #[tokio::test]
    async fn only_a_process_with_the_key_of_the_job_becomes_a_rank() {
        let name = format!("ftmpi-test-{}", std::process::id());
        let address = SocketAddrUnix::new_abstract_name(name.as_bytes()).unwrap();
        let listener = socket();
        rustix::net::bind(&listener, &address).unwrap();
        rustix::net::listen(&listener, 8).unwrap();
        let (events, mut inbox) = mpsc::unbounded_channel();
        tokio::spawn(take_callers(listener, KEY, events.clone()));
        let join = |rank, key| control::encode(&Join { rank, key, app_number: 5 });
        let _strangers = [
            call(&address, &join(1, [8; KEY_BYTES])),
            call(&address, b"\xff\xff"),
            call(&address, &[0; 4096]),
        ];
        let process = call(&address, &join(3, KEY));
        let Some(Event::Newcomer(newcomer)) = inbox.recv().await else { panic!("no rank comes") };
        assert_eq!(newcomer.rank, Rank(3));
        let member = newcomer.welcome(&events).unwrap();
        assert_eq!(member.app_number, 5);
        let answered = tokio::task::spawn_blocking(move || {
            let mut bytes = [0; 64];
            let count = rustix::io::read(&process, &mut bytes).unwrap();
            control::decode::<Joined>(&bytes[..count]).unwrap()
        });
        assert_eq!(answered.await.unwrap(), Joined { refused: None });
        // Its socket is closed by now.
        let Some(Event::RankGone(Rank(3))) = inbox.recv().await else { panic!("it is gone") };
    }
}
