//! The target's side of data: finding the place in the window, storing, combining.
//!
//! Guarantees: no request touches a byte outside the window or outside an attached region.

use super::request::{Action, Target};
use super::{Flavor, Window};
use crate::bail;
use crate::datatype::Datatype;
use crate::error::Result;
use crate::op::{Op, Predefined};
use crate::usermem::UserPtr;

impl Window {
    /// The address that displacements of the target's datatype are relative to.
    pub fn place(&self, target: &Target) -> Result<UserPtr> {
        let part = self.parts.get(self.members.me as usize).copied().unwrap_or_default();
        let Some((low, high)) = target.datatype.span(target.count) else {
            bail!(RmaRange, "{} values do not fit into memory", target.count)
        };
        if low == high {
            return Ok(self.base);
        }
        if self.flavor == Flavor::Dynamic {
            let (at, len) = (target.disp.checked_add(low), high.wrapping_sub(low));
            let inside = at.is_some_and(|at| self.is_attached(at as usize, len as usize));
            if !inside {
                bail!(
                    RmaRange,
                    "{len} bytes at address {:#x} are not attached to the window of rank {}",
                    target.disp.wrapping_add(low),
                    self.members.me
                );
            }
            // An address that the program attached.
            return Ok(UserPtr::BOTTOM.offset(target.disp));
        }
        let offset = part.offset(target.disp, (low, high))?;
        Ok(self.base.offset(offset))
    }

    /// Do regions, one or several without a gap between them (MPI-4.1, 12.2.4), hold these bytes?
    fn is_attached(&self, at: usize, len: usize) -> bool {
        let Some(end) = at.checked_add(len) else { return false };
        let mut reached = at;
        while reached < end {
            match self.attached.range(..=reached).next_back() {
                Some((&start, &size)) if start + size > reached => reached = start + size,
                _ => return false,
            }
        }
        true
    }
}

/// Carries out an action that moves data; returns the reply's data, if there is one.
pub fn carry_out(action: Action, target: &Target, at: UserPtr, data: &mut [u8]) -> Option<Vec<u8>> {
    let Target { count, datatype, .. } = target;
    match action {
        Action::Put => {
            datatype.unpack(at, *count, 0, data);
            None
        }
        Action::Get => Some(datatype.packed(at, *count)),
        Action::Accumulate(op) => {
            combine(op, target, at, data);
            None
        }
        Action::GetAccumulate(op) => {
            let before = datatype.packed(at, *count);
            combine(op, target, at, data);
            Some(before)
        }
        Action::CompareAndSwap => {
            let before = datatype.packed(at, *count);
            let (compare, value) = data.split_at(data.len() / 2);
            if before == compare {
                datatype.unpack(at, *count, 0, value);
            }
            Some(before)
        }
        _ => None,
    }
}

/// Combines packed data with what is there.
fn combine(op: Predefined, target: &Target, at: UserPtr, data: &mut [u8]) {
    let Target { count, datatype, .. } = target;
    match op {
        Predefined::NoOp => return,
        Predefined::Replace => {
            datatype.unpack(at, *count, 0, data);
            return;
        }
        _ => {}
    }
    // Checked when the request was read.
    let Some(base) = datatype.base() else { return };
    let values = data.len() / base.size() as usize;
    let builtin = Datatype::builtin(base);
    let op = Op::Predefined(op);
    let dense = base.size() == base.extent();
    if let (true, Some((disp, _))) = (dense, datatype.block(*count)) {
        let _ = op.apply(UserPtr::own(data), at.offset(disp), values, builtin);
        return;
    }
    let mut current = datatype.packed(at, *count);
    if dense {
        let _ = op.apply(UserPtr::own(data), UserPtr::own_mut(&mut current), values, builtin);
    } else {
        // Values with padding: the operation wants them as they lie in arrays.
        let spread = |packed: &[u8]| {
            let mut array = vec![0; values * base.extent() as usize];
            builtin.unpack(UserPtr::own_mut(&mut array), values as u64, 0, packed);
            array
        };
        let (input, mut result) = (spread(data), spread(&current));
        let _ = op.apply(UserPtr::own(&input), UserPtr::own_mut(&mut result), values, builtin);
        builtin.pack(UserPtr::own(&result), values as u64, 0, &mut current);
    }
    datatype.unpack(at, *count, 0, &current);
}
