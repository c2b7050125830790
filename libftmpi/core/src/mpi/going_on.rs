//! User-level failure mitigation: going on without ranks that have died
//! (`docs/internals/going-on-without-ranks.md`).
//!
//! Guarantees: agreement and shrink end whoever dies meanwhile, and their outcome is the same at
//! all that live. Where no rank is given up (other protocols, no recovery `ignore`), agreement is
//! an ordinary reduction and shrink a duplicate: failures are healed beneath the program.
//!
//! After Bland, Bouteiller, Herault, Bosilca, Dongarra: "Post-failure recovery of MPI communication
//! capability" (IJHPCA 2013).

use super::{Collective, CommId, Mpi, Request, Status};
use crate::bail;
use crate::comm::{Comm, Members, Offer};
use crate::datatype::{Builtin, TypeId};
use crate::engine::{Link, is_of_faults};
use crate::error::{ErrorClass, MpiError, Result};
use crate::group::{Group, GroupId};
use crate::mpi::Buffer;
use crate::op::{OpId, Predefined};
use crate::request::agreement::{Agreement, Purpose};
use crate::request::{Active, Slot};
use crate::tuning::CONTEXT_ATTEMPTS;
use crate::usermem::UserPtr;
use ftmpi_wire::Rank;
use ftmpi_wire::group_news::{Agreed, AgreementName};
use std::rc::Rc;

/// The words of an agreement on flags.
fn words_of(flag: i32) -> Vec<u64> {
    vec![u64::from(flag as u32), 0]
}

fn flag_of(agreed: &Agreed) -> i32 {
    agreed.words.first().map_or(0, |word| *word as u32 as i32)
}

/// A group without the dead.
fn without(group: &Group, dead: &[Rank]) -> Result<Group> {
    Group::new(&group.iter().filter(|rank| !dead.contains(rank)).collect::<Vec<_>>())
}

/// The members that are left.
fn left_of(old: &Members, dead: &[Rank], context: u32, me: Rank) -> Result<Members> {
    let local = without(&old.local, dead)?;
    let Some(me) = local.local(me) else { bail!(Intern, "the others take this rank for dead") };
    let remote = old.remote.as_ref().map(|remote| without(remote, dead)).transpose()?;
    Ok(Members { context, local, me, remote })
}

impl<L: Link> Mpi<L> {
    /// `MPIX_Comm_revoke`
    pub fn comm_revoke(&mut self, comm: CommId) -> Result<()> {
        let members = self.members(comm)?;
        if !self.engine.goes_on() && members.local.len() > 1 {
            bail!(
                UnsupportedOperation,
                "a communicator is revoked only in a job that goes on without ranks: start it with \
                 --protocol none --recovery ignore"
            );
        }
        self.engine.revoke(&members);
        Ok(())
    }

    /// `MPI_Abort`: whether the members of this communicator end, and no others. This rank is one
    /// of them.
    pub fn aborts_members(&mut self, comm: CommId, code: i32) -> bool {
        let Ok(members) = self.members(comm) else { return false };
        let is_inter = self.comm_test_inter(comm).unwrap_or(true);
        if is_inter || !self.engine.goes_on() {
            return false;
        }
        self.engine.abort_members(&members, code);
        true
    }

    /// `MPIX_Comm_is_revoked`
    pub fn comm_is_revoked(&mut self, comm: CommId) -> Result<bool> {
        let context = self.comm(comm)?.members.context;
        self.engine.poll_once();
        Ok(self.engine.is_revoked(context))
    }

    /// The context by which all ranks know the communicator.
    pub fn context_of(&self, comm: CommId) -> Result<u32> {
        Ok(self.comm(comm)?.members.context)
    }

    /// The dead members, and how many of them were acknowledged.
    fn dead_members(&self, comm: CommId) -> Result<(Vec<Rank>, usize)> {
        Ok(self.engine.dead_of(&self.comm(comm)?.members))
    }

    fn group_of(&mut self, comm: CommId, ranks: &[Rank]) -> Result<GroupId> {
        let session = self.comm(comm)?.session;
        self.groups.insert_of(Group::new(ranks)?, session)
    }

    /// `MPIX_Comm_get_failed`
    pub fn comm_get_failed(&mut self, comm: CommId) -> Result<GroupId> {
        self.engine.poll_once();
        let (dead, _) = self.dead_members(comm)?;
        self.group_of(comm, &dead)
    }

