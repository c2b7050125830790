//! No fault tolerance: nothing is logged, nothing is asked. The other protocols are measured
//! against it.

use crate::protocol::*;

/// The protocol `none`.
#[derive(Debug, Default)]
pub struct None;

impl Protocol for None {
    fn hooks(&self) -> Hooks {
        Hooks::default()
    }
}

impl Logging for None {}

impl Determinants for None {}

impl Piggybacking for None {}

impl Waves for None {}
