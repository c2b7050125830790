//! Event logger and checkpoint server: Tokio shells around the machines in protocols.
