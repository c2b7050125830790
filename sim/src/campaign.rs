//! From seeds to simulations, and what a right one is.

use crate::invariants::same_results;
use crate::mutants::Mutant;
use crate::programs::Program;
use crate::protocol_config::{Spread, Variant};
use crate::world::{Outcome, Setup, World};
use ftmpi_protocols::event_log::Promise;

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
#[must_use]
pub fn setup(seed: u64, variant: Option<Variant>, mutant: Option<Mutant>, trace: bool) -> Setup {
    let mut rest = mixed(seed);
    let mut draw = |limit| drawn(&mut rest, limit);
    let any = Program::ALL[draw(Program::ALL.len() as u64) as usize];
    let program = mutant.and_then(Mutant::program).unwrap_or(any);
    let crashes = [3, 1, 5, 0, 9][draw(5) as usize];
    let variants = match (variant, mutant) {
        (Some(variant), _) => vec![variant],
        (None, Some(mutant)) => mutant.variants(),
        (None, None) => Variant::ALL.to_vec(),
    };
    // Programs and protocols go through all their pairs.
    let variant = variants[(seed / 3) as usize % variants.len()];
    let together = seed % 7 == 6;
    let mut setup = Setup {
        variant,
        // A crash of all counts as one of each.
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
        suspensions: 0,
        clusters: Vec::new(),
        outages: 0,
        promise: Promise::Written,
        mutant,
        trace,
    };
    if !variant.has_logger() && !variant.has_memories() {
        (setup.slow_logger, setup.logger_deaths, setup.power_loss) = (false, 0, false);
    }
    if variant.has_memories() {
        // What a loss of power takes from a memory is not made good (ARCHITECTURE.md).
        setup.power_loss = false;
    } else {
        setup.memories = (1, 0);
    }
    setup.clusters = clusters(variant, setup.ranks as u32, draw(5));
    // What a loss of power takes from a memory is not made good.
    if !variant.has_memories() {
        setup.outages = [0, 0, 1, 2][draw(4) as usize];
        if setup.power_loss {
            // Two losses of power so close that living ranks have not sent again what the first
            // took.
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
        _ => 1 + seed as usize % setup.ranks,
    };
    let agent_deaths = [0, 0, 0, 1, 2][draw(5) as usize];
    // What a loss of power took from a logger nobody may need afterwards.
    setup.agent_deaths = if crashes > 0 && !setup.power_loss { agent_deaths } else { 0 };
    setup.scheduler_deaths = [0, 0, 1, 3][draw(4) as usize];
    // Rings are on the computer of their logger, so it does not lose power alone. What a rank has
    // stored there is never lost; orphans come of loggers that are slow and elsewhere.
    setup.near = draw(3) == 0
        && !(variant.rolls_back() && setup.slow_logger)
        && variant.has_logger()
        && !variant.has_memories()
        && !setup.power_loss
        && setup.promise == Promise::Written;
    // What came later draws from numbers of its own, so that a seed keeps what it stood for
    // otherwise.
    let mut later = mixed(!seed);
    let mut draw = |limit| drawn(&mut later, limit);
    let suspensions = [0, 0, 0, 0, 1, 2][draw(6) as usize];
    let forced = mutant.is_some_and(Mutant::of_suspensions);
    setup.power_loss &= !forced;
    // What a loss of power took from a logger nobody may need afterwards, and a suspended job whose
    // last images came too late needs it.
    setup.suspensions = match forced {
        true => 1,
        false if setup.power_loss => 0,
        false => suspensions,
    };
    // Ranks that store events beside their logger are on its host, and take it along.
    if variant.is_coordinated() && mutant.is_none() && draw(4) == 0 {
        setup.program = Program::SharedMemory;
    }
    let breaks = setup.hosts > 1 && crashes > 0 && !setup.power_loss && !setup.near;
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
    let mut last = mixed(seed ^ 0x5EED_0001);
    let mut draw = |limit| drawn(&mut last, limit);
    let one_sided = Program::ONE_SIDED[draw(Program::ONE_SIDED.len() as u64) as usize];
    if mutant.is_none() && draw(4) == 0 {
        setup.program = one_sided;
    }
    setup.lean_images = draw(2) == 0 && mutant.is_none() && variant.has_logger();
    setup.lean_images |= mutant == Some(Mutant::ImageToldTooMuch);
    if mutant == Some(Mutant::RanksOutliveTheirHost) {
        (setup.hosts, setup.host_deaths, setup.near) = (setup.ranks, 2, false);
    }
    if matches!(mutant, Some(Mutant::RoundWithoutRings | Mutant::MarkBeforeRings)) {
        setup.outages = setup.outages.max(1);
        (setup.power_loss, setup.promise, setup.near) = (false, Promise::Written, true);
        setup.host_deaths = 0;
    }
    if mutant == Some(Mutant::MarkBeforeRings) {
        // Rounds are rare, so what one that begins again calls durable is not soon made so by the
        // next one.
        (setup.slow_logger, setup.logger_deaths, setup.outages) = (true, 4, 2);
    }
    if mutant == Some(Mutant::PromiseNotKept) {
        setup.promise = Promise::Written;
    }
    if mutant == Some(Mutant::AnsweredBeforeDurable) {
        (setup.outages, setup.crashes) = (3, setup.crashes.max(6));
        (setup.power_loss, setup.promise, setup.near) = (false, Promise::Durable, false);
    }
    if mutant == Some(Mutant::OthersNotCommitted) {
        // What happens while an event is on its way to the logger.
        (setup.slow_logger, setup.outages, setup.promise) = (true, 0, Promise::Written);
        setup.logger_deaths = 0;
    }
    setup
}

/// The cluster of each rank: all in one, one each, pairs, one rank beside all others, in turn (as
/// when ranks are dealt to hosts).
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
pub fn check(setup: &Setup) -> Result<Outcome, String> {
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
            suspensions: 0,
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
pub fn catch(mutant: Mutant, mut seeds: std::ops::Range<u64>) -> Option<(u64, String)> {
    seeds.find_map(|seed| Some((seed, check(&setup(seed, None, Some(mutant), false)).err()?)))
}
