//! A model of a launcher and its agents on a network whose links fail in each direction by
//! themselves. Its one claim: when the launcher counts a host as lost, the agent of that host has
//! given its ranks up.

use super::lease::{Lease, Verdict};
use crate::heartbeat::{MissedBeats, Seen, Times};
use crate::own_link::{OwnLink, agents_patience};
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Milliseconds of one step, where hosts are lost after [`TEN_SECONDS`]. Other runs are as much
/// faster or slower as their hosts are lost sooner or later.
const STEP: u64 = 100;
/// Steps of one run: two minutes.
const STEPS: u64 = 1200;
const TEN_SECONDS: u64 = 10_000;
const HOSTS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(30);

/// A sequence that a seed determines.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }
}

/// One direction of a connection: in order, and what is lost is sent again, later and later.
#[derive(Default)]
struct Direction {
    /// When it fails, and when it works again.
    outages: Vec<(u64, u64)>,
    /// What was sent, and when it arrives at the earliest.
    queue: VecDeque<(u64, u64)>,
}

impl Direction {
    fn works(&self, now: u64) -> bool {
        !self.outages.iter().any(|&(from, to)| (from..to).contains(&now))
    }

    fn send(&mut self, now: u64, value: u64, random: &mut Random) {
        let mut at = now + random.below(300);
        for &(from, to) in &self.outages {
            if (from..to).contains(&at) {
                // The next attempt may come as late after the outage as the outage was long.
                at = to + random.below(to - from);
            }
        }
        let at = self.queue.back().map_or(at, |&(last, _)| at.max(last));
        self.queue.push_back((at, value));
    }

    fn take(&mut self, now: u64) -> Option<u64> {
        if self.works(now) && self.queue.front()?.0 <= now {
            Some(self.queue.pop_front()?.1)
        } else {
            None
        }
    }
}

struct Agent {
    lease: Lease,
    /// When it gave its ranks up.
    over: bool,
    to_launcher: Direction,
    to_agent: Direction,
    missed: MissedBeats,
    lost: bool,
    /// Until when the others are asked, and since when.
    asked: Option<(u64, u64)>,
    phase: u64,
}

/// Outages of one direction.
fn outages(random: &mut Random, kind: u64) -> Vec<(u64, u64)> {
    let begin = 15_000 + random.below(3_000);
    match kind {
        0 => Vec::new(),
        1 => vec![(begin, begin + 1_000 + random.below(40_000))],
        2 => vec![(begin, u64::MAX / 4)],
        _ => {
            let end = begin + random.below(15_000);
            let again = end + random.below(10_000);
            vec![(begin, end), (again, again + random.below(30_000))]
        }
    }
}

