//! From a seed to a simulation, and what makes a run right.

use crate::fault::Fault;
use crate::invariants::same_results;
use crate::mutants::Mutant;
use crate::programs::Program;
use crate::protocol_config::{Spread, Variant};
use crate::world::{Outcome, Setup, World};
use ftmpi_faults::{Kind, Model, Source};
use ftmpi_protocols::dispatcher::Place;
use ftmpi_protocols::event_log::Promise;
use std::time::Duration;

/// Neighbouring seeds differ in everything.
fn mixed(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed ^ (mixed >> 32)
}

/// A number below `limit`, taken out of those that are left.
fn drawn(rest: &mut u64, limit: u64) -> u64 {
    let value = *rest % limit;
    *rest /= limit;
    value
}

/// The setup that belongs to a seed; `variant`: with this protocol instead of the seed's own.
///
/// Every group of settings draws from numbers of its own, so that a new group changes no old one.
#[must_use]
pub fn setup(seed: u64, variant: Option<Variant>, mutant: Option<Mutant>, trace: bool) -> Setup {
    let mut rest = mixed(seed);
    let mut draw = |limit| drawn(&mut rest, limit);
    let mut setup = begin(seed, variant, mutant, &mut draw);
    setup.trace = trace;
    faults(&mut setup, &mut draw);
    let mut rest = mixed(!seed);
    suspensions_and_damages(&mut setup, &mut |limit| drawn(&mut rest, limit));
    let mut rest = mixed(seed ^ 0x5EED_0001);
    windows_and_lean_images(&mut setup, &mut |limit| drawn(&mut rest, limit));
    let mut rest = mixed(seed ^ 0x5EED_0039);
    moves(&mut setup, &mut |limit| drawn(&mut rest, limit));
    if setup.mutant.is_none() && mixed(seed ^ 0x5EED_000A).is_multiple_of(8) {
        setup.program = Program::Objects;
    }
    if setup.mutant.is_none() && mixed(seed ^ 0x5EED_0010).is_multiple_of(12) {
        setup.program = Program::CancelledSends;
    }
    if setup.mutant.is_none() && mixed(seed ^ 0x5EED_000F).is_multiple_of(10) {
        setup.program = Program::Threads;
    }
    // Ranks that move are ended like ranks whose agent dies.
    let can_split = setup.hosts > 1 && setup.crashes > 0 && !setup.power_loss && !setup.near;
    if can_split && !setup.variant.has_memories() {
        setup.cuts = [0, 0, 0, 1, 2][(mixed(seed ^ 0x5EED_000C) % 5) as usize];
    }
    conditions_of_mutant(&mut setup);
    let mut rest = mixed(seed ^ 0x5EED_000D);
    slots_and_suspicions(&mut setup, &mut |limit| drawn(&mut rest, limit));
    // Ranks with rings are on the host of their logger.
    let stay = setup.hosts > 1 && (setup.power_loss || setup.near);
    setup.standbys = !setup.variant.in_waves()
        && !stay
        && match setup.mutant {
            None if setup.variant == Variant::Replicated => true,
            None => mixed(seed ^ 0x5EED_000F).is_multiple_of(3),
            Some(mutant) => mutant == Mutant::OldStandbyUsed,
        };
    let mut rest = mixed(seed ^ 0x5EED_000E);
    model(&mut setup, &mut |limit| drawn(&mut rest, limit));
    setup
}

/// In a quarter of the seeds that lose hosts anyway: rates at which processes, hosts, switches and
/// ways fail.
fn model(setup: &mut Setup, draw: &mut impl FnMut(u64) -> u64) {
    let free = setup.hosts > 1 && setup.crashes > 0 && !setup.power_loss && !setup.near;
    if !free || setup.mutant.is_some() || setup.variant.has_memories() || draw(4) > 0 {
        return;
    }
    let ms = Duration::from_millis;
    let mut sources = Vec::new();
    for kind in [Kind::Process, Kind::Stop, Kind::Host, Kind::Switch, Kind::Cut] {
        if draw(2) == 0 {
            continue;
        }
        let every = ms([1500, 4000, 9000][draw(3) as usize]) * setup.hosts as u32;
        let lasts = [None, Some(ms(300)), Some(ms(3000))][draw(3) as usize];
        // Then it is quiet, and everything must finish.
        let limits = Source { until: Some(ms(6000)), count: 6, ..Source::new(kind, every, lasts) };
        sources.push(limits);
    }
    setup.model = Some(Model { seed: setup.seed, sources });
}

