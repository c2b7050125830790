//! Deterministic simulator of protocols, matching and servers.
