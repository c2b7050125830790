//! Shared-memory rings and TCP channels between ranks; authenticated connections between hosts.
