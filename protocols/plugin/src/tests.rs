//! A built-in protocol behind the table answers as it does without.

use crate::guest::{Export, table};
use crate::host::{Library, PluginError};
use crate::messages::Settings;
use crate::table::{Bytes, Recovery, Table, VERSION};
use ftmpi_protocols::pessimistic::Pessimistic;
use ftmpi_protocols::protocol::*;
use ftmpi_wire::control::{Events, ProtocolConfig};
use ftmpi_wire::{Determinant, EventNo, Incarnation, Rank, Ssn};
use proptest::prelude::*;
use std::ffi::{CStr, c_void};
use std::path::Path;

struct Within;

impl Export for Within {
    const NAME: &'static CStr = c"within";
    const RECOVERY: Recovery = Recovery::Restart;
    const LOGGER: bool = true;

    fn make(settings: &Settings) -> Option<Box<dyn Protocol>> {
        let all = settings.config.events == Events::All;
        settings.config.setting("refuse").is_none().then(|| {
            let protocol: Box<dyn Protocol> = Box::new(Pessimistic::new(all, true));
            protocol
        })
    }
}

static TABLE: Table = table::<Within>();

fn settings(all: bool) -> Settings {
    let events = if all { Events::All } else { Events::Nondeterministic };
    let config =
        ProtocolConfig { name: "plugin".into(), events, log_wtime: true, settings: Vec::new() };
    Settings { config, me: Rank(1), incarnations: vec![Incarnation(0); 3] }
}

fn check(table: *const Table) -> Result<Library, PluginError> {
    // SAFETY: every table of these tests is whole.
    unsafe { Library::check(table) }
}

/// Everything that can be asked without doing anything.
fn standing(protocol: &dyn Protocol) -> impl PartialEq + std::fmt::Debug + use<> {
    (
        (protocol.hooks(), protocol.gate(), protocol.last_event(), protocol.stable()),
        (protocol.replaying(), protocol.repeating(), protocol.recorded(), protocol.determinants()),
        (protocol.logs_payload(Rank(0)), protocol.shares_waves(Rank(0)), protocol.refuses(Rank(2))),
        (protocol.next_service(), protocol.stands_still(), protocol.greeting(), protocol.counts()),
    )
}

fn commands(protocol: &mut dyn Protocol) -> Vec<Command> {
    std::iter::from_fn(|| protocol.next_command()).collect()
}

/// One step, and what it answered.
fn step(protocol: &mut dyn Protocol, kind: u8, value: u64) -> String {
    let (rank, ssn) = (Rank(value as u32 % 3), Ssn(value));
    match kind {
        0 => format!("{:?}", protocol.on_send(rank, ssn)),
        1 => format!("{:?}", protocol.pin(value % 5)),
        2 => format!("{:?}", protocol.on_match(value % 5, rank, ssn)),
        3 => format!("{:?}", protocol.decide()),
        4 => format!("{:?}", protocol.on_negative()),
        5 => format!("{:?}", protocol.on_answer(Answer::Probed(rank, ssn))),
        6 => {
            let written = EventNo(value % (protocol.last_event().0 + 1)).max(protocol.stable());
            format!("{:?}", protocol.on_stable(written, EventNo(0)))
        }
        7 => format!("{:?}", protocol.flush()),
        8 => format!("{:?}", protocol.settle()),
        9 => format!("{:?}", protocol.on_logger_back()),
        10 => {
            let recorded = vec![
                Determinant::Outcome { fails: value as u32 % 3, value },
                Determinant::Match { fails: 0, post: 2, source: rank, ssn },
            ];
            let last = protocol.stable().min(protocol.last_event());
            protocol.on_new_incarnation(last, &[Incarnation(1); 3]);
            format!("{:?}", protocol.on_restart(last, recorded))
        }
        11 => format!("{:?}", protocol.on_oldest_image(EventNo(value))),
        12 => {
            let mut out = b"before".to_vec();
            protocol.resume(rank, &mut out);
            protocol.piggyback(rank, &mut out);
            protocol.on_joined(rank, &[1, 2]);
            protocol.on_frame(rank, &[]);
            format!("{out:?}")
        }
        13 => format!("{:?}", protocol.commit()),
        _ => format!("{:?}", protocol.image_ready(ftmpi_wire::ImageNo(1), &mut std::iter::empty())),
    }
}

