//! What the origin of a one-sided operation sends to the target (MPI-4.1, 12.3).
//!
//! Guarantees: on any bytes, reading ends with a request whose parts agree with each other (length
//! of the data, datatype, operation), or with an error. Whether the request fits the window is
//! checked where it is carried out.

use crate::bail;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::{Op, Predefined};

/// In what kind of epoch an operation was called (MPI-3.1, 11.5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// Between two fences.
    Fence = 1,
    /// Between start and complete; at the target between post and wait.
    Exposed = 2,
    /// Under a lock.
    Locked = 3,
}

/// The action that the target is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Store the data.
    Put,
    /// Combine the data with the target's.
    Accumulate(Predefined),
    /// Send the target's data.
    Get,
    /// Send the target's data as it was, then combine.
    GetAccumulate(Predefined),
    /// Send the target's value as it was; if it equals the first value of the data, store the
    /// second.
    CompareAndSwap,
    /// Grant a lock.
    Lock {
        /// Granted to no other rank.
        exclusive: bool,
    },
    /// Give the lock back.
    Unlock,
    /// Say when everything before is done.
    Flush,
    /// This origin's part of the epoch is over.
    Complete,
}

impl Action {
    fn code(self) -> (u8, u8) {
        match self {
            Self::Put => (1, 0),
            Self::Accumulate(op) => (2, op as u8),
            Self::Get => (3, 0),
            Self::GetAccumulate(op) => (4, op as u8),
            Self::CompareAndSwap => (5, 0),
            Self::Lock { exclusive } => (6, u8::from(exclusive)),
            Self::Unlock => (7, 0),
            Self::Flush => (8, 0),
            Self::Complete => (9, 0),
        }
    }

    fn of(code: u8, detail: u8) -> Result<Self> {
        let op = || match Predefined::ALL.get(usize::from(detail)) {
            Some(&op) => Ok(op),
            None => bail!(Op, "there is no operation {detail}"),
        };
        Ok(match code {
            1 => Self::Put,
            2 => Self::Accumulate(op()?),
            3 => Self::Get,
            4 => Self::GetAccumulate(op()?),
            5 => Self::CompareAndSwap,
            6 => Self::Lock { exclusive: detail != 0 },
            7 => Self::Unlock,
            8 => Self::Flush,
            9 => Self::Complete,
            _ => bail!(Arg, "there is no one-sided request {code}"),
        })
    }

    /// Is it about data, not about synchronisation?
    #[must_use]
    pub fn moves_data(self) -> bool {
        matches!(
            self,
            Self::Put
                | Self::Accumulate(_)
                | Self::Get
                | Self::GetAccumulate(_)
                | Self::CompareAndSwap
        )
    }
}

/// Where data lies in the target's window.
#[derive(Debug, Clone)]
pub struct Target {
    /// Displacement, in units of the target.
    pub disp: i64,
    /// Values.
    pub count: u64,
    /// Their type.
    pub datatype: Datatype,
}

/// A request.
#[derive(Debug, Clone)]
pub struct Request {
    /// The action that the target is asked for.
    pub action: Action,
    /// In what epoch.
    pub mode: Mode,
    /// Number of the reply, which the origin counts for each target; 0: none is wanted.
    pub reply: u64,
    /// Place of the data, for an action that moves data.
    pub target: Option<Target>,
    /// Bytes of data that go with it.
    pub len: u64,
    /// If they do not follow in the same message: which other message they are.
    pub apart: Option<u32>,
}

/// Bytes before the datatype.
const FIXED: usize = 48;

impl Request {
    /// The request as bytes; the caller appends data that go in the same message.
    #[must_use]
    pub fn encode(&self, room: usize) -> Vec<u8> {
        let mut out = Vec::with_capacity(FIXED + 16 + room);
        let (code, detail) = self.action.code();
        out.extend([code, detail, self.mode as u8, u8::from(self.apart.is_some())]);
        out.extend(self.apart.unwrap_or(0).to_le_bytes());
        out.extend(self.reply.to_le_bytes());
        out.extend(self.len.to_le_bytes());
        let (disp, count) = self.target.as_ref().map_or((0, 0), |t| (t.disp, t.count));
        out.extend(disp.to_le_bytes());
        out.extend(count.to_le_bytes());
        out.extend(0u64.to_le_bytes());
        if let Some(target) = &self.target {
            target.datatype.write_to(&mut out);
            let len = (out.len() - FIXED) as u64;
            out[FIXED - 8..FIXED].copy_from_slice(&len.to_le_bytes());
        }
        out
    }

