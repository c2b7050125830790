//! Every decoder of this crate, fed with noise and with damaged messages.
//!
//! Nothing may panic, and no single allocation may exceed what the given bytes justify: the
//! allocator of this test refuses more than `ALLOCATION_MAX`. What is decoded can be encoded again.
//! All draws come from fixed seeds.

mod hostile_input;

use ftmpi_wire::control::{
    self, Events, FromRank, InjectPoint, JobView, ProtocolConfig, RankEnv, ToRank,
};
use ftmpi_wire::event_log::Frame;
use ftmpi_wire::hello::{Purpose, Welcome};
use ftmpi_wire::image_store::{Answer, Note, Request};
use ftmpi_wire::{Determinant, EventNo};
use hostile_input::{Bounded, Draw};
use serde::{Deserialize, Serialize};

const ALLOCATION_MAX: usize = 4 << 20;

#[global_allocator]
static ALLOCATOR: Bounded = Bounded(ALLOCATION_MAX);

impl Draw {
    /// Noise, in which small numbers and all ones are frequent: they are what lengths and kinds are
    /// made of.
    fn noise(&mut self, most: usize) -> Vec<u8> {
        let length = self.below(most + 1);
        (0..length)
            .map(|_| match self.below(4) {
                0 => self.below(12) as u8,
                1 => 0xff,
                _ => self.next() as u8,
            })
            .collect()
    }

    fn damage(&mut self, bytes: &mut Vec<u8>) {
        for _ in 0..1 + self.below(3) {
            if bytes.is_empty() {
                return;
            }
            let at = self.below(bytes.len());
            match self.below(4) {
                0 => bytes[at] = self.next() as u8,
                1 => bytes.truncate(at),
                2 => bytes[at] = 0xff,
                _ => bytes.insert(at, self.next() as u8),
            }
        }
    }
}

/// Decodes noise as a message of type `T`; what is accepted comes back the same. Then what was
/// accepted, damaged. Returns how many were accepted.
fn messages<T: Serialize + for<'a> Deserialize<'a>>(name: &str, example: Option<T>) -> usize {
    let mut accepted: Vec<Vec<u8>> = example.iter().map(control::encode).collect();
    for seed in 0..6000u64 {
        let mut draw = Draw(seed);
        // The first byte says which message it is: each kind gets its share.
        let mut bytes = draw.noise(120);
        bytes.insert(0, (seed % 40) as u8);
        if seed % 3 == 0 && !accepted.is_empty() {
            bytes = accepted[draw.below(accepted.len())].clone();
            draw.damage(&mut bytes);
        }
        if let Ok((message, _)) = control::decode_front::<T>(&bytes) {
            let again = control::encode(&message);
            assert!(
                again.len() <= bytes.len(),
                "{name}, seed {seed}: {} bytes from {}",
                again.len(),
                bytes.len()
            );
            let read = control::decode::<T>(&again)
                .unwrap_or_else(|e| panic!("{name}, seed {seed}: not read again: {e}"));
            assert_eq!(control::encode(&read), again, "{name}, seed {seed}");
            if accepted.len() < 500 {
                accepted.push(again);
            }
        }
        let _ = control::decode::<T>(&bytes);
    }
    accepted.len()
}

#[test]
fn control_messages_of_any_bytes_are_read_or_refused() {
    let config = ProtocolConfig {
        name: "causal".into(),
        events: Events::All,
        log_wtime: true,
        settings: vec![("piggyback".into(), "logon".into()), ("event-logger".into(), "off".into())],
    };
    let counts = [
        ("FromRank", messages::<FromRank>("FromRank", None)),
        ("ToRank", messages::<ToRank>("ToRank", None)),
        ("JobView", messages::<JobView>("JobView", None)),
        ("ProtocolConfig", messages("ProtocolConfig", Some(config))),
        ("InjectPoint", messages::<InjectPoint>("InjectPoint", None)),
        ("Events", messages::<Events>("Events", None)),
        ("Purpose", messages::<Purpose>("Purpose", None)),
        ("Welcome", messages::<Welcome>("Welcome", None)),
        ("Request", messages::<Request>("Request", None)),
        ("Answer", messages::<Answer>("Answer", None)),
        ("Note", messages::<Note>("Note", None)),
    ];
    for (name, accepted) in counts {
        // A view of a job is too long for noise to hit, so it is always refused.
        assert!(
            accepted > 5 || name == "JobView",
            "{name}: {accepted} were read, nothing was tested"
        );
    }
}