    /// `MPIX_Comm_failure_ack`
    pub fn comm_failure_ack(&mut self, comm: CommId) -> Result<()> {
        self.engine.poll_once();
        let (dead, _) = self.dead_members(comm)?;
        let context = self.comm(comm)?.members.context;
        self.engine.acknowledge(context, dead.len());
        Ok(())
    }

    /// `MPIX_Comm_failure_get_acked`
    pub fn comm_failure_get_acked(&mut self, comm: CommId) -> Result<GroupId> {
        let (mut dead, acknowledged) = self.dead_members(comm)?;
        dead.truncate(acknowledged);
        self.group_of(comm, &dead)
    }

    /// `MPIX_Comm_ack_failed`: acknowledges the first `count` members of what
    /// [`Mpi::comm_get_failed`] gives; how many are acknowledged then.
    pub fn comm_ack_failed(&mut self, comm: CommId, count: i64) -> Result<usize> {
        let count = super::arguments::number("num_to_ack", count)?;
        let (dead, _) = self.dead_members(comm)?;
        let context = self.comm(comm)?.members.context;
        self.engine.acknowledge(context, count.min(dead.len()));
        Ok(self.dead_members(comm)?.1)
    }

    fn await_agreement(&mut self, name: AgreementName) -> Result<Agreed> {
        while !self.engine.has_agreed(&name) {
            self.block();
        }
        match self.engine.take_agreed(&name) {
            Some(agreed) => Ok(agreed),
            None => bail!(Intern, "another thread has taken the outcome of an agreement"),
        }
    }

