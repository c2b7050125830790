//! The protocols by name: adding one means one module and one line here.

use crate::{none::None as NoProtocol, pessimistic::Pessimistic, protocol::Protocol};
use ftmpi_wire::control::{Events, ProtocolConfig};

/// Makes the protocol that the configuration names; `None` if there is no such protocol.
#[must_use]
pub fn make(config: &ProtocolConfig) -> Option<Box<dyn Protocol>> {
    Some(match config.name.as_str() {
        "none" => Box::new(NoProtocol),
        "pessimistic" => Box::new(Pessimistic::new(config.events == Events::All, config.log_wtime)),
        _ => return None,
    })
}

/// All names, for help texts.
pub const NAMES: &[&str] = &["none", "pessimistic"];