proptest! {
    #[test]
    fn behind_the_table_as_without_it(
        all: bool,
        steps in proptest::collection::vec((0_u8..15, 0_u64..50), 0..200),
    ) {
        let mut behind = check(&raw const TABLE).unwrap().make(&settings(all)).unwrap();
        let mut bare = Pessimistic::new(all, true);
        for (kind, value) in steps {
            prop_assert_eq!(step(&mut behind, kind, value), step(&mut bare, kind, value));
            prop_assert_eq!(standing(&behind), standing(&bare));
            prop_assert_eq!(commands(&mut behind), commands(&mut bare));
        }
    }
}

fn altered(change: impl FnOnce(&mut Table)) -> Table {
    let mut table = table::<Within>();
    change(&mut table);
    table
}

#[test]
fn tables_of_others_are_refused_with_a_reason() {
    let library = check(&raw const TABLE).unwrap();
    assert_eq!((library.name, library.recovery), ("within", Recovery::Restart));
    let refusals = [
        (altered(|table| table.version = VERSION + 1), "is built for version 3"),
        (altered(|table| table.magic[0] = b'x'), "gives no table"),
        (altered(|table| table.size -= 8), "its size"),
        (altered(|table| table.recovery = 9), "kind of recovery"),
        (altered(|table| table.name = std::ptr::null()), "no name"),
        (altered(|table| table.name = c"\xff".as_ptr()), "not UTF-8"),
    ];
    for (table, says) in &refusals {
        let why = check(table).unwrap_err().to_string();
        assert!(why.contains(says) && !why.contains('\n'), "{why}");
    }
    assert!(matches!(check(std::ptr::null()), Err(PluginError::NoTable)));
    let mut refused = settings(false);
    refused.config.settings.push(("refuse".into(), "yes".into()));
    assert!(library.make(&refused).unwrap_err().to_string().contains("within refuses"));
    let text = Library::load(Path::new("/nowhere/lib.so")).unwrap_err().to_string();
    assert!(text.contains("cannot be loaded"), "{text}");
    // Any library without the symbol.
    let text = Library::load(Path::new("libc.so.6")).unwrap_err().to_string();
    assert!(text.contains("no function `ftmpi_protocol`"), "{text}");
}

unsafe extern "C" fn garbage(
    _protocol: *mut c_void,
    _input: *const u8,
    _length: usize,
    reply: *mut Bytes,
) -> i32 {
    static GARBAGE: [u8; 3] = [255; 3];
    // SAFETY: the caller's place for the answer.
    unsafe { reply.write(Bytes { at: GARBAGE.as_ptr(), length: GARBAGE.len() }) };
    0
}

#[test]
fn answers_without_sense_end_the_job_with_one_line() {
    let silent = altered(|table| table.call = garbage);
    let refused = check(&raw const silent).unwrap().make(&settings(false));
    assert!(matches!(refused, Err(PluginError::Confused(_))));

    /// Says something else from the second word on.
    unsafe extern "C" fn once(
        protocol: *mut c_void,
        input: *const u8,
        length: usize,
        reply: *mut Bytes,
    ) -> i32 {
        // SAFETY: as the table's contract says; the input has at least one byte.
        unsafe {
            match input.read() {
                0 => (TABLE.call)(protocol, input, length, reply),
                _ => garbage(protocol, input, length, reply),
            }
        }
    }
    let fickle = altered(|table| table.call = once);
    let mut plugin = check(&raw const fickle).unwrap().make(&settings(false)).unwrap();
    plugin.on_send(Rank(0), Ssn(1));
    plugin.flush();
    let [Command::GiveUp(why)] = &commands(&mut plugin)[..] else { panic!("it goes on") };
    assert!(why.contains("within") && why.contains("OnSend"), "{why}");
}