/// What hosts can take: slots for their ranks at least, some limits, a host for servers only, a
/// spare. Hosts that are said to be about to fail.
fn slots_and_suspicions(setup: &mut Setup, draw: &mut impl FnMut(u64) -> u64) {
    let forced = matches!(setup.mutant, Some(Mutant::SlotsForgotten | Mutant::ShunnedHostUsed));
    // (Ranks whose events are in a ring stay on the host of their logger.)
    let moves = setup.hosts > 1 && setup.crashes > 0 && !setup.power_loss && !setup.near;
    if !moves && !forced {
        return;
    }
    setup.patience = [0, 300, 5000][draw(3) as usize];
    let at_start =
        |host: usize| (0..setup.ranks).filter(|rank| setup.host_of(*rank) == host).count() as u32;
    let mut places: Vec<Place> = (0..setup.hosts)
        .map(|host| Place { slots: at_start(host) + draw(3) as u32, ..Place::default() })
        .collect();
    if draw(3) == 0 || forced {
        places.push(Place { slots: 0, ..Place::default() });
    }
    if draw(3) == 0 || forced {
        // (One of the other hosts never breaks, and has no limit.)
        let slots = 1 + draw(2) as u32;
        places.push(Place { slots, most: Some(slots), spare: true, ..Place::default() });
    }
    setup.places = places;
    setup.suspicions = if forced { 4 } else { [0, 0, 0, 2, 5][draw(5) as usize] };
}

/// Protocol, program, ranks, and the first faults.
fn begin(
    seed: u64,
    variant: Option<Variant>,
    mutant: Option<Mutant>,
    draw: &mut impl FnMut(u64) -> u64,
) -> Setup {
    let any = Program::ALL[draw(Program::ALL.len() as u64) as usize];
    let program = mutant.and_then(Mutant::program).unwrap_or(any);
    let crashes = [3, 1, 5, 0, 9][draw(5) as usize];
    let variants = match (variant, mutant) {
        (Some(variant), _) => vec![variant],
        (None, Some(mutant)) => mutant.variants(),
        (None, None) => Variant::ALL.to_vec(),
    };
    // A crash of all ranks counts as one of each.
    let together = seed % 7 == 6;
    Setup {
        // Programs and protocols go through all their pairs.
        variant: variants[(seed / 3) as usize % variants.len()],
        together,
        seed,
        ranks: [3, 2, 4, 5, 3, 8, 2, 6][draw(8) as usize],
        program,
        all_events: draw(2) == 1,
        crashes: if together { crashes * 4 } else { crashes },
        near: false,
        slow_logger: draw(3) == 2,
        logger_deaths: [0, 1, 4][draw(3) as usize],
        power_loss: draw(4) == 3,
        memories: (1 + seed as usize % 3, [0, 1, 4][draw(3) as usize]),
        breaks: [0, 0, 2, 6][draw(4) as usize],
        hosts: 1,
        agent_deaths: 0,
        scheduler_deaths: 0,
        damages: 0,
        lean_images: false,
        host_deaths: 0,
        cuts: 0,
        model: None,
        places: Vec::new(),
        patience: 5000,
        suspicions: 0,
        suspensions: 0,
        moves: 0,
        standbys: false,
        clusters: Vec::new(),
        outages: 0,
        promise: Promise::Written,
        mutant,
        trace: false,
    }
}

