//! `ftmpi-sim detectors`: what the choice of detectors is worth, in the two environments of ABARIS
//! (§4.3, figures 3 to 6), with the judge that a job has.
//!
//! Half of the hosts, group a, are on switch `a` and have the ranks at the start. The others, group
//! b, are free. The ranks take images together. A fault is noticed at the next look. Then all ranks
//! return to the last image, on the same host ([`Setting::load_s`]) or on another one (also
//! [`Setting::transfer_s`]), and the work since is done again. No fault comes during a recovery.
//!
//! | environment | what happens on group a | sets of detectors |
//! | --- | --- | --- |
//! | processes | processes are killed at random | `process`, `physical`; with `repeated` |
//! | switch | hosts are lost at random, and come back | `process`, `physical`; with `network` |

use ftmpi_faults::Dice;
use ftmpi_protocols::dispatcher::Ending;
use ftmpi_protocols::judge::{
    Detector, Fact, HostName, Judge, Policy, Recovery, Rule, Situation, Verdict,
};
use ftmpi_wire::Rank;
use std::fmt;
use std::time::Duration;

/// What goes wrong on the hosts of group a.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Environment {
    /// Processes die, and their hosts live.
    Processes,
    /// Hosts are lost because their switch is bad.
    Switch,
}

/// The ranks, the work and the times.
#[derive(Debug, Clone, Copy)]
pub struct Setting {
    /// Ranks, and hosts of each group.
    pub ranks: u32,
    /// The job without faults.
    pub work_s: f64,
    /// From one image to the next.
    pub interval_s: f64,
    /// Between two looks for faults.
    pub look_s: f64,
    /// To bring an image to another host.
    pub transfer_s: f64,
    /// To load an image.
    pub load_s: f64,
    /// A lost host is back after this time.
    pub back_s: f64,
    /// A job that has not ended by then makes no progress.
    pub most_s: f64,
}

impl Default for Setting {
    /// ABARIS §4.3: 16 ranks, images of 1.45 GB, a look every 10 s. The work and the interval of
    /// images are not stated there.
    fn default() -> Self {
        Self {
            ranks: 16,
            work_s: 7200.0,
            interval_s: 600.0,
            look_s: 10.0,
            transfer_s: 12.0,
            load_s: 35.0,
            back_s: 900.0,
            most_s: 54_000.0,
        }
    }
}

impl fmt::Display for Setting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} ranks, {} s of work, an image every {} s, a look every {} s, {} s to transfer and {} s to load an image; \
             a lost host is back after {} s; given up after {} s",
            self.ranks,
            self.work_s,
            self.interval_s,
            self.look_s,
            self.transfer_s,
            self.load_s,
            self.back_s,
            self.most_s
        )
    }
}

/// How a job went.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome {
    /// Until its end, or until it was given up.
    pub seconds: f64,
    /// It ended.
    pub ended: bool,
    /// Faults that struck it.
    pub faults: u32,
    /// Ranks that moved.
    pub migrations: u32,
}

/// The usual set of detectors, or the one that fits the environment.
#[must_use]
pub fn policy(environment: Environment, fitting: bool) -> Policy {
    let more = match environment {
        Environment::Processes => Detector::Repeated {
            count: 2,
            window: Duration::from_secs(4 * 3600),
            recovery: Recovery::Migrate,
        },
        Environment::Switch => Detector::Network {
            share: 0.25,
            window: Duration::from_secs(4 * 3600),
            recovery: Recovery::Migrate,
        },
    };
    let usual = ["process", "physical"].into_iter().filter_map(Detector::named);
    let detectors = fitting.then_some(more).into_iter().chain(usual).collect();
    Policy { rules: vec![Rule { detectors, ..Rule::default() }], ..Policy::default() }
}

struct World<'a> {
    setting: &'a Setting,
    judge: Judge,
    /// The host of each rank.
    at: Vec<u32>,
    /// When each host is back.
    lost_until: Vec<f64>,
    shunned: Vec<bool>,
    now: f64,
    migrations: u32,
}

