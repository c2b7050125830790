//! Facts and the verdicts about them, as a table.

use super::*;
use crate::dispatcher::MemoryLimit;

const S: Duration = Duration::from_secs(1);
const KILLED: Ending = Ending::Signal(9);
const CRASHED: Ending = Ending::Signal(11);
const NO_MEMORY: Ending = Ending::Memory(MemoryLimit::Group(1 << 28));

/// Hosts a0, a1, a2 on switch a, and b0 on switch b.
fn judge_of(policy: Policy) -> Judge {
    let host = |(name, switch): (&str, &str)| HostName {
        name: name.to_owned(),
        switch: Some(switch.to_owned()),
    };
    let hosts = [("a0", "a"), ("a1", "a"), ("a2", "a"), ("b0", "b")].map(host);
    Judge::new(policy, hosts.to_vec(), 8)
}

/// All hosts are up and take ranks.
fn well(now: Duration) -> Situation {
    Situation { now, lost: vec![false; 4], takes: vec![true; 4], ranks: vec![2, 2, 2, 2] }
}

/// Only host 0 takes ranks.
fn alone(now: Duration) -> Situation {
    Situation { takes: vec![true, false, false, false], ..well(now) }
}

fn death(ending: Ending, host: u32, progress: u64) -> Fact {
    Fact::Process { rank: Rank(1), host, ending, progress }
}

/// Detector and recovery of the last fact; `-`: no verdict.
fn verdict(policy: &Policy, facts: &[(Fact, Situation)]) -> (String, Option<Verdict>) {
    let mut judge = judge_of(policy.clone());
    let last = facts.iter().map(|(fact, situation)| judge.judge(fact, situation)).last();
    let last = last.flatten();
    let named = last.as_ref().map(|v| format!("{}: {}", v.named.detector, v.named.recovery));
    (named.unwrap_or_else(|| "-".to_owned()), last)
}

fn with(detectors: Vec<Detector>) -> Policy {
    Policy { rules: vec![Rule { detectors, ..Rule::default() }], ..Policy::default() }
}

fn said(facts: &[(Fact, Situation)]) -> String {
    verdict(&Policy::default(), facts).0
}

fn times(
    fact: &Fact,
    times: usize,
    situation: fn(Duration) -> Situation,
) -> Vec<(Fact, Situation)> {
    (0..times).map(|n| (fact.clone(), situation(S * n as u32))).collect()
}

#[test]
fn deaths_under_the_defaults() {
    for (facts, expected) in [
        (times(&death(KILLED, 0, 5), 1, well), "process: restart"),
        // A kill from outside may come as often as it likes.
        (times(&death(KILLED, 0, 5), 20, well), "process: restart"),
        (times(&death(CRASHED, 0, 5), 2, well), "process: restart"),
        (times(&death(CRASHED, 0, 5), 3, well), "same-death: migrate"),
        (times(&death(CRASHED, 0, 5), 3, alone), "same-death: give-up"),
        (times(&death(NO_MEMORY, 0, 5), 3, well), "same-death: migrate"),
        (times(&death(NO_MEMORY, 0, 5), 3, alone), "same-death: give-up"),
        (times(&death(Ending::ControlLost, 0, 5), 3, well), "same-death: migrate"),
    ] {
        assert_eq!(said(&facts), expected, "{facts:?}");
    }
}

#[test]
fn the_same_death_on_two_hosts_is_the_programs() {
    let mut facts = times(&death(CRASHED, 0, 5), 3, well);
    facts.push((death(CRASHED, 1, 5), well(4 * S)));
    let (text, last) = verdict(&Policy::default(), &facts);
    let before = Some("a0".to_owned());
    assert_eq!(text, "same-death: give-up");
    assert_eq!(last.unwrap().ground, Ground::SameDeath { times: 4, before });
    // Another death there, or the same one further on, is something else.
    for other in [death(Ending::Signal(7), 1, 5), death(CRASHED, 1, 6)] {
        *facts.last_mut().unwrap() = (other, well(4 * S));
        assert_eq!(said(&facts), "process: restart");
    }
    // Progress that was saved clears the record.
    let mut judge = judge_of(Policy::default());
    for (fact, situation) in times(&death(CRASHED, 0, 5), 2, well) {
        judge.judge(&fact, &situation);
    }
    judge.progressed(Rank(1));
    let third = judge.judge(&death(CRASHED, 0, 5), &well(3 * S)).unwrap();
    assert_eq!(third.named.detector, "process");
}

