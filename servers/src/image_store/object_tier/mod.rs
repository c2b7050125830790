//! The object tier: images also in an object store (`--object-store`), behind this server's disk.
//!
//! | module | what |
//! | --- | --- |
//! | `store` | containers and records in an object store (`absent`: in programs built without one) |
//! | `flush` | the way there, in the background |
//! | `recover` | the way back, when a server begins |

pub(super) mod flush;
pub(super) mod recover;
#[cfg(feature = "objects")]
mod store;
#[cfg(not(feature = "objects"))]
#[path = "absent.rs"]
mod store;

#[cfg(all(test, feature = "objects"))]
pub(super) mod fault_tests;
#[cfg(all(test, feature = "objects"))]
mod sweep_tests;

pub(super) use store::{Listing, ObjectTier, reach};
