//! `ftmpi-sim`: simulates many seeds, prints the failing one, replays it with a trace.

use clap::Parser;
use ftmpi_sim::mutants::Mutant;
use ftmpi_sim::programs::Program;
use ftmpi_sim::world::{Setup, World};
use std::process::ExitCode;

/// Simulates ranks, protocols, matching and failures, deterministically.
#[derive(Parser)]
struct Arguments {
    /// How many seeds.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Print what happens (with --seeds 1).
    #[arg(long)]
    trace: bool,
    /// Only check that each deliberate bug is caught by one of the seeds.
    #[arg(long)]
    mutants: bool,
}

/// The setup that belongs to a seed.
fn setup(seed: u64, mutant: Option<Mutant>, trace: bool) -> Setup {
    let program = Program::ALL[(seed % 6) as usize];
    Setup {
        seed,
        ranks: 2 + (seed / 6 % 4) as usize,
        program,
        all_events: seed / 24 % 2 == 1,
        crashes: (seed / 48 % 6) as u32,
        mutant,
        trace,
    }
}

fn check(setup: &Setup) -> Result<ftmpi_sim::world::Outcome, String> {
    let outcome = World::run(setup.clone())?;
    if setup.program.is_deterministic() {
        let calm = Setup { crashes: 0, mutant: None, trace: false, ..setup.clone() };
        let expected = World::run(calm)?.digests;
        if outcome.digests != expected {
            return Err("the results differ from those without failures".to_owned());
        }
    }
    Ok(outcome)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.trace {
        std::panic::set_hook(Box::new(|_| {}));
    }
    let seeds = arguments.first..arguments.first + arguments.seeds;
    if arguments.mutants {
        let mut missed = 0;
        for mutant in Mutant::ALL {
            match seeds.clone().find(|&seed| check(&setup(seed, Some(mutant), false)).is_err()) {
                Some(seed) => println!("{mutant:?}: caught by seed {seed}"),
                None => {
                    missed += 1;
                    println!("{mutant:?}: NOT caught by {} seeds", arguments.seeds);
                }
            }
        }
        return if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let (mut crashes, mut restored, mut images, mut replayed) = (0, 0, 0, 0);
    for seed in seeds {
        if std::env::var_os("FTMPI_SIM_VERBOSE").is_some() {
            println!("seed {seed}");
        }
        let setup = setup(seed, None, arguments.trace);
        match check(&setup) {
            Ok(outcome) => {
                crashes += outcome.crashes;
                restored += outcome.restored;
                images += outcome.images;
                replayed += outcome.replayed;
            }
            Err(why) => {
                println!("seed {seed} fails: {why}\n  {setup:?}");
                println!("  replay: ftmpi-sim --first {seed} --seeds 1 --trace");
                return ExitCode::FAILURE;
            }
        }
    }
    println!(
        "{} seeds: {crashes} crashes, {images} images, {restored} lives from images, {replayed} \
         events replayed; all right",
        arguments.seeds
    );
    ExitCode::SUCCESS
}