#[test]
fn determinants_of_any_bytes_are_read_or_refused() {
    let mut read = 0;
    for seed in 0..20_000 {
        let mut draw = Draw(seed ^ 0xde7);
        let mut bytes = [0u8; Determinant::BYTES];
        bytes.iter_mut().for_each(|b| *b = draw.next() as u8 & draw.next() as u8);
        // Kinds and flags are small.
        bytes[0..4].copy_from_slice(&(draw.below(16) as u32).to_le_bytes());
        if draw.below(2) == 0 {
            bytes[4..16].fill(0);
            bytes[8] = draw.next() as u8;
        }
        if let Ok(determinant) = Determinant::decode(&bytes) {
            read += 1;
            let again = determinant.encode();
            assert_eq!(
                Determinant::decode(&again).expect("read again"),
                determinant,
                "seed {seed}"
            );
        }
        let short = draw.below(Determinant::BYTES);
        assert!(Determinant::decode(&bytes[..short]).is_err(), "seed {seed}");
    }
    assert!(read > 1000, "only {read} were read: nothing was tested");
}

#[test]
fn frames_of_event_logs_with_damage_are_read_or_refused() {
    let (mut read, mut refused) = (0, 0);
    for seed in 0..4000u64 {
        let mut draw = Draw(seed ^ 0xf7a);
        let records: Vec<Determinant> = (0..draw.below(6))
            .filter_map(|_| {
                let mut bytes = [0u8; Determinant::BYTES];
                bytes[0] = draw.below(10) as u8;
                bytes[16] = draw.next() as u8;
                Determinant::decode(&bytes).ok()
            })
            .collect();
        let frame = match draw.below(5) {
            0 => Frame::Append { first: EventNo(draw.next()), clock: EventNo(3), records },
            1 => Frame::Events { first: EventNo(draw.next()), records },
            2 => Frame::Ack { written: EventNo(draw.next()), durable: EventNo(draw.next()) },
            3 => Frame::Watch,
            _ => Frame::Stable { clocks: vec![(ftmpi_wire::Rank(3), EventNo(draw.next()))] },
        };
        let mut bytes = Vec::new();
        frame.encode(&mut bytes);
        match Frame::decode(&bytes) {
            Ok(Some((again, taken))) => {
                assert_eq!((again, taken), (frame, bytes.len()), "seed {seed}")
            }
            other => panic!("seed {seed}: {other:?}"),
        }
        draw.damage(&mut bytes);
        if draw.below(2) == 0 && bytes.len() > 8 {
            // A checksum that fits what is there: what is behind it is looked at, too.
            let length = (bytes.len() - 8) as u32;
            bytes[0..4].copy_from_slice(&length.to_le_bytes());
            let sum = crc32c::crc32c(&bytes[8..]);
            bytes[4..8].copy_from_slice(&sum.to_le_bytes());
        }
        match Frame::decode(&bytes) {
            Ok(Some((_, taken))) => {
                assert!(taken <= bytes.len(), "seed {seed}");
                read += 1;
            }
            Ok(None) => {}
            Err(_) => refused += 1,
        }
        let _ = Frame::decode(&draw.noise(100));
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused: nothing was tested");
}

#[test]
fn the_variable_of_a_rank_is_read_or_refused() {
    let good = RankEnv {
        rank: ftmpi_wire::Rank(3),
        incarnation: ftmpi_wire::Incarnation(7),
        restore: true,
        standby: false,
        died: 1_700_000_000_000_000_000,
        together: true,
        program: 0xbeef,
    }
    .encode();
    for seed in 0..5000 {
        let mut draw = Draw(seed ^ 0xe7f);
        let mut bytes = good.clone().into_bytes();
        draw.damage(&mut bytes);
        if let Some(read) = RankEnv::decode(&String::from_utf8_lossy(&bytes)) {
            assert_eq!(RankEnv::decode(&read.encode()), Some(read), "seed {seed}");
        }
    }
}