/// Runs a job under these detectors; `period_s`: between two faults of one host of group a.
#[must_use]
pub fn run(
    environment: Environment,
    policy: Policy,
    period_s: f64,
    seed: u64,
    setting: &Setting,
) -> Outcome {
    let mut dice = Dice::new(seed);
    let hosts = 2 * setting.ranks;
    let name = |host: u32| {
        let group = if host < setting.ranks { "a" } else { "b" };
        HostName { name: format!("{group}{host}"), switch: Some(group.to_owned()) }
    };
    let mut world = World {
        setting,
        judge: Judge::new(policy, (0..hosts).map(name).collect(), setting.ranks as usize),
        at: (0..setting.ranks).collect(),
        lost_until: vec![0.0; hosts as usize],
        shunned: vec![false; hosts as usize],
        now: 0.0,
        migrations: 0,
    };
    let (mut done, mut faults) = (0.0, 0);
    loop {
        // Each host of group a fails on its own; only faults under a rank concern the job.
        let wait = dice.exponential(period_s / f64::from(setting.ranks));
        if done + wait >= setting.work_s || world.now >= setting.most_s {
            let seconds = world.now + setting.work_s - done;
            let ended = seconds < setting.most_s;
            return Outcome {
                seconds: seconds.min(setting.most_s),
                ended,
                faults,
                migrations: world.migrations,
            };
        }
        (done, world.now) = (done + wait, world.now + wait);
        let host = (dice.number() % u64::from(setting.ranks)) as u32;
        if world.lost_until[host as usize] > world.now {
            continue;
        }
        if environment == Environment::Switch {
            world.lost_until[host as usize] = world.now + setting.back_s;
        }
        let Some(rank) = world.at.iter().position(|at| *at == host) else { continue };
        faults += 1;
        done = (done / setting.interval_s).floor() * setting.interval_s;
        let fact = match environment {
            Environment::Processes => Fact::Process {
                rank: Rank(rank as u32),
                host,
                ending: Ending::Signal(9),
                progress: done as u64,
            },
            Environment::Switch => Fact::Host { host, silent: true },
        };
        let looked = (world.now / setting.look_s).ceil() * setting.look_s;
        world.now = looked;
        world.recover(&fact, rank, &mut dice);
    }
}

impl World<'_> {
    /// Hosts without a rank that take one.
    fn free(&self) -> Vec<u32> {
        let hosts = 0..self.lost_until.len() as u32;
        let free = |host: &u32| {
            let index = *host as usize;
            !self.shunned[index] && self.lost_until[index] <= self.now && !self.at.contains(host)
        };
        hosts.filter(free).collect()
    }

    fn recover(&mut self, fact: &Fact, rank: usize, dice: &mut Dice) {
        let free = self.free();
        let hosts = 0..self.lost_until.len();
        let situation = Situation {
            now: Duration::from_secs_f64(self.now),
            lost: hosts.clone().map(|host| self.lost_until[host] > self.now).collect(),
            takes: hosts.clone().map(|host| free.contains(&(host as u32))).collect(),
            ranks: hosts.map(|host| u32::from(self.at.contains(&(host as u32)))).collect(),
        };
        let Some(Verdict { named, shun, leave, .. }) = self.judge.judge(fact, &situation) else {
            panic!("there is a verdict for {fact:?}")
        };
        for host in shun {
            self.shunned[host as usize] = true;
        }
        self.now += self.setting.load_s;
        if named.recovery != Recovery::Migrate {
            return;
        }
        let mut moving = vec![rank];
        moving.extend((0..self.at.len()).filter(|&r| r != rank && leave.contains(&self.at[r])));
        // Images travel at the same time, over a network that is fast enough.
        self.now += self.setting.transfer_s;
        for rank in moving {
            let free = self.free();
            if !free.is_empty() {
                self.at[rank] = dice.one_of(&free);
                self.migrations += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hours(environment: Environment, fitting: bool, minutes: f64) -> f64 {
        let setting = Setting::default();
        let of_seed = |seed| {
            run(environment, policy(environment, fitting), minutes * 60.0, seed, &setting).seconds
        };
        let mut all: Vec<f64> = (1..=9).map(of_seed).collect();
        all.sort_by(f64::total_cmp);
        all[4] / 3600.0
    }

    /// ABARIS, figures 4 and 6: the set that fits is better at every rate of faults.
    #[test]
    fn the_detectors_that_fit_the_environment_win() {
        for environment in [Environment::Processes, Environment::Switch] {
            for minutes in [15.0, 60.0, 120.0, 240.0] {
                let (usual, fitting) =
                    (hours(environment, false, minutes), hours(environment, true, minutes));
                assert!(fitting < usual, "{environment:?}, {minutes} min: {fitting} h, {usual} h");
            }
        }
    }

    #[test]
    fn without_faults_nothing_is_lost_and_with_many_nothing_is_left() {
        let setting = Setting::default();
        let run = |period| {
            let policy = policy(Environment::Processes, false);
            run(Environment::Processes, policy, period, 1, &setting)
        };
        assert_eq!(run(1e12), Outcome { seconds: 7200.0, ended: true, faults: 0, migrations: 0 });
        assert!(!run(60.0).ended);
    }
}
