//! The object tier: images also in an object store (`--object-store`), behind this server's disk.
//!
//! | module | what |
//! | --- | --- |
//! | `store` | containers and records in an object store (`absent`: there is none) |
//! | `flush` | the way there, in the background |
//! | `recover` | the way back, when a server begins |

pub(super) mod error;
pub(super) mod flush;
pub(super) mod recover;
#[cfg(feature = "object-store")]
mod store;
#[cfg(not(feature = "object-store"))]
#[path = "absent.rs"]
mod store;

#[cfg(all(test, feature = "object-store"))]
pub(super) mod fault_tests;
#[cfg(all(test, feature = "object-store"))]
mod sweep_tests;

pub(super) use store::{Listing, ObjectTier, reach};