/// Runs one seed; how many hosts the launcher has lost, and how many are excused at some time.
fn run(seed: u64, detect: u64) -> (usize, usize) {
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let begin = Instant::now();
    let scaled = |time: Duration| time * detect as u32 / TEN_SECONDS as u32;
    let at = |millis: u64| begin + scaled(Duration::from_millis(millis));
    let (times, patience) = (Times::of(Duration::from_millis(detect)), scaled(PATIENCE));
    assert_eq!(times.interval(), scaled(Duration::from_secs(1)));
    let mut link = OwnLink::new(HOSTS, patience, times);
    // In some runs all links fail in about the same way, as when the launcher's own one does.
    let common = random.below(3) > 0;
    let (kind, own) = (random.below(4), random.below(4));
    let shared = [outages(&mut random, kind), outages(&mut random, own)];
    let mut agents: Vec<Agent> = (0..HOSTS)
        .map(|host| {
            link.joined(host as u32, true, begin);
            let direction = |random: &mut Random, of: usize| Direction {
                outages: match common && random.below(8) > 0 {
                    true => shared[of].clone(),
                    false => {
                        let kind = random.below(4);
                        outages(random, kind)
                    }
                },
                queue: VecDeque::new(),
            };
            Agent {
                lease: Lease::unconnected(agents_patience(patience, times), times, begin),
                over: false,
                to_launcher: direction(&mut random, 0),
                to_agent: direction(&mut random, 1),
                missed: MissedBeats::default(),
                lost: false,
                asked: None,
                phase: random.below(10) * STEP,
            }
        })
        .collect();
    // Between agents.
    let split = random.below(3) == 0;
    let between: Vec<Direction> = (0..HOSTS * HOSTS)
        .map(|_| {
            let kind = if split { random.below(4) } else { 0 };
            Direction { outages: outages(&mut random, kind), queue: VecDeque::new() }
        })
        .collect();
    let (mut lost, mut excused) = (0, [false; HOSTS]);
    for now in (0..STEPS).map(|step| step * STEP) {
        for host in 0..HOSTS {
            let agent = &mut agents[host];
            while let Some(answered) = agent.to_launcher.take(now) {
                agent.missed.reset();
                let (number, _) = link.heartbeat(host as u32, answered, at(now));
                agent.to_agent.send(now, number, &mut random);
            }
            while let Some(number) = agent.to_agent.take(now) {
                agent.lease.renew(number, at(now));
            }
            if now % 1000 == agent.phase && !agent.over {
                let answered = agent.lease.answered();
                agent.lease.beat(at(now));
                agent.to_launcher.send(now, answered, &mut random);
                // The kernel counts what was sent in vain: neither the segment nor its
                // acknowledgement has arrived.
                let works = agent.to_launcher.works(now) && agent.to_agent.works(now);
                let in_vain = !works || agent.to_launcher.queue.len() > 2;
                match agent.lease.verdict(at(now), || in_vain) {
                    Verdict::Over => agent.over = true,
                    Verdict::AskOthers if agent.asked.is_none() => {
                        let takes = random.below(10 * STEP);
                        agent.asked = Some((now + takes, now));
                    }
                    Verdict::AskOthers | Verdict::RunOn => {}
                }
            }
            answer_questions(&mut agents, &between, host, now, at);
        }
        if now % 1000 == 0 {
            link.look(at(now));
            for (host, agent) in agents.iter_mut().enumerate() {
                let silent = agent.missed.interval_passed(times, || Seen::Nothing);
                let is_excused = link.is_excused(host as u32, at(now));
                excused[host] |= silent && is_excused;
                if silent && !is_excused && !agent.lost {
                    agent.lost = true;
                    lost += 1;
                    link.left(host as u32);
                    assert!(
                        agent.over,
                        "seed {seed}: host {host} is lost at {now} ms, and runs on"
                    );
                }
            }
        }
    }
    (lost, excused.into_iter().filter(|excused| *excused).count())
}

/// The answers of the others arrive together, each as of its own time.
fn answer_questions(
    agents: &mut [Agent],
    between: &[Direction],
    host: usize,
    now: u64,
    at: impl Fn(u64) -> Instant,
) {
    let Some((_, asked)) = agents[host].asked.filter(|(until, _)| *until <= now) else { return };
    agents[host].asked = None;
    // The launcher tells of hosts that it has lost; an agent that is cut off does not hear that.
    let others = (0..HOSTS).filter(|other| *other != host);
    let said: Option<Vec<Duration>> = others
        .map(|other| {
            let reached = between[host * HOSTS + other].works(now)
                && between[other * HOSTS + host].works(now)
                && !agents[other].over;
            reached.then(|| agents[other].lease.silence(at(now)))
        })
        .collect();
    let shortest = said.and_then(|all| all.into_iter().min());
    agents[host].lease.others_said(at(asked), shortest);
}

#[test]
fn no_host_is_lost_whose_agent_runs_on() {
    for detect in [TEN_SECONDS, 6000, 1000] {
        no_host_is_lost_at(detect);
    }
}

fn no_host_is_lost_at(detect: u64) {
    let runs = (1..400).map(|seed| run(seed, detect));
    let (lost, excused) = runs.fold((0, 0), |(l, e), (lost, excused)| (l + lost, e + excused));
    assert!(lost > 200 && excused > 200, "{lost} hosts were lost, {excused} excused");
}
