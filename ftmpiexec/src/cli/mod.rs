//! What a command line asks for, checked and complete: the [`Plan`]. How command lines are read is
//! in `ftmpi_options::ftmpiexec`.
//!
//! | module | what it is |
//! | --- | --- |
//! | [`plan`], `restart` | the plan of a new job, and of one that goes on |
//! | `machinefile`, `placement` | hosts, and the ranks on them |
//! | `allocation`, `starter` | hosts of a batch system; how other hosts are reached |
//! | `hints` | variables of other launchers that do not hold here |
//! | `protocol` | the protocol with its settings |
//! | `protocol_choice` | what `--protocol auto` chooses |
//! | `recovery` | detectors and recoveries, from a file |
//! | `standbys` | ranks with standbys; what `--protocol replicated` stands for |
//! | `effects`, `needs` | options without effect under a protocol; what options act on |
//! | `environment` | variables of the ranks |
//! | `errors` | every text of a plan that cannot be made |

mod allocation;
mod effects;
mod environment;
mod errors;
mod hints;
#[cfg(test)]
mod hostile_tests;
mod machinefile;
mod needs;
mod placement;
mod plan;
mod protocol;
mod protocol_choice;
mod recovery;
mod restart;
mod standbys;
mod starter;

pub use allocation::{Allocation, nodes_of_list};
pub use errors::PlanError;
pub use ftmpi_options::ftmpiexec::{Cli, CommandLine, Part, parse};
#[cfg(test)]
pub use machinefile::parse_file as parse_machines;
pub use machinefile::parse_list;
pub use plan::{Plan, RANKS_MAX, programs};
pub use protocol::traits;
pub use protocol_choice::{Choice, Reason};
pub use recovery::{default_file, libraries};
pub use standbys::warnings as warnings_of_standbys;
pub use starter::Starter;

#[cfg(test)]
mod tests {
    use super::Plan;
    use ftmpi_options::ftmpiexec::read;

    #[test]
    fn without_a_number_there_are_as_many_ranks_as_slots() {
        let ranks = |line: &str| {
            let line = read(line.split_whitespace().map(str::to_owned).collect()).unwrap();
            Plan::of(&line).unwrap().program_of.len()
        };
        assert_eq!(ranks("ftmpiexec ./p"), 1);
        assert_eq!(ranks("ftmpiexec -hosts a:2,b ./p"), 3);
        assert_eq!(ranks("ftmpiexec -hosts a:2,b -ppn 4 ./p"), 8);
        assert_eq!(ranks("ftmpiexec -hosts a:2,b -n 1 ./p"), 1);
    }

    /// Each line and its whole answer.
    const REFUSED: &[(&str, &str)] = &[
        (
            "-n 2",
            "which program? write it after the options: ftmpiexec -n 4 ./prog; more: ftmpiexec -h",
        ),
        ("-n 16385 ./p", "-n: 16385 ranks are too many; ftmpiexec starts at most 16384"),
        ("-hosts , ./p", "--hosts names no host; write for example --hosts a,b:2"),
        ("-hosts a -f b ./p", "--hosts and -f cannot be used together; drop one of them"),
        ("-hosts a:x ./p", "--hosts: `a:x` is not a number of slots; write for example node1:4"),
        ("-hosts a:0 ./p", "no host has a slot for a rank; give a host slots, as in --hosts a:2"),
        (
            "-f /no/such ./p",
            "machine file /no/such: No such file or directory (os error 2); name a file that can be read",
        ),
        (
            "-f /dev/null ./p",
            "machine file /dev/null: it names no host; write one host on each line, such as node1:4",
        ),
        (
            "--ckpt-interval 1ms ./p",
            "--ckpt-interval: at least 10ms is needed; write for example 30s",
        ),
        (
            "--protocol none --ckpt-interval 5s ./p",
            "--ckpt-interval has no effect under --protocol none; drop it, or use it under any protocol but \
             none",
        ),
        (
            "--protocol none --output committed ./p",
            "--output committed has no effect under --protocol none; drop it, or use it under any protocol \
             but none",
        ),
        (
            "--tracking o2p ./p",
            "--tracking has no effect under --protocol auto, which is coordinated here; drop it, or use it \
             under --protocol optimistic, or hierarchical with --between optimistic",
        ),
        (
            "--protocol coordinated --events all ./p",
            "--events has no effect under --protocol coordinated; drop it, or use it under pessimistic, \
             replicated, causal, optimistic, channel-memory or hierarchical",
        ),
        (
            "--image-key k ./p",
            "--image-key has no effect without --encrypt-images; add --encrypt-images or drop --image-key",
        ),
        (
            "--map-by ppr:2:node ./p",
            "--map-by: `ppr:2:node` is for Open MPI; write --ppn N for N ranks on each host",
        ),
        (
            "--map-by core ./p",
            "--map-by has no effect without --bind-to; add --bind-to or drop --map-by",
        ),
        (
            "--ckpt off --image-space 1G ./p",
            "--image-space is for images, and --ckpt off takes none; drop one of them",
        ),
        (
            "--protocol coordinated --ckpt-policy payload ./p",
            "--ckpt-policy chooses among ranks, and under --protocol coordinated all ranks take their images \
             together; use periodic or young-daly",
        ),
        ("--rsh= -n 1 ./p", "--rsh has no value; write --rsh COMMAND"),
        (
            "-genv A=B= -env =x 1 ./p",
            "`=x` is not the name of a variable; write -env NAME VALUE or -env NAME=VALUE",
        ),
        (
            "--restart /no/such",
            "--restart /no/such: No such file or directory (os error 2); name the directory of --job-dir",
        ),
        ("--restart / ./p", "--restart continues the job's own program; write no program after it"),
    ];

    #[test]
    fn what_makes_no_sense_is_refused_in_one_line() {
        use ftmpi_options::ftmpiexec::Answer;
        for (line, text) in REFUSED {
            let words = std::iter::once("ftmpiexec").chain(line.split_whitespace());
            let error = match read(words.map(str::to_owned).collect()) {
                Ok(line) => Plan::of(&line).map(|_| ()).unwrap_err().to_string(),
                Err(Answer::Wrong(error)) => error.to_string(),
                Err(Answer::Help(_)) => panic!("{line}"),
            };
            assert_eq!(error, *text, "{line}");
        }
    }
}