    /// Reads a request; the second value is the data in the same message.
    pub fn decode(bytes: &[u8]) -> Result<(Self, &[u8])> {
        let Some((fixed, rest)) = bytes.split_first_chunk::<FIXED>() else {
            bail!(Arg, "a one-sided request has {} bytes", bytes.len())
        };
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| fixed[at + i]));
        let action = Action::of(fixed[0], fixed[1])?;
        let mode = match fixed[2] {
            1 => Mode::Fence,
            2 => Mode::Exposed,
            3 => Mode::Locked,
            other => bail!(Arg, "there is no epoch of kind {other}"),
        };
        let apart =
            (fixed[3] != 0).then(|| u32::from_le_bytes(std::array::from_fn(|i| fixed[4 + i])));
        let (reply, len, type_len) = (word(8), word(16), word(40));
        if type_len > rest.len() as u64 {
            bail!(Arg, "a datatype of {type_len} bytes in a request of {}", bytes.len());
        }
        let (datatype, data) = rest.split_at(type_len as usize);
        let target = if action.moves_data() {
            let datatype = Datatype::read_from(datatype)?;
            Some(Target { disp: word(24) as i64, count: word(32), datatype })
        } else {
            None
        };
        let request = Self { action, mode, reply, target, len, apart };
        let inside = if apart.is_some() { 0 } else { len };
        if data.len() as u64 != inside {
            bail!(Arg, "{} bytes of data, {inside} announced", data.len());
        }
        request.check()?;
        Ok((request, data))
    }

    /// Do the parts agree?
    fn check(&self) -> Result<()> {
        let Some(target) = &self.target else {
            if self.len != 0 {
                bail!(Arg, "data with a request that takes none");
            }
            return Ok(());
        };
        let Some(bytes) = target.datatype.total_size(target.count) else {
            bail!(Count, "{} values of the target's datatype do not fit into memory", target.count)
        };
        let (wanted, op) = match self.action {
            Action::Put => (bytes, None),
            Action::Accumulate(op) => (bytes, Some(op)),
            Action::GetAccumulate(Predefined::NoOp) => (0, Some(Predefined::NoOp)),
            Action::GetAccumulate(op) => (bytes, Some(op)),
            Action::CompareAndSwap => (2 * bytes, None),
            _ => (0, None),
        };
        if self.len != wanted {
            bail!(Arg, "{} bytes of data for a target of {bytes}", self.len);
        }
        if let Some(op) = op {
            check_operands(op, &target.datatype)?;
        }
        if self.action == Action::CompareAndSwap
            && (target.count != 1 || target.datatype.as_builtin().is_none())
        {
            bail!(Type, "compare and swap is for one value of a predefined datatype");
        }
        Ok(())
    }
}

/// Checks that `op` works on the values of a (perhaps derived) datatype.
pub fn check_operands(op: Predefined, datatype: &Datatype) -> Result<()> {
    if matches!(op, Predefined::Replace | Predefined::NoOp) || datatype.size() == 0 {
        return Ok(());
    }
    match datatype.base() {
        Some(base) => Op::Predefined(op).check(Datatype::builtin(base)),
        None => bail!(
            Type,
            "an accumulate works on values of one predefined datatype, this one mixes several"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::Builtin;
    use proptest::prelude::*;

    fn request(action: Action, count: u64, len: u64) -> Request {
        let datatype = Datatype::builtin(Builtin::Int).clone();
        let target = action.moves_data().then_some(Target { disp: -3, count, datatype });
        Request { action, mode: Mode::Locked, reply: 7, target, len, apart: None }
    }

    #[test]
    fn requests_survive() {
        for (action, len) in [
            (Action::Put, 12),
            (Action::Accumulate(Predefined::Sum), 12),
            (Action::Get, 0),
            (Action::GetAccumulate(Predefined::Max), 12),
            (Action::GetAccumulate(Predefined::NoOp), 0),
            (Action::Lock { exclusive: true }, 0),
            (Action::Unlock, 0),
            (Action::Flush, 0),
            (Action::Complete, 0),
        ] {
            let sent = request(action, 3, len);
            let mut bytes = sent.encode(len as usize);
            bytes.extend(vec![5; len as usize]);
            let (read, data) = Request::decode(&bytes).unwrap();
            assert_eq!((read.action, read.mode, read.reply, read.len), (action, sent.mode, 7, len));
            assert_eq!(
                read.target.map(|t| (t.disp, t.count)),
                sent.target.map(|t| (t.disp, t.count))
            );
            assert_eq!(data.len() as u64, len);
        }
    }

    #[test]
    fn parts_that_disagree_are_refused() {
        assert!(Request::decode(&request(Action::Put, 3, 8).encode(0)).is_err());
        assert!(Request::decode(&request(Action::Get, u64::MAX, 0).encode(0)).is_err());
        assert!(Request::decode(&request(Action::Unlock, 0, 4).encode(0)).is_err());
        let mut swap = request(Action::CompareAndSwap, 2, 16).encode(0);
        swap.extend([0; 16]);
        assert!(Request::decode(&swap).is_err());
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = Request::decode(&bytes);
        }

        #[test]
        fn damaged_requests_are_read_or_refused(at in 0usize..100, value: u8) {
            let mut bytes = request(Action::Accumulate(Predefined::Sum), 3, 12).encode(12);
            bytes.extend([0; 12]);
            let at = at % bytes.len();
            bytes[at] = value;
            let _ = Request::decode(&bytes);
        }
    }
}