/// Faults of loggers, agents, schedulers; where ranks run; whether they store events in rings.
fn faults(setup: &mut Setup, draw: &mut impl FnMut(u64) -> u64) {
    let variant = setup.variant;
    if !variant.has_logger() && !variant.has_memories() {
        (setup.slow_logger, setup.logger_deaths, setup.power_loss) = (false, 0, false);
    }
    if variant.has_memories() {
        // What a loss of power takes from a channel memory is lost (docs/reference/limits.md).
        setup.power_loss = false;
    } else {
        setup.memories = (1, 0);
    }
    setup.clusters = clusters(variant, setup.ranks as u32, draw(5));
    if !variant.has_memories() {
        setup.outages = [0, 0, 1, 2][draw(4) as usize];
        if setup.power_loss {
            // Two losses of power may be so close that living ranks have not sent again what the
            // first one took.
            setup.outages = 0;
        }
        let several = variant.spread() != Spread::One;
        if draw(3) == 0 || (several && setup.outages > 0) {
            setup.promise = Promise::Durable;
        }
    }
    setup.hosts = match draw(3) {
        0 => setup.ranks,
        1 => setup.ranks.div_ceil(2),
        _ => 1 + setup.seed as usize % setup.ranks,
    };
    let agent_deaths = [0, 0, 0, 1, 2][draw(5) as usize];
    // Nobody may need later what a loss of power took from a logger.
    setup.agent_deaths = if setup.crashes > 0 && !setup.power_loss { agent_deaths } else { 0 };
    setup.scheduler_deaths = [0, 0, 1, 3][draw(4) as usize];
    // Rings are on the host of their logger, which therefore does not lose power alone. Nothing in
    // a ring is ever lost; orphans come from slow loggers on other hosts.
    setup.near = draw(3) == 0
        && !(variant.rolls_back() && setup.slow_logger)
        && variant.has_logger()
        && !variant.has_memories()
        && !setup.power_loss
        && setup.promise == Promise::Written;
}

/// Suspended jobs, shared memory, broken hosts, damaged logs.
fn suspensions_and_damages(setup: &mut Setup, draw: &mut impl FnMut(u64) -> u64) {
    let (variant, mutant) = (setup.variant, setup.mutant);
    let suspensions = [0, 0, 0, 0, 1, 2][draw(6) as usize];
    let forced = mutant.is_some_and(Mutant::of_suspensions);
    setup.power_loss &= !forced;
    // Nobody may need later what a loss of power took from a logger. A suspended job whose last
    // images came too late needs it.
    setup.suspensions = match forced {
        true => 1,
        false if setup.power_loss => 0,
        false => suspensions,
    };
    if variant.is_coordinated() && mutant.is_none() && draw(4) == 0 {
        setup.program = Program::SharedMemory;
    }
    // Ranks with rings are on the host of their logger, and take it along.
    let breaks = setup.hosts > 1 && setup.crashes > 0 && !setup.power_loss && !setup.near;
    setup.host_deaths = if breaks { [0, 0, 0, 1, 3][draw(5) as usize] } else { 0 };
    // A second loss, of power, would be nobody's fault.
    let of_damage = [Some(Mutant::DamageNotSeen), Some(Mutant::RefusalTakenForTrouble)];
    if variant.has_logger()
        && !variant.has_memories()
        && setup.outages == 0
        && !setup.power_loss
        && !setup.near
    {
        setup.damages = u32::from(draw(4) == 0 || of_damage.contains(&mutant));
    }
}

/// One-sided programs, and images without what newer images have.
fn windows_and_lean_images(setup: &mut Setup, draw: &mut impl FnMut(u64) -> u64) {
    let one_sided = Program::ONE_SIDED[draw(Program::ONE_SIDED.len() as u64) as usize];
    if setup.mutant.is_none() && draw(4) == 0 {
        setup.program = one_sided;
    }
    setup.lean_images = draw(2) == 0 && setup.mutant.is_none() && setup.variant.has_logger();
}

/// Ranks that move while the job runs.
fn moves(setup: &mut Setup, draw: &mut impl FnMut(u64) -> u64) {
    let moves = [0, 1, 0, 3, 6][draw(5) as usize];
    // Nobody may need later what a loss of power, or damage, took from a logger. Ranks with rings
    // are on the host of their logger.
    let free = setup.hosts > 1 && !setup.power_loss && !setup.near && setup.damages == 0;
    let wanted = setup.mutant.is_none_or(|mutant| mutant == Mutant::DrainedHostTaken);
    setup.moves = if free && wanted { moves } else { 0 };
}

