//! Who has died, which communicators are concerned, and what was agreed on
//! (`docs/internals/going-on-without-ranks.md`).
//!
//! Guarantees: nothing here is asked before the first piece of news. Deaths are kept in the order
//! in which all ranks hear them. A communicator is known as long as anything uses it.

use super::super::request::Source;
use crate::comm::Members;
use crate::error::ErrorClass;
use crate::group::Group;
use ftmpi_wire::Rank;
use ftmpi_wire::group_news::{
    Agreed, AgreementName, GroupName, GroupNews, REVOCATIONS_KEPT, ranges,
};
use std::collections::{BTreeMap, VecDeque};
use std::rc::{Rc, Weak};

/// A communicator that exists here.
#[derive(Debug)]
struct Known {
    members: Weak<Members>,
    /// Of a window or file: the program has no messages on it.
    private: bool,
    revoked: bool,
    /// Dead members that the program has acknowledged.
    acknowledged: usize,
    /// Agreements begun.
    agreements: u32,
}

/// The state.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    goes_on: bool,
    /// Some news came: calls ask.
    alert: bool,
    /// In the order of their deaths.
    dead: Vec<Rank>,
    /// By the even context of each.
    groups: BTreeMap<u32, Known>,
    /// Forget communicators that are gone, when there are so many.
    prune_at: usize,
    /// Revocations of communicators that do not exist here, or not yet: the newest ones.
    early: VecDeque<GroupName>,
    /// News that are to be taken.
    news: VecDeque<GroupNews>,
    /// How many news were taken.
    heard: u64,
    agreed: BTreeMap<AgreementName, Agreed>,
}

/// The name of a communicator.
pub(crate) fn name_of(members: &Members) -> GroupName {
    let all = members.local.iter().chain(members.remote.iter().flat_map(Group::iter));
    GroupName { context: members.context, least: all.min().unwrap_or(Rank(0)) }
}

/// The members of a communicator, as ranges.
pub(crate) fn ranges_of(members: &Members) -> Vec<(Rank, Rank)> {
    ranges(members.local.iter().chain(members.remote.iter().flat_map(Group::iter)))
}

fn has(members: &Members, rank: Rank) -> bool {
    members.local.local(rank).is_some()
        || members.remote.as_ref().is_some_and(|remote| remote.local(rank).is_some())
}

impl Faults {
    /// The job goes on without ranks that die.
    pub fn set_goes_on(&mut self, goes_on: bool) {
        self.goes_on = goes_on;
    }

    /// Whether the job goes on without ranks that die.
    #[inline]
    pub fn goes_on(&self) -> bool {
        self.goes_on
    }

    /// Whether any news came.
    #[inline]
    pub fn alert(&self) -> bool {
        self.alert
    }

    /// How many news were taken.
    #[inline]
    pub fn heard(&self) -> u64 {
        self.heard
    }

    /// Something came.
    pub fn tell(&mut self, news: GroupNews) {
        self.news.push_back(news);
    }

    /// Whether news are to be taken.
    #[inline]
    pub fn has_news(&self) -> bool {
        !self.news.is_empty()
    }

    /// The next piece of news.
    pub fn next_news(&mut self) -> Option<GroupNews> {
        let news = self.news.pop_front()?;
        self.heard += 1;
        Some(news)
    }

    /// The rank is dead; `false`: that was known.
    pub fn died(&mut self, rank: Rank) -> bool {
        self.alert = true;
        let new = !self.dead.contains(&rank);
        if new {
            self.dead.push(rank);
        }
        new
    }

    /// Whether the rank is dead.
    pub fn is_dead(&self, rank: Rank) -> bool {
        self.dead.contains(&rank)
    }

    /// A communicator exists from here on. `private`: it belongs to a window or a file.
    pub fn enter(&mut self, members: &Rc<Members>) {
        if self.groups.len() >= self.prune_at {
            self.groups.retain(|_, known| known.members.strong_count() > 0);
            self.prune_at = 2 * self.groups.len() + 16;
        }
        let mut revoked = false;
        if !self.early.is_empty() {
            let name = name_of(members);
            revoked = self.early.contains(&name);
            self.early.retain(|early| *early != name);
            self.alert |= revoked;
        }
        let members_known = Rc::downgrade(members);
        let known = Known {
            members: members_known,
            private: false,
            revoked,
            acknowledged: 0,
            agreements: 0,
        };
        self.groups.insert(members.context & !1, known);
    }

