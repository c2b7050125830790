//! Command lines and machine files that nobody would write: each is understood, or refused with a
//! text.

use super::machinefile::{parse_file, parse_list};
use super::{Cli, Plan};
use crate::inject::{Fault, FaultClock};
use crate::machine::ServerDuty;
use clap::CommandFactory;
use ftmpi_options::ftmpiexec::{read, read_saved};
use ftmpi_options::values::time as parse_time;
use proptest::prelude::*;
use std::time::{Duration, Instant};

/// Ranks of the largest job; no plan has more.
const RANKS: usize = 16_384;

/// Values as users mistype them, and numbers at the ends of their ranges.
const VALUES: &[&str] = &[
    "",
    "0",
    "1",
    "2",
    "7",
    "-1",
    "16384",
    "16385",
    "4294967295",
    "4294967296",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "nan",
    "inf",
    "0.0001",
    "1.5s",
    "99999999999999999999h",
    "3 s",
    "ms",
    "on",
    "off",
    "none",
    "causal",
    "hierarchical",
    "optimistic",
    "coordinated",
    "channel-memory",
    "replicated",
    "plugin:",
    "plugin:/dev/null",
    "host",
    "a,b:2",
    "a:4294967295,a:4294967295",
    "a:0",
    ",",
    "a:",
    ":1",
    "-x",
    "[::1]:2",
    "/no/such/file",
    "/dev/null",
    "s3://",
    "file:///x",
    "http://x",
    "blocking",
    "nonblocking",
    "lines,committed",
    "kill:rank=0,at=1s",
    "kill:every=1ms",
    "kill:every=99999999h,at=99999999h",
    "kill:",
    "delay:logger=1h",
    "%r%h%",
    "1K",
    "1T",
    "99999999999T",
    "=",
    "a=b",
    "ä",
    "--",
    "-",
    ":",
    "\u{0}",
    "./prog",
    "true",
];

fn option() -> impl Strategy<Value = String> {
    let names: Vec<String> = Cli::command()
        .get_arguments()
        .filter_map(|arg| arg.get_long().map(str::to_owned))
        // These look at other places than the command line.
        .filter(|name| !["restart", "doctor", "help", "version"].contains(&name.as_str()))
        .collect();
    let dashes = prop_oneof![Just("-"), Just("--")];
    (dashes, proptest::sample::select(names)).prop_map(|(dashes, name)| format!("{dashes}{name}"))
}

fn value() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => proptest::sample::select(VALUES).prop_map(str::to_owned),
        1 => "[ -~]{0,12}",
        1 => any::<String>(),
    ]
}

/// An option with its value, or a word.
fn words() -> impl Strategy<Value = Vec<String>> {
    prop_oneof![
        6 => (option(), value()).prop_map(|(option, value)| vec![option, value]),
        2 => (option(), value()).prop_map(|(option, value)| vec![format!("{option}={value}")]),
        1 => value().prop_map(|value| vec![value]),
    ]
}

/// Points in time can be computed with a time that was given.
fn is_usable(time: Duration) -> bool {
    Instant::now().checked_add(time).is_some()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn a_command_line_becomes_a_plan_that_fits_or_an_error(
        words in proptest::collection::vec(words(), 0..6),
        program in any::<bool>(),
    ) {
        let mut arguments = vec!["ftmpiexec".to_owned()];
        arguments.extend(words.into_iter().flatten());
        arguments.extend(program.then(|| "./prog".to_owned()));
        let Ok(line) = read(arguments) else { return Ok(()) };
        match Plan::of(&line) {
            Ok(plan) => {
                let ranks = plan.placement.len();
                prop_assert!((1..=RANKS).contains(&ranks));
                prop_assert_eq!(plan.program_of.len(), ranks);
                prop_assert!(plan.placement.iter().all(|host| (*host as usize) < plan.machines.len()));
                prop_assert!(plan.program_of.iter().all(|part| (*part as usize) < plan.programs.len()));
                prop_assert!(plan.ckpt_interval.is_none_or(is_usable));
                prop_assert!(is_usable(plan.grace) && is_usable(plan.storage_patience));
                // What is stored for `--restart` is read again as it was.
                prop_assert!(read_saved(&plan.options).is_ok());
            }
            Err(error) => {
                let text = error.to_string();
                prop_assert!(!text.trim().is_empty() && !text.contains('\n'), "{text}");
            }
        }
    }

    #[test]
    fn a_machine_file_names_hosts_or_its_mistake(
        lines in proptest::collection::vec(
            (
                "[a-c]{0,2}(:[0-9]{0,11})?",
                proptest::collection::vec(
                    prop_oneof![
                        "(event-logger|checkpoint-server|slots|user|max_slots)(=[0-9,\\-]{0,12})?",
                        "[ -~]{0,10}",
                    ],
                    0..3,
                ),
            ),
            0..6,
        ),
        noise in prop_oneof![Just(String::new()), any::<String>()],
    ) {
        let lines: Vec<String> =
            lines.into_iter().map(|(host, words)| format!("{host} {}", words.join(" "))).collect();
        let text = format!("{}\n{noise}", lines.join("\n"));
        match parse_file(&text) {
            Ok(machines) => {
                prop_assert!(!machines.is_empty());
                for machine in machines {
                    prop_assert!(!machine.name.is_empty() && !machine.name.starts_with('-'));
                    for duty in [machine.event_logger, machine.checkpoint_server].into_iter().flatten() {
                        prop_assert!(!matches!(duty, ServerDuty::Ranks(ranks) if ranks.is_empty()));
                    }
                }
            }
            Err(error) => {
                let text = error.to_string();
                prop_assert!(text.starts_with("line ") || text.contains("no host"), "{text}");
            }
        }
    }

    #[test]
    fn lists_times_and_faults_never_panic(text in value(), list in "[a-z:0-9,@.-]{0,30}") {
        for text in [text, list] {
            let _ = parse_list(&text);
            prop_assert!(parse_time(&text).is_ok_and(is_usable) || parse_time(&text).is_err());
            for fault in [text.clone(), format!("kill:rank=0,at={text}"), format!("kill:every={text},count=3")] {
                let Ok(fault) = Fault::parse(&fault) else { continue };
                let mut clock = FaultClock::new(&[fault], 2, &[]);
                prop_assert!(clock.take_due(Duration::from_millis(5), |_| 0).len() <= 10);
            }
        }
    }
}

#[test]
fn numbers_at_the_ends_of_their_ranges() {
    let plan = |line: &str| Plan::of(&read(line.split(' ').map(str::to_owned).collect()).unwrap());
    let most = plan("x -n 16384 -hosts a:4294967295,a:4294967295 --launcher fork ./p").unwrap();
    assert_eq!(most.placement, vec![0; RANKS]);
    let spread = plan("x -n 3 -hosts a,b -ppn 4294967295 --launcher fork ./p").unwrap();
    assert_eq!(spread.placement, [0, 0, 0]);
    for line in ["x -n 16385 ./p", "x -n 4294967295 ./p", "x -n 4294967295 ./p : -n 4294967295 ./q"]
    {
        let error = plan(line).err().unwrap().to_string();
        assert!(error.contains("ranks are too many"), "{error}");
    }
    let fault = Fault::parse("kill:rank=1,at=1ms,every=800000h").unwrap();
    let mut clock = FaultClock::new(&[fault], 2, &[]);
    assert_eq!(clock.take_due(Duration::from_secs(1), |_| 0).len(), 1);
    assert_eq!(clock.take_due(Duration::from_secs(2), |_| 0).len(), 0);
}
