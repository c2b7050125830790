//! A rank without MPI: it speaks `wire::control` and checks what the agent gives it.

use ftmpi_wire::control::{ChannelKind, FromRank, RankEnv, ToRank, decode, encode, fds};
use ftmpi_wire::{Incarnation, Rank};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};
use std::io::{IoSlice, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

fn control() -> BorrowedFd<'static> {
    // SAFETY: the agent opened the descriptor for this process, and it stays open.
    unsafe { BorrowedFd::borrow_raw(fds::CONTROL) }
}

fn send(message: &FromRank, descriptors: &[BorrowedFd<'_>]) {
    let bytes = encode(message);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() {
        assert!(ancillary.push(SendAncillaryMessage::ScmRights(descriptors)));
    }
    let slices = [IoSlice::new(&bytes)];
    let sent = rustix::net::sendmsg(control(), &slices, &mut ancillary, SendFlags::NOSIGNAL);
    if sent.is_err() {
        std::process::exit(99);
    }
}

fn receive() -> (ToRank, Vec<OwnedFd>) {
    let mut bytes = vec![0; 128 << 10];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut slices = [IoSliceMut::new(&mut bytes)];
    let got = loop {
        match rustix::net::recvmsg(control(), &mut slices, &mut ancillary, RecvFlags::CMSG_CLOEXEC)
        {
            Err(rustix::io::Errno::INTR) => {}
            other => break other,
        }
    };
    let count = got.map_or(0, |got| got.bytes);
    if count == 0 {
        // The agent is gone.
        std::process::exit(98);
    }
    let descriptors = ancillary
        .drain()
        .filter_map(|message| match message {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    (decode(&bytes[..count]).unwrap(), descriptors)
}

/// Receives messages until this one comes.
fn wait_for(wanted: impl Fn(&ToRank) -> bool) {
    loop {
        let (message, _) = receive();
        if wanted(&message) {
            return;
        }
    }
}

pub fn run() {
    // As the boot library does, take the agent's signal and go on.
    ignore_the_signal();
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let env = RankEnv::decode(&std::env::var("FTMPI_RANK").unwrap()).unwrap();
    let bell = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
    let hello = FromRank::Hello {
        rank: env.rank,
        incarnation: env.incarnation,
        pid: std::process::id(),
        resumed: None,
        executable: String::new(),
        arguments: Vec::new(),
        // A deaf rank would give an image, and never answers.
        no_image: (arguments[0] != "deaf").then(|| "this is a test".into()),
    };
    send(&hello, &[bell.as_fd()]);
    let (welcome, _) = receive();
    let ToRank::Welcome(view) = welcome else { panic!("unexpected {welcome:?}") };
    assert_eq!(view.incarnations[env.rank.index()], env.incarnation);
    if env.incarnation > Incarnation(0) {
        send(&FromRank::CaughtUp { replayed: 0 }, &[]);
    }
    let mut code = 0;
    match arguments[0].as_str() {
        "join" => {
            join(env.rank, view.size, view.force_tcp, &view.host_of);
            println!("{} ok", env.rank);
        }
        "exit" => code = arguments[1].parse().unwrap(),
        "abort" => {
            if env.rank == Rank(1) {
                send(&FromRank::Abort { code: 42, text: "something is wrong".into() }, &[]);
            }
            std::thread::sleep(Duration::from_secs(30));
        }
        "leave" => std::process::exit(0),
        "deaf" => std::thread::sleep(Duration::from_secs(30)),
        "long" => std::thread::sleep(Duration::from_millis(900)),
        "count" => {
            for n in 0..100 {
                println!("{} {n}", env.rank);
                std::io::stdout().flush().unwrap();
                std::thread::sleep(Duration::from_millis(6));
            }
        }
        "crash" => {
            if env.rank == Rank(1) {
                std::process::abort();
            }
            std::thread::sleep(Duration::from_secs(30));
        }
        "wrapped" => {
            // Some programs have a child in a process group of its own.
            let mut child =
                std::process::Command::new("setsid").args(["sleep", "60"]).spawn().unwrap();
            child.wait().unwrap();
        }
        other => panic!("unknown {other}"),
    }
    send(&FromRank::Finalizing, &[]);
    wait_for(|message| *message == ToRank::AllFinalized);
    if arguments[0] == "long" {
        println!("{} ok incarnation {}", env.rank, env.incarnation);
    }
    std::io::stdout().flush().unwrap();
    send(&FromRank::Exiting { code }, &[]);
    wait_for(|message| *message == ToRank::AllExiting);
    std::process::exit(code);
}

fn ignore_the_signal() {
    // SAFETY: SIG_IGN is no handler of this process.
    unsafe { libc::signal(62, libc::SIG_IGN) };
}

/// Asks for a channel to every other rank and checks the channels that come.
fn join(own: Rank, size: u32, force_tcp: bool, host_of: &[u32]) {
    for peer in (0..size).map(Rank).filter(|peer| *peer != own) {
        send(&FromRank::Open { peer, incarnation: Incarnation(0), round: 0 }, &[]);
    }
    let mut joined = vec![false; size as usize];
    joined[own.index()] = true;
    let mut sockets = Vec::new();
    while !joined.iter().all(|joined| *joined) {
        let (ToRank::Channel { peer, kind, .. }, descriptors) = receive() else { continue };
        let same_host = host_of[peer.index()] == host_of[own.index()];
        match kind {
            ChannelKind::SharedMemory { first } => {
                assert!(same_host && !force_tcp);
                assert_eq!(first, own < peer);
                assert_eq!(descriptors.len(), 2);
                assert!(!joined[peer.index()], "one segment for each pair");
                // One side writes and rings; the other side reads.
                let place = u64::from(own.0) * 8;
                rustix::io::pwrite(&descriptors[0], &[own.0 as u8 + 1], place).unwrap();
                rustix::io::write(&descriptors[1], &1u64.to_ne_bytes()).unwrap();
                let mut byte = [0];
                while byte[0] == 0 {
                    rustix::io::pread(&descriptors[0], &mut byte, u64::from(peer.0) * 8).unwrap();
                }
                assert_eq!(u32::from(byte[0]), peer.0 + 1);
            }
            ChannelKind::Tcp { round } => {
                assert_eq!(round, 0);
                assert!(!same_host || force_tcp);
                rustix::net::send(&descriptors[0], &[own.0 as u8], SendFlags::empty()).unwrap();
                sockets.push((peer, descriptors));
            }
        }
        joined[peer.index()] = true;
    }
    // If both ranks asked, two sockets may join the pair: the byte comes on either of them.
    let mut silent: std::collections::BTreeSet<Rank> =
        sockets.iter().map(|(peer, _)| *peer).collect();
    while !silent.is_empty() {
        for (peer, descriptors) in &sockets {
            let mut byte = [0];
            if let Ok((1, _)) =
                rustix::net::recv(&descriptors[0], &mut byte, rustix::net::RecvFlags::DONTWAIT)
            {
                assert_eq!(u32::from(byte[0]), peer.0);
                silent.remove(peer);
            }
        }
        if readable(control())
            && let (ToRank::Channel { peer, .. }, descriptors) = receive()
        {
            sockets.push((peer, descriptors));
        }
    }
}

fn readable(fd: BorrowedFd<'_>) -> bool {
    let mut poll = [rustix::event::PollFd::from_borrowed_fd(fd, rustix::event::PollFlags::IN)];
    let now = rustix::event::Timespec { tv_sec: 0, tv_nsec: 1_000_000 };
    matches!(rustix::event::poll(&mut poll, Some(&now)), Ok(1))
}