/// What a deliberate bug needs to show itself.
fn conditions_of_mutant(setup: &mut Setup) {
    match setup.mutant {
        Some(Mutant::ImageToldTooMuch) => setup.lean_images = true,
        Some(Mutant::RanksOutliveTheirHost) => {
            (setup.hosts, setup.host_deaths, setup.near) = (setup.ranks, 2, false);
        }
        Some(Mutant::CutNotReported) => {
            (setup.hosts, setup.cuts, setup.near) = (setup.ranks, 2, false);
        }
        Some(Mutant::SlotsForgotten | Mutant::ShunnedHostUsed) => {
            (setup.hosts, setup.host_deaths, setup.near) =
                (setup.ranks.div_ceil(2).max(2), 2, false);
            (setup.agent_deaths, setup.power_loss) = (2, false);
        }
        Some(Mutant::DrainedHostTaken) => (setup.hosts, setup.near) = (setup.ranks, false),
        Some(Mutant::RoundWithoutRings) => {
            setup.outages = setup.outages.max(1);
            (setup.power_loss, setup.promise, setup.near) = (false, Promise::Written, true);
            setup.host_deaths = 0;
        }
        Some(Mutant::MarkBeforeRings) => {
            // Rounds are rare: the next round does not soon make durable what a logger that begins
            // again calls durable.
            (setup.slow_logger, setup.logger_deaths, setup.outages) = (true, 4, 2);
            (setup.power_loss, setup.promise, setup.near) = (false, Promise::Written, true);
            setup.host_deaths = 0;
        }
        Some(Mutant::PromiseNotKept) => setup.promise = Promise::Written,
        Some(Mutant::AnsweredBeforeDurable) => {
            (setup.outages, setup.crashes) = (3, setup.crashes.max(6));
            (setup.power_loss, setup.promise, setup.near) = (false, Promise::Durable, false);
        }
        Some(Mutant::OthersNotCommitted) => {
            // The bug shows while an event is on its way to the logger.
            (setup.slow_logger, setup.outages, setup.promise) = (true, 0, Promise::Written);
            setup.logger_deaths = 0;
        }
        _ => {}
    }
}

/// The cluster of each rank: all in one, one each, pairs, one rank alone and all others together,
/// or in turn (as when ranks are dealt to hosts).
fn clusters(variant: Variant, ranks: u32, kind: u64) -> Vec<u32> {
    let cluster = |rank: u32| match kind {
        _ if variant.is_coordinated() => 0,
        0 => 0,
        1 => u32::from(rank > 0),
        2 => rank % 2,
        3 => rank,
        _ => rank / 2,
    };
    (0..ranks).map(cluster).collect()
}

/// Runs one simulation and judges it.
///
/// # Errors
/// What was wrong.
pub fn check(setup: &Setup) -> Result<Outcome, Fault> {
    let outcome = World::run(setup.clone())?;
    if setup.program.is_deterministic() && !outcome.refused {
        let calm = Setup {
            crashes: 0,
            logger_deaths: 0,
            power_loss: false,
            outages: 0,
            breaks: 0,
            agent_deaths: 0,
            scheduler_deaths: 0,
            damages: 0,
            host_deaths: 0,
            cuts: 0,
            model: None,
            suspicions: 0,
            suspensions: 0,
            moves: 0,
            memories: (setup.memories.0, 0),
            near: false,
            slow_logger: false,
            mutant: None,
            trace: false,
            ..setup.clone()
        };
        same_results::compare(&outcome.digests, &World::run(calm)?.digests)?;
    }
    Ok(outcome)
}

/// The first of these seeds that catches this bug, and how.
#[must_use]
pub fn catch(mutant: Mutant, mut seeds: std::ops::Range<u64>) -> Option<(u64, Fault)> {
    seeds.find_map(|seed| Some((seed, check(&setup(seed, None, Some(mutant), false)).err()?)))
}