    /// A reduction of the flag, where no rank is given up.
    fn reduction(&self, comm: CommId, flag: UserPtr) -> Result<Collective<'static>> {
        if self.comm(comm)?.members.remote.is_some() {
            bail!(
                UnsupportedOperation,
                "an agreement on an intercommunicator needs --protocol none --recovery ignore"
            );
        }
        Ok(Collective::Allreduce {
            send: Buffer::InPlace,
            recv: Buffer::At(flag),
            count: 1,
            datatype: TypeId::builtin(Builtin::Int),
            op: OpId::predefined(Predefined::Band),
        })
    }

    /// `MPIX_Comm_agree`: the flag is agreed on also if the call fails.
    pub fn comm_agree(&mut self, comm: CommId, flag: UserPtr) -> Result<()> {
        if !self.engine.goes_on() {
            let what = self.reduction(comm, flag)?;
            return self.collective(comm, what);
        }
        let members = self.members(comm)?;
        let name = self.engine.begin_agreement(&members, words_of(flag.load()));
        let agreed = self.await_agreement(name)?;
        flag.store(flag_of(&agreed));
        match agreed.all_acknowledged {
            true => Ok(()),
            false => Err(self.fault(comm, ErrorClass::ProcFailed)),
        }
    }

    /// `MPIX_Comm_iagree`
    pub fn comm_iagree(&mut self, comm: CommId, flag: UserPtr) -> Result<Request> {
        if !self.engine.goes_on() {
            let what = self.reduction(comm, flag)?;
            return self.icollective(comm, what);
        }
        let members = self.members(comm)?;
        let name = self.engine.begin_agreement(&members, words_of(flag.load()));
        let agreement = Agreement { name, purpose: Purpose::Flag(flag) };
        self.new_request(Slot::once(comm, Active::Agreement(Box::new(agreement))))
    }

    /// `MPIX_Comm_shrink`
    pub fn comm_shrink(&mut self, comm: CommId) -> Result<CommId> {
        if !self.engine.goes_on() {
            return self.comm_dup(comm);
        }
        let old = self.members(comm)?;
        for attempt in 0..CONTEXT_ATTEMPTS {
            let offer = self.offer_for_shrink(&old, attempt);
            let name = self.engine.begin_agreement(&old, offer.proposal.to_vec());
            let agreed = self.await_agreement(name);
            self.contexts.withdraw(&offer);
            let agreed = agreed?;
            if let Some(context) = self.contexts.outcome(&offer, &agreed.words) {
                let members = left_of(&old, &agreed.dead, context, self.engine.me())?;
                return self.establish(comm, members);
            }
        }
        bail!(
            Other,
            "no context id is free on all members: too many communicators are alive, free those \
             that are not used"
        )
    }

    fn offer_for_shrink(&mut self, old: &Members, attempt: u32) -> Offer {
        // All members of the agreement offer the same ids: they have agreed as often as this one.
        // The next agreement offers others, if this one is under way still.
        let begun = self.engine.agreements_begun(old.context).wrapping_mul(0x85eb_ca6b);
        let seed = attempt.wrapping_mul(0x9e37_79b9).wrapping_add(0x5ee1).wrapping_add(begun);
        self.contexts.offer(old.context, seed)
    }

    /// `MPIX_Comm_ishrink`. The new communicator must not be used before the request is complete.
    pub fn comm_ishrink(&mut self, comm: CommId) -> Result<(CommId, Request)> {
        if !self.engine.goes_on() {
            return self.comm_idup(comm);
        }
        let parent = self.members(comm)?;
        let errhandler = self.inherited_errhandler(comm);
        let session = self.comm(comm)?.session;
        let placeholder = Members {
            context: parent.context,
            local: parent.local.clone(),
            me: parent.me,
            remote: parent.remote.clone(),
        };
        let mut new = Comm::new(placeholder, errhandler);
        new.session = session;
        let new = CommId(self.comms.insert(new)?);
        let offer = self.offer_for_shrink(&parent, 0);
        let name = self.engine.begin_agreement(&parent, offer.proposal.to_vec());
        let agreement = Agreement { name, purpose: Purpose::Shrink { new, parent, offer } };
        let request = self.new_request(Slot::once(comm, Active::Agreement(Box::new(agreement))))?;
        Ok((new, request))
    }

    /// The outcome of an agreement with a request is there.
    pub(super) fn agreement_is_done(&mut self, agreement: Agreement) -> Status {
        let Some(agreed) = self.engine.take_agreed(&agreement.name) else { return Status::EMPTY };
        let error = match agreement.purpose {
            Purpose::Flag(flag) => {
                flag.store(flag_of(&agreed));
                (!agreed.all_acknowledged).then_some(ErrorClass::ProcFailed)
            }
            Purpose::Shrink { new, parent, offer } => {
                self.contexts.withdraw(&offer);
                let context = self.contexts.outcome(&offer, &agreed.words);
                let me = self.engine.me();
                let members = context.map(|c| left_of(&parent, &agreed.dead, c, me));
                match (members, self.comms.get_mut(new.0)) {
                    (Some(Ok(members)), Some(entry)) => {
                        self.contexts.take(members.context);
                        entry.members = Rc::new(members);
                        self.engine.enter_group(&entry.members);
                        None
                    }
                    (_, None) => None,
                    _ => Some(ErrorClass::Other),
                }
            }
        };
        Status { error, ..Status::EMPTY }
    }

    /// Whether anything can be done in the collectives of this communicator.
    #[cold]
    pub(super) fn must_be_whole(&mut self, comm: CommId) -> Result<()> {
        let context = self.comm(comm)?.members.collective_context();
        match self.engine.context_error(context) {
            None => Ok(()),
            Some(error) => Err(self.fault(comm, error)),
        }
    }

    /// An error because of a death or a revocation, with its text.
    #[cold]
    pub(super) fn fault(&mut self, comm: CommId, error: ErrorClass) -> MpiError {
        self.blamed = comm;
        if !is_of_faults(error) {
            return error.into();
        }
        if error == ErrorClass::Revoked {
            return error.because("the communicator was revoked (MPIX_Comm_revoke)");
        }
        let Ok(members) = self.members(comm) else { return error.into() };
        let (dead, _) = self.engine.dead_of(&members);
        let dead: Vec<String> = dead.iter().map(ToString::to_string).collect();
        let who = match dead.len() {
            0 => return error.into(),
            1 => format!("rank {} of the job has died", dead[0]),
            _ => format!("ranks {} of the job have died", dead.join(", ")),
        };
        match error {
            ErrorClass::ProcFailedPending => error.because(format!(
                "{who}, and may have been the sender: the receive stays posted until the death is \
                 acknowledged (MPIX_Comm_failure_ack)"
            )),
            _ => error.because(format!(
                "{who}: set MPI_ERRORS_RETURN and go on without (MPIX_Comm_shrink)"
            )),
        }
    }
}