#[test]
fn hosts_that_are_lost() {
    let lost = |host, silent| Fact::Host { host, silent };
    let patience = |facts: &[(Fact, Situation)]| {
        let last = verdict(&Policy::default(), facts).1.unwrap();
        (last.named.detector, last.patience)
    };
    assert_eq!(patience(&[(lost(0, true), well(S))]), ("physical", Duration::ZERO));
    assert_eq!(patience(&[(lost(0, false), well(S))]), ("physical", 5 * S));
    // It is waited for if no other host is there.
    assert_eq!(patience(&[(lost(0, true), alone(S))]), ("physical", Duration::ZERO));
    // Two of three hosts of a switch.
    let two = [(lost(0, false), well(S)), (lost(1, false), well(2 * S))];
    let last = verdict(&Policy::default(), &two).1.unwrap();
    assert_eq!((last.named.detector, last.named.recovery), ("network", Recovery::Migrate));
    assert_eq!((last.shun, last.leave), (vec![0, 1, 2], vec![0, 1, 2]));
    // The first loss is long ago, and that host is back; or there is no other switch.
    let long_ago = [(lost(0, false), well(S)), (lost(1, false), well(700 * S))];
    assert_eq!(said(&long_ago), "physical: migrate");
    let only = Situation { takes: vec![true, true, true, false], ..well(2 * S) };
    assert_eq!(said(&[two[0].clone(), (lost(1, false), only)]), "physical: migrate");
    // One host alone is no switch.
    assert_eq!(said(&[(lost(3, true), well(S))]), "physical: migrate");
}

#[test]
fn what_is_noticed() {
    let suspect = Fact::Suspect { host: 1, why: "ECC".to_owned() };
    let (text, last) = verdict(&Policy::default(), &[(suspect.clone(), well(S))]);
    let last = last.unwrap();
    assert_eq!((text.as_str(), last.shun, last.leave), ("health: migrate", vec![1], vec![1]));
    let only = Situation { takes: vec![false, true, false, false], ..well(S) };
    assert_eq!(said(&[(suspect, only)]), "-");
    let stall = Fact::Stall { rank: Rank(1), host: 0, lasts: 60 * S };
    assert_eq!(said(&[(stall.clone(), well(S))]), "-");
    for (after, expected) in [(60 * S, "stall: restart"), (61 * S, "-")] {
        let policy = with(vec![Detector::Stall { after, recovery: Recovery::Restart }]);
        assert_eq!(verdict(&policy, &[(stall.clone(), well(S))]).0, expected);
    }
}

#[test]
fn hosts_that_do_not_reach_each_other() {
    let cut = |leaves| [(Fact::Cut { a: 0, b: 3, leaves }, well(S))];
    let (text, last) = verdict(&Policy::default(), &cut(Some(3)));
    let last = last.unwrap();
    let ends = ["a0".to_owned(), "b0".to_owned()];
    assert_eq!((text.as_str(), last.leave, last.shun), ("network: migrate", vec![3], vec![]));
    assert_eq!(last.ground, Ground::Cut { ends });
    assert_eq!(said(&cut(None)), "network: give-up");
    let give_up = |hosts: &[&str]| {
        let detectors =
            vec![Detector::Network { share: 0.5, window: S, recovery: Recovery::GiveUp }];
        let hosts = hosts.iter().map(|name| (*name).to_owned()).collect();
        Policy { rules: vec![Rule { hosts, detectors, ..Rule::default() }], ..Policy::default() }
    };
    for (hosts, expected) in [
        (&[][..], "network: give-up"),
        (&["b*"], "network: give-up"),
        // A rule for other hosts, and a file without the detector: as always.
        (&["a1"], "network: migrate"),
    ] {
        let (text, last) = verdict(&give_up(hosts), &cut(Some(3)));
        assert_eq!(text, expected, "{hosts:?}");
        assert_eq!(last.unwrap().leave.is_empty(), expected.ends_with("give-up"));
    }
    let others = with(vec![Detector::named("process").unwrap()]);
    assert_eq!(verdict(&others, &cut(Some(3))).0, "network: migrate");
    // That is no word about switches, of which the file has none.
    let lost = |host| (Fact::Host { host, silent: true }, well(S));
    assert_eq!(verdict(&others, &[lost(0), lost(1)]).0, "physical: migrate");
}

