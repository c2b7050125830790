//! What the kernel keeps for the process as a whole.

pub mod credentials;
pub mod process_attributes;
pub mod process_state;
