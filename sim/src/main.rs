//! `ftmpi-sim`: simulates many seeds, prints the failing ones, replays one with a trace;
//! `ftmpi-sim scale` tells how costs grow with the ranks.

use clap::{Args, Parser, Subcommand, ValueEnum};
use ftmpi_sim::campaign::{catch, check, setup};
use ftmpi_sim::detectors::{Environment, Setting, policy, run};
use ftmpi_sim::going_on;
use ftmpi_sim::mutants::Mutant;
use ftmpi_sim::picture;
use ftmpi_sim::programs::Program;
use ftmpi_sim::protocol_config::{Variant, replace_pessimistic};
use ftmpi_sim::scale::arguments::{Arguments as Scale, time};
use ftmpi_sim::scale::{self, faults, report};
use ftmpi_sim::spawns;
use ftmpi_sim::world::quiet_panics;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Simulates ranks, protocols, matching and failures, deterministically.
#[derive(Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct Arguments {
    #[command(subcommand)]
    task: Option<Task>,
    /// How many seeds.
    #[arg(long, default_value_t = 1000)]
    seeds: u64,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Only this protocol.
    #[arg(long)]
    protocol: Option<Variant>,
    /// Only this program.
    #[arg(long)]
    program: Option<Program>,
    /// Run the protocol of this library in the place of pessimistic, whose invariants it must keep.
    #[arg(long, value_name = "FILE")]
    plugin: Option<std::path::PathBuf>,
    /// Print what happens (with --seeds 1).
    #[arg(long)]
    trace: bool,
    /// Draw what happens as a space-time diagram (with --seeds 1).
    #[arg(long, value_name = "FILE")]
    svg: Option<std::path::PathBuf>,
    /// The picture begins at this time.
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// The picture ends at this time.
    #[arg(long, default_value_t = u64::MAX)]
    to: u64,
    /// Go on after a failure, and stop after this many.
    #[arg(long, default_value_t = 1)]
    failures: u64,
    /// Check that each deliberate bug is caught by one of the seeds.
    #[arg(long)]
    mutants: bool,
    /// Simulate with this deliberate bug: it is right to fail.
    #[arg(long)]
    mutant: Option<Mutant>,
}

#[derive(Subcommand)]
enum Task {
    /// How the costs of the protocols grow with the number of ranks, over a stated network.
    Scale(Box<Scale>),
    /// What the choice of detectors is worth where processes or a switch fail often (ABARIS).
    Detectors(Detectors),
    /// Jobs whose processes spawn others, under coordinated waves.
    Spawns {
        /// How many seeds.
        #[arg(long, default_value_t = 1000)]
        seeds: u64,
        /// The first seed.
        #[arg(long, default_value_t = 1)]
        first: u64,
    },
    /// Jobs that go on without ranks that die.
    GoingOn {
        /// How many seeds.
        #[arg(long, default_value_t = 1000)]
        seeds: u64,
        /// The first seed.
        #[arg(long, default_value_t = 1)]
        first: u64,
    },
}

#[derive(Args)]
struct Detectors {
    /// What fails often.
    #[arg(long)]
    environment: Environment,
    /// Times between two faults of one host.
    #[arg(long, value_delimiter = ',', value_parser = time, default_value = "15m,30m,45m,60m,90m,120m,240m")]
    periods: Vec<Duration>,
    /// How many seeds.
    #[arg(long, default_value_t = 25)]
    seeds: u64,
}

/// Carries out `ftmpi-sim detectors`: prints comma-separated values, one line for each seed.
fn compare_detectors(arguments: &Detectors) {
    let setting = Setting::default();
    println!("# {setting}");
    println!("detectors,period s,seed,seconds,ended,faults,migrations");
    for fitting in [false, true] {
        for period in &arguments.periods {
            for seed in 1..=arguments.seeds {
                let policy = policy(arguments.environment, fitting);
                let o = run(arguments.environment, policy, period.as_secs_f64(), seed, &setting);
                let (set, period) = (if fitting { "fitting" } else { "usual" }, period.as_secs());
                println!(
                    "{set},{period},{seed},{},{},{},{}",
                    o.seconds, o.ended, o.faults, o.migrations
                );
            }
        }
    }
}