#[test]
fn faults_of_one_host_are_counted_within_a_window() {
    let repeated = Detector::Repeated { count: 3, window: 10 * S, recovery: Recovery::Migrate };
    let policy = with(vec![repeated]);
    let deaths = |at: [u32; 3]| at.map(|at| (death(KILLED, 0, u64::from(at)), well(S * at)));
    let (text, last) = verdict(&policy, &deaths([1, 2, 3]));
    assert_eq!((text.as_str(), last.unwrap().shun), ("repeated: migrate", vec![0]));
    assert_eq!(verdict(&policy, &deaths([1, 2, 12])).0, "process: restart");
    // Where no other host is, it hands on.
    let alone = deaths([1, 2, 3]).map(|(fact, s)| (fact, Situation { ..alone(s.now) }));
    assert_eq!(verdict(&policy, &alone).0, "process: restart");
    // A host that is sound again begins anew.
    let [first, second, third] = deaths([1, 2, 3]);
    let sound = (Fact::Sound { host: 0 }, well(2 * S));
    assert_eq!(verdict(&policy, &[first, second, sound, third]).0, "process: restart");
}

#[test]
fn rules_are_for_hosts_switches_and_ranks_and_hand_on() {
    let process = |recovery| vec![Detector::Process { recovery }];
    let rule = |hosts: &[&str], switches: &[&str], ranks, recovery| Rule {
        hosts: hosts.iter().map(|name| (*name).to_owned()).collect(),
        switches: switches.iter().map(|name| (*name).to_owned()).collect(),
        ranks,
        detectors: process(recovery),
    };
    let policy = Policy {
        rules: vec![
            rule(&["a0"], &[], vec![0..=0], Recovery::GiveUp),
            rule(&["a*"], &["a"], Vec::new(), Recovery::Migrate),
        ],
        ..Policy::default()
    };
    let of = |rank: u32, host| {
        let fact = Fact::Process { rank: Rank(rank), host, ending: KILLED, progress: 1 };
        verdict(&policy, &[(fact, well(S))]).0
    };
    assert_eq!(of(0, 0), "process: give-up");
    assert_eq!(of(1, 0), "process: migrate");
    assert_eq!(of(0, 1), "process: migrate");
    // Behind the last rule stand the defaults.
    assert_eq!(of(0, 3), "process: restart");
    let lost = Fact::Host { host: 0, silent: true };
    assert_eq!(verdict(&policy, &[(lost, well(S))]).0, "physical: migrate");
}

/// ABARIS, §4.3: with `repeated` fewer and fewer ranks stay on hosts that kill processes; without
/// it each death is repaired at the same place.
#[test]
fn the_sets_of_detectors_of_the_paper_differ() {
    let process = || Detector::named("process").unwrap();
    let physical = || Detector::named("physical").unwrap();
    let sets = [
        (with(vec![process(), physical()]), 0),
        (with(vec![Detector::named("repeated").unwrap(), process(), physical()]), 18),
    ];
    for (policy, expected) in sets {
        let facts = times(&death(KILLED, 0, 5), 20, well);
        let mut judge = judge_of(policy);
        let moves = facts.iter().filter(|(fact, situation)| {
            judge.judge(fact, situation).unwrap().named.recovery == Recovery::Migrate
        });
        assert_eq!(moves.count(), expected);
    }
}

/// A library that says what it is made with.
#[derive(Debug)]
struct Canned {
    found: Result<Option<Found>, String>,
    steps: Result<Option<Steps>, String>,
}

