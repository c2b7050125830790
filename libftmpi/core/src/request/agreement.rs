//! The request of an agreement among the ranks that are left (`MPIX_Comm_iagree`,
//! `MPIX_Comm_ishrink`).

use crate::comm::{Members, Offer};
use crate::ids::CommId;
use crate::usermem::UserPtr;
use ftmpi_wire::group_news::AgreementName;
use std::rc::Rc;

/// An agreement under way, of which the program has a request.
pub struct Agreement {
    pub(crate) name: AgreementName,
    pub(crate) purpose: Purpose,
}

/// What is done with the outcome.
pub(crate) enum Purpose {
    /// The agreed flags go there.
    Flag(UserPtr),
    /// The new communicator, which has no context and no group of its own yet.
    Shrink { new: CommId, parent: Rc<Members>, offer: Offer },
}