    /// The communicator belongs to a window or a file.
    pub fn set_private(&mut self, context: u32) {
        if let Some(known) = self.groups.get_mut(&(context & !1)) {
            known.private = true;
        }
    }

    fn known(&self, context: u32) -> Option<(&Known, Rc<Members>)> {
        let known = self.groups.get(&(context & !1))?;
        Some((known, known.members.upgrade()?))
    }

    /// A communicator was revoked. `false`: it does not concern this rank, or not yet.
    pub fn revoke(&mut self, name: GroupName) -> bool {
        let here = self.known(name.context).is_some_and(|(_, members)| name_of(&members) == name);
        if !here {
            if !self.early.contains(&name) {
                self.early.push_back(name);
            }
            if self.early.len() > REVOCATIONS_KEPT {
                self.early.pop_front();
            }
            return false;
        }
        self.alert = true;
        if let Some(known) = self.groups.get_mut(&(name.context & !1)) {
            known.revoked = true;
        }
        true
    }

    /// Whether the communicator was revoked.
    pub fn is_revoked(&self, context: u32) -> bool {
        self.groups.get(&(context & !1)).is_some_and(|known| known.revoked)
    }

    /// The dead members of a communicator, in the order of their deaths.
    pub fn dead_of(&self, members: &Members) -> Vec<Rank> {
        self.dead.iter().copied().filter(|rank| has(members, *rank)).collect()
    }

    /// How many of them the program has acknowledged.
    pub fn acknowledged(&self, context: u32) -> usize {
        self.groups.get(&(context & !1)).map_or(0, |known| known.acknowledged)
    }

    /// The program acknowledges so many of them.
    pub fn acknowledge(&mut self, context: u32, count: usize) {
        if let Some(known) = self.groups.get_mut(&(context & !1)) {
            known.acknowledged = known.acknowledged.max(count);
        }
    }

    /// Why nothing can be done any more in this context.
    pub fn context_error(&self, context: u32) -> Option<ErrorClass> {
        let (known, members) = self.known(context)?;
        if known.revoked {
            return Some(ErrorClass::Revoked);
        }
        let all_needed = known.private || context % 2 == 1;
        let missing = all_needed && self.dead.iter().any(|rank| has(&members, *rank));
        missing.then_some(ErrorClass::ProcFailed)
    }

    /// Why nothing can be sent to this rank in this context.
    pub fn send_error(&self, to: Rank, context: u32) -> Option<ErrorClass> {
        let dead = || self.is_dead(to).then_some(ErrorClass::ProcFailed);
        self.context_error(context).or_else(dead)
    }

    /// Why nothing can be received from there in this context.
    pub fn receive_error(&self, from: Source, context: u32) -> Option<ErrorClass> {
        if let Some(error) = self.context_error(context) {
            return Some(error);
        }
        match from {
            Source::Rank(rank) => self.is_dead(rank).then_some(ErrorClass::ProcFailed),
            Source::Any => {
                let (known, members) = self.known(context)?;
                let news =
                    self.dead_of(&members).split_off(known.acknowledged.min(self.dead.len()));
                let is_peer = |rank: &Rank| members.peers().local(*rank).is_some();
                news.iter().any(is_peer).then_some(ErrorClass::ProcFailedPending)
            }
        }
    }

    /// How many agreements on this communicator have begun.
    pub fn agreements_begun(&self, context: u32) -> u32 {
        self.groups.get(&(context & !1)).map_or(0, |known| known.agreements)
    }

    /// The number of the next agreement on this communicator.
    pub fn number_agreement(&mut self, context: u32) -> u32 {
        self.groups.get_mut(&(context & !1)).map_or(0, |known| {
            known.agreements = known.agreements.wrapping_add(1);
            known.agreements
        })
    }

    /// An agreement has ended.
    pub fn agreed(&mut self, agreed: Agreed) {
        self.agreed.insert(agreed.name, agreed);
    }

    /// Whether the agreement has ended.
    pub fn has_agreed(&self, name: &AgreementName) -> bool {
        self.agreed.contains_key(name)
    }

    /// How the agreement ended.
    pub fn take_agreed(&mut self, name: &AgreementName) -> Option<Agreed> {
        self.agreed.remove(name)
    }
}