/// Carries out `ftmpi-sim scale`.
fn grow(arguments: &Scale) -> Result<(), Box<dyn std::error::Error>> {
    let model = arguments.model();
    println!("{model}");
    let variants =
        arguments.protocol.map_or_else(|| Variant::for_scale().collect(), |variant| vec![variant]);
    let sizes = arguments.sizes();
    if sizes.iter().filter(|&&ranks| ranks <= arguments.run).count() < 2
        && sizes.iter().any(|&ranks| ranks > arguments.run)
    {
        return Err("to continue rows, two of the sizes must be at most --run".into());
    }
    let mut rows = Vec::new();
    println!("{}", report::heading());
    for variant in variants {
        for row in scale::grow(variant, &sizes, arguments.run, &model) {
            println!("{}", report::line(&row));
            rows.push(row);
        }
    }
    println!("{}", report::LEGEND);
    let mtbfs: Vec<f64> = arguments.mtbf.iter().map(Duration::as_secs_f64).collect();
    if !mtbfs.is_empty() {
        print!("{}", faults::table(&rows, &mtbfs, &model));
    }
    if let Some(file) = &arguments.faults_csv {
        std::fs::write(file, faults::csv(&rows, &mtbfs, &model))?;
    }
    if let Some(file) = &arguments.csv {
        std::fs::write(file, report::csv(&rows))?;
    }
    if let Some(file) = &arguments.svg {
        report::plot(&rows, file)?;
    }
    Ok(())
}

/// Carries out `ftmpi-sim going-on`; the line of a panic says what is wrong.
fn go_on(seeds: u64, first: u64) -> ExitCode {
    let (mut deaths, mut shrinks, mut longest) = (0, 0, 0);
    for seed in first..first + seeds {
        let Ok(one) = std::panic::catch_unwind(|| going_on::run(seed, None)) else {
            println!("seed {seed} fails; replay: ftmpi-sim going-on --first {seed} --seeds 1");
            return ExitCode::FAILURE;
        };
        deaths += one.deaths;
        shrinks += one.shrinks;
        longest = longest.max(one.steps);
    }
    println!("{seeds} seeds: {deaths} deaths, {shrinks} shrinks; longest run {longest} steps");
    ExitCode::SUCCESS
}

/// Carries out `ftmpi-sim spawns`.
fn spawn(seeds: u64, first: u64) -> ExitCode {
    for returns in spawns::Returns::EACH {
        let mut all = spawns::Outcome::default();
        for seed in first..first + seeds {
            let Ok(one) = std::panic::catch_unwind(|| spawns::run(seed, returns, None)) else {
                println!("seed {seed} fails; replay: ftmpi-sim spawns --first {seed} --seeds 1");
                return ExitCode::FAILURE;
            };
            all += one;
        }
        println!("{seeds} seeds, {returns:?} returns: {all}");
    }
    ExitCode::SUCCESS
}

/// The seed under way, for the panic hook.
static SEED: AtomicU64 = AtomicU64::new(0);

/// Where a panic aborts the process (the release profile), the hook says which seed it was.
fn report_panics(trace: bool) {
    if cfg!(panic = "abort") {
        std::panic::set_hook(Box::new(|panic| {
            let what = panic.payload();
            let text = what
                .downcast_ref::<String>()
                .map(String::as_str)
                .or_else(|| what.downcast_ref::<&str>().copied())
                .unwrap_or("a panic");
            let at = panic.location().map(ToString::to_string).unwrap_or_default();
            println!("seed {} fails: {text} ({at})", SEED.load(Ordering::Relaxed));
            std::process::exit(1);
        }));
    } else if !trace {
        quiet_panics();
    }
}