impl Library for Canned {
    fn detectors(&self) -> &[&'static str] {
        &["seen"]
    }

    fn recoveries(&self) -> &[&'static str] {
        &["done"]
    }

    fn look(&mut self, _: &str, _: &str, _: &Case) -> Result<Option<Found>, String> {
        self.found.clone()
    }

    fn recover(&mut self, _: &str, _: &str, _: &Case, _: &Found) -> Result<Option<Steps>, String> {
        self.steps.clone()
    }
}

/// Detector and recovery of a death on host 0, the verdict, and the complaint.
fn by_canned(
    detector: &str,
    recovery: Whose<Recovery>,
    canned: Canned,
) -> (String, Option<Verdict>, Option<String>) {
    let from = FromLibrary {
        file: "f".to_owned(),
        settings: String::new(),
        detector: Whose::Library(detector.to_owned()),
        recovery,
    };
    let mut judge = judge_of(with(vec![Detector::Library(from)]));
    judge.add_library("f".to_owned(), Box::new(canned));
    let verdict = judge.judge(&death(KILLED, 0, 1), &well(S));
    let named = verdict
        .as_ref()
        .map_or_else(String::new, |v| format!("{}: {}", v.named.detector, v.named.recovery_name()));
    (named, verdict, judge.next_complaint())
}

#[test]
fn a_library_says_only_what_the_job_can_do() {
    let found = |hosts: &[u32]| Ok(Some(Found { why: "so".to_owned(), hosts: hosts.to_vec() }));
    let steps = |recovery| {
        let (shun, leave) = (vec![0, 7], vec![1, 9]);
        Ok(Some(Steps { recovery, patience: S, shun, leave }))
    };
    let own = || Whose::Library("done".to_owned());
    let ask =
        |detector, recovery, found, steps| by_canned(detector, recovery, Canned { found, steps });
    let built_in = Whose::BuiltIn(Recovery::Migrate);
    // Hosts that do not exist are left out.
    let (named, verdict, _) = ask("seen", built_in.clone(), found(&[0, 9]), Ok(None));
    assert_eq!(
        (&named[..], verdict.map(|v| (v.shun, v.leave))),
        ("seen: migrate", Some((vec![0], vec![0])))
    );
    let (named, verdict, complaint) = ask("seen", own(), found(&[0]), steps(Recovery::Migrate));
    let verdict = verdict.map(|v| (v.named.recovery, v.shun, v.leave));
    assert_eq!((&named[..], verdict), ("seen: done", Some((Recovery::Migrate, vec![0], vec![1]))));
    assert_eq!(complaint, None);
    // The next detector looks where the library does not know the fault, cannot do anything, or
    // answers without sense; the latter is told.
    assert_eq!(ask("seen", built_in.clone(), Ok(None), Ok(None)).0, "process: restart");
    assert_eq!(ask("seen", own(), found(&[]), Ok(None)).0, "process: restart");
    for (detector, found, steps, told) in [
        ("seen", Err("no sense".to_owned()), Ok(None), "f: no sense"),
        ("seen", found(&[]), Err("no sense".to_owned()), "f: no sense"),
        (
            "seen",
            found(&[]),
            steps(Recovery::Ignore),
            "f: its recovery `done` cannot ignore failures",
        ),
        ("other", found(&[]), Ok(None), "f: it has no `other`"),
    ] {
        let (named, _, complaint) = ask(detector, own(), found, steps);
        assert_eq!((&named[..], complaint.as_deref()), ("process: restart", Some(told)));
    }
    // Where no other host takes ranks.
    let mut judge = judge_of(with(vec![Detector::Library(FromLibrary {
        file: "f".to_owned(),
        settings: String::new(),
        detector: Whose::Library("seen".to_owned()),
        recovery: built_in,
    })]));
    judge.add_library("f".to_owned(), Box::new(Canned { found: found(&[0]), steps: Ok(None) }));
    let verdict = judge.judge(&death(KILLED, 0, 1), &alone(S));
    assert_eq!(verdict.map(|v| v.named.detector), Some("process"));
}
