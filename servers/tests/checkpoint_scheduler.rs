//! The checkpoint scheduler as a real process: it is killed, and another one continues.

mod common;

use common::{Server, WITHIN, block_on, garbage};
use ftmpi_protocols::scheduler::scheduler_process::{Note, Order, SchedulerProxy, Word};
use ftmpi_protocols::scheduler::{Policy, Scheduler, Settings};
use ftmpi_servers::client;
use ftmpi_servers::scheduler::FRAME_BYTES_MAX;
use ftmpi_transport::auth::{self, JobKey, Problem};
use ftmpi_transport::framed::Framed;
use ftmpi_wire::Rank;
use ftmpi_wire::hello::Purpose;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;

const SERVER: &str = env!("CARGO_BIN_EXE_ftmpi-checkpoint-scheduler");
const INTERVAL: Duration = Duration::from_millis(400);

type Link = Framed<TcpStream, Word, Order>;

async fn connect(server: &Server) -> Link {
    let stream = auth::connect(server.address, &server.key, &Purpose::Schedule, WITHIN).await;
    Framed::new(stream.unwrap(), FRAME_BYTES_MAX)
}

fn scheduler(policy: Policy) -> Scheduler {
    Scheduler::new(Settings { interval: INTERVAL, at_once_max: 8, policy, cost_limit: None }, 3)
}

/// Sends the messages that the desk has.
async fn say(link: &mut Link, desk: &mut SchedulerProxy) {
    while let Some(word) = desk.next_word() {
        link.send(&word).await.unwrap();
    }
}

/// Carries out the next order. Returns the rank that took an image.
async fn next_image(link: &mut Link, desk: &mut SchedulerProxy, begun: Instant) -> Rank {
    let order = link.recv().await.unwrap().expect("the scheduler has hung up");
    desk.ordered(order);
    let ranks = desk.take_due(begun.elapsed(), |_| true);
    let [rank] = ranks[..] else { panic!("{order:?} led to {ranks:?}") };
    desk.note(begun.elapsed(), Note::Ended(rank));
    say(link, desk).await;
    rank
}

#[test]
fn a_scheduler_that_is_killed_is_followed_by_one_that_goes_on() {
    block_on(async {
        let key = JobKey::generate();
        let (mut desk, begun) =
            (SchedulerProxy::new(scheduler(Policy::RoundRobin)), Instant::now());
        let mut ranks = Vec::new();
        for _ in 0..2 {
            let server = Server::without_dir(SERVER, &key, &[]);
            let mut link = connect(&server).await;
            desk.joined(begun.elapsed());
            assert!(desk.take_due(begun.elapsed(), |_| true).is_empty(), "the process decides");
            say(&mut link, &mut desk).await;
            for _ in 0..2 {
                ranks.push(next_image(&mut link, &mut desk, begun).await.0);
            }
            let state = client::status(server.address, &key, WITHIN).await.unwrap();
            assert_eq!((&state["orders"], &state["connections"]), (&2.into(), &1.into()));
            server.kill();
            assert!(!matches!(link.recv().await, Ok(Some(_))));
            desk.parted();
        }
        assert_eq!(ranks, [0, 1, 2, 0], "the second goes on where the first was");
        assert!(begun.elapsed() >= INTERVAL, "in no more than their time");
        let late = begun.elapsed() + INTERVAL;
        assert_eq!(desk.take_due(late, |_| true), [Rank(1)], "alone, the desk goes on itself");
    });
}

#[test]
fn images_that_are_asked_for_are_ordered_at_once() {
    block_on(async {
        let server = Server::without_dir(SERVER, &JobKey::generate(), &[]);
        let mut link = connect(&server).await;
        let slow = Settings {
            interval: WITHIN * 100,
            at_once_max: 8,
            policy: Policy::Periodic,
            cost_limit: None,
        };
        let (mut desk, begun) = (SchedulerProxy::new(Scheduler::new(slow, 3)), Instant::now());
        desk.joined(begun.elapsed());
        desk.take_due(begun.elapsed(), |rank| rank != Rank(1));
        desk.note(begun.elapsed(), Note::Hasten);
        say(&mut link, &mut desk).await;
        let mut ranks = vec![link.recv().await.unwrap(), link.recv().await.unwrap()];
        ranks.sort_by_key(|order| format!("{order:?}"));
        assert_eq!(ranks, [Some(Order::Image(Rank(0))), Some(Order::Image(Rank(2)))]);
    });
}

#[test]
fn strangers_and_nonsense_get_nothing() {
    block_on(async {
        let server = Server::without_dir(SERVER, &JobKey::generate(), &[]);
        let _open = garbage(server.address).await;
        let stranger = JobKey::generate();
        let refused = auth::connect(server.address, &stranger, &Purpose::Schedule, WITHIN).await;
        assert!(matches!(refused.unwrap_err().problem, Problem::HungUp | Problem::WrongKey));
        let wrong = auth::connect(server.address, &server.key, &Purpose::Images, WITHIN).await;
        assert!(wrong.unwrap_err().to_string().contains("this is a checkpoint scheduler"));
        let mut link = connect(&server).await;
        let begin = Word::Begin(Duration::ZERO, Box::new(scheduler(Policy::Periodic)));
        link.send(&begin).await.unwrap();
        link.send(&Word::Note(Duration::ZERO, Note::Ended(Rank(3)))).await.unwrap();
        assert!(matches!(link.recv().await, Ok(None) | Err(_)), "there is no rank 3");
        assert!(server.end().contains("a rank or cluster that the job has not"));
    });
}