/// The first seed that catches it, and how. Where a panic ends the process, in a process of its
/// own.
fn caught(mutant: Mutant, arguments: &Arguments) -> Option<String> {
    if !cfg!(panic = "abort") {
        let seeds = arguments.first..arguments.first + arguments.seeds;
        return catch(mutant, seeds).map(|(seed, why)| format!("seed {seed}: {why}"));
    }
    let name = mutant.to_possible_value()?.get_name().to_owned();
    let output = Command::new(std::env::current_exe().ok()?)
        .args(["--first", &arguments.first.to_string(), "--seeds", &arguments.seeds.to_string()])
        .args(["--mutant", &name])
        .output()
        .ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    (!output.status.success()).then(|| text.lines().next().unwrap_or_default().to_owned())
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(Task::Scale(scale)) = &arguments.task {
        return match grow(scale) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("ftmpi-sim: {error}");
                ExitCode::FAILURE
            }
        };
    }
    if let Some(Task::GoingOn { seeds, first }) = arguments.task {
        return go_on(seeds, first);
    }
    if let Some(Task::Spawns { seeds, first }) = arguments.task {
        return spawn(seeds, first);
    }
    if let Some(file) = &arguments.plugin
        && let Err(error) = replace_pessimistic(file)
    {
        eprintln!("ftmpi-sim: {}: {error}", file.display());
        return ExitCode::FAILURE;
    }
    if let Some(Task::Detectors(detectors)) = &arguments.task {
        compare_detectors(detectors);
        return ExitCode::SUCCESS;
    }
    report_panics(arguments.trace);
    if arguments.mutants {
        let mut missed = 0;
        for &mutant in Mutant::all() {
            match caught(mutant, &arguments) {
                Some(how) => println!("{mutant:?}: caught, {how}"),
                None => {
                    missed += 1;
                    println!("{mutant:?}: NOT caught by {} seeds", arguments.seeds);
                }
            }
        }
        return if missed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut longest = 0;
    let (mut crashes, mut restored, mut images, mut replayed, mut failures) = (0, 0, 0, 0, 0);
    let (mut waves, mut orphans, mut given_up) = (0, 0, 0);
    for seed in arguments.first..arguments.first + arguments.seeds {
        SEED.store(seed, Ordering::Relaxed);
        let mut setup = setup(seed, arguments.protocol, arguments.mutant, arguments.trace);
        setup.program = arguments.program.unwrap_or(setup.program);
        if arguments.svg.is_some() {
            picture::begin();
        }
        let checked = check(&setup);
        if let (Some(file), Some(drawn)) =
            (&arguments.svg, picture::end(arguments.from, arguments.to))
            && let Err(error) = svg::save(file, &drawn)
        {
            eprintln!("{}: {error}", file.display());
            return ExitCode::FAILURE;
        }
        match checked {
            Ok(outcome) => {
                crashes += outcome.crashes;
                longest = longest.max(outcome.events);
                restored += outcome.restored;
                images += outcome.images;
                waves += outcome.waves;
                orphans += outcome.orphans;
                given_up += u32::from(outcome.refused);
                replayed += outcome.replayed;
            }
            Err(why) => {
                println!("seed {seed} fails: {why}\n  {setup:?}");
                println!("  replay: ftmpi-sim --first {seed} --seeds 1 --trace");
                failures += 1;
                if failures >= arguments.failures {
                    return ExitCode::FAILURE;
                }
            }
        }
    }
    let seeds = arguments.seeds;
    println!(
        "{seeds} seeds: {crashes} crashes, {images} images, {waves} waves, {restored} incarnations from images, \
         {orphans} orphans, {replayed} events replayed, {given_up} jobs rightly given up; longest run {longest} events; {failures} failures"
    );
    if failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
