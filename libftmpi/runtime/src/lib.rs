//! Drives the core over the transport inside a rank.
