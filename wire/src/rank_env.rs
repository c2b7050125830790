//! The variable that tells a process which rank it is.

use crate::{Incarnation, Rank};

/// The environment variable that marks a process as a rank (written by [`RankEnv::encode`]).
pub const RANK_ENV: &str = "FTMPI_RANK";

/// Value of [`RANK_ENV`]: fixed width, so that the stack begins at the same place in every
/// incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RankEnv {
    /// Who this process is.
    pub rank: Rank,
    /// The incarnation of the rank.
    pub incarnation: Incarnation,
    /// Whether an image waits on [`crate::control::fds::IMAGE`].
    pub restore: bool,
    /// Whether it is a standby: the end of the image comes when the process is to go on. Until then
    /// nothing outside of the process changes.
    pub standby: bool,
    /// When the last incarnation on this host ended (nanoseconds since 1970), if that is known and
    /// the other ranks have gone on since; else 0. Later changes of a file come from others.
    pub died: u64,
    /// Whether all ranks of the job return together
    /// ([`ProtocolTraits::all_return`](crate::ProtocolTraits::all_return)): then files that the
    /// program changes in place return, too.
    pub together: bool,
    /// [`RankEnv::mark_of`] the program that becomes the process of the image, where the command
    /// first starts others (which enter a container, say); 0: whichever program is executed.
    pub program: u32,
}

impl RankEnv {
    /// `rank=0000000003,incarnation=0000000001,restore=0,died=…,together=0,program=…`: of one
    /// length, so that stacks begin at one place in all incarnations
    #[must_use]
    pub fn encode(&self) -> String {
        format!(
            "rank={:010},incarnation={:010},restore={},died={:020},together={},program={:08x}",
            self.rank.0,
            self.incarnation.0,
            u8::from(self.restore) + u8::from(self.restore && self.standby),
            self.died,
            u8::from(self.together),
            self.program
        )
    }

    /// Reads what [`RankEnv::encode`] wrote.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        let mut parts = text.split(',');
        let rank = parts.next()?.strip_prefix("rank=")?.parse().ok()?;
        let incarnation = parts.next()?.strip_prefix("incarnation=")?.parse().ok()?;
        let bit = |text| match text {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        };
        let (restore, standby) = match parts.next()?.strip_prefix("restore=")? {
            "2" => (true, true),
            other => (bit(other)?, false),
        };
        let died = parts.next()?.strip_prefix("died=")?.parse().ok()?;
        let together = bit(parts.next()?.strip_prefix("together=")?)?;
        let program = u32::from_str_radix(parts.next()?.strip_prefix("program=")?, 16).ok()?;
        let (rank, incarnation) = (Rank(rank), Incarnation(incarnation));
        Some(Self { rank, incarnation, restore, standby, died, together, program })
    }

    /// A number for the name by which a program was executed; never 0.
    #[must_use]
    pub fn mark_of(executed: &[u8]) -> u32 {
        // FNV-1a.
        let step = |mark: u32, byte: &u8| (mark ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
        executed.iter().fold(0x811c_9dc5, step).max(1)
    }

    /// Whether the process that was executed by this name is the one to restore.
    #[must_use]
    pub fn restores(&self, executed: &[u8]) -> bool {
        self.restore && (self.program == 0 || self.program == Self::mark_of(executed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENV: RankEnv = RankEnv {
        rank: Rank(1),
        incarnation: Incarnation(2),
        restore: false,
        standby: false,
        died: 0,
        together: false,
        program: 0,
    };

    #[test]
    fn the_rank_variable_has_one_width_and_survives() {
        for (rank, incarnation, restore) in [(0, 0, false), (4_000_000_000, 17, true)] {
            let died = u64::from(rank) << 33;
            let env = RankEnv {
                rank: Rank(rank),
                incarnation: Incarnation(incarnation),
                restore,
                standby: restore,
                died,
                together: restore,
                program: rank,
            };
            assert_eq!(env.encode().len(), 102);
            assert_eq!(RankEnv::decode(&env.encode()), Some(env));
        }
        assert_eq!(RankEnv::decode("rank=1,incarnation=x"), None);
        let restored = RankEnv { restore: true, ..ENV };
        assert_eq!(RankEnv::decode(&restored.encode()), Some(restored));
        let (any, restore) = (RankEnv { restore: true, ..ENV }, true);
        assert!(any.restores(b"/bin/a") && !ENV.restores(b"/bin/a"));
        let one = RankEnv { program: RankEnv::mark_of(b"/bin/a"), restore, ..ENV };
        assert!(one.restores(b"/bin/a") && !one.restores(b"/usr/bin/enter"));
    }
}
